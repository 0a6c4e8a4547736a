"""Runs the cases in cases/: what is given, what is run, and all that it says.

A case is a title, then sections: `=== NAME KIND` for each file that is given
(see described.py), `=== run`, `=== exit`, `=== files` (what is there afterwards
that was not given), `=== stdout` and `=== stderr`. After a change of wording,
`pytest tests/cli --update` rewrites the last four; read the difference.
"""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from described import ROOT, write_input

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
SECTION = re.compile(r"^=== (.*)\n", re.MULTILINE)

# Kinds that no archive provokes at once, and why.
UNREACHABLE = {
    "bad-text": "the textual form is read by tests and tools only",
    "dropped-metadata": "takes a graph of 2 GB; src/onnx/save_test.cpp has one with a smaller limit",
    "graph-too-large": "takes a graph of 2 GB; src/onnx/save_test.cpp has one with a smaller limit",
    "interrupted": "tests/cli/test_signals.py interrupts a conversion",
    "invalid-model": "a bug of Flambeau; src/onnx/check_test.cpp builds models that break the rules",
    "out-of-memory": "tests/cli/test_hostile.py limits the memory",
}


def sections(text):
    title, *parts = SECTION.split(text)
    return title, list(zip(parts[::2], parts[1::2], strict=True))


def kinds():
    text = (ROOT / "include/flambeau/diagnostic_kinds.def").read_text()
    return set(re.findall(r'^FLAMBEAU_KIND\(k\w+, "([\w-]+)"', text, re.MULTILINE))


def perform(flambeau, given, command, folder):
    """The sections that say what happened."""
    for head, text in given:
        name, kind = head.rsplit(" ", 1)
        write_input(folder / name, kind, text)
    before = {path.name for path in folder.iterdir()}
    _, *arguments = shlex.split(command)
    result = subprocess.run([flambeau, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    after = sorted({path.name for path in folder.iterdir()} - before)
    return [("exit", f"{result.returncode}\n"), ("files", "".join(f"{name}\n" for name in after)),
            ("stdout", result.stdout), ("stderr", result.stderr)]  # fmt: skip


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path, flambeau, tmp_path, request):
    title, parts = sections(path.read_text())
    heads = [head for head, _ in parts]
    given = parts[: heads.index("run")]
    command = parts[heads.index("run")][1]
    happened = perform(flambeau, given, command, tmp_path)
    if request.config.getoption("--update", default=False):
        text = title + "".join(f"=== {head}\n{body}" for head, body in [*given, ("run", command), *happened])
        path.write_text(text)
        return
    expected = dict(parts[heads.index("run") + 1 :])
    for head, body in happened:
        assert body == expected[head], f"{head} differs; if it should, run pytest tests/cli --update"


def test_every_kind_of_diagnostic_has_a_case():
    shown = set(re.findall(r"\[([\w-]+)\]|\"kind\": ?\"([\w-]+)\"", "".join(path.read_text() for path in CASES)))
    shown = {name for pair in shown for name in pair if name}
    assert kinds() - shown - UNREACHABLE.keys() == set(), "kinds without a case in tests/cli/cases"
    assert UNREACHABLE.keys() <= kinds(), "reasons for kinds that do not exist"
    assert UNREACHABLE.keys() & shown == set(), "kinds that have a case after all"


@pytest.mark.parametrize("format, start", [("text", ""), ("markdown", "| operator | not translated |\n|---|---|\n| `"), ("json", '[\n  {"schema": "')])
def test_the_table_of_operators(flambeau, format, start):
    out = subprocess.run([flambeau, "ops", "--format", format], capture_output=True, text=True, check=True).stdout
    assert out.startswith(start)
    assert "aten::add.Tensor(" in out
    if format == "json":
        for row in json.loads(out):
            assert row.keys() == {"schema", "read_as", "restrictions"} and row["schema"]
            assert row["read_as"] is None or not row["restrictions"], row
