"""Compiles the files below a folder again, one after another and past the compiler's cache, and prints what each takes on one core.

    python tools/compile_times.py build/make src/lower --limit 60

The build folder is one that ninja configured. The exit status is 1 where a file takes more CPU seconds than `--limit`.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import shlex
import subprocess
import sys
import tempfile


def compilations(build: pathlib.Path, folder: pathlib.Path) -> dict[pathlib.Path, list[str]]:
    """The compiler's command for each source below `folder`, without the launcher of the cache and without outputs."""
    database = json.loads(subprocess.run(["ninja", "-C", str(build), "-t", "compdb"], check=True, capture_output=True, text=True).stdout)
    found = {}
    for entry in database:
        source = pathlib.Path(entry["file"])
        words = shlex.split(entry["command"])
        if not source.is_relative_to(folder) or "-c" not in words:
            continue
        words = words[1:] if os.path.basename(words[0]) == "ccache" else words
        for option in ("-o", "-MF", "-MT"):
            if option in words:
                del words[words.index(option) : words.index(option) + 2]
        found[source] = [word for word in words if word != "-MD"]
    return found


def cpu_seconds(command: list[str], build: pathlib.Path) -> float:
    """User and system seconds of a compilation whose object is thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([*command, "-o", os.path.join(scratch, "object.o")], check=True, cwd=build)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds that a file may take")
    arguments = parser.parse_args()
    commands = compilations(arguments.build, arguments.folder.resolve())
    if not commands:
        parser.error(f"{arguments.build} compiles nothing below {arguments.folder}")
    seconds = {source: cpu_seconds(command, arguments.build) for source, command in sorted(commands.items())}
    for source, spent in sorted(seconds.items(), key=lambda entry: -entry[1]):
        print(f"{spent:6.1f} s  {source.relative_to(arguments.folder.resolve())}{'  over the limit' if spent > arguments.limit else ''}")
    return int(max(seconds.values()) > arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
