"""What the documentation of the TorchScript exporter shows works, as it is written there."""

import numpy
import onnx
import onnxruntime
import pytest
import torch
from onnx import numpy_helper

import flambeau
from flambeau.onnx import OperatorExportTypes, export

TRACE = {"dynamo": False}


def agree(program, model, *inputs):
    """The exported model gives PyTorch's results for each of the inputs."""
    for args in inputs:
        expected = [leaf for leaf in torch.utils._pytree.tree_leaves(model(*args)) if leaf is not None]
        for ours, theirs in zip(program(*args), expected, strict=True):
            torch.testing.assert_close(ours, torch.as_tensor(theirs), rtol=1e-4, atol=1e-5)


def sizes(proto):
    return [[dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in (*proto.graph.input, *proto.graph.output)]


class SmallAlexNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 11, stride=4, padding=2), torch.nn.ReLU(inplace=True), torch.nn.MaxPool2d(3, 2)
        )
        self.classifier = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Linear(8 * 3 * 3, 10))

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


def test_alexnet(tmp_path, capsys):
    model, image = SmallAlexNet(), torch.randn(10, 3, 32, 32)
    path = tmp_path / "alexnet.onnx"
    input_names = ["actual_input_1"] + [f"learned_{i}" for i in range(4)]
    export(model, image, path, verbose=True, input_names=input_names, output_names=["output1"], **TRACE)
    shown = capsys.readouterr().out
    assert "graph(%actual_input_1 : Float(10, 3, 32, 32)" in shown and "%learned_0 : Float(8, 3, 11, 11)" in shown
    assert "%output1 : Float(10, 10) = onnx::Gemm[" in shown and "1: Linear # " in shown
    assert "torch/nn/modules/linear.py:" in shown and "return (%output1)" in shown
    proto = onnx.load(path)
    onnx.checker.check_model(proto)
    assert "actual_input_1" in onnx.helper.printable_graph(proto.graph)
    assert all("linear.py" in node.doc_string for node in proto.graph.node if node.op_type == "Gemm")
    session = onnxruntime.InferenceSession(path)
    (result,) = session.run(None, {"actual_input_1": image.numpy()})
    torch.testing.assert_close(torch.tensor(result), model.eval()(image), rtol=1e-4, atol=1e-5)


def test_tracing_warns_of_what_becomes_constant():
    class Item(torch.nn.Module):
        def forward(self, x, y):
            return x.reshape(y.item(), -1)

    class Number(torch.nn.Module):
        def forward(self, x, y):
            return x.reshape(y, -1)

    class Branch(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x
            return torch.from_numpy(x.numpy() * 2)

    x, y = torch.randn(2, 6), torch.tensor(3)
    here = __file__.rpartition("/")[2]
    for model, args, pitfall in ((Item(), (x, y), "Python number"), (Branch(), (x.abs(),), "Python boolean"), (Branch(), (-x.abs(),), "NumPy")):
        with pytest.warns(torch.jit.TracerWarning, match=pitfall) as warned:
            export(model, args, **TRACE)
        assert any(each.filename.endswith(here) for each in warned)
    agree(export(Number(), (x, y), **TRACE), Number(), (x, y), (x, torch.tensor(4)))


def test_shapes_do_not_share_memory():
    class Model(torch.nn.Module):
        def forward(self, states):
            batch_size, seq_length = states.shape[:2]
            real_seq_length = seq_length
            real_seq_length = real_seq_length + 2
            return real_seq_length + seq_length

    program = export(Model(), (torch.randn(2, 3),), input_names=["states"], dynamic_axes={"states": [0, 1]}, **TRACE)
    agree(program, Model(), (torch.randn(2, 3),), (torch.randn(4, 7),))


DATA = torch.arange(60.0).reshape(3, 4, 5)


@pytest.mark.parametrize(
    "index",
    [
        lambda d: d[torch.tensor([[1, 2], [2, -3]]), torch.tensor([-2, 3])],
        lambda d: d[..., torch.tensor([2, -1])],
        lambda d: d[d > 30],
    ],
)
def test_reads_by_index(index):
    class Model(torch.nn.Module):
        def forward(self, data):
            return index(data)

    agree(export(Model(), (DATA,), **TRACE), Model(), (DATA,))


def rank_two(d):
    d[torch.tensor([[1, 2], [2, 0]]), torch.tensor([2, 3])] = torch.arange(20.0).reshape(2, 2, 5)


def not_consecutive(d):
    d[torch.tensor([2, 0]), :, torch.tensor([1, 2])] = torch.arange(8.0).reshape(2, 4)


def negative(d):
    d[torch.tensor([1, -1]), torch.tensor([-2, 3])] = torch.ones(2, 5)


def broadcast(d):
    d[torch.tensor([[0, 2], [1, 1]]), 1:3] = torch.arange(5.0)


@pytest.mark.parametrize("write", [rank_two, not_consecutive, negative, broadcast])
def test_writes_by_index(write):
    class Model(torch.nn.Module):
        def forward(self, data):
            data = data + 0
            write(data)
            return data

    agree(export(Model(), (DATA,), **TRACE), Model(), (DATA,))


def test_writes_in_place():
    class InPlaceIndexedAssignment(torch.nn.Module):
        def forward(self, data, index, new_data):
            data = data.clone()
            data[index] = new_data
            return data

    class InPlaceIndexedAssignmentONNX(torch.nn.Module):
        def forward(self, data, index, new_data):
            new_data = new_data.unsqueeze(0)
            index = index.expand(1, new_data.size(1))
            return data.clone().scatter_(0, index, new_data)

    args = torch.zeros(3, 4), torch.tensor(1), torch.arange(4).to(torch.float32)
    for model in (InPlaceIndexedAssignment(), InPlaceIndexedAssignmentONNX()):
        agree(export(model, args, **TRACE), model, args, (args[0], torch.tensor(2), args[2]))


def test_lists_of_tensors():
    class Unbound(torch.nn.Module):
        def forward(self, x):
            return x.unbind(0)

    class Split(torch.nn.Module):
        def forward(self, x):
            return [torch.squeeze(out, 0) for out in torch.split(x, [1, 1, 1], dim=0)]

    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    for model in (Unbound(), Split()):
        program = export(model, (x,), **TRACE)
        assert len(program.outputs) == 3
        agree(program, model, (x,))


def test_recurrent_sizes_are_fixed_unless_they_are_dynamic():
    layers = 2
    model = torch.nn.LSTM(10, 20, num_layers=layers, bidirectional=True).eval()
    x, h0, c0 = torch.randn(5, 3, 10), torch.randn(layers * 2, 3, 20), torch.randn(layers * 2, 3, 20)
    assert sizes(export(model, (x, (h0, c0)), **TRACE).model_proto)[0] == [5, 3, 10]
    program = export(
        model,
        (x, (h0, c0)),
        input_names=["input", "h0", "c0"],
        output_names=["output", "hn", "cn"],
        dynamic_axes={"input": {0: "sequence"}, "output": {0: "sequence"}},
        **TRACE,
    )
    assert sizes(program.model_proto)[0] == ["sequence", 3, 10]
    longer = torch.randn(8, 3, 10)
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(model(longer, (h0, c0)))
    for ours, theirs in zip(program(longer, (h0, c0)), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_implicit_casts():
    class ImplicitCastType(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
            y = x + 2
            return y + 3

    x = torch.tensor([1.0], dtype=torch.float32)
    agree(export(ImplicitCastType(), x, **TRACE), ImplicitCastType(), (x,))


def test_dynamic_axes():
    class SumModule(torch.nn.Module):
        def forward(self, x):
            return torch.sum(x, dim=1)

    options = {"input_names": ["x"], "output_names": ["sum"], **TRACE}
    assert sizes(export(SumModule(), (torch.ones(2, 2),), **options).model_proto) == [[2, 2], [2]]
    program = export(SumModule(), (torch.ones(2, 2),), dynamic_axes={"x": {0: "my_custom_axis_name"}, "sum": [0]}, **options)
    assert sizes(program.model_proto)[0] == ["my_custom_axis_name", 2]
    agree(program, SumModule(), (torch.randn(5, 2),))
    mixed = {"input_1": [0, 2], "input_2": {0: "batch"}, "output": [0, 1]}

    class Both(torch.nn.Module):
        def forward(self, a, b):
            return a.sum(2) + b[:, :1]

    args = torch.randn(2, 3, 4), torch.randn(2, 4)
    program = export(Both(), args, input_names=["input_1", "input_2"], output_names=["output"], dynamic_axes=mixed, **TRACE)
    agree(program, Both(), args, (torch.randn(5, 3, 6), torch.randn(5, 4)))


def test_arguments_by_name_and_dicts():
    class Named(torch.nn.Module):
        def forward(self, x, y=None, z=None):
            return x - (0 if y is None else y) + (0 if z is None else 2 * z)

    class TakesDict(torch.nn.Module):
        def forward(self, x, d):
            return {"sum": x + d["y"], "product": x * d["y"]}

    x, y = torch.randn(2), torch.randn(2)
    program = export(Named(), (x, {"z": y}), **TRACE)
    torch.testing.assert_close(program(x, z=y)[0], x + 2 * y)
    program = export(TakesDict(), (x, {"y": y}, {}), **TRACE)
    agree(program, TakesDict(), (x, {"y": y}))


class Offsets(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x, steps: int):
        for step in range(steps):
            x = self.linear(x) * 2 + step
        if bool(x.sum() > 0):
            x = x.reshape(2, 2, -1) + 5
        else:
            x = x.reshape(2, 2, -1) * torch.tensor([1.0, 3.0])
        return x > 20_000_000, x


@pytest.mark.parametrize(("opset", "keep"), [(7, None), (8, None), (9, True), (13, True), (20, True)])
def test_constants_are_no_inputs(opset, keep):
    """Where weights are: what a user may feed are inputs and weights."""
    torch.manual_seed(0)
    model = torch.jit.script(Offsets())
    args = torch.randn(2, 4), 3
    proto = export(model, args, opset_version=opset, keep_initializers_as_inputs=keep, **TRACE).model_proto
    onnx.checker.check_model(proto, full_check=True)
    assert proto.ir_version == 3 or opset > 8
    assert [value.name for value in proto.graph.input] == ["x", "steps", "linear.weight", "linear.bias"]
    assert [value.name for value in proto.graph.initializer] == ["linear.weight", "linear.bias"]
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    for x, steps in (args, (-args[0], 2), (args[0] + 1, 1), (args[0], 0)):
        found = session.run(None, {"x": x.numpy(), "steps": numpy.array(steps)})
        for ours, theirs in zip(found, model(x, steps), strict=True):
            torch.testing.assert_close(torch.from_numpy(ours), theirs, rtol=1e-4, atol=1e-4)


class LargeNumbers(torch.nn.Module):
    def forward(self, x):
        return x + torch.tensor([2**24 + 1, -(2**53), 7]), x * torch.tensor([2**53 + 1, 1, 1]), x.to(torch.uint8) + torch.tensor([1, 255, 3], dtype=torch.uint8)


def test_constants_of_old_opsets_keep_their_digits():
    """Constants are floats there, which integers are cast from where these have the digits."""
    x = torch.tensor([1, 2, 3])
    proto = export(LargeNumbers(), (x,), opset_version=8, **TRACE).model_proto
    onnx.checker.check_model(proto, full_check=True)
    assert [value.name for value in proto.graph.input][1:] == [value.name for value in proto.graph.initializer]
    assert [numpy_helper.to_array(value).tolist() for value in proto.graph.initializer] == [[2**53 + 1, 1, 1]]
    found = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x.numpy()})
    for ours, theirs in zip(found, LargeNumbers()(x), strict=True):
        assert torch.from_numpy(ours).equal(theirs)


def test_weights_left_out(tmp_path):
    program = export(torch.nn.Linear(3, 4), (torch.randn(2, 3),), export_params=False, **TRACE)
    assert [value.name for value in program.model_proto.graph.input] == ["input", "weight", "bias"]
    # A constant, such as sizes, is no weight, and stays.
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Unflatten(1, (2, 2)))
    export(model, (torch.randn(2, 3),), tmp_path / "open.onnx", export_params=False, opset_version=18, **TRACE)
    graph = onnx.load(tmp_path / "open.onnx").graph
    assert [value.name for value in graph.input] == ["input", "0.weight", "0.bias"] and not graph.initializer
    assert [node.op_type for node in graph.node] == ["Constant", "Gemm", "Reshape"]
    kept = export(torch.nn.Linear(3, 4), (torch.randn(2, 3),), keep_initializers_as_inputs=True, **TRACE).model_proto
    assert len(kept.graph.input) == 3 and len(kept.graph.initializer) == 2


def test_training_modes():
    from flambeau.onnx import TrainingMode

    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5))
    x = torch.randn(2, 3)
    for mode, dropped in ((TrainingMode.EVAL, False), (TrainingMode.PRESERVE, True), (TrainingMode.TRAINING, True)):
        operators = {node.op_type for node in export(model.train(), (x,), training=mode, do_constant_folding=False, **TRACE).model_proto.graph.node}
        assert bool(operators & {"Dropout", "RandomUniform", "RandomUniformLike", "Bernoulli"}) == dropped
        assert model.training


def test_opset_fallback_to_aten():
    class Triu(torch.nn.Module):
        def forward(self, x):
            return torch.triu(x, 0) * x

    x = torch.randn(3, 3)
    program = export(Triu(), (x,), operator_export_type=OperatorExportTypes.ONNX_ATEN_FALLBACK, **TRACE)
    agree(program, Triu(), (x,))


def test_both_exporters():
    class MyModel(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(1, 4, 5)

        def forward(self, x):
            return torch.relu(self.conv1(x))

    model, x = MyModel(), torch.rand((1, 1, 28, 28), dtype=torch.float32)
    for dynamo in (True, False):
        program = export(model, (x,), input_names=["input"], dynamo=dynamo)
        assert program.inputs[0].name == "input"
        with torch.no_grad():
            agree(program, model, (x,))


def test_batches_of_any_size():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()).eval()
    names = {"input_names": ["input"], "output_names": ["output"]}
    program = export(model, torch.randn(10, 3, 8, 8), dynamic_axes={"input": {0: "batch_size"}, "output": {0: "batch_size"}}, **names, **TRACE)
    assert sizes(program.model_proto) == [["batch_size", 3, 8, 8], ["batch_size", 4]]
    assert "BatchNormalization" not in {node.op_type for node in program.model_proto.graph.node}  # it is in the convolution
    assert all(numpy_helper.to_array(weight).size for weight in program.model_proto.graph.initializer)
    with torch.no_grad():
        agree(program, model, (torch.randn(3, 3, 8, 8),))


def test_elu_and_its_kind_are_registered_as_the_documents_say():
    from flambeau.onnx import register_custom_op_symbolic, unregister_custom_op_symbolic
    from flambeau.onnx.symbolic_helper import _scalar, parse_args

    @parse_args("v", "t", "t", "t")
    def elu(g, input, alpha, scale, input_scale):
        return g.op("Elu", input, alpha_f=_scalar(alpha))

    register_custom_op_symbolic("::elu", elu, 9)
    try:
        program = export(torch.nn.ELU(0.5), torch.ones(1), **TRACE)
    finally:
        unregister_custom_op_symbolic("::elu", 9)
    assert [(node.op_type, node.attribute[0].f) for node in program.model_proto.graph.node] == [("Elu", 0.5)]
    agree(program, torch.nn.ELU(0.5), (-torch.ones(1),))
    assert flambeau.onnx.unconvertible_ops(torch.nn.ELU(), torch.ones(1), opset_version=15)[1] == []


def test_arguments_may_become_attributes_as_they_come():
    from flambeau.onnx import register_custom_op_symbolic, unregister_custom_op_symbolic

    register_custom_op_symbolic("::elu", lambda g, input, alpha, *scales: g.op("Elu", input, alpha_f=alpha), 9)
    register_custom_op_symbolic("::permute", lambda g, input, dims: g.op("Transpose", input, perm_i=dims), 9)
    try:
        program = export(torch.nn.Sequential(torch.nn.ELU(0.5), Permuted()), torch.ones(2, 3), **TRACE)
    finally:
        unregister_custom_op_symbolic("::elu", 9)
        unregister_custom_op_symbolic("::permute", 9)
    elu, transpose = program.model_proto.graph.node
    assert (elu.attribute[0].f, list(transpose.attribute[0].ints)) == (0.5, [1, 0])


class Permuted(torch.nn.Module):
    def forward(self, x):
        return x.permute(1, 0)


@pytest.mark.parametrize(
    ("opset", "keep", "export_type", "are_inputs"),
    [
        (8, False, OperatorExportTypes.ONNX, True),
        (9, False, OperatorExportTypes.ONNX, False),
        (9, None, OperatorExportTypes.ONNX, False),
        (9, None, OperatorExportTypes.ONNX_ATEN_FALLBACK, True),
    ],
)
def test_weights_as_inputs(opset, keep, export_type, are_inputs):
    """All of them before opset 9; in the order of the state_dict."""
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(8, 3))
    options = {"opset_version": opset, "keep_initializers_as_inputs": keep, "operator_export_type": export_type}
    graph = export(model, (torch.ones(1, 1, 4, 4),), **options, **TRACE).model_proto.graph
    weights = [name for name in (value.name for value in graph.initializer) if name in model.state_dict()]
    assert weights == list(model.state_dict())
    assert [value.name for value in graph.input] == ["input", *(each.name for each in graph.initializer)][: None if are_inputs else 1]
