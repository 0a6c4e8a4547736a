"""An operator written in C++ (TORCH_LIBRARY) is exported as one of a custom domain."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

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


@pytest.mark.parametrize("dynamo", [True, False], ids=["export", "trace"])
def test_operators_in_cpp(library, dynamo):
    @symbolic_helper.parse_args("v", "v", "f", "i")
    def symbolic_foo_forward(g, input1, input2, attr1, attr2):
        return g.op("custom_domain::Foo", input1, input2, attr1_f=attr1, attr2_i=attr2)

    model, args = FooModel(0.5, 3), (torch.randn(2, 3), torch.randn(2, 3))
    register_custom_op_symbolic("flambeau_cpp_ops::foo_forward", symbolic_foo_forward, 9)
    try:
        proto = export(model, args, custom_opsets={"custom_domain": 2}, dynamo=dynamo).model_proto
    finally:
        unregister_custom_op_symbolic("flambeau_cpp_ops::foo_forward", 9)
    onnx.checker.check_model(proto)
    assert [(node.domain, node.op_type) for node in proto.graph.node] == [("custom_domain", "Foo"), ("", "Relu")]
    assert {each.domain: each.version for each in proto.opset_import}["custom_domain"] == 2
    feeds = {value.name: tensor.numpy() for value, tensor in zip(proto.graph.input, args, strict=True)}
    (result,) = ReferenceEvaluator(proto, new_ops=[Foo]).run(None, feeds)
    torch.testing.assert_close(torch.from_numpy(result), model(*args))
