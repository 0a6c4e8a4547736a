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
    assert found["namespace"] == f"{here}.Model/sub: {here}.Sub/relu: aten.relu.default"
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
