"""Records what ONNX Script code does, as nodes of ``onnx_ir``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx.defs
import onnx_ir as ir
from onnx_ir import schemas

__all__ = ["Recorder", "Symbol"]

_NUMPY_OF_NUMBER = {bool: np.bool_, int: np.int64, float: np.float32}


def _operator(name: str, reflected: bool = False) -> Callable[[Symbol, Any], Any]:
    def method(self: Symbol, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        return self.recorder.record("", name, operands, {}, self.recorder.opset)

    return method


class Symbol(ir.Value):
    """A tensor while a translation runs: what is computed with it is recorded.

    ``dtype``, ``shape`` and ``rank`` are what is known of it; Python's
    operators are ONNX's.
    """

    recorder: Recorder

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    __add__, __radd__ = _operator("Add"), _operator("Add", True)
    __sub__, __rsub__ = _operator("Sub"), _operator("Sub", True)
    __mul__, __rmul__ = _operator("Mul"), _operator("Mul", True)
    __truediv__, __rtruediv__ = _operator("Div"), _operator("Div", True)
    __pow__, __matmul__, __mod__ = _operator("Pow"), _operator("MatMul"), _operator("Mod")
    __lt__, __le__, __gt__, __ge__ = (_operator(name) for name in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual"))
    __and__, __or__ = _operator("And"), _operator("Or")

    def __neg__(self) -> Any:
        return self.recorder.record("", "Neg", (self,), {}, self.recorder.opset)


class Recorder:
    """An evaluator of ONNX Script: its operators append nodes.

    Numbers and lists among the inputs become constants, of the element type of
    the operands that they go with.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[ir.Node] = []
        self.functions: dict[ir.OperatorIdentifier, ir.Function] = {}
        self.imports: dict[str, int] = {}

    def input(self, name: str, dtype: ir.DataType, sizes: Sequence[int | str | None] | None) -> Symbol:
        shape = None if sizes is None else ir.Shape(sizes)
        value = Symbol(name=name, shape=shape, type=ir.TensorType(dtype))
        value.recorder = self
        return value

    # --- onnxscript's protocol ------------------------------------------------

    def eval_op(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return self.record(op.opset.domain, op.name, args, dict(kwargs), op.opset.version, op.op_signature)

    def eval_function(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if function.traceable:
            return function.function(*args, **kwargs)
        body = function.function_ir
        self.functions[body.identifier()] = body
        for inner in body.get_called_functions().values():
            self.functions[inner.function_ir.identifier()] = inner.function_ir
        kwargs = {**kwargs, "_outputs": len(body.outputs)}
        return self.record(body.domain, body.name, args, kwargs, function.opset.version, function.op_signature)

    # --- nodes ----------------------------------------------------------------

    def record(
        self,
        domain: str,
        name: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        version: int,
        signature: schemas.OpSignature | None = None,
    ) -> Any:
        """Append a node; returns its output, or a tuple of them."""
        domain = "" if domain == "ai.onnx" else domain
        if signature is None and domain == "":
            signature = schemas.OpSignature.from_op_schema(onnx.defs.get_schema(name, version, ""))
        count = kwargs.pop("_outputs", None)
        if signature is None:
            inputs, attributes = [self._constant(value, None) for value in args], kwargs
        else:
            inputs, attributes = self._bind(signature, args, kwargs)
        if count is None:
            count = self._output_count(signature, attributes)
        self.imports[domain] = max(version, self.imports.get(domain, 0))
        while inputs and inputs[-1] is None:
            inputs.pop()
        node = ir.Node(
            domain,
            name,
            inputs=inputs,
            attributes=ir.convenience.convert_attributes({key: value for key, value in attributes.items() if value is not None}),
            outputs=[self._symbol() for _ in range(count)],
            version=version,
        )
        self.nodes.append(node)
        return node.outputs[0] if count == 1 else tuple(node.outputs)

    def _symbol(self) -> Symbol:
        value = Symbol(name=None)
        value.recorder = self
        return value

    @staticmethod
    def _output_count(signature: schemas.OpSignature | None, attributes: Mapping[str, Any]) -> int:
        if signature is None:
            return 1
        if any(output.variadic for output in signature.outputs):
            if "num_outputs" not in attributes:
                raise TypeError(f"{signature.name} needs _outputs=, the number of its outputs")
            return attributes["num_outputs"]
        if signature.name == "BatchNormalization" and not signature.domain and not attributes.get("training_mode"):
            return 1  # its statistics are results of training only
        return len(signature.outputs)

    def _bind(
        self, signature: schemas.OpSignature, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[list[ir.Value | None], dict[str, Any]]:
        """The arguments as inputs and attributes of a node."""
        remaining, named = list(args), dict(kwargs)
        given: list[tuple[schemas.Parameter, Any]] = []
        attributes: dict[str, Any] = {}
        for parameter in signature.params:
            if not parameter.is_param():
                if remaining:
                    attributes[parameter.name] = remaining.pop(0)
                elif parameter.name in named:
                    attributes[parameter.name] = named.pop(parameter.name)
            elif parameter.variadic:
                given += [(parameter, value) for value in remaining]
                remaining = []
            else:
                value = remaining.pop(0) if remaining else named.pop(parameter.name, None)
                given.append((parameter, value))
        if remaining or named:
            what = ", ".join([*(repr(value) for value in remaining), *named])
            raise TypeError(f"{signature.name} does not take {what}")
        peers: dict[str, ir.Value] = {}
        for parameter, value in given:
            if isinstance(value, ir.Value):
                known = peers.get(parameter.type_constraint.name)
                if known is None or known.dtype is None:
                    peers[parameter.type_constraint.name] = value
        return [self._constant(value, parameter, peers) for parameter, value in given], attributes

    def _constant(
        self, value: Any, parameter: schemas.Parameter | None, peers: Mapping[str, ir.Value] = {}
    ) -> ir.Value | None:
        """An input: a value as it is, a number or a list as a constant."""
        if value is None or isinstance(value, ir.Value):
            return value
        if isinstance(value, (list, tuple)) and any(isinstance(element, ir.Value) for element in value):
            return self._joined(value)
        if isinstance(value, ir.TensorProtocol):
            return self._emit_constant(value)
        peer = peers.get(parameter.type_constraint.name) if parameter is not None else None
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
        else:
            first = value
            while isinstance(first, (list, tuple)) and first:
                first = first[0]
            if not isinstance(first, (bool, int, float)) and value not in ([], ()):
                raise TypeError(f"{value!r} of type {type(value).__qualname__} is no input of an ONNX operator")
            kinds = [_NUMPY_OF_NUMBER[type(element)] for element in _leaves(value)] or [np.int64]
            array = np.array(value, dtype=np.result_type(*kinds) if len({*kinds}) > 1 else kinds[0])
            if peer is not None and peer.dtype is not None:
                array = array.astype(peer.dtype.numpy())
                peer = None
        constant = self._emit_constant(ir.tensor(array))
        if peer is None or isinstance(value, (np.ndarray, np.generic)):
            return constant
        return self.record("", "CastLike", (constant, peer), {}, self.opset)

    def _joined(self, values: Sequence[Any]) -> ir.Value:
        """A list of which some elements are run-time numbers, as one vector."""
        parts = []
        for value in values:
            if isinstance(value, ir.Value):
                parts.append(self.record("", "Reshape", (value, [-1]), {}, self.opset))
            else:
                parts.append(self._emit_constant(ir.tensor(np.array([value], np.int64))))
        return self.record("", "Concat", parts, {"axis": 0}, self.opset)

    def _emit_constant(self, tensor: ir.TensorProtocol) -> ir.Value:
        node = ir.Node("", "Constant", inputs=(), attributes=[ir.AttrTensor("value", tensor)], outputs=[self._symbol()])
        node.outputs[0].type = ir.TensorType(tensor.dtype)
        node.outputs[0].shape = ir.Shape(tensor.shape)
        self.nodes.append(node)
        return node.outputs[0]


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for element in value for leaf in _leaves(element)]
    return [value]
