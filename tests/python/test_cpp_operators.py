"""An operator written in C++ (TORCH_LIBRARY) is exported as one of a custom domain, and runs."""

import contextlib
import os
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import onnxruntime_extensions
import pytest
import torch
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnxruntime_extensions import PyCustomOpDef, onnx_op

from flambeau.onnx import export, register_custom_op_symbolic, symbolic_helper, unregister_custom_op_symbolic

SOURCE = """
#include <ATen/core/Tensor.h>
#include <torch/library.h>

at::Tensor foo_forward(const at::Tensor& input1, const at::Tensor& input2, double attr1, int64_t attr2) {
  return input1.mul(attr1).add(input2, attr2);
}

TORCH_LIBRARY(flambeau_cpp_ops, library) {
  library.def("foo_forward(Tensor input1, Tensor input2, float attr1, int attr2) -> Tensor");
}

TORCH_LIBRARY_IMPL(flambeau_cpp_ops, CPU, library) { library.impl("foo_forward", &foo_forward); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    from torch.utils import cpp_extension

    folder = Path(os.environ.get("FLAMBEAU_BUILD_DIR", tmp_path_factory.mktemp("operators")), "cpp_operators")
    folder.mkdir(exist_ok=True)
    cpp_extension.load_inline("flambeau_cpp_ops", SOURCE, is_python_module=False, build_directory=str(folder), extra_cflags=["-O0"])
    torch.library.register_fake("flambeau_cpp_ops::foo_forward", lambda a, b, x, y: torch.empty_like(a))


class FooModel(torch.nn.Module):
    def __init__(self, attr1, attr2):
        super().__init__()
        self.attr1 = attr1
        self.attr2 = attr2

    def forward(self, input1, input2):
        return torch.relu(torch.ops.flambeau_cpp_ops.foo_forward(input1, input2, self.attr1, self.attr2))


class Foo(OpRun):
    op_domain = "custom_domain"

    def _run(self, input1, input2, attr1=None, attr2=None):
        return (input1 * np.float32(attr1) + input2 * attr2,)


CONTRIB = "ai.onnx.contrib"  # the domain of onnxruntime-extensions' kernels in Python


@onnx_op(
    op_type="FlambeauFoo",
    inputs=[PyCustomOpDef.dt_float] * 2,
    outputs=[PyCustomOpDef.dt_float],
    attrs={"attr1": PyCustomOpDef.dt_float, "attr2": PyCustomOpDef.dt_int64},
)
def foo_kernel(input1, input2, **attributes):
    return input1 * np.float32(attributes["attr1"]) + input2 * attributes["attr2"]


@contextlib.contextmanager
def exported_as(kind):
    """The operator becomes nodes of a kind, "domain::Name"."""

    @symbolic_helper.parse_args("v", "v", "f", "i")
    def symbolic_foo_forward(g, input1, input2, attr1, attr2):
        return g.op(kind, input1, input2, attr1_f=attr1, attr2_i=attr2).setType(input1.type())

    register_custom_op_symbolic("flambeau_cpp_ops::foo_forward", symbolic_foo_forward, 9)
    try:
        yield
    finally:
        unregister_custom_op_symbolic("flambeau_cpp_ops::foo_forward", 9)


CAPTURES = pytest.mark.parametrize("dynamo", [True, False], ids=["export", "trace"])


@CAPTURES
def test_operators_in_cpp(library, dynamo):
    model, args = FooModel(0.5, 3), (torch.randn(2, 3), torch.randn(2, 3))
    with exported_as("custom_domain::Foo"):
        proto = export(model, args, custom_opsets={"custom_domain": 2}, dynamo=dynamo).model_proto
    onnx.checker.check_model(proto)
    assert [(node.domain, node.op_type) for node in proto.graph.node] == [("custom_domain", "Foo"), ("", "Relu")]
    assert {each.domain: each.version for each in proto.opset_import}["custom_domain"] == 2
    feeds = {value.name: tensor.numpy() for value, tensor in zip(proto.graph.input, args, strict=True)}
    (result,) = ReferenceEvaluator(proto, new_ops=[Foo]).run(None, feeds)
    torch.testing.assert_close(torch.from_numpy(result), model(*args))


@CAPTURES
def test_operators_in_cpp_run_with_a_kernel_in_python(library, dynamo, tmp_path):
    model, args = FooModel(0.5, 3), (torch.randn(2, 3), torch.randn(2, 3))
    path = tmp_path / "foo.onnx"
    with exported_as(f"{CONTRIB}::FlambeauFoo"):
        names = ["a", "b"]
        export(model, args, path, input_names=names, dynamic_axes={name: {0: "batch"} for name in names}, dynamo=dynamo)
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    assert [node.domain for node in onnx.load(path).graph.node] == [CONTRIB, ""]
    for batch in (2, 5):
        a, b = torch.randn(batch, 3), torch.randn(batch, 3)
        (result,) = session.run(None, {"a": a.numpy(), "b": b.numpy()})
        torch.testing.assert_close(torch.from_numpy(result), model(a, b))
