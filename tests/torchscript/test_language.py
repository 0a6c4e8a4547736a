"""The graph of an archive is the one that torch.jit.load makes of it: the same operators, overloads and control flow."""

import os
import re
import subprocess
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from modules import Interfaces, modules  # noqa: E402

# What constant propagation and the lowering of tuples, which torch.jit.load runs, add and take away.
NOT_COMPARED = {"prim::Constant", "prim::TupleConstruct", "prim::TupleUnpack", "prim::TupleIndex", "prim::Uninitialized", "prim::ListConstruct", "aten::device"}
MODULES = modules()


def dump(path):
    program = Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin/flambeau"
    run = subprocess.run([program, "dump", path, "--stage", "torchscript"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


def ours(text):
    """The operators of a dump, in order, without what torch.jit.load folds."""
    found = []
    for line in text.splitlines():
        match = re.match(r"\s*(?:%.*? = )?(\w+::\w+(?:\.\w+)?)(?:\[.*\])?\(.*\)$", line)
        if match and match[1] not in NOT_COMPARED:
            found.append(match[1])
    return found


def theirs(path):
    """The operators of torch's graph, in order, with the bodies of calls in their places.

    torch's own inlining folds constants within what it inlines; the functions as they are loaded are compared here.
    """
    unit = torch._C.CompilationUnit()
    module = torch._C.import_ir_module(unit, str(path), None, {}, False)
    functions = {function.qualified_name: function for function in unit.get_functions()}
    found = []

    def called(node):
        name, given = node.inputsAt(0).node().s("name"), [value.type() for value in node.inputs()][1:]
        for qualified, function in functions.items():
            wanted = [value.type() for value in function.graph.inputs()]
            fits = len(wanted) == len(given) and all(a.isSubtypeOf(b) for a, b in zip(given, wanted))
            if qualified.endswith("." + name) and fits:
                return function
        raise LookupError(name)

    def walk(block):
        for node in block.nodes():
            kind = node.kind()
            schema = node.schema()
            if schema != "(no schema)" and not kind.startswith("prim::"):
                kind = schema.split("(")[0]
            if kind == "prim::CallMethod":
                walk(functions[f"{node.inputsAt(0).type().qualified_name()}.{node.s('name')}"].graph)
            elif kind == "prim::CallFunction":
                walk(called(node).graph)
            elif kind not in NOT_COMPARED:
                found.append(re.sub(r"prim::fork_\d+", "prim::fork", kind))
            for inner in node.blocks():
                walk(inner)
            if node.kind().startswith("prim::fork"):
                walk(node.g("Subgraph"))

    name = "forward" if "forward" in module._method_names() else "forward__0"  # overloaded in nn.LSTM and its like
    walk(module._get_method(name).graph)
    return found


@pytest.mark.parametrize("name", MODULES)
def test_same_graph_as_torch(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = MODULES[name]()
    path = tmp_path / "model.pt"
    torch.jit.save(module, str(path))  # functions take no other path
    mine = ours(dump(path))
    # The overloads of prim:: operators say nothing of how they are called.
    mine = [kind.split(".")[0] if kind.startswith("prim::") else kind for kind in mine]
    assert mine == theirs(path)


def test_interfaces_are_what_their_objects_are(tmp_path):
    """torch leaves calls of an interface's methods to its runtime; the module's state says what they call."""
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(Interfaces()), path)
    kinds = ours(dump(path))
    assert "prim::CallMethod" not in kinds and "aten::sigmoid" in kinds


def test_a_state_dict_is_no_program(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save({"w": torch.ones(2)}, path)
    program = Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin/flambeau"
    run = subprocess.run([program, "dump", path, "--stage", "torchscript"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 1 and "the file is no TorchScript archive" in run.stderr
