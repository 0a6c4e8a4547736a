"""Runs the command line on archives that may mean harm."""

import resource
import subprocess

MEGABYTE = 1 << 20


class Runner:
    """Converts an archive over an existing target, with little memory and time."""

    def __init__(self, flambeau, folder, name):
        self.flambeau, self.folder = flambeau, folder
        self.archive, self.target = folder / name, folder / "model.onnx"

    def convert(self, *options, memory=1024 * MEGABYTE, inconsistent=False, exhausting=False):
        """`inconsistent`: the program contradicts itself, which can't be told from a wrong translation.
        `exhausting`: an honest archive that is larger than the memory."""

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        self.target.write_text("before")
        result = subprocess.run([self.flambeau, "convert", self.archive, "-o", self.target, *options], capture_output=True, text=True,
                                errors="replace", timeout=60, preexec_fn=limit)  # fmt: skip
        assert result.returncode in (0, 1, 2, 3), f"{result.returncode}: {result.stderr}"
        if result.returncode != 0:
            assert "error: " in result.stderr
            bugs = {"invalid-model"} | (set() if inconsistent else {"internal-error"}) | (set() if exhausting else {"out-of-memory"})
            assert not any(f"[{kind}]" in result.stderr for kind in bugs), result.stderr
            assert self.target.read_text() == "before"
            assert {path.name for path in self.folder.iterdir()} <= {self.archive.name, "model.onnx"}
        return result

    def refuse(self, kind, *options, **limits):
        """The error, which is of this kind and names the archive."""
        result = self.convert(*options, **limits)
        assert result.returncode == 1, result.stderr
        assert f"[{kind}]" in result.stderr, result.stderr
        assert self.archive.name in result.stderr, f"not located: {result.stderr}"
        return result.stderr
