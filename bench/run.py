"""Runs all benchmarks and writes their table: `make bench`."""

from __future__ import annotations

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from bench import conversion, scaling, writing  # noqa: E402

TEXT = """# Benchmarks

Written by `make bench`; every ratio is of two figures of the same run on the same machine.

## Conversion, without the weights' bytes

A captured program to a program in memory, against `torch.onnx.export(program, dynamo=True)`; and an archive to a file
with `--external-data=reference`, process start included, against `torch.export.load` and export.

{conversion}

## Writing weights

{writing}

## Cost in the size of the graph

Archives of one long chain, converted by the command line.

{chains}

## Memory

Archives of large weights, converted by the command line under a limit of its address space.

{memory}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    parts = {
        "chains": scaling.chain_rows, "memory": scaling.memory_rows, "writing": writing.rows, "conversion": conversion.rows,
    }  # fmt: skip
    tables = {}
    for name, rows in parts.items():
        tables[name] = "\n".join(rows())
        print(f"{name}\n{tables[name]}\n", flush=True)
    if arguments.write:
        arguments.write.write_text(TEXT.format(**tables))


if __name__ == "__main__":
    main()
