"""TorchScript: a traced ResNet-50, and tracing as the capture of a module, against both of torch's exporters."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import subprocess
import tempfile
import warnings

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
        # Before torch.onnx, which leaves the traced graph changed.
        ours = {
            "archive → ONNX (CLI), `reference`": seconds(lambda: subprocess.run(referring, check=True), 5),
            "archive → ONNX (CLI)": seconds(lambda: subprocess.run(command, check=True), 5),
            "traced module → program in memory": seconds(lambda: flambeau.export(traced, args), 5),
            "traced module → file": seconds(lambda: flambeau.export(traced, args, target), 5),
            'module → file, `capture="trace"`': seconds(lambda: flambeau.export(module, args, target, capture="trace"), 3),
        }
        theirs = seconds(lambda: quietly(model=traced, args=args, f=target, dynamo=False), 2)
        default = seconds(lambda: quietly(model=module, args=args, f=target), 1)
    lines = ["| what | Flambeau, s | torch.onnx | s | ratio |", "|---|---|---|---|---|"]
    for what, mine in ours.items():
        beside, other = ("the default", default) if "capture" in what else ("`dynamo=False`", theirs)
        lines.append(f"| {what} | {mine:.3f} | {beside} | {other:.2f} | {other / mine:.0f}× |")
    return lines
