"""Generates programs of PyTorch operators, converts them, and compares onnxruntime with PyTorch at two sizes.

    python fuzz/generated_programs.py --seconds 600 [--capture export|trace|script] [--opset 17] [--seed N] [--steps 8]

A program is Python text, so that every capture reads the same and a finding is a file that runs by itself. It is drawn
by running it: each statement is tried on inputs of two sizes (the first dimension is dynamic) and kept where both work.
What disagrees is shrunk by leaving statements out, and printed. Captures that PyTorch itself refuses, and conversions that
Flambeau refuses with a located error, are counted apart.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import logging
import pathlib
import random
import re
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable

import onnxruntime
import torch
import torch.nn.functional as F

import flambeau

SIZES = (4, 6)
OPSETS = (9, 11, 13, 17, 18, 20, 21, 23)
HEAD = "import torch\nimport torch.nn.functional as F\n\n\nclass Program(torch.nn.Module):\n    def forward(self, {}):\n"

# What an expression may be. {f}, {i}, {b}, {t}: a variable (float, integer, bool, any); {f2}: another. {dim}: a dimension
# of the first variable, {c}: a small number, {s}: a float, {index}: an index of the first variable.
EXPRESSIONS = """
torch.add({t}, {t2}) ; {t} - {t2} ; {t} * {t2} ; torch.div({f}, {f2}.abs() + 1) ; {f} + {c} ; {i} * {s} ; {i} // {c} ; {i} % {c} ; {f} % {s}
torch.div({f}, {s}, rounding_mode="floor") ; torch.div({i}, {c}, rounding_mode="trunc") ; torch.fmod({f}, {s}) ; torch.fmod({i}, {c})
torch.remainder({i}, -{c}) ; torch.remainder({f}, {f2}.abs() + 1) ; {f} ** 2 ; {i} ** 2 ; torch.pow({f}.abs() + 0.5, {f2})
{t} == {t2} ; {f} > {s} ; {i} <= {c} ; {f} < {f2} ; {b} & {b2} ; {b} | {b2} ; ~{b} ; {b} ^ {b2} ; torch.logical_and({i}, {b}) ; {i} & {c} ; {i} << 1 ; ~{i}
torch.where({b}, {t}, {t2}) ; torch.where({f} > 0, {f}, {s}) ; torch.where({b}, {i}, {c}) ; {t}.to(torch.float32) ; {t}.long() ; {t}.bool() ; {t}.int()
{t}.sum() ; {t}.sum({dim}) ; {t}.sum({dim}, keepdim=True) ; {f}.mean({dim}) ; {f}.mean() ; {t}.prod({dim}) ; {f}.amax({dim}) ; {f}.amin({dim}, keepdim=True)
{f}.max({dim})[0] ; {f}.min({dim})[0] ; {f}.argmax({dim}) ; {f}.argmin({dim}, keepdim=True) ; {f}.var({dim}, unbiased=False) ; {f}.std({dim}, unbiased=False)
{t}.any({dim}) ; {t}.all({dim}) ; {t}.any() ; {f}.cumsum({dim}) ; {t}.cumsum({dim}) ; {f}.logsumexp({dim}) ; {f}.softmax({dim}) ; {f}.log_softmax({dim})
{f}.norm() ; {f}.norm(2, {dim}) ; {f}.sort({dim})[0] ; {f}.sort({dim}, descending=True)[0] ; {f}.topk(1, {dim})[0] ; {f}.median({dim})[0]
{f}.relu() ; {f}.sigmoid() ; {f}.tanh() ; {f}.exp().clamp(max=9.0) ; {f}.abs() ; {f}.neg() ; {f}.sin() ; {f}.floor() ; {f}.round() ; {f}.trunc() ; {f}.sign()
{f}.clamp(-1, 1) ; {f}.clamp(min={s}) ; {i}.clamp(0, {c}) ; F.gelu({f}) ; F.leaky_relu({f}, 0.1) ; F.softplus({f}) ; F.hardtanh({f}) ; F.silu({f}) ; F.elu({f})
{t}.transpose({dim}, {dim2}) ; {t}.flatten() ; {t}.unsqueeze({dim}) ; {t}.squeeze({dim}) ; {t}.squeeze() ; {t}.flip({dim}) ; {t}.roll(1, {dim}) ; {t}.t()
{t}.movedim({dim}, {dim2}) ; {t}.contiguous() ; {t}.clone() ; {t}.reshape(-1) ; {t}.reshape({t}.size({dim}), -1) ; {t}.view({t}.size(0), -1)
{t}.reshape(-1, {t}.size({dim})) ; {t}.unfold({dim}, 2, 2) ; {t}.select({dim}, 0) ; {t}.select({dim}, -1) ; {t}.narrow({dim}, 1, 2) ; {t}.diagonal()
{t}.chunk(2, {dim})[0] ; {t}.split(2, {dim})[1] ; {t}.unbind({dim})[1] ; {t}.tensor_split(2, {dim})[1] ; {t}.repeat_interleave(2, {dim}) ; {t}.tile(2)
{t}.expand(2, *{t}.shape).clone() ; {t}.repeat(2, 1) ; {t}.repeat(2, 1, 1) ; torch.cat([{t}, {t2}], {dim}) ; torch.cat([{t}, {t}], {dim}) ; torch.stack([{t}, {t}], {dim})
{t}{index} ; {t}{index} ; {t}{index} ; {t}[..., 0] ; {t}[:, None] ; {t}[{i} % {t}.size(0)] ; {t}[{b}] ; {t}.masked_fill({b}, {c}) ; {f}.masked_fill({b}, {s})
{t}[:, {i} % {t}.size(1)] ; {t}[{i} % {t}.size(0), {i} % {t}.size(1)] ; {t}.index_select(0, ({i} % {t}.size(0)).flatten())
{t}.gather({dim}, torch.zeros_like({t}, dtype=torch.long)) ; torch.take_along_dim({f}, {f}.argsort(0), 0) ; {t}.take({i} % {t}.numel())
torch.arange({t}.size(0)) ; torch.arange({t}.size({dim})) * {c} ; torch.zeros({t}.size(0), 3) ; torch.ones_like({t}) ; torch.full_like({t}, {c})
torch.zeros_like({t}, dtype=torch.float32) ; {t}.new_zeros({t}.size(0)) ; {t}.new_full((2, {t}.size({dim})), {c}) ; torch.eye({t}.size(0))
torch.full(({t}.size(0), 2), {s}) ; torch.linspace(0.0, 1.0, 5) ; torch.tensor([1.5, -2.0, {s}]) ; torch.tensor([1, {c}, 3]) ; torch.tensor({c})
{f} * {t}.size(0) ; {f} / {t}.size({dim}) ; {t}[: {t}.size(0) // 2] ; {t}[{t}.size(0) // 2 :] ; {t}[-{t}.size(0) + 1 :] ; {t}[::2] ; {t}[1:-1]
{f} @ {f2} ; torch.matmul({f}, {f2}.transpose(-1, -2)) ; {f} @ {f}.transpose(-1, -2) ; torch.outer({f}.flatten(), {f2}.flatten()) ; F.linear({f}, {f2})
torch.einsum("...i,...i->...", {f}, {f2}) ; torch.tril({t}) ; torch.triu({t}, 1) ; F.pad({f}, (1, 2)) ; F.pad({f}, (1, 1), mode="reflect") ; F.pad({t}, (0, 1), value={c})
F.layer_norm({f}, {f}.shape[-1:]) ; F.normalize({f}, dim={dim}) ; F.one_hot({i} % 5, 5) ; torch.nonzero({t}) ; {t}.unique() ; {t}.masked_select({b})
{t}.scatter({dim}, torch.zeros_like({t}, dtype=torch.long), {t}) ; {t}.index_add(0, torch.arange({t}.size(0)), {t}) ; torch.broadcast_to({t}, (2, *{t}.shape)).clone()
{t}.maximum({t2}) ; {f}.minimum({f2}) ; torch.lerp({f}, {f2}, 0.3) ; torch.addcmul({f}, {f2}, {f2}, value={s}) ; torch.isnan({f}) ; {t}.numel() * {f} ; {f}.dim() + {f}
torch.bucketize({f}, torch.tensor([-1.0, 0.0, 1.0])) ; torch.cdist({f}, {f2}) ; {t}.swapaxes({dim}, {dim2}) ; {t}.rot90() ; {t}.diff(dim={dim}) ; torch.meshgrid({t}.flatten(), {t2}.flatten(), indexing="ij")[0].clone()
"""
# Statements that write in place; the variable itself may be a view of another.
WRITES = """
{t}.add_({c}) ; {f}.mul_({s}) ; {f}.sub_({f2}) ; {t}.zero_() ; {t}.fill_({c}) ; {f}.relu_() ; {f}.clamp_(-1, 1) ; {t}{index} = {c} ; {f}{index} = {s} ; {t}{index} += {c}
{t}[0] = {t}[-1] ; {t}[:, 0] = {c} ; {t}.select({dim}, 0).add_({c}) ; {t}.narrow({dim}, 0, 1).fill_({c}) ; {f}.transpose({dim}, {dim2}).mul_(2) ; {t}[..., -1] *= 2
{t}[{b}] = {c} ; {f}[{f} > 0] = {s} ; {t}.masked_fill_({b}, {c}) ; {t}.copy_({t2}) ; {t}[1:] = {t}[:-1].clone() ; {f}.view(-1)[::2].neg_() ; {f}.flatten()[0] = {s}
{t}[{i} % {t}.size(0)] = {c} ; {f}.index_fill_(0, torch.tensor([0, 2]), {s}) ; {t}.diagonal().fill_({c}) ; {f}.exp_().clamp_(max=3.0) ; {t}.t()[0] = {c}
{f}.index_put_(({i} % {f}.size(0),), torch.tensor({s}), accumulate=True) ; {t}.squeeze_({dim}) ; {t}.unsqueeze_({dim}) ; {t}.transpose_({dim}, {dim2})
"""
# Regions, which write {v}, a float; only a script has them.
REGIONS = (
    "if bool({f}.sum() > {s}):\n    {v} = {v} * 2\nelse:\n    {v} = {v} - {f2}.sum()",
    "if {t}.size(0) > 4:\n    {v} = {v} + 1",
    "if bool({v}.mean() > 0):\n    {v}[0] = {s}",
    "for j in range({t}.size(0)):\n    {v} = {v} + {t}[j].sum()",
    "for j in range({t}.size(0)):\n    if bool({t}[j].sum() > 0):\n        {v} = {v} * 0.5",
    "for j in range(3):\n    {v}[j % {v}.size(0)] = {s}",
    "for j in range({v}.size(0)):\n    if bool({v}[j].sum() > {s}):\n        break\n    {v}[j] = {v}[j] * 2",
    "k = 0\nwhile k < {t}.size(0):\n    {v} = {v} + k\n    k += 2",
    "parts = [{v}[0]]\nfor j in range({v}.size(0)):\n    parts.append({v}[j] * j)\n{v} = torch.stack(parts)",
    "for row in {v}.unbind(0):\n    {v} = {v} + row.sum()",
)


def alternatives(text: str) -> list[str]:
    return [form.strip() for line in text.strip().splitlines() for form in line.split(" ; ")]


EXPRESSION_FORMS, WRITE_FORMS = alternatives(EXPRESSIONS), alternatives(WRITES)
KINDS = {"f": (torch.float32,), "i": (torch.int64, torch.int32), "b": (torch.bool,), "v": (torch.float32,)}
Values = dict[str, torch.Tensor]


def cloned(values: Values) -> Values:
    return {name: value.clone() for name, value in values.items()}


class Draw:
    """Draws the statements of one program, by running them on inputs of both sizes."""

    def __init__(self, rng: random.Random, capture: str) -> None:
        self.rng, self.control_flow = rng, capture == "script"
        self.constants = capture != "trace"  # a trace that writes one keeps it written
        width = rng.randint(2, 4)
        self.shapes = {"x0": ("n", width), "x1": ("n", width), "x2": ("n", rng.randint(2, 3), width), "x3": ("n",)}
        self.dtypes = {"x0": torch.float32, "x1": torch.float32, "x2": torch.float32, "x3": torch.int64}
        self.statements: list[str] = []
        self.worlds_at_start = [self.inputs(size) for size in SIZES]
        self.worlds = [cloned(world) for world in self.worlds_at_start]

    def inputs(self, size: int) -> Values:
        generator = torch.Generator().manual_seed(self.rng.randrange(1 << 30))
        values = {}
        for name, shape in self.shapes.items():
            sizes = [size if dim == "n" else dim for dim in shape]
            floats = torch.randn(sizes, generator=generator)
            values[name] = floats if self.dtypes[name].is_floating_point else (floats * 4).round().to(self.dtypes[name])
        return values

    def index(self, tensor: torch.Tensor) -> str:
        parts = []
        for size in tensor.shape[: self.rng.randint(1, max(1, tensor.dim()))]:
            last = max(0, min(size, 3) - 1)
            parts.append(self.rng.choice((":", "1:", ":-1", "::2", "None", str(self.rng.randint(-last, last)), "[0, -1]", "..." if "..." not in parts else ":")))
        return "[" + ", ".join(parts) + "]"

    def fill(self, form: str) -> str | None:
        """The form with variables in its places; None where there is none of the kind."""
        names: dict[str, str] = {}
        world = self.worlds[0]

        def place(match: re.Match[str]) -> str:
            key = match[1]
            if key[0] in "fibtv" and key[:1] + key[1:].strip("2") == key[:1]:
                dtypes = KINDS.get(key[0])
                choices = [name for name, value in world.items() if dtypes is None or value.dtype in dtypes]
                if not choices:
                    raise LookupError
                recent = choices[-4:] if self.rng.random() < 0.7 else choices
                return names.setdefault(key, self.rng.choice(recent))
            first = world[next(iter(names.values()))] if names else next(iter(world.values()))
            if key.startswith("dim"):
                return str(self.rng.randrange(-first.dim(), first.dim()) if first.dim() else 0)
            if key == "index":
                return self.index(first)
            return str(self.rng.randint(1, 3)) if key == "c" else repr(self.rng.choice((-1.5, -0.5, 0.25, 2.0)))

        try:
            return re.sub(r"\{(\w+)\}", place, form)
        except LookupError:
            return None

    def step(self) -> None:
        """Adds a statement, or leaves the program as it was."""
        kind = self.rng.random()
        if self.control_flow and kind < 0.15:
            statement = self.fill(self.rng.choice(REGIONS))
        elif kind < 0.4:
            statement = self.fill(self.rng.choice(WRITE_FORMS))
        else:
            expression = self.fill(self.rng.choice([form for form in EXPRESSION_FORMS if self.constants or "torch.tensor([" not in form]))
            statement = expression and f"v{len(self.statements)} = {expression}"
        if statement is None:
            return
        after = [ran([*self.statements, statement], world) for world in (cloned(world) for world in self.worlds_at_start)]
        if all(values is not None and sound(values) for values in after):
            self.statements.append(statement)
            self.worlds = [values for values in after if values is not None]

    def program(self, steps: int) -> None:
        for _ in range(3 * steps):
            if len(self.statements) < steps:
                self.step()


def ran(statements: list[str], values: Values) -> Values | None:
    """The tensors after the statements; None where PyTorch refuses one."""
    scope = {"torch": torch, "F": F, **values}
    try:
        exec("\n".join(statements), scope)
    except Exception:
        return None
    return {name: value for name, value in scope.items() if isinstance(value, torch.Tensor) and name != "row"}


def sound(values: Values) -> bool:
    """Whether there is something to compare, of a size and of numbers that rounding does not blow up."""
    for value in values.values():
        if value.numel() > 4096 or value.dim() > 5:
            return False
        if value.is_floating_point() and not bool((value.abs() < 1e4).all()):
            return False
    return True


class Disagreement(Exception):
    """Flambeau's model differs from PyTorch, or can't be made or run for a reason that is Flambeau's."""


class Refusal(Exception):
    """A capture that PyTorch refuses, or a conversion that Flambeau refuses with a located error."""


def text_of(names: list[str], statements: list[str]) -> str:
    outputs = list(dict.fromkeys(re.findall(r"^(v\d+) = ", "\n".join(statements), re.MULTILINE))) or names[:1]
    body = "\n".join(statements + [f"return ({', '.join(outputs)},)"])
    return HEAD.format(", ".join(f"{name}: torch.Tensor" for name in names)) + textwrap.indent(body, " " * 8) + "\n"


def module_of(text: str, folder: pathlib.Path) -> torch.nn.Module:
    """TorchScript reads the text of a module from its file; so each program has its own."""
    name = f"program_{abs(hash(text))}"
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded.Program()


def converted(module: torch.nn.Module, capture: str, args: tuple[torch.Tensor, ...], opset: int) -> tuple[Callable[..., object], flambeau.ONNXProgram]:
    """What PyTorch runs, and the model."""
    try:
        if capture == "export":
            shapes = tuple({0: torch.export.Dim.DYNAMIC} for _ in args)
            captured = torch.export.export(module, args, dynamic_shapes=shapes, strict=False)
        elif capture == "trace":
            module = captured = torch.jit.trace(module, tuple(a.clone() for a in args), check_trace=False)
        else:
            module = captured = torch.jit.script(module)
    except Exception as error:
        raise Refusal(f"torch: {type(error).__name__}") from error
    try:
        if capture == "export":
            return captured.module(), flambeau.export(captured, opset_version=opset)  # it checks the sizes that the capture allows
        axes = {f"in{k}": {0: "n"} for k in range(len(args))}
        return module, flambeau.export(captured, tuple(a.clone() for a in args), dynamo=False, opset_version=opset, input_names=list(axes), dynamic_axes=axes)
    except Exception as error:
        kinds = set(re.findall(r"\[([a-z-]+)\]$", str(error), re.MULTILINE))
        if kinds and not kinds & {"internal-error", "invalid-model"}:
            raise Refusal(f"flambeau: {', '.join(sorted(kinds))}: {re.findall(r'aten::[a-z_]+', str(error))[:1]}") from error
        raise Disagreement(f"{type(error).__name__}: {error}") from error


def check(names: list[str], statements: list[str], capture: str, worlds: list[Values], folder: pathlib.Path, opset: int = 20) -> None:
    """Raises where the model and PyTorch disagree."""
    module = module_of(text_of(names, statements), folder)
    first = tuple(worlds[0][name].clone() for name in names)
    module, program = converted(module, capture, first, opset)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Disagreement(f"onnxruntime refuses: {error}") from error
    taken = [int(value.name.removeprefix("in")) if value.name.startswith("in") else names.index(value.name) for value in session.get_inputs()]
    for world in worlds:
        args = [world[name].clone() for name in names]
        feeds = {value.name: args[k].clone().numpy() for value, k in zip(session.get_inputs(), taken, strict=True)}
        try:
            expected = module(*args)
        except Exception as error:
            raise Refusal(f"torch at a second size: {type(error).__name__}") from error
        try:
            results = session.run(None, feeds)
        except Exception as error:
            raise Disagreement(f"onnxruntime fails: {error}") from error
        for number, (ours, theirs) in enumerate(zip(results, expected, strict=True)):
            compare(number, torch.from_numpy(ours) if ours.shape else torch.tensor(ours), theirs)


def compare(number: int, ours: torch.Tensor, theirs: torch.Tensor) -> None:
    theirs = torch.as_tensor(theirs)  # a size that is an output
    largest = float(theirs.abs().max()) if theirs.numel() and theirs.is_floating_point() else 1.0
    try:
        torch.testing.assert_close(ours, theirs, rtol=2e-4, atol=2e-4 * max(1.0, largest))
    except AssertionError as error:
        raise Disagreement(f"output {number}: {error}") from error


def shrunk(names: list[str], statements: list[str], capture: str, worlds: list[Values], folder: pathlib.Path, opset: int) -> list[str]:
    """Fewer statements that still disagree."""

    def disagrees(fewer: list[str]) -> bool:
        if any(ran(fewer, cloned(world)) is None for world in worlds):
            return False
        try:
            check(names, fewer, capture, worlds, folder, opset)
        except Disagreement:
            return True
        except Exception:
            return False
        return False

    for at in reversed(range(len(statements))):
        fewer = statements[:at] + statements[at + 1 :]
        if fewer and disagrees(fewer):
            statements = fewer
    return statements


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--capture", choices=("export", "trace", "script"), action="append")
    parser.add_argument("--opset", type=int, action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=8)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)  # of the captures
    torch.set_num_threads(1)
    ends: collections.Counter[str] = collections.Counter()
    found, seed, stop = 0, arguments.seed, time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        while time.monotonic() < stop:
            for capture in arguments.capture or ("export", "trace", "script"):
                draw = Draw(random.Random(f"{seed} {capture}"), capture)
                draw.program(arguments.steps)
                names, worlds = list(draw.shapes), draw.worlds_at_start
                opset = draw.rng.choice(arguments.opset or OPSETS)
                try:
                    check(names, draw.statements, capture, worlds, folder, opset)
                    ends["agrees"] += 1
                except Refusal as refusal:
                    ends[f"{capture}: {refusal}"] += 1
                except Disagreement as disagreement:
                    found += 1
                    ends["disagrees"] += 1
                    statements = shrunk(names, draw.statements, capture, worlds, folder, opset)
                    print(f"--- seed {seed}, {capture}, opset {opset}: {str(disagreement)[:600]}\n{text_of(names, statements)}", flush=True)
            seed += 1
    for end, count in ends.most_common():
        print(f"{count:8}  {end}")
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
