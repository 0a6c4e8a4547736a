"""Names of dimensions, in every form that torch.export and torch.onnx take."""

import dataclasses
import warnings
from pathlib import Path

import pytest
import torch
from torch.export import Dim

import flambeau
from flambeau.capture import capture
from flambeau.capture.dynamic_shapes import (
    by_argument,
    dimension_names,
    from_dynamic_axes,
    model_arguments,
    output_dimension_names,
    program_arguments,
    replace_names,
)
from flambeau.errors import CaptureError


class Nested(torch.nn.Module):
    def forward(self, x, pair, table, scale=1, *, late):
        return x + pair[0] + table["a"] * scale, late * 2


X = torch.ones(3, 4)
ARGS = (X, [torch.ones(3, 4), 7], {"a": torch.ones(3, 4), "b": torch.ones(2)})
KWARGS = {"late": torch.ones(5)}


def names_of(dynamic_shapes, model=None, args=ARGS, kwargs=KWARGS):
    model = model or Nested()
    arguments = model_arguments(model, args, kwargs)
    return dimension_names(arguments, by_argument(dynamic_shapes, arguments, (), model))


@pytest.mark.parametrize(
    "dynamic_shapes",
    [
        {"x": {0: "n"}, "pair": [{0: "n"}, None], "table": {"b": None, "a": {0: "n"}}, "late": {0: Dim("m")}},
        ({0: "n"}, [{0: "n"}, None], {"a": {0: "n"}, "b": None}, {0: "m"}),
        {"x": ("n", None), "pair": (("n", Dim.STATIC), None), "table": {"a": ("n", 4), "b": None}, "late": ["m"]},
        {"x": {-2: "n"}, "pair": [{0: "n"}, None], "table": {"a": {0: "n"}}, "late": {0: "m"}},
    ],
    ids=["by name", "by place", "sequences of dims", "negative dim"],
)
def test_names_follow_the_arguments(dynamic_shapes):
    # Tensors among the flattened arguments: x, pair[0], table.a, table.b, late.
    assert sorted(names_of(dynamic_shapes)) == [(0, 0, "n"), (1, 0, "n"), (2, 0, "n"), (4, 0, "m")]


def test_hints_and_derived_dims_name_nothing():
    n = Dim("n")
    shapes = {"x": {0: Dim.AUTO, 1: Dim.DYNAMIC}, "pair": None, "table": None, "late": {0: 2 * n}}
    assert names_of(shapes) == []


def test_traces_name_what_has_no_name():
    """A trace knows no derived dimensions: they are dimensions of their own."""

    class Shifted(torch.nn.Module):
        def forward(self, x, y):
            return x + y[1:]

    n = Dim("n")
    for shapes, words in ((({0: n}, {0: n + 1}), ["n", "y_dim_0"]), ({"x": {0: Dim.DYNAMIC}, "y": (Dim.AUTO,)}, ["x_dim_0", "y_dim_0"])):
        program = flambeau.export(Shifted(), (torch.ones(4), torch.ones(5)), dynamic_shapes=shapes, capture="trace")
        assert [value.sizes for value in program.inputs] == [[word] for word in words]
        assert program(torch.ones(7), torch.ones(8))[0].tolist() == [2.0] * 7
    program = flambeau.export(Shifted(), (torch.ones(4), torch.ones(5)), dynamic_shapes=({0: Dim.STATIC}, None), capture="trace")
    assert [value.sizes for value in program.inputs] == [["4"], ["5"]]


def test_keyword_arguments_in_another_order():
    class Model(torch.nn.Module):
        def forward(self, a, b, c):
            return a + b + c

    kwargs = {"c": torch.ones(2), "b": torch.ones(2)}
    shapes = {"a": None, "b": {0: "b"}, "c": {0: "c"}}
    assert names_of(shapes, Model(), (torch.ones(2),), kwargs) == [(1, 0, "c"), (2, 0, "b")]
    assert names_of((None, {0: "b"}, {0: "c"}), Model(), (torch.ones(2),), kwargs) == [(1, 0, "c"), (2, 0, "b")]


def test_variadic_arguments():
    class Model(torch.nn.Module):
        def forward(self, *xs, **rest):
            return xs[0] + xs[1] + rest["y"]

    args, kwargs = (torch.ones(2), torch.ones(2)), {"y": torch.ones(2)}
    shapes = {"xs": ({0: "n"}, {0: "n"}), "y": {0: "n"}}
    assert names_of(shapes, Model(), args, kwargs) == [(0, 0, "n"), (1, 0, "n"), (2, 0, "n")]


def test_arguments_of_a_captured_program():
    exported = capture(Nested(), ARGS, KWARGS, None)
    shapes = {"x": {0: "n"}, "table": {"a": {1: "m"}}, "late": {0: "k"}}
    assert dimension_names(program_arguments(exported), shapes) == [(0, 0, "n"), (2, 1, "m"), (4, 0, "k")]


def test_replace_names_leaves_the_rest():
    n = Dim("n")
    shapes = {"x": {0: "a", 1: n}, "y": ("b", None, 3), "z": [{0: Dim.AUTO}]}
    replaced = {"x": {0: Dim.DYNAMIC, 1: n}, "y": (Dim.DYNAMIC, None, 3), "z": [{0: Dim.AUTO}]}
    assert replace_names(shapes, Dim.DYNAMIC) == replaced


@pytest.mark.parametrize(
    ("axes", "shapes", "outputs"),
    [
        ({"in0": {0: "n"}}, {"x": {0: "n"}}, {}),
        ({"x": {0: "n"}, "late": {0: "m"}}, {"x": {0: "n"}, "late": {0: "m"}}, {}),
        ({"in0": [0, 1], "in2": [0]}, {"x": {0: "in0_dynamic_axes_1", 1: "in0_dynamic_axes_2"}, "a": {0: "in2_dynamic_axes_1"}}, {}),
        ({"in4": {-1: "m"}, "out": [0]}, {"late": {0: "m"}}, {"out": {0: "out_dynamic_axes_1"}}),
    ],
    ids=["named", "by argument", "lists", "negative and output"],
)
def test_dynamic_axes(axes, shapes, outputs):
    arguments = model_arguments(Nested(), ARGS, KWARGS)
    names = ["in0", "in1", "in2", "in3", "in4"]
    found, found_outputs = from_dynamic_axes(axes, arguments, names, ["out"])
    expected = {
        "x": shapes.get("x"),
        "pair": [None, None],
        "table": {"a": shapes.get("a"), "b": None},
        "late": shapes.get("late"),
    }
    assert (found, found_outputs) == (expected, outputs)


@pytest.mark.parametrize("axes", [{"nothing": {0: "n"}}, {"in0": "n"}, {"in0": {"0": "n"}}])
def test_dynamic_axes_that_mean_nothing(axes):
    with pytest.raises(ValueError, match="dynamic_axes"):
        from_dynamic_axes(axes, model_arguments(Nested(), ARGS, KWARGS), ["in0"], [])


def test_output_axes_name_only_what_no_input_names():
    class Model(torch.nn.Module):
        def forward(self, x):
            return x * 2, torch.nonzero(x)

    exported = capture(Model(), (torch.ones(3),), {}, {"x": {0: "n"}})
    names = output_dimension_names(exported, ["y", "found"], {"y": {0: "other"}, "found": {0: "hits"}})
    assert list(names.values()) == ["hits"]
    with pytest.warns(flambeau.errors.ConversionWarning, match="axis 2 of 'found', which has 2; it is ignored"):
        assert not output_dimension_names(exported, ["y", "found"], {"found": {2: "hits"}})


@pytest.mark.parametrize("size", [0, 1, 2])
def test_small_examples_stay_dynamic(size):
    exported = capture(torch.nn.Linear(4, 2), (torch.ones(size, 4),), {}, {"input": {0: "batch"}})
    (x,) = (node for node in exported.graph.nodes if node.name == "input")
    assert isinstance(x.meta["val"].shape[0], torch.SymInt)


def test_capture_that_fails_names_the_model_and_the_cause():
    class Model(torch.nn.Module):
        def forward(self, x):
            raise ArithmeticError("no such luck")

    with pytest.raises(CaptureError, match="Model.*no such luck") as raised:
        capture(Model(), (X,), {}, None)
    assert raised.value.__cause__ is not None


def test_capture_restores_the_training_mode():
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(4, 4)).train()
    model[1].eval()
    capture(model, (X,), {}, None)
    assert [module.training for module in model.modules()] == [True, True, False]


class Rest(torch.nn.Module):
    def forward(self, x, **rest):
        return x + rest["m"].sum(), rest["n"] * 2


class Trees(torch.nn.Module):
    def forward(self, a, d, l):
        return a + d["p"].sum() + l[0].sum(), l[1] + 1


class TwoOutputs(torch.nn.Module):
    def forward(self, x, y):
        return x.sum() + y, x * 2


@pytest.mark.parametrize("shapes", [
    {"x": {0: "b"}, "m": {0: "c"}, "n": None},
    {"x": {0: "b"}, "rest": {"m": {0: "c"}, "n": None}},
])  # fmt: skip
def test_keyword_arguments_under_two_stars(shapes):
    model = Rest()
    program = flambeau.export(model, (torch.ones(3, 4),), kwargs={"m": torch.ones(2), "n": torch.ones(5)}, dynamic_shapes=shapes)
    assert [(value.name, value.sizes) for value in program.inputs] == [("x", ["b", "4"]), ("m", ["c"]), ("n", ["5"])]
    assert "forward" not in vars(model)


@pytest.mark.parametrize("shapes", [{"a": {0: "b"}, "d": None, "l": None}, ({0: "b"}, None, None), {"a": {0: "b"}, "d": {"p": None}}])
def test_none_stands_for_a_container(shapes):
    program = flambeau.export(Trees(), (torch.ones(3), {"p": torch.ones(2)}, [torch.ones(4), torch.ones(5)]), dynamic_shapes=shapes)
    assert [value.sizes for value in program.inputs] == [["b"], ["2"], ["4"], ["5"]]


def test_argument_names_come_before_those_of_inputs():
    names = {"input_names": ["y", "x"], "dynamic_shapes": {"x": {0: "b"}, "y": {1: "c"}}}
    program = flambeau.export(TwoOutputs(), (torch.ones(3, 4), torch.ones(3, 4)), **names)
    assert [(value.name, value.sizes) for value in program.inputs] == [("y", ["b", "4"]), ("x", ["3", "c"])]


def test_dimensions_of_one_name_are_one():
    """torch keeps them apart where the model does not need them to be equal."""
    program = flambeau.export(TwoOutputs(), (torch.ones(3, 4), torch.ones(3, 4)), dynamic_shapes=({0: "b"}, {0: "b"}))
    assert [value.sizes for value in [*program.inputs, *program.outputs]] == [["b", "4"]] * 4
    program = flambeau.export(TwoOutputs(), (torch.ones(3, 4), torch.ones(2, 4)[:1]), dynamic_shapes=({0: "b"}, {0: "b"}))
    assert [value.sizes for value in program.inputs] == [["b", "4"], ["b_1", "4"]], "the examples say otherwise"


def test_torchscript_keeps_the_names_of_dimensions(tmp_path):
    torch.jit.script(TwoOutputs()).save(str(tmp_path / "pair.pt"))
    args, shapes = (torch.ones(3, 4), torch.ones(3, 4)), {"x": {0: "b"}, "y": {1: "c"}}
    for model in (torch.jit.script(TwoOutputs()), torch.jit.load(tmp_path / "pair.pt"), tmp_path / "pair.pt"):
        program = flambeau.export(model, args, dynamic_shapes=shapes)
        assert [(value.name, value.sizes) for value in program.inputs] == [("x", ["b", "4"]), ("y", ["3", "c"])]
    program = flambeau.convert(tmp_path / "pair.pt", tmp_path / "pair.onnx", inputs={"x": "float32[b,4]", "y": "float32[b,4]"})
    assert [value.sizes for value in program.inputs] == [["b", "4"], ["b", "4"]]


class Sum(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class Float(torch.nn.Module):
    def forward(self, x):
        return x * float(x.shape[0])


class Text(torch.nn.Module):
    def forward(self, x):
        return x * float(f"{x.shape[0]}")  # a number


class One(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] == 1 else x * 3


class Half(torch.nn.Module):
    def forward(self, x):
        return x[: int(x.shape[0] * 0.5)]


class OfFour(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] // 2 == 2 else x


class Products(torch.nn.Module):
    def forward(self, x):
        return torch.einsum("oi, ...ihw -> ...ohw", torch.ones(2, 3), x)  # torch asks which sizes are 1


class Many(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] > 1:
            return x - x.mean(0, keepdim=True) * (x.shape[0] - 1)
        return x


def line_of(words):
    return next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith(f"# {words}"))


def test_an_example_of_size_one_freezes_nothing_silently():
    """What the model makes a number is captured otherwise, or as the constant that it is; never both dynamic and frozen."""
    program = flambeau.export(Float(), (torch.ones(1, 4),), dynamic_shapes=({0: "n"},))
    assert program.inputs[0].sizes == ["n", "4"]
    assert program.capture_strategy == "non-strict, with int and float of sizes dynamic", "else it would be a number"
    for rows in (1, 5):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(program(x)[0], Float()(x))
    program = flambeau.export(torch.nn.ReLU(), (torch.ones(1, 4),), dynamic_shapes=({0: "n"},))
    assert (program.inputs[0].sizes, program.capture_strategy) == (["n", "4"], "non-strict")
    for dim in ("n", Dim("n"), Dim.DYNAMIC):
        program = flambeau.export(Products(), (torch.ones(1, 3, 4, 5),), dynamic_shapes=({0: dim},))
        assert program.inputs[0].sizes[0] != "1" and program.capture_strategy == "non-strict, with 2 for sizes of 1"
        for rows in (1, 3):
            x = torch.randn(rows, 3, 4, 5)
            torch.testing.assert_close(program(x)[0], Products()(x))
    program = flambeau.export(Many(), (torch.ones(1, 4),), dynamic_shapes=({0: "n"},))
    for rows in (1, 3):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(program(x)[0], Many()(x))
    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it at 1"):
        program = flambeau.export(One(), (torch.ones(1, 4),), dynamic_shapes=({0: "n"},))
    assert program.inputs[0].sizes == ["1", "4"] and "as constants" in program.capture_strategy
    torch.testing.assert_close(program(torch.ones(1, 4))[0], torch.full((1, 4), 2.0))
    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it at 1"):
        program = flambeau.export(Sum(), (torch.ones(3, 4), torch.ones(1, 4)), dynamic_shapes=({0: "n"}, {0: "m"}))
    assert [value.sizes for value in program.inputs] == [["n", "4"], ["1", "4"]]


class OddDoubled(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] % 2 else x


def test_a_branch_on_a_size_is_warned_of():
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"right only where .*n.* ≠ 0") as warned:
        flambeau.export(OddDoubled(), (torch.ones(3, 4),), dynamic_shapes=({0: "n"},))
    assert [warning.filename for warning in warned] == [__file__]


def test_a_size_that_becomes_a_number_is_reported_with_its_line():
    with pytest.warns(flambeau.errors.ConversionWarning, match=rf"(?s)fixes it at 3.*test_dynamic_shapes.py:{line_of('a number')}"):
        flambeau.export(Text(), (torch.ones(3, 4),), dynamic_shapes=({0: "n"},))
    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it at 1"):
        assert flambeau.export(Text(), (torch.ones(1, 4),), dynamic_shapes=({0: "n"},)).inputs[0].sizes == ["1", "4"]
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"right only where .*n.* = 2: the model"):
        flambeau.export(OfFour(), (torch.ones(4, 4),), dynamic_shapes=({0: "n"},))


@pytest.mark.parametrize("rows", [1, 4])
def test_int_of_a_size_stays_dynamic(rows):
    program = flambeau.export(Half(), (torch.ones(rows, 4),), dynamic_shapes=({0: "n"},))
    for other in (1, 2, 7):
        torch.testing.assert_close(program(torch.ones(other, 4))[0], torch.ones(other // 2, 4))


def test_verification_is_against_the_model_itself():
    """A capture that is right at the example only is found, though the converted model does what was captured."""
    with pytest.raises(flambeau.errors.VerificationError, match="the capture itself differs"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flambeau.export(OfFour(), (torch.ones(4, 4),), dynamic_shapes=({0: "n"},), verify=True)


class Doubling(torch.nn.Module):
    """The expression of its number is twice as long after each round."""

    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def forward(self, x):
        number = x.shape[0]
        for _ in range(self.rounds):
            number = (number // 3) * 2 + number % 7
        return x * number


def test_numbers_too_long_for_an_expression_are_computed():
    model = Doubling(12)
    program = flambeau.export(model, (torch.ones(50),), dynamic_shapes=({0: "n"},), verbose=False)
    for n in (50, 3001):
        torch.testing.assert_close(program(torch.ones(n))[0], model(torch.ones(n)))


class Crossed(torch.nn.Module):
    def forward(self, x, y):
        return torch.cross(x, y)


def test_the_axis_of_a_cross_product_is_not_guessed():
    x, y = torch.randn(5, 3), torch.randn(5, 3)
    traced = {"dynamo": False, "input_names": ["x", "y"], "verbose": False}
    for axis in (0, 1):
        program = flambeau.export(Crossed(), (x, y), dynamic_axes={"x": {axis: "n"}, "y": {axis: "n"}}, **traced)
        torch.testing.assert_close(program(x, y)[0], Crossed()(x, y))
    with pytest.raises(flambeau.errors.OnnxExporterError, match="pass 'dim'"):
        flambeau.export(Crossed(), (x, y), dynamic_axes={"x": {0: "n", 1: "m"}, "y": {0: "n", 1: "m"}}, **traced)


class Parts(torch.nn.Module):
    def forward(self, x, d, *, l):
        return x + d["a"] + l[0] + l[1], d["b"] * 2


def sums():
    return (torch.randn(2, 3), {"a": torch.randn(2, 3), "b": torch.randn(2, 3)}), {"l": [torch.randn(2, 3), torch.randn(2, 3)]}


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ({"x": {0: "n", 1: 4}}, "dimension 1 of 'x' is 4, and the example has 3; a dynamic dimension is a name"),
        ({"x": [-1, None]}, "dimension 0 of 'x' is -1, and the example has 2"),
        ({"d": {"z": {0: "n"}}}, "names 'z' in 'd', which has 'a', 'b'"),
        ({"l": [{0: "n"}]}, "has 1 entries for 'l', which has 2"),
        ({"l": {0: "n"}}, r"has {0: 'n'} for 'l', a list; it must be a sequence with an entry for each of its 2 parts, or None"),
        ({"d": "n"}, "has 'n' for 'd', a dict; it must be a dict of its keys, a sequence"),
    ],
)
def test_shapes_that_do_not_fit_the_example_are_refused(shapes, says):
    args, kwargs = sums()
    with pytest.raises(ValueError, match=says):
        flambeau.export(Parts(), args, kwargs=kwargs, dynamic_shapes=shapes)


def test_keys_that_are_left_out_are_static():
    args, kwargs = sums()
    program = flambeau.export(Parts(), args, kwargs=kwargs, dynamic_shapes={"d": {"b": {0: "n"}}})
    assert [value.sizes for value in program.inputs] == [["2", "3"], ["2", "3"], ["n", "3"], ["2", "3"], ["2", "3"]]


@pytest.mark.needs("torch.export.AdditionalInputs")
def test_collections_of_shapes():
    args, kwargs = sums()
    one = torch.export.ShapesCollection()
    for tensor in (args[0], args[1]["a"], *kwargs["l"]):
        one[tensor] = {0: Dim("n")}
    more = torch.export.AdditionalInputs()
    more.add((torch.randn(5, 3), {"a": torch.randn(5, 3), "b": torch.randn(2, 3)}), {"l": [torch.randn(5, 3), torch.randn(5, 3)]})
    for shapes in (one, more):
        program = flambeau.export(Parts(), args, kwargs=kwargs, dynamic_shapes=shapes)
        sizes = [value.sizes for value in program.inputs]
        assert sizes[2] == ["2", "3"] and not sizes[0][0].isdigit() and {sizes[i][0] for i in (0, 1, 3, 4)} == {sizes[0][0]}


def test_what_is_said_of_two_stars_in_a_sequence():
    class Stars(torch.nn.Module):
        def forward(self, *args, **kwargs):
            return args[0] + kwargs["k"]

    program = flambeau.export(Stars(), (X,), kwargs={"k": X}, dynamic_shapes=(({0: "n"},), {"k": {0: "n"}}))
    assert [value.sizes for value in program.inputs] == [["n", "4"], ["n", "4"]]


def test_names_of_arguments_that_a_hook_changes():
    class Sums(torch.nn.Module):
        def forward(self, a, b, c):
            return a.sum(0) + b.sum(0) + c.sum(0)

    model = Sums()
    model.register_forward_pre_hook(lambda module, args: (args[1], args[0], args[2]))
    args = tuple(torch.randn(3, 2) for _ in range(3))
    program = flambeau.export(model, args, dynamic_shapes=({0: "n"}, {0: "m"}, {0: "n"}))
    assert [value.type.tensor_type.shape.dim[0].dim_param for value in program.model_proto.graph.input] == ["n", "m", "n"]


def test_an_argument_with_layers_is_no_cache():
    @dataclasses.dataclass
    class Config:
        scale: torch.Tensor
        layers: int = 2

    class Scaled(torch.nn.Module):
        def forward(self, config):
            return config.scale * config.layers

    config = Config(torch.randn(2))
    torch.testing.assert_close(flambeau.export(Scaled(), (config,))(config)[0], config.scale * 2)


def test_conditions_of_what_was_captured_before_are_told(tmp_path):
    class Halves(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.shape[0] // 2 == 3 else x

    captured = torch.export.export(Halves(), (torch.randn(6, 4),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    torch.export.save(captured, tmp_path / "halves.pt2")
    archive = tmp_path / "halves.pt2"
    for convert in (
        lambda: flambeau.export(archive),
        lambda: flambeau.convert(archive, tmp_path / "halves.onnx"),
        lambda: flambeau.export(captured),
        lambda: flambeau.export(captured.run_decompositions()),
    ):
        with pytest.warns(flambeau.errors.ConversionWarning, match="right only where .*size"):
            convert()


def test_dimensions_that_are_fixed_are_told_once_where_they_have_a_name(recwarn):
    model, x = torch.nn.Linear(3, 2), torch.randn(4, 3)
    program = flambeau.export(model, (x,), dynamic_shapes=({0: Dim.AUTO, 1: Dim.AUTO},))
    assert program.inputs[0].sizes[1] == "3" and not program.inputs[0].sizes[0].isdecimal()
    assert not [each for each in recwarn if issubclass(each.category, flambeau.errors.ConversionWarning)]
    flambeau.export(model, (x,), dynamic_shapes=({0: "batch", 1: "width"},))
    (told,) = [str(each.message) for each in recwarn if issubclass(each.category, flambeau.errors.ConversionWarning)]
    assert "dimension 1 of input 'input' was declared dynamic ('width'), but the captured program fixes it at 3" in told


def test_a_size_among_numbers():
    class Among(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.shape[0] in [6, 7] else x

    x = torch.randn(6, 4)
    assert torch.equal(flambeau.export(Among(), (x,), dynamic_shapes=({0: "n"},))(x)[0], x * 2)


SCALES = {6: 2.0, (6, 4): 3.0}


@dataclasses.dataclass(frozen=True)
class Rows:
    count: int


OF_ROWS = {Rows(6): 2.0, Rows(7): 4.0}


def rows_of(x):
    return x.size(0)


@pytest.mark.parametrize(
    "scale",
    (
        lambda x: 2 if x.shape[0] in {6, 7} else 1,
        lambda x: SCALES.get(x.shape[0], 1.0),
        lambda x: SCALES[x.shape[0]] if x.shape[0] in SCALES else 1.0,
        lambda x: SCALES.get((x.size(0), x.shape[1]), 1.0),
        lambda x: SCALES.get(tuple(x.shape), 1.0),
        lambda x: {6: 2.0}.get(x.shape[0], 1.0),
        lambda x: SCALES.get(x.shape[-2], 1.0),
        lambda x: 3 if tuple(x.shape[-2:]) in SCALES.keys() else 1,
        lambda x: 2 if len(x) + 1 in frozenset((7, 8)) else 1,
        lambda x: 2 if (n := x.shape[0]) in SCALES else n,
        lambda x: SCALES.get(abs(x.shape[0]), 1.0),
        lambda x: SCALES.get((min(x.shape[0], 64), 4), 1.0),
        lambda x: SCALES.get(rows_of(x), 1.0),
        lambda x: OF_ROWS.get(Rows(x.shape[0]), 1.0),
    ),
)
def test_a_size_as_a_key_among_numbers(scale):
    class Scaled(torch.nn.Module):
        def forward(self, x):
            return x * scale(x)

    for rows in (6, 5):
        x = torch.randn(rows, 4)
        with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it at 6|right only where (n|n \\+ 1|Min\\(64, n\\)) [=≠] [67]"):
            program = flambeau.export(Scaled(), (x,), dynamic_shapes=({0: "n"},))
        assert torch.equal(program(x)[0], Scaled()(x))


def test_a_size_as_a_key_of_a_cache_that_holds_numbers(recwarn):
    class Cached(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.positions = {}

        def forward(self, x):
            n = x.shape[0]
            if n not in self.positions:
                self.positions[n] = torch.arange(n)[:, None]
            return x + self.positions[n]

    model, x = Cached(), torch.randn(6, 4)
    model(x)
    program = flambeau.export(model, (x,), dynamic_shapes=({0: "n"},))
    assert not [each for each in recwarn if issubclass(each.category, flambeau.errors.ConversionWarning)]
    for rows in (6, 9):
        x = torch.randn(rows, 4)
        assert torch.equal(program(x)[0], Cached()(x))


def test_rows_of_a_size_that_the_model_fixes():
    """Of two elements of a dynamic half, torch has both a dimension that they have not."""

    class Halves(torch.nn.Module):
        def forward(self, x):
            first, second = x.chunk(2, 0)[0].unbind(-1)[:2]
            return first, second

    for x in (torch.arange(4), torch.arange(3)):
        program = flambeau.export(Halves(), (x,), input_names=["x"], dynamic_axes={"x": {0: "n"}}, capture="export", verbose=False)
        torch.testing.assert_close(tuple(program(x)), Halves()(x))


class Keyworded(torch.nn.Module):
    def forward(self, x, a, b):
        return x.sum() + a * 2, b * 3


@pytest.mark.parametrize("capture", ["export", "trace"])
def test_a_sequence_is_in_the_order_of_forward(capture):
    kwargs = {"b": torch.ones(5, 6, 8), "a": torch.ones(4, 7)}
    for shapes in (({}, {0: "na"}, {-1: "nb"}), [None, ("na", None), (None, None, "nb")]):
        program = flambeau.export(Keyworded(), (torch.ones(3),), kwargs=kwargs, dynamic_shapes=shapes, capture=capture, verbose=False)
        assert {value.name: value.sizes for value in program.inputs} == {"x": ["3"], "b": ["5", "6", "nb"], "a": ["na", "7"]}
    with pytest.raises(ValueError, match="dynamic_shapes has 2 entries; the arguments are 3: x, a, b"):
        flambeau.export(Keyworded(), (torch.ones(3),), kwargs=kwargs, dynamic_shapes=({}, {}), capture=capture, verbose=False)
