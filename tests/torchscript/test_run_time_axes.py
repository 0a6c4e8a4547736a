"""Operators along an axis that is known at run time only."""

import flambeau
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from cases import Cases, x
from checking import compare, script
from torch import nn

case = Cases()


def along(function):
    """Decorates a forward of a tensor of three axes and the number of one."""
    return case.forward(x(2, 3, 4), torch.tensor(1), others=[(x(2, 3, 4), torch.tensor(n)) for n in (0, 2, -1, -3)])(function)


@along
def reduced(self, x, n: int):
    return x.sum(n), x.sum(n, keepdim=True), x.mean((n,)), x.amax(n), x.argmax(n), x.min(n, keepdim=True), x.std(n), (x > 0).any(n)


@along
def as_distributions(self, x, n: int):
    return x.softmax(n), F.log_softmax(x, n), x.cumsum(n), x.logsumexp(n)


@along
def joined(self, x, n: int):
    return torch.cat([x, x], n), torch.stack([x, x * 2], n), x.unsqueeze(n)


@along
def moved(self, x, n: int):
    return x.transpose(n, 0), x.movedim(n, 0), x.flip(n), x.roll(1, n), x.transpose(n, -n - 1)


@along
def picked(self, x, n: int):
    return x.select(n, 1), x.narrow(n, 0, 2), x.index_select(n, torch.tensor([1, 0])), x.sort(n)[0], x.topk(2, n)[0], x.size(n), x.split(2, n)[0], x.unfold(n, 2, 1)


@along
def written(self, x, n: int):
    y = x.clone().index_fill_(n, torch.tensor([1]), 7.0)
    y.select(n, 0).mul_(3)
    return y


@along
def in_a_loop(self, x, n: int):
    k = 0
    while bool(x.sum() < 100) and k <= abs(n):
        x = x + 1 + x.mean(k, keepdim=True)
        k += 1
    return x


@along
def known_on_a_path(self, x, n: int):
    if n == 1:
        x = x.sum(n)
    else:
        x = x.sum(1) * 2
    return x


def some_of(*axes):
    """The same, where PyTorch raises along the other axes."""
    return case.forward(x(2, 3, 4), torch.tensor(axes[0]), others=[(x(2, 3, 4), torch.tensor(n)) for n in axes[1:]])


@some_of(0, 2, -1, -3)
def named_beside_another(self, x, n: int):
    return x.sum([n, 1]), x.diagonal(0, n, 1), x.mean((1, n), keepdim=True), torch.linalg.norm(x, dim=[1, n])


@some_of(2, -1)
def long_enough(self, x, n: int):
    return x.narrow(n, 1, 3), x.select(n, 3), x.split([1, 3], n)[1]


@some_of(0, -3)
def of_sizes_that_fit(self, x, n: int):
    return torch.cat([x, x[:1] * 2], n)


@along
def permuted(self, x, n: int):
    k = n % 3
    return x.permute(k, (k + 1) % 3, (k + 2) % 3), x.permute([n, (n + 1) % 3, (n + 2) % 3]).shape[0]


@some_of(0, 1)
def permuted_by_two(self, x, n: int):
    return x.permute(n, 1 - n, 2)


@some_of(0, 1, 2)
def permuted_by_a_list(self, x, n: int):
    axes = [n]
    for i in range(3):
        if i != n:
            axes.append(i)
    swapped = [0, 1, 2]
    swapped[0] = n
    swapped[n] = 0
    return x.permute(axes), x.permute(swapped)


@case.forward(x(3, 3), torch.tensor(1), others=[(x(3, 3), torch.tensor(n)) for n in (0, -2, -3)])
def joined_with_nothing(self, x, n: int):
    axis = n if n >= -2 else -1
    return torch.cat([torch.empty(0), x, x * 2], axis)


@case.forward(x(2, 3, 3), x(2, 3, 3, seed=5), how=("trace", "script"), others=[(x(4, 3, 3), x(4, 3, 3, seed=5))], dynamic_axes={"x": [0], "y": [0]}, input_names=["x", "y"])
def batches_of_which_one_may_be_single(self, x, y):
    whole = x @ x.mT + 3 * torch.eye(3)
    triangles = torch.linalg.solve_triangular(whole[:1], y, upper=False), torch.linalg.solve_triangular(whole, y[:1], upper=True, left=False)
    return triangles, torch.linalg.solve(whole[:1], y), torch.cholesky_solve(y, torch.linalg.cholesky(whole[:1]))


test_run_time_axes = case.test()


@pytest.mark.parametrize("function", [torch.cosine_similarity, torch.linalg.vecdot])
def test_axes_of_another_argument_are_not_taken_for_those_of_the_first(function):
    class Along(nn.Module):
        def forward(self, x, y, n: int):
            return torch.cosine_similarity(x, y, n) if self.cosine else torch.linalg.vecdot(x, y, dim=n)

    model = Along()
    model.cosine = function is torch.cosine_similarity
    with pytest.raises(flambeau.errors.OnnxExporterError):
        flambeau.export(script(model), (x(3), x(3, 3), torch.tensor(0)), verbose=False)


class Summed(nn.Module):
    def forward(self, x, n: int):
        return x.sum(n)


def test_axes_of_which_none_will_do_are_refused():
    class Beside(nn.Module):
        def forward(self, x, n: int):
            return x.sum([n, 0, 1])

    with pytest.raises(flambeau.errors.OnnxExporterError, match="names dimension 0 twice|names dimension 1 twice"):
        flambeau.export(script(Beside()), (x(2, 3), torch.tensor(0)), verbose=False)


def test_axes_that_a_tensor_lacks():
    program = flambeau.export(script(Summed()), (x(2, 3), torch.tensor(0)), verbose=False)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    for n in (-3, 2):
        with pytest.raises(Exception, match="(?i)bound"):
            session.run(None, {"x": x(2, 3).numpy(), "n": torch.tensor(n).numpy()})


def test_old_opsets():
    class Softmax(nn.Module):
        def forward(self, x, n: int):
            return x.softmax(n), x.sum(n)

    args = (x(2, 3), torch.tensor(0))
    program = flambeau.export(script(Softmax()), args, opset_version=9, verbose=False)
    for n in (0, 1, -1):
        compare(Softmax(), program, (x(2, 3), torch.tensor(n)))
