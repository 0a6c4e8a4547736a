"""``torch.onnx.verification``: an exported model beside the PyTorch model, and where they differ.

>>> verification.verify(model, (x,))
>>> verification.find_mismatch(model, (x,)).pretty_print_tree()
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import enum
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from .. import _engine
from ..options import make_options
from ..capture import unwrapped
from ..capture.traces.tracing import traced_module
from ..converted import Conversion
from ..eager import deeply_copied
from ..errors import OnnxExporterError, VerificationError, error_of
from ..examples import example_call
from ..feed.script_graph import import_graph
from ..feed.script_inputs import SCRIPTS, describe, script_arguments
from ..program import ONNXProgram
from ..script_graphs import inlined, without_module
from ..session import cpu_session, tensor_of, to_numpy
from ..verification.outputs import as_output, paired
from . import utils
from ._enums import TrainingMode
from ._python_ops import Translations

try:
    from torch.onnx.verification import VerificationInfo, verify_onnx_program
except ImportError:  # a torch without its exporter
    pass

__all__ = [
    "GraphInfo",
    "OnnxBackend",
    "VerificationInfo",
    "VerificationOptions",
    "find_mismatch",
    "verify",
    "verify_onnx_program",
]


class OnnxBackend(enum.Enum):
    """What runs the exported model."""

    REFERENCE = "ONNXReferenceEvaluator"
    ONNX_RUNTIME_CPU = "CPUExecutionProvider"
    ONNX_RUNTIME_CUDA = "CUDAExecutionProvider"


@dataclasses.dataclass
class VerificationOptions:
    """How results are compared.

    Attributes:
        flatten: Nested inputs are given to the model one by one. They always are.
        ignore_none: None among PyTorch's results is left out.
        check_shape: Shapes must be the same; else they may broadcast.
        check_dtype: Dtypes must be the same.
        backend: What runs the model.
        rtol: Relative tolerance.
        atol: Absolute tolerance.
        remained_onnx_input_idx: Which of the inputs the model takes; None is all.
        acceptable_error_percentage: The share of elements, from 0 to 1, that may differ.
    """

    flatten: bool = True
    ignore_none: bool = True
    check_shape: bool = True
    check_dtype: bool = True
    backend: OnnxBackend = OnnxBackend.ONNX_RUNTIME_CPU
    rtol: float = 1e-3
    atol: float = 1e-7
    remained_onnx_input_idx: Sequence[int] | None = None
    acceptable_error_percentage: float | None = None


def _input_values(program: ONNXProgram, args: tuple[Any, ...], kwargs: dict[str, Any], options: VerificationOptions) -> list[Any]:
    if options.remained_onnx_input_idx is None:
        return program.input_values(args, kwargs)
    tensors, chosen = _tensors((args, kwargs)), list(options.remained_onnx_input_idx)
    if len(chosen) != len(program.inputs) or not all(-len(tensors) <= i < len(tensors) for i in chosen):
        raise ValueError(f"remained_onnx_input_idx is {chosen}; the model has {len(program.inputs)} inputs, and {len(tensors)} tensors are given")
    return [tensors[i] for i in chosen]


def _run(program: ONNXProgram, values: Sequence[Any], options: VerificationOptions, file: str | None = None) -> list[Any]:
    """The outputs for the values of the model's inputs.

    Args:
        file: Where the model is read from; None is as the program has it.
    """
    if options.backend == OnnxBackend.REFERENCE:
        import onnx
        from onnx.reference import ReferenceEvaluator

        arrays = {value.name: to_numpy(each, value.dtype) for value, each in zip(program.inputs, values, strict=True)}
        results = ReferenceEvaluator(onnx.load(file) if file else program.model_proto).run(None, arrays)
        return _pytree.tree_map(lambda leaf: None if leaf is None else tensor_of(leaf, torch), results)
    if options.backend != OnnxBackend.ONNX_RUNTIME_CPU:
        import onnxruntime

        program.initialize_inference_session(lambda model: onnxruntime.InferenceSession(file or model, providers=[options.backend.value]))
    elif file:
        program.initialize_inference_session(lambda model: cpu_session(file))
    return list(program.run_inputs(values))


def _compare(actual: Sequence[Any], expected: Any, options: VerificationOptions) -> None:
    """Raises AssertionError where the results differ."""
    if not options.ignore_none and any(leaf is None for leaf in _pytree.tree_leaves(expected)):
        raise AssertionError("PyTorch's results hold None, which no output of the model is")
    try:
        pairs = paired((), actual, expected)
    except VerificationError as error:
        raise AssertionError(str(error)) from None
    for i, (_, ours, theirs) in enumerate(pairs):
        theirs = as_output(theirs, ours)
        if not options.check_shape and ours.shape != theirs.shape:
            ours, theirs = torch.broadcast_tensors(ours, theirs)
        if ours.dtype == theirs.dtype and ours.dtype.itemsize == 1 and ours.is_floating_point():
            ours, theirs = ours.float(), theirs.float()  # torch compares those only by their bits
        try:
            torch.testing.assert_close(ours, theirs, rtol=options.rtol, atol=options.atol, check_dtype=options.check_dtype, equal_nan=True)
        except AssertionError as error:
            if options.acceptable_error_percentage and ours.shape == theirs.shape:
                wrong = ~torch.isclose(ours.to(theirs.dtype), theirs, rtol=options.rtol, atol=options.atol, equal_nan=True)
                if wrong.double().mean() <= options.acceptable_error_percentage:
                    continue
            raise AssertionError(f"output {i}: {error}") from None


def _tensors(args: Any) -> list[torch.Tensor]:
    return [leaf for leaf in _pytree.tree_leaves(args) if isinstance(leaf, torch.Tensor)]


def verify(
    model: Any,
    input_args: Any,
    input_kwargs: Mapping[str, Any] | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    training: Any = TrainingMode.EVAL,
    opset_version: int | None = None,
    keep_initializers_as_inputs: bool = True,
    verbose: bool = False,
    fixed_batch_size: bool = False,
    use_external_data: bool = False,
    additional_test_inputs: Sequence[Any] | None = None,
    options: VerificationOptions | None = None,
) -> None:
    """Export a model by tracing, run it, and compare it with PyTorch.

    Args:
        model, input_args, input_kwargs: As :func:`flambeau.export` takes them; the options
            up to `verbose` too.
        fixed_batch_size: Accepted, and changes nothing.
        use_external_data: The model goes through a file, with weights of 256 bytes and more beside it.
        additional_test_inputs: Further arguments to run both with.
        options: How to compare.

    Raises:
        AssertionError: The results differ.
    """
    options = options or VerificationOptions()
    args, kwargs = example_call(model, input_args, dict(input_kwargs) if input_kwargs else None)
    program = utils.export(
        model,
        args,
        kwargs=kwargs,
        do_constant_folding=do_constant_folding,
        dynamic_axes=dynamic_axes,
        input_names=input_names,
        output_names=output_names,
        training=training,
        opset_version=opset_version,
        keep_initializers_as_inputs=keep_initializers_as_inputs,
        verbose=verbose,
    )
    with tempfile.TemporaryDirectory() if use_external_data else contextlib.nullcontext() as folder:
        file = None if folder is None else os.path.join(folder, "model.onnx")
        if file is not None:
            program.save(file, keep_initializers_as_inputs=keep_initializers_as_inputs, external_data=True)
        for given, named in [(args, kwargs), *(example_call(model, each, None) for each in additional_test_inputs or ())]:
            with torch.no_grad(), utils.select_model_mode_for_export(model, training):
                # The model may write to its inputs, and to itself.
                expected = _clone(model)(*deeply_copied(given), **deeply_copied(named))
            _compare(_run(program, _input_values(program, given, named, options), options, file), expected, options)


def _clone(model: Any) -> Callable[..., Any]:
    try:
        return copy.deepcopy(model)
    except Exception:  # of the model's own; then it is run as it is
        return model


# --- where the difference is ---------------------------------------------------------------

_INESSENTIAL = frozenset(
    {"prim::Constant", "prim::DictConstruct", "prim::ListConstruct", "prim::ListUnpack", "prim::NumToTensor", "prim::TupleConstruct", "prim::TupleUnpack"}
)


class GraphInfo:
    """A TorchScript graph, compared with its conversion; where they differ, so are its halves, down to single operators.

    Attributes:
        graph: The graph. Weights are inputs of it.
        input_args: What it is run with: inputs, then weights.
        do_constant_folding: As :func:`flambeau.export` takes it.
        id: "" is the whole graph, "0" its first half, "01" that one's second half.
        mismatch_error: How the results differ, or why there are none; None if they agree.
        pt_outs: PyTorch's results.
        upper_graph_info, lower_graph_info: The halves, where there was a reason to look at them.
    """

    def __init__(
        self, graph: Any, input_args: Sequence[Any], id: str = "", opset_version: int | None = None, do_constant_folding: bool = True
    ) -> None:
        self.graph = graph
        self.input_args = list(input_args)
        self.id = id
        self.opset_version = opset_version
        self.do_constant_folding = do_constant_folding
        self.mismatch_error: Exception | None = None
        self.pt_outs: list[Any] = []
        self.upper_graph_info: GraphInfo | None = None
        self.lower_graph_info: GraphInfo | None = None
        # What its inputs and outputs are called in the graph that it is a half of.
        self._taken: list[str] = []
        self._given: list[str] = []

    def essential_node_count(self) -> int:
        """How many operators it has."""
        return len(self._essential())

    def essential_node_kinds(self) -> set[str]:
        return {node.kind() for node in self._essential()}

    def has_mismatch(self) -> bool:
        return self.mismatch_error is not None

    def all_mismatch_leaf_graph_info(self) -> list[GraphInfo]:
        """The smallest graphs that differ."""
        if not self.has_mismatch():
            return []
        halves = [half for half in (self.upper_graph_info, self.lower_graph_info) if half is not None]
        return [leaf for half in halves for leaf in half.all_mismatch_leaf_graph_info()] or [self]

    def find_partition(self, id: str) -> GraphInfo | None:
        """The graph of an id; None if there is none."""
        if id == self.id:
            return self
        for half in (self.upper_graph_info, self.lower_graph_info):
            if half is not None and id.startswith(half.id):
                return half.find_partition(id)
        return None

    def find_mismatch(self, options: VerificationOptions | None = None) -> None:
        """Compare, and look at the halves if there is a difference."""
        options = options or VerificationOptions()
        self._compare(options)
        cut = self._middle() if self.has_mismatch() else None
        if cut is None:
            return
        upper, lower = self._halves(cut)
        upper.find_mismatch(options)
        values = dict(zip(_names(self.graph.inputs()), self.input_args)) | dict(zip(upper._given, upper.pt_outs))
        lower.input_args = [values[name] for name in lower._taken]
        lower.find_mismatch(options)
        self.upper_graph_info, self.lower_graph_info = upper, lower

    def clear(self) -> None:
        """Forget all results."""
        self.mismatch_error, self.pt_outs = None, []
        self.upper_graph_info = self.lower_graph_info = None

    def pretty_print_mismatch(self, graph: bool = False) -> None:
        """Print how it differs, with its graph or its operators."""
        print(f"{self._title()} {'differs' if self.has_mismatch() else 'agrees'}")
        print(self.graph if graph else f"operators: {', '.join(sorted(self.essential_node_kinds())) or 'none'}")
        if self.mismatch_error is not None:
            print(self.mismatch_error)

    def pretty_print_tree(self) -> None:
        """Print the graph and its halves, one a line: what differs is marked with a cross."""
        pending = [(self, 0)]
        while pending:
            info, depth = pending.pop()
            mark = "✗" if info.has_mismatch() else "✓"
            kinds = f": {', '.join(sorted(info.essential_node_kinds()))}" if info.essential_node_count() == 1 else ""
            print(f"{'  ' * depth}{mark} {info._title()}, {info.essential_node_count()} operators{kinds}")
            pending.extend((half, depth + 1) for half in (info.lower_graph_info, info.upper_graph_info) if half is not None)

    def export_repro(self, repro_dir: str | None = None, name: str | None = None) -> str:
        """Write the converted graph, its inputs and PyTorch's results as ONNX's tests have them; returns the folder.

        Args:
            repro_dir: Where the folder goes; None is the current one.
            name: The folder is called "test_" and this; None goes by the graph's id.
        """
        from ._shapes import tensor_proto  # which needs onnx

        name = name or f"mismatch_{self.id or 'all'}"
        folder = os.path.join(repro_dir or os.getcwd(), f"test_{name}")
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        program = self._convert()
        program.save(os.path.join(folder, "model.onnx"))
        for kind, values in (("input", _tensors(self.input_args)), ("output", _tensors(self.pt_outs))):
            for i, tensor in enumerate(values):
                with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                    file.write(tensor_proto(tensor).SerializeToString())
        return folder

    # --- how -------------------------------------------------------------------------

    def _title(self) -> str:
        return f"graph {self.id}" if self.id else "the whole graph"

    def _essential(self) -> list[Any]:
        return [node for node in self.graph.nodes() if node.kind() not in _INESSENTIAL]

    def _convert(self) -> ONNXProgram:
        options = make_options(opset_version=self.opset_version, optimize=self.do_constant_folding)
        described = [describe(value) for value in self.input_args]

        translations = Translations(options.opset, {})

        def rebuild(export_params: bool) -> _engine.Program:
            builder = import_graph(self.graph.copy(), functions=translations)
            options.set_translations(translations.translators())
            program, diagnostics = builder.finish(described, options)
            if program is None:
                raise error_of(diagnostics)
            return program

        model, diagnostics = _engine.convert(rebuild(True), options)
        if model is None:
            raise error_of(diagnostics)
        return ONNXProgram.of_conversion(Conversion(model, diagnostics, options, rebuild))

    def _compare(self, options: VerificationOptions) -> None:
        function = torch._C._create_function_from_graph("partition", _returning_one(self.graph))
        with torch.no_grad():
            results = function(*deeply_copied(self.input_args))
        self.pt_outs = [results] if len(list(self.graph.outputs())) == 1 else list(results)
        self.mismatch_error = None
        if not self.pt_outs:
            return  # it only writes
        try:
            _compare(_run(self._convert(), _tensors(self.input_args), options), self.pt_outs, options)
        except (AssertionError, OnnxExporterError) as error:
            self.mismatch_error = error

    def _middle(self) -> int | None:
        """Which node is to be the first of the lower half; None if the graph cannot be cut.

        That is nowhere where the lower half would get two inputs that share memory and write to one of them.
        """
        nodes = list(self.graph.nodes())
        essential = [i for i, node in enumerate(nodes) if node.kind() not in _INESSENTIAL]
        memory = self._memory(nodes)
        for cut in sorted(essential[1:], key=lambda i: abs(i - essential[len(essential) // 2])):
            taken = self._crossing(cut, with_inputs=True)
            written = [memory.get(value.unique(), set()) for node in nodes[cut:] for value in _written(node)]
            if all(sum(not memory[each.unique()].isdisjoint(places) for each in taken) < 2 for places in written):
                return cut
        return None

    def _memory(self, nodes: Sequence[Any]) -> dict[int, set[int]]:
        """By values of the main graph: which memory each may be in. Of inputs it is known; the numbers stand for whose it was first."""
        memory = {
            value.unique(): {each.untyped_storage().data_ptr() for each in _tensors(given)} or {-value.unique()}
            for value, given in zip(self.graph.inputs(), self.input_args)
        }
        for node in nodes:
            shared = [memory[value.unique()] for value in _sharing(node) if value.unique() in memory]
            for value in node.outputs():
                memory[value.unique()] = set().union(*shared) or {-value.unique()}
        return memory

    def _crossing(self, cut: int, *, with_inputs: bool = False) -> list[Any]:
        """What is made before a node, and read from there on."""
        nodes = list(self.graph.nodes())
        later = {value.unique() for node in nodes[cut:] for value in _uses(node)} | {value.unique() for value in self.graph.outputs()}
        made = [*(self.graph.inputs() if with_inputs else ()), *(value for node in nodes[:cut] for value in node.outputs())]
        return [value for value in made if value.unique() in later and value.node().kind() != "prim::Constant"]

    def _halves(self, cut: int) -> tuple[GraphInfo, GraphInfo]:
        nodes, outputs = list(self.graph.nodes()), list(self.graph.outputs())
        upper = _part(self, nodes[:cut], self._crossing(cut), f"{self.id}0")
        lower = _part(self, nodes[cut:], outputs, f"{self.id}1")
        values = dict(zip(_names(self.graph.inputs()), self.input_args))
        upper.input_args = [values[name] for name in upper._taken]
        return upper, lower


def _names(values: Any) -> list[str]:
    return [value.debugName() for value in values]


def _returning_one(graph: Any) -> Any:
    """A copy of which no outputs, or several, are a tuple, as functions have them."""
    graph = graph.copy()
    if len(list(graph.outputs())) != 1:
        graph.makeMultiOutputIntoTuple()
    return graph


def _uses(node: Any) -> list[Any]:
    """What a node reads, its nested graphs included."""
    used, pending = list(node.inputs()), list(node.blocks())
    while pending:
        block = pending.pop()
        used.extend(block.outputs())
        for inner in block.nodes():
            used.extend(inner.inputs())
            pending.extend(inner.blocks())
    return used


def _written(node: Any) -> Iterator[Any]:
    """What a node writes to, its nested graphs included."""
    pending = [node]
    while pending:
        each = pending.pop()
        pending.extend(inner for block in each.blocks() for inner in block.nodes())
        if each.schema() != "(no schema)":
            for value, argument in zip(each.inputs(), torch._C.parse_schema(each.schema()).arguments):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    yield value


def _sharing(node: Any) -> list[Any]:
    """What the results of a node may share memory with: all that it reads, where it holds other nodes or is a container."""
    if node.schema() == "(no schema)" or list(node.blocks()):
        return _uses(node)
    arguments = torch._C.parse_schema(node.schema()).arguments
    return [value for value, argument in zip(node.inputs(), arguments) if argument.alias_info is not None]


def _part(whole: GraphInfo, nodes: Sequence[Any], outputs: Sequence[Any], id: str) -> GraphInfo:
    """The nodes as a graph of their own; what others make is an input, but constants are copied."""
    graph = torch._C.Graph()
    info = GraphInfo(graph, [], id, whole.opset_version, whole.do_constant_folding)
    values: dict[int, Any] = {}

    def value_of(value: Any) -> Any:
        number = value.unique()
        if number not in values:
            if value.node().kind() == "prim::Constant":
                clone = graph.prependNode(graph.createClone(value.node(), lambda each: each))
                values[number] = clone.output()
            else:
                made = graph.addInput()
                made.setType(value.type())
                info._taken.append(value.debugName())
                values[number] = made
        return values[number]

    own = {value.unique() for node in nodes for value in node.outputs()}
    for node in nodes:
        for value in _uses(node):
            if value.unique() not in own and not _inside(value, node):
                value_of(value)
    for node in nodes:
        clone = graph.appendNode(graph.createClone(node, value_of))
        for before, now in zip(node.outputs(), clone.outputs(), strict=True):
            values[before.unique()] = now
    for value in outputs:
        graph.registerOutput(value_of(value))
    info._given = _names(outputs)
    return info


def _inside(value: Any, node: Any) -> bool:
    """Whether a nested graph of the node makes the value."""
    pending = list(node.blocks())
    while pending:
        block = pending.pop()
        if any(each.unique() == value.unique() for each in block.inputs()):
            return True
        for inner in block.nodes():
            if any(each.unique() == value.unique() for each in inner.outputs()):
                return True
            pending.extend(inner.blocks())
    return False


def find_mismatch(
    model: Any,
    input_args: Any,
    do_constant_folding: bool = True,
    training: Any = TrainingMode.EVAL,
    opset_version: int | None = None,
    keep_initializers_as_inputs: bool = True,
    verbose: bool = False,
    options: VerificationOptions | None = None,
) -> GraphInfo:
    """Trace a model, and find the operators whose conversion computes something else.

    Args:
        model, input_args, do_constant_folding, training, opset_version: As :func:`flambeau.export` takes them.
        keep_initializers_as_inputs: Accepted, and changes nothing: weights are inputs of the graphs.
        verbose: Print the graph and its halves.
        options: How to compare.

    Returns:
        The whole graph; ``all_mismatch_leaf_graph_info()`` are the operators.
    """
    model = unwrapped(model)
    args, kwargs = example_call(model, input_args, None)
    with utils.select_model_mode_for_export(model, training):
        if isinstance(model, SCRIPTS):
            traced, args = model, tuple(script_arguments(model, args, kwargs).values())
        else:
            traced, args = traced_module(model, args, kwargs)
        graph, module = inlined(traced)
        weights = [] if module is None else without_module(graph, module)
    flat = [leaf for leaf in _pytree.tree_leaves(args)] if len(list(graph.inputs())) != len(args) + len(weights) else list(args)
    info = GraphInfo(graph, [*flat, *(weight.detach() for weight in weights)], opset_version=opset_version, do_constant_folding=do_constant_folding)
    info.find_mismatch(options)
    if verbose:
        info.pretty_print_tree()
    return info
