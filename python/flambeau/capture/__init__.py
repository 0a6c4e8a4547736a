"""From a module to a captured program.

``strategies`` tries the ways to capture, and ``remedies`` what helps where one fails; ``dynamic_shapes`` reads the user's words about
dynamic dimensions, and ``wrappers`` finds the module inside of DataParallel and the like. While ``torch.export`` runs (``torch_export``), others
stand in the place of what it cannot see through or would make static (``environment`` puts them there): of Python's
arithmetic of sizes (``sizes/``), of PyTorch's functions and layers (``operators/``), and of objects that hold tensors (``containers``).
Loops over a dynamic dimension are captured once more, as scans (``loops/``), and so are
questions that save work, with the answer of the general case (``questions/``).
What a capture took for granted is kept (``assumptions``) and told (``failures``). ``traces/`` runs torch's tracer instead.
"""

from .attempt import Attempt
from .failures import failure_without_export, is_by_data, user_line, warn_of_assumptions, warn_of_seeds
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
    "failure_without_export",
    "is_by_data",
    "mode",
    "one_capture_at_a_time",
    "seeding_lines",
    "unwrapped",
    "user_line",
    "warn_of_assumptions",
    "warn_of_seeds",
]
