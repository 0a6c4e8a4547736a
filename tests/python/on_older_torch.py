"""Run by itself: the package on this torch without the names that older releases lack, or have elsewhere."""

import importlib
import pkgutil
import sys
import types

import torch

import flambeau
from flambeau import torch_names

FORMER = {place: name for name, newer in torch_names.NEWER.items() for place in newer.before}
HIDDEN = {name.rpartition(".")[::2] for name in torch_names.NEWER}


class Older(types.ModuleType):
    """A module of torch's whose newer names torch itself finds, and Flambeau does not."""

    def __getattribute__(self, name):
        module = super().__getattribute__("__name__")
        asks = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        if asks == "flambeau" and ((module, name) in HIDDEN or module in torch_names.NEWER):
            raise AttributeError(f"an older torch has no {module}.{name}")
        return super().__getattribute__(name)


def hide():
    for name in [*torch_names.NEWER, *(owner for owner, _ in HIDDEN)]:
        if isinstance(module := pkgutil.resolve_name(name), types.ModuleType):
            module.__class__ = Older
    at = torch_names._at
    torch_names._at = lambda place: None if place in torch_names.NEWER else at(FORMER.get(place, place))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x):
        return torch.relu(self.linear(x)).sum(0)


def check(model, **options):
    x = torch.randn(5, 3)
    torch.testing.assert_close(flambeau.export(model, (x,), **options)(x)[0], model(x))


hide()
for each in pkgutil.walk_packages(flambeau.__path__, "flambeau."):
    if not each.name.endswith("__main__"):
        importlib.import_module(each.name)
model = Model().eval()
check(model)
check(model, dynamic_shapes=({0: "rows"},))
check(model, capture_strategies=["strict"])
check(model, capture_strategies=["draft"])
check(model, capture="trace")
check(model, dynamo=False)
check(torch.jit.script(model))
