"""Cost a node on chains of growing length."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from .chains import write_chain

LENGTHS = (1_000, 10_000, 100_000, 1_000_000)


# A small process starts the command: what exec(2) replaces counts towards a process's peak.
MEASURE = """
import os, resource, sys, time
limit, command = int(sys.argv[1]), sys.argv[2:]
start = time.perf_counter()
child = os.fork()
if child == 0:
    if limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    os.execv(command[0], command)
_, status, usage = os.wait4(child, 0)
print(time.perf_counter() - start, usage.ru_maxrss * 1024, file=sys.stderr)
sys.exit(status != 0)
"""


def measured(command: list[str], limit: int = 0) -> tuple[float, int]:
    """Seconds and peak resident bytes of a command."""
    run = [sys.executable, "-I", "-S", "-c", MEASURE, str(limit), *command]
    seconds, peak = subprocess.run(run, check=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True).stderr.split()[-2:]
    return float(seconds), int(peak)


def lowering_seconds(command: list[str], profile: str) -> float:
    """What `--profile` says of the stage in which each ATen call becomes ONNX nodes, of a conversion."""
    measured([*command, "--profile", profile])
    with open(profile, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return sum(event["dur"] for event in events if event.get("name") == "lowered") / 1e6


def chain_rows() -> list[str]:
    cli = str(pathlib.Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin" / "flambeau")
    lines = ["| nodes | seconds | µs a node | nodes lowered a second | peak memory, bytes a node |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory(dir=os.environ.get("FLAMBEAU_BENCH_DIR")) as folder:
        archive, target, profile = (os.path.join(folder, name) for name in ("chain.pt2", "chain.onnx", "profile.json"))
        command = [cli, "convert", archive, "-o", target, "-q", "--metadata", "release"]
        write_chain(archive, 1)
        start, floor = min(measured(command) for _ in range(9))
        for length in LENGTHS:
            write_chain(archive, length)
            seconds, peak = min(measured(command) for _ in range(3))
            lowering = min(lowering_seconds(command, profile) for _ in range(3))
            lines.append(f"| {length:,} | {seconds:.3f} | {1e6 * (seconds - start) / length:.1f} | {length / lowering:,.0f} | {(peak - floor) / length:.0f} |")
    return lines
