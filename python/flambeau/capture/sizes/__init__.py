"""Sizes stay dynamic in Python's own arithmetic while a module is captured.

``conversions`` has ``int``, ``float`` and ``len``, ``functions_of_sizes`` and ``numpys_functions`` what :mod:`math` and NumPy compute,
``types_of_sizes`` what ``isinstance`` says. ``proofs`` tells what is so for every size, ``bounds`` what a condition means for
one. ``progressions`` and ``scalars`` follow numbers through tensors, and ``slices`` says what torch says of slices.
"""
