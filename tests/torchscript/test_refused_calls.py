"""Calls that PyTorch itself refuses, as an archive may have them: each is a located error, never a model."""

import pytest
import torch

import flambeau

SIZES = {"x": (4, 6), "y": (5, 7), "v": (6,), "b": (2, 4, 6), "c": (2, 3, 8, 8), "w": (4, 3, 3, 3)}
CALLS = """
torch.permute(x, [0, 0])
torch.permute(x, [0, 1, 2])
torch.permute(x, [0, 2])
torch.sum(x, [0, 0])
torch.sum(x, [0, -2])
torch.amax(x, [1, 1])
torch.flip(x, [0, 0])
torch.narrow(x, 0, 3, 4)
torch.narrow(x, 1, 2, -1)
torch.zeros([-2])
torch.full([2, -1], 1.0)
torch.ones([3]).expand([-1, -1])
x.view([7, -1])
x.view([5, 5])
x.view([-1, -1])
x.reshape([0, 3])
x + y
torch.where(x > 0, x, y)
torch.logical_and(x, y)
torch.maximum(x, b[:, :, :5])
torch.mm(x, x)
torch.matmul(x, y)
torch.matmul(b, b)
torch.mm(x, torch.ones([6, 2], dtype=torch.int64))
torch.bmm(b, x)
torch.addmm(y, x, x.t())
torch.mv(x, v[:3])
torch.dot(x, v)
torch.einsum("ij,jk->ik", [x, x])
torch.cat([x, y])
torch.cat([x, b], 1)
torch.stack([x, y])
torch.nn.functional.linear(x, y)
torch.conv2d(c, w[:, :2])
torch.conv2d(c, w, None, [0, 1])
torch.conv2d(c, w, None, [1, 1], [-1, 0])
torch.conv2d(c[:, :, :2], w)
torch.max_pool2d(c, [2, 2], [2, 2], [2, 2])
torch.max_pool2d(x, [2, 2])
torch.layer_norm(x, [6], v[:5])
torch.unsqueeze(x, 4)
torch.squeeze(x, 3)
torch.transpose(x, 0, 2)
torch.softmax(x, 2)
torch.argmax(x, -3)
torch.topk(x, 7)
torch.topk(x, -1)
torch.kthvalue(x, 9)
torch.cumsum(x, 2)
torch.select(x, 0, 4)
torch.split(x, [2, 3])
torch.split(x, -1)
torch.chunk(x, 0)
torch.unbind(x, 2)
torch.gather(x, 0, torch.zeros([4, 6]))
torch.gather(x, 0, torch.zeros([2, 2, 2], dtype=torch.int64))
torch.scatter(x, 0, torch.zeros([2, 9], dtype=torch.int64), torch.zeros([2, 9]))
torch.index_select(x, 0, torch.zeros([2, 2], dtype=torch.int64))
torch.bitwise_and(x, x)
torch.bitwise_not(x)
torch.inverse(x)
torch.det(b)
torch.svd(torch.ones([2, 2], dtype=torch.int64))
torch.cholesky(x)
torch.polar(x, torch.ones([4, 6], dtype=torch.int64))
torch.var(torch.ones([3], dtype=torch.int64))
torch.t(b)
torch.trace(b)
torch.outer(x, v)
torch.pixel_shuffle(c, 0)
torch.repeat_interleave(x, -1)
x.repeat([2])
torch.eye(-1)
torch.linspace(0.0, 1.0, -3)
torch.nn.functional.one_hot(x)
torch.movedim(x, [0, 1], [0, 0])
torch.diagonal(x, 0, 1, 1)
torch.unflatten(x, 0, [3, 2])
""".strip().splitlines()


def scripted(call):
    code = f"def f({', '.join(f'{name}: Tensor' for name in SIZES)}):\n  return {call}\n"
    return torch.jit.CompilationUnit(code).f


@pytest.mark.parametrize("call", CALLS)
def test_is_an_error(call):
    try:
        function = scripted(call)
    except RuntimeError:
        pytest.fail("the case is no program")
    args = tuple(torch.ones(size) for size in SIZES.values())
    with pytest.raises(Exception, match=r"(?i)."):
        function(*args)
    with pytest.raises(flambeau.errors.OnnxExporterError) as caught:
        flambeau.export(function, args, dynamo=False)
    assert {diagnostic.kind for diagnostic in caught.value.diagnostics} <= {"bad-program", "unsupported-dtype", "unsupported-form"}
