"""The bar that a conversion shows: after a second, where somebody can see it, with the speed of writing."""

import io
import sys
import time
import types

import pytest

from flambeau import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test turns."""
    now = types.SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now.seconds)
    return now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_terminal(monkeypatch, clock):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress.shown_progress(None) as shown:
        shown("lowering", 0, 0)
        assert screen.getvalue() == "", "short conversions say nothing"
        clock.seconds = 2.0
        shown("writing", 0, 400_000_000)
        clock.seconds = 4.0
        shown("writing", 100_000_000, 400_000_000)
        assert screen.getvalue().endswith("writing   [#######                       ] 100/400 MB, 50 MB/s")
    assert screen.getvalue().endswith("\r\x1b[K"), "the bar is gone at the end"


def test_silent_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.shown_progress(None) as shown:
        assert shown is None
    with progress.shown_progress(print) as shown:
        assert shown is print


def test_notebook(monkeypatch, clock):
    texts = []
    handle = types.SimpleNamespace(update=lambda data, raw: texts.append(data["text/plain"]))
    package, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    package.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    display.display = lambda data, raw, display_id: handle
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress.shown_progress(None) as shown:
        clock.seconds = 3.0
        shown("passes", 1, 2)
    assert texts == ["passes    [###############               ] 1/2", ""]


def test_seconds_are_counted_while_torch_works(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.01)
    with progress.shown_waiting(None, "capture"):
        while "capture   0 s" not in screen.getvalue():
            time.sleep(0.01)
    assert screen.getvalue().endswith("\r\x1b[K")
    stages = []
    with progress.shown_waiting(lambda *stage: stages.append(stage), "capture"):
        pass
    assert stages == [("capture", 0, 0)]
    with pytest.raises(KeyboardInterrupt), progress.shown_waiting(lambda *stage: False, "capture"):
        raise AssertionError("interrupted before")
