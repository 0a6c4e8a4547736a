"""Writes docs/models.md: each model of tests/models/zoo.py, static and dynamic, beside torch.onnx.

    python tools/model_table.py --write docs/models.md [--only NAME …]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
from models import zoo  # noqa: E402
from models.test_models import largest_difference  # noqa: E402

import flambeau  # noqa: E402

HEADER = """# Models

Each model of `tests/models/zoo.py` (random weights, small configurations), converted with Flambeau, run in onnxruntime and
compared with PyTorch; dynamic ones also at a second size. Times are for a captured program to a file, wall seconds in
one run; node counts are after each exporter's own optimisation. Written by `make models`.

| model | dims | largest difference | nodes | torch.onnx's nodes | seconds | torch.onnx's seconds |
|---|---|---|---|---|---|---|
"""


def count_nodes(graph: onnx.GraphProto) -> int:
    """Nodes over all nested graphs."""
    bodies = [a.g for node in graph.node for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    return len(graph.node) + sum(map(count_nodes, bodies))


def torch_onnx(program: torch.export.ExportedProgram, path: str) -> tuple[str, str]:
    """Nodes and seconds of torch.onnx; dashes where it fails."""
    start = time.perf_counter()
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(program, f=path, dynamo=True, verbose=False)
        return str(count_nodes(onnx.load(path, load_external_data=False).graph)), f"{time.perf_counter() - start:.2f}"
    except Exception as error:  # its failures are part of the table
        return type(error).__name__, "—"


def row(name: str, dynamic: bool) -> str:
    case = zoo.MODELS[name]()
    shapes = case.dynamic_shapes if dynamic else None
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = os.path.join(folder, "ours.onnx"), os.path.join(folder, "theirs.onnx")
        captured = flambeau.export(case.module, case.args, dynamic_shapes=shapes).exported_program
        start = time.perf_counter()
        flambeau.export(captured, f=ours, dynamic_shapes=shapes)
        seconds = time.perf_counter() - start
        nodes = count_nodes(onnx.load(ours, load_external_data=False).graph)
        session = onnxruntime.InferenceSession(ours, providers=["CPUExecutionProvider"])
        difference = largest_difference(session, case, case.args)
        if dynamic and case.second is not None:
            difference = max(difference, largest_difference(session, case, case.second))
        their_nodes, their_seconds = torch_onnx(captured, theirs)
    return f"| {name} | {'dynamic' if dynamic else 'static'} | {difference:.1e} | {nodes} | {their_nodes} | {seconds:.3f} | {their_seconds} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", default=None)
    arguments = parser.parse_args()
    lines = []
    for name in arguments.only or zoo.MODELS:
        for dynamic in (False, True):
            try:
                lines.append(row(name, dynamic))
            except Exception as error:  # a model that fails is a row that says so
                lines.append(f"| {name} | {'dynamic' if dynamic else 'static'} | {type(error).__name__}: {str(error).splitlines()[0][:90]} | | | | |")
            print(lines[-1], flush=True)
    if arguments.write:
        arguments.write.write_text(HEADER + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
