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


def new_file(folder: str) -> str:
    """A name that no file has: file systems take longer to replace one, whoever writes it."""
    return os.path.join(folder, f"{len(os.listdir(folder))}.onnx")


def rows() -> list[str]:
    """A Markdown table."""
    cli = pathlib.Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin" / "flambeau"
    module, args = zoo.torchvision().resnet50(weights=None).eval(), (torch.randn(2, 3, 224, 224),)
    traced = torch.jit.trace(module, args)
    with tempfile.TemporaryDirectory() as folder:
        archive = os.path.join(folder, "model.pt")
        traced.save(archive)

        def convert(*options: str) -> None:
            command = [str(cli), "convert", archive, "-o", new_file(folder), "--input", "x=float32[2,3,224,224]", "-q"]
            subprocess.run([*command, *options], check=True)

        def export(**arguments: object) -> None:
            flambeau.export(args=args, f=new_file(folder), **arguments)

        def theirs(model: torch.nn.Module, **arguments: object) -> None:
            quietly(model=model, args=args, f=new_file(folder), **arguments)

        # Before torch.onnx, which leaves the traced graph changed.
        ours = {
            "archive → ONNX (CLI), `reference`": seconds(lambda: convert("--external-data", "reference"), 5),
            "archive → ONNX (CLI)": seconds(convert, 5),
            "traced module → program in memory": seconds(lambda: flambeau.export(traced, args), 5),
            "traced module → file": seconds(lambda: export(model=traced), 5),
            'module → file, `capture="trace"`': seconds(lambda: export(model=module, capture="trace"), 3),
        }
        loaded = ("load + `dynamo=False`", seconds(lambda: theirs(torch.jit.load(archive), dynamo=False), 3))
        live = ("`dynamo=False`", seconds(lambda: theirs(traced, dynamo=False), 3))
        default = ("the default", seconds(lambda: theirs(module), 1))
    lines = ["| what | Flambeau, s | torch.onnx | s | ratio |", "|---|---|---|---|---|"]
    for (what, mine), (how, other) in zip(ours.items(), (loaded, loaded, live, live, default), strict=True):
        lines.append(f"| {what} | {mine:.3f} | {how} | {other:.2f} | {other / mine:.0f}× |")
    return lines
