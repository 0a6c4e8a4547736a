"""The ways of calling export(dynamo=False), and the inputs that the model then has, which are torch.onnx's."""

import copy
import io
import warnings
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

import flambeau
import numpy
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn
from torch.onnx import TrainingMode
from torch.utils import _pytree as pytree


def x(*sizes):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes) + len(sizes)))


def leaves(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, (Tensor, bool, int, float))]


def run(model, args, *, how="trace", others=(), kept=None, **options):
    """Export; the model's inputs are those of the arguments that `kept` picks; compare the outputs."""
    stream = io.BytesIO()
    captured = torch.jit.script(copy.deepcopy(model)) if how == "script" else copy.deepcopy(model)
    flambeau.export(captured, copy.deepcopy(args), stream, dynamo=False, verbose=False, **options)
    proto = onnx.load_from_string(stream.getvalue())
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(stream.getvalue())
    for given in (args, *others):
        positional, keyword = (given[:-1], given[-1]) if isinstance(given[-1], dict) else (given, {})
        expected = leaves(copy.deepcopy(model)(*copy.deepcopy(positional), **copy.deepcopy(keyword)))
        values = [leaf for argument in (*positional, *keyword.values()) for leaf in leaves(argument)]
        if kept is not None:
            values = [values[i] for i in kept]
        names = [value.name for value in session.get_inputs()]
        assert len(names) == len(values)
        feeds = {name: numpy.asarray(value) for name, value in zip(names, values)}
        actual = session.run(None, feeds)
        assert len(actual) == len(expected)
        for ours, theirs in zip(actual, expected):
            torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs), rtol=1e-4, atol=1e-5)
    return proto


HOW = pytest.mark.parametrize("how", ["trace", "script"])


# --- arguments -----------------------------------------------------------------------


class Optionals(nn.Module):
    def forward(self, x, y: Optional[Tensor] = None, z: Optional[Tensor] = None):
        if y is not None:
            x = x + y
        if z is not None:
            x = x * z
        return x


@HOW
@pytest.mark.parametrize(
    "args",
    [
        (x(2, 3),),
        (x(2, 3), None, x(2, 3)),
        (x(2, 3), {"z": x(3)}),
        (x(2, 3), None, {"z": x(3)}),
        (x(2, 3), {"z": x(3), "y": x(3)}),
        (x(2, 3), x(3), {}),
    ],
    ids=["one", "none-between", "dict", "none-and-dict", "dict-in-another-order", "empty-dict"],
)
def test_optional_arguments(args, how):
    run(Optionals(), args, how=how)


class NumberOfEitherKind(nn.Module):
    def forward(self, x, k: Union[int, float]):
        if isinstance(k, int):
            return x + k
        return x * k


@pytest.mark.parametrize("number", [3, 2.5])
def test_a_number_of_one_of_several_kinds(number):
    run(NumberOfEitherKind(), (x(2, 3), number), how="script")


class Keywords(nn.Module):
    def forward(self, x, **others):
        for value in others.values():
            x = x * 2 + value
        return x


def test_a_dict_at_the_end_holds_any_keyword_arguments():
    run(Keywords(), (x(2, 3), {"a": x(3), "b": x(3)}))


def test_what_torchscript_does_not_take_is_named():
    with pytest.raises(TypeError, match=r"the argument 'k' is \[array.*TorchScript"):
        run(torch.jit.script(NumberOfEitherKind()), (x(2, 3), [x(3).numpy()]), how="script")


class Point(NamedTuple):
    a: Tensor
    b: Tensor


class Nested(nn.Module):
    def forward(self, point: Point, pair: tuple[Tensor, list[Tensor]]):
        return Point(point.b + pair[0], point.a * pair[1][0]), pair[1]


@HOW
def test_nested_arguments_and_outputs_are_flattened(how):
    run(Nested(), (Point(x(2), x(2)), (x(2), [x(2), x(2)])), how=how)


# --- numbers ---------------------------------------------------------------------------


class Scaled(nn.Module):
    def forward(self, x, n: int, factor: float):
        return x * factor + n, x.repeat(2) * n


@HOW
def test_numbers_are_inputs(how):
    proto = run(Scaled(), (x(3), 2, 0.5), how=how, others=[(x(3), 7, -1.25)])
    types = [value.type.tensor_type.elem_type for value in proto.graph.input]
    assert types == [onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.DOUBLE]


class InTuples(nn.Module):
    def forward(self, x: tuple[torch.Tensor, int], y: tuple[torch.Tensor, tuple[float, bool]]):
        z = x[0] * x[1] + y[0]
        if y[1][1]:
            z = z * y[1][0]
        return z + y[1][0] * x[1], z[: x[1] - 1], x[1] // 2


def test_numbers_in_tuples_are_inputs():
    given = [((x(3), n), (x(3), (factor, flag))) for n, factor, flag in ((2, 0.5, True), (3, 1.5, False), (5, 4.0, True))]
    proto = run(InTuples(), given[0], how="script", others=given[1:])
    types = [value.type.tensor_type.elem_type for value in proto.graph.input]
    assert types == [getattr(onnx.TensorProto, name) for name in ("FLOAT", "INT64", "FLOAT", "DOUBLE", "BOOL")]


class Moved(NamedTuple):
    a: Tensor
    steps: int
    factor: float


class InNamedTuples(nn.Module):
    def forward(self, moved: Moved, pair: Optional[Tuple[int, int]] = None):
        x = moved.a * moved.factor + moved.steps // 2
        if pair is not None:
            x = x[pair[0] : pair[1] + 1]
        return x


def test_numbers_in_tuples_with_names_and_optional_ones_are_inputs():
    given = [(Moved(x(5), steps, factor), pair) for steps, factor, pair in ((3, 0.5, (1, 2)), (6, 2.5, (0, 3)))]
    proto = run(InNamedTuples(), given[0], how="script", others=given[1:])
    assert len(proto.graph.input) == 5


class Repeated(nn.Module):
    def forward(self, x, turns: int, doubled: bool):
        for i in range(turns):
            x = x + i
        if doubled:
            x = x * 2
        return x, turns


def test_scripted_control_flow_follows_numbers():
    run(Repeated(), (x(3), 2, True), how="script", others=[(x(3), 0, False), (x(3), 5, True)])


class Dimensioned(nn.Module):
    def forward(self, x, sizes: list[int], mode: str):
        return x.reshape([size for size in sizes]) if mode == "reshape" else x


def test_what_python_needs_of_a_number_is_constant():
    # A tensor is no number to Python's own classes: tracing falls back to the number.
    class Ranged(nn.Module):
        def forward(self, x, n):
            return x * float("3" * n)

    run(Ranged(), (x(3), 2), kept=[0])
    run(Dimensioned(), (x(6), [2, 3], "reshape"), how="script", kept=[0])


@HOW
def test_without_dynamo_false_numbers_are_constant(how):
    model = torch.jit.script(Scaled()) if how == "script" else Scaled()
    options = {"capture": "trace"} if how == "trace" else {}
    program = flambeau.export(model, (x(3), 2, 0.5), verbose=False, **options)
    assert len(program.inputs) == 1


# --- inputs that nothing depends on ------------------------------------------------------


class SizesOnly(nn.Module):
    def forward(self, x, y):
        return torch.zeros(x.size(0), 2) + y


@HOW
def test_an_unused_input_is_none(how):
    names = ["a", "b"]
    proto = run(SizesOnly(), (x(3, 4), x(2)), how=how, kept=[1], input_names=names)
    assert [value.name for value in proto.graph.input] == ["b"]
    proto = run(
        SizesOnly(), (x(3, 4), x(2)), how=how, input_names=names, dynamic_axes={"a": {0: "batch"}}, others=[(x(5, 4), x(2))]
    )
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


class Second(nn.Module):
    def forward(self, x, y):
        return y * 2


@HOW
@pytest.mark.parametrize("names", [["a", "b"], ["a"], []], ids=str)
def test_an_input_that_is_left_out_is_warned_of_where_it_was_named(how, names):
    model = torch.jit.script(Second()) if how == "script" else Second()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", flambeau.errors.ConversionWarning)
        program = flambeau.export(model, (x(3, 4), x(2)), dynamo=False, input_names=names)
    assert len(program.inputs) == 1
    said = [str(each.message) for each in said if issubclass(each.category, flambeau.errors.ConversionWarning)]
    assert ["nothing reads 'a':" in each for each in said] == [True] * bool(names)


class LikeAnother(nn.Module):
    def forward(self, x, y):
        return x.to(y.dtype).type_as(y) + torch.zeros_like(y[0]) + y.new_ones(3)


class ViewAsAnother(nn.Module):
    def forward(self, x, y):
        return x.view_as(y), x.reshape(2, 3).expand_as(y)


@HOW
def test_an_operator_that_reads_an_input_keeps_it(how):
    run(LikeAnother(), (x(2, 3), x(2, 3).double()), how=how, kept=[0])
    run(ViewAsAnother(), (x(6), x(2, 3)), how=how, kept=[0, 1])
    run(nn.Identity(), (torch.zeros(0, 3),), how=how, kept=[0])


class LikeOne(nn.Module):
    def forward(self, x, y):
        return torch.zeros_like(x) + y, x.clone().fill_(2) * y


@HOW
def test_sizes_of_run_time_keep_an_input(how):
    names = ["a", "b"]
    assert [value.name for value in run(LikeOne(), (x(2, 3), x(2, 3)), how=how, kept=[1], input_names=names).graph.input] == ["b"]
    run(LikeOne(), (x(2, 3), x(2, 3)), how=how, input_names=names, dynamic_axes={"a": {0: "n"}, "b": {0: "n"}}, others=[(x(4, 3), x(4, 3))])


class FilledLike(nn.Module):
    def forward(self, x, y):
        return torch.full_like(x, y.sum().item()), torch.full_like(x, 2.0)


def test_what_is_filled_with_a_number_of_run_time_is_an_input():
    run(FilledLike(), (x(2, 3), x(2, 3)), how="script", kept=[0, 1])


class Divided(nn.Module):
    def forward(self, x, y):
        return y / x.relu().size(-1)


class Unpacked(nn.Module):
    def forward(self, x, y):
        rows, columns = x.shape
        return y.reshape(-1, columns)


class Asserted(nn.Module):
    def forward(self, x, y):
        assert x.size(1) == y.size(1)
        return y + 1


class Carried(nn.Module):
    def forward(self, x, y):
        for _ in range(2):
            x = x + 1
            y = y + x.size(1)
        return y


@HOW
@pytest.mark.parametrize(("model", "kept"), [(Divided(), [0, 1]), (Unpacked(), [0, 1]), (Carried(), [0, 1]), (Asserted(), [1])])
def test_a_number_that_is_a_size_keeps_an_input_where_others_are_dynamic(model, kept, how):
    options = {"how": how, "input_names": ["a", "b"]}
    run(model, (x(2, 3), x(2, 3)), kept=[1], **options)
    run(model, (x(2, 3), x(2, 3)), kept=[1], dynamic_axes={"b": {0: "n"}}, others=[(x(2, 3), x(5, 3))], **options)
    run(model, (x(2, 3), x(2, 3)), kept=kept, dynamic_axes={"a": {0: "n"}, "b": {0: "m"}}, others=[(x(4, 3), x(5, 3))], **options)


class Overwritten(nn.Module):
    def forward(self, x, y):
        x[...] = y
        return x + 1


class MadeLike(nn.Module):
    def forward(self, x, y):
        made = torch.zeros_like(x)
        made[0] = y[1]
        return made


@HOW
def test_what_something_is_copied_to_is_an_input(how):
    run(Overwritten(), (x(2, 3), x(2, 3) + 1), how=how, kept=[0, 1])
    run(MadeLike(), (x(2, 3), x(2, 3) + 1), how=how, kept=[1])


class FirstOfOptionals(nn.Module):
    def forward(self, x, y: Optional[Tensor], z: Optional[Tensor]):
        if y is not None:
            return x + y
        if z is not None:
            return x + z
        return x


class OneOfOptionals(nn.Module):
    def forward(self, x, pair: Tuple[Optional[Tensor], Tensor], z: Optional[Tensor]):
        y, other = pair
        if y is not None and z is not None:
            return y + other.size(0)
        return z if y is None else x


class GivenOptional(nn.Module):
    def forward(self, x, y: Optional[Tensor], z):
        if y is None:
            y = z
        unused = x if y is None else z
        return y


class OptionalInRounds(nn.Module):
    def forward(self, x, y: Optional[Tensor], z):
        parts, filled = [x], torch.zeros_like(x)
        for _ in range(2):
            if y is not None:
                x = x + y
                parts.append(x)
            else:
                filled.copy_(z)
        return torch.cat(parts), filled


@pytest.mark.parametrize(("opset", "asked"), [(14, False), (15, True), (18, True)])
def test_from_opset_15_on_what_follows_on_an_optional_input_is_read_at_run_time(opset, asked):
    options = {"how": "script", "opset_version": opset}
    run(FirstOfOptionals(), (x(2, 3), x(2, 3), x(2, 3)), kept=[0, 1, 2] if asked else [0, 1], **options)
    run(OneOfOptionals(), (x(2, 3), (x(2, 3), x(4)), x(2, 3)), kept=[0, 1, 3] if asked else [1], **options)
    run(OptionalInRounds(), (x(2, 3), x(2, 3), x(2, 3)), kept=[0, 1, 2] if asked else [0, 1], **options)
    run(GivenOptional(), (x(2, 3), x(2, 3), x(2, 3)), kept=[1, 2] if asked else [1], **options)


def test_a_program_takes_all_arguments_and_feeds_what_is_used():
    program = flambeau.export(SizesOnly(), (x(3, 4), x(2)), dynamo=False, verbose=False)
    (actual,) = program(x(3, 4), x(2))
    assert actual.shape == (3, 2)


# --- names, axes and files ------------------------------------------------------------------


class Weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(3, 3)
        self.first = nn.Linear(3, 3)

    def forward(self, x):
        return self.first(self.last(x))


@HOW
def test_parameters_are_named_after_the_inputs(how):
    names = ["in", "w0", "b0", "w1", "b1"]
    proto = run(Weights(), (x(2, 3),), how=how, input_names=names)
    weights = {value.name: onnx.numpy_helper.to_array(value) for value in proto.graph.initializer}
    assert weights.keys() == set(names[1:])
    run(Weights(), (x(2, 3),), how=how, input_names=names, keep_initializers_as_inputs=True)
    stream = io.BytesIO()
    flambeau.export(Weights(), (x(2, 3),), stream, dynamo=False, verbose=False, export_params=False, input_names=names)
    assert [value.name for value in onnx.load_from_string(stream.getvalue()).graph.input] == names


class Crossed(Weights):
    """Reads its weights in another order than it made them."""

    def __init__(self):
        super().__init__()
        self.offset = nn.Parameter(x(4))
        self.wide = nn.Linear(3, 4)

    def forward(self, x):
        return self.wide(self.first(x)) + self.offset


@pytest.mark.parametrize(("how", "sizes"), [("script", [[3, 3], [3], [4, 3], [4], [4]]), ("trace", [[4], [], [], [3, 3], [3], [4, 3], [4]])])
def test_parameters_are_named_in_torchs_order(how, sizes):
    """Of a script that in which it reads them, of a trace that of the state_dict, which counts those that nothing reads."""
    names = ["in", *(f"w{i}" for i in range(len(sizes)))]
    proto = run(Crossed(), (x(2, 3),), how=how, input_names=names)
    weights = {value.name: list(value.dims) for value in proto.graph.initializer}
    assert weights == {name: size for name, size in zip(names[1:], sizes) if size}


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(x(3))
        self.register_buffer("kept", x(3))
        self.register_buffer("dropped", x(3), persistent=False)

    def forward(self, x):
        return x * self.weight + self.kept + self.dropped + torch.tensor([1.0, 2.0, 3.0])


@HOW
def test_without_parameters_a_model_lacks_what_a_state_dict_brings_and_nothing_else(how):
    module, given = Stateful(), x(2, 3)
    source = torch.jit.script(module) if how == "script" else module
    stream = io.BytesIO()
    flambeau.export(source, (given,), stream, dynamo=False, verbose=False, export_params=False, input_names=["x"])
    session = onnxruntime.InferenceSession(stream.getvalue(), providers=["CPUExecutionProvider"])
    weights = {name: tensor.detach().numpy() for name, tensor in source.state_dict().items()}  # a script keeps what is not persistent, too
    assert [value.name for value in session.get_inputs()] == ["x", *weights]
    numpy.testing.assert_allclose(session.run(None, {"x": given.numpy(), **weights})[0], module(given).detach().numpy(), rtol=1e-6)


@HOW
def test_axes_of_what_is_neither_input_nor_output_are_warned_of(how):
    with pytest.warns(UserWarning, match="'other'"):
        run(nn.ReLU(), (x(2, 3),), how=how, input_names=["x"], dynamic_axes={"x": [0], "other": [0]}, others=[(x(5, 3),)])


def test_a_file_that_is_open(tmp_path):
    with open(tmp_path / "model.onnx", "wb") as file:
        flambeau.export(nn.ReLU(), x(2, 3), file, dynamo=False, verbose=False)
    onnx.checker.check_model(onnx.load(tmp_path / "model.onnx"))


class InPlace(nn.Module):
    def forward(self, x, y):
        x.t_()
        return x, y.unsqueeze_(0).add_(1)


@HOW
def test_shapes_that_change_in_place(how):
    run(InPlace(), (x(2, 3), x(3)), how=how)


# --- sizes known at run time ------------------------------------------------------------------


class Squeezed(nn.Module):
    def forward(self, x):
        return x.squeeze(1), x + 1


@HOW
def test_a_squeeze_of_a_dynamic_dimension(how):
    stream = io.BytesIO()
    model = torch.jit.script(Squeezed()) if how == "script" else Squeezed()
    program = flambeau.export(
        model, (x(2, 1, 3),), stream, dynamo=False, verbose=False, input_names=["x"], dynamic_axes={"x": [0, 1]}
    )
    # ONNX wants a rank of outputs: the one that most runs give, and the user is told.
    onnx.checker.check_model(program.model_proto, full_check=True)
    assert len(program.model_proto.graph.output[0].type.tensor_type.shape.dim) == 3
    assert any("depends on the path" in each.message for each in program.diagnostics)
    session = onnxruntime.InferenceSession(stream.getvalue())
    for sizes in [(2, 1, 3), (4, 5, 3), (1, 1, 3)]:
        actual = session.run(None, {"x": x(*sizes).numpy()})
        torch.testing.assert_close(torch.as_tensor(actual[0]), x(*sizes).squeeze(1))


class Spaced(nn.Module):
    def forward(self, x):
        steps = x.size(0)
        return torch.linspace(-1, 2, steps), torch.linspace(0, 7, steps, dtype=torch.int64), torch.logspace(0, 1, steps)


@HOW
def test_linspace_of_dynamic_steps(how):
    run(Spaced(), (x(5, 2),), how=how, input_names=["x"], dynamic_axes={"x": [0]}, others=[(x(n, 2),) for n in (1, 2, 3, 8)])


class PooledByItsSizes(nn.Module):
    def forward(self, x):
        rows, columns = x.shape[2], x.shape[3]
        halves, at = nn.functional.adaptive_max_pool2d_with_indices(x, [rows // 2, columns])
        return halves, at, nn.functional.adaptive_max_pool1d(x[0], [columns - 2])


@pytest.mark.parametrize("opset", [8, 17])
@pytest.mark.parametrize("how", ["script", "trace"])
def test_adaptive_pools_to_sizes_that_follow_from_sizes(how, opset):
    names, others = {"input_names": ["x"], "dynamic_axes": {"x": [0, 2, 3]}}, [(x(1, 3, 9, 5),), (x(3, 3, 2, 8),)]
    run(PooledByItsSizes(), (x(2, 3, 6, 7),), how=how, others=others, opset_version=opset, **names)


class DiagonalBy(nn.Module):
    def forward(self, x, offset):
        return torch.diagonal(x, int(offset)), x.diagonal(x.size(0) - 2)


def test_diagonals_by_offsets_of_run_time():
    axes = {"input_names": ["x", "offset"], "dynamic_axes": {"x": [0, 1]}}
    others = [(x(*sizes), torch.tensor(offset)) for sizes in ((4, 3), (2, 5)) for offset in (-5, -2, 0, 2, 6)]
    run(DiagonalBy(), (x(4, 3), torch.tensor(1)), how="script", others=others, **axes)


class Detections(nn.Module):
    def forward(self, images: List[Tensor]) -> Tuple[Dict[str, Dict[str, Tensor]], List[Dict[str, Tensor]], int]:
        found = torch.jit.annotate(List[Dict[str, Tensor]], [])
        for image in images:
            found.append({"boxes": image * 2, "scores": image.sum(0)})
        return {"losses": {"boxes": images[0].sum()}}, found, 3


def test_outputs_are_called_after_their_keys():
    program = flambeau.export(torch.jit.script(Detections()), ([x(2, 4), x(3, 4)],), dynamo=False, verbose=False)
    names = [value.name for value in program.model_proto.graph.output]
    assert names == ["losses.boxes", "boxes", "scores", "boxes_1", "scores_1", "output"]


# --- modes -------------------------------------------------------------------------------------


@HOW
@pytest.mark.parametrize(
    "layer",
    [nn.BatchNorm1d(3), nn.BatchNorm2d(3, momentum=None), nn.InstanceNorm2d(3, affine=True, track_running_stats=True)],
    ids=["batch1d", "batch2d", "instance2d"],
)
def test_norms_in_training(layer, how):
    sizes = (4, 3) if isinstance(layer, nn.BatchNorm1d) else (2, 3, 4, 4)
    model = copy.deepcopy(layer).train()
    run(model, (x(*sizes),), how=how, training=TrainingMode.TRAINING)
    run(model.eval(), (x(*sizes),), how=how, training=TrainingMode.PRESERVE)


class Counting(nn.Module):
    seen: List[Tensor]

    def __init__(self):
        super().__init__()
        self.count, self.length, self.warned, self.seen = 0, 0, False, []

    def forward(self, x):
        self.count += 1
        self.length = x.size(1)
        if not self.warned:
            self.warned = True
        self.seen.append(x)
        return x * self.count * self.length


def test_a_script_that_counts_its_runs_is_warned_of():
    """Not of a number that each run writes before it reads it, nor of a flag that a warning was given."""
    with pytest.warns(flambeau.errors.ConversionWarning, match="the model writes 'count', 'seen', and each run begins with what was there before"):
        flambeau.export(torch.jit.script(Counting()), (x(2, 3),))
