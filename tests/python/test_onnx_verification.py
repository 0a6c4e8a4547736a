"""flambeau.onnx.verification: what its options change, and what its backends take."""

from pathlib import Path

import onnx
import pytest
import torch

import flambeau
from flambeau import onnx as fonnx

BACKENDS = [fonnx.verification.OnnxBackend.REFERENCE, fonnx.verification.OnnxBackend.ONNX_RUNTIME_CPU]
X = torch.randn(2, 16)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 8)

    def forward(self, x):
        return torch.relu(self.linear(x)) * (torch.ones(8) * 2)


@pytest.fixture
def converted(monkeypatch):
    """The programs that a verification makes."""
    programs, of_conversion = [], flambeau.ONNXProgram.of_conversion

    def noted(*args, **kwargs):
        programs.append(of_conversion(*args, **kwargs))
        return programs[-1]

    monkeypatch.setattr(flambeau.ONNXProgram, "of_conversion", noted)
    return programs


@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_in_a_file_are_those_that_are_compared(backend, monkeypatch):
    options = fonnx.verification.VerificationOptions(backend=backend)
    fonnx.verification.verify(Net(), (X,), use_external_data=True, options=options, additional_test_inputs=[X + 1])
    save = flambeau.ONNXProgram.save

    def save_others(program, destination, **how):
        save(program, destination, **how)
        data = Path(f"{destination}.data")
        data.write_bytes(bytes(data.stat().st_size))

    monkeypatch.setattr(flambeau.ONNXProgram, "save", save_others)
    fonnx.verification.verify(Net(), (X,), options=options)
    with pytest.raises(AssertionError, match="output 0"):
        fonnx.verification.verify(Net(), (X,), use_external_data=True, options=options)


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_are_inputs_too(converted, backend, external):
    options = fonnx.verification.VerificationOptions(backend=backend)
    for asked in (True, False):
        fonnx.verification.verify(Net(), (X,), keep_initializers_as_inputs=asked, use_external_data=external, options=options)
        names = {value.name for value in converted[-1].model_proto.graph.input}
        assert ("linear.weight" in names) == asked


def test_graphs_as_they_are_lowered(converted):
    fonnx.register_custom_op_symbolic("aten::relu", lambda g, x: g.op("Tanh", x), 9)
    try:
        found = [fonnx.verification.find_mismatch(Net(), (X,), do_constant_folding=asked) for asked in (True, False)]
    finally:
        fonnx.unregister_custom_op_symbolic("aten::relu", 9)
    for info in found:
        assert [leaf.essential_node_kinds() for leaf in info.all_mismatch_leaf_graph_info()] == [{"aten::relu"}]
    folded, kept = (len(info._convert().model_proto.graph.node) for info in found)
    assert folded < kept
    assert not found[1].lower_graph_info.do_constant_folding


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.float8_e4m3fn], ids=str)
def test_floats_that_numpy_lacks(dtype, tmp_path):
    class Moved(torch.nn.Module):
        def forward(self, x):
            return x.reshape(-1), x.t()

    x = torch.ones(2, 3).to(dtype)
    for backend in BACKENDS:
        fonnx.verification.verify(Moved(), (x,), options=fonnx.verification.VerificationOptions(backend=backend))
    info = fonnx.verification.find_mismatch(Moved(), (x,))
    folder = Path(info.export_repro(str(tmp_path)), "test_data_set_0")
    for name, shape in (("input_0", (2, 3)), ("output_0", (6,)), ("output_1", (3, 2))):
        written = onnx.load_tensor(folder / f"{name}.pb")
        assert tuple(written.dims) == shape and written.data_type == onnx.load(folder.parent / "model.onnx").graph.input[0].type.tensor_type.elem_type
        assert onnx.numpy_helper.to_array(written).astype("float32").tolist() == torch.ones(shape).tolist()
