"""Modules of the generators of fuzz/: none may disagree with PyTorch."""

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))
import checked_modules
import layers
import scripted_modules
from campaign import Refusal


def agrees(subject):
    try:
        checked_modules.check(subject, opset=18)
    except Refusal:
        return False
    return True


@pytest.mark.parametrize("capture", checked_modules.CAPTURES)
def test_generated_programs(capture, tmp_path):
    agreed = 0
    for seed in range(4):
        draw = scripted_modules.Draw(Random(seed), capture, tmp_path)
        agreed += agrees(draw.subject(*draw.program(3)))
    assert agreed >= 2


@pytest.mark.parametrize("capture", checked_modules.CAPTURES)
@pytest.mark.parametrize("family", sorted(set(layers.Draw.FAMILIES), key=lambda each: each.__name__), ids=lambda each: each.__name__)
def test_generated_layers(family, capture, tmp_path):
    if capture == "script" and family is layers.Draw.distribution:
        pytest.skip("TorchScript has no classes of distributions")
    agreed = 0
    for seed in range(3):
        draw = layers.Draw(Random(seed))
        worlds = draw.draw(family)
        agreed += agrees(layers.subject_of(draw, worlds, capture, tmp_path))
    assert agreed >= 1
