"""The #includes of src/ are those that the table in docs/architecture.md allows."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def table():
    """`src/` folder → the folders that it may include, as the document says."""
    text = (ROOT / "docs/architecture.md").read_text()
    rows = re.findall(r"^\| `src/([\w/]+)/` \|[^|]*\|([^|]*)\|$", text, re.MULTILINE)
    direct, above = {}, []
    for folder, allowed in rows:
        names = {name.strip() for name in allowed.split(",") if name.strip()}
        direct[folder] = set(above) if names == {"all above"} else names
        above.append(folder)
    assert {"support", "ir", "cli"} <= direct.keys(), "the table has another form than this test reads"

    def closure(folder, seen):
        for name in direct.get(folder, set()) - seen:
            closure(name, seen | {folder})
            seen |= {name} | closure(name, seen | {folder})
        return seen

    return {folder: closure(folder, set()) for folder in direct}


TABLE = table()


def folder_of(path):
    """The table's folder that holds a path relative to src/."""
    return next((folder for folder in sorted(TABLE, key=len, reverse=True) if path.startswith(folder + "/")), None)


def sources():
    return sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in (".h", ".cpp", ".inc", ".def"))


def includes(path):
    return [(bracket == "<", name) for bracket, name in INCLUDE.findall(path.read_text())]


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_includes_what_its_folder_may(path):
    relative = path.relative_to(ROOT / "src").as_posix()
    folder = folder_of(relative)
    assert folder is not None, f"src/{relative} is in no folder of the table in docs/architecture.md"
    # A test may set up its input with any reader or writer.
    if relative.endswith("_test.cpp") or path.name.startswith("test_"):
        return
    for system, name in includes(path):
        if system or name.startswith("flambeau/"):
            continue
        target = folder_of(name)
        assert target is not None, f"src/{relative} includes {name}, which is in no folder of the table"
        assert target == folder or target in TABLE[folder], f"src/{relative} includes {name}; {folder} may not include {target}"


def test_every_folder_of_the_source_is_in_the_table():
    files = {p.relative_to(ROOT / "src").as_posix() for p in sources() if p.parent != ROOT / "src"}
    assert {f for f in files if folder_of(f) is None} == set()


@pytest.mark.parametrize("path", sorted((ROOT / "include/flambeau").iterdir()), ids=lambda path: path.name)
def test_public_headers_show_only_the_standard_library_and_themselves(path):
    for system, name in includes(path):
        own = (ROOT / "include" / name).is_file()
        assert own if not system else "/" not in name and "." not in name, f"{path.name} includes {name}"


def test_only_the_container_knows_its_libraries():
    """What parses untrusted bytes with a library is in one place."""
    for path in sources():
        for _, name in includes(path):
            if name.startswith(("simdjson", "zlib")):
                assert path.is_relative_to(ROOT / "src/container"), f"{path.relative_to(ROOT)} includes {name}"
