"""Generates modules that change their state, exports them, and compares the results, the new state and what the export leaves.

    python fuzz/stateful_modules.py --seconds 600 [--capture trace] [--seed N]

A program is Python text: one to three modules, each within the next, that assign and write buffers, weights, plain
tensors, numbers, lists and dicts. Its model has to give what PyTorch's first call gives, and each state that it has as
an output (`inner.mean_out`) what that call leaves there; a buffer that changed is such an output, or warned of. The
module is afterwards as it was. What disagrees is printed whole.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import textwrap
import warnings
from collections.abc import Sequence
from typing import Any

import onnxruntime
import torch
from torch.utils import _pytree

import flambeau
from campaign import Disagreement, Refusal, command, judged
from generated_programs import module_of

HOW = {"export": {}, "trace": {"capture": "trace"}, "script": {}, "verify": {"verify": True}}
X = torch.tensor([0.3, -0.7, 1.1])
BUFFERS = ("self.a", "self.b", "self.c")
HEAD = '''
class {name}(torch.nn.Module):
    rows: list[torch.Tensor]
    named: dict[str, torch.Tensor]

    def __init__(self):
        super().__init__()
        self.register_buffer("z", None)
        self.register_buffer("a", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("b", torch.tensor([0.5, -1.0, 0.0]), persistent=False)
        self.register_buffer("c", torch.tensor([-2.0, 0.25, 1.0]))
        self.weight = torch.nn.Parameter(torch.tensor([1.0, -1.0, 2.0]), requires_grad={trained})
        self.plain, self.calls = torch.tensor([0.1, 0.2, 0.3]), 1
        self.rows, self.named = [torch.ones(3)], {{"p": torch.full((3,), 2.0)}}
{inner}
    def forward(self, x):
'''


class Draw:
    """The text of a program; its last module holds the others."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.values: list[str] = []
        self.statements: list[str] = []

    def program(self) -> str:
        text, names = "import torch\n", list[str]()
        for i in range(self.chance.randint(1, 3)):
            self.values, self.statements = ["x"], []
            inner = [f"self.inner{j}" for j in range(i)]
            while len(self.statements) < 2 + self.chance.randrange(6):
                self.statement(inner)
            self.statements.append(f"return {self.chance.choice(self.values)} + {self.chance.choice([*BUFFERS, 'x', 'self.weight'])}")
            made = "".join(f"        {path} = {name}()\n" for path, name in zip(inner, names))
            names.append(f"Part{i}")
            text += HEAD.format(name=names[-1], trained=self.chance.random() < 0.5, inner=made)
            text += textwrap.indent("\n".join(self.statements), " " * 8) + "\n\n"
        return text + f"Program = {names[-1]}\n"

    def expression(self, depth: int = 0) -> str:
        # Not the weight itself: a buffer that it is assigned to is none any more.
        read = [*self.values, *BUFFERS, "self.plain", "self.weight.view(3)", "self.rows[-1]", "self.rows[0]", "self.named['p']", "(x * self.calls)"]
        if depth == 3 or self.chance.random() < 0.4:
            return self.chance.choice(read)
        one, other = self.expression(depth + 1), self.expression(depth + 1)
        return self.chance.choice(
            [
                f"({one} + {other})",
                f"({one} * {other})",
                f"({one} * 0.5)",
                f"torch.tanh({one})",
                f"{one}.clone()",
                f"{one}.view(3)",
                f"{one}.flip(0)",
                f"torch.cat([{one}[1:], {other}[:1]])",
            ]
        )

    def value(self, of: str) -> str:
        self.values.append(f"v{len(self.values)}")
        return f"{self.values[-1]} = {of}"

    def statement(self, inner: Sequence[str]) -> None:
        (one, other), value = self.chance.sample(BUFFERS, 2), self.expression()
        kinds = {
            "assign": f"{one} = {value}",
            "swap": f"{one}, {other} = {other}, {one}",
            "augment": f"{one} {self.chance.choice('+-*')}= {value}",
            "write": f"{one}{self.chance.choice(['.mul_(0.5)', '.zero_()', '.copy_(x)', '[1:] = x.sum()', '[0] = 0.5'])}",
            "table": f"self._buffers['{one.removeprefix('self.')}'] = {value} + 0",
            "memory": f"{one}.data = {value}.detach() + 0",
            "count": "self.calls += 1",
            "rows": self.chance.choice([f"self.rows.append({value})", f"self.rows[0] = {value}", f"self.named['p'] = {value}"]),
            "plain": f"self.plain = {value} + 0",
            "weight": "with torch.no_grad():\n    self.weight.mul_(0.5)",
            "branch": f"if self.calls > {self.chance.randrange(4)}:\n    {one} = {value} + 0\nelse:\n    {other}.mul_(2)",
        }
        kind = self.chance.choice([*kinds, "assign", "value", "value", "alias", "call", "call"])
        if kind in kinds:
            self.statements.append(kinds[kind])
        elif kind != "call" or inner:
            call = f"{self.chance.choice(inner)}({value})" if kind == "call" else ""
            self.statements.append(self.value({"value": value, "alias": one, "call": call}[kind]))


def state(module: torch.nn.Module) -> dict[str, Any]:
    """A copy of all that the parts of a program hold, by paths."""
    names = ("a", "b", "c", "weight", "plain", "calls", "rows", "named")
    held = {f"{path}.{name}".lstrip("."): getattr(part, name) for path, part in module.named_modules() for name in names}
    return _pytree.tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, held)


def same(one: Any, other: Any) -> bool:
    leaves, others = _pytree.tree_leaves(one), _pytree.tree_leaves(other)
    return len(leaves) == len(others) and all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(leaves, others))


def close(ours: Any, theirs: torch.Tensor, what: str) -> None:
    if ours.shape != theirs.shape or not torch.allclose(torch.as_tensor(ours), theirs, rtol=1e-4, atol=1e-5, equal_nan=True):
        raise Disagreement(f"{what}: {ours}, and PyTorch's {theirs}")


def check(text: str, how: str, folder: pathlib.Path) -> None:
    """Raises where the model and PyTorch disagree, or the module is another afterwards."""
    eager, module = (module_of(text, folder).eval() for _ in range(2))
    before = state(eager)
    try:
        expected = eager(X.clone()).detach()
        module = torch.jit.script(module) if how == "script" else module
    except Exception as error:  # as of a write to a view of a weight
        raise Refusal(f"torch: {type(error).__name__}") from error
    after, untouched = state(eager), state(module)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            program = flambeau.export(module, (X.clone(),), state_outputs=True, **HOW[how])
        except flambeau.errors.OnnxExporterError as error:
            raise Disagreement(f"refused: {error}") from error
    if not same(state(module), untouched):
        raise Disagreement("the export changed the module")
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
    results = session.run(None, {value.name: X.numpy() for value in session.get_inputs()})
    close(results[0], expected, "the result")
    given = {output.name.removesuffix("_out"): result for output, result in zip(session.get_outputs()[1:], results[1:])}
    for path in given.keys() & after.keys():
        if isinstance(after[path], torch.Tensor):
            close(given[path], after[path], path)
    for path, _ in eager.named_buffers():
        if path not in given and not same(before[path], after[path]) and not any(repr(path) in str(each.message) for each in said):
            raise Disagreement(f"{path} changes, and is no output")


def tried(seed: int, how: str, arguments: argparse.Namespace, folder: pathlib.Path) -> str:
    text = Draw(random.Random(seed)).program()
    return judged(f"seed {seed}, {how}", text, lambda: check(text, how, folder))


if __name__ == "__main__":
    command(__doc__, tuple(HOW), tried)
