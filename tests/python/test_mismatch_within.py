"""Where models part within branches and loops: the captured node there, and in which round."""

from typing import Tuple

import onnx
import pytest
import torch
from onnxscript import opset20 as op
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import flambeau
from flambeau import __main__ as command
from flambeau.verification.node_values import compare_nodes
from flambeau.saving import with_outputs
from flambeau.verification.script_nodes import first_script_mismatch
from flambeau.session import Session, cpu_session


class Inner(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2


class Nested(torch.nn.Module):
    """As many nodes of the same names in all graphs as there can be."""

    def __init__(self):
        super().__init__()
        self.inner, self.fc = Inner(), torch.nn.Linear(4, 4)

    def forward(self, x):
        y = torch.cond(self.fc(x).sum() > 0, lambda y: self.inner(y) + 1, lambda y: y - 1, (x,)) + 1

        def body(y, n):
            grown = torch.cond(n > 1, lambda y: torch.sigmoid(y) + y, lambda y: torch.tanh(y) + y + 3, (y,))
            return grown + self.inner(y), n + 1

        y, _ = while_loop(lambda y, n: n < 4, body, (y, torch.tensor(0)))
        total, rows = scan(lambda total, row: (total + torch.erf(row), (total * row).clone()), torch.zeros(4), y)
        return torch_map(lambda row, total: torch.cos(row) - total, rows, total) + 1


X = torch.linspace(-1, 1, 12).reshape(3, 4)


@pytest.fixture(scope="module")
def exported():
    torch.manual_seed(1)
    return torch.export.export(Nested().eval(), (X,))


def test_values_within_are_compared(exported):
    program = flambeau.export(exported)
    compared = list(compare_nodes(program))
    assert all(comparison.ok for _, comparison in compared), [c.name for _, c in compared if not c.ok]
    places = {comparison.inputs for _, comparison in compared}
    rounds = [f"example, round {number} of while_loop" for number in (1, 2, 3, 4)]
    assert set(rounds) <= places and {"example, round 3 of scan", "example, round 3 of map_impl"} <= places
    assert f"{rounds[0]}, false branch of cond" in places and f"{rounds[3]}, true branch of cond" in places
    names = {(comparison.name, comparison.inputs) for _, comparison in compared}
    assert ("sigmoid", f"{rounds[2]}, true branch of cond") in names and ("relu", rounds[0]) in names


WRONG = {
    "tanh": (torch.ops.aten.tanh.default, lambda x: op.Tan(x), "example, round 1 of while_loop, false branch of cond"),
    "sigmoid": (torch.ops.aten.sigmoid.default, lambda x: op.Sin(x), "example, round 3 of while_loop, true branch of cond"),
    "erf": (torch.ops.aten.erf.default, lambda x: op.Sin(x), "example, round 1 of scan"),
    "cos": (torch.ops.aten.cos.default, lambda x: op.Sin(x), "example, round 1 of map_impl"),
    "relu": (torch.ops.aten.relu.default, lambda x: op.Abs(op.Mul(x, 1.5)), "example, true branch of cond"),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_first_node_within_is_named(exported, name, tmp_path, capsys):
    target, wrong, place = WRONG[name]
    program = flambeau.export(exported, f=tmp_path / "model.onnx", custom_translation_table={target: wrong})
    found = flambeau.find_mismatch(program)
    assert (found.node.name, found.comparison.inputs, found.kind) == (name, place, "operator"), repr(found)
    # The same of the file alone, optimised.
    torch.export.save(exported, tmp_path / "model.pt2")
    assert command.main(["verify", "--nodes", str(tmp_path / "model.pt2"), str(tmp_path / "model.onnx")]) == command.EXIT_DIFFERENT
    said = capsys.readouterr().out
    assert f"first mismatch: %{name} : " in said and f"({place})" in said


def test_modules_within_are_those_of_the_model(tmp_path):
    """Captures call the model itself by a name of their own there."""

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda y: self.inner(y) + 1, lambda y: y - 1, (x,))

    wrong = {torch.ops.aten.relu.default: lambda x: op.Abs(op.Mul(x, 1.5))}
    for strategy, module in (("strict", "inner"), ("non-strict", "")):  # which does not say more than where the branch is
        program = flambeau.export(Outer(), (X + 1,), capture_strategies=[strategy], metadata="debug")
        properties = {entry.key: entry.value for entry in node_of(program, "Relu").metadata_props}
        within = f"/inner: {__name__}.Inner" if module else ""
        assert properties["namespace"].endswith(f"Outer{within}/relu: aten.relu.default") and properties["namespace"].count("Outer") == 1
        assert "test_mismatch_within.py" in properties["pkg.torch.onnx.stack_trace"]
        found = flambeau.find_mismatch(flambeau.export(Outer(), (X + 1,), capture_strategies=[strategy], custom_translation_table=wrong))
        assert found.module == module
        assert not module or "test_mismatch_within.py" in found.source
    flambeau.save(torch.export.export(Outer(), (X + 1,), strict=True), tmp_path / "model.pt2")
    flambeau.convert(tmp_path / "model.pt2", tmp_path / "model.onnx")
    assert "_export_root" not in str(onnx.load(tmp_path / "model.onnx").graph)


def test_what_captures_do_not_say_of_branches_within_loops():
    """It is where the loop is."""
    program = flambeau.export(Nested().eval(), (X,))
    for op_type in ("Sigmoid", "Relu", "Erf"):
        properties = {entry.key: entry.value for entry in node_of(program, op_type).metadata_props}
        assert properties["namespace"].startswith(f": {__name__}.Nested/")


def node_of(program, op_type):
    graphs = [program.model_proto.graph]
    for graph in graphs:
        for node in graph.node:
            if node.op_type == op_type:
                return node
            graphs += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    raise AssertionError(op_type)


def test_conditions_that_hold_branches():
    """Such a loop goes one round more, in which it does nothing."""

    class Loop(torch.nn.Module):
        def forward(self, x):
            def condition(x):
                return torch.cond(x.sum() > 5, lambda x: x.sum() < 90, lambda x: x.sum() < 100, (x,))

            return while_loop(condition, lambda x: (x * 2 + 1,), (x,))[0]

    assert not flambeau.find_mismatch(flambeau.export(Loop(), (X + 2,)))


def test_rounds_and_branches_that_differ():
    class Rounds(torch.nn.Module):
        def forward(self, x, n):
            return while_loop(lambda y, k: k < n, lambda y, k: (y * 2, k + 1), (x, torch.tensor(0)))[0]

    class Branches(torch.nn.Module):
        def forward(self, x):
            return torch.cond(torch.sum(x) > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    fewer = {torch.ops.aten.lt.Tensor: lambda a, b: op.Less(op.Add(a, 1), b)}
    found = flambeau.find_mismatch(flambeau.export(Rounds(), (X, torch.tensor(3)), custom_translation_table=fewer))
    assert found.node.name in ("lt", "while_loop") and "round 2" in found.comparison.inputs, repr(found)
    other = {torch.ops.aten.gt.Scalar: lambda a, b: op.Less(a, 0.0)}
    found = flambeau.find_mismatch(flambeau.export(Branches(), (X + 2,), custom_translation_table=other))
    assert found.node.name == "gt", repr(found)


def test_names_in_branches_are_not_those_outside():
    """`add` in the branch has the name in the model, and `add` behind it another: neither is taken for the other."""

    class Both(torch.nn.Module):
        def forward(self, x):
            y = torch.cond(x.sum() > 0, lambda x: (x + 1) * 3 + 5, lambda x: x - 1, (x,))
            return (y + 2) * (y + 3) * (y + 4)

    program = flambeau.export(Both(), (X + 2,), metadata="release")
    compared = list(compare_nodes(program))
    assert len(compared) >= 10 and all(comparison.ok for _, comparison in compared)


class Scripted(torch.nn.Module):
    def forward(self, x, n: int):
        y = torch.tanh(x)
        for i in range(n):
            if bool(y.sum() > 0):
                y = torch.sigmoid(y) - 2
            else:
                y = torch.relu(y) + 1
            y = y * 1.5
        return torch.exp(y)


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize(("target", "wrong", "place"), [
    (None, None, ""),
    (torch.ops.aten.sigmoid.default, lambda x: op.Sin(x), ", round 1 of /Loop, true branch of /If"),
    (torch.ops.aten.relu.default, lambda x: op.Abs(x), ", round 2 of /Loop, false branch of /If"),
    (torch.ops.aten.exp.default, lambda x: op.Sin(x), ""),
])  # fmt: skip
def test_scripts_are_compared_within(optimize, target, wrong, place, tmp_path, capsys):
    path, file = str(tmp_path / "model.pt"), str(tmp_path / "model.onnx")
    torch.jit.script(Scripted()).save(path)
    table = {target: wrong} if target is not None else None
    flambeau.export(path, (torch.ones(4), 3), file, dynamo=False, dynamic_shapes=({0: "n"}, None), custom_translation_table=table, optimize=optimize)
    script, model, x = torch.jit.load(path), onnx.load(file), torch.linspace(0.1, 1, 4)

    def compute(names):
        values = Session(cpu_session(with_outputs(model, names)), [("x", "float32"), ("n", "int64")][: len(model.graph.input)])
        return values.run([x, torch.tensor(3)][: len(model.graph.input)])

    found = first_script_mismatch(model, script, (x, 3), compute, inputs="example")
    if target is None:
        assert found.comparison is None and found.checked >= 8, repr(found)
    else:
        name = target.name().partition("::")[2]
        assert (found.operator, found.comparison.inputs) == (f"aten::{name}", f"example{place}"), repr(found)
        if name == "relu":  # what the command makes up for `n` does not reach it
            return
        assert command.main(["verify", "--nodes", path, file]) == command.EXIT_DIFFERENT
        said = capsys.readouterr().out
        assert f"first mismatch: aten::{name} in module '(model)' at " in said and "test_mismatch_within.py:" in said


class Summed(torch.nn.Module):
    def forward(self, x):
        total = torch.zeros(4, dtype=torch.int64)
        for i in range(x.size(0)):
            total = total + x[i]
        return total * 2


def test_a_round_that_stands_before_its_loop_is_the_first():
    """The dtype of `total` changes in it."""
    script, x = torch.jit.script(Summed()), torch.arange(12.0).view(3, 4)
    model = flambeau.export(script, (x,), dynamo=False, dynamic_shapes=({0: "n"},)).model_proto

    def compute(names):
        return Session(cpu_session(with_outputs(model, names)), [("x", "float32")]).run([x])

    found = first_script_mismatch(model, script, (x,), compute, inputs="example")
    assert found.comparison is None and found.checked >= 2, repr(found)


def tanh_of_inputs(self, inputs: Tuple[torch.Tensor], output: torch.Tensor) -> torch.Tensor:
    return output * torch.tanh(inputs[0])


def test_hooks_of_a_script_are_compared():
    module = torch.nn.Sequential(torch.nn.Sigmoid())
    module.register_forward_hook(tanh_of_inputs)
    script, x = torch.jit.script(module), torch.arange(12.0).view(3, 4)
    model = flambeau.export(script, (x,), dynamo=False, dynamic_shapes=({0: "n"},)).model_proto

    def compute(names):
        return Session(cpu_session(with_outputs(model, names)), [("input", "float32")]).run([x])

    found = first_script_mismatch(model, script, (x,), compute, inputs="example")
    assert found.comparison is None and found.checked >= 3, repr(found)
