"""The notebooks of examples/ run from the first cell to the last, and are kept without outputs."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


def test_there_is_one():
    assert "getting_started.ipynb" in {notebook.name for notebook in NOTEBOOKS}


def run_cell(source, label, names):
    """As a notebook does: the value of a last expression is shown, as HTML if it can."""
    tree = ast.parse(source, label)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, label, "exec"), names)
    value = eval(compile(last, label, "eval"), names) if last else None
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.mkdtemp", lambda: str(tmp_path))
    document = json.loads(notebook.read_text())
    assert document["nbformat"] == 4 and len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    names, shown = {"__name__": "__main__"}, ""
    for number, cell in enumerate(document["cells"]):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, "clear the outputs before committing"
            shown = run_cell("".join(cell["source"]), f"{notebook.name}, cell {number}", names)
    assert "<" in shown, "the last cell shows the program"
