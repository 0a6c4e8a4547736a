"""How far a conversion is: a bar on terminals and in notebooks, nothing elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["shown_progress", "shown_waiting"]

_WIDTH = 30
_SILENT_SECONDS = 1.0  # short conversions say nothing
_INTERVAL = 0.1


class _Bar:
    """Draws on what `draw` writes to; an engine's progress callback."""

    def __init__(self, draw: Callable[[str], None]) -> None:
        self._draw = draw
        self._start = self._last = self._writing = time.monotonic()
        self._stage = ""
        self.drawn = False

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._writing = stage, now
        if now - self._start < _SILENT_SECONDS or now - self._last < _INTERVAL:
            return
        self._last, self.drawn = now, True
        filled = min(_WIDTH, _WIDTH * done // total) if total else 0
        self._draw(f"{stage:<9} [{'#' * filled:<{_WIDTH}}] {self._amount(done, total, now)}".rstrip())

    def say(self, text: str) -> None:
        self.drawn = True
        self._draw(text)

    def _amount(self, done: int, total: int, now: float) -> str:
        if self._stage != "writing":
            return f"{done}/{total}" if total else ""
        seconds = now - self._writing
        speed = f", {done / seconds / 1e6:.0f} MB/s" if seconds > 0 else ""
        return f"{done / 1e6:.0f}/{total / 1e6:.0f} MB{speed}"


def _notebook() -> Callable[[Any], Any] | None:
    """IPython's display, inside a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display


@contextmanager
def shown_progress(given: Callable[[str, int, int], Any] | None) -> Iterator[Callable[[str, int, int], Any] | None]:
    """The caller's callback, else a bar where somebody can see one; it is gone at the end."""
    display = _notebook()
    if given is not None or (display is None and not sys.stderr.isatty()):
        yield given
        return
    if display is None:
        bar = _Bar(lambda text: print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True))
        try:
            yield bar
        finally:
            if bar.drawn:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        return
    handle = display({"text/plain": ""}, raw=True, display_id=True)
    try:
        yield _Bar(lambda text: handle.update({"text/plain": text}, raw=True))
    finally:
        handle.update({"text/plain": ""}, raw=True)


@contextmanager
def shown_waiting(given: Callable[[str, int, int], Any] | None, stage: str) -> Iterator[None]:
    """While torch works, which does not say how far it is: the seconds, where somebody can see them.

    Raises:
        KeyboardInterrupt: The caller's callback says so.
    """
    with shown_progress(given) as shown:
        if given is not None and given(stage, 0, 0) is False:
            raise KeyboardInterrupt
        if not isinstance(shown, _Bar):
            yield
            return
        done = threading.Event()

        def tick() -> None:
            start = time.monotonic()
            while not done.wait(_SILENT_SECONDS):
                shown.say(f"{stage:<9} {time.monotonic() - start:.0f} s")

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
