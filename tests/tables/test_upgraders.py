"""What old archives mean by an operator: the table says what torch's says."""

import pathlib
import re

import pytest

TABLE = pathlib.Path(__file__).resolve().parents[2] / "src/reader/torchscript/upgraders.def"


def test_upgraders_are_torchs():
    torch = pytest.importorskip("torch")
    ours = {
        name: (int(version), schema)
        for name, version, schema in re.findall(r'^FLAMBEAU_UPGRADER\("([^"]*)", (\d+), "([^"]*)"', TABLE.read_text(), re.M)
    }
    theirs = {
        name: (entry.bumped_at_version, entry.old_schema)
        for name, entries in torch._C._get_operator_version_map().items()
        for entry in entries
    }
    assert ours == theirs
