"""Compares src/pass/aten/autocast.def with the kernels that PyTorch registers for autocast, and with what they do."""

import pathlib
import re

import pytest
import torch

TABLE = pathlib.Path(__file__).parents[2] / "src/pass/aten/autocast.def"
ROWS = re.findall(r'^FLAMBEAU_AUTOCAST\("([^"]+)", (\w+), (\w+)\)', TABLE.read_text(), re.M)


def registered(key):
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        if not name.startswith("aten::"):
            continue
        try:
            if torch._C._dispatch_has_kernel_for_dispatch_key(name, key):
                yield name
        except RuntimeError:
            pass  # TorchScript's own functions are not in the dispatcher


@pytest.mark.parametrize("column, key", [(1, "AutocastCPU"), (2, "AutocastCUDA")])
def test_rows_are_the_registered_kernels(column, key):
    assert {row[0] for row in ROWS if row[column] != "kUntouched"} == set(registered(key))


X = torch.randn(4, 4)
CALLS = {
    "aten::mm": lambda: torch.mm(X, X),
    "aten::bmm": lambda: torch.bmm(X[None], X[None]),
    "aten::addmm": lambda: torch.addmm(X, X, X),
    "aten::linear": lambda: torch.nn.functional.linear(X, X),
    "aten::matmul": lambda: torch.matmul(X, X),
    "aten::prelu": lambda: torch.prelu(X, X[0, :1]),
    "aten::conv1d": lambda: torch.conv1d(X[None], X[None, :, :1]),
    "aten::scaled_dot_product_attention": lambda: torch.nn.functional.scaled_dot_product_attention(X[None], X[None], X[None]),
    "aten::mse_loss": lambda: torch.nn.functional.mse_loss(X.bfloat16(), X.bfloat16()),
    "aten::trace": lambda: torch.trace(X.bfloat16()),
    "aten::prod.dim_int": lambda: torch.prod(X.bfloat16(), 0),
    "aten::cat": lambda: torch.cat([X, X.bfloat16()]),
    "aten::stack": lambda: torch.stack([X.bfloat16(), X.bfloat16()]),
}
RESULTS = {"kLower": {torch.bfloat16}, "kFloat32": {torch.float32}, "kWidest": {torch.float32, torch.bfloat16}}


@pytest.mark.parametrize("op", CALLS)
def test_dtypes_of_results(op):
    rule = {name: cpu for name, cpu, _ in ROWS}[op]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert CALLS[op]().dtype in RESULTS[rule]
