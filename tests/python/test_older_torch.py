"""Releases of torch before this one: ``make releases`` has them; here this one goes without the names that they lack."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau import torch_names

_NEWEST = pytest.mark.needs(*torch_names.NEWER)


@_NEWEST
def test_every_module_and_capture_without_newer_names():
    script = Path(__file__).with_name("on_older_torch.py")
    result = subprocess.run([sys.executable, "-W", "ignore", script], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_name_is_found_where_it_was(monkeypatch):
    newer = torch_names._Newer("99.1", ["torch.nowhere.at_all", "torch.nn.functional.relu"])
    monkeypatch.setattr(torch_names, "NEWER", {"torch.nn.functional.moved": newer, "torch.nn.functional.new": torch_names._Newer("99.2")})
    assert torch_names.found("torch.nn.functional.moved").__name__ == "relu"
    assert list(torch_names.by_name({"torch.nn.functional.moved": 1, "torch.nn.functional.new": 2}).values()) == [1]
    assert torch_names.missing("torch.nn.functional.new").startswith("torch.nn.functional.new is new in torch 99.2, and this is torch")


@_NEWEST
@pytest.mark.parametrize("name", torch_names.NEWER)
def test_names_are_those_of_the_newest_release(name):
    """A typing error would go unseen otherwise."""
    assert torch_names._at(name) is not None


def test_tests_that_are_left_out_are_there():
    """A test of another name would run again on the release that cannot pass it."""
    root = Path(__file__).parents[2]
    for row in (root / "tests/torch_releases.txt").read_text().splitlines():
        word, release, test = row.split(" ", 2)
        file, name = test.partition("[")[0].split("::")
        assert word in ("from", "before") and release.replace(".", "").isdigit(), row
        assert re.search(rf"^(def {name}\(|{name} = )", (root / file).read_text(), re.MULTILINE), row
