"""Tensors that a script has by default, where the caller leaves them out and where not."""

from typing import Tuple

import torch
from checking import compare
from torch import Tensor, nn

import flambeau


class Cached(nn.Module):
    def forward(self, x, cache: Tensor = torch.zeros(0, 3), pair: Tuple[Tensor, int] = (torch.ones(3), 2), *, scale: Tensor):
        if cache.size(0) > 0:
            x = torch.cat([cache, x])
        return x * scale * pair[0], x[-1:] * pair[1]


def test_what_is_left_out_is_no_input():
    axes = {"dynamic_axes": {"x": {0: "n"}, "scale": {0: "n"}}, "input_names": ["x", "scale"]}
    program = flambeau.export(torch.jit.script(Cached()), (torch.randn(2, 3), {"scale": torch.randn(2, 1)}), dynamo=False, verbose=False, **axes)
    assert [value.type.tensor_type.shape.dim[0].dim_param for value in program.model_proto.graph.input] == ["n", "n"]
    for rows in (2, 5):
        compare(lambda x, scale: Cached()(x, scale=scale), program, (torch.randn(rows, 3), torch.randn(rows, 1)))


def test_what_is_given_is_one():
    args = torch.randn(2, 3), torch.randn(1, 3), torch.randn(3, 1)
    program = flambeau.export(torch.jit.script(Cached()), (*args[:2], {"scale": args[2]}), dynamo=False, verbose=False)
    compare(lambda x, cache, scale: Cached()(x, cache, scale=scale), program, args)
