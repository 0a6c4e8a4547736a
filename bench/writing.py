"""Writing weights: from an archive against `cp`, from a live module against write(2)."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
import time

import torch

import flambeau

BYTES = 1 << 30


class Large(torch.nn.Module):
    """A gigabyte of weights in a few tensors."""

    def __init__(self) -> None:
        super().__init__()
        side = 8192
        self.layers = torch.nn.ModuleList(torch.nn.Linear(side, side, bias=False) for _ in range(BYTES // (side * side * 4)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def capture_large() -> torch.export.ExportedProgram:
    """That gigabyte, captured."""
    return torch.export.export(Large().eval(), (torch.randn(1, 8192),))


def best(action, repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def rows() -> list[str]:
    cli = pathlib.Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin" / "flambeau"
    module = Large().eval()
    program = torch.export.export(module, (torch.randn(1, 8192),))
    with tempfile.TemporaryDirectory(dir=os.environ.get("FLAMBEAU_BENCH_DIR")) as folder:
        archive, target = os.path.join(folder, "large.pt2"), os.path.join(folder, "large.onnx")
        copy = os.path.join(folder, "copy")
        torch.export.save(program, archive)
        command = [str(cli), "convert", archive, "-o", target, "--external-data", "always", "-q"]
        cp = best(lambda: subprocess.run(["cp", "--reflink=never", archive, copy], check=True))
        ours = best(lambda: subprocess.run(command, check=True))
        converted = flambeau.export(program)
        live = best(lambda: converted.save(target, external_data="always"))
        views = [memoryview(p.detach().numpy().reshape(-1).view("u1")) for p in module.parameters()]

        def write() -> None:
            with open(copy, "wb", buffering=0) as file:
                for view in views:
                    done = 0
                    while done < len(view):
                        done += file.write(view[done : done + (8 << 20)])

        plain = best(write)
        start = time.perf_counter()
        flambeau.export(module, (torch.randn(1, 8192),), target, external_data=True)
        end_to_end = time.perf_counter() - start
    return [
        "| what | GB/s | beside | GB/s | share |",
        "|---|---|---|---|---|",
        f"| archive → ONNX (CLI) | {BYTES / ours / 1e9:.2f} | `cp --reflink=never` | {BYTES / cp / 1e9:.2f} | {100 * cp / ours:.0f} % |",
        f"| live module → ONNX | {BYTES / live / 1e9:.2f} | write(2) | {BYTES / plain / 1e9:.2f} | {100 * plain / live:.0f} % |",
        f"| module → file, with capture | {BYTES / end_to_end / 1e9:.2f} | | | |",
    ]
