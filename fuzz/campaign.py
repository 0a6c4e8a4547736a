"""Runs the programs of one seed after another until the time is up."""

from __future__ import annotations

import collections
import pathlib
import tempfile
import time
from collections.abc import Callable, Sequence


class Disagreement(Exception):
    """Flambeau's model differs from PyTorch, or can't be made or run for a reason that is Flambeau's."""


class Refusal(Exception):
    """A capture that PyTorch refuses, or a conversion that Flambeau refuses with a located error."""


DISAGREES = "disagrees"


def judged(title: str, text: str, check: Callable[[], None]) -> str:
    """How the check of a program ends; one that disagrees is printed."""
    try:
        check()
    except Refusal as refusal:
        return str(refusal)
    except Disagreement as disagreement:
        print(f"--- {title}: {disagreement}\n{text}", flush=True)
        return DISAGREES
    return "agrees"


def campaign(seconds: float, seed: int, hows: Sequence[str], tried: Callable[[int, str, pathlib.Path], str]) -> None:
    """Tries each seed in each of the ways, and prints how many ended how.

    Raises:
        SystemExit: With 1 if a program disagrees, else with 0.
    """
    ends = collections.Counter[str]()
    stop = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < stop:
            for how in hows:
                ends[f"{how}: {tried(seed, how, pathlib.Path(folder))}"] += 1
            seed += 1
    for end, count in ends.most_common():
        print(f"{count:8}  {end}")
    raise SystemExit(1 if any(end.endswith(f": {DISAGREES}") for end in ends) else 0)
