"""Metadata: the keys that torch.onnx documents, at each level."""

import onnx
import pytest
import torch

import flambeau


class Sub(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.register_buffer("kept", torch.ones(4))
        self.register_buffer("lost", torch.zeros(4), persistent=False)

    def forward(self, x):
        return torch.relu(self.fc(x)) + self.kept + self.lost  # the line


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = Sub()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count.add_(1)
        return torch.cat([self.sub(x), x], 1)


def of(item):
    return {entry.key: entry.value for entry in item.metadata_props}


@pytest.fixture(scope="module")
def models():
    def convert(**options):
        program = flambeau.export(
            Model(), (torch.randn(3, 4),), dynamic_shapes=({0: "n"},), input_names=["image"], user_metadata={"who": "me"}, **options
        )
        return program.model_proto

    made = {level: convert(metadata=level) for level in ("release", "namespace", "default", "debug")}
    return {**made, "states": convert(state_outputs=True)}


def test_nodes(models):
    relu = next(node for node in models["debug"].graph.node if node.op_type == "Relu")
    found = of(relu)
    here = __name__
    assert found["namespace"] == f": {here}.Model/sub: {here}.Sub/relu: aten.relu.default"
    assert found["pkg.torch.onnx.class_hierarchy"] == f"['{here}.Model', '{here}.Sub', 'aten.relu.default']"
    assert found["pkg.torch.onnx.name_scopes"] == "['', 'sub', 'relu']"
    assert found["pkg.torch.onnx.fx_node"] == (
        "%relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%linear,), kwargs = {})"
    )
    assert "# the line" in found["pkg.torch.onnx.stack_trace"] and "test_metadata.py" in found["pkg.torch.onnx.stack_trace"]


def test_node_texts_are_those_of_torch(models):
    """Word for word what torch.fx prints, weights by their placeholders."""
    exported = flambeau.export(Model(), (torch.randn(3, 4),), dynamic_shapes=({0: "n"},)).exported_program
    texts = {node.format_node() for node in exported.graph.nodes}
    for node in models["debug"].graph.node:
        if node.op_type in ("Gemm", "Relu", "Concat"):
            assert of(node)["pkg.torch.onnx.fx_node"] in texts


class Deep(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU()) for _ in range(3)])
        self.size = torch.nn.Parameter(torch.full((4,), 2.0))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        rows = torch.zeros(x.shape[0] * 2, 4, dtype=torch.float32)
        values, _ = torch.topk(x * 1e10, 2)
        return torch.where(x > 0, x, 0.0) * self.size, rows, values, torch.full_like(x, 1e-6)


def keyed(model):
    """The properties of the nodes that one captured node became, by its name."""
    return {of(node)["namespace"].rsplit("/")[-1].partition(":")[0]: of(node) for node in model.graph.node if of(node)}


def test_nodes_are_described_as_torch_onnx_does():
    arguments = {"dynamic_shapes": ({0: "n"},), "optimize": False}
    ours = flambeau.export(Deep().eval(), (torch.randn(3, 4),), metadata="debug", **arguments)
    theirs = keyed(torch.onnx.export(Deep().eval(), (torch.randn(3, 4),), dynamo=True, verbose=False, **arguments).model_proto)
    keys = ("namespace", "pkg.torch.onnx.class_hierarchy", "pkg.torch.onnx.name_scopes", "pkg.torch.onnx.stack_trace")
    compared = 0
    for name, found in keyed(ours.model_proto).items():
        # torch.onnx decomposes first: other nodes are as they were captured.
        expected = theirs.get(name)
        if expected is None or expected[keys[1]] != found[keys[1]]:
            continue
        compared += 1
        assert {key: found[key] for key in keys} == {key: expected[key] for key in keys}
    assert compared >= 10
    texts = {node.name: node.format_node() for node in ours.exported_program.graph.nodes}
    for name, found in keyed(ours.model_proto).items():
        assert found["pkg.torch.onnx.fx_node"] == texts[name]


class Rows(torch.nn.Module):
    def forward(self, x):
        return torch.stack([row * 2 for row in x.unbind(0)], 1)


def test_descriptions_grow_as_the_model_does():
    # A stack of n rows becomes n nodes, and so does what takes the rows: each of them describes all of the call.
    def described(n):
        nodes = flambeau.export(Rows(), (torch.randn(n, 4),), capture="trace").model_proto.graph.node
        return sum(len(entry.value) for node in nodes for entry in node.metadata_props), nodes

    few, _ = described(100)
    many, nodes = described(800)
    assert many < 9 * few
    assert any(of(node)["pkg.torch.onnx.fx_node"].endswith(", ...], 1), kwargs = {})") for node in nodes if node.op_type == "Unsqueeze")


class Fused(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(3, 3, 3), torch.nn.BatchNorm2d(3)
        self.weight = torch.nn.Parameter(torch.randn(6, 5))

    def forward(self, x):
        y = self.norm(self.conv(x)).flatten(1)[:, :6]
        return y @ self.weight + torch.ones(5)


def test_fused_nodes_name_all_their_sources():
    model = flambeau.export(Fused().eval(), (torch.randn(2, 3, 4, 4),), metadata="debug").model_proto
    conv, gemm = (next(of(node) for node in model.graph.node if node.op_type == op) for op in ("Conv", "Gemm"))
    lines = conv["pkg.torch.onnx.fx_node"].splitlines()
    assert [line.split(" ", 1)[0] for line in lines] == ["%batch_norm", "%conv2d"] or lines[0].startswith("%conv2d")
    assert len(lines) == 2 and "self.norm(self.conv(x))" in conv["pkg.torch.onnx.stack_trace"]
    assert {part in conv["pkg.flambeau.merged_namespaces"] + conv["namespace"] for part in ("/conv: ", "/norm: ")} == {True}
    assert {line.split(" ", 1)[0] for line in gemm["pkg.torch.onnx.fx_node"].splitlines()} >= {"%matmul", "%add"}


def without_weights(model):
    for tensor in model.graph.initializer:
        tensor.ClearField("raw_data")
    return model.ByteSize()


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.attention = torch.nn.LayerNorm(width), torch.nn.MultiheadAttention(width, 2, batch_first=True)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.Linear(width, width))

    def forward(self, x):
        y = self.norm(x)
        return x + self.mlp(self.attention(y, y, y, need_weights=False)[0])


@pytest.mark.parametrize("made", [
    lambda: (torch.nn.Sequential(*(Block(8) for _ in range(3))), torch.randn(1, 4, 8)),
    lambda: (torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()) for _ in range(12))), torch.randn(1, 4)),
    lambda: (torch.nn.Sequential(*(torch.nn.Conv2d(3, 3, 1) for _ in range(9))), torch.randn(1, 3, 4, 4)),
])  # fmt: skip
def test_namespaces_take_a_tenth(made):
    model, x = made()
    bare, named = (flambeau.export(model.eval(), (x,), metadata=level).model_proto for level in ("release", "namespace"))
    full = without_weights(named)
    assert full - without_weights(bare) <= 0.1 * full


def test_brief_namespaces_are_at_the_first_node_of_a_module():
    model = torch.nn.Sequential(*(Block(8) for _ in range(3))).eval()
    proto = flambeau.export(model, (torch.randn(1, 4, 8),), metadata="namespace").model_proto
    named = [of(node)["namespace"] for node in proto.graph.node if of(node)]
    assert {"0.norm", "0.attention", "1.mlp.0", "2.mlp.2"} <= set(named) and len(named) < len(proto.graph.node)
    assert all(a != b for a, b in zip(named, named[1:]))


def test_graph_and_model(models):
    properties = of(models["default"].graph)
    assert "PARAMETER target='sub.fc.weight'" in properties["pkg.torch.export.ExportedProgram.graph_signature"]
    assert "VR[" in properties["pkg.torch.export.ExportedProgram.range_constraints"]
    assert all(of(model) == {"who": "me"} for model in models.values())


def test_values(models):
    graph = models["default"].graph
    kind, persistent, original = (
        "pkg.torch.export.graph_signature.InputSpec.kind",
        "pkg.torch.export.graph_signature.InputSpec.persistent",
        "pkg.torch.onnx.original_node_name",
    )
    assert of(graph.input[0]) == {kind: "USER_INPUT", persistent: "None", original: "x"}
    known = {value.name: of(value) for value in graph.value_info}
    assert known["sub.fc.weight"] == {kind: "PARAMETER", persistent: "None", original: "p_sub_fc_weight"}
    assert known["sub.kept"] == {kind: "BUFFER", persistent: "True", original: "b_sub_kept"}
    assert known["sub.lost"] == {kind: "BUFFER", persistent: "False", original: "b_sub_lost"}
    assert of(graph.output[0]) == {"pkg.torch.export.graph_signature.OutputSpec.kind": "USER_OUTPUT"}, "it was not renamed"
    kinds = [of(value)["pkg.torch.export.graph_signature.OutputSpec.kind"] for value in models["states"].graph.output]
    assert kinds == ["USER_OUTPUT", "BUFFER_MUTATION"]


def test_levels(models):
    keys = {level: {key for node in model.graph.node for key in of(node)} for level, model in models.items()}
    assert keys["release"] == set() and keys["namespace"] == {"namespace"}
    assert keys["debug"] - keys["default"] == {"pkg.torch.onnx.stack_trace"}
    folder = __file__.rsplit("/", 1)[0].encode()
    for level in ("release", "namespace", "default"):
        assert folder not in models[level].SerializeToString(), "a path of this machine is in the model"
    assert folder in models["debug"].SerializeToString()
    assert not of(models["release"].graph) and not any(of(value) for value in models["release"].graph.value_info)
    for model in models.values():
        onnx.checker.check_model(model, full_check=True)


@pytest.mark.parametrize("model", [torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Conv1d(2, 2, 1), torch.nn.GELU())], ids=["one", "two"])
def test_stacks_of_traces_begin_with_the_model(model):
    nodes = flambeau.export(model, (torch.ones(2, 3),), dynamo=False, metadata="debug").model_proto.graph.node
    stacks = [of(node)["pkg.torch.onnx.stack_trace"] for node in nodes]
    assert all("in forward" in stack and "flambeau" not in stack and "test_metadata.py" not in stack for stack in stacks)


def test_errors_of_torchs_modules_name_torchs_lines():
    def refuse(g, x):
        raise ValueError("no")

    flambeau.onnx.register_custom_op_symbolic("aten::relu", refuse, 9)
    try:
        with pytest.raises(ValueError, match="no") as caught:
            flambeau.export(torch.nn.ReLU(), (torch.ones(2),), dynamo=False)
    finally:
        flambeau.onnx.unregister_custom_op_symbolic("aten::relu", 9)
    assert "in the model, functional.py:" in caught.value.__notes__[0]


@pytest.mark.parametrize("opset, least", [(11, 6), (13, 7), (17, 8), (18, 10)])
def test_models_for_older_runtimes_say_nothing_that_these_cannot_read(opset, least):
    model = torch.nn.Linear(2, 2)
    program = flambeau.export(model, (torch.ones(1, 2),), opset_version=opset)
    assert program.model_proto.ir_version == least
    asked = flambeau.export(model, (torch.ones(1, 2),), opset_version=opset, metadata="default")
    assert asked.model_proto.ir_version == 10
