"""Models of which a size is 0 when they run, where their archives say that it may be."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import harness
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

import flambeau

linalg = torch.linalg


def pairs(*sizes: int) -> torch.Tensor:
    return torch.complex(harness.floats(*sizes), harness.floats(*sizes))


def heads(x: torch.Tensor) -> torch.Tensor:
    batch, length, _ = x.shape
    split = x.view(batch, length, 2, 4).transpose(1, 2)
    return split.reshape(batch * 2, length, 4).view(batch, 2, length, 4)


SINGULAR = {
    "svdvals": linalg.svdvals,
    "pinv": lambda x: linalg.pinv(x, rtol=1e-6),
    "matrix_rank": lambda x: linalg.matrix_rank(x, rtol=1e-6),
    "cond": linalg.cond,
    "cond -2": lambda x: linalg.cond(x, -2),
    "spectral norm": lambda x: linalg.matrix_norm(x, 2),
    "nuclear norm": lambda x: linalg.matrix_norm(x, "nuc"),
}
PROGRAMS = {
    "flatten": (lambda x: x.flatten(1), (2, 3, 4, 5), [(0, 3, 4, 5), (2, 3, 0, 5), (0, 0, 0, 0), (3, 1, 2, 2)]),
    "flatten the end": (lambda x: x.flatten(2), (2, 3, 4, 5), [(0, 3, 4, 5), (2, 0, 4, 0), (1, 3, 4, 5)]),
    "flatten the start": (lambda x: x.flatten(0, 1), (2, 3, 4), [(0, 3, 4), (2, 3, 0)]),
    "heads": (heads, (2, 3, 8), [(0, 3, 8), (2, 0, 8), (3, 5, 8)]),
    "eigvals": (lambda x: linalg.eigvals(x @ x.mT).real.sum(-1), (3, 3), [(0, 0), (2, 2)]),
    "eig": (lambda x: linalg.eig(x)[1].abs(), (3, 3), [(0, 0)]),
    **{f"{name} of {kind.__name__}": (function, kind(4, 3), [kind(0, 3), kind(4, 0), kind(0, 0), kind(2, 5)])
       for name, function in SINGULAR.items() for kind in (harness.floats, pairs)},
    **{f"{name} of a batch": (function, pairs(2, 4, 3), [pairs(0, 4, 3), pairs(2, 0, 3)]) for name, function in SINGULAR.items() if name in ("pinv", "cond", "nuclear norm")},
    **{f"complex {function.__name__}": (lambda x, function=function: function(x, x.mT), pairs(2, 3, 4), [pairs(0, 3, 4), pairs(2, 0, 4)])
       for function in (torch.matmul, torch.bmm)},
    "einsum of factors alone": (lambda x: [torch.einsum(equation, x, x) for equation in ("ij,kj->k", "ij,kj->ik", "ij,kl->jl")], (4, 3), [(0, 3), (4, 0), (0, 0), (2, 5)]),
    "einsum of three": (lambda x: [torch.einsum(equation, x, x, x) for equation in ("ij,kj,il->kl", "ij,kj,kl->i", "ij,kl,mj->mk")], (4, 3), [(0, 3), (4, 0), (0, 0), (2, 5)]),
    "einsum of diagonals": (lambda x: [torch.einsum(equation, x[:, None] * x[None]) for equation in ("jik->ji", "kij->j", "iji->j", "iji->ji", "iji->")], (3, 3), [(0, 0), (5, 5)]),
    "medians": (lambda x: [median(each) for each in (x, x.long(), x.int(), x.short()) for median in (torch.median, torch.nanmedian)], (4, 3), [(0, 3), (4, 0), (2, 5)]),
    "addmm": (lambda x: [torch.addmm(torch.ones(4, 4), x[:4].new_ones(4, x.shape[1]), x.T[:, :4], beta=beta) for beta in (0.2, 1, 0)], (4, 3), [(4, 0), (4, 5)]),
    "roll": (lambda x: (x.roll(3, 0), x.roll((-1, 5), (0, 1)), x.roll(7)), (4, 3), [(0, 3), (4, 0), (2, 5)]),
    "group norm": (lambda x: F.group_norm(x, 2), (2, 4, 3), [(0, 4, 3), (3, 4, 3)]),
    "complex prod": (lambda x: x.prod(1), pairs(2, 3, 4), [pairs(0, 3, 4), pairs(2, 3, 0)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_along_an_axis(name: str, tmp_path: pathlib.Path) -> None:
    function, example, others = PROGRAMS[name]
    example, *others = (harness.floats(*x) if isinstance(x, tuple) else x for x in (example, *others))
    module = harness.Function(function).eval()
    square = name in ("eigvals", "eig", "einsum of diagonals")
    sizes = {d: Dim("n" if square else f"d{d}", min=0) for d in range(example.dim()) if any(other.shape[d] != example.shape[d] for other in others)}
    archive = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(module, (example,), dynamic_shapes=((sizes,),)), archive)
    flambeau.convert(archive, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    (name_of_input,) = (value.name for value in session.get_inputs())
    for tensor in (example, *others):
        wanted = torch.utils._pytree.tree_leaves(module(tensor))
        for want, output in zip(wanted, session.run(None, {name_of_input: harness.to_numpy(tensor)}), strict=True):
            got = torch.from_numpy(output)
            want = torch.view_as_real(want) if want.is_complex() else want
            torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("opset", [9, 13, 14])
@pytest.mark.parametrize("name", ["flatten", "flatten the start"])
def test_flattening_is_one_node_at_each_opset(name: str, opset: int) -> None:
    function, example, others = PROGRAMS[name]
    axes = {"x": {d: f"d{d}" for d in (0, 2)}}
    script = torch.jit.trace(harness.Function(function), harness.floats(*example))
    program = flambeau.export(script, (harness.floats(*example),), dynamo=False, opset_version=opset, input_names=["x"], dynamic_axes=axes)
    assert [node.op_type for node in program.model_proto.graph.node] == ["Flatten"]
    for sizes in others:
        if all(size == of_example or d in axes["x"] for d, (size, of_example) in enumerate(zip(sizes, example, strict=True))):
            torch.testing.assert_close(program(harness.floats(*sizes))[0], function(harness.floats(*sizes)))


def heads_as_batch(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    batch, heads, length, width = x.shape
    rows = x.reshape(batch * heads, length, width)
    return rows, rows.view(batch, heads, length, width)


# Which dimensions are dynamic, and those of them of which each is 0 in turn.
RESHAPES = {
    "heads as a batch": (heads_as_batch, (2, 3, 4, 5), (0, 2), (0, 2)),
    "heads as a batch, several of them": (heads_as_batch, (2, 3, 4, 5), (0, 1, 2), (0, 2)),
    "an image as a sequence": (lambda x: (x.flatten(2), x.flatten(2).transpose(1, 2), x.permute(0, 2, 3, 1).flatten(1, 2)), (2, 3, 4, 5), (0, 2, 3), (0, 2, 3)),
    "a channel as an image": (lambda x: x.view(x.size(0) * x.size(1), 1, x.size(2), x.size(3)), (2, 3, 4, 5), (0, 2, 3), (0, 2, 3)),
    "channels in groups": (lambda x: x.view(x.size(0), 2, 3, x.size(2), x.size(3)).transpose(1, 2).reshape(x.shape), (2, 6, 4, 5), (0, 2, 3), (0,)),
    "patches": (lambda x: x.view(x.size(0), 3, x.size(2) // 2, 2, x.size(3) // 2, 2), (2, 3, 4, 6), (0, 2, 3), (0,)),
    "steps of a sequence": (lambda x: x.view(x.size(0), x.size(1) // 2, 2 * x.size(2)), (2, 4, 3), (0, 1), (0, 1)),
    "rows and columns of a sequence": (lambda x: x.transpose(1, 2).reshape(x.size(0), 3, x.size(1) // 2, 2), (2, 4, 3), (0, 1), (0, 1)),
    "rows of all": (lambda x: x.view(-1, x.size(2)), (2, 4, 3), (0, 1), (0, 1)),
    "a batch alone": (lambda x: x.view(x.size(0), x.size(1) // 4, 4, x.size(2) // 3, 3), (2, 8, 6), (0, 1, 2), (0,)),
    "integers": (lambda x: heads_as_batch(x.long()), (2, 3, 4, 5), (0, 2), (0, 2)),
}


@pytest.mark.parametrize("opset", [9, 13, 14])
@pytest.mark.parametrize("name", RESHAPES)
def test_reshapes_of_nothing_keep_their_sizes(name: str, opset: int) -> None:
    function, example, dynamic, zeros = RESHAPES[name]
    script = torch.jit.trace(harness.Function(function), harness.floats(*example), check_trace=False)
    axes = {"x": {d: f"d{d}" for d in dynamic}}
    program = flambeau.export(script, (harness.floats(*example),), dynamo=False, opset_version=opset, input_names=["x"], dynamic_axes=axes, verbose=False)
    assert not {"Slice", "If", "Where"} & {node.op_type for node in program.model_proto.graph.node}
    for sizes in (example, *([0 if d == zero else size for d, size in enumerate(example)] for zero in zeros), [0 if d in zeros else size for d, size in enumerate(example)]):
        x = harness.floats(*sizes)
        for got, want in zip(program(x), torch.utils._pytree.tree_leaves(function(x)), strict=True):
            torch.testing.assert_close(got, want)


@pytest.mark.parametrize("opset", [9, 13])
def test_what_data_leaves_is_reshaped_below_opset_14(opset: int) -> None:
    def boxes(x: torch.Tensor) -> torch.Tensor:
        kept = x[x[:, 0] > 0]
        pairs = kept[:, None] + x[x[:, 1] > 0]
        return kept.t().reshape(2, 2, kept.size(0)), pairs.flatten(0, 1), pairs.reshape(pairs.size(1), pairs.size(0), 4)

    script = torch.jit.trace(harness.Function(boxes), torch.ones(3, 4), check_trace=False)
    program = flambeau.export(script, (torch.ones(3, 4),), dynamo=False, opset_version=opset, verbose=False)
    for x in (torch.ones(3, 4), -torch.ones(3, 4), torch.tensor([[1, -1.0, 2, 2]]).expand(3, 4)):
        for got, want in zip(program(x), boxes(x), strict=True):
            torch.testing.assert_close(got, want)


@pytest.mark.parametrize("sizes", [(0, 3, 7, 9), (2, 3, 7, 9), (2, 3, 12, 8)])
def test_adaptive_pools_of_a_batch_of_nothing(sizes: tuple[int, ...]) -> None:
    module = harness.Function(lambda x: (F.adaptive_avg_pool2d(x, (5, 4)), F.adaptive_avg_pool2d(x, (3, 1)), F.adaptive_avg_pool3d(x[..., None].expand(-1, -1, -1, -1, 3), 2)))
    axes = {"x": {0: "b", 2: "h", 3: "w"}}
    for dynamic in (axes, {"x": {0: "b"}}):
        example = harness.floats(2, *sizes[1:])
        program = flambeau.export(torch.jit.trace(module, example, check_trace=False), (example,), dynamo=False, input_names=["x"], dynamic_axes=dynamic, verbose=False)
        x = harness.floats(*sizes)
        for got, want in zip(program(x), module(x), strict=True):
            torch.testing.assert_close(got, want)


@pytest.mark.parametrize("opset", [7, 9])
def test_places_in_nothing(opset: int) -> None:
    script = torch.jit.trace(harness.Function(torch.nonzero), torch.ones(3, 4), check_trace=False)
    axes = {"x": {0: "n", 1: "m"}}
    program = flambeau.export(script, (torch.ones(3, 4),), dynamo=False, opset_version=opset, input_names=["x"], dynamic_axes=axes, verbose=False)
    for sizes in ((3, 4), (5, 0), (0, 3)):
        torch.testing.assert_close(program(torch.ones(sizes))[0], torch.ones(sizes).nonzero())


@pytest.mark.parametrize("opset", [9, 20])
def test_products_over_nothing_of_batches_that_meet_when_the_model_runs(opset: int) -> None:
    script = torch.jit.trace(harness.Function(torch.matmul), (torch.zeros(2, 3, 0), torch.zeros(2, 0, 4)))
    axes = {"x": {0: "a", 1: "b"}, "y": {0: "c"}}
    options = {"opset_version": opset, "input_names": ["x", "y"], "dynamic_axes": axes, "verbose": False}
    program = flambeau.export(script, (torch.zeros(2, 3, 0), torch.zeros(2, 0, 4)), dynamo=False, **options)
    for a, b, c in ((2, 3, 2), (5, 1, 1), (1, 2, 3)):
        torch.testing.assert_close(program(torch.zeros(a, b, 0), torch.zeros(c, 0, 4))[0], torch.zeros(max(a, c), b, 4))


class Decomposition(torch.nn.Module):
    def __init__(self, full: bool) -> None:
        super().__init__()
        self.full = full

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        u, values, vh = torch.linalg.svd(x, full_matrices=self.full)
        return u, values, vh


CAPTURES = {
    "script": lambda module, x: flambeau.export(torch.jit.script(module), (x,), dynamic_shapes=({0: "m", 1: "n"},), verbose=False),
    "module": lambda module, x: flambeau.export(module, (x,), dynamic_shapes=(ANY_SIDES,), verbose=False),
    "program": lambda module, x: flambeau.export(torch.export.export(module, (x,), dynamic_shapes=(ANY_SIDES,)), verbose=False),
}
ANY_SIDES = {0: Dim("m", min=0), 1: Dim("n", min=0)}


def compare_at_nothing(program: Callable[[torch.Tensor], list[torch.Tensor]], module: Decomposition, make: Callable[..., torch.Tensor]) -> None:
    for sizes in ((0, 3), (4, 0), (0, 0)):
        x = make(*sizes)
        for want, got in zip(module(x), program(x), strict=True):
            torch.testing.assert_close(got, torch.view_as_real(want) if want.is_complex() else want)
    assert [len(part) for part in program(make(2, 5))] == [2, 2, 5 if module.full else 2]


# A script says nothing of its sizes; torch takes those of a captured program for positive, whatever their ranges.
@pytest.mark.parametrize("capture", CAPTURES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("make", [harness.floats, pairs])
def test_singular_vectors_of_nothing(capture: str, full: bool, make: Callable[..., torch.Tensor]) -> None:
    module = Decomposition(full)
    compare_at_nothing(CAPTURES[capture](module, make(4, 3)), module, make)


@pytest.mark.parametrize("full", [False, True])
def test_singular_vectors_of_nothing_in_an_archive(full: bool, tmp_path: pathlib.Path) -> None:
    module = Decomposition(full)
    torch.export.save(torch.export.export(module, (harness.floats(4, 3),), dynamic_shapes=(ANY_SIDES,)), tmp_path / "model.pt2")
    flambeau.convert(tmp_path / "model.pt2", tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    (name,) = (value.name for value in session.get_inputs())
    compare_at_nothing(lambda x: [torch.from_numpy(part) for part in session.run(None, {name: x.numpy()})], module, harness.floats)
