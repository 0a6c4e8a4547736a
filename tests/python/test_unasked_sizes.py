"""Dynamic sizes as text, in sets, and in tables that calls make: a warning says that the model may be right for the example alone."""

import collections
import warnings

import pytest
import torch

import flambeau

BY_NAME = {"3": 2.0, "5": 7.0}


def scales():
    return {3: 2.0, 5: 7.0}


def key_of(x):
    return x.shape[0], 2


def told(x):
    message = f"{x.shape[0]} rows"
    if x.shape[1] == 5:
        raise ValueError(message)
    return 2.0


def named(x):
    key = f"{x.shape[0]}"
    return BY_NAME.get(key, 1.0)


class Scaled(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return x * self.scale(x)


def exported(scale):
    """The program, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = flambeau.export(Scaled(scale), (torch.ones(3, 2),), dynamic_shapes=({0: "n"},))
    return program, [str(each.message) for each in caught if issubclass(each.category, flambeau.errors.ConversionWarning)]


@pytest.mark.parametrize(
    "scale",
    [
        lambda x: BY_NAME.get(f"{x.shape[0]}", 1.0),
        lambda x: BY_NAME.get(str(x.shape[0]), 1.0),
        lambda x: 2.0 if "n{}".format(x.shape[0]) == "n3" else 3.0,  # noqa: UP032
        lambda x: 2.0 if f"{x.shape[0]:>3}" == "  3" else 3.0,
        lambda x: 2.0 if str(tuple(x.shape)) == "(3, 2)" else 3.0,
        named,
    ],
)
def test_text_is_that_of_the_example(scale):
    program, said = exported(scale)
    assert any("makes text of a dynamic size (test_unasked_sizes.py:" in each for each in said)
    torch.testing.assert_close(program(torch.ones(3, 2))[0], Scaled(scale)(torch.ones(3, 2)))


@pytest.mark.parametrize("scale", [lambda x: len({x.shape[0], 4}), lambda x: len(set(x.shape)), lambda x: {x.shape[0]: 1.0, 4: 2.0}[4]])
def test_sets_of_sizes_are_warned_of(scale):
    program, said = exported(scale)
    assert any("makes a set or dict of a dynamic size and others" in each for each in said)
    torch.testing.assert_close(program(torch.ones(5, 2))[0], Scaled(scale)(torch.ones(5, 2)))


@pytest.mark.parametrize(
    "scale",
    [lambda x: scales().get(x.shape[0], 1.0), lambda x: 2.0 if x.shape[0] in set(range(3)) | {8} else 1.0, lambda x: {(3, 2): 2.0}.get(key_of(x), 3.0)],
)
def test_tables_and_keys_that_calls_make(scale):
    program, said = exported(scale)
    assert said
    torch.testing.assert_close(program(torch.ones(3, 2))[0], Scaled(scale)(torch.ones(3, 2)))


@pytest.mark.parametrize("scale", [told, lambda x: print(f"{x.shape[0]} rows") or 2.0, lambda x: len({x.shape[0], x.shape[0]})])
def test_what_decides_nothing_is_not_warned_of(scale):
    program, said = exported(scale)
    assert not said
    torch.testing.assert_close(program(torch.ones(4, 2))[0], Scaled(scale)(torch.ones(4, 2)))


@pytest.mark.parametrize(
    "scale",
    [
        lambda x: len({t.shape[0] for t in (x, x[1:], x[:3])}),
        lambda x: len({t.shape[0]: 1 for t in (x, x[:3])}),
        lambda x: {t.shape[0]: 5.0 for t in (x, x[:2])}.get(3, 1.0),
        lambda x: len(set(t.shape[0] for t in (x, x[1:], x[:3]))),  # noqa: C401
        lambda x: len(dict((t.shape[0], 1) for t in (x, x[:3]))),  # noqa: C402
        lambda x: len(dict.fromkeys(t.shape[0] for t in (x, x[:3]))),
        lambda x: len(collections.Counter([x.shape[0], x[:3].shape[0], 2])),
    ],
)
def test_sets_that_comprehensions_make_are_warned_of(scale):
    program, said = exported(scale)
    assert any("makes a set or dict of dynamic sizes (test_unasked_sizes.py:" in each for each in said), said
    torch.testing.assert_close(program(torch.ones(3, 2))[0], Scaled(scale)(torch.ones(3, 2)))


@pytest.mark.parametrize("scale", [lambda x: hash(x.shape[0]) % 4, lambda x: hash((x.shape[0], 2)) % 5, lambda x: hash(x.shape) % 5])
def test_hashes_are_warned_of(scale):
    program, said = exported(scale)
    assert any("takes the hash of a dynamic size (test_unasked_sizes.py:" in each for each in said), said
    torch.testing.assert_close(program(torch.ones(3, 2))[0], Scaled(scale)(torch.ones(3, 2)))
