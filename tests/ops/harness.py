"""Numeric tests of operators: what onnxruntime computes against what PyTorch computes.

A family's file is a list of cases::

    from harness import case, floats, ints

    CASES = [
        case(torch.add, floats(2, 3), floats(3), alpha=2),
        case(lambda x: x[:, None], floats(2, 3), name="unsqueeze by indexing"),
        case(torch.nn.Conv2d(3, 4, 3), floats(1, 3, 8, 8)),
    ]

Tensors among the arguments (also inside lists) become inputs of the model;
everything else is baked in. Each case runs

- static, on inputs that are not contiguous, and again on other values;
- dynamic: every size above 1 is a symbol where the operator allows it, and the
  model runs at the sizes of its capture and at larger ones;

both at several opsets, after ``onnx.checker``'s full check. Outputs must agree
with eager in number, dtype, shape and values. Where an opset can't express a
case, its diagnostics must name the lowest opset that can: the one below it must
be refused, too, and there the case must pass.

Capturing is the slow part, so many cases share one captured module. Where a
batch fails as a whole (capture, conversion, checker, loading), it is halved
until the case at fault is found.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import pkgutil
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import sympy
import torch
from converted_rows import recording
from torch.utils import _pytree as pytree

import flambeau
from flambeau.errors import OnnxExporterError, UnsupportedOperatorError

MODES = ("static", "dynamic")
DEFAULT_OPSET = 20  # of the exporter; runs every case
OTHER_OPSETS = (18, 21, 23, 26)  # run a share of the cases each
OLDER_OPSETS = (7, 9, 11, 13, 16, 17)  # and a smaller one
OPSETS = (DEFAULT_OPSET, *OTHER_OPSETS, *OLDER_OPSETS)
BATCH = 40

# rtol, atol by the dtype of eager's result; integers and bools are exact.
TOLERANCE = {
    torch.float64: (1e-5, 1e-6),
    torch.float32: (1e-3, 1e-4),
    torch.float16: (1e-2, 2e-3),
    torch.bfloat16: (3e-2, 2e-2),
}

onnxruntime.set_default_logger_severity(4)


@dataclasses.dataclass(eq=False)
class Case:
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    name: str
    dynamic: bool | dict[int, Sequence[int]]  # True: what can be; {input: dims}: these must be; False: static only
    second: tuple[Any, ...] | None  # arguments of the second, larger run
    again: bool  # other values of the same sizes are valid inputs
    strided: bool  # inputs that are not contiguous are fine
    opsets: tuple[int, ...]
    tolerance: tuple[float, float] | None
    check: str | Callable[[Any, Any], bool]  # "values", "shapes", or f(eager's output, the model's output)
    xfail: str | None

    def tensors(self, args: tuple[Any, ...]) -> list[torch.Tensor]:
        return [leaf for leaf in pytree.tree_leaves((args, self.kwargs)) if isinstance(leaf, torch.Tensor)]

    def call(self, tensors: Sequence[torch.Tensor]) -> list[Any]:
        """The outputs of the function, flattened, over those tensors in the places of its own."""
        leaves, spec = pytree.tree_flatten((self.args, self.kwargs))
        pending = iter(tensors)
        args, kwargs = pytree.tree_unflatten(
            [next(pending) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves], spec
        )
        return [leaf for leaf in pytree.tree_leaves(self.fn(*args, **kwargs)) if leaf is not None]


def known(name: str) -> list[Any]:
    """What torch has under that name, alone; nothing where it is of a release that has not."""
    try:
        return [pkgutil.resolve_name(name)]
    except AttributeError:
        return []


def case(
    fn: Callable[..., Any],
    *args: Any,
    name: str | None = None,
    dynamic: bool | dict[int, Sequence[int]] = True,
    second: tuple[Any, ...] | None = None,
    again: bool = True,
    strided: bool = True,
    opsets: Sequence[int] = OPSETS,
    since: int = 0,
    dtypes: Sequence[torch.dtype] = (),
    tolerance: tuple[float, float] | None = None,
    check: str | Callable[[Any, Any], bool] = "values",
    xfail: str | None = None,
    **kwargs: Any,
) -> list[Case]:
    """One case, or one for each of `dtypes`, to which floating inputs are then cast.

    `since` drops older opsets. `xfail` is a reason: the case must fail. Other
    keywords go to `fn`.
    """
    chosen = tuple(o for o in opsets if o >= since)
    made = []
    for dtype in dtypes or (None,):
        cast = args if dtype is None else pytree.tree_map_only(torch.Tensor, lambda t: _cast(t, dtype), args)
        label = name or _describe(fn, args, kwargs)
        if dtype is not None:
            label += f" {str(dtype).removeprefix('torch.')}"
        made.append(Case(fn, cast, kwargs, label, dynamic, second, again, strided, chosen, tolerance, check, xfail))
    return made


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() or not dtype.is_floating_point else tensor


def _describe(fn: Callable[..., Any], args: Any, kwargs: Any) -> str:
    def text(value: Any) -> str:
        if isinstance(value, torch.Tensor):
            dtype = str(value.dtype).removeprefix("torch.").replace("float", "f").replace("int", "i")
            return f"{dtype}[{'x'.join(map(str, value.shape))}]"
        if isinstance(value, (list, tuple)):
            return f"({','.join(map(text, value))})"
        return str(value).removeprefix("torch.")

    if isinstance(fn, torch.nn.Module):
        name = type(fn).__name__
    elif isinstance(fn, torch._ops.OpOverload):
        name = fn.name().removeprefix("aten::")
    else:
        name = getattr(fn, "__name__", str(fn))
    parts = [text(a) for a in args] + [f"{k}={text(v)}" for k, v in kwargs.items()]
    return re.sub(r"\s+", " ", f"{name}({', '.join(parts)})")[:120]


# --- inputs -------------------------------------------------------------------

_generator = torch.Generator().manual_seed(20)


def floats(*sizes: int, low: float = -3, high: float = 3, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    values = torch.rand(sizes, generator=_generator, dtype=torch.float64) * (high - low) + low
    return values.to(dtype)


def ints(*sizes: int, low: int = -5, high: int = 6, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, sizes, generator=_generator).to(dtype)


def bools(*sizes: int) -> torch.Tensor:
    return torch.rand(sizes, generator=_generator) < 0.5


def special(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """NaN, infinities, zeros of both signs and ordinary values."""
    values = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5]
    count = int(np.prod(sizes, dtype=int))
    return torch.tensor(list(itertools.islice(itertools.cycle(values), count)), dtype=dtype).reshape(sizes)


LONG = torch.tensor([[3_000_000_000, -1, 5, -3_000_000_000, 2**33 + 7], [2**33 + 2**31, 0, 2**31, 2**31 - 1, -(2**31) - 1]])
"""Integers of more than 32 bits, some of which have one upper half."""


def _other_values(tensor: torch.Tensor, sizes: Sequence[int], generator: torch.Generator) -> torch.Tensor:
    """A tensor of those sizes whose values are among the given ones, so that they stay in the domain."""
    count = int(np.prod(sizes, dtype=int))
    if count == 0 or tensor.numel() == 0:
        return torch.zeros(sizes, dtype=tensor.dtype)
    values = tensor.detach().contiguous().flatten()
    order = torch.randperm(max(count, values.numel()), generator=generator) % values.numel()
    return values[order[:count]].reshape(sizes)


def _not_contiguous(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() >= 2:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if tensor.dim() == 1 and tensor.numel() > 1:
        return torch.stack([tensor, tensor], dim=1)[:, 0]
    return tensor


# --- one captured module of many cases ------------------------------------------


class Failed(Exception):
    """A case does not do what it must; the text says how."""


class Function(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> object:
        return self.function(*tensors)


class _Batch(torch.nn.Module):
    def __init__(self, cases: Sequence[Case], counts: Sequence[int]) -> None:
        super().__init__()
        self.cases = cases
        self.counts = counts
        self.modules_of_cases = torch.nn.ModuleList(c.fn for c in cases if isinstance(c.fn, torch.nn.Module)).eval()

    def forward(self, *tensors: torch.Tensor) -> list[Any]:
        outputs: list[Any] = []
        at = 0
        for one, count in zip(self.cases, self.counts):
            outputs.append(one.call(tensors[at : at + count]))
            at += count
        return outputs


@dataclasses.dataclass
class Captured:
    program: torch.export.ExportedProgram
    inputs: list[list[torch.Tensor]]  # by case
    output_counts: list[int]
    sizes: list[list[list[int | sympy.Expr]]]  # by case and input: the sizes, of which symbols are to vary
    symbols: dict[sympy.Symbol, int]  # their values at the capture

    def sizes_where(self, index: int, grown: Callable[[int], int]) -> list[list[int]]:
        """The sizes of a case's inputs after each symbol's value has grown, in its range."""
        values = {}
        for symbol, value in self.symbols.items():
            bounds = self.program.range_constraints.get(symbol)
            values[symbol] = int(min(grown(value), bounds.upper)) if bounds is not None else grown(value)
        return [[int(sympy.sympify(size).subs(values)) for size in sizes] for sizes in self.sizes[index]]


def _example(one: Case, mode: str) -> list[torch.Tensor]:
    tensors = one.tensors(one.args)
    if mode == "static" and one.strided:
        strided = [_not_contiguous(t) for t in tensors]
        try:
            one.call([t.clone() for t in strided])
            return strided
        except RuntimeError:  # view() and its like refuse such inputs
            pass
    return tensors


def _marked(one: Case, mode: str, index: int, tensor: torch.Tensor) -> set[int]:
    if mode == "static" or one.dynamic is False:
        return set()
    if one.dynamic is True:
        return {d for d in range(tensor.dim()) if tensor.shape[d] > 1}
    return {d % tensor.dim() for d in one.dynamic.get(index, ())}


def capture(cases: Sequence[Case], mode: str) -> Captured:
    # Copies: the capture takes one tensor in two places for one input.
    inputs = [[t.clone(memory_format=torch.preserve_format) for t in _example(one, mode)] for one in cases]
    flat = [t for tensors in inputs for t in tensors]
    shapes = tuple(
        {d: torch.export.Dim.AUTO for d in _marked(one, mode, i, t)}
        for one, tensors in zip(cases, inputs)
        for i, t in enumerate(tensors)
    )
    module = _Batch(cases, [len(tensors) for tensors in inputs]).eval()
    with torch.no_grad():
        program = torch.export.export(module, tuple(flat), dynamic_shapes={"tensors": shapes} if flat else None, strict=False)
        counts = [len(outputs) for outputs in module(*(t.clone() for t in flat))]
    if literal := sys.modules.get("literal"):
        literal.restore(program)
    users = [s.arg.name for s in program.graph_signature.input_specs if s.kind == torch.export.graph_signature.InputKind.USER_INPUT]
    nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    found = iter(nodes[name].meta["val"] for name in users)
    symbols: dict[sympy.Symbol, int] = {}

    def known_size(size: int | torch.SymInt) -> int | sympy.Expr:
        if not isinstance(size, torch.SymInt):
            return size
        env = size.node.shape_env
        known = env.backed_var_to_val if hasattr(env, "backed_var_to_val") else env.var_to_val  # before torch 2.10
        symbols.update((symbol, int(known[symbol])) for symbol in size.node.expr.free_symbols)
        return size.node.expr

    sizes = [[[known_size(size) for size in next(found).shape] for _ in tensors] for tensors in inputs]
    for one, of_inputs in zip(cases, sizes):
        if isinstance(one.dynamic, dict) and mode == "dynamic":
            for index, wanted in one.dynamic.items():
                of_input = of_inputs[index]
                if missing := sorted({d % len(of_input) for d in wanted if isinstance(of_input[d], int)}):
                    raise Failed(f"dimensions {missing} of input {index} were specialised by the capture")
    return Captured(program, inputs, counts, sizes, symbols)


def lowest_opset(error: Exception) -> int | None:
    """The lowest opset that can express what was refused; None where that isn't why it failed."""
    if not isinstance(error, UnsupportedOperatorError):
        return None
    named = []
    for diagnostic in error.diagnostics:
        found = re.fullmatch(r"use opset (\d+) or newer", diagnostic.hint)
        if diagnostic.kind != "unsupported-opset" or not found:
            return None
        named.append(int(found[1]))
    return max(named, default=None)


def operators_in(program: torch.export.ExportedProgram) -> set[str]:
    """The full overload names in a program, in-place ones as the functional ones that they become."""
    names = set()
    for module in program.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            if node.op != "call_function":
                continue
            if isinstance(node.target, torch._ops.OpOverload):
                name = node.target.name()
                names.add(name)
                names.add(re.sub(r"(?<=[a-z0-9])_(?=\.|$)", "", name))
            else:
                module_name = getattr(node.target, "__module__", "")
                names.add(f"{module_name}::{getattr(node.target, '__name__', node.target)}")
                names.add(str(node.target))
    return names


# --- running a model ------------------------------------------------------------


def to_numpy(value: Any) -> np.ndarray:
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    value = value.detach().resolve_conj().resolve_neg()
    if value.dtype.is_complex:
        value = torch.view_as_real(value)
    if value.dtype == torch.bfloat16:
        return value.contiguous().float().numpy().astype(ml_dtypes.bfloat16)
    return value.contiguous().numpy()


def _without_bfloat16(model: onnx.ModelProto) -> onnx.ModelProto:
    """A model whose bfloat16 inputs and outputs are float32: onnxruntime's Python has no numpy type for them."""
    kind, wide = onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT
    model = copy.deepcopy(model)
    for value in model.graph.input:
        if value.type.tensor_type.elem_type == kind:
            value.type.tensor_type.elem_type = wide
            model.graph.node.insert(0, onnx.helper.make_node("Cast", [value.name + "_wide"], [value.name], to=kind))
            value.name += "_wide"
    for value in model.graph.output:
        if value.type.tensor_type.elem_type == kind:
            value.type.tensor_type.elem_type = wide
            model.graph.node.append(onnx.helper.make_node("Cast", [value.name], [value.name + "_wide"], to=wide))
            value.name += "_wide"
    return model


class Runner:
    """A checked model in onnxruntime."""

    def __init__(self, model: onnx.ModelProto) -> None:
        onnx.checker.check_model(model, full_check=True)
        self.bfloat16 = [o.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16 for o in model.graph.output]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        runnable = _without_bfloat16(model).SerializeToString()
        self.session = onnxruntime.InferenceSession(runnable, options, providers=["CPUExecutionProvider"])

    def __call__(self, tensors: Sequence[torch.Tensor]) -> list[np.ndarray]:
        formal = self.session.get_inputs()
        assert len(formal) == len(tensors), f"{len(formal)} inputs for {len(tensors)} tensors"
        feeds = {}
        for value, tensor in zip(formal, tensors):
            array = to_numpy(tensor)
            feeds[value.name] = array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array
        outputs = self.session.run(None, feeds)
        return [o.astype(ml_dtypes.bfloat16) if narrow else o for o, narrow in zip(outputs, self.bfloat16)]


def _difference(one: Case, want: Any, got: np.ndarray) -> str | None:
    if callable(one.check):
        return None if one.check(want, got) else f"the case's own check refuses {got.dtype}{list(got.shape)} {got!r:.200}"
    reference = to_numpy(want)
    if isinstance(want, torch.Tensor):
        if got.dtype != reference.dtype:
            return f"dtype {got.dtype} for {reference.dtype}"
        if got.shape != reference.shape:
            return f"shape {list(got.shape)} for {list(reference.shape)}"
    if one.check == "shapes" or reference.size == 0:
        return None
    if reference.dtype.kind in "iub":
        same = got == reference
    else:
        dtype = want.dtype if isinstance(want, torch.Tensor) else torch.float32
        dtype = {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)
        rtol, atol = one.tolerance or TOLERANCE[dtype]
        with np.errstate(all="ignore"):
            same = np.isclose(got.astype(np.float64), reference.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)
    if np.all(same):
        return None
    at = tuple(np.argwhere(~same)[0])
    return f"{np.sum(~same)} of {reference.size} values differ; at {list(map(int, at))}: {got[at]} for {reference[at]}"


def _compare(one: Case, tensors: list[torch.Tensor], got: list[np.ndarray], when: str) -> None:
    with torch.no_grad():
        wanted = one.call([t.clone() for t in tensors])
    if len(wanted) != len(got):
        raise Failed(f"{when}: {len(got)} outputs, eager has {len(wanted)}")
    for i, (want, one_got) in enumerate(zip(wanted, got)):
        if difference := _difference(one, want, one_got):
            raise Failed(f"{when}, output {i}: {difference}")


def _rounds(one: Case, captured: Captured, index: int, mode: str) -> list[tuple[str, list[torch.Tensor]]]:
    """The inputs to run a case on."""
    first = captured.inputs[index]
    generator = torch.Generator().manual_seed(zlib.crc32(one.name.encode()))  # whatever ran before
    rounds = [("on the captured inputs", first)]
    if mode == "dynamic":
        if one.second is not None:
            rounds.append(("at the second sizes", one.tensors(one.second)))
        elif one.again:
            rounds.append(("at larger sizes", _larger(one, captured, index, generator)))
    elif one.again:
        rounds.append(("on other values", [_other_values(t, t.shape, generator) for t in first]))
    return rounds


def _larger(one: Case, captured: Captured, index: int, generator: torch.Generator) -> list[torch.Tensor]:
    """Inputs of larger sizes. The capture need not say how sizes hang together (one twice the other): eager does."""
    refusals = []
    for grown in (lambda size: size + 2, lambda size: 2 * size):
        sizes = captured.sizes_where(index, grown)
        tensors = [_other_values(t, s, generator) for t, s in zip(captured.inputs[index], sizes)]
        try:
            one.call([t.clone() for t in tensors])
            return tensors
        except Exception as error:
            refusals.append(f"{sizes}: {error}")
    raise Failed("eager takes none of the larger sizes; give the case 'second': " + "; ".join(refusals))


Outcomes = dict[tuple[Case, str, int], str | None]  # None: it passed


class Batches:
    """Runs cases by batches and remembers the outcome of each."""

    def __init__(self) -> None:
        self.outcomes: Outcomes = {}
        self.operators: set[str] = set()
        self.refused = 0  # cases that an old opset can't express
        self._captures: dict[tuple[int, ...], Captured | Exception] = {}
        self._batch_of: dict[tuple[Case, str, int], list[Case]] = {}

    def plan(self, items: Sequence[tuple[Case, str, int]]) -> None:
        """Says which (case, mode, opset) will be asked for, so that batches hold no others."""
        groups: dict[tuple[str, int], list[Case]] = {}
        for one, mode, opset in items:
            groups.setdefault((mode, opset), []).append(one)
        for (mode, opset), cases in groups.items():
            sound = [c for c in cases if c.xfail is None]
            batches = [sound[i : i + BATCH] for i in range(0, len(sound), BATCH)]
            batches += [[c] for c in cases if c.xfail is not None]
            for batch in batches:
                for one in batch:
                    self._batch_of[one, mode, opset] = batch

    def outcome(self, one: Case, mode: str, opset: int) -> str | None:
        key = (one, mode, opset)
        if key not in self.outcomes:
            self._run(self._batch_of[key], mode, opset)
        return self.outcomes[key]

    def _capture(self, cases: Sequence[Case], mode: str) -> Captured:
        key = (mode, *map(id, cases))
        if key not in self._captures:
            try:
                self._captures[key] = capture(cases, mode)
                self.operators |= operators_in(self._captures[key].program)
            except Exception as error:
                self._captures[key] = error
        known = self._captures[key]
        if isinstance(known, Exception):
            raise known
        return known

    def _refused(self, one: Case, mode: str, opset: int, error: Exception) -> str | None:
        """What is wrong with a refusal: nothing where it names the lowest opset at which the case passes."""
        lowest = lowest_opset(error)
        if lowest is None:
            return f"{type(error).__name__}: {error}"
        if lowest - 1 > opset:
            try:
                flambeau.export(self._capture([one], mode).program, opset_version=lowest - 1, verbose=False)
            except OnnxExporterError as below:
                if lowest_opset(below) != lowest:
                    return f"opset {opset} names {lowest} as the lowest, opset {lowest - 1} says: {below}"
            else:
                return f"opset {opset} names {lowest} as the lowest, but {lowest - 1} can express it"
        if (one, mode, lowest) not in self.outcomes:
            self._run([one], mode, lowest)
        if failure := self.outcomes[one, mode, lowest]:
            return f"at opset {lowest}, which is named as the lowest: {failure}"
        self.refused += 1
        return None

    def _run(self, cases: Sequence[Case], mode: str, opset: int) -> None:
        try:
            captured = self._capture(cases, mode)
            with recording(self.operators) if opset == DEFAULT_OPSET else contextlib.nullcontext():
                model = flambeau.export(captured.program, opset_version=opset, verbose=False).model_proto
            runner = Runner(model)
            rounds, refused = [], {}
            for i, one in enumerate(cases):
                try:
                    rounds.append(_rounds(one, captured, i, mode))
                except Failed as error:
                    rounds.append([("on the captured inputs", captured.inputs[i])])
                    refused[one] = error
            longest = max(map(len, rounds))
            whole = []
            for r in range(longest):
                flat = [t for of_case in rounds for t in of_case[min(r, len(of_case) - 1)][1]]
                whole.append(runner(flat))
        except Exception as error:
            if len(cases) == 1:
                self.outcomes[cases[0], mode, opset] = self._refused(cases[0], mode, opset, error)
                return
            half = len(cases) // 2
            self._run(cases[:half], mode, opset)
            self._run(cases[half:], mode, opset)
            return
        begin = 0
        for i, one in enumerate(cases):
            end = begin + captured.output_counts[i]
            try:
                for r, (when, tensors) in enumerate(rounds[i]):
                    _compare(one, tensors, whole[r][begin:end], when)
                if one in refused:
                    raise refused[one]
                self.outcomes[one, mode, opset] = None
            except Exception as error:
                self.outcomes[one, mode, opset] = f"{type(error).__name__}: {error}"
            begin = end
