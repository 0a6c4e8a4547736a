"""From a module to a captured program.

``strategies`` tries the ways to capture, ``dynamic_shapes`` reads the user's words about
dynamic dimensions, ``wrappers`` finds the module inside of DataParallel and the like, and ``tracing`` runs torch's tracer. While ``torch.export`` runs, others
stand in the place of what it cannot see through or would make static: of sizes (``sizes``; ``functions_of_sizes``, ``numpys_functions``, ``types_of_sizes``),
operators that nothing looks into (``stand_ins``), such as those of recurrent layers (``recurrent_layers``) and
signals (``spectrograms``), detectors (``vision``), graph networks (``graphs``), calls
that look at data (``data_dependent``, ``emptiness``) or at what was made of sizes (``progressions``), and objects that hold tensors (``containers``).
Loops over a dynamic dimension are captured once more, as scans (``loops``), and so are
questions that save work, with the answer of the general case (``general``).
What a capture took for granted is kept (``decisions``, ``assumptions``) and told (``failures``).
"""

from .attempt import Attempt
from .failures import failure_without_export, user_line, warn_of_assumptions
from .strategies import DEFAULT_STRATEGIES, STRATEGIES, capture
from .surroundings import alone, exporting, mode
from .wrappers import unwrapped

__all__ = [
    "DEFAULT_STRATEGIES",
    "STRATEGIES",
    "Attempt",
    "alone",
    "capture",
    "exporting",
    "failure_without_export",
    "mode",
    "unwrapped",
    "user_line",
    "warn_of_assumptions",
]
