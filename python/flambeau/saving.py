"""``onnx_ir`` models and protobufs to files and bytes."""

from __future__ import annotations

import contextlib
import copy
import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import _engine
from .errors import OnnxExporterError

if TYPE_CHECKING:
    import onnx
    import onnx_ir

__all__ = ["LARGEST_MESSAGE", "proto_with_weights", "reads", "save_bytes", "save_model", "weight_bytes", "with_outputs", "without_weights"]

# Protobuf's limit is 2 GiB for a whole message; leave room for the graph.
LARGEST_MESSAGE = 1_900_000_000
_EXTERNAL_FROM = 256  # bytes; as the engine has it


def save_model(
    model: onnx_ir.Model,
    destination: Path,
    include_initializers: bool,
    keep_initializers_as_inputs: bool,
    mode: _engine.ExternalData,
    left_out: Collection[str] = (),
) -> None:
    """Write a model that was changed in Python; the target is replaced at the end, or left as it was.

    Args:
        model: The model.
        destination: Where to.
        include_initializers: Whether its weights are written.
        keep_initializers_as_inputs: Whether they are inputs.
        mode: Where they go.
        left_out: Inputs that are weights, and are not to be inputs.

    Raises:
        OnnxExporterError: The target cannot be written, or the weights cannot stay in the archive.
    """
    import onnx_ir as ir

    if mode is _engine.ExternalData.REFERENCE:
        raise OnnxExporterError("a model that was changed cannot leave its weights in the archive; use 'always'")
    changed = _copied(model)
    graph = changed.graph
    if keep_initializers_as_inputs:
        have = {value.name for value in graph.inputs}
        graph.inputs.extend(value for value in graph.initializers.values() if value.name not in have)
    elif not include_initializers:
        kept = [value for value in graph.inputs if value.name not in graph.initializers and value.name not in left_out]
        graph.inputs.clear()
        graph.inputs.extend(kept)
    if not include_initializers:
        graph.initializers.clear()
    size = weight_bytes(changed)
    external = mode is _engine.ExternalData.ALWAYS or (mode is _engine.ExternalData.AUTO and size > LARGEST_MESSAGE)
    if not external and size > LARGEST_MESSAGE:
        raise OnnxExporterError(
            f"cannot write {destination}: its weights take {size / 1e9:.1f} GB, and one file holds less than 2 GB; "
            "put them beside it: external_data=True"
        )
    with _replaced(destination) as written:
        if external:
            data = destination.name + ".data"
            ir.external_data.unload_from_model(changed, written.parent, data, size_threshold_bytes=_EXTERNAL_FROM - 1)
        else:
            ir.external_data.load_to_model(changed)
        ir.save(changed, written)
    if external and include_initializers:
        _refer_to(changed, model, destination.with_name(data))


def proto_with_weights(model: onnx_ir.Model) -> onnx.ModelProto:
    """The model as one message, also of weights that lie in files.

    Raises:
        OnnxExporterError: Protobuf has no message that holds them.
    """
    import onnx_ir as ir

    size = weight_bytes(model)
    if size > LARGEST_MESSAGE:
        raise OnnxExporterError(f"a message of protobuf holds less than 2 GB, and the weights take {size / 1e9:.1f} GB: save the model")
    return ir.to_proto(ir.external_data.load_to_model(_copied(model)))


def weight_bytes(model: onnx_ir.Model) -> int:
    return sum(value.const_value.nbytes for graph in model.graphs() for value in graph.initializers.values() if value.const_value is not None)


def _copied(model: onnx_ir.Model) -> onnx_ir.Model:
    """A model with values of its own, of the same weights."""
    return model.clone() if hasattr(model, "clone") else copy.deepcopy(model)


def _refer_to(written: onnx_ir.Model, model: onnx_ir.Model, data: Path) -> None:
    """Weights of the model that lay in a file which has been replaced are read where they lie in it now."""
    for graph, own in zip(written.graphs(), model.graphs(), strict=True):
        for name, value in own.initializers.items():
            if os.path.abspath(getattr(value.const_value, "path", "")) == os.path.abspath(data):
                value.const_value = graph.initializers[name].const_value
                if hasattr(value.const_value, "base_dir"):
                    value.const_value.base_dir = data.parent


def save_bytes(data: bytes, destination: Path) -> None:
    """Write a serialized model; the target is replaced at the end, or left as it was.

    Raises:
        OnnxExporterError: The target cannot be written.
    """
    with _replaced(destination) as written:
        written.write_bytes(data)


@contextlib.contextmanager
def _replaced(destination: Path) -> Iterator[Path]:
    """A path beside the target to write to; it takes the target's place, and the weights beside it theirs."""
    if destination.is_dir():
        raise OnnxExporterError(f"cannot write {destination}: it is a folder; name a file in it")
    try:
        with tempfile.TemporaryDirectory(prefix=".flambeau-", dir=destination.parent) as folder:
            written = Path(folder, destination.name)
            yield written
            data = written.with_name(destination.name + ".data")
            if data.exists() and data.stat().st_size > 0:
                os.replace(data, destination.with_name(data.name))
            os.replace(written, destination)
    except OSError as error:
        raise OnnxExporterError(f"cannot write {destination}: {error.strerror or error}") from error


def without_weights(data: bytes, names: Collection[str]) -> bytes:
    """The model without these inputs: only their types are left of them."""
    import onnx

    model = onnx.load_from_string(data)
    weights = [value for value in model.graph.input if value.name in names]
    model.graph.value_info.extend(weights)
    for value in weights:
        model.graph.input.remove(value)
    return model.SerializeToString()


def with_outputs(model: onnx.ModelProto, names: Sequence[str]) -> bytes:
    """The model with other values as outputs, and the nodes that make these.

    Raises:
        ValueError: The main graph has no value of that name.
    """
    import onnx

    known = {name for node in model.graph.node for name in node.output}
    known |= {value.name for value in model.graph.input} | {tensor.name for tensor in model.graph.initializer}
    for name in names:
        if name not in known:
            raise ValueError(f"the model has no value '{name}'")
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.output[:]
    needed, kept = set(names), []
    for node in reversed(changed.graph.node):
        if not needed.isdisjoint(node.output):
            needed.update(reads(node))
            kept.append(node)
    del changed.graph.node[:]
    changed.graph.node.extend(reversed(kept))
    weights = [tensor for tensor in changed.graph.initializer if tensor.name in needed]
    del changed.graph.initializer[:]
    changed.graph.initializer.extend(weights)
    # onnxruntime infers the types of outputs that name none.
    changed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return changed.SerializeToString()


def reads(node: onnx.NodeProto) -> set[str]:
    """Names of values that a node uses, also in its subgraphs."""
    found, pending = set(), [node]
    while pending:
        each = pending.pop()
        found.update(each.input)
        for attribute in each.attribute:
            for graph in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                found.update(output.name for output in graph.output)
                pending.extend(graph.node)
    return found
