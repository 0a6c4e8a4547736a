"""From a module to a captured program.

- ``strategies`` tries the ways to capture; ``remedies`` are what helps where one fails, and ``larger_examples`` makes examples of other
  sizes.
- ``dynamic_shapes`` reads what the user says of dynamic dimensions; ``wrappers`` finds the module inside of DataParallel and the like.
- While ``torch_export`` runs, ``environment`` puts replacements in the place of what torch.export cannot see through, or would make
  static: for Python's arithmetic (``sizes/``), for PyTorch's functions and layers (``operators/``), for objects that hold tensors
  (``containers``).
- Loops over a dynamic dimension are captured again as scans (``loops/``), and questions that only save work with the answer of the
  general case (``questions/``).
- ``assumptions`` finds what a capture took for granted; ``failures`` says it, and why a capture failed.
- ``traces/`` runs torch's tracer instead.
"""

from .attempt import Attempt
from .failures import failure_without_export, is_by_data, user_line, warn_of_assumptions, warn_of_seeds, warn_of_unasked
from .lazy_modules import make_weights
from .questions.presence import factors_asked_for
from .questions.unasked import unasked_lines
from .seeds import draws, seeding_lines
from .strategies import DEFAULT_STRATEGIES, STRATEGIES, capture
from .surroundings import exporting, mode, one_capture_at_a_time
from .wrappers import unwrapped

__all__ = [
    "DEFAULT_STRATEGIES",
    "STRATEGIES",
    "Attempt",
    "capture",
    "draws",
    "exporting",
    "factors_asked_for",
    "failure_without_export",
    "is_by_data",
    "make_weights",
    "mode",
    "one_capture_at_a_time",
    "seeding_lines",
    "unasked_lines",
    "unwrapped",
    "user_line",
    "warn_of_assumptions",
    "warn_of_seeds",
    "warn_of_unasked",
]
