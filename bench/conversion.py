"""Conversion without the weights' bytes, against torch.onnx in the same process."""

from __future__ import annotations

import contextlib
import io
import math
import os
import pathlib
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable

import torch

import flambeau

from .models import MODELS


def seconds(function: Callable[[], object], repeats: int, after: Callable[[], object] = lambda: None) -> float:
    """The best of some runs, wall time; `after` is called after each of them and takes none."""
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
        after()
    return best


def torch_export(program: torch.export.ExportedProgram) -> None:
    """torch.onnx on a captured program, quiet."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(program, dynamo=True, verbose=False)


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def rows() -> list[str]:
    """A Markdown table."""
    cli = pathlib.Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin" / "flambeau"
    lines = ["| model | torch.onnx, s | Flambeau, s | ratio | torch load + export, s | CLI, `reference`, s | ratio |", "|---|---|---|---|---|---|---|"]
    live_ratios, archive_ratios = [], []
    warm = torch.export.export(torch.nn.Linear(2, 2), (torch.randn(1, 2),))
    torch_export(warm)
    for name, capture in MODELS.items():
        program = capture()
        ours = seconds(lambda: flambeau.export(program), 5)
        theirs = seconds(lambda: torch_export(program), 1)
        with tempfile.TemporaryDirectory() as folder:
            archive, target = os.path.join(folder, "model.pt2"), os.path.join(folder, "model.onnx")
            torch.export.save(program, archive)
            command = [str(cli), "convert", archive, "-o", target, "--external-data", "reference", "-q"]
            ours_archive = seconds(lambda: subprocess.run(command, check=True), 5)
            theirs_archive = seconds(lambda: torch_export(torch.export.load(archive)), 1)
        live_ratios.append(theirs / ours)
        archive_ratios.append(theirs_archive / ours_archive)
        lines.append(
            f"| {name} | {theirs:.2f} | {ours:.4f} | {theirs / ours:.0f}× | {theirs_archive:.2f} | {ours_archive:.4f} | {theirs_archive / ours_archive:.0f}× |"
        )
    lines.append(f"| geometric mean | | | {geometric_mean(live_ratios):.0f}× | | | {geometric_mean(archive_ratios):.0f}× |")
    return lines
