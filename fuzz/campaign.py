"""Runs the programs of one seed after another until the time is up."""

from __future__ import annotations

import argparse
import collections
import logging
import pathlib
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from typing import NoReturn

import onnxruntime
import torch


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


def raise_end(error: Exception, detail: str) -> NoReturn:
    """Raises how an export that failed ends: a refusal if Flambeau says why, of which the detail is told."""
    kinds = set(re.findall(r"\[([a-z-]+)\]$", str(error), re.MULTILINE))
    if kinds and not kinds & {"internal-error", "invalid-model"}:
        raise Refusal(f"flambeau: {', '.join(sorted(kinds))}: {detail}") from error
    raise Disagreement(f"{type(error).__name__}: {error}") from error


Tried = Callable[[int, str, argparse.Namespace, pathlib.Path], str]
"""How the program of a seed ends, in one of the ways: what is printed of it."""


def command(description: str | None, ways: Sequence[str], tried: Tried, *, opsets: bool = False, steps: int | None = None) -> NoReturn:
    """A generator as a command: tries each seed in each of the ways, and prints how many ended how.

    Args:
        opsets: Whether there are options for opsets, and for what Flambeau refuses.
        steps: How long a program is, if that is an option.

    Raises:
        SystemExit: With 1 if a program disagrees, else with 0.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    if len(ways) > 1:
        parser.add_argument("--capture", choices=ways, action="append")
    if opsets:
        parser.add_argument("--opset", type=int, action="append")
        parser.add_argument("--refusals", action="store_true", help="print what Flambeau refuses, but for what an opset lacks")
    if steps is not None:
        parser.add_argument("--steps", type=int, default=steps)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)  # of the captures
    torch.set_num_threads(1)
    onnxruntime.set_default_logger_severity(4)
    ends = collections.Counter[str]()
    seed, stop = arguments.seed, time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < stop:
            for way in vars(arguments).get("capture") or ways:
                ends[f"{way}: {tried(seed, way, arguments, pathlib.Path(folder))}"] += 1
            seed += 1
    for end, count in ends.most_common():
        print(f"{count:8}  {end}")
    raise SystemExit(1 if any(end.endswith(f": {DISAGREES}") for end in ends) else 0)
