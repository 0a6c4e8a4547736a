"""TorchScript: a traced ResNet-50, and tracing as the capture of a module, against both of torch's exporters."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import subprocess
import tempfile
import warnings
from collections.abc import Callable

import torch

import flambeau

from .conversion import seconds
from .models import zoo


def quietly(**arguments: object) -> None:
    """torch.onnx.export, quiet."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(**arguments, verbose=False)


def rows() -> list[str]:
    """A Markdown table."""
    cli = pathlib.Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin" / "flambeau"
    module, args = zoo.torchvision().resnet50(weights=None).eval(), (torch.randn(2, 3, 224, 224),)
    traced = torch.jit.trace(module, args)
    with tempfile.TemporaryDirectory() as folder:
        archive, target = os.path.join(folder, "model.pt"), os.path.join(folder, "model.onnx")
        traced.save(archive)
        command = [str(cli), "convert", archive, "-o", target, "--input", "x=float32[2,3,224,224]", "-q"]
        referring = [*command, "--external-data", "reference"]

        def to_new_file(function: Callable[[], object], repeats: int) -> float:
            """File systems take longer to replace a file, whoever writes it."""
            return seconds(function, repeats, after=lambda: [written.unlink() for written in pathlib.Path(folder).glob("model.onnx*")])

        # Before torch.onnx, which leaves the traced graph changed.
        ours = {
            "archive → ONNX (CLI), `reference`": to_new_file(lambda: subprocess.run(referring, check=True), 5),
            "archive → ONNX (CLI)": to_new_file(lambda: subprocess.run(command, check=True), 5),
            "traced module → program in memory": seconds(lambda: flambeau.export(traced, args), 5),
            "traced module → file": to_new_file(lambda: flambeau.export(traced, args, target), 5),
            'module → file, `capture="trace"`': to_new_file(lambda: flambeau.export(module, args, target, capture="trace"), 5),
        }
        loaded = to_new_file(lambda: quietly(model=torch.jit.load(archive), args=args, f=target, dynamo=False), 3)
        live = to_new_file(lambda: quietly(model=traced, args=args, f=target, dynamo=False), 3)
        default = to_new_file(lambda: quietly(model=module, args=args, f=target), 1)
    theirs = [("load + `dynamo=False`", loaded)] * 2 + [("`dynamo=False`", live)] * 2 + [("the default", default)]
    lines = ["| what | Flambeau, s | torch.onnx | s | ratio |", "|---|---|---|---|---|"]
    for (what, mine), (how, other) in zip(ours.items(), theirs, strict=True):
        lines.append(f"| {what} | {mine:.3f} | {how} | {other:.2f} | {other / mine:.0f}× |")
    return lines
