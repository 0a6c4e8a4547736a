"""The user's words about dynamic dimensions: ``dynamic_shapes`` and ``dynamic_axes``.

Both are trees that follow the model's arguments. Here they become what
``torch.export`` takes (without names) and what the engine takes (the names).
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.export import Dim, ExportedProgram
from torch.utils import _pytree

from ..errors import warn
from ..feed.exported_program import DimensionName, user_tensors
from .torch_export import DIM

__all__ = [
    "all_names",
    "by_argument",
    "dimension_names",
    "from_dynamic_axes",
    "model_arguments",
    "one_size_a_name",
    "output_dimension_names",
    "program_arguments",
    "replace_names",
    "root_names",
]

# Arguments by name: first the positional ones, then the keyword ones as given.
Arguments = dict[str, Any]


def model_arguments(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """A module's arguments by the names of ``forward``; ``*args`` is one tuple, as torch.export has it.

    Raises:
        TypeError: ``forward`` does not take these arguments.
    """
    signature = inspect.signature(model.forward)
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        taken = f"forward({', '.join(map(str, signature.parameters.values()))})"
        raise TypeError(f"{type(model).__qualname__}.forward does not take the example arguments (args, kwargs): {error}; it is {taken}") from None
    bound.pop(_rest_parameter(model), None)
    return {name: value for name, value in bound.items() if name not in kwargs} | kwargs


def in_signature_order(model: torch.nn.Module, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments in the order of ``forward``'s parameters; those that ``**`` takes come last."""
    named = [name for name in inspect.signature(model.forward).parameters if name in kwargs]
    return {name: kwargs[name] for name in named} | kwargs


def program_arguments(exported: ExportedProgram) -> Arguments:
    """A captured program's arguments by name; tensors are the fake ones of the capture."""
    signature = exported.graph_signature
    values = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    inputs = [values.get(name, name) if isinstance(name, str) else name for name in signature.user_inputs]
    args, kwargs = exported.call_spec.in_spec.unflatten(inputs)
    call = exported.module_call_graph[0].signature
    names = list((call and call.forward_arg_names) or [f"args_{i}" for i in range(len(args))])
    return dict(zip(names, args)) | kwargs


def tensor_names(input_names: Sequence[str], arguments: Arguments) -> Sequence[str]:
    """The names of the tensors where ``input_names`` names every leaf of the arguments, numbers and None too."""
    leaves = _pytree.tree_leaves(list(arguments.values()))
    if len(input_names) != len(leaves):
        return input_names
    return [name for name, leaf in zip(input_names, leaves) if isinstance(leaf, torch.Tensor)]


def all_names(input_names: Sequence[str], arguments: Arguments, *, by_key: bool) -> list[str]:
    """``input_names``, and those that the model's other inputs get by themselves.

    Args:
        by_key: Whether tensors within an argument are called by their keys, as torch.export does it, or numbered.
    """
    names: list[str] = []
    for argument, value in arguments.items():
        if isinstance(value, torch.Tensor):
            names.append(argument)
        else:
            names += [f"{argument}_{key}" for key in (_keys(value) if by_key else _numbers(value))]
    return [*input_names, *names[len(input_names) :]]


def _keys(value: Any) -> list[str]:
    """How the tensors in a container are found, as torch.export says it; numbers where the container's class does not say."""
    try:
        paths = [path for path, leaf in _pytree.tree_flatten_with_path(value)[0] if isinstance(leaf, torch.Tensor)]
    except ValueError:  # it is registered without keys
        return _numbers(value)
    return ["_".join(re.sub(r"[^a-zA-Z0-9]", "_", str(_key(part))).lower() for part in path) for path in paths]


def _numbers(value: Any) -> list[str]:
    return [str(i) for i in range(sum(isinstance(leaf, torch.Tensor) for leaf in _pytree.tree_leaves(value)))]


def _key(part: Any) -> Any:
    """What an entry is found by: a key, a number, an attribute."""
    return next((getattr(part, each) for each in ("key", "idx", "name") if hasattr(part, each)), part)


def _as(container: Any, items: list[Any]) -> Any:
    """The items in a list, tuple or named tuple, as `container` is."""
    return type(container)(*items) if hasattr(container, "_fields") else type(container)(items)


def replace_names(dynamic_shapes: Any, hint: Any) -> Any:
    """``dynamic_shapes`` with `hint` for each dimension that is only named."""
    if isinstance(dynamic_shapes, str):
        return hint
    if isinstance(dynamic_shapes, Mapping):
        return {key: replace_names(value, hint) for key, value in dynamic_shapes.items()}
    if isinstance(dynamic_shapes, (list, tuple)):
        return _as(dynamic_shapes, [replace_names(value, hint) for value in dynamic_shapes])
    return dynamic_shapes


def _name(dim: Any) -> str | None:
    """The user's name of a dimension. A derived one (``2*batch``) is named by its root (:func:`root_names`)."""
    if isinstance(dim, str):
        return dim
    if isinstance(dim, DIM) and dim.__name__.isidentifier():
        return dim.__name__
    return None


def _children(value: Any) -> list[Any] | None:
    """The children of a pytree node; None for a leaf."""
    children, spec = _pytree.tree_flatten(value, is_leaf=lambda inner: inner is not value)
    return None if spec.is_leaf() else children


def _axes(value: Any, spec: Any) -> Iterator[tuple[torch.Tensor, Any]]:
    """Each tensor below `value`, with what `spec` says of its dimensions."""
    if isinstance(value, torch.Tensor):
        yield value, spec
        return
    children = _children(value)
    if children is None:
        return
    if isinstance(value, Mapping) and isinstance(spec, Mapping):
        specs = [spec.get(key) for key in value]
    else:
        specs = [None] * len(children) if spec is None else _children(spec) or [None] * len(children)
    for child, child_spec in zip(children, specs):
        yield from _axes(child, child_spec)


def _tensors(arguments: Arguments, dynamic_shapes: Any) -> Iterator[tuple[str, torch.Tensor, Any]]:
    for name, value in arguments.items():
        for tensor, axes in _axes(value, (dynamic_shapes or {}).get(name)):
            yield name, tensor, axes


def _dimensions(arguments: Arguments, dynamic_shapes: Any) -> Iterator[tuple[int, str, torch.Tensor, int, Any]]:
    """Each dimension that ``dynamic_shapes`` says something of: its tensor's place and argument, the tensor, which one, and what."""
    for position, (argument, tensor, axes) in enumerate(_tensors(arguments, dynamic_shapes)):
        if isinstance(axes, (list, tuple)):
            axes = dict(enumerate(axes))
        if isinstance(axes, Mapping):
            for dim, word in axes.items():
                yield position, argument, tensor, dim % tensor.ndim if tensor.ndim else dim, word


def _is_dynamic(dim: Any) -> bool:
    """Whether a dimension without a name of its own is dynamic: a hint, or derived from another."""
    return isinstance(dim, DIM) or dim in (Dim.AUTO, Dim.DYNAMIC)


def two_for_one(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments with dynamic dimensions of size 1 repeated, by which torch would tell them from others; None if there are none.

    One that may be such a size and another together, as a mask is as long as the one
    new token and those before, becomes larger with it.
    """
    arguments = model_arguments(model, args, kwargs)
    found: list[tuple[torch.Tensor, set[int]]] = []
    for _, tensor, axes in _tensors(arguments, dynamic_shapes):
        axes = dict(enumerate(axes)) if isinstance(axes, (list, tuple)) else axes
        if isinstance(axes, Mapping) and tensor.ndim:
            found.append((tensor, {dim % tensor.ndim for dim, word in axes.items() if _is_dynamic(word)}))
    sizes = {tensor.shape[dim] for tensor, dims in found for dim in dims}
    if 1 not in sizes:
        return None
    growing = {1} | {size for size in sizes if size > 2 and size - 1 in sizes}
    repeated: dict[int, torch.Tensor] = {}
    for tensor, dims in found:
        for dim in dims:
            if (size := tensor.shape[dim]) in growing:
                places = torch.arange(size + 1, device=tensor.device).clamp(max=size - 1)
                repeated[id(tensor)] = repeated.get(id(tensor), tensor).detach().index_select(dim, places)
    more_args, more_kwargs = _pytree.tree_map(lambda leaf: repeated.get(id(leaf), leaf), (args, kwargs))
    return more_args, more_kwargs


def dimension_names(arguments: Arguments, dynamic_shapes: Any, *, unnamed: bool = False) -> list[DimensionName]:
    """The names in ``dynamic_shapes``.

    Args:
        arguments: Of :func:`model_arguments` or :func:`program_arguments`.
        dynamic_shapes: Of :func:`by_argument`; strings are names.
        unnamed: Dimensions that have no name of their own get one by their place. A
            derived one (``2*batch``) is one of its own then.
    """
    names = []
    sizes: dict[str, Any] = {}
    for position, argument, tensor, dim, word in _dimensions(arguments, dynamic_shapes):
        name = _name(word)
        if name is None and unnamed and _is_dynamic(word):
            name = f"{argument}_dim_{dim}"
        if name is None:
            continue
        # Dimensions of one name are one size to the engine: the examples must not say otherwise.
        size = tensor.shape[dim] if dim < tensor.ndim else None
        unique, count = name, 0
        while sizes.setdefault(unique, size) != size and isinstance(size, int):
            count += 1
            unique = f"{name}_{count}"
        names.append((position, dim, unique))
    return names


def root_names(
    exported: ExportedProgram, arguments: Arguments, dynamic_shapes: Any, taken: Sequence[DimensionName]
) -> dict[str, str]:
    """Names of symbols that are the roots of derived dimensions (``2*batch``), and no dimension themselves.

    Args:
        taken: The names of dimensions. What else is called so would be their size.
    """
    inputs = user_tensors(exported)
    own = {name for _, _, name in taken}
    names = {}
    for position, _, tensor, dim, word in _dimensions(arguments, dynamic_shapes):
        if not hasattr(word, "root") or word.root.__name__ in own or position >= len(inputs) or dim >= tensor.ndim:
            continue
        size = inputs[position].shape[dim]
        symbols = size.node.expr.free_symbols if isinstance(size, torch.SymInt) else ()
        # Of h + 1 and 2*h, torch has a symbol for the first of the two instead of one for h.
        names |= {str(symbol): word.root.__name__ for symbol in symbols if (word.fn(symbol) - size.node.expr).expand() == 0}
    return names


@contextlib.contextmanager
def one_size_a_name(model: torch.nn.Module, names: Sequence[DimensionName]) -> Iterator[None]:
    """While it is open, torch knows that dimensions of one name are one size: the model may reshape one tensor by the sizes of another."""
    places: dict[str, list[tuple[int, int]]] = {}
    for position, dim, name in names:
        places.setdefault(name, []).append((position, dim))

    def check(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        arguments = model_arguments(module, args, kwargs)
        shapes = [tensor.shape for _, tensor, _ in _tensors(arguments, None)]
        for (first, dim), *others in places.values():
            for position, other in others:
                torch._check(shapes[position][other] == shapes[first][dim])

    hook = model.register_forward_pre_hook(check, prepend=True, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def _rest_parameter(model: torch.nn.Module) -> str | None:
    """The name of ``forward``'s ``**`` parameter."""
    parameters = inspect.signature(model.forward).parameters.values()
    return next((parameter.name for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD), None)


def _like(value: Any, parts: list[Any]) -> Any:
    """The parts in a container of the value's kind; in a list for a kind that someone has registered."""
    if _pytree._get_node_type(value) not in _pytree.BUILTIN_TYPES:
        return parts
    return _pytree.tree_structure(value, is_leaf=lambda inner: inner is not value).unflatten(parts)


def _by_leaf(value: Any, specs: Iterator[Any]) -> Any:
    """A tree of what is said of each leaf, in order."""
    children = _children(value)
    return next(specs) if children is None else _like(value, [_by_leaf(child, specs) for child in children])


def _child_specs(spec: Any, value: Any, children: Sequence[Any]) -> Sequence[Any] | None:
    """What is said of each child of a container; None if it says nothing that fits."""
    if isinstance(value, Mapping) and isinstance(spec, Mapping):
        return [spec.get(key) for key in value] if len(value) == len(children) else None
    return spec if isinstance(spec, (list, tuple)) and len(spec) == len(children) else None


def _filled(spec: Any, value: Any) -> Any:
    """`spec` with a tree of None wherever None stands for a container, and of the kinds of containers that torch asks for.

    Those are the value's, and lists for the kinds that someone has registered.
    """
    if isinstance(value, torch.Tensor) or (children := _children(value)) is None:
        return spec
    specs = [None] * len(children) if spec is None else _child_specs(spec, value, children)
    if specs is None:
        return spec
    return _like(value, [_filled(each, child) for each, child in zip(specs, children)])


def _checked(spec: Any, value: Any, name: str) -> Any:
    """What is said of one argument, with dimensions counted from 0.

    Raises:
        ValueError: It is no dynamic shape, or not of such an argument.
    """
    if isinstance(value, torch.Tensor):
        return _checked_dims(spec, value, name)
    if spec is None or (children := _children(value)) is None:
        return spec
    if isinstance(value, Mapping) and isinstance(spec, Mapping):
        if unknown := [key for key in spec if key not in value]:
            raise ValueError(f"dynamic_shapes names {', '.join(map(repr, unknown))} in '{name}', which has {', '.join(map(repr, value))}")
        return type(spec)({key: _checked(each, value[key], f"{name}[{key!r}]") for key, each in spec.items()})
    if not isinstance(spec, (list, tuple)):
        keyed = "a dict of its keys, " if isinstance(value, Mapping) else ""
        raise ValueError(f"dynamic_shapes has {spec!r} for '{name}', a {type(value).__name__}; it must be {keyed}a sequence with an entry for each of its {len(children)} parts, or None")
    if len(spec) != len(children):
        raise ValueError(f"dynamic_shapes has {len(spec)} entries for '{name}', which has {len(children)}")
    return _as(spec, [_checked(each, child, f"{name}[{i}]") for i, (each, child) in enumerate(zip(spec, children))])


def _bounds_without(example: Any, size: Any) -> str | None:
    """The bounds of a ``Dim``, in words, where the example's size is beyond them. That 0 and 1 are special is no bound of the user's."""
    if not isinstance(size, DIM) or hasattr(size, "root") or not isinstance(example, int) or example < 2:
        return None
    least, most = getattr(size, "min", 0), getattr(size, "max", example)
    if least <= example <= most:
        return None
    return f"at least {least}" if example < least else f"at most {most}"


def _checked_dims(spec: Any, tensor: torch.Tensor, name: str) -> Any:
    if spec is None:
        return spec
    if isinstance(spec, (list, tuple)):
        if len(spec) not in (0, tensor.ndim):
            raise ValueError(f"dynamic_shapes has {len(spec)} dimensions for '{name}', which has {tensor.ndim}")
        dims = enumerate(spec)
    elif isinstance(spec, Mapping):
        dims = spec.items()
    else:
        raise ValueError(f"dynamic_shapes has {spec!r} for '{name}'; it must be a dict {{dimension: name or Dim}}, a sequence with an entry a dimension, or None")
    for dim, size in dims:
        if not isinstance(dim, int) or not -tensor.ndim <= dim < tensor.ndim:
            raise ValueError(f"dynamic_shapes names dimension {dim!r} of '{name}', which has {tensor.ndim} dimensions")
        if isinstance(size, int) and isinstance(tensor.shape[dim], int) and size != tensor.shape[dim]:
            raise ValueError(
                f"dynamic_shapes says that dimension {dim} of '{name}' is {size}, and the example has {tensor.shape[dim]}; "
                "a dynamic dimension is a name, a torch.export.Dim or Dim.DYNAMIC"
            )
        if (bounds := _bounds_without(tensor.shape[dim], size)) is not None:
            raise ValueError(
                f"dynamic_shapes says that dimension {dim} of '{name}' is {bounds}, and the example has {tensor.shape[dim]}: "
                "give an example of such a size, or other bounds"
            )
        if not (size is None or isinstance(size, (int, str, DIM, type(Dim.AUTO)))):
            raise ValueError(f"dynamic_shapes has {size!r} for dimension {dim} of '{name}'; it must be a name, a torch.export.Dim, an int or None")
    if isinstance(spec, Mapping):
        return {dim % tensor.ndim: size for dim, size in spec.items()}
    return spec


def by_argument(
    dynamic_shapes: Any, arguments: Arguments, input_names: Sequence[str], model: torch.nn.Module | None = None
) -> Any:
    """``dynamic_shapes`` as torch.export takes it: a dict that has a key for each argument.

    A sequence has an entry for each in the order of the parameters of the `model`'s
    ``forward``, in whichever order they were given by name; without a model, in that of
    `arguments`. Those in ``**`` come last, or are one entry.

    A key may also be one of ``input_names`` (see :func:`all_names`), where no argument is called so:
    the n-th names the n-th tensor among the flattened arguments. Arguments that are
    not named are static; None stands for a whole container, too. What is said under the
    name of the ``**`` parameter is said of the arguments in it.

    Raises:
        ValueError: A key names no argument and no input.
    """
    rest = None if model is None else _rest_parameter(model)
    if isinstance(dynamic_shapes, (list, tuple)):
        order = list(arguments if model is None else in_signature_order(model, arguments))
        if rest is not None and dynamic_shapes and isinstance(dynamic_shapes[-1], Mapping):
            named = order[len(dynamic_shapes) - 1 :]
            if named and dynamic_shapes[-1].keys() == set(named):  # those of ** are one entry
                dynamic_shapes = [*dynamic_shapes[:-1], *(dynamic_shapes[-1][name] for name in named)]
        if len(dynamic_shapes) != len(arguments):
            raise ValueError(f"dynamic_shapes has {len(dynamic_shapes)} entries; the arguments are {len(order)}: {', '.join(order)}")
        said = dict(zip(order, dynamic_shapes))
        return {name: _filled(_checked(said[name], value, name), value) for name, value in arguments.items()}
    if not isinstance(dynamic_shapes, Mapping) or not dynamic_shapes:
        return dynamic_shapes
    unused = dict(dynamic_shapes)
    if rest in unused and rest not in arguments and isinstance(unused[rest], Mapping):
        unused |= unused.pop(rest)
    position = -1

    def of_leaf(leaf: Any) -> Any:
        nonlocal position
        if not isinstance(leaf, torch.Tensor):
            return None
        position += 1
        name = input_names[position] if position < len(input_names) else None
        return None if name is None or name in arguments else _checked(unused.pop(name, None), leaf, name)

    shapes = {}
    for argument, value in arguments.items():
        own = _checked(unused.pop(argument, None), value, argument)
        renamed = [of_leaf(leaf) for leaf in _pytree.tree_leaves(value)]
        has_renamed = any(spec is not None for spec in renamed)
        shapes[argument] = _filled(own, value) if own is not None or not has_renamed else _by_leaf(value, iter(renamed))
    if unused:
        known = ", ".join([*arguments, *(name for name in input_names if name not in arguments)])
        raise ValueError(f"dynamic_shapes names {', '.join(map(repr, unused))}, which is no argument or input; there are: {known}")
    return shapes


def _made_up(name: str) -> str:
    """What names begin with that nobody gave: the engine knows them by it, too."""
    return f"{name}_dynamic_axes_"


def _named_axes(name: str, axes: Any) -> dict[int, str]:
    """One entry of ``dynamic_axes``: {0: "batch"} as it is, [0] with names made up as torch does."""
    if isinstance(axes, Mapping):
        named = dict(axes)
    elif isinstance(axes, Sequence) and not isinstance(axes, str):
        named = {axis: f"{_made_up(name)}{i}" for i, axis in enumerate(axes, 1)}
    else:
        raise ValueError(f"dynamic_axes[{name!r}] is {axes!r}; it must be a dict or a list of axes")
    if not all(isinstance(axis, int) for axis in named):
        raise ValueError(f"dynamic_axes[{name!r}] has axes that are no integers")
    return named


def from_dynamic_axes(
    dynamic_axes: Mapping[str, Any],
    arguments: Arguments,
    input_names: Sequence[str],
    output_names: Sequence[str],
    named: Sequence[str] = (),
) -> tuple[dict[str, Any], dict[str, dict[int, str]]]:
    """``dynamic_axes`` as ``dynamic_shapes``, and what it says of outputs.

    A key is one of ``input_names`` (see :func:`all_names`; the n-th names the n-th tensor among
    the flattened arguments), the name of an argument that is a tensor, or one of
    ``output_names``; one of `named`, too, is both an input's and an output's.

    Raises:
        ValueError: A key names nothing, or an entry has another form.
    """
    by_position = list(input_names)
    outputs = {name: _named_axes(name, axes) for name, axes in dynamic_axes.items() if name in output_names and axes is not None}
    unused = {name: axes for name, axes in dynamic_axes.items() if axes is not None and (name not in outputs or name in named)}
    used: set[str] = set()
    position = -1

    def shape_of(argument: str, value: Any, top: bool) -> Any:
        nonlocal position
        if not isinstance(value, torch.Tensor):
            return None
        position += 1
        name = by_position[position] if position < len(by_position) else None
        open_ = {key for key in unused if key not in used or list(named).count(key) > 1}
        key = name if name in open_ else argument if top and argument in open_ and argument not in by_position else None
        if key is None:
            return None
        used.add(key)
        axes = _named_axes(key, unused[key])
        for axis in axes:
            if not -value.ndim <= axis < value.ndim:
                warn(f"dynamic_axes names axis {axis} of {key!r}, which has {value.ndim}; it is ignored")
        return {axis % value.ndim: word for axis, word in axes.items() if -value.ndim <= axis < value.ndim}

    shapes = {}
    for argument, value in arguments.items():
        top = isinstance(value, torch.Tensor)
        shapes[argument] = _by_leaf(value, iter([shape_of(argument, leaf, top) for leaf in _pytree.tree_leaves(value)]))
    if missing := [key for key in unused if key not in used and key not in outputs]:
        raise ValueError(f"dynamic_axes names {', '.join(map(repr, missing))}, which is no input or output")
    return shapes, outputs


def output_dimension_names(
    exported: ExportedProgram, output_names: Sequence[str], axes: Mapping[str, Mapping[int, str]]
) -> dict[str, str]:
    """Names of symbols that ``dynamic_axes`` gives through outputs.

    An axis whose size is an input's keeps the input's name: both are one symbol.
    """
    if not axes:
        return {}
    taken = set()
    for node in exported.graph.find_nodes(op="placeholder"):
        if isinstance(value := node.meta.get("val"), torch.Tensor):
            taken.update(str(size) for size in value.shape)
    values = {node.name: node.meta.get("val") for node in exported.graph.nodes}
    names = {}
    for name, output in zip(output_names, exported.graph_signature.user_outputs):
        value = values.get(output) if isinstance(output, str) else None
        for axis, word in axes.get(name, {}).items():
            if not isinstance(value, torch.Tensor):
                warn(f"dynamic_axes names {name!r}, which is no tensor; it is ignored")
                break
            if not -value.ndim <= axis < value.ndim:
                warn(f"dynamic_axes names axis {axis} of {name!r}, which has {value.ndim}; it is ignored")
                continue
            symbol = str(value.shape[axis])
            if symbol.isdecimal() and not word.startswith(_made_up(name)):
                warn(f"axis {axis} of output {name!r} was declared dynamic ({word!r}), but the captured program fixes it at {symbol}")
            if symbol.isidentifier() and symbol not in taken:
                names[symbol] = word
    return names
