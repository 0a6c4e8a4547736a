"""Traces of modules: what their tensors are called, and that the module is as it was."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import flambeau


class Counter(nn.Module):
    """Writes to a buffer and to a plain tensor, and reads one in a list."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(4), persistent=False)
        self.scale = torch.ones(4)
        self.offsets = [torch.full((4,), 3.0)]

    def forward(self, x):
        self.count.add_(1)
        self.scale.mul_(2)
        return x * self.scale + self.count + self.offsets[0], self.count


class Memory(nn.Module):
    """Replaces a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(2, 4))
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        self.state = self.cell(x, self.state)
        return self.state * 2


class Shared(nn.Module):
    """Has a module at three places, one that is called like a path, and a weight twice."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.rest = nn.Sequential(self.first, nn.ReLU(), self.first)
        self.named = nn.ModuleDict({"a/b": nn.Linear(4, 4)})
        self.tied = nn.Linear(4, 4, bias=False)
        self.tied.weight = self.first.weight

    def forward(self, x):
        with torch.profiler.record_function("nothing"):
            return self.tied(self.rest(self.first(x)) + self.named["a/b"](x))


def hooked():
    module = nn.Linear(4, 4)
    module.register_forward_hook(lambda module, inputs, output: output * 2)
    return module


class Unpooled(nn.Module):
    """torch._check takes no tensors, and sizes are tensors under the tracer."""

    def forward(self, x):
        torch._check(x.size(0) > 1)
        pooled, places = F.max_pool1d(x[None], 2, return_indices=True)
        return F.max_unpool1d(pooled, places, 2)


class Lengths(nn.Module):
    """Sizes are tensors under the tracer, and numbers, which nothing changes, to the model."""

    def doubled(self, n):
        n *= 2
        return n

    def forward(self, x):
        rows = before = x.shape[0]
        rows += 3
        half = rows
        half //= 2
        total = given = x.sum()
        total += 1
        return x + (self.doubled(before) - before + rows + half), total + given


CASES = [
    Lengths,
    Unpooled,
    Counter,
    Memory,
    Shared,
    hooked,
    lambda: nn.DataParallel(nn.Linear(4, 4)),
    lambda: nn.utils.weight_norm(nn.Linear(4, 4)),
    lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)),
    lambda: nn.BatchNorm1d(4),
]


@pytest.mark.parametrize("make", CASES)
def test_trace(make):
    torch.manual_seed(0)
    module = make()
    state = {name: value.clone() for name, value in module.state_dict().items()}
    x = torch.randn(2, 4)
    program = flambeau.export(module, (x,), capture="trace", training=torch.onnx.TrainingMode.PRESERVE)
    for name, value in module.state_dict().items():
        assert torch.equal(value, state[name]), name
    expected = torch.utils._pytree.tree_leaves(module(x))
    for wanted, given in zip(expected, program(x), strict=True):
        np.testing.assert_allclose(np.asarray(given), wanted.detach().numpy(), atol=1e-5)


def test_lazy_parameters_are_made_before_the_trace():
    model, x = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()), torch.randn(2, 4)
    program = flambeau.export(model, (x,), dynamo=False)
    assert [node.op_type for node in program.model_proto.graph.node] == ["Gemm"] and model.training
    torch.testing.assert_close(program(x)[0], model.eval()(x))


def test_weights_without_numbers_are_named():
    with pytest.raises(flambeau.errors.CaptureError, match="the tensor 'weight' has no numbers, as it is on the device \"meta\""):
        flambeau.export(nn.Linear(3, 4, device="meta"), (torch.ones(2, 3, device="meta"),), dynamo=False)


@pytest.mark.parametrize("dynamo", [True, False])
def test_sparse_arguments_are_given_as_dense_ones(dynamo):
    class Product(nn.Module):
        def forward(self, a, x):
            return torch.mm(a, x)

    a, x = torch.eye(3).to_sparse(), torch.randn(3, 2)
    torch.testing.assert_close(flambeau.export(Product(), (a, x), dynamo=dynamo)(a, x)[0], x)


def test_names():
    model = flambeau.export(Shared(), (torch.randn(2, 4),), capture="trace", optimize=False).model_proto
    weights = {initializer.name for initializer in model.graph.initializer}
    assert {"first.weight", "first.bias", "named.a/b.weight", "named.a/b.bias"} <= weights
    paths = {entry.value for node in model.graph.node for entry in node.metadata_props if entry.key == "namespace"}
    assert any("named.a/b: Linear" in path for path in paths), paths


@torch.jit.script
def doubled(x):
    return x * 2


class Doubled(nn.Module):
    def forward(self, x):
        return doubled(x)


@pytest.mark.parametrize("scripted", [False, True])
def test_nodes_of_functions_are_those_of_the_module_that_calls_them(scripted):
    inner = nn.Sequential(Doubled(), nn.Sequential(nn.ReLU(), Doubled()))
    module = torch.jit.script(inner) if scripted else inner
    model = flambeau.export(module, (torch.randn(2, 4),), capture=None if scripted else "trace", optimize=False).model_proto
    names = [node.name for node in model.graph.node if node.op_type == "Mul"]
    assert names == ["/0/Mul", "/1/1/Mul"], names


WRITTEN = {
    "tensor": lambda x: torch.tensor([0.0, 1.0]),
    "as_tensor": lambda x: torch.as_tensor([0.0, 1.0]),
    "asarray": lambda x: torch.asarray([0.0, 1.0]),
    "from_numpy": lambda x: torch.from_numpy(np.array([0, 1], np.float32)),
    "new_tensor": lambda x: x.new_tensor([0.0, 1.0]),
}


@pytest.mark.parametrize("make", WRITTEN.values(), ids=WRITTEN)
def test_constants_hold_what_they_were_made_with(make):
    """torch's tracer remembers the tensor, which the run writes to."""

    class Sums(nn.Module):
        def forward(self, x):
            sums, total = make(x), torch.tensor(0.0)
            sums[0] = x.sum()
            sums[1] += 1
            for i in range(3):
                total += x.sum() * i
            return sums, total, make(x)

    program = flambeau.export(Sums(), (torch.ones(2, 3),), dynamo=False)
    x = torch.randn(2, 3)
    torch.testing.assert_close(tuple(program(x)), Sums()(x))


class Divergence(torch.nn.Module):
    def forward(self, mean, other):
        spread = torch.eye(3) + mean[..., :, None] * mean[..., None, :]
        apart = torch.distributions.MultivariateNormal(mean, spread)
        return torch.distributions.kl_divergence(apart, torch.distributions.MultivariateNormal(other, torch.eye(3) * 2))


@pytest.mark.parametrize("sizes", [(4, 3), (1, 3), (3,)])
def test_shapes_of_distributions_are_broadcast(sizes):
    """torch asks a function for them which takes numbers alone."""
    inputs = torch.randn(4, 3), torch.randn(sizes)
    axes = {"mean": {0: "batch"}, "other": {0: "batch"} if sizes == (4, 3) else {}}
    program = flambeau.export(Divergence(), inputs, dynamo=False, input_names=["mean", "other"], dynamic_axes=axes, verbose=False)
    more = torch.randn(6, 3), torch.randn((6, 3) if sizes == (4, 3) else sizes)
    for each in (inputs, more):
        torch.testing.assert_close(program(*each)[0], Divergence()(*each), rtol=1e-4, atol=1e-4)


class WritesRows(nn.Module):
    """In torch's traces a value loses its sizes of 1 before it is written."""

    def forward(self, x, places, mask):
        y, z = x.clone(), x.t().clone()
        y[places] = x[places] * 2
        y[mask] += 1.5
        y[mask, 1] = y[mask, 2] - 1
        z[:, places] *= 3
        y[places[:, None], places] = x[places[:, None], places]
        return y, z


@pytest.mark.parametrize("opset", [9, 11, 20])
@pytest.mark.parametrize("traced", [False, True])
def test_more_rows_are_written_than_the_one_of_the_example(opset, traced):
    names = {"x": [0], "places": [0], "mask": [0]}
    one = torch.randn(3, 4), torch.tensor([1]), torch.tensor([False, True, False])
    model = torch.jit.trace(WritesRows(), one) if traced else WritesRows()
    program = flambeau.export(model, one, dynamo=False, input_names=list(names), dynamic_axes=names, opset_version=opset)
    for each in (one, (torch.randn(5, 4), torch.tensor([3, 0, 1]), torch.tensor([True, False, True, False, True]))):
        for ours, theirs in zip(program(*each), WritesRows()(*each), strict=True):
            torch.testing.assert_close(ours, theirs)


class Counting(nn.Module):
    """It writes one buffer, and assigns another."""

    def __init__(self):
        super().__init__()
        self.register_buffer("written", torch.zeros(4))
        self.register_buffer("assigned", torch.zeros(4))

    def forward(self, x):
        self.written += 1
        self.assigned = self.assigned + 1
        return x * self.written + self.assigned


@pytest.mark.parametrize("make", [torch.jit.freeze, torch.jit.optimize_for_inference])
@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_frozen_scripts_in_modules(make):
    frozen = make(torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()))
    model, x = nn.Sequential(frozen, nn.Sequential(frozen, nn.Linear(4, 4))).eval(), torch.randn(3, 4)
    frozen(x)  # whereby torch notes its forward
    before = set(vars(frozen))
    program = flambeau.export(model, (x,), verify=True)
    torch.testing.assert_close(program(x)[0], model(x).detach())
    assert set(vars(frozen)) == before


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.filterwarnings("ignore")
def test_compiled_modules_beside_state(script):
    """What was compiled is found when the first part has run."""
    inner = torch.jit.script(Counting()) if script else Counting()
    model, x = nn.Sequential(Counting(), inner, torch.compile(nn.Linear(4, 4), backend="eager")).eval(), torch.randn(3, 4)
    program = flambeau.export(model, (x,), capture="trace", state_outputs=True)
    assert not model[0].written.any() and not model[0].assigned.any() and not model[1].written.any()
    results, expected = program(x), model(x).detach()
    torch.testing.assert_close(results[0], expected)
    assert len(results) == 5 and all(torch.equal(state, torch.ones(4)) for state in results[1:])
