"""Calls that torch.export does not capture, or makes numbers of sizes in, and which a capture here keeps."""

import warnings

import pytest
import torch

import flambeau


def model_of(function):
    class Model(torch.nn.Module):
        def forward(self, *args):
            return function(*args)

    return Model()


def checked(x, index):
    if index.numel() > 0 and 5 <= int(index.max()):
        raise ValueError("an index is too large")
    if not (index >= 0).all():
        raise ValueError("an index is negative")
    if index is not None and not torch.all(index < 5):
        raise ValueError("an index is too large")
    if not (x < 50).all() or (x < -50).any():
        raise ValueError("too far")
    assert (x < 100).all(), "too large"
    if (x > -100).all():
        x = x + 1
    else:
        raise ValueError("too small")
    return x.new_zeros(5, 4).index_add(0, index, x)


def counted(x, index):
    return torch.zeros(int(index.max()) + 1, 4).index_add(0, index, x) * float(index[0])


def moved(x, index):
    return torch.nn.Linear(4, 4).requires_grad_(False).to(x.dtype)(x) * 0


def halves(x, index):
    return x.reshape(torch.div(x.shape[0], 2, rounding_mode="trunc"), -1, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, index: x * torch.as_tensor(3 * x.shape[0] / 4),
        lambda x, index: x[: torch.ceil(torch.as_tensor(x.shape[0] / 4)).long()],
        lambda x, index: x * torch.asarray([x.shape[0], 2]).sum() + torch.as_tensor([1.5, 2.5]).sum(),
        lambda x, index: x * x.new_tensor([x.shape[0] / 2, 2]).sum(),
        lambda x, index: x + 0 * torch.randn(x.shape, generator=torch.Generator().manual_seed(1)),
        checked,
        counted,
        moved,
        halves,
    ],
)
def test_sizes_stay_dynamic(function):
    model = model_of(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        first = torch.randn(6, 4), torch.tensor([0, 1, 2, 1, 0, 2])
        program = flambeau.export(model, first, dynamic_shapes={"args": ({0: "n"}, {0: "n"})})
    args = torch.randn(4, 4), torch.tensor([1, 4, 2, 1])
    torch.testing.assert_close(program(*args)[0], model(*args))


def test_a_size_that_a_constructor_makes_a_number_is_warned_of():
    model = model_of(lambda x: x * torch.FloatTensor([x.shape[0] / 4]))
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"right only where IntTrueDiv\(n, 4\) = 1.5"):
        flambeau.export(model, (torch.randn(6, 4),), dynamic_shapes={"args": ({0: "n"},)})
