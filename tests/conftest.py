"""Keeps what shares a capture or a build in one process (`-n 2 --dist loadgroup`), the long matrix for `make test-all`, and what an older torch lacks.

Random numbers are those of the test, whichever ran before it; FLAMBEAU_TEST_SEED=N gives others.
"""

import importlib.metadata
import importlib.util
import os
import pkgutil
import random
import sys
import zlib
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # processes run side by side

import pytest  # noqa: E402

# Minutes: PyTorch's own samples through the aliasing table, and a build against its headers.
ONLY_IN_TEST_ALL = {"test_aliasing_table.py", "test_cpp_operators.py"}

# "from 2.9 TEST" and "before 2.14 TEST", an id with or without what is in brackets: the releases of torch on which it can pass.
RELEASES = [row.split(" ", 2) for row in Path(__file__).with_name("torch_releases.txt").read_text().splitlines()]
TORCH = importlib.metadata.version("torch") if importlib.util.find_spec("torch") else "0.0"


def of_release(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


OTHERS = {test: f"passes {word} torch {release}" for word, release, test in RELEASES if (of_release(TORCH) < of_release(release)) != (word == "before")}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of one file go together, unless they name a group of their own."""
    if not os.environ.get("FLAMBEAU_TEST_ALL"):
        named = {str(argument).split("::")[0].rsplit("/", 1)[-1] for argument in config.args}
        later = [item for item in items if item.path.name in ONLY_IN_TEST_ALL - named]
        items[:] = [item for item in items if item not in later]
        config.hook.pytest_deselected(items=later)
    for item in items:
        reason = OTHERS.get(item.nodeid) or OTHERS.get(item.nodeid.partition("[")[0])
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


def seed(test: str) -> None:
    """A failure comes again when its test runs alone; of a library that no test has imported there is nothing to seed."""
    number = zlib.crc32(f"{os.environ.get('FLAMBEAU_TEST_SEED', 0)} {test}".encode())
    random.seed(number)
    for library, how in (("numpy", "random.seed"), ("torch", "manual_seed")):
        if library in sys.modules:
            pkgutil.resolve_name(f"{library}.{how}")(number)


def pytest_collectstart(collector: pytest.Collector) -> None:
    """What a file draws as it is imported is its own too, whichever files are collected with it."""
    if isinstance(collector, pytest.Module):
        seed(collector.path.name)


@pytest.hookimpl(tryfirst=True)  # before the fixtures of the test draw
def pytest_runtest_setup(item: pytest.Item) -> None:
    seed(f"{item.path.name} {item.name}")  # an id also names the group where there are several processes
    for name in (name for marker in item.iter_markers("needs") for name in marker.args):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            pytest.skip(f"this torch has no {name}")
