"""Converts mutated archives with the command line, and keeps those that end otherwise than in a model or a located error.

    python fuzz/archives.py build/asan/bin/flambeau SEEDS --seconds 600

SEEDS is a folder of sound archives (.pt2, .pt). An archive is taken apart, some entries change (tokens of JSON and of
TorchScript, bytes of pickles), and it is zipped again with sound checksums, so that the damage gets past the container;
the libFuzzer targets beside this file take the parsers one by one. What is found is a crash, a sanitizer's report, more
memory or time than the limits, or a target that is not as it was; `internal-error` and `invalid-model` are counted too,
since a mutated program may contradict itself.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import tempfile
import time
import zipfile

TOKEN = re.compile(rb"[A-Za-z_][A-Za-z_0-9.]*|-?[0-9]+(?:\.[0-9]+)?|\"[^\"\n]*\"|\n|[^\sA-Za-z_0-9]")
NUMBERS = (b"0", b"1", b"-1", b"2", b"7", b"4294967296", b"9223372036854775807", b"-9223372036854775808", b"1e308", b"nan")
SECONDS = 30
MEMORY = 2 << 30


def mutate_text(text: bytes, choose: random.Random) -> bytes:
    """Deletes, doubles, swaps or replaces some tokens; new ones come from the text itself."""
    for _ in range(choose.choice((1, 1, 2, 4))):
        tokens = list(TOKEN.finditer(text))
        if not tokens:
            return text
        at, other = choose.choice(tokens), choose.choice(tokens)
        new = choose.choice((b"", at[0] * 2, other[0], other[0], choose.choice(NUMBERS)))
        text = text[: at.start()] + new + text[at.end() :]
    return text


def mutate_lines(text: bytes, choose: random.Random) -> bytes:
    """Deletes, doubles or moves a line."""
    lines = text.split(b"\n")
    at, to = choose.randrange(len(lines)), choose.randrange(len(lines))
    line = lines.pop(at)
    for _ in range(choose.choice((0, 1, 1, 2))):
        lines.insert(to, line)
    return b"\n".join(lines)


def mutate_bytes(content: bytes, choose: random.Random) -> bytes:
    """Flips, removes or repeats bytes."""
    changed = bytearray(content)
    for _ in range(choose.choice((1, 1, 2, 8))):
        if not changed:
            break
        at = choose.randrange(len(changed))
        match choose.randrange(4):
            case 0:
                changed[at] ^= 1 << choose.randrange(8)
            case 1:
                changed[at] = choose.randrange(256)
            case 2:
                del changed[at : at + choose.choice((1, 4))]
            case _:
                changed[at:at] = changed[at : at + choose.choice((1, 16))]
    return bytes(changed)


def mutated(entries: dict[str, bytes], choose: random.Random) -> dict[str, bytes]:
    """Some entries changed; sometimes one is missing."""
    changed = dict(entries)
    told = [name for name in entries if name.endswith((".json", ".py", ".pkl", "version", ".pt", "byteorder"))]
    for _ in range(choose.choice((1, 1, 1, 3))):
        name = choose.choice(told)
        content = changed.get(name, b"")
        if name.endswith((".json", ".py")):
            changed[name] = (mutate_lines if name.endswith(".py") and choose.random() < 0.3 else mutate_text)(content, choose)
        else:
            changed[name] = mutate_bytes(content, choose)
    if choose.random() < 0.03:
        changed.pop(choose.choice(list(changed)))
    return changed


def outcome(flambeau: str, archive: pathlib.Path, target: pathlib.Path, opset: int) -> str:
    """How a conversion ended, in a word."""
    target.write_text("before")
    command = [flambeau, "convert", str(archive), "-o", str(target), "-q", "--opset", str(opset)]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(["timeout", "-s", "KILL", str(SECONDS), *command], stderr=errors)
        _, status, _ = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    if process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL):
        return "hang"
    if process.returncode not in (0, 1, 3) or "Sanitizer" in said or "runtime error:" in said:
        return "crash"
    if resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > MEMORY >> 10:
        return "memory"
    if process.returncode == 0:
        return "converted"
    if target.read_text() != "before":
        return "target-changed"
    kind = re.search(r"\[([a-z-]+)\]$", said, re.MULTILINE)
    return kind[1] if kind else "unnamed"


FINDINGS = {"crash", "hang", "memory", "target-changed", "unnamed", "out-of-memory"}
DOUBTFUL = {"internal-error", "invalid-model"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flambeau")
    parser.add_argument("seeds", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path(".cache/findings"))
    arguments = parser.parse_args()
    choose = random.Random(arguments.seed)
    seeds = {}
    for path in sorted(arguments.seeds.glob("*.pt*")):
        with zipfile.ZipFile(path) as archive:
            seeds[path.name] = {name: archive.read(name) for name in archive.namelist()}
    arguments.keep.mkdir(parents=True, exist_ok=True)
    ends: collections.Counter[str] = collections.Counter()
    stop = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory() as folder:
        archive_path = pathlib.Path(folder, "model.pt2")
        while time.monotonic() < stop:
            name = choose.choice(list(seeds))
            with zipfile.ZipFile(archive_path, "w") as archive:
                for entry, content in mutated(seeds[name], choose).items():
                    archive.writestr(entry, content)
            end = outcome(arguments.flambeau, archive_path, pathlib.Path(folder, "model.onnx"), choose.choice((9, 13, 20)))
            ends[end] += 1
            if end in FINDINGS | DOUBTFUL:
                (arguments.keep / f"{end}-{ends[end]}-{name}").write_bytes(archive_path.read_bytes())
            if end == "memory":  # of its children's peaks a process knows only the largest
                break
    for end, count in ends.most_common():
        print(f"{count:8}  {end}")
    raise SystemExit(1 if FINDINGS & set(ends) else 0)


if __name__ == "__main__":
    main()
