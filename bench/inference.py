"""onnxruntime's time for a converted model, against its time for what torch.onnx made of the same program."""

from __future__ import annotations

import contextlib
import io
import pathlib
import statistics
import tempfile
import time
import warnings

import onnxruntime
import torch

import flambeau

from .models import MODELS

ROUNDS = 9


def session(path: pathlib.Path) -> onnxruntime.InferenceSession:
    """A session on one thread, so that two that take turns don't disturb each other."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def interleaved(sessions: list[onnxruntime.InferenceSession], inputs: list[torch.Tensor]) -> list[float]:
    """The median seconds a run of each; the sessions take turns, so that what the machine does else hits all."""
    times: list[list[float]] = [[] for _ in sessions]
    feeds = [{meta.name: value.numpy() for meta, value in zip(s.get_inputs(), inputs, strict=True)} for s in sessions]
    for repeat in range(ROUNDS + 1):
        for column, running, feed in zip(times, sessions, feeds, strict=True):
            start = time.perf_counter()
            running.run(None, feed)
            if repeat:  # the first run allocates
                column.append(time.perf_counter() - start)
    return [statistics.median(column) for column in times]


def rows() -> list[str]:
    """A Markdown table."""
    lines = ["| model | torch.onnx's, ms | Flambeau's, ms | share |", "|---|---|---|---|"]
    for name, capture in MODELS.items():
        program = capture()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            theirs, ours = pathlib.Path(folder, "theirs.onnx"), pathlib.Path(folder, "ours.onnx")
            torch.onnx.export(program, f=theirs, dynamo=True, verbose=False)
            flambeau.export(program, f=ours)
            their_seconds, our_seconds = interleaved([session(theirs), session(ours)], list(program.example_inputs[0]))
        lines.append(f"| {name} | {1e3 * their_seconds:.1f} | {1e3 * our_seconds:.1f} | {100 * our_seconds / their_seconds:.0f} % |")
    return lines
