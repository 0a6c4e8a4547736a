"""Generates scripts that read and write lists in lists, dicts and tuples by names that may be one, and compares what they hold.

    python fuzz/aliased_lists.py --seconds 600 [--seed N]

A program takes numbers that only a run knows for places and keys. It has to hold afterwards what it holds in PyTorch, for
three inputs, or be refused: it never may be taken for another one. What disagrees is printed whole.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import random
import textwrap
import warnings

import onnxruntime
import torch

import flambeau
from campaign import Disagreement, Refusal, command, judged
from generated_programs import module_of

INPUTS = [torch.tensor(places) for places in ([0, 1, 0, 2], [1, 1, 0, 0, 2], [2, 0, 2])]

HEAD = '''
import torch
from typing import Dict, List, Tuple

def total(rows: List[int]) -> int:
    found = 1
    for each in rows:
        found = (found * 31 + each) % 9973
    return found

class Program(torch.nn.Module):
    def forward(self, x):
'''

# What is made first, one or more of each kind.
MADE = {
    "row": ("[{n}]", "[{n}, int(x[0])]", "torch.jit.annotate(List[int], [])"),
    "rows": ("[{row}, [{n}], [{n}, {n}]]", "[[k, {n}] for k in range(3)]", "[torch.jit.annotate(List[int], []) for k in range(x.size(0))]"),
    "named": ('{{"a": {row}, "b": [{n}]}}', '{{"a": [{n}], "b": [int(x[1])]}}'),
    "table": ("[{named}, {named}]", '[{{"a": [k], "b": [k, {n}]}} for k in range(x.size(0))]'),
    "cube": ("[{rows}, [[{n}]]]", "[[[k], [{n}, k]] for k in range(x.size(0))]"),
    "pages": ("[{table}, {table}]", "[torch.jit.annotate(List[Dict[str, List[int]]], []) for k in range(x.size(0))]"),
    "keyed": ("{{0: {row}, 1: [{n}], 2: {row}}}", "{{0: [{n}], 1: [{n}, 5], 2: torch.jit.annotate(List[int], [])}}"),
    "pairs": ("[({row}, {n}), ([{n}], {n})]", "[([k, {n}], k) for k in range(x.size(0))]"),
}
TYPES = {
    "row": "List[int]",
    "rows": "List[List[int]]",
    "named": "Dict[str, List[int]]",
    "table": "List[Dict[str, List[int]]]",
    "cube": "List[List[List[int]]]",
    "pages": "List[List[Dict[str, List[int]]]]",
    "keyed": "Dict[int, List[int]]",
    "pairs": "List[Tuple[List[int], int]]",
}
# What gives a part of something, or something new with the same parts.
TAKEN = {
    "row": ("{rows}[{p}]", '{named}["a"]', '{named}["b"]', "{keyed}[{p} % 3]", "{keyed}[{c}]", "{pairs}[{p}][0]", "{rows}[0]", "{row} + [{n}]", '{table}[{p}]["a"]'),
    "rows": ("{cube}[{p}]", "{cube}[0]", "{rows}[:{p} + 1]", "[{row}, {row}]", "{rows} + [{row}]"),
    "named": ("{table}[{p}]", "{table}[0]", '{{"a": {row}, "b": {row}}}', "{pages}[{p}][0]"),
    "table": ("{pages}[{p}]", "{pages}[0]", "{table}[:{p} + 1]", "[{named}]"),
    "pairs": ("{pairs}[:{p} + 1]", "[({row}, {n})]"),
    "keyed": ("{{0: {row}, 1: {row}, 2: [{n}]}}",),
}
WRITES = (
    "{row}.append({n})", "{row}.append(int(x[0]) + {n})", "{row}[-1] = {n}", "{row}.insert(0, {n})", "{row}.clear()",
    "{rows}.append({row})", "{rows}[{p}] = {row}", "{rows}[{p}].append({n})", "{rows}[0].append({n})", "{rows}.append([{n}])",
    '{named}["a"] = {row}', '{named}["b"].append({n})', '{named}["a"] = [{n}]', "{table}.append({named})", "{table}[{p}] = {named}",
    '{table}[{p}]["a"].append({n})', '{table}[{p}]["b"] = {row}', "{cube}.append({rows})", "{cube}[{p}].append({row})", "{cube}[{p}][0].append({n})",
    "{pages}[{p}].append({named})", "{pages}.append({table})", '{pages}[{p}][0]["a"].append({n})', "{pages}[0].append({named})",
    "{keyed}[{p} % 3].append({n})", "{keyed}[{c}].append({n})", "{keyed}[{p} % 3] = {row}", "{keyed}[{c}] = {row}",
    "{pairs}.append(({row}, {n}))", "{pairs}[{p}] = ({row}, {n})", "{pairs}[{p}][0].append({n})",
)  # fmt: skip
SHOWN = {
    "row": "seen.append(total({v}))",
    "rows": "for each in {v}:\n    seen.append(total(each))",
    "named": 'seen.append(total({v}["a"]) - total({v}["b"]))',
    "table": 'for entry in {v}:\n    seen.append(total(entry["a"]) - total(entry["b"]))',
    "cube": "for part in {v}:\n    for inner in part:\n        seen.append(total(inner))",
    "pages": 'for page in {v}:\n    for line in page:\n        seen.append(total(line["a"]) - total(line["b"]))',
    "keyed": "for key in range(3):\n    seen.append(total({v}[key]))",
    "pairs": "for pair in {v}:\n    seen.append(total(pair[0]) + pair[1])",
}


class Draw:
    """The text of a program."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names: dict[str, list[str]] = collections.defaultdict(list)
        self.count = 0

    def fill(self, form: str) -> str:
        """The form with variables, made where there is none of a kind."""
        return form.format_map(self)

    def __getitem__(self, place: str) -> str:
        if place == "n":
            return str(self.chance.randrange(100))
        if place == "p":
            return f"int(x[{self.chance.randrange(3)}])"
        if place == "c":
            return str(self.chance.randrange(3))
        if not self.names[place]:
            raise KeyError(place)
        return self.chance.choice(self.names[place])

    def bind(self, kind: str, forms: tuple[str, ...]) -> str:
        value = self.fill(self.chance.choice(forms))
        self.count += 1
        name = f"v{self.count}"
        self.names[kind].append(name)
        return f"{name}: {TYPES[kind]} = {value}"

    def statement(self) -> str:
        """One that the names allow."""
        while True:
            try:
                if self.chance.random() < 0.35:
                    kind = self.chance.choice(list(TAKEN))
                    return self.bind(kind, TAKEN[kind])
                write = self.fill(self.chance.choice(WRITES))
            except KeyError:
                continue
            around = self.chance.random()
            if around < 0.15:
                return f"if int(x[1]) > 0:\n{textwrap.indent(write, '    ')}"
            if around < 0.3:
                return f"for turn in range(x.size(0)):\n{textwrap.indent(write, '    ')}"
            return write

    def program(self) -> str:
        kinds = ["row", *self.chance.sample([kind for kind in MADE if kind != "row"], self.chance.randint(1, 3))]
        order = [kind for kind in MADE if kind in kinds]
        lines = []
        for kind in order:
            possible = tuple(form for form in MADE[kind] if all(self.names[part] for part in MADE if f"{{{part}}}" in form))
            lines.append(self.bind(kind, possible or MADE[kind][1:2]))
        lines += [self.statement() for _ in range(self.chance.randint(2, 5))]
        lines.append("seen: List[int] = []")
        shown = [SHOWN[kind].format(v=name) for kind, names in self.names.items() for name in names]
        self.chance.shuffle(shown)
        lines += shown[: self.chance.randint(1, len(shown))]
        lines.append("return torch.tensor(seen)")
        return HEAD + textwrap.indent("\n".join(lines), " " * 8) + "\n"


def check(text: str, folder: pathlib.Path) -> None:
    """Raises where the model and PyTorch disagree."""
    module = module_of(text, folder)
    try:
        script = torch.jit.script(module)
        expected = [module(x) for x in INPUTS]
    except Exception as error:  # as of a place that is not there
        raise Refusal(f"torch: {type(error).__name__}") from error
    try:
        with warnings.catch_warnings(action="ignore"):
            program = flambeau.export(script, (INPUTS[0],), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    except flambeau.errors.OnnxExporterError as error:
        kind = "unknown-aliasing" if "unknown-aliasing" in str(error) else str(error).partition("\n")[2][:90]
        raise Refusal(f"refused: {kind}") from error
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for x, theirs in zip(INPUTS, expected, strict=True):
        (ours,) = session.run(None, {value.name: x.numpy() for value in session.get_inputs()})
        if ours.shape != theirs.shape or not (torch.as_tensor(ours) == theirs).all():
            raise Disagreement(f"{ours}, and PyTorch's {theirs} for {x}")


def tried(seed: int, how: str, arguments: argparse.Namespace, folder: pathlib.Path) -> str:
    text = Draw(random.Random(seed)).program()
    return judged(f"seed {seed}", text, lambda: check(text, folder))


if __name__ == "__main__":
    command(__doc__, ("script",), tried)
