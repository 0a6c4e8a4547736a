"""Every block of Python in docs/ runs, in the order of its page."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.glob("*.md") if "```python\n" in page.read_text())


def test_there_are_pages():
    assert {"export.md", "verify.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    names = {"__name__": "__docs__"}
    for block in re.finditer(r"```python\n(.*?)```", text, re.S):
        line = text[: block.start()].count("\n") + 1
        code = "\n" * line + block.group(1)
        exec(compile(code, str(page), "exec"), names)


def test_schema_is_linked_and_there():
    assert "report.schema.json" in (DOCS / "export.md").read_text() and (DOCS / "report.schema.json").is_file()
