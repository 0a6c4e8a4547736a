"""An export leaves the module as it was, whatever forward keeps in it."""

import pytest
import torch

import flambeau

X = torch.randn(2, 5, 4)


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.register_buffer("table", None, persistent=False)
        self.register_buffer("calls", torch.tensor(0))
        self.tables, self.seen, self.length, self.last = {}, [], 0, None
        self.total = torch.zeros(4)

    def forward(self, x):
        n = x.shape[1]
        if n not in self.tables:
            self.tables[n] = torch.arange(n).float()[:, None]
        if self.table is None or self.table.shape[0] < n:
            self.register_buffer("table", torch.arange(n).float().flip(0)[:, None], persistent=False)
        self.seen.append(x.sum())
        self.length = n
        self.last = x * 2
        self.inner.cached = x + 1
        self.calls += 1
        self.total = self.total + 1
        self.total += 1
        return self.inner(x) + self.tables[n] * self.table[-n:]


def _state(model):
    return {name: dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else value for name, value in vars(model).items()}


@pytest.mark.parametrize(
    "options",
    [{}, {"dynamic_shapes": ({0: "b", 1: "n"},)}, {"capture": "trace"}, {"dynamo": False}, {"verify": True}],
    ids=["export", "dynamic", "trace", "torchscript", "verified"],
)
@pytest.mark.filterwarnings("ignore:.*attribute")
def test_attributes_buffers_and_containers(options):
    model = Keeps().eval()
    before, inside, total = _state(model), _state(model.inner), model.total
    program = flambeau.export(model, (X,), **options)
    after = _state(model)
    assert after.keys() == before.keys() and _state(model.inner).keys() == inside.keys()
    assert (after["tables"], after["seen"], after["length"], after["last"]) == ({}, [], 0, None)
    assert model.total is total and not total.any() and model.calls == 0 and model.table is None
    x = torch.randn(3, 9, 4) if "dynamic_shapes" in options else X
    torch.testing.assert_close(program(x)[0], model(x))


def test_a_module_is_exported_twice():
    model = Keeps().eval()
    for _ in range(2):
        assert [each.name for each in flambeau.export(model, (X,)).inputs] == ["x"]
