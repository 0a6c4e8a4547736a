import os
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="rewrite the expected output of the cases")


@pytest.fixture(scope="session")
def flambeau():
    """The command that was built."""
    path = Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin/flambeau"
    assert path.is_file(), f"{path} is not built"
    return path
