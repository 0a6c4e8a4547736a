"""Weights that are one memory, or parts of it: what is written to one is read from all of them."""

import copy

import pytest
import torch

import flambeau

X = torch.arange(6.0).reshape(2, 3)


class Overlapping(torch.nn.Module):
    """Two buffers, that `parts` makes of one memory."""

    def __init__(self, parts):
        super().__init__()
        one, other = parts(torch.arange(12.0).reshape(4, 3))
        self.register_buffer("one", one)
        self.register_buffer("other", other)


class WritesOne(Overlapping):
    def forward(self, x):
        self.one.add_(x.sum())
        return x.sum() * self.other, self.one * 1


class WritesOther(Overlapping):
    def forward(self, x):
        before = self.one * 1
        self.other.mul_(2).sub_(x[0, 1])
        self.other[0] = x.amax()
        return before, self.one + x[0, 0], self.other * 1


class WritesOnAPath(Overlapping):
    def forward(self, x):
        if x.sum() > 0:
            self.one.fill_(5)
        return self.other + x[0, 0]


PARTS = {
    "same": lambda memory: (memory, memory),
    "row": lambda memory: (memory, memory[1]),
    "rows": lambda memory: (memory, memory[1:3]),
    "column": lambda memory: (memory, memory[:, 2]),
    "transposed": lambda memory: (memory, memory.t()),
    "flat": lambda memory: (memory, memory.view(-1)),
    "strided": lambda memory: (memory, memory[::2, 1:]),
    "apart": lambda memory: (memory[:2].clone(), memory[2]),
}


def converted(module, how, tmp_path):
    if how == "live":
        return flambeau.export(module, (X,))
    if how == "program":
        return flambeau.export(torch.export.export(module, (X,)))
    if how == "pt2":
        torch.export.save(torch.export.export(module, (X,)), tmp_path / "model.pt2")
        return flambeau.export(tmp_path / "model.pt2")
    if how == "traced":
        return flambeau.export(module, (X,), capture="trace")
    script = torch.jit.script(module)
    if how == "pt":
        script.save(tmp_path / "model.pt")
        return flambeau.export(tmp_path / "model.pt", (X,))
    return flambeau.export(script, (X,))


def agrees(program, module, *runs):
    for run in runs:
        for actual, expected in zip(program(run), torch.utils._pytree.tree_leaves(copy.deepcopy(module)(run)), strict=True):
            torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("how", ["live", "program", "pt2", "traced", "scripted", "pt"])
@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("model", [WritesOne, WritesOther], ids=lambda model: model.__name__)
def test_writes_are_seen_by_all(model, parts, how, tmp_path):
    module = model(parts)
    agrees(converted(copy.deepcopy(module), how, tmp_path), module, X, -X)


@pytest.mark.parametrize("how", ["scripted", "pt"])
@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_writes_on_a_path(parts, how, tmp_path):
    module = WritesOnAPath(parts)
    agrees(converted(copy.deepcopy(module), how, tmp_path), module, X, -X)


def test_new_values_are_given_of_all():
    module = WritesOne(PARTS["row"])
    program = flambeau.export(copy.deepcopy(module), (X,), state_outputs=True)
    results = dict(zip((output.name for output in program.outputs), program(X)))
    module(X)
    states = [results[name] for name in results if "one" in name or "other" in name]
    for actual, expected in zip(states, (module.one, module.other), strict=True):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("how", ["live", "scripted"])
def test_parts_of_what_is_no_weight_are_refused(how, tmp_path):
    module = WritesOne(lambda memory: (memory[:3], memory[1:]))
    with pytest.raises(flambeau.errors.OnnxExporterError, match="may share its memory"):
        converted(module, how, tmp_path)
