"""What is remembered of each way to capture that was tried."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Sequence

from .helps import Help, described

__all__ = ["Attempt", "attempted"]


_TORCH_NAMES = {
    "non-strict": "TorchExportNonStrictStrategy",
    "strict": "TorchExportStrictStrategy",
    "draft": "TorchExportDraftExportStrategy",
}


@dataclasses.dataclass(frozen=True)
class Attempt:
    """One way to capture a module, tried: its name, and what it raised if it failed."""

    name: str
    seconds: float
    error: Exception | None = None
    unrolled: Sequence[str] = ()
    """The lines of loops whose number of rounds the capture made a constant."""
    gradients: bool = False
    """Whether the module computes gradients."""
    helps: tuple[Help, ...] = ()
    """What helped, as far as it came."""

    @property
    def strategy(self) -> str:
        """The name, and what helped, in words."""
        return described(self.name, self.helps)

    @property
    def torch_name(self) -> str | None:
        """What torch's exporter calls the strategy; None if it has none like it."""
        return _TORCH_NAMES.get(self.name.partition(",")[0])


@contextlib.contextmanager
def attempted(strategy: str, attempts: list[Attempt]) -> Iterator[None]:
    """What is tried while it is open is one of the attempts, whether it fails or not."""
    start = time.perf_counter()
    try:
        yield
    except Exception as error:
        attempts.append(Attempt(strategy, time.perf_counter() - start, error))
        raise
    attempts.append(Attempt(strategy, time.perf_counter() - start))
