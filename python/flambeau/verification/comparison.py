"""Two tensors that should be equal: how far they are apart, and of what kind the difference is."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .. import _engine

__all__ = ["TOLERANCES", "compare", "differently", "not_computed"]

# (relative, absolute), by PyTorch's dtype. Rounding of a few operators more or less.
TOLERANCES = {
    "float64": (1e-7, 1e-7),
    "float32": (1e-4, 1e-4),
    "float16": (1e-2, 1e-2),
    "bfloat16": (5e-2, 5e-2),
}
"""Floating types compare within these; all others must be equal."""

_PLACE = re.compile(r"^/\S+:\d+ [^()]*\([^()]*\) ")  # in onnxruntime's source

_DECADES = [0.0, *(10.0**exponent for exponent in range(-7, 1))]


def compare(
    name: str, actual: Any, expected: Any, *, inputs: str = "example", module: str = "", dtype: str = ""
) -> _engine.Comparison:
    """Compare arrays; ``dtype`` is PyTorch's word for the expected one, where numpy has another.

    The cause is the first that fits: dtype, shape, "not finite" (one has inf or
    NaN where the other has none), rounding (small beside the largest element: at
    most ten times the relative tolerance of it), values.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    result = _engine.Comparison()
    result.name, result.inputs, result.module = name, inputs, module
    result.dtype = dtype or str(expected.dtype)
    result.relative_tolerance, result.absolute_tolerance = TOLERANCES.get(result.dtype, (0.0, 0.0))
    result.histogram = []
    if actual.dtype != expected.dtype:
        return _failed(result, f"dtype: {actual.dtype} instead of {expected.dtype}")
    if actual.shape != expected.shape:
        return _failed(result, f"shape: {list(actual.shape)} instead of {list(expected.shape)}")
    if actual.size == 0:
        return result
    wide = np.complex128 if np.iscomplexobj(expected) else np.float64
    ours, theirs = actual.astype(wide), expected.astype(wide)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore", divide="ignore"):
        absolute = np.where(same, 0.0, np.abs(ours - theirs))
        relative = np.where(same, 0.0, absolute / np.maximum(np.abs(theirs), 1e-30))
        within = same | (absolute <= result.absolute_tolerance + result.relative_tolerance * np.abs(theirs))
    absolute, relative = np.nan_to_num(absolute, nan=np.inf), np.nan_to_num(relative, nan=np.inf)
    result.max_absolute, result.max_relative = float(absolute.max()), float(relative.max())
    result.histogram = _histogram(absolute)
    if within.all():
        return result
    if (np.isfinite(ours) != np.isfinite(theirs)).any():
        return _failed(result, "not finite in one of the two")
    limit = 10 * result.relative_tolerance * np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0)
    share = 100.0 * float(np.mean(~within))
    if (absolute <= limit).all():
        return _failed(result, f"rounding: {share:.3g} % of the elements are out of tolerance, none by much beside the largest")
    return _failed(result, f"values: {share:.3g} % of the elements differ")


def not_computed(name: str, error: Exception, *, inputs: str = "example", module: str = "") -> _engine.Comparison:
    """The comparison of a value at which the runtime fails."""
    reason = _PLACE.sub("", (str(error).rpartition("Status Message: ")[2].strip().splitlines() or [""])[0])
    return differently(name, f"not computed: onnxruntime fails{f': {reason}' if reason else ''}", inputs=inputs, module=module)


def differently(name: str, cause: str, *, inputs: str, module: str) -> _engine.Comparison:
    """The comparison of what differs, and has no numbers."""
    result = _engine.Comparison()
    result.name, result.inputs, result.module, result.histogram = name, inputs, module, []
    return _failed(result, cause)


def _failed(result: _engine.Comparison, cause: str) -> _engine.Comparison:
    result.ok, result.cause = False, cause
    if result.max_absolute == 0:
        result.max_absolute = result.max_relative = float("inf")
    return result


def _histogram(absolute: np.ndarray) -> list[int]:
    """How many are 0, below 1e-7, 1e-6, …, 1, and above."""
    places = np.searchsorted(_DECADES, absolute.ravel(), side="left")
    return np.bincount(places, minlength=len(_DECADES) + 1).tolist()
