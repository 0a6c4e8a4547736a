"""What an export leaves behind: nothing of the model."""

import gc
import weakref

import pytest
import torch

import flambeau


class Doubles(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        return x @ self.weight * x.shape[0]


CAPTURES = {
    "module": lambda model, x: model,
    "program": lambda model, x: torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)),
    "trace": torch.jit.trace,
    "script": lambda model, x: torch.jit.script(model),
}


@pytest.mark.parametrize("how", CAPTURES)
def test_weights_go_with_the_program(how):
    def export():
        model, x = Doubles(), torch.randn(2, 3)
        captured = CAPTURES[how](model, x)
        weight = weakref.ref(model.weight)
        program = flambeau.export(captured, (x,), verbose=False)
        assert program(x)[0].shape == (2, 3)
        return weight

    export()  # caches of torch may keep the first
    weight = export()
    gc.collect()
    assert weight() is None
