"""Generates modules that say what Python and TorchScript have besides operators, converts them, and compares onnxruntime with PyTorch.

    python fuzz/scripted_modules.py --seconds 600 [--capture script] [--opset 17] [--seed N] [--steps 6] [--refusals]

A program is the text of a module (forms: typed_grammar.py, typed_algorithms.py): branches, loops, numbers, text, lists, dicts, None, methods
with early returns, layers and their lists, attributes that change. Each statement is tried in three worlds, whose first
dimension and data differ, and kept where all run and TorchScript has it. What comes out has to agree in each world;
a trace, in those that it is right for. Disagreements are shrunk by leaving lines out; so are refusals, on request.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

import grammar
import typed_algorithms
import typed_grammar
from campaign import DISAGREES, Disagreement, Refusal, command
from checked_modules import CAPTURES, OPSETS, Subject, World, check, limited
from drawing import Defined

SIZES = ((3, 5, 2), (3, 5, 2), (3, 5, 1), (1, 3, 4))
INPUTS = {
    "x": "Tensor",
    "y": "Tensor",
    "z": "Tensor",
    "i": "Tensor",
    "mask": "Tensor",
    "rows": "List[Tensor]",
    "given": "Optional[Tensor]",
    "by_name": "Dict[str, Tensor]",
    "couple": "Tuple[Tensor, Tensor]",
    "count": "int",
    "factor": "float",
    "choice": "bool",
}
KINDS_OF_INPUTS = {"rows": "tensors", "given": "maybe", "by_name": "table", "count": "int", "factor": "float", "choice": "flag"}
KNOWN = "unsupported-opset|is None on some paths|of which paths through it made different things|not the same kind of thing|changes the shape of a tensor in place|text that is known at run time only|compares values that are known at run time only|whose length the conversion knows"
"""What refusals of forms that ONNX lacks say, which are not printed."""
OF_SCRIPTS = ("given", "count", "factor", "choice")
"""Inputs that torch.jit.trace does not take."""
SHOWN = {"script": "count|scale|sizes|seen|held|steps_done", "trace": "seen|held|steps_done"}
"""Attributes that are results."""


def world_of(chance: random.Random, size: int, constants: World) -> World:
    generator = torch.Generator().manual_seed(chance.randrange(1 << 30))

    def floats(*sizes: int) -> torch.Tensor:
        return torch.randn(sizes, generator=generator)

    return {
        "x": floats(size, 4),
        "y": floats(size, 2, 4),
        "z": floats(2, 4, size + 3, 5),
        "i": torch.randint(0, 5, (size,), generator=generator),
        "mask": floats(size, 4) > 0,
        "rows": [floats(size, 4), floats(size, 4), floats(2, 4)],
        "given": floats(4) if constants["given"] else None,
        "by_name": {"a": floats(size, 4), "b": floats(4)},
        "couple": (floats(size, 4), floats(size)),
        **{name: constants[name] for name in ("count", "factor", "choice")},
    }


def class_of(body: str) -> str:
    """The attributes and methods that the text mentions."""
    methods = "".join(text for method, text in typed_grammar.METHODS.items() if f"self.{method}(" in body)
    used = set(re.findall(r"self\.(\w+)", methods + body))
    held = [f"self.{each} = {value}" for each, value in typed_grammar.ATTRIBUTES.items() if each in used]
    held += [f'self.register_buffer("{each}", {value})' for each, value in typed_grammar.BUFFERS.items() if each in used]
    inner = textwrap.indent("\n".join(["super().__init__()", *held]), " " * 8)
    return f"    def __init__(self):\n{inner}\n{methods}"


def mentioned(lines: list[str], outputs: list[str]) -> list[str]:
    words = set(re.findall(r"(?<![.\w])[a-z_]+\b(?!=)", "\n".join([*lines, *outputs])))
    return [name for name in INPUTS if name in words] or ["x"]


def text_of(lines: list[str], outputs: list[str]) -> str:
    body = "\n".join([*lines, f"return {', '.join(outputs)}" if outputs else "return torch.tensor(0)"])
    signature = ", ".join(f"{name}: {INPUTS[name]}" for name in mentioned(lines, outputs))
    return typed_grammar.HEAD + class_of(body) + f"\n    def forward(self, {signature}):\n" + textwrap.indent(body, " " * 8) + "\n"


class Draw:
    """Draws the lines of one program."""

    def __init__(self, chance: random.Random, capture: str, folder: pathlib.Path) -> None:
        self.chance, self.capture, self.folder = chance, capture, folder
        constants = {"given": chance.random() < 0.5, "count": chance.randint(0, 4), "factor": chance.choice((0.5, 2.0, -1.5)), "choice": chance.random() < 0.5}
        self.worlds = [world_of(chance, size, constants) for size in chance.choice(SIZES)]
        self.training = chance.random() < 0.25
        self.kinds: dict[str, str] = {name: KINDS_OF_INPUTS.get(name, "tensor") for name in INPUTS if name != "couple" and (capture == "script" or name not in OF_SCRIPTS)}
        self.values: World = dict(self.worlds[0])
        self.lines: list[str] = []
        self.count = 0

    def variable(self, kind: str) -> str:
        if kind in grammar.KINDS:
            dtypes, rank = grammar.KINDS[kind]
            named = [(name, self.values.get(name)) for name, own in self.kinds.items() if own == "tensor"]
            fits = [name for name, value in named if value is None or isinstance(value, torch.Tensor) and (dtypes is None or value.dtype in dtypes) and rank in (None, value.dim())]
        else:
            fits = [name for name, own in self.kinds.items() if own == kind]
        if not fits:
            raise LookupError
        return self.chance.choice(fits[-4:] if self.chance.random() < 0.5 else fits)

    def fill(self, form: str, depth: int = 0) -> str:
        """The form with something in each place."""
        names: dict[str, str] = {}

        def place(match: re.Match[str]) -> str:
            key = match[1]
            kind = key.rstrip("!").rstrip("23")
            if kind in ("f", "m", "q", "p", "v", "t", "i", "u", "b", "h", "d"):
                if key not in names:
                    names[key] = self.variable(kind)
                return names[key]
            if kind in typed_grammar.TYPES:
                if key.endswith("!"):
                    names.setdefault(key, self.variable(kind))
                    return names[key]
                return self.expression(kind, depth + 1)
            if key == "new":
                return f"v{self.count}"
            if key == "dim":
                return names.setdefault("dim", str(self.chance.choice((0, 0, 1, -1, -2))))
            if key == "index":
                return self.chance.choice(("[0]", "[:, 1:]", "[-1]", "[::2]", "[1:]", "[..., 0]"))
            if key in ("c", "s"):
                return str(self.chance.randint(1, 3)) if key == "c" else repr(self.chance.choice((-1.5, -0.5, 0.25, 2.0)))
            return match[0]

        return re.sub(r"(?<!\{)\{(\w+!?)\}(?!\})", place, form).replace("{{", "{").replace("}}", "}")

    def expression(self, kind: str, depth: int = 0) -> str:
        if depth and kind != "tensor" and (depth > 3 or self.chance.random() < 0.45):
            if kind == "int" and self.chance.random() < 0.3:
                return str(self.chance.randint(0, 4))
            try:
                return self.variable(kind)
            except LookupError:
                pass
        if depth > 5:
            raise LookupError
        text = self.fill(self.chance.choice(typed_grammar.TENSORS if kind == "tensor" else typed_grammar.EXPRESSIONS[kind]), depth)
        return f"({text})" if depth and " " in text and not re.fullmatch(r"[\w.]*[(\[][^()\[\]]*[)\]]", text) else text

    def bind(self) -> str:
        """A statement at the top, which binds a new name."""
        if self.chance.random() < 0.12:
            kinds, form = self.chance.choice(typed_grammar.BINDINGS)
            text = self.fill(form)
            self.pending = dict(zip((f"v{self.count}", f"v{self.count}b"), kinds))
            return text
        kind = self.chance.choice(["tensor"] * 6 + list(typed_grammar.TYPES))
        text = self.expression(kind)
        self.pending = {f"v{self.count}": kind}
        return f"v{self.count}: {typed_grammar.TYPES[kind]} = {text}" if kind in typed_grammar.TYPES else f"v{self.count} = {text}"

    def simple(self) -> str:
        """A statement that assigns or writes a variable there is."""
        if self.chance.random() < 0.5:
            return self.fill(self.chance.choice(typed_grammar.WRITES))
        kind = self.chance.choice(["tensor"] * 5 + list(typed_grammar.TYPES))
        name = self.variable("t" if kind == "tensor" else kind)
        text = self.expression(kind)
        return f"{name} = ({text}).to({name}.dtype)" if kind == "tensor" and self.chance.random() < 0.8 else f"{name} = {text}"

    def block(self, depth: int = 0) -> str:
        return self.filled_block(self.chance.choice(typed_grammar.BLOCKS), depth)

    def filled_block(self, form: str, depth: int) -> str:
        """The form with something in each place, and statements in each body."""
        self.named = self.count
        self.count += 1
        local = {"{j}": (f"j{self.count}", "int"), "{each}": (f"each{self.count}", "tensor"), "{word}": (f"word{self.count}", "text")}
        for place, (name, kind) in local.items():
            if place in form:
                form = form.replace(place, name)
        form = self.fill(re.sub(r"\{(body\d?)\}", r"<\1>", form.replace("{new}", f"v{self.named}")))
        named = self.named
        before = dict(self.kinds)
        self.kinds |= {name: kind for name, kind in local.values() if name in form}
        lines = []
        try:
            for line in form.split("\n"):
                if re.fullmatch(r"<body\d?>", line):
                    inner = [self.block(depth + 1) if depth < 2 and self.chance.random() < 0.15 else self.simple() for _ in range(self.chance.choice((1, 1, 2)))]
                    lines.append(textwrap.indent("\n".join(inner), "    "))
                else:
                    lines.append(line)
        finally:
            self.kinds, self.named = before, named
        return "\n".join(lines)

    def algorithm(self) -> str:
        """Statements at the top, which bind a new name."""
        kind, form = self.chance.choice(typed_algorithms.ALGORITHMS)
        text = self.filled_block(form.strip("\n"), 0)
        self.pending = {f"v{self.named}": kind}
        return text

    def step(self) -> None:
        self.pending: dict[str, str] = {}
        self.count += 1
        drawn = self.chance.random()
        try:
            text = self.bind() if drawn < 0.4 else self.algorithm() if drawn < 0.6 else self.block() if drawn < 0.87 else self.simple()
        except LookupError:
            return
        lines = [*self.lines, *text.split("\n")]
        kinds = self.kinds | self.pending
        names = [name for name in kinds if name not in INPUTS]
        after = ran(lines, names, self.worlds, self.subject)
        if after is None or self.capture == "script" and not scripts(self.subject(lines, [*names, "0"])):
            return
        self.lines, self.kinds = lines, kinds
        self.values = dict(self.worlds[0]) | dict(zip(names, after))

    def subject(self, lines: list[str], outputs: list[str]) -> Subject:
        return Subject(text_of(lines, outputs), mentioned(lines, outputs), self.worlds, self.capture, self.training, self.folder)

    def program(self, steps: int) -> tuple[list[str], list[str]]:
        done, tries = 0, 0
        while done < steps and tries < 5 * steps:
            before = len(self.lines)
            self.step()
            done, tries = done + (len(self.lines) > before), tries + 1
        words = {name for name, kind in self.kinds.items() if (kind == "text" if self.capture == "script" else kind not in ("tensor", "table"))}
        changed = [name for name in INPUTS if name in self.kinds and re.search(rf"^\s*{name}\b[^(]*(=|\.\w+_?\()", "\n".join(self.lines), re.MULTILINE)]
        shown = [name for name in self.kinds if name not in INPUTS and name not in words] + [name for name in changed if name not in words]
        state = sorted({f"self.{name}" for name in re.findall(rf"self\.({SHOWN[self.capture]})\b", "\n".join(self.lines))})
        return self.lines, [*shown, *state][-8:] or ["x"]


def ran(lines: list[str], names: list[str], worlds: list[World], subject_of: Callable[[list[str], list[str]], Subject]) -> list[Any] | None:
    """What the names are in the first world; None where PyTorch refuses the lines in one, or numbers grow."""
    first = None
    for world in worlds:
        try:
            subject = subject_of(lines, [*names, "0"])
            with Defined():
                values = limited(lambda: subject.eager(world))[:-1]
        except Exception:
            return None
        if not sound(values):
            return None
        first = values if first is None else first
    return list(first)


def sound(values: Any) -> bool:
    leaves = pytree.tree_leaves(values)
    if len(leaves) > 80:
        return False
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            if leaf.numel() > 2000 or leaf.dim() > 5 or leaf.dtype != torch.bool and leaf.numel() and not bool((leaf.abs() < 1e5).all()):
                return False
        elif isinstance(leaf, (int, float)) and not abs(leaf) < 1e5:
            return False
    return True


def scripts(subject: Subject) -> bool:
    try:
        torch.jit.script(subject.made())
    except Exception:
        return False
    return True


def fewer_lines(lines: list[str]) -> Iterator[list[str]]:
    """The lines without one of them and what is in it; or with what is in it instead."""
    for at in reversed(range(len(lines))):
        indent = len(lines[at]) - len(lines[at].lstrip())
        end = at + 1
        while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > indent:
            end += 1
        yield lines[:at] + lines[end:]
        if end > at + 1:
            yield lines[:at] + [line[4:] for line in lines[at + 1 : end]] + lines[end:]


def shrunk(lines: list[str], outputs: list[str], fails: Callable[[list[str], list[str]], bool]) -> tuple[list[str], list[str]]:
    again = True
    while again:
        again = False
        for at in reversed(range(len(outputs))):
            fewer = outputs[:at] + outputs[at + 1 :]
            if fewer and fails(lines, fewer):
                outputs, again = fewer, True
        for fewer in fewer_lines(lines):
            if fails(fewer, outputs):
                lines, again = fewer, True
                break
    return lines, outputs


def tried(seed: int, capture: str, arguments: argparse.Namespace, folder: pathlib.Path) -> str:
    """How the program of a seed ends; one that disagrees is printed."""
    draw = Draw(random.Random(f"{seed} {capture}"), capture, folder)
    lines, outputs = draw.program(arguments.steps)
    opset = draw.chance.choice(arguments.opset or OPSETS)

    def end(lines: list[str], outputs: list[str]) -> tuple[str, str]:
        try:
            check(draw.subject(lines, outputs), opset)
        except Refusal as refusal:
            return str(refusal), str(refusal.__cause__)
        except Disagreement as disagreement:
            return DISAGREES, str(disagreement)
        return "agrees", ""

    ended, said = end(lines, outputs)
    if ended == DISAGREES or arguments.refusals and ended.startswith("flambeau") and not re.search(KNOWN, f"{ended} {said}"):
        kind = said[:20]
        lines, outputs = shrunk(lines, outputs, lambda fewer, shown: (found := quiet(end, fewer, shown))[0] == ended and (ended != DISAGREES or found[1][:7] == kind[:7]))
        said = end(lines, outputs)[1]
        body = textwrap.indent("\n".join([*lines, f"return {', '.join(outputs)}"]), "    ")
        print(f"--- seed {seed}, {capture}, opset {opset}{', training' if draw.training else ''}: {said[:1200]}\n{mentioned(lines, outputs)}\n{body}", flush=True)
    return ended


def quiet(end: Callable[..., tuple[str, str]], lines: list[str], outputs: list[str]) -> tuple[str, str]:
    try:
        return end(lines, outputs)
    except Exception:  # text that is no program any more
        return "", ""


if __name__ == "__main__":
    command(__doc__, CAPTURES, tried, opsets=True, steps=6)
