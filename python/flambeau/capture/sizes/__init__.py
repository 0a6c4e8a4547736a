"""Sizes stay dynamic in Python's own arithmetic while a module is captured.

- Calls: ``conversions`` (``int``, ``float``, ``len``), ``functions_of_sizes`` (:mod:`math`) and ``numpys_functions``,
  ``types_of_sizes`` (``isinstance``).
- What is known of sizes: ``proofs`` decides what holds for every size, ``bounds`` reads a condition as a bound of one size.
- Sizes in tensors: ``progressions`` (``torch.arange(n)``) and ``scalars`` (tensors without dimensions).
- ``slices`` and ``overlaps`` keep questions of torch's own from making numbers of sizes.
"""
