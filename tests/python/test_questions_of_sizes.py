"""What a model asks of dynamic sizes: warned of with its line, unless the answer changes nothing."""

import math
import warnings

import pytest
import torch

import flambeau


class Thirds(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] % 3 == 0:
            return x * 2
        return x


class Long(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] > 4 else x


class PseudoInverse(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.pinv(x)


class Checked(torch.nn.Module):
    def forward(self, x):
        assert x.shape[0] % 2 == 0, "rows come in pairs"
        if x.shape[0] < 4:
            raise ValueError("too few rows")
        return torch.nn.functional.max_pool1d(x.reshape(-1, 2 * 4), 3) + x.narrow(0, 0, 3).sum()


@pytest.mark.parametrize(
    ("model", "rows", "says"),
    [
        (Thirds(), 6, r"Mod\(n, 3\) = 0: .*\(test_questions_of_sizes.py:\d+: if x.shape\[0\] % 3 == 0:\)"),
        (Long(), 6, r"n > 4: .*: return x \* 2 if x.shape\[0\] > 4 else x\)"),
        (PseudoInverse(), 3, r"4 ≥ n: .*: return torch.linalg.pinv\(x\)\)"),
    ],
)
def test_what_python_asks_of_sizes_is_warned_of_with_its_line(model, rows, says):
    with pytest.warns(flambeau.errors.ConversionWarning, match=rf"right only where {says}$") as warned:
        flambeau.export(model, (torch.ones(rows, 4),), dynamic_shapes=({0: "n"},))
    assert len(warned) == 1


def test_what_dynamo_is_asked_has_the_line_of_the_model():
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"right only where n > 4: .*: return x \* 2 if x.shape\[0\] > 4 else x\)"):
        flambeau.export(Long(), (torch.ones(6, 4),), dynamic_shapes=({0: "n"},), capture_strategies=["strict"])


class Deeper(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        assert columns < rows * 9
        if rows > columns * 99:
            raise ValueError("too many rows")
        return x * 2 if math.log2(columns + 1) < rows else x


def test_what_dynamo_is_asked_of_several_sizes_is_warned_of():
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"right only where .*log2\(m \+ 1\) < n: .*: return x \* 2 if math.log2") as warned:
        flambeau.export(Deeper(), (torch.ones(6, 4),), dynamic_shapes=({0: "n", 1: "m"},))
    assert len(warned) == 1


class Longer(torch.nn.Module):
    def forward(self, x, y):
        return x.sum(0) + y.sum(0) if x.shape[0] <= y.shape[0] else x.sum(0)


def test_what_one_name_for_two_dimensions_says_is_not_warned_of():
    args = torch.ones(3, 4), torch.ones(3, 4)
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"right only where n ≤ m: "):
        flambeau.export(Longer(), args, dynamic_shapes=({0: "n"}, {0: "m"}))
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        flambeau.export(Longer(), args, dynamic_shapes=({0: "n"}, {0: "n"}))


def test_what_pytorch_checks_itself_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        flambeau.export(Checked(), (torch.ones(6, 4),), dynamic_shapes=({0: "n"},))


class Padded(torch.nn.Module):
    """In pairs of rows, of which PyTorch asks whether there are any, and whether there is one."""

    def forward(self, x):
        rows = x.shape[1]
        pairs = (rows + (2 - rows % 2) % 2) // 2
        x = torch.nn.functional.pad(x, (0, 0, 0, 2 * pairs - rows)).reshape(x.shape[0], -1, 2, 4)
        x = torch.cat([torch.zeros_like(x[:, :1]), x], 1)[:, :-1]
        return torch.einsum("bcld,bcmd->bclm", x, x).flatten(1, 2)[:, :rows].contiguous()


def test_whether_there_is_something_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = flambeau.export(Padded(), (torch.randn(2, 5, 4),), dynamic_shapes=({0: "batch", 1: "rows"},))
    for rows in (5, 8, 2, 1):
        x = torch.randn(3, rows, 4)
        torch.testing.assert_close(program(x)[0], Padded()(x))


class Windows(torch.nn.Module):
    """Of 4 by 4 places, in pictures that are padded to hold whole ones."""

    def forward(self, x):
        batch, height, width = x.shape
        down, right = (4 - height % 4) % 4, (4 - width % 4) % 4
        x = torch.nn.functional.pad(x, (0, right, 0, down))
        high, wide = height + down, width + right
        x = x.view(batch, high // 4, 4, wide // 4, 4).transpose(2, 3).reshape(batch, -1, 16)
        x = x.view(batch, -1, high // 4, wide // 4, 4, 4).squeeze(1).transpose(2, 3).reshape(batch, high, wide)
        return x[:, :height, :width].contiguous()


def test_padding_to_whole_windows_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = flambeau.export(Windows(), (torch.randn(2, 10, 13),), dynamic_shapes=({1: "height", 2: "width"},))
    for height, width in ((8, 12), (17, 9), (4, 4), (26, 29)):
        x = torch.randn(2, height, width)
        torch.testing.assert_close(program(x)[0], Windows()(x))


def test_how_distances_are_computed_is_not_warned_of():
    model = torch.nn.Module()
    model.forward = torch.cdist
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = flambeau.export(model, (torch.randn(2, 4, 3), torch.randn(2, 5, 3)), dynamic_shapes=({1: "n"}, {1: "m"}))
    for rows in (3, 30):
        args = torch.randn(2, rows, 3), torch.randn(2, 7, 3)
        torch.testing.assert_close(program(*args)[0], torch.cdist(*args), rtol=1e-3, atol=1e-3)


class FirstRows(torch.nn.Module):
    def forward(self, x):
        return x[:3].view(3, 2, 2)


def test_at_least_so_many_rows_are_warned_of_as_that():
    with pytest.warns(flambeau.errors.ConversionWarning, match="right only where n ≥ 3: "):
        flambeau.export(FirstRows(), (torch.ones(5, 4),), dynamic_shapes=({0: "n"},))


class Squeezed(torch.nn.Module):
    def __init__(self, squeeze):
        super().__init__()
        self.squeeze = squeeze

    def forward(self, x):
        return self.squeeze(x * 2) + 1


@pytest.mark.parametrize("squeeze", [torch.squeeze, lambda x: x.squeeze(0), lambda x: x.squeeze((-1, 0)), lambda x: x.squeeze_(-3)])
def test_squeezes_that_keep_the_size_of_the_example_are_warned_of(squeeze):
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"the model squeezes \(test_questions_of_sizes.py:\d+: "):
        flambeau.export(Squeezed(squeeze), (torch.ones(1, 3, 4),), dynamic_shapes=({0: "n"},))


@pytest.mark.parametrize("squeeze", [lambda x: x[1:].squeeze(0), lambda x: x.diff(dim=0).squeeze(0), lambda x: x.view(x.shape[0] // 2, 2, -1).sum(1).squeeze()])
def test_so_are_those_of_sizes_that_follow_from_the_example(squeeze):
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"the model squeezes \(test_questions_of_sizes.py:\d+: "):
        flambeau.export(Squeezed(squeeze), (torch.ones(2, 3, 4),), dynamic_shapes=({0: "n"},))


@pytest.mark.parametrize("rows", [1, 2])
def test_squeezes_of_constant_sizes_are_not_warned_of(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = flambeau.export(Squeezed(lambda x: x.squeeze(1)), (torch.ones(rows, 1, 4),), dynamic_shapes=({0: "n"},))
    for size in (1, 3):
        assert program(torch.ones(size, 1, 4))[0].shape == (size, 4)
