"""Runs all benchmarks and writes their table: `make bench`."""

from __future__ import annotations

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from bench import conversion, inference, memory, scaling, torchscript, writing  # noqa: E402

TEXT = """# Benchmarks

Written by `make bench`; every ratio is of two figures of the same run on the same machine.

## Conversion, without the weights' bytes

A captured program to a program in memory, against `torch.onnx.export(program, dynamo=True)`; and an archive to a file
with `--external-data=reference`, process start included, against `torch.export.load` and export.

{conversion}

## Writing weights

{writing}

## Cost in the size of the graph

Archives of one long chain, converted by the command line; a node's share is above the cost of a chain of one node.
Lowering is the stage in which each ATen call becomes ONNX nodes.

{chains}

## Memory

Archives of large weights, converted by the command line under a limit of its address space.

{archive_memory}

Captured programs, converted to a file with external data; the bound is 5 % of the weights, 64 MB and 4 KB a node.

{live_memory}

## TorchScript

ResNet-50; torch.onnx writes its file in each row. No file replaces another.

{torchscript}

## Running what was converted

onnxruntime on one core, the median of some runs that take turns with torch.onnx's model of the same program.

{inference}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    parts = {
        "chains": scaling.chain_rows, "archive_memory": memory.archive_rows, "live_memory": memory.live_rows,
        "writing": writing.rows, "conversion": conversion.rows,
        "torchscript": torchscript.rows, "inference": inference.rows,
    }  # fmt: skip
    tables = {}
    for name, rows in parts.items():
        tables[name] = "\n".join(rows())
        print(f"{name}\n{tables[name]}\n", flush=True)
    if arguments.write:
        arguments.write.write_text(TEXT.format(**tables))


if __name__ == "__main__":
    main()
