"""Peak memory beside the weights: archives under a limited address space, live modules above what they hold themselves."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

from .chains import write_large
from .scaling import measured

# The peak of one call, above what was resident before it: the kernel's high-water mark is reset just before.
LIVE = """
import ctypes, gc, sys
import torch, flambeau
from bench.models import MODELS
from bench.writing import capture_large

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

name, target = sys.argv[1:]
flambeau.export(torch.export.export(torch.nn.Linear(2, 2), (torch.randn(1, 2),)))  # what the first call imports
program = capture_large() if name == "large" else MODELS[name]()
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = status("VmRSS")
converted = flambeau.export(program, f=target, external_data=True)
peak = status("VmHWM") - before
weights = sum(t.untyped_storage().nbytes() for t in {t.untyped_storage().data_ptr(): t for t in program.state_dict.values()}.values())
print(weights, len(program.graph.nodes), peak)
"""


def archive_rows() -> list[str]:
    """A Markdown table: weights of a sparse archive, converted by the command line."""
    cli = str(pathlib.Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin" / "flambeau")
    lines = ["| weights | mode | `ulimit -v` | seconds | peak memory, MB |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory(dir=os.environ.get("FLAMBEAU_BENCH_DIR")) as folder:
        archive, target = os.path.join(folder, "large.pt2"), os.path.join(folder, "large.onnx")
        size = write_large(archive, 6, 16384)
        for mode in ("reference", "always"):
            seconds, peak = measured([cli, "convert", archive, "-o", target, "-q", "--external-data", mode], 1 << 30)
            lines.append(f"| {size / 1e9:.1f} GB (sparse) | {mode} | 1 GB | {seconds:.2f} | {peak / 1e6:.0f} |")
    return lines


def live_rows() -> list[str]:
    """A Markdown table: captured programs, converted to a file in the process that holds them."""
    lines = ["| program | weights, MB | nodes | peak above what was resident, MB | the bound, MB |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory(dir=os.environ.get("FLAMBEAU_BENCH_DIR")) as folder:
        for name in ("ResNet-50", "GPT-2 (12 layers)", "large"):
            command = [sys.executable, "-c", LIVE, name, os.path.join(folder, "live.onnx")]
            weights, nodes, peak = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-3:])
            bound = 0.05 * weights + (64 << 20) + 4096 * nodes
            lines.append(f"| {name} | {weights / 1e6:.0f} | {nodes} | {peak / 1e6:.1f} | {bound / 1e6:.0f} |")
    return lines
