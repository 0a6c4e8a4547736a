"""PyTorch's pytrees, as every release has them that Flambeau supports."""

from __future__ import annotations

import operator
from typing import Any

from .torch_names import found

__all__ = ["children", "is_leaf"]

is_leaf: Any = found("torch.utils._pytree.tree_is_leaf")
"""Whether a value is a leaf of a tree."""

children: Any = operator.methodcaller("children") if found("torch.utils._pytree.TreeSpec.children") else operator.attrgetter("children_specs")
"""The structures of the children, of that of a tree."""
