"""Operators that a call of one function is not enough for: those of lists, of Python's numbers and of control flow."""

from __future__ import annotations

import math
import operator
from typing import List, Optional, Tuple

import pytest
import torch
import torch.nn.functional as F
from converted_rows import recording
from harness import Function, bools, floats
from torch import Tensor
from torch._higher_order_ops import cond, scan, while_loop
from torch._higher_order_ops.associative_scan import associative_scan_op
from torch._higher_order_ops.map import map as map_over

import flambeau

ROWS, MORE_ROWS = torch.randn(4, 3), torch.randn(7, 3)


def rows_above(x: Tensor) -> List[Tensor]:
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            rows.append(x[i])
    return rows


def lists(x: Tensor) -> Tuple[Tensor, int, Tensor, Tensor]:
    rows = rows_above(x)
    rows.insert(0, x[0])
    rows.append(x[1])
    rows[1] = rows[0] * 2
    doubled = rows + rows_above(x + 1)
    del doubled[0]
    return torch.stack(doubled[1:]), len(rows), torch.stack(rows * 2), doubled[-1]


def numbers_of_sizes(x: Tensor) -> Tuple[int, int, int, int, int, bool, bool, float]:
    n = x.size(0)
    big = n > 5
    return n & 6, n | 8, n ^ 5, n << 2, n >> 1, n != 4, not big, math.exp(n / 10) + math.log(n) + math.pow(n, 0.5) + math.sqrt(n)


def numbers_of_tensors(x: Tensor) -> Tuple[Tensor, int, float, int, Tensor, Tensor, Tensor, Tensor, Tensor]:
    number, total = float(x.sum()), int(x.abs().sum() * 3)
    i = x.sum(1).argmax()
    y = x + 1 if bool(x.sum() > 0) else x - 1
    return y, total, number, int(number), torch.tensor(number), torch.tensor(number > 0), torch.select(x, 0, i), torch.nan_to_num(x / 0, nan=x[0, 0]), torch.add(x, x, alpha=x[0, 0])


def extremes_of_numbers(x: Tensor) -> Tuple[float, float, float, float]:
    largest, least, no_number = float(x.max()), float(x.min()), float(x.sum() * math.nan)
    return max(largest, 0.25), min(least, float(x.mean())), max(no_number, largest), min(least, no_number)


def rounds(x: Tensor) -> Tuple[Tensor, int]:
    k = 0
    while k < 20 and bool(x.sum() < 100):
        x = x.abs() * 1.5
        k += 1
    return x, k


def may_be_none(x: Tensor) -> Optional[Tensor]:
    y: Optional[Tensor] = None
    if bool(x.sum() > 0):
        y = x * 2
    return y


def written_diagonal(x: Tensor) -> Tensor:
    y = x.clone()
    y.fill_diagonal_(2.5, wrap=True)
    return y


class Instances(torch.nn.Module):
    """Instance norms that keep statistics, and give them out."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.InstanceNorm1d(3, track_running_stats=True)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        mean, var = self.norm.running_mean.clone(), self.norm.running_var.clone()
        return F.instance_norm(x.T[None], mean, var, use_input_stats=True), mean + var


def leaves(tree: object) -> list[Tensor]:
    return [torch.as_tensor(leaf) for leaf in torch.utils._pytree.tree_leaves(tree) if leaf is not None]


def check(model: torch.nn.Module, program: flambeau.ONNXProgram, args: tuple[Tensor, ...]) -> None:
    want, got = leaves(model(*[arg.clone() for arg in args])), leaves(program(*args))
    assert len(want) == len(got)
    for theirs, ours in zip(want, got):
        # A float is as precise as the tensors that it comes from.
        theirs = theirs.to(ours.dtype) if theirs.dim() == 0 and theirs.dtype.is_floating_point else theirs
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True)


SCRIPTS = (lists, numbers_of_sizes, numbers_of_tensors, extremes_of_numbers, rounds, may_be_none, written_diagonal)


@pytest.mark.parametrize("function", [*SCRIPTS, Instances], ids=lambda function: function.__name__)
def test_scripts(function, batches):
    script = torch.jit.script(function() if isinstance(function, type) else function)
    with recording(batches.operators):
        program = flambeau.export(script, (ROWS,), dynamic_shapes=({0: "n"},), opset_version=20)
    for rows in (ROWS, MORE_ROWS, -ROWS, ROWS.abs()):
        check(script, program, (rows,))


CONTROL_FLOW = {
    "cond": lambda x: cond(torch.sym_not(x.shape[0] > 5), lambda x: x.sin(), lambda x: x.cos() + x.shape[0], (x,)),
    "while_loop": lambda x: while_loop(lambda y, k: k < 4, lambda y, k: (y * 2, k + 1), (x, torch.tensor(0)))[0],
    "map": lambda x: map_over(lambda row, total: row.cos() - total, x, x.sum(0)),
    "scan": lambda x: scan(lambda total, row: (total + row, total * row), x[0] * 0, x),
    "associative_scan": lambda x: associative_scan_op(lambda a, b, scale: (a * b * scale,), [x], (x.mean(0),)),
    "sizes": lambda x: x.new_ones(torch.sym_int(x.shape[0] / 2) + +x.shape[0]),
}


@pytest.mark.parametrize("name", CONTROL_FLOW)
def test_captured_control_flow(name, batches):
    model = Function(CONTROL_FLOW[name])
    with recording(batches.operators):
        program = flambeau.export(model, (ROWS,), dynamic_shapes=(({0: "n"},),))
    for rows in (ROWS, MORE_ROWS, -ROWS):
        check(model, program, (rows,))


@pytest.mark.parametrize("captured, target, model", (
    (lambda x: x * torch.sym_float(x.shape[0]), math.log2, lambda x: x * math.log2(x.shape[0])),
    (lambda x: x * torch.sym_float(x.shape[0]), operator.pos, lambda x: x * x.shape[0]),
    (lambda x: x * torch.sym_float(x.shape[0]) ** 3, math.pow, lambda x: x * math.pow(x.shape[0], 3)),
), ids=lambda each: getattr(each, "__name__", ""))
def test_numbers_of_programs_made_by_hand(captured, target, model, batches):
    exported = torch.export.export(Function(captured), (ROWS,), dynamic_shapes=(({0: torch.export.Dim("n")},),))
    node = [node for node in exported.graph.nodes if isinstance(node.meta.get("val"), torch.SymFloat)][-1]
    node.target = target
    with recording(batches.operators):
        program = flambeau.export(exported)
    for rows in (ROWS, MORE_ROWS):
        check(Function(model), program, (rows,))


@pytest.mark.needs("torch.onnx.ops.symbolic")
def test_nodes_of_onnx(batches):
    def nodes(x):
        halves = torch.onnx.ops.symbolic_multi_out("Split", (x,), {"axis": 1, "num_outputs": 2}, dtypes=(x.dtype,) * 2, shapes=((x.shape[0], 2), (x.shape[0], 1)))
        return torch.onnx.ops.symbolic("Softplus", (x,), dtype=x.dtype, shape=x.shape), *halves

    with recording(batches.operators):
        program = flambeau.export(Function(nodes), (ROWS,), dynamic_shapes=(({0: "n"},),))
    for rows in (ROWS, MORE_ROWS):
        check(Function(lambda x: (F.softplus(x), *x.split([2, 1], 1))), program, (rows,))


HEADS, GROUPED = [floats(2, 4, 5, 8), floats(2, 4, 7, 8), floats(2, 4, 7, 8)], [floats(2, 4, 5, 8), floats(2, 2, 7, 8), floats(2, 2, 7, 8)]
IN_A_ROW, ANGLES = [floats(2, 5, 32), floats(2, 7, 16), floats(2, 7, 16)], [floats(2, 5, 4), floats(2, 5, 4)]
OF_ONNX = (
    ("attention", HEADS, {}),
    ("attention", [*HEADS, bools(5, 7)], {"scale": 0.3}),
    ("attention", [*HEADS, floats(2, 1, 5, 7)], {}),
    ("attention", HEADS, {"is_causal": True}),
    ("attention", GROUPED, {}),
    ("attention", IN_A_ROW, {"q_num_heads": 4, "kv_num_heads": 2}),
    ("rotary_embedding", [floats(2, 4, 5, 8), *ANGLES], {}),
    ("rotary_embedding", [floats(2, 4, 5, 8), *ANGLES], {"interleaved": True}),
    ("rotary_embedding", [floats(2, 5, 32), *ANGLES], {"num_heads": 4}),
)


@pytest.mark.needs("torch.onnx.ops.attention")
@pytest.mark.parametrize("opset", (20, 23))
@pytest.mark.parametrize("name, args, options", OF_ONNX)
def test_operators_of_onnx(name, args, options, opset, batches):
    model = Function(lambda *given: getattr(torch.onnx.ops, name)(*given, **options))
    with recording(batches.operators):
        program = flambeau.export(model, tuple(args), opset_version=opset)
    check(model, program, tuple(args))
