"""Programs that fuzz/generated_programs.py and fuzz/stateful_modules.py generate, and what they found."""

import pathlib
import random
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "fuzz"))
import generated_programs as programs  # noqa: E402
import stateful_modules as modules  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::flambeau.errors.ConversionWarning")

SEEDS = range(8)


@pytest.mark.parametrize("capture", programs.CAPTURES)
def test_generated_programs_agree(capture, tmp_path):
    agreed = 0
    for seed in SEEDS:
        draw = programs.Draw(random.Random(f"{seed} {capture}"), capture)
        draw.program(steps=8)
        try:
            programs.check(list(draw.shapes), draw.statements, capture, draw.worlds_at_start, tmp_path)
            agreed += 1
        except programs.Refusal:
            pass  # PyTorch refuses some captures
    assert agreed >= len(SEEDS) // 2


FOUND = {
    "slice from half the size": ["v0 = x0[x0.size(0) // 2 :]"],
    "squeeze a size that is a quotient": ["v0 = x3.view(x3.size(0), -1)", "v0.squeeze_(1)"],
    "one_hot of a number": ["v0 = F.one_hot(x3.sum() % 5, 5)"],
}


@pytest.mark.parametrize("capture", ["trace", "script"])
@pytest.mark.parametrize("statements", FOUND.values(), ids=FOUND)
def test_findings(statements, capture, tmp_path):
    draw = programs.Draw(random.Random(1), capture)
    programs.check(list(draw.shapes), statements, capture, draw.worlds_at_start, tmp_path)


@pytest.mark.parametrize("how", modules.HOW)
def test_modules_with_state_agree(how, tmp_path):
    agreed = 0
    for seed in SEEDS:
        try:
            modules.check(modules.Draw(random.Random(seed)).program(), how, tmp_path)
            agreed += 1
        except programs.Refusal:
            pass
    assert agreed >= len(SEEDS) // 2


def test_a_wrong_model_is_a_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(programs.onnxruntime.InferenceSession, "run", lambda session, names, feeds: [feeds["in0"] + 1])
    draw = programs.Draw(random.Random(1), "trace")
    with pytest.raises(programs.Disagreement, match="output 0"):
        programs.check(list(draw.shapes), ["v0 = x0 * 2"], "trace", draw.worlds_at_start, tmp_path)
