"""Converts a module of generated text, traced or scripted, and compares onnxruntime with PyTorch in several worlds.

A world is the arguments by name, and the first one is what is exported; sizes that differ in others are dynamic.
"""

from __future__ import annotations

import copy
import pathlib
import re
import signal
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import onnxruntime
import torch
import torch._dynamo  # a copy of a tensor loads it, which takes seconds; cut off by `limited`, it stays half loaded
from torch.utils import _pytree as pytree

import flambeau
from campaign import Disagreement, Refusal, raise_end
from generated_programs import LIMITED, module_of, moved_by

OPSETS = (9, 11, 12, 13, 14, 15, 16, 17, 17, 18, 20, 21)
CAPTURES = ("script", "trace")
World = dict[str, Any]


class Subject(NamedTuple):
    """What is checked: the text of a module, and the names of its arguments, in order."""

    text: str
    names: list[str]
    worlds: list[World]
    capture: str
    training: bool
    folder: pathlib.Path

    def made(self) -> torch.nn.Module:
        torch.manual_seed(0)
        return module_of(self.text, self.folder).train(self.training)

    def args(self, world: World) -> tuple[Any, ...]:
        return tuple(copy.deepcopy(world[name]) for name in self.names)

    def eager(self, world: World) -> Any:
        with torch.no_grad():
            return self.made()(*self.args(world))

    def traced(self, world: World) -> Any:
        """What PyTorch's own trace of the first world gives; None where it fails."""
        try:
            trace = torch.jit.trace(self.made(), self.args(self.worlds[0]), check_trace=False, strict=False)
            with torch.no_grad():
                return trace(*self.args(world))
        except Exception:
            return None


def limited(function: Callable[[], Any], seconds: int = 3) -> Any:
    """What the function gives; raises where it takes too long."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        return function()
    finally:
        signal.alarm(0)


def leaves_of(results: Any) -> list[torch.Tensor]:
    """The tensors and numbers, as the outputs of a model have them."""
    return [torch.as_tensor(leaf) for leaf in pytree.tree_leaves(results) if isinstance(leaf, (torch.Tensor, int, float))]


def alike(results: Any, others: Any) -> bool:
    ours, theirs = leaves_of(results), leaves_of(others)
    return len(ours) == len(theirs) and all(one.dtype == other.dtype and one.shape == other.shape and torch.allclose(one.double(), other.double(), equal_nan=True) for one, other in zip(ours, theirs))


def close(one: torch.Tensor, other: torch.Tensor, tolerance: float) -> bool:
    largest = float(other.abs().nan_to_num(0, 0, 0).max()) if other.numel() and other.is_floating_point() else 1.0
    return torch.allclose(one.double(), other.double(), rtol=tolerance, atol=tolerance * max(1.0, largest), equal_nan=True)


def steady(run: Callable[[World], Any], world: World, expected: Any, tolerance: float) -> bool:
    """Whether what comes out stays as it is where what goes in moves by a rounding error."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(8):
        moved = pytree.tree_map(lambda leaf: moved_by(leaf, 3, generator) if isinstance(leaf, torch.Tensor) else leaf, world)
        others, own = leaves_of(run(moved)), leaves_of(expected)
        if len(others) != len(own) or any(one.shape != other.shape or not close(one, other, tolerance) for one, other in zip(others, own)):
            return False
    return True


def check(subject: Subject, opset: int) -> None:
    """Raises where the model and PyTorch disagree."""
    names, worlds = subject.names, subject.worlds
    options: dict[str, Any] = {}
    try:
        own = [limited(lambda: subject.eager(world)) for world in worlds]
        if subject.capture == "script":
            captured = torch.jit.script(subject.made())
            with torch.no_grad():
                theirs = [copy.deepcopy(captured)(*subject.args(world)) for world in worlds]
            if not all(alike(one, other) for one, other in zip(own, theirs)):
                raise Refusal("a script that PyTorch runs otherwise than eagerly")
        else:
            captured, options["capture"] = subject.made(), "trace"
            torch.jit.trace(subject.made(), subject.args(worlds[0]), check_trace=False, strict=False)
    except Refusal:
        raise
    except Exception as error:
        raise Refusal(f"torch: {type(error).__name__}") from error
    leaves = [[leaf for leaf in pytree.tree_leaves([world[name] for name in names]) if isinstance(leaf, torch.Tensor)] for world in worlds]
    axes = axes_of(leaves)
    if subject.training:
        options["training"] = torch.onnx.TrainingMode.PRESERVE
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", flambeau.errors.ConversionWarning)
            warnings.simplefilter("always", torch.jit.TracerWarning)
            program = flambeau.export(captured, subject.args(worlds[0]), opset_version=opset, input_names=list(axes), dynamic_axes=axes, **options)
    except flambeau.errors.CaptureError as error:
        raise Refusal(f"capture: {type(error.__cause__).__name__}") from error
    except Exception as error:
        raise_end(error, said_of(str(error)))
    warned = "\n".join(str(each.message) for each in said)
    quietly = onnxruntime.SessionOptions()
    quietly.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), quietly, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise Disagreement(f"onnxruntime refuses: {error}") from error
    count = len(worlds)
    if subject.capture == "trace" and (re.search(LIMITED, warned) or not all(alike(subject.traced(world), result) for world, result in zip(worlds[1:], own[1:]))):
        count = 1
    tolerance = 1e-2 if "half" in subject.text or any(leaf.dtype == torch.float16 for leaf in leaves[0]) else 5e-4
    for at in range(count):
        feeds = {value.name: leaves[at][int(value.name[2:])].numpy() for value in session.get_inputs()}
        try:
            results = session.run(None, feeds)
        except Exception as error:
            raise Disagreement(f"onnxruntime fails in world {at}: {error}\n{warned}") from error
        ours: list[torch.Tensor] = []
        for result in results:
            ours += [torch.as_tensor(each) for each in (result if isinstance(result, list) else [] if result is None else [result])]
        fault = differs(ours, leaves_of(own[at]), tolerance)
        if fault and not (fault.startswith("numbers") and not steady(subject.eager, worlds[at], own[at], tolerance)):
            raise Disagreement(f"world {at}: {fault}\n{warned}")


def axes_of(leaves: list[list[torch.Tensor]]) -> dict[str, dict[int, str]]:
    """The dynamic dimensions of the inputs; those that are of the same sizes in all worlds are one."""
    axes: dict[str, dict[int, str]] = {}
    for k, own in enumerate(leaves[0]):
        sizes = {d: tuple(world[k].shape[d] for world in leaves) for d in range(own.dim())}
        axes[f"in{k}"] = {d: "n" + "_".join(map(str, each)) for d, each in sizes.items() if len(set(each)) > 1}
    return axes


def differs(ours: list[torch.Tensor], theirs: list[torch.Tensor], tolerance: float) -> str:
    if len(ours) != len(theirs):
        return f"counts: {len(ours)} outputs for {len(theirs)}"
    for k, (one, other) in enumerate(zip(ours, theirs)):
        floats = one.is_floating_point() and other.is_floating_point() and not other.dim()  # a Python float is as precise as what it comes from
        if one.dtype != other.dtype and not floats or one.shape != other.shape:
            return f"types of output {k}: {one.dtype} {list(one.shape)}, PyTorch's {other.dtype} {list(other.shape)}"
        if not close(one, other, tolerance):
            return f"numbers of output {k}: {one}, PyTorch's {other}"
    return ""


def said_of(error: str) -> str:
    """What a refusal says, but for names and numbers."""
    lines = [line.strip() for line in error.splitlines() if "[" in line and line.rstrip().endswith("]")]
    return re.sub(r"\d+", "#", lines[0])[:160] if lines else ""
