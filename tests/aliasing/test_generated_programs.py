"""Random programs of views and writes: the ONNX model gives what eager PyTorch gives, in its outputs and in the final
values of the inputs and buffers that the program writes."""

import copy
import warnings

import onnxruntime
import programs
import pytest
import torch

flambeau = pytest.importorskip("flambeau")


def clone(tensors):
    return tuple(t.clone(memory_format=torch.preserve_format) for t in tensors)


def capture(module, inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(module, clone(inputs), strict=False)


def run_model(path, inputs):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {spec.name: value.contiguous().numpy() for spec, value in zip(session.get_inputs(), inputs, strict=True)}
    return [torch.from_numpy(value) for value in session.run(None, feeds)]


def compare(module, inputs, tmp_path):
    """Converts the module and compares; says what is wrong with which tensor."""
    program = capture(module, inputs)
    torch.export.save(program, tmp_path / "model.pt2")
    flambeau.convert(tmp_path / "model.pt2", tmp_path / "model.onnx", state_outputs=True)
    actual = run_model(tmp_path / "model.onnx", inputs)

    eager, arguments = copy.deepcopy(module), clone(inputs)
    expected = torch.utils._pytree.tree_leaves(eager(*arguments))
    # State outputs follow in the order of the signature: buffers, then inputs.
    before = [*module.buffers(), *inputs]
    after = [*eager.buffers(), *arguments]
    mutated = [now for then, now in zip(before, after) if not torch.equal(then, now)]
    for number, (ours, theirs) in enumerate(zip(actual, expected)):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5, msg=lambda text: f"output {number}: {text}")
    states = actual[len(expected) :]
    # A write that changes no value is an output, too.
    for now in mutated:
        assert any(s.shape == now.shape and torch.allclose(s, now, atol=1e-5) for s in states)
    assert all(any(s.shape == now.shape and torch.allclose(s, now, atol=1e-5) for now in after) for s in states)


@pytest.mark.parametrize("seed", range(8))
def test_programs(seed, tmp_path):
    module = programs.Programs(seed, count=20)
    compare(module, module.inputs(), tmp_path)


class Mixed(torch.nn.Module):
    """What the generator does not draw: promotion, out=, lists, complex views, shapes changed in place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.mean.mul_(0.9).add_(x.mean(0) * 0.1)
        self.count += 1
        y = x.clone()
        y[y > 0] = 0
        y[:, 0] = 5
        y[[0, 1]] = 2.0
        bits = torch.zeros(3, dtype=torch.long)
        bits |= 1
        bits <<= 1
        flags = torch.zeros(3, dtype=torch.bool)
        flags |= x[0] > 0
        half = torch.ones(3).half()
        half.add_(x[0])
        out = torch.empty(3, 3)
        torch.mul(x, 2, out=out)
        flat = out.view(-1)
        torch.cumsum(x, 1, out=out[:])
        z = torch.zeros(3, 3)
        z.t_().add_(x)
        z.unsqueeze_(0)
        z.mul_(2)
        z.squeeze_()
        eval_dropout = torch.nn.functional.dropout(y, 0.5, False)
        eval_dropout.add_(1)
        clamped = x.clone()
        torch.nn.functional.relu(clamped, inplace=True)
        clamped.clamp_(0, 1).lerp_(x, 0.5).addcmul_(x, x).tril_()
        return y, bits, flags, half, flat, z, eval_dropout, clamped, self.mean, x + self.count


def test_mixed(tmp_path):
    torch.manual_seed(0)
    compare(Mixed(), (torch.randn(3, 3),), tmp_path)


class Dynamic(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        first, second = y.split([1, 2], dim=1)
        second.neg_()
        rows = y.view(-1)
        rows.add_(1)
        y[1:].mul_(3)
        y.t()[0].fill_(7)
        y.unsqueeze(0).transpose(1, 2)[0, 1] *= 2
        return first, second, rows


def test_dynamic_sizes(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(Dynamic(), (torch.randn(4, 3),), dynamic_shapes={"x": {0: torch.export.Dim("n", min=3)}})
    torch.export.save(program, tmp_path / "model.pt2")
    flambeau.convert(tmp_path / "model.pt2", tmp_path / "model.onnx")
    for rows in (3, 4, 7):
        x = torch.randn(rows, 3)
        for ours, theirs in zip(run_model(tmp_path / "model.onnx", (x,)), Dynamic()(x)):
            torch.testing.assert_close(ours, theirs)


class BatchNorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(inplace=True))

    def forward(self, x):
        return self.layers(x).mean((2, 3))


def test_batch_norm_in_training(tmp_path):
    torch.manual_seed(0)
    compare(BatchNorm().train(), (torch.randn(2, 3, 5, 5),), tmp_path)
