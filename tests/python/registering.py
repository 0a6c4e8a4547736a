"""What tests of symbolic functions have in common."""

import contextlib

import pytest
import torch

from flambeau import onnx as fonnx

CAPTURES = pytest.mark.parametrize("dynamo", [True, False], ids=["export", "trace"])


class Call(torch.nn.Module):
    """A module of one function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


@contextlib.contextmanager
def registered(name, function, opset=9, by=fonnx):
    """While it is open, the function is the operator's."""
    by.register_custom_op_symbolic(name, function, opset)
    try:
        yield
    finally:
        by.unregister_custom_op_symbolic(name, opset)
