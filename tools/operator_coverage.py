"""How much of PyTorch's OpInfo database Flambeau converts, beside torch's own exporters: `make coverage`.

The tool that draws samples, exports them and compares with eager lies in a
folder of its own, which the command takes. It imports this module for
`export`, runs each of the measurements below, and the table is written from
their results and from the tool's summary of torch's exporters.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import subprocess
import sys

# Their file, what they are, and the tool's options. The first is the one that torch's exporters were measured with.
RUNS = {
    "compared": ("up to 3 samples an operator and floating dtype, 1 of the others", ["--n", "3", "--again"]),
    "more": ("up to 6 samples an operator and floating dtype", ["--n", "6", "--again"]),
    "dynamic": ("up to 3 samples with every dimension dynamic", ["--n", "3", "--dynamic"]),
}
TORCH = {"torch-dynamo": "torch.export exporter", "torch-torchscript": "TorchScript exporter"}
# The field in which a run says how each model that was right did on other inputs, and what these were.
REPEATED = {
    "compared": ("again", "on other values"),
    "more": ("again", "on other values"),
    "dynamic": ("dyn", "at other sizes"),
}
SOUND = ("pass", "n/a", "static", "specialised")

TEXT = """# Coverage of PyTorch's operators

Written by `make coverage`. PyTorch's OpInfo database (torch {torch}) gives the operators and their samples; each sample
is exported, checked, run in onnxruntime {onnxruntime} and compared with eager PyTorch. Complex tensors count as pairs of
reals; of random operators, shapes and dtypes are compared.

## Beside torch's exporters

{compared}.

{statuses}

Operators by how many of their samples are right:

{operators}

## More samples, other values, other sizes

{repeated}

## What is not full

{missing}
"""


def export(module, args, kwargs=None, *, dynamic=False, opset=None):
    """What the tool calls for each sample."""
    import flambeau
    import torch

    shapes = None
    if dynamic:
        shapes = {
            f"x{i}": {axis: torch.export.Dim.AUTO for axis, size in enumerate(arg.shape) if size > 1}
            for i, arg in enumerate(args)
        }
    program = flambeau.export(
        module, args, kwargs=kwargs, dynamic_shapes=shapes, opset_version=opset, verbose=False
    )
    return program.model_proto


def measure(names: list[str], tool: pathlib.Path, results: pathlib.Path, timeout: int) -> None:
    """Run those of the measurements that have no results yet."""
    here = pathlib.Path(__file__).resolve()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here.parent), os.environ.get("PYTHONPATH", "")])}
    results.mkdir(parents=True, exist_ok=True)
    for name in names:
        options = RUNS[name][1]
        if not (file := results / f"{name}.jsonl.gz").exists():
            command = [sys.executable, str(tool / "run.py"), "--exporter", here.stem, "--out", str(file)]
            subprocess.run([*command, "--timeout", str(timeout), *options], env=environment, check=True)


def tables_of(summary: str) -> dict[str, dict[str, list[str]]]:
    """The tables of a summary by the first cell of their heads, rows by their first cells."""
    tables: dict[str, dict[str, list[str]]] = {}
    current: dict[str, list[str]] | None = None
    for line in summary.splitlines():
        if not line.startswith("| "):
            current = None
            continue
        first, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if current is None:
            current = tables.setdefault(first, {"": cells})
        elif not first.startswith("-"):
            current[first] = cells
    return tables


def table(head: list[str], rows: list[list[object]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def compared(summarize, rows: list[dict], summary: str) -> tuple[str, str]:
    """The tables of statuses and of operators, ours first."""
    known = tables_of(summary)
    theirs = known["status"]
    columns = [theirs[""].index(name) for name in TORCH]
    ours = collections.Counter(row["status"] for row in rows)
    status_rows = [
        [label, ours[label.split(" ")[0]], *(cells[column] for column in columns)]
        for label, cells in theirs.items()
        if label and "*" not in label
    ]
    status_rows.append(["all", len(rows), *(theirs["**all**"][column] for column in columns)])
    groups = {
        "all real-valued samples": lambda row: row["cls"] != "complex",
        "float32": lambda row: row["cls"] != "complex" and row["dtype"] == "float32",
        "int64": lambda row: row["cls"] != "complex" and row["dtype"] == "int64",
        "bool": lambda row: row["cls"] != "complex" and row["dtype"] == "bool",
        "complex samples": lambda row: row["cls"] == "complex",
    }
    operator_rows = []
    for label, member in groups.items():
        grades = collections.Counter(summarize.grades(rows, member).values())
        full = [f"{grades['full']} / {grades['full*'] + grades['partial']} / {grades['none']}"]
        for name in TORCH:
            _, whole, unrunnable, partial, none = map(int, known["ops"][f"{label}: {name}"])
            full.append(f"{whole} / {unrunnable + partial} / {none}")
        operator_rows.append([label, *full])
    head = ["Flambeau", *TORCH.values()]
    return table(["samples", *head], status_rows), table(["full / partial / none", *head], operator_rows)


def repeated(summarize, name: str, rows: list[dict]) -> str:
    grades = collections.Counter(summarize.grades(rows, lambda row: True).values())
    field, where = REPEATED[name]
    again = collections.Counter(row[field].split(":")[0] for row in rows if field in row)
    statuses = collections.Counter(row["status"] for row in rows)
    counts = ", ".join(f"{status} {count}" for status, count in statuses.most_common())
    more = ", ".join(f"{status} {count}" for status, count in again.most_common())
    return f"- {RUNS[name][0]}: {grades['full']} of {sum(grades.values())} operators full; {counts}. Then {where}: {more}."


def missing(summarize, runs: dict[str, list[dict]]) -> str:
    """The operators of which some sample is not right, with what the first one says."""
    lines = {}
    for name, rows in runs.items():
        for row in rows:
            field, where = REPEATED[name]
            then = row.get(field, "pass").split(":")[0]
            if row["status"] == "pass" and then in SOUND:
                continue
            operator, what = summarize.name_of(row), row["status"] if row["status"] != "pass" else f"{then} {where}"
            lines.setdefault(operator, f"- `{operator}` ({row['dtype']}, {what}): {shortened(row)}")
    return "\n".join(lines[name] for name in sorted(lines)) or "Nothing."


def shortened(row: dict) -> str:
    text = " ".join((row["msg"] or row.get("again") or row.get("dyn") or "").split()).replace("|", "/")
    for noise in ("no model was written ", "1 operator form cannot be converted; "):
        text = text.replace(noise, "")
    return text if len(text) < 160 else text[:157] + "…"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", type=pathlib.Path, required=True, help="the folder of the tool's run.py")
    parser.add_argument("--torch-summary", type=pathlib.Path, required=True, help="the tool's summary of torch's exporters")
    parser.add_argument("--results", type=pathlib.Path, required=True, help="a folder; measurements found there are kept")
    parser.add_argument("--write", type=pathlib.Path, required=True, help="the document")
    parser.add_argument("--only", choices=RUNS, nargs="+", default=list(RUNS), help="some of the measurements; 'compared' is among them")
    parser.add_argument("--timeout", type=int, default=90, help="seconds a sample may take")
    options = parser.parse_args()
    measure(options.only, options.tool.resolve(), options.results.resolve(), options.timeout)
    sys.path.insert(0, str(options.tool.resolve()))
    import summarize

    runs, metas = {}, {}
    for name in options.only:
        metas[name], rows = summarize.load(str(options.results / f"{name}.jsonl.gz"))
        runs[name] = [row for row in rows if row["status"] != "skip"]
    statuses, operators = compared(summarize, runs["compared"], options.torch_summary.read_text())
    options.write.write_text(
        TEXT.format(
            torch=metas["compared"]["torch"],
            onnxruntime=metas["compared"]["onnxruntime"],
            compared=RUNS["compared"][0][0].upper() + RUNS["compared"][0][1:],
            statuses=statuses,
            operators=operators,
            repeated="\n".join(repeated(summarize, name, runs[name]) for name in runs),
            missing=missing(summarize, runs),
        )
    )


if __name__ == "__main__":
    main()
