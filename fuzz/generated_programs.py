"""Generates programs of PyTorch operators, converts them, and compares onnxruntime with PyTorch at two sizes.

    python fuzz/generated_programs.py --seconds 600 [--capture NAME] [--opset 17] [--seed N] [--steps 8]

A program is Python text, so that every capture reads the same and a finding is a file that runs by itself. It is drawn
by running it (drawing.py, from the forms of grammar.py): each statement is tried on inputs of two sizes (the first
dimension is dynamic) and kept where both work, and do nothing that PyTorch leaves open. Captures are PyTorch's own (export,
trace, script), which Flambeau converts, and Flambeau's of the module (module, recording). What disagrees is shrunk by
leaving statements out, and printed; not where PyTorch's own result hangs on how it rounds. Captures that PyTorch itself
refuses, and conversions that Flambeau refuses with a located error, are counted apart. So are inputs at which
PyTorch itself raises: `torch.where(x > 0)[0].as_strided((2,), (1,))` needs two elements, and without them the model fails, too.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import pathlib
import random
import re
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import onnxruntime
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import flambeau
from campaign import DISAGREES, Disagreement, Refusal, command, raise_end
from drawing import Draw, Values, bound, cloned, ran

OPSETS = (7, 8, 9, 10, 11, 12, *(2 * tuple(range(13, 27))))
HEAD = "import torch\nimport torch.nn.functional as F\n\n\nclass Program(torch.nn.Module):\n    def forward(self, {}):\n"

LIVE = {"module": {}, "recording": {"capture": "trace"}}
"""Captures of Flambeau's own, and the options that ask for them."""
CAPTURES = ("export", "trace", "script", *LIVE)
LIMITED = "right only|was declared dynamic|might cause the trace to be incorrect"
"""What warnings say of a capture that is right for the example's sizes."""


def text_of(names: list[str], statements: list[str]) -> str:
    outputs = bound(statements) or names[:1]
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


def traced(module: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> torch.jit.ScriptModule:
    return torch.jit.trace(module, tuple(a.clone() for a in args), check_trace=False)


def converted(
    module: torch.nn.Module, capture: str, args: tuple[torch.Tensor, ...], opset: int
) -> tuple[Callable[..., object], Any, flambeau.ONNXProgram, str]:
    """What PyTorch runs, what was captured, the model, and what its conversion warned of."""
    try:
        if capture == "export":
            shapes = tuple({0: torch.export.Dim.DYNAMIC} for _ in args)
            captured = torch.export.export(module, args, dynamic_shapes=shapes, strict=False)
        elif capture == "trace":
            module = captured = traced(module, args)
        elif capture in LIVE:
            captured = module
        else:
            module = captured = torch.jit.script(module)
            module(*(a.clone() for a in args))  # types may hide what only eager runs: of a bool times a tensor a script makes an int
    except Exception as error:
        raise Refusal(f"torch: {type(error).__name__}") from error
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", flambeau.errors.ConversionWarning)
            warnings.simplefilter("always", torch.jit.TracerWarning)
            if capture == "export":
                module, program = captured.module(), flambeau.export(captured, opset_version=opset)  # the module checks the sizes that the capture allows
            else:
                axes = {f"in{k}": {0: "n"} for k in range(len(args))}
                options = LIVE.get(capture, {"dynamo": False})
                program = flambeau.export(captured, tuple(a.clone() for a in args), opset_version=opset, input_names=list(axes), dynamic_axes=axes, **options)
        return module, captured, program, "\n".join(str(each.message) for each in said)
    except flambeau.errors.CaptureError as error:
        raise Refusal(f"capture: {type(error.__cause__).__name__}") from error
    except Exception as error:
        raise_end(error, str(re.findall(r"aten::[a-z_]+", str(error))[:1]))


def check(names: list[str], statements: list[str], capture: str, worlds: list[Values], folder: pathlib.Path, opset: int = 20) -> None:
    """Raises where the model and PyTorch disagree."""
    text = text_of(names, statements)
    original = module_of(text, folder)
    first = tuple(worlds[0][name].clone() for name in names)
    module, captured, program, warned = converted(original, capture, first, opset)
    if capture in LIVE and re.search(LIMITED, warned):
        worlds = worlds[:1]
    tolerance = 4e-3 if "half" in text or "float16" in text or any(arg.dtype == torch.float16 for arg in first) else 2e-4
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
            if capture == "trace":
                module = traced(original, first)  # what an earlier call wrote to its constants would still be there
            expected = module(*args)
        except Exception as error:
            raise Refusal(f"torch at a second size: {type(error).__name__}") from error
        if capture == "trace" and world is worlds[0] and not alike(original(*(arg.clone() for arg in first)), expected):
            raise Refusal("a trace that PyTorch runs otherwise than eagerly")  # its passes take some views for new tensors
        if capture == "script" and not alike(module(*(world[name].clone() for name in names)), expected):
            raise Refusal("a script that writes to what PyTorch folded")
        if capture == "script" and not alike(original(*(world[name].clone() for name in names)), expected):
            raise Refusal("a script that PyTorch runs otherwise than eagerly")
        try:
            results = session.run(None, feeds)
        except Exception as error:
            raise Disagreement(f"onnxruntime fails: {error}") from error
        if any(isinstance(theirs, (tuple, list)) for theirs in expected):
            raise Refusal("a capture that returns several results for one")
        ranks = [(ours.ndim, torch.as_tensor(theirs).ndim) for ours, theirs in zip(results, expected, strict=True)]
        if re.search(r"\.(squeeze_?|cov|corrcoef)\(", text) and any(ours != theirs for ours, theirs in ranks):
            raise Refusal("a squeeze whose rank hangs on a size")  # docs/limits.md
        for number, (ours, theirs) in enumerate(zip(results, expected, strict=True)):
            try:
                compare(number, torch.from_numpy(ours) if ours.shape else torch.tensor(ours), theirs, tolerance)
            except Disagreement:
                nothing = ours.size == 0 == torch.as_tensor(theirs).numel()
                if nothing and (is_of_capture(ours.shape, captured, number) if capture == "export" else is_of_fakes(ours.shape, original, world, names, number)):
                    raise Refusal("torch gives nothing two shapes") from None
                if capture == "trace" and "squeeze" in text and not alike(original(*(world[name].clone() for name in names)), expected):
                    raise Refusal("a squeeze in a trace that is right for the example only") from None  # docs/limits.md
                if "shares no memory with a tensor that was written" in warned:
                    raise Refusal("a copy that is none where a size is 1, which the conversion warns of") from None  # docs/limits.md
                if not steady(module, [world[name] for name in names], number, tolerance):
                    raise Refusal("rounding or strides decide what comes out") from None
                raise


class Rounded(TorchDispatchMode):  # type: ignore[misc]
    """Results that are seldom exact come out a rounding error away, and zeros of others lose the sign that onnxruntime's Where drops.

    Medians are taken of contiguous tensors: of expanded ones, PyTorch's CPU kernel gives elements of others. What is rolled,
    gets a sign, or is an exponent, is laid out as captures say, and not as the kernels do. Sigmoids are off as
    onnxruntime's are, and 0 of less than -17. Of elements that are alike, normalizations leave nothing but rounding: that is 0.
    """

    supports_higher_order_operators = True
    MEDIANS = {torch.ops.aten.median, torch.ops.aten.nanmedian}
    ZEROS = {
        getattr(torch.ops.aten, name)
        for name in (
            "floor_divide remainder where masked_fill masked_scatter tril triu diag_embed index_fill index_put "
            "diagonal_scatter select_scatter slice_scatter as_strided_scatter"
        ).split()
    }
    INEXACT = {
        getattr(torch.ops.aten, name)
        for name in (
            "linalg_vector_norm norm var var_mean std std_mean _softmax _log_softmax exp exp2 expm1 log log1p log2 log10 logsumexp logcumsumexp "
            "logaddexp logaddexp2 sin cos tan tanh sinh cosh asin acos atan atan2 asinh acosh atanh hypot sinc sqrt rsqrt sigmoid log_sigmoid_forward "
            "softplus gelu silu mish elu celu selu erf erfc erfinv digamma polygamma igamma igammac special_zeta i0 special_i0e special_i1 "
            "special_i1e special_bessel_j0 special_bessel_j1 special_entr special_log_ndtr special_ndtri xlogy special_xlog1py logit pow _native_batch_norm_legit_no_training "
            "linalg_inv_ex _linalg_solve_ex _linalg_det linalg_qr linalg_cholesky_ex _linalg_svd _linalg_eigh linalg_matrix_exp"
        ).split()
    }
    NORMALIZATIONS = {getattr(torch.ops.aten, name) for name in "native_batch_norm native_layer_norm native_group_norm".split()}
    TOTALS = {torch.ops.aten.sum, torch.ops.aten.mean}  # rounded by the largest of what they add up
    SUMS = {getattr(torch.ops.aten, name) for name in "_fft_c2r _fft_r2c _fft_c2c mm bmm addmm convolution".split()}  # rounded by the largest term

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, torch._ops.OpOverload) and func.overloadpacket in self.MEDIANS:
            args = (args[0].contiguous(), *args[1:])
        if isinstance(func, torch._ops.OpOverload) and (own := getattr(torch.ops.aten, in_place_of(func), None)) in self.INEXACT:
            with self:
                return args[0].copy_(own(*args, **(kwargs or {})))
        result = func(*args, **(kwargs or {}))
        if not isinstance(func, torch._ops.OpOverload):
            return result
        if func in (torch.ops.aten.roll.default, torch.ops.aten.copysign.Tensor):
            return result.contiguous()
        if func is torch.ops.aten.pow.Scalar:
            return torch.empty_like(args[1], dtype=result.dtype).copy_(result)
        if func is torch.ops.aten.glu.default:
            first, second = args[0].chunk(2, args[1] if len(args) > 1 else -1)
            return first * self.sigmoid(second)
        if func is torch.ops.aten.silu.default:
            return args[0] * self.sigmoid(args[0])
        if func is torch.ops.aten.sigmoid.default:
            return self.sigmoid(args[0])
        if func.overloadpacket in self.ZEROS and isinstance(result, torch.Tensor):
            return result + 0
        if func is torch.ops.aten.linalg_cross.default:  # of two that are alike, what a fused product leaves of zeros
            least = 4 * torch.finfo(result.dtype).eps * args[0].abs().amax() * args[1].abs().amax() if result.numel() else 0
            return result.where(result.abs() > least, 0)
        if func.overloadpacket in self.SUMS and result.numel() and (result.is_floating_point() or result.is_complex()):
            return moved_by_the_largest(result, self.generator)
        if func.overloadpacket in self.TOTALS and result.is_floating_point() and args[0].numel():
            step = torch.finfo(result.dtype).eps * args[0].abs().amax()
            return result + step * torch.randint(-2, 3, result.shape, generator=self.generator)
        if func.overloadpacket in self.NORMALIZATIONS and result[0].numel():
            others = func(moved_by(args[0], 1, self.generator), *(each.clone() if isinstance(each, torch.Tensor) else each for each in args[1:]))
            noise = (others[0] - result[0]).abs().amax()
            return others[0].where(others[0].abs() > noise, 0), *result[1:]
        if func is torch.ops.aten.lgamma.default:  # it is exactly 0 at 1 and 2 in PyTorch only
            return result + torch.finfo(result.dtype).eps * torch.randint(-1, 2, result.shape, generator=self.generator) * result.abs().clamp(min=1)
        if func.overloadpacket not in self.INEXACT:
            return result
        several = isinstance(result, tuple)
        most = 2 if func.overloadpacket is torch.ops.aten.i0 else 1  # near 0, PyTorch's is that far from 1
        moved = tuple(moved_by(each, most, self.generator) for each in (result if several else (result,)))
        return moved if several else moved[0]

    def sigmoid(self, logits: torch.Tensor) -> torch.Tensor:
        """As far from what it is as onnxruntime's is in float32."""
        off = torch.finfo(torch.float32).eps / 2 * torch.randint(-1, 2, logits.shape, generator=self.generator)
        result = logits.sigmoid()
        return (result + off.to(result.dtype)).clamp(0, 1).where(logits > -17, 0)


def in_place_of(overload: torch._ops.OpOverload) -> str:
    """The name of the operator that this one does in place; none where it doesn't."""
    name: str = overload._schema.name.removeprefix("aten::")
    return name.removesuffix("_") if name.endswith("_") else ""


def moved_by(tensor: torch.Tensor, most: int, generator: torch.Generator) -> torch.Tensor:
    """Each element of a float tensor at most so many rounding errors away."""
    if not tensor.is_floating_point():
        return tensor.clone()
    return tensor * (1 + torch.finfo(tensor.dtype).eps * torch.randint(-most, most + 1, tensor.shape, generator=generator))


def moved_by_the_largest(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Each element, or part of one, at most four rounding errors of the largest away, as transforms of a few elements are."""
    parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    step = torch.finfo(parts.dtype).eps * parts.abs().amax()
    moved = parts + step * torch.randint(-4, 5, parts.shape, generator=generator)
    return torch.view_as_complex(moved) if tensor.is_complex() else moved


def alike(results: tuple[torch.Tensor, ...], others: tuple[torch.Tensor, ...]) -> bool:
    pairs = [(torch.as_tensor(one), torch.as_tensor(other)) for one, other in zip(results, others, strict=True)]
    return all(one.dtype == other.dtype and torch.equal(one.nan_to_num(), other.nan_to_num()) for one, other in pairs)


def is_of_capture(shape: tuple[int, ...], captured: torch.export.ExportedProgram, number: int) -> bool:
    """Whether operators say, without running, that an output has this shape, where they say numbers."""
    output = captured.graph.output_node().args[0][number]
    sizes = output.meta["val"].shape
    return len(sizes) == len(shape) and all(size == own for size, own in zip(sizes, shape) if isinstance(size, int))


def is_of_fakes(shape: tuple[int, ...], module: torch.nn.Module, world: Values, names: list[str], number: int) -> bool:
    """Whether PyTorch's own shape functions give an output this shape."""
    try:
        with FakeTensorMode() as mode:
            output = module(*(mode.from_tensor(world[name]) for name in names))[number]
    except Exception:  # data decides a size
        return False
    return isinstance(output, torch.Tensor) and tuple(output.shape) == shape


def steady(module: Callable[..., object], args: list[torch.Tensor], number: int, tolerance: float) -> bool:
    """Whether an output of PyTorch's stays as it is in float64, and when inputs or results between move by a rounding error."""
    generator = torch.Generator().manual_seed(0)

    def output(given: list[torch.Tensor]) -> torch.Tensor:
        return torch.as_tensor(module(*given)[number])  # type: ignore[index]

    first = output([arg.clone() for arg in args])
    others = []
    try:
        for seed in range(12):  # a sign that rounding decides stays as it is in half of the moves
            others.append(output([moved_by(arg, 2, generator) for arg in args]))
            with Rounded(seed):
                others.append(output([arg.clone() for arg in args]))
    except Exception:  # a probability above 1
        return False
    with contextlib.suppress(Exception):  # a program may ask for float32
        others.append(output([arg.double() if arg.is_floating_point() else arg.clone() for arg in args]).to(first.dtype))
    try:
        for other in others:
            compare(number, other, first, tolerance)
    except Disagreement:
        return False
    return True


def compare(number: int, ours: torch.Tensor, theirs: torch.Tensor, tolerance: float) -> None:
    theirs = torch.as_tensor(theirs)  # a size that is an output
    largest = float(theirs.abs().max()) if theirs.numel() and theirs.is_floating_point() else 1.0
    try:
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance * max(1.0, largest))
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


def tried(seed: int, capture: str, arguments: argparse.Namespace, folder: pathlib.Path) -> str:
    """How the program of a seed ends; one that disagrees is printed."""
    draw = Draw(random.Random(f"{seed} {capture}"), capture)
    draw.program(arguments.steps)
    names, worlds = list(draw.shapes), draw.worlds_at_start
    opset = draw.rng.choice(arguments.opset or OPSETS)
    title = f"--- seed {seed}, {capture}, opset {opset}"
    try:
        check(names, draw.statements, capture, worlds, folder, opset)
    except Refusal as refusal:
        if arguments.refusals and str(refusal).startswith("flambeau") and "unsupported-opset" not in str(refusal):
            print(f"{title}: {refusal.__cause__}\n{text_of(names, draw.statements)}", flush=True)
        return str(refusal)
    except Disagreement as disagreement:
        statements = shrunk(names, draw.statements, capture, worlds, folder, opset)
        print(f"{title}: {str(disagreement)[:600]}\n{text_of(names, statements)}", flush=True)
        return DISAGREES
    return "agrees"


if __name__ == "__main__":
    command(__doc__, CAPTURES, tried, opsets=True, steps=8)
