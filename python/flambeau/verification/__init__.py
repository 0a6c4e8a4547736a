"""From a converted model back to PyTorch: whether the numbers agree, and where they part.

``outputs`` runs a model beside its PyTorch program, also at other sizes (``other_sizes``), and ``comparison`` says how far two tensors
are apart. ``mismatch`` finds the first node that differs: of a captured program by ``node_values``, of a TorchScript program by
``script_nodes``; ``file_nodes`` reads what an ONNX file says of where its nodes come from, and ``bodies`` runs those of its branches and
loops. ``archives`` does all of it for an archive and a file, as ``flambeau verify`` asks.
"""

from .mismatch import find_mismatch, verify_and_locate
from .outputs import archived_reference, as_reference, verify

__all__ = ["archived_reference", "as_reference", "find_mismatch", "verify", "verify_and_locate"]
