"""Keeps what shares a capture or a build in one process (`-n 2 --dist loadgroup`), the long matrix for `make test-all`, and what an older torch lacks."""

import importlib.metadata
import importlib.util
import os
import pkgutil
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # processes run side by side

import pytest  # noqa: E402

# Minutes: PyTorch's own samples through the aliasing table, and a build against its headers.
ONLY_IN_TEST_ALL = {"test_aliasing_table.py", "test_cpp_operators.py"}


# By test id, with or without what is in brackets: the first release of torch on which it passes.
SINCE = {name: since for since, name in (row.split(" ", 1) for row in (Path(__file__).with_name("since_torch.txt")).read_text().splitlines())}
TORCH = tuple(map(int, importlib.metadata.version("torch").split(".")[:2])) if importlib.util.find_spec("torch") else ()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of one file go together, unless they name a group of their own."""
    if not os.environ.get("FLAMBEAU_TEST_ALL"):
        named = {str(argument).split("::")[0].rsplit("/", 1)[-1] for argument in config.args}
        later = [item for item in items if item.path.name in ONLY_IN_TEST_ALL - named]
        items[:] = [item for item in items if item not in later]
        config.hook.pytest_deselected(items=later)
    for item in items:
        since = SINCE.get(item.nodeid) or SINCE.get(item.nodeid.partition("[")[0])
        if since and tuple(map(int, since.split("."))) > TORCH:
            item.add_marker(pytest.mark.skip(reason=f"passes from torch {since} on"))
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for name in (name for marker in item.iter_markers("needs") for name in marker.args):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            pytest.skip(f"this torch has no {name}")
