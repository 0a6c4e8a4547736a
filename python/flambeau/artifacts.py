"""What an export leaves behind beside the model: reports, traces, captured programs."""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from . import _engine
from .analysis import sections
from .errors import OnnxExporterError, VerificationError

if TYPE_CHECKING:
    import torch

    from .capture import Attempt

__all__ = ["Artifacts"]

_T = TypeVar("_T")
_log = logging.getLogger("flambeau")
_SUFFIXES = {
    "converted": "success",
    "failed": "conversion",
    "capture-failed": "pt_export",
    "verification-failed": "accuracy",
}


class Artifacts:
    """Gathers the report of one export, and writes what was asked for.

    Attributes:
        attempts: The captures that were tried.
        model: What is converted, as the report calls it.
        exported: What was captured.
        engine_model: What it became.
        written: The files that were written.
    """

    def __init__(self, folder: str | os.PathLike[str], *, report: bool, profile: bool) -> None:
        self.attempts: list[Attempt] = []
        self.model = ""
        self.exported: torch.export.ExportedProgram | None = None
        self.engine_model: _engine.Model | None = None
        self.written: list[Path] = []
        self._folder = Path(folder)
        self._report_wanted, self._profile_wanted = report, profile
        self._record = _engine.ConversionReport()
        self._before: list[tuple[str, float]] = []
        self._taken = False
        self._timestamp = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S-%f")

    def timed(self, name: str, call: Callable[[], _T]) -> _T:
        """What `call` returns; the report has its time."""
        start = time.perf_counter()
        try:
            return call()
        finally:
            seconds = time.perf_counter() - start
            _log.info("%s: %.3f s", name, seconds)
            if self._taken:
                self._record.add_stage_after(name, "", seconds)
            else:
                self._before.append((name, seconds))

    def take(self, record: _engine.ConversionReport) -> None:
        """The engine's report: what was timed so far came before it."""
        self._record = record
        for name, seconds in reversed(self._before):
            record.add_stage_before(name, "", seconds)
        for attempt in reversed(self.attempts):
            record.add_stage_before(f"capture: {attempt.strategy}", "torch.jit" if attempt.strategy == "torchscript" else "torch.export", attempt.seconds)
        self._taken = True
        for attempt in self.attempts:
            _log.info("capture: %s: %.3f s%s", attempt.strategy, attempt.seconds, f", failed: {attempt.error}" if attempt.error else "")
        if _log.isEnabledFor(logging.DEBUG):
            for stage in json.loads(record.json())["stages"]:
                _log.debug("%s: %.3f s, %s", stage["name"], stage["seconds"], stage["description"])
        _log.info("conversion: %s", record.status)

    def verified(self, verify: Callable[[], list[_engine.Comparison]]) -> None:
        """Run a verification; its numbers, also those that differ, are in the report."""
        comparisons: list[_engine.Comparison] = []
        try:
            comparisons = self.timed("verify", verify)
        except VerificationError as error:
            comparisons = error.comparisons
            raise
        finally:
            for comparison in comparisons:
                self._record.add_comparison(comparison)

    def dump(self, exported: torch.export.ExportedProgram) -> None:
        import torch

        path = self._path("", ".pt2")
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.export.save(exported, path)
        self.written.append(path)

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """What the export comes to that runs while it is open is written at its end, as far as it was asked for."""
        try:
            yield
        except Exception as error:
            self._note(error)
            try:
                self._write_all()
            except OnnxExporterError as unwritten:
                error.add_note(str(unwritten))
            raise
        self._write_all()

    def _note(self, error: Exception) -> None:
        """The report has a failure; that of the engine is among its diagnostics."""
        if self._taken and self._record.status == "failed":
            return
        later = "verification-failed" if isinstance(error, VerificationError) else "failed"
        self._record.status = later if self._taken else "capture-failed"
        self._record.failure = str(error) or type(error).__name__

    def _write_all(self) -> None:
        record = self._record
        record.model = record.model or self.model
        for attempt in self.attempts:
            record.add_attempt(attempt.strategy, attempt.seconds, str(attempt.error or ""))
        suffix = f"_{_SUFFIXES.get(record.status, 'conversion')}"
        if self._report_wanted:
            markdown = record.markdown() + sections(self.exported, self.engine_model)
            for ending, text in ((".md", markdown), (".html", record.html()), (".json", record.json())):
                self._write(self._path(suffix, ending), text)
        if self._profile_wanted:
            self._write(self._path("_trace", ".json"), record.trace())

    def _path(self, suffix: str, ending: str) -> Path:
        return self._folder / f"onnx_export_{self._timestamp}{suffix}{ending}"

    def _write(self, path: Path, text: Any) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise OnnxExporterError(f"cannot write {path}: {error.strerror or error}; artifacts_dir chooses another folder") from error
        self.written.append(path)
        _log.info("wrote %s", path)
