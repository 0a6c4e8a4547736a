"""Runs a converted model in onnxruntime, on the arguments of the PyTorch model."""

from __future__ import annotations

import ctypes
import inspect
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import imported

if TYPE_CHECKING:
    import onnxruntime
    import torch

__all__ = ["Session", "as_captured", "cpu_session", "flat_inputs", "named_inputs", "tensor_of", "to_numpy"]

# Types that numpy lacks, as onnxruntime takes them: (same-sized numpy type, TensorProto.DataType).
_FOREIGN = {
    "bfloat16": (np.uint16, 16),
    "float8_e4m3fn": (np.uint8, 17),
    "float8_e4m3fnuz": (np.uint8, 18),
    "float8_e5m2": (np.uint8, 19),
    "float8_e5m2fnuz": (np.uint8, 20),
}


def _leaves(value: Any) -> Iterable[Any]:
    """The leaves of nested lists, tuples and dicts, where torch's pytree is not at hand."""
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        yield value
        return
    for element in value:
        yield from _leaves(element)


def named_inputs(args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]) -> list[Any]:
    """The values of the inputs of a model of which these names are all that is known, in order.

    Raises:
        TypeError: There is no input of such a name, or it has its value already.
    """
    torch = sys.modules.get("torch")
    leaves = _leaves(args) if torch is None else torch.utils._pytree.tree_leaves(args)
    values = [leaf for leaf in leaves if leaf is not None and not isinstance(leaf, str)]
    if not kwargs:
        return values
    open_names = names[len(values) :]
    for name, value in kwargs.items():
        if name not in open_names:
            raise TypeError(f"the model has no input '{name}' that is to be given; it has {', '.join(open_names)}")
        if isinstance(value, (Mapping, list, tuple)):
            raise TypeError(f"the input '{name}' is one tensor; what holds several can be given by position only")
    return values + [kwargs[name] for name in open_names if name in kwargs]


def flat_inputs(args: tuple[Any, ...], kwargs: dict[str, Any], exported: torch.export.ExportedProgram) -> list[Any]:
    """The values of a captured program's inputs, in order: what the capture made constant is left out.

    Raises:
        TypeError: The arguments have another structure than the captured ones, or a tensor is in the place of a constant.
        CaptureError: An argument says more than its tensors do.
    """
    from torch.export.graph_signature import ConstantArgument, InputKind
    from torch.utils import _pytree

    from .calls import expect_constant
    from .capture.containers import register_containers
    from .pytrees import is_leaf

    register_containers(args, kwargs, given=True)
    in_spec = exported.call_spec.in_spec
    args, kwargs = as_captured(args, kwargs, exported)
    leaves, spec = _pytree.tree_flatten((args, kwargs))
    specs = [spec for spec in exported.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT]
    if spec != in_spec:
        # The inputs themselves, in order, are fine too.
        inputs = sum(not isinstance(spec.arg, ConstantArgument) for spec in specs)
        if not kwargs and len(args) == inputs and all(is_leaf(value) for value in args):
            return list(args)
        given, captured = _structure(spec), _structure(in_spec)
        if given == captured:
            raise TypeError(f"the arguments {given} are nested as the captured ones, but their containers differ in what they hold beside tensors")
        raise TypeError(f"the arguments are {given}; the model was captured with {captured}, where * is a tensor or number")
    values = []
    for leaf, spec in zip(leaves, specs, strict=True):
        if isinstance(spec.arg, ConstantArgument):
            expect_constant(spec.arg.name, spec.arg.value, leaf)
        else:
            values.append(leaf)
    return values


def as_captured(
    args: tuple[Any, ...], kwargs: dict[str, Any], exported: torch.export.ExportedProgram
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments by position and by name as the capture got them, where they are all there in whichever way.

    The entries of dicts are in the order of the capture, too.
    """
    from .calls import in_captured_order

    given: tuple[tuple[Any, ...], dict[str, Any]] = in_captured_order(_by_position_and_name(args, kwargs, exported), exported.call_spec.in_spec)
    return given


def _by_position_and_name(
    args: tuple[Any, ...], kwargs: dict[str, Any], exported: torch.export.ExportedProgram
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    in_spec = exported.call_spec.in_spec
    from .calls import FORWARD
    from .pytrees import children

    of_args, of_kwargs = children(in_spec)
    positional, order = of_args.num_children, of_kwargs.context

    forward = exported.graph_module.meta.get(FORWARD)
    if forward is not None:
        return _by_signature(args, kwargs, forward, exported) or (args, kwargs)
    signature = exported.module_call_graph[0].signature
    names = list((signature and signature.forward_arg_names) or ())
    if len(names) != positional + len(order):  # they are not known
        return args, {name: kwargs[name] for name in order} if kwargs.keys() == set(order) else kwargs
    given = dict(zip(names, args))
    if len(args) > positional or given.keys() & kwargs.keys():
        return args, kwargs
    given |= kwargs
    constants = _constant_arguments(exported, names)
    if given.keys() - set(names) or set(names) - given.keys() - constants.keys():
        return args, kwargs
    given = constants | given
    return tuple(given[name] for name in names[:positional]), {name: given[name] for name in order}


def _by_signature(
    args: tuple[Any, ...], kwargs: dict[str, Any], forward: inspect.Signature, exported: torch.export.ExportedProgram
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments by position and by name as they were captured; None if there are others."""
    from .calls import expect_default, named_arguments
    from .pytrees import children

    of_args, of_kwargs = children(exported.call_spec.in_spec)
    positional, order = of_args.num_children, of_kwargs.context
    try:
        given = named_arguments(forward, args, kwargs)
    except TypeError:
        return None
    several = next((name for name, each in forward.parameters.items() if each.kind is each.VAR_POSITIONAL), "")
    by_position = [name for name in forward.parameters if name not in order][:positional]
    for name, value in _constant_arguments(exported, [] if several else [*by_position, *order]).items():
        if name not in given:
            expect_default(forward, name, [value])
            given[name] = value
    if any(name not in given for name in order):
        return None
    named = {name: given.pop(name) for name in order}
    rest = given.pop(several, ())
    values = (*(given.pop(name) for name in forward.parameters if name in given), *rest)
    return (values, named) if len(values) == positional and not given else None


def _constant_arguments(exported: torch.export.ExportedProgram, names: Sequence[str]) -> dict[str, Any]:
    """Those of the arguments of these names, first the ones by position, that hold no tensor: the capture made constants of them."""
    from torch.export.graph_signature import ConstantArgument, InputKind
    from torch.utils import _pytree

    from .pytrees import children

    of_args, of_kwargs = children(exported.call_spec.in_spec)
    leaves = iter([spec.arg for spec in exported.graph_signature.input_specs if spec.kind is InputKind.USER_INPUT])
    constants = {}
    for name, spec in zip(names, (*children(of_args), *children(of_kwargs))):
        own = [next(leaves) for _ in range(spec.num_leaves)]
        if all(isinstance(each, ConstantArgument) for each in own):
            constants[name] = _pytree.tree_unflatten([each.value for each in own], spec)
    return constants


def _nesting(spec: Any) -> str:
    """One argument as one would write it: "{'mask': *}"."""
    from .pytrees import children

    if spec.is_leaf():
        return "*"
    inside = list(map(_nesting, children(spec)))
    if spec.type is tuple:
        return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"
    if spec.type is list:
        return f"[{', '.join(inside)}]"
    if spec.type is dict:
        return f"{{{', '.join(f'{key!r}: {each}' for key, each in zip(spec.context, inside))}}}"
    return f"{spec.type.__name__}({', '.join(inside)})"


def _structure(spec: Any) -> str:
    """How arguments are nested, as one would write them: "(*, {'mask': *}, scale=*)"."""
    from .pytrees import children

    args, kwargs = children(spec)
    positional = list(map(_nesting, children(args)))
    named = [f"{name}={_nesting(each)}" for name, each in zip(kwargs.context, children(kwargs), strict=True)]
    return f"({', '.join([*positional, *named])})"


def cpu_session(model: str | bytes, folder: str | os.PathLike = "") -> onnxruntime.InferenceSession:
    """An onnxruntime session of a file or of bytes, on the CPU. What it fails of it raises; it need not log that, too.

    Args:
        model: The file, or what one holds.
        folder: Where bytes have their external data.
    """
    onnxruntime = imported("onnxruntime", "running a model")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if folder:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.fspath(folder))
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class Session:
    """An onnxruntime session, and the names and types of its inputs."""

    def __init__(self, session: onnxruntime.InferenceSession, inputs: Sequence[tuple[str, str]]) -> None:
        """``inputs``: (name, dtype) of each input that is the user's, in order."""
        self._session = session
        self._inputs = list(inputs)
        self._outputs = [output.name for output in session.get_outputs()]
        # Lists, and what may be None, have no OrtValue that Python can read.
        self._tensors_only = all(output.type.startswith("tensor(") for output in session.get_outputs())

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs, in order, for the values of the inputs: tensors, lists of tensors, or None."""
        feeds = {name: _to_ort(value, dtype, name) for (name, dtype), value in zip(self._inputs, values, strict=True)}
        torch = sys.modules.get("torch")
        if not self._tensors_only:
            return tuple(_from_numpy(result, torch) for result in self._session.run(self._outputs, feeds))
        results = self._session.run_with_ort_values(self._outputs, feeds)
        # An output that is an input has its memory, which ends with the feeds.
        found = [_from_ort(result, torch) for result in results]
        return tuple(each.clone() if torch is not None and name in feeds else each for name, each in zip(self._outputs, found))


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as its bytes lie; complex numbers are pairs, as ONNX has them."""
    import torch

    tensor = tensor.detach().cpu()
    tensor = (tensor if tensor.layout is torch.strided else tensor.to_dense()).resolve_conj().resolve_neg()
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).contiguous()


def to_numpy(value: Any, dtype: str, name: str = "") -> np.ndarray:
    """An argument as an array; `dtype` is the input's, PyTorch's word. Small floats are those of ml_dtypes.

    Raises:
        TypeError: The input is of small floats, which no runtime tells from other bytes, and the value is not.
    """
    if dtype not in _FOREIGN:
        if hasattr(value, "detach"):
            return _plain(value).numpy()
        return value if isinstance(value, np.ndarray) else np.asarray(value, dtype=dtype)
    own = getattr(imported("ml_dtypes", f"an input of {dtype}"), dtype)
    if not hasattr(value, "dtype"):
        return np.asarray(value, dtype=own)
    given = str(value.dtype).removeprefix("torch.")
    if given != dtype:
        raise TypeError(f"the input{f' {name!r}' if name else ''} is of {dtype}, and {given} was given")
    if not hasattr(value, "detach"):
        return value
    import torch

    value = _plain(value)
    return value.view({1: torch.uint8, 2: torch.int16}[value.element_size()]).numpy().view(own)


def _to_ort(value: Any, dtype: str, name: str) -> onnxruntime.OrtValue:
    """An argument as onnxruntime takes it; `dtype` is the input's."""
    from onnxruntime import OrtValue

    array = to_numpy(value, dtype, name)
    if dtype not in _FOREIGN:
        return OrtValue.ortvalue_from_numpy(array)
    carrier, number = _FOREIGN[dtype]
    return OrtValue.ortvalue_from_numpy_with_onnx_type(np.asarray(array, order="C").view(carrier), number)


def tensor_of(array: np.ndarray, torch: Any) -> torch.Tensor:
    """The tensor of an array, also of small floats as ml_dtypes or onnx have them."""
    foreign = array.dtype.name
    if foreign in _FOREIGN:
        return torch.from_numpy(array.view(_FOREIGN[foreign][0])).view(getattr(torch, foreign))
    return torch.as_tensor(array.view(array.dtype.str))  # uint64 has two types in numpy, and torch knows one


def _from_numpy(value: Any, torch: Any) -> Any:
    if isinstance(value, list):
        return [_from_numpy(element, torch) for element in value]
    return value if value is None or torch is None else tensor_of(value, torch)


def _from_ort(value: onnxruntime.OrtValue, torch: Any) -> Any:
    if torch is None:
        return value.numpy()
    foreign = next((name for name in _FOREIGN if value.data_type() == f"tensor({name.replace('_', '')})"), None)
    if foreign is None:
        return _from_numpy(value.numpy(), torch)
    if foreign == "bfloat16":
        return torch.from_dlpack(value._ortvalue.to_dlpack()).view(torch.bfloat16)
    # Neither DLPack nor numpy has a name for these.
    shape = value.shape()
    octets = bytearray(ctypes.string_at(value.data_ptr(), math.prod(shape)))
    return (torch.frombuffer(octets, dtype=torch.uint8) if octets else torch.empty(0, dtype=torch.uint8)).view(getattr(torch, foreign)).reshape(shape)
