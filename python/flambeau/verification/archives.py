"""``flambeau verify ARCHIVE MODEL.onnx``."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import onnx as onnx_module
import torch

from .. import _engine, errors
from ..archived import ArchivedProgram
from ..capture import user_line
from ..errors import OnnxExporterError, VerificationError
from ..feed.script_inputs import method_of
from ..saving import with_outputs
from ..session import Session, cpu_session, flat_inputs
from .comparison import not_computed
from .mismatch import Mismatch, first_mismatch
from .node_values import compare_values
from .other_sizes import second_inputs
from .outputs import as_output, compare_tensors, expected_outputs, paired, refuse_nothing
from .script_nodes import ScriptMismatch, Unmatched, first_script_mismatch

__all__ = ["verify_archive"]

errors.adopt_torch_errors()

# onnxruntime's words for types, as torch writes them.
_WORDS = {"float": "float32", "double": "float64"}


class _Inputs(NamedTuple):
    words: str  # that say which these are
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    values: list[Any]  # of the model's inputs


def verify_archive(
    archive: ArchivedProgram, onnx: str | os.PathLike, *, per_node: bool = False, constants: Mapping[str, Any] | None = None
) -> bool:
    """Run both on the archive's example inputs and on inputs of other sizes; print what is found.

    A TorchScript archive holds no example inputs: they are made up from the
    types that the ONNX model declares, at two sizes.

    Args:
        archive: The program.
        onnx: The model's path.
        per_node: Also find the first node that differs.
        constants: Arguments of a TorchScript program that the model has no inputs for, by name.

    Returns:
        Whether all outputs agree.

    Raises:
        OnnxExporterError: One of the files cannot be read, or the archive holds no example inputs.
    """
    if zipfile.is_zipfile(path := os.fspath(onnx)):
        raise OnnxExporterError(f"{path} is an archive and no ONNX model; the archive comes first: flambeau verify ARCHIVE MODEL.onnx")
    with open(path, "rb"):  # onnxruntime says less of what cannot be opened
        pass
    try:
        session = cpu_session(path)
    except Exception as error:
        raise OnnxExporterError(f"onnxruntime cannot load {path}: {error}") from error
    inputs = [
        (value.name, _WORDS.get(word := value.type.removeprefix("tensor(").removesuffix(")"), word))
        for value in session.get_inputs()
    ]
    exported: torch.export.ExportedProgram | None = None
    reference: Callable[..., Any]
    if archive.is_torchscript:
        reference = archive.script()
        sets = _made_up_sets(reference, session.get_inputs(), inputs, constants or {})
    else:
        if constants:
            raise VerificationError(f"{archive.path} holds its example inputs; none can be given")
        exported = archive.exported()
        reference = exported.module()
        sets = _example_sets(archive.path, exported, session.get_inputs())
    runner = Session(session, inputs)
    names = [output.name for output in session.get_outputs()]
    fine, ran = True, []
    for each in sets:
        try:
            expected = expected_outputs(reference, each.args, each.kwargs)
        except Exception as error:
            where = user_line(error)
            print(f"not compared for {each.words}: PyTorch refuses these inputs{f' at {where}' if where else ''}: {error}")
            continue
        ran.append(each)
        for result in _compared(runner, names, inputs, each, expected, exported):
            fine &= result.ok
            print(_line(result))
    if not ran:
        raise VerificationError("nothing was compared")
    if per_node and not fine:
        print(_first_mismatch(exported, onnx, ran, inputs) if exported else _first_mismatch_of_script(reference, onnx, ran, inputs))
    return fine


def _compared(
    runner: Session,
    names: list[str],
    inputs: list[tuple[str, str]],
    given: _Inputs,
    results: Any,
    exported: torch.export.ExportedProgram | None,
) -> list[_engine.Comparison]:
    """Each output of the model, compared; one row for all of them if it does not run."""
    if len(given.values) != len(inputs):
        raise VerificationError(f"the model has {len(inputs)} inputs, the program {len(given.values)}")
    try:
        actual = runner.run(given.values)
    except Exception as error:  # of onnxruntime, which has no class of its own for them
        return [not_computed(", ".join(names), error, inputs=given.words)]
    pairs = paired(names, actual, results, further=True)
    refuse_nothing(pairs, names, exported)
    return [compare_tensors(name, ours, as_output(theirs, ours), inputs=given.words) for name, ours, theirs in pairs]


def _example_sets(path: str, exported: torch.export.ExportedProgram, declared: list[Any]) -> list[_Inputs]:
    """The archive's own inputs, and others of other sizes."""
    if exported.example_inputs is None:
        raise VerificationError(f"{path} holds no example inputs")
    args, kwargs = exported.example_inputs
    sets = [_Inputs("example", args, kwargs, flat_inputs(args, kwargs, exported))]
    if (other := second_inputs(exported, args, kwargs)) is not None:
        words, (args, kwargs) = other
        values = flat_inputs(args, kwargs, exported)
        sets.append(_Inputs(_named_sizes(declared, values) or words, args, kwargs, values))
    return sets


def _named_sizes(declared: list[Any], values: list[Any]) -> str:
    """The sizes of the model's own dimensions, by the names that it has for them."""
    sizes = {
        dim: size
        for value, given in zip(declared, values)
        if isinstance(given, torch.Tensor)
        for dim, size in zip(value.shape, given.shape)
        if isinstance(dim, str)
    }
    return ", ".join(f"{name}={size}" for name, size in sorted(sizes.items()))


def _made_up_sets(script: Any, declared: list[Any], inputs: list[tuple[str, str]], constants: Mapping[str, Any]) -> list[_Inputs]:
    """Inputs of the declared types; two of other sizes where any is dynamic."""
    for value in declared:
        if not value.type.startswith("tensor(") or value.type == "tensor(string)":
            raise VerificationError(
                f"the input '{value.name}' is a {value.type}, and only tensors of numbers are made up; "
                "flambeau.verify(program, args, reference=...) takes yours"
            )
    dynamic = any(isinstance(size, str) for value in declared for size in value.shape)
    sets = []
    for size in (4, 7) if dynamic else (4,):
        words, values = _made_up(declared, inputs, size)
        sets.append(_Inputs(words, _arguments(script, values, constants), {}, values))
    return sets


def _made_up(declared: list[Any], inputs: list[tuple[str, str]], size: int) -> tuple[str, list[torch.Tensor]]:
    """Every dynamic dimension is of one size; integers and bools are small, so that indices are valid."""
    generator = torch.Generator().manual_seed(0)
    tensors, named = [], set()
    for value, (_, word) in zip(declared, inputs):
        dtype = getattr(torch, word)
        named.update(dim for dim in value.shape if isinstance(dim, str))
        sizes = [size if isinstance(dim, str) or dim is None else dim for dim in value.shape]
        floating = dtype.is_floating_point or dtype.is_complex
        made = torch.randn(sizes, generator=generator) if floating else torch.randint(0, 2, sizes, generator=generator)
        tensors.append(made.to(dtype))
    return ", ".join(f"{name}={size}" for name in sorted(named)) or "made-up inputs", tensors


def _arguments(script: Any, tensors: list[torch.Tensor], constants: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of a TorchScript program, of which some became inputs of the model and others constants.

    Raises:
        VerificationError: One of the constants is not known, or there is no argument of such a name.
    """
    schema = method_of(script, packed=False).schema
    formals = schema.arguments[_takes_module(schema):]
    if unknown := [name for name in constants if name not in {each.name for each in formals}]:
        raise VerificationError(f"the program has no argument '{unknown[0]}'; it has {', '.join(each.name for each in formals)}")
    open_formals = [each for each in formals if each.name not in constants]
    if not all(_is_tensor(each.type) or _is_number(each.type) or each.has_default_value() for each in open_formals):
        return tuple(tensors)  # nested: PyTorch says what it thinks of them
    # torch's TorchScript exporter makes inputs of numbers that it is given, too.
    numbers = len(tensors) - sum(_is_tensor(each.type) for each in open_formals)
    rest, args = iter(tensors), []
    for each in formals:
        if each.name in constants:
            args.append(constants[each.name])
        elif _is_tensor(each.type):
            args.append(next(rest, None))
        elif numbers > 0 and _is_number(each.type):
            numbers -= 1
            args.append(next(rest).item())
        elif each.has_default_value():
            args.append(each.default_value)
        else:
            raise VerificationError(
                f"the model has no input for the argument '{each.name}' ({each.type}); say what it was converted with: --input {each.name}=VALUE"
            )
    return tuple(args)


def _takes_module(schema: Any) -> int:
    """1 if the first argument is the module itself, whatever it is called."""
    return int(bool(schema.arguments) and schema.arguments[0].type.kind() == "ClassType")


def _is_tensor(type_: Any) -> bool:
    inner = type_.getElementType() if type_.kind() == "OptionalType" else type_
    return inner.kind() == "TensorType"


def _is_number(type_: Any) -> bool:
    return type_.kind() in ("IntType", "FloatType", "BoolType", "NumberType")


def _loaded(path: str | os.PathLike) -> tuple[onnx_module.ModelProto, str]:
    """A model without its external data, which may be too large for one message, and the folder where that is."""
    return onnx_module.load(os.fspath(path), load_external_data=False), os.path.dirname(os.path.abspath(os.fspath(path)))


def _first_mismatch(
    exported: torch.export.ExportedProgram, path: str | os.PathLike, sets: list[_Inputs], inputs: list[tuple[str, str]]
) -> Mismatch | str:
    """Compares the values that are called as captured nodes, and those of nodes that say which these come from."""
    model, folder = _loaded(path)
    mismatch = Mismatch(0, None, None)
    for words, args, kwargs, values in sets:

        def compute(names: list[str], values: list[Any] = values) -> tuple[Any, ...]:
            return Session(cpu_session(with_outputs(model, names), folder), inputs).run(values)

        mismatch = first_mismatch(compare_values(exported, args, kwargs, model, compute, folder=folder, inputs=words))
        if mismatch:
            return mismatch
    return f"{mismatch} that the file has values of its own for; flambeau.find_mismatch compares a new conversion"


def _first_mismatch_of_script(
    script: Any, path: str | os.PathLike, sets: list[_Inputs], inputs: list[tuple[str, str]]
) -> ScriptMismatch | str:
    """Compares the file's values with the operators that its nodes say they come from; a new conversion, where they do not."""
    model, folder = _loaded(path)
    mismatch = None
    try:
        for words, args, _, values in sets:

            def compute(names: list[str], values: list[Any] = values) -> tuple[Any, ...]:
                return Session(cpu_session(with_outputs(model, names), folder), inputs).run(values)

            mismatch = first_script_mismatch(model, script, args, compute, inputs=words, folder=folder)
            if mismatch.comparison is not None:
                return mismatch
    except Unmatched as error:
        return f"the file's own nodes are not compared: {error}\n{_first_mismatch_of_new_conversion(script, sets)}"
    return f"{mismatch}\n{_first_mismatch_of_new_conversion(script, sets)}"


def _first_mismatch_of_new_conversion(script: Any, sets: list[_Inputs]) -> str:
    from ..onnx.verification import find_mismatch

    for words, args, _, _ in sets:
        for leaf in find_mismatch(script, args).all_mismatch_leaf_graph_info():
            nodes = "\n".join(f"  {node.sourceRange().strip()}" for node in leaf.graph.nodes() if node.kind() in leaf.essential_node_kinds())
            return f"first mismatch of a new conversion ({words}): {', '.join(sorted(leaf.essential_node_kinds()))}: {leaf.mismatch_error}\n{nodes}"
    return "a new conversion of the archive agrees at each operator: the ONNX model was made otherwise, or changed since"


def _line(result: _engine.Comparison) -> str:
    verdict = "agrees" if result.ok else f"DIFFERS ({result.cause})"
    if result.cause.startswith("not computed"):
        return f"{verdict} {result.name} ({result.inputs})"
    return (
        f"{verdict:<8} {result.name} ({result.inputs}): largest difference {result.max_absolute:.3g}, "
        f"relative {result.max_relative:.3g}; tolerance {result.absolute_tolerance:g} + {result.relative_tolerance:g} · |expected|"
    )
