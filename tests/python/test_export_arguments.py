"""Arguments of `flambeau.export` beyond model and inputs."""

import collections
import io
import json
import math

import onnx
import pytest
import torch
from torch.export import Dim

import flambeau
import flambeau.onnx
from flambeau.errors import CaptureError


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 4)

    def forward(self, x, pair):
        return self.fc(x) + pair["a"], x.sum(0)


class Apart(torch.nn.Module):
    def forward(self, x, y):
        return x * 2 + y


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}, {"dynamo": False}], ids=str)
def test_one_tensor_for_two_inputs_is_two_inputs(options):
    same = torch.randn(3)
    program = flambeau.export(Apart(), (same, same), **options)
    x, y = torch.randn(3), torch.randn(3)
    torch.testing.assert_close(program(x, y)[0], x * 2 + y)


ARGS = (torch.randn(3, 8), {"a": torch.randn(3, 4)})
AUTO, DYNAMIC, STATIC = Dim.AUTO, Dim.DYNAMIC, Dim.STATIC


def shape(program, i=0):
    return list(program.model.graph.inputs[i].shape)


@pytest.mark.parametrize(
    ("shapes", "first"),
    [
        ({"x": {0: "n"}, "pair": {"a": {0: "n"}}}, "n"),
        (({0: "n"}, {"a": {0: "n"}}), "n"),
        ([{0: "n"}, {"a": ["n", None]}], "n"),
        ({"x": {0: Dim("n")}, "pair": {"a": {0: Dim("n")}}}, "n"),
        ({"x": {0: Dim("n", min=2, max=9), 1: 8}, "pair": {"a": (Dim("n", min=2, max=9), STATIC)}}, "n"),
        ({"x": {0: AUTO}, "pair": {"a": {0: AUTO}}}, None),
        ({"x": {0: DYNAMIC, 1: STATIC}, "pair": {"a": {0: DYNAMIC}}}, None),
    ],
    ids=["names", "tuple", "list", "dims", "bounds", "auto", "dynamic"],
)
def test_dynamic_shapes(shapes, first):
    program = flambeau.export(Two(), ARGS, dynamic_shapes=shapes)
    dims = shape(program)
    assert dims[1] == 8 and not isinstance(dims[0], int)
    assert first is None or dims[0] == first
    actual = program(torch.ones(5, 8), {"a": torch.ones(5, 4)})
    assert actual[0].shape == (5, 4)


def test_arguments_left_out_are_static():
    class Model(torch.nn.Module):
        def forward(self, x, y):
            return x * 2, y * 2

    program = flambeau.export(Model(), (torch.ones(3), torch.ones(4)), dynamic_shapes={"x": {0: "n"}})
    assert (shape(program), shape(program, 1)) == (["n"], [4])


def test_keys_may_be_names_of_inputs():
    shapes = {"image": {0: "n"}, "offset": {0: "n"}}
    program = flambeau.export(Two(), ARGS, dynamic_shapes=shapes, input_names=["image", "offset"])
    assert [value.name for value in program.model.graph.inputs] == ["image", "offset"]
    assert (shape(program), shape(program, 1)) == (["n", 8], ["n", 4])
    program = flambeau.export(
        Two(), ARGS, dynamic_shapes={"x": {0: "n"}, "pair": {"a": {0: "n"}}}, input_names=["image", "offset"]
    )
    assert shape(program) == ["n", 8]
    with pytest.raises(ValueError, match="'picture'.*image"):
        flambeau.export(Two(), ARGS, dynamic_shapes={"picture": {0: "n"}}, input_names=["image", "offset"])


def test_dynamic_axes_of_nested_and_keyword_arguments():
    class Model(torch.nn.Module):
        def forward(self, x, *, late):
            return x + late["b"]

    program = flambeau.export(
        Model(),
        (torch.ones(3, 2),),
        kwargs={"late": {"b": torch.ones(3, 2)}},
        input_names=["x", "late_b"],
        output_names=["sum"],
        dynamic_axes={"x": [0], "late_b": {0: "x_dynamic_axes_1"}, "sum": [0]},
    )
    assert shape(program) == shape(program, 1) == ["x_dynamic_axes_1", 2]
    assert list(program.model.graph.outputs[0].shape) == ["x_dynamic_axes_1", 2]


@pytest.mark.parametrize(("dynamo", "names"), [(True, ["x", "rest_0_a", "rest_0_b_1", "late"]), (False, ["x", "rest_0", "rest_1", "late"])])
@pytest.mark.parametrize("how", ["dynamic_axes", "dynamic_shapes"])
def test_axes_of_inputs_by_the_names_that_they_get_by_themselves(dynamo, names, how):
    class Model(torch.nn.Module):
        def forward(self, x, *rest, late):
            return x + rest[0]["a"] + rest[0]["b.1"] + late

    x = torch.ones(3, 2)
    program = flambeau.export(Model(), (x, {"a": x, "b.1": x}), kwargs={"late": x}, dynamo=dynamo, **{how: {name: {0: "n"} for name in names}})
    assert [value.name for value in program.inputs] == names
    assert [shape(program, i) for i in range(4)] == [["n", 2]] * 4


def test_arguments_of_classes_that_name_no_keys():
    class Pair:
        def __init__(self, *both):
            self.both = both

    class Model(torch.nn.Module):
        def forward(self, pair):
            return pair.both[0] + pair.both[1]

    torch.utils._pytree.register_pytree_node(Pair, lambda pair: (list(pair.both), None), lambda both, _: Pair(*both))
    x = torch.ones(3, 2)
    program = flambeau.export(Model(), (Pair(x, x),), dynamo=False, dynamic_axes={"pair_0": {0: "n"}, "pair_1": {0: "n"}})
    assert shape(program) == shape(program, 1) == ["n", 2]
    with pytest.raises(CaptureError, match="flatten_with_keys"):
        flambeau.export(Model(), (Pair(x, x),))


@pytest.mark.parametrize("dynamo", [True, False])
def test_an_argument_by_itself(dynamo):
    class Add(torch.nn.Module):
        def forward(self, x, y=1):
            return torch.ones(2) + x + y

    for args, expected in ((torch.ones(2), 3), (2, 4), (0.5, 2.5), (True, 3), ({"x": torch.ones(2), "y": 2}, 4), ([torch.ones(2), 2], 4)):
        program = flambeau.export(Add(), args, dynamo=dynamo)
        given = args if isinstance(args, list) else list(args.values()) if isinstance(args, dict) else [args]
        assert program(*given)[0].tolist() == [expected] * 2


@pytest.mark.parametrize("size", [1, 2])
def test_example_of_size_one_freezes_nothing(size, recwarn):
    class Model(torch.nn.Module):
        def forward(self, x, y):
            return (x.reshape(x.shape[0], -1) @ y).softmax(-1)

    model, shapes = Model(), {"x": {0: "n"}, "y": {1: "m"}}
    program = flambeau.export(model, (torch.randn(size, 2, 3), torch.randn(6, size)), dynamic_shapes=shapes)
    assert not [warning for warning in recwarn if "frozen" in str(warning.message)]
    args = torch.randn(4, 2, 3), torch.randn(6, 5)
    torch.testing.assert_close(program(*args)[0], model(*args))


def test_capture_that_fails_says_the_line_and_what_was_tried(capfd):
    class Model(torch.nn.Module):
        def forward(self, x):
            return x + 1 if math.sqrt(x.sum()) > 1 else x

    with pytest.raises(flambeau.errors.CaptureError, match=r"test_export_arguments.py:\d+: .*math.sqrt(?s:.*)tried: non-strict(?s:.*)hint: .*capture=\"trace\""):
        flambeau.export(Model(), (torch.ones(4),), capture="export")
    assert "def forward" not in capfd.readouterr().err  # torch prints the graph so far


def test_capture_strategies():
    program = flambeau.export(Two(), ARGS, capture_strategies=["strict"])
    assert program.capture_strategy == "strict"
    assert flambeau.export(Two(), ARGS).capture_strategy == "non-strict"
    assert flambeau.export(Two(), ARGS, capture_strategies=["draft"]).capture_strategy == "draft"
    model = torch.nn.Linear(3, 2)
    traced = flambeau.export(model, (torch.ones(4, 3),), capture_strategies=["torchscript"], verify=True)
    assert traced.capture_strategy == "torchscript"
    torch.testing.assert_close(traced(torch.ones(4, 3))[0], model(torch.ones(4, 3)))
    with pytest.raises(ValueError, match="'guess'"):
        flambeau.export(Two(), ARGS, capture_strategies=["guess"])


def test_trace_where_all_else_fails():
    class Branches(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x

    program = flambeau.export(Branches(), (torch.ones(4),), capture_strategies=["non-strict", "torchscript"], verify=True)
    assert program.capture_strategy == "torchscript" and program(torch.ones(4))[0].tolist() == [2] * 4


@pytest.mark.parametrize("dynamo", [True, False])
def test_autocast_around_the_export_is_part_of_the_model(dynamo):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(4, 4)

        def forward(self, x, **late):
            return self.fc(x) + self.fc(late["y"])

    model, x = Model(), torch.randn(3, 4)
    shapes = {"x": {0: "n"}, "y": {0: "n"}}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = model(x, y=x)
        program = flambeau.export(model, (x,), kwargs={"y": x}, dynamo=dynamo, dynamic_shapes=shapes)
    assert expected.dtype is torch.bfloat16 and "forward" not in vars(model)
    assert not torch.is_autocast_enabled("cpu") and torch.is_autocast_cache_enabled()
    torch.testing.assert_close(program(x, y=x)[0], expected)
    assert shape(program) == shape(program, 1) == ["n", 4]


def test_is_in_onnx_export():
    class Model(torch.nn.Module):
        def forward(self, x):
            return x + 1 if torch.onnx.is_in_onnx_export() else x - 1

    assert flambeau.export(Model(), (torch.zeros(2),))(torch.zeros(2))[0].tolist() == [1, 1]
    assert not torch.onnx.is_in_onnx_export()


@pytest.mark.needs("torch.onnx.ExportableModule")
def test_exportable_module():
    class Model(torch.onnx.ExportableModule):
        def forward(self, x):
            return x * 2

        def example_arguments(self):
            return (torch.ones(3, 4),), None

        def input_names(self):
            return ["input"]

        def output_names(self):
            return ["output"]

        def dynamic_shapes(self):
            return ({0: "batch"},)

    graph = flambeau.export(Model()).model.graph
    assert (graph.inputs[0].name, graph.outputs[0].name, list(graph.inputs[0].shape)) == ("input", "output", ["batch", 4])


def test_artifacts(tmp_path):
    flambeau.export(
        Two(), ARGS, report=True, verify=True, profile=True, dump_exported_program=True, artifacts_dir=tmp_path / "made"
    )
    files = sorted(path.name.split("_", 4)[-1] for path in (tmp_path / "made").iterdir())
    assert [name.rpartition(".")[2] for name in files] == ["pt2", "html", "json", "md", "json"]
    (archive,) = (tmp_path / "made").glob("*.pt2")
    assert torch.export.load(archive).module()(*ARGS)[0].shape == (3, 4)
    (trace,) = (tmp_path / "made").glob("*_trace.json")
    events = json.loads(trace.read_text())["traceEvents"]
    assert {"capture: non-strict", "lowered", "verify"} <= {event["name"] for event in events}
    assert [event["ts"] for event in events] == sorted(event["ts"] for event in events)


def test_bytes_io_and_keep_initializers():
    stream = io.BytesIO()
    flambeau.export(Two(), ARGS, stream, keep_initializers_as_inputs=True)
    model = onnx.load_model_from_string(stream.getvalue())
    assert {"fc.weight", "fc.bias"} <= {value.name for value in model.graph.input}


def test_without_constant_folding():
    class Model(torch.nn.Module):
        def forward(self, x):
            return x + torch.arange(3).float().reshape(3, 1) * 2

    folded = flambeau.export(Model(), (torch.ones(3, 2),))
    kept = flambeau.export(Model(), (torch.ones(3, 2),), do_constant_folding=False)
    assert len(kept.model_proto.graph.node) > len(folded.model_proto.graph.node)


def test_progress_interrupts():
    def progress(stage, done, total):
        return stage != "lowering"

    with pytest.raises(flambeau.errors.OnnxExporterError, match="interrupted"):
        flambeau.export(Two(), ARGS, progress=progress)


@pytest.mark.needs("torch.onnx.InputObserver")
def test_input_observer():
    """What torch's observer infers from calls is what an export takes."""
    model = torch.nn.Linear(4, 2)
    observer = torch.onnx.InputObserver()
    with observer(model):
        model(torch.randn(3, 4))
        model(torch.randn(5, 4))
    args = observer.infer_arguments()
    args, kwargs = ((), args) if isinstance(args, dict) else (args, None)
    program = flambeau.export(model, args, kwargs=kwargs, dynamic_shapes=observer.infer_dynamic_shapes())
    assert not isinstance(shape(program)[0], int)
    torch.testing.assert_close(program(torch.ones(7, 4))[0], model(torch.ones(7, 4)))


def test_target_says_which_kernels_there_are():
    class Erf(torch.nn.Module):
        def forward(self, x):
            return torch.erf(x)

    def operators(**options):
        program = flambeau.export(Erf(), (torch.ones(3, dtype=torch.float64),), verbose=False, **options)
        return [node.op_type for node in program.model_proto.graph.node]

    assert operators() == operators(target="ort")
    assert "Erf" not in operators()
    assert operators(target="strict") == ["Erf"]
    with pytest.raises(ValueError, match="target is 'tensorrt'; it must be one of ort, strict"):
        operators(target="tensorrt")


class TwoOptional(torch.nn.Module):
    def forward(self, a, b=None, c=None):
        return a * b.sum() - c.prod()


def test_a_trace_orders_keyword_arguments_as_forward_does(tmp_path):
    """As torch's two exporters do it: the other one keeps the order in which they were given."""
    given = {"c": torch.ones(4, 3), "b": torch.ones(3, 3), "a": torch.ones(2, 3)}
    names = ["first", "second", "third"]
    traced = flambeau.export(TwoOptional(), (dict(given),), dynamo=False, input_names=names)
    assert [value.sizes[0] for value in traced.inputs] == ["2", "3", "4"]
    exported = flambeau.export(TwoOptional(), kwargs=dict(given), input_names=names)
    assert [value.sizes[0] for value in exported.inputs] == ["4", "3", "2"]


@pytest.mark.parametrize(("options", "beside"), [({"dynamo": False}, False), ({"dynamo": True}, True)])
def test_where_weights_go(options, beside, tmp_path):
    """torch's TorchScript exporter writes one file until that is too small."""
    flambeau.export(torch.nn.Linear(200, 200), (torch.ones(2, 200),), tmp_path / "model.onnx", **options)
    assert (tmp_path / "model.onnx.data").exists() is beside


def test_axes_of_outputs_have_the_names_that_a_trace_is_told():
    class Cat(torch.nn.Module):
        def forward(self, past, now):
            return torch.cat([past, now], 1), past[past > 0], past.new_zeros(3)

    program = flambeau.export(
        Cat(),
        (torch.ones(2, 5), torch.ones(2, 3)),
        dynamo=False,
        input_names=["past", "now"],
        output_names=["y", "positive", "constant"],
        dynamic_axes={"past": {0: "batch", 1: "past"}, "now": {0: "batch", 1: "now"}, "y": {0: "rows", 1: "past + now"}, "positive": [0], "constant": {0: "three"}},
    )
    assert [value.sizes for value in program.outputs] == [["rows", "past + now"], ["positive_dynamic_axes_1"], ["3"]]
    dim = program.model_proto.graph.output[0].type.tensor_type.shape.dim[1]
    assert dim.dim_param == "past + now", "no quotes"
    past, now = torch.randn(4, 2), torch.randn(4, 6)
    for got, expected in zip(program(past, now), Cat()(past, now), strict=True):
        torch.testing.assert_close(got, expected)


def test_nodes_that_came_after_the_capture():
    """Whoever edits a captured graph does not record what the new nodes give."""

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.cat([x + 1, x.sin()], 0)

    x = torch.randn(2, 3)
    exported = torch.export.export(Net(), (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    graph = exported.graph
    (sine,) = (node for node in graph.nodes if node.target is torch.ops.aten.sin.default)
    with graph.inserting_after(sine):
        halves = graph.call_function(torch.ops.aten.split.Tensor, (sine, 2, 1))
        half = graph.call_function(torch.ops.aten.mul.Tensor, (sine, 0.5))
    with graph.inserting_after(halves):
        first = graph.call_function(torch.ops.aten.detach.default, (half,))
    sine.replace_all_uses_with(first, delete_user_cb=lambda user: user.target is torch.ops.aten.cat.default)
    graph.lint()
    program = flambeau.export(exported)
    for rows in (2, 5):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(program(x)[0], torch.cat([x + 1, x.sin() * 0.5]))
    assert "val" not in first.meta, "the caller's program stays as it is"


X = torch.randn(3, 4)


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 2)

    def forward(self, x, pair=None):
        return self.fc(x) if pair is None else self.fc(x) + pair["a"]


class Unequal(torch.nn.Module):
    def forward(self, x):
        return x.sum(1) + torch.arange(x.shape[1])


class Jagged(torch.nn.Module):
    def forward(self, x):
        return torch.nested.nested_tensor([x, x[1:]], layout=torch.jagged).to_padded_tensor(0.0)


class Branch(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Slope(Scaled):
    def forward(self, x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(self.fc(x).tanh().sum(), x)[0]


@pytest.mark.parametrize(
    ("model", "args", "options", "error", "message"),
    [
        (Scaled(), (X,), {"opset_versoin": 18}, TypeError, "no argument 'opset_versoin'; did you mean 'opset_version'"),
        (Scaled(), (X,), {"opset_version": "18"}, TypeError, "opset_version is '18'; it must be an int"),
        (Scaled(), (X,), {"training": "eval"}, TypeError, "training is 'eval'; it must be a torch.onnx.TrainingMode"),
        (Scaled(), (X,), {"operator_export_type": 0}, TypeError, "operator_export_type is 0; it must be"),
        (Scaled(), (X,), {"opset": 18}, TypeError, "no argument 'opset'; did you mean 'opset_version'"),
        (Scaled(), (X,), {"input_names": "x"}, TypeError, r"input_names is 'x'; it must be a sequence of names, such as \['x'\]"),
        (Scaled(), (X,), {"f": 5}, TypeError, "f is 5; it must be a path"),
        (Scaled(), (X,), {"kwargs": (1,)}, TypeError, r"kwargs is \(1,\); it must be a dict of arguments by name"),
        (Scaled(), (X,), {"custom_opsets": ["mylib"]}, TypeError, r"custom_opsets is \['mylib'\]; it must be a dict of versions"),
        (Scaled(), (X,), {"custom_translation_table": [1]}, TypeError, r"custom_translation_table is \[1\]; it must be a dict"),
        (torch.relu, (X,), {}, TypeError, "of the type builtin_function_or_method: call it in the forward of an nn.Module.*; it must be an nn.Module"),
        (Scaled, (X,), {}, TypeError, r"the model is the class Scaled, not a module: call Scaled\(...\) to make one"),
        (Scaled(), None, {}, TypeError, "args is None; it must be a tuple of what forward takes, or a tensor"),
        (Scaled(), X.numpy(), {}, TypeError, r"args is array\(.*; it must be a tuple"),
        (Scaled(), (), {}, TypeError, r"Scaled.forward does not take the example arguments .*'x'; it is forward\(x, pair=None\)"),
        (Scaled(), (X.double(),), {}, CaptureError, "Scaled does not run on these arguments .*return self.fc.*same dtype"),
        (Scaled(), (X.long(),), {}, CaptureError, "Scaled does not run on these arguments .*return self.fc.*same dtype"),
        (Scaled(), (X[:, :3],), {}, CaptureError, r"(?s)Scaled does not run on these arguments .*cannot be multiplied.*given: float32\[\d, 3\]\n.*hint: .*model\("),
        (Branch(), (X,), {"capture": "export"}, CaptureError, r"(?s)cannot capture Branch \(at .*if x.sum\(\) > 0.*hint: .*torch.cond.*torch.where"),
        (Jagged(), (X,), {}, CaptureError, r"(?s)torch.export cannot capture Jagged \(at .*torch.nested.*hint: .*pad_sequence"),
        (Jagged(), (X,), {"capture": "trace"}, CaptureError, r"(?s)torch.jit.trace cannot capture Jagged \(at .*torch.nested.*hint: .*pad_sequence"),
        (Slope(), (X,), {"capture": "trace"}, CaptureError, r'torch.jit.trace cannot capture Slope .*as a constant[^\n]*\n  hint: .*: export with capture="export"$'),
        (Unequal(), (X[:3, :2],), {"dynamic_shapes": ({0: "b", 1: "n"},)}, CaptureError, r"(?s)Unequal does not run on these arguments .*must match.*given: float32\[3, 2\]"),
        (Scaled(), (X,), {"dynamic_shapes": {"x": {0: Dim("b", min=50)}}}, ValueError, "dimension 0 of 'x' is at least 50, and the example has"),
        (Scaled(), (torch.randn(7, X.shape[1]),), {"dynamic_shapes": {"x": {0: Dim("b", max=6)}}}, ValueError, "is at most 6, and the example has 7: give"),
        (Scaled(), (X,), {"dynamic_shapes": ({0: "b"}, None)}, ValueError, "has 2 entries; the arguments are 1: x"),
        (Scaled(), (X,), {"dynamic_shapes": {"x": {2: "b"}}}, ValueError, "dimension 2 of 'x', which has 2 dimensions"),
        (Scaled(), (X,), {"dynamic_shapes": {"x": {0: 2.5}}}, ValueError, "2.5 for dimension 0 of 'x'; it must be a name"),
        (Scaled(), (X,), {"dynamic_shapes": ("b",)}, ValueError, "'b' for 'x'; it must be a dict"),
        (Scaled(), (X, {"a": X[:, :2]}), {"dynamic_shapes": {"pair": {"a": ("b",)}}}, ValueError, r"1 dimensions for 'pair\['a'\]', which has 2"),
    ],
)
def test_what_cannot_be_meant_is_said_in_a_line(model, args, options, error, message, capfd):
    with pytest.raises(error, match=message) as caught:
        flambeau.export(model, args, **options)
    assert not any(words in str(caught.value) for words in ("TORCH_LOGS", "exportdb", "draft_export"))
    assert capfd.readouterr() == ("", "")


def test_dimensions_count_from_the_end_too():
    assert flambeau.export(Scaled(), (X,), dynamic_shapes={"x": {-2: "b"}}).inputs[0].sizes == ["b", "4"]
    with pytest.warns(UserWarning, match="axis 2 of 'x', which has 2; it is ignored"):
        program = flambeau.export(Scaled(), (X,), dynamic_axes={"x": {0: "b", 2: "height"}})
    assert program.inputs[0].sizes == ["b", "4"]


def test_arguments_of_another_structure():
    with pytest.raises(TypeError, match=r"the arguments are \(\*, \*\); the model was captured with \(\*\)"):
        flambeau.export(Scaled(), (X,))(X, X)


Pair = collections.namedtuple("Pair", "a b")


class OfPair(torch.nn.Module):
    def forward(self, pair):
        return pair[0] + pair[1]


@pytest.mark.parametrize("pair", [Pair(X, X), [X, X], (X, X)])
@pytest.mark.parametrize("kind", [Pair._make, list, tuple])
def test_dynamic_shapes_of_sequences_may_be_any_sequence(pair, kind):
    program = flambeau.export(OfPair(), (pair,), dynamic_shapes={"pair": kind([{0: "b"}, {0: torch.export.Dim("b")}])})
    assert [value.sizes for value in program.inputs] == [["b", "4"]] * 2


class WithNumbers(torch.nn.Module):
    def forward(self, n, x, gap=None, y=None):
        return x * n + y


@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("names", [["n", "p", "gap", "q"], ["p", "q"]])
def test_names_of_all_arguments_or_of_the_inputs(names, dynamo):
    if not dynamo and len(names) == 2:
        names = ["n", *names]  # a trace keeps numbers
    program = flambeau.export(WithNumbers(), (3, X, None, X), input_names=names, dynamic_axes={"q": {0: "b"}, "p": {0: "b"}}, dynamo=dynamo)
    assert {value.name: value.sizes for value in program.inputs if value.name != "n"} == {"p": ["b", "4"], "q": ["b", "4"]}
    torch.testing.assert_close(program(3, X, None, X)[0], X * 4)


class WithIdleWeights(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.idle, self.second = (torch.nn.Parameter(torch.full((4,), value)) for value in (1.0, 2.0, 3.0))
        self.register_buffer("passing", torch.full((4,), 4.0), persistent=False)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x * self.first + self.second + self.passing)


@pytest.mark.parametrize("export_params", [True, False])
@pytest.mark.parametrize("by", [flambeau.onnx, torch.onnx], ids=["flambeau", "torch"])
def test_names_of_weights_follow_the_state_dict(by, export_params):
    """Those of weights that the model does not need, or that are folded, are left out."""
    model, written = WithIdleWeights().eval(), io.BytesIO()
    names = ["x", "A", "idle", "B", *(f"norm_{i}" for i in range(5))]
    by.export(model, (X,), written, dynamo=False, opset_version=17, input_names=names, export_params=export_params)
    graph = onnx.load_from_string(written.getvalue()).graph
    found = [value.name for value in (graph.initializer if export_params else graph.input)]
    assert [name for name in found if len(name) == 1 and name != "x"] == ["A", "B"]
    values = {each.name: onnx.numpy_helper.to_array(each).flat[0] for each in graph.initializer}
    assert not export_params or (values["A"], values["B"]) == (1, 3)


class Noisy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.drop, self.idle = torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.Dropout(0.0)

    def forward(self, x):
        return self.idle(self.drop(self.linear(x)))


def test_training_mode_is_told_where_it_makes_a_difference(recwarn):
    model, x = Noisy(), torch.randn(2, 3)
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"difference to drop: call model.eval\(\) before, or say training="):
        program = flambeau.export(model, (x,))
    assert model.training and [node.op_type for node in program.model_proto.graph.node] == ["Gemm"]
    recwarn.clear()
    flambeau.export(model.eval(), (x,))
    flambeau.export(model.train(), (x,), verbose=False)
    flambeau.export(torch.nn.Linear(3, 3), (x,))
    alike = torch.nn.BatchNorm1d(3, track_running_stats=False), torch.nn.InstanceNorm1d(3), torch.nn.RReLU(0.25, 0.25)
    flambeau.export(torch.nn.Sequential(*alike), (torch.randn(2, 3, 4),))
    assert not [each for each in recwarn if "training mode" in str(each.message)]
    model.eval().drop.train()  # as of models whose dropout is meant
    with pytest.warns(flambeau.errors.ConversionWarning, match="a part of the model is in training mode.*difference to drop:"):
        flambeau.export(model, (x,))
    kept = flambeau.export(model, (x,), training=torch.onnx.TrainingMode.PRESERVE, verbose=False)
    assert "Dropout" in {node.op_type for node in kept.model_proto.graph.node}


def test_what_cannot_be_written_says_why(tmp_path):
    for target, says in ((tmp_path / "no/model.onnx", "there is no folder .*/no"), (tmp_path, "it is a folder"), ("/dev/full", "No space left")):
        with pytest.raises(flambeau.errors.OnnxExporterError, match=says):
            flambeau.export(Scaled(), (X,), target)
    with open(tmp_path / "text.onnx", "w") as file, pytest.raises(TypeError, match="mode 'wb'"):
        flambeau.export(Scaled(), (X,), file)
    with pytest.raises(TypeError, match="f is ''; it must be a path"):
        flambeau.export(Scaled(), (X,), "")
    with pytest.raises(flambeau.errors.OnnxExporterError, match="artifacts_dir chooses another"):
        flambeau.export(Scaled(), (X,), report=True, artifacts_dir="/dev/null/reports")


def test_a_trace_with_a_part_in_training_mode():
    model, x = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).eval(), torch.randn(6, 4)
    model[1].train()
    assert flambeau.export(torch.jit.trace(model, (x,), check_trace=False), (x,)).outputs
