"""Tensors of lists whose length is known at run time only, joined to one or made alike."""

from typing import List

import flambeau
import pytest
import torch
from cases import Cases, x
from torch import Tensor, nn

case = Cases()

DYNAMIC = {"dynamic_axes": {"x": {0: "n"}}}


def rows(*sizes):
    """Decorates a forward of a tensor, of which it lists what is in each row."""
    return case.forward(x(3, *sizes), others=[(x(5, *sizes),), (x(1, *sizes),)], **DYNAMIC)


def stacks(self, x):
    a = [each * 2 for each in x]
    return torch.vstack(a), torch.row_stack(a), torch.hstack(a), torch.column_stack(a), torch.dstack(a), torch.stack(a)


def alike(self, x):
    a = [each * 2 for each in x]
    return torch.stack(torch.atleast_1d(a)), torch.stack(torch.atleast_2d(a)), torch.stack(torch.atleast_3d(a))


for rank in range(4):
    for function in (stacks, alike):
        case(x(3, *[2, 4, 3][:rank]), how=("script",), others=[(x(5, *[2, 4, 3][:rank]),)], **DYNAMIC)(
            type(f"{function.__name__}_of_rank_{rank}", (nn.Module,), {"forward": function})
        )


@rows(4)
def stacks_of_parts(self, x):
    a: List[Tensor] = []
    for i in range(x.size(0)):
        a.append(x[i : i + 1, : i % 3 + 1])
    return torch.hstack(a), torch.vstack([each[:, :1] for each in a]), torch.dstack([each[:, :1] for each in a])


@rows(4)
def broadcast(self, x):
    a: List[Tensor] = []
    for i in range(x.size(0)):
        a.append(x[i : i + 1, : 1 if i % 2 == 0 else 4])
    return torch.cat(torch.ops.aten.broadcast_tensors(a))


@rows(4)
def blocks(self, x):
    a: List[Tensor] = []
    for i in range(x.size(0)):
        a.append(x[: i % 2 + 1, : i % 3 + 1])
    return torch.ops.aten.block_diag(a), torch.ops.aten.block_diag([each.sum() for each in a]), torch.ops.aten.block_diag([each[0] for each in a])


@case.forward(x(3, 4), others=[(x(5, 4),), (-x(3, 4).abs(),)], **DYNAMIC)
def blocks_of_no_or_some_rows(self, x):
    a: List[Tensor] = []
    wide: List[Tensor] = []
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            a.append(x[i : i + 2])
            wide.append(x[i : i + 2].double())
    none: List[Tensor] = []
    return torch.ops.aten.block_diag(a), torch.ops.aten.block_diag(none), torch.ops.aten.block_diag(wide).size(0) if len(wide) > 0 else 0


@rows(3)
def elements_of_tensors_of_several_ranks(self, x):
    a = list(x.unbind(0))
    a.append(x[-1:])
    a.insert(0, x.sum())
    flat, most, sums, means, count = torch.cat([each.reshape(-1) for each in a]), x.min(), x.new_zeros(()), x.new_zeros(()), 0
    for each in a:
        most = torch.maximum(most, each.max() - each.min())
        sums, means = sums + each.sum(), means * each.mean()
        count += each.numel()
    return flat, most, sums, means, count, [each.flatten() for each in a], torch.cat([each.ravel() * 2 for each in a])


@rows(2, 3)
def views_of_tensors_of_several_ranks(self, x):
    a = list(x.split(1))
    a.append(x[0])
    a[0] = x[0, 0] * 2
    return torch.cat([each.view(-1, 3) for each in a]), torch.stack([each.reshape(3, -1)[:, 0] for each in a])


def along(self, x):
    a = list(x.unbind(0))
    a.append(x[-1:])
    return torch.stack([each.sum(-1) for each in a])


def flattened_from_an_axis(self, x):
    a = list(x.unbind(0))
    a.append(x[-1:])
    return [each.flatten(1) for each in a]


@pytest.mark.parametrize("function", [along, flattened_from_an_axis])
def test_axes_of_tensors_of_several_ranks_are_refused(function):
    model = torch.jit.script(type(function.__name__, (nn.Module,), {"forward": function})())
    with pytest.raises(flambeau.errors.OnnxExporterError, match="the rank of"):
        flambeau.export(model, (x(3, 2, 2),), dynamic_axes={"x": {0: "n"}}, input_names=["x"], dynamo=False, verbose=False)


@pytest.mark.parametrize("function", ["cartesian_prod(a)", "meshgrid(a)[0]", "linalg.multi_dot([each.outer(each) for each in a])"])
def test_what_the_number_of_tensors_decides_is_refused(function, tmp_path):
    file = tmp_path / "listed.py"
    file.write_text(f"import torch\ndef listed(x: torch.Tensor):\n    a = [each * 2 for each in x]\n    return torch.{function}\n")
    namespace = {"__name__": "listed"}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    with pytest.raises(flambeau.errors.OnnxExporterError, match="must be a list whose length is known at conversion"):
        flambeau.export(torch.jit.script(namespace["listed"]), (x(3, 2),), dynamic_axes={"x": {0: "n"}}, input_names=["x"], dynamo=False, verbose=False)


@case.forward(x(2, 3, 4), x(2, 4, 4), dynamic_axes={"x": [0], "y": [0]}, others=[(x(5, 3, 4), x(5, 4, 4))])
def sums_over_numbered_dimensions(self, x, y):
    last: List[int] = [2, 0]
    product = torch.einsum(x, [0, 1, 30], y, [0, 30, 51], [51, 0, 1])
    return torch.einsum(x, [0, 1, 2], last), product, torch.einsum(x, [3, 2, 1], y, [3, 1, 0]), torch.einsum(y, [0, 1, 1])


@case.forward(x(2, 3, 4), dynamic_axes={"x": [0]}, others=[(x(5, 3, 4),)])
def written_in_an_order_by_number(self, x):
    y = x.clone()
    turned = torch.einsum(y, [0, 1, 2], [2, 0, 1])
    turned.add_(1)
    return y, turned


test_program = case.test()
