"""Every block of Python and of shell in docs/ runs, in the order of its page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = sorted(page for page in DOCS.glob("*.md") if BLOCK.search(page.read_text()))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def test_there_are_pages():
    assert {"export.md", "getting-started.md", "verify.md"} <= {page.name for page in PAGES}


def run_shell(script, line):
    """In the current folder, with the command that was built and this Python."""
    path = os.pathsep.join([str(Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin"), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHON": sys.executable}
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, f"line {line}: {result.stdout}{result.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    names = {"__name__": "__docs__"}
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 1
        language, code = block.groups()
        if language == "sh":
            run_shell(code, line)
        else:
            exec(compile("\n" * line + code, str(page), "exec"), names)


def anchors(page):
    """The anchors of a page's headings, as GitHub and MkDocs form them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", sorted([*DOCS.glob("*.md"), *DOCS.parent.glob("*.md")]), ids=lambda page: page.name)
def test_links_resolve(page):
    for link in LINK.findall(re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{link}: there is no such file"
        if anchor:
            assert anchor in anchors(target), f"{link}: there is no such heading"


def test_schema_is_linked_and_there():
    assert "report.schema.json" in (DOCS / "export.md").read_text() and (DOCS / "report.schema.json").is_file()
