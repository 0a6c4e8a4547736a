"""Loops that write into the rows of a batch, or ask them for their sizes, with a dynamic batch."""

import contextlib
import warnings

import pytest
import torch

import flambeau
from .checking import compare, convert


def greatest_sizes(all_sizes):
    greatest = all_sizes[0]
    for sizes in all_sizes[1:]:
        for axis, size in enumerate(sizes):
            greatest[axis] = max(greatest[axis], size)
    return greatest


class Nested(torch.nn.Module):
    """As DETR puts images of several sizes into one tensor, beside which a mask says where they are."""

    def forward(self, images):
        sizes = greatest_sizes([list(image.shape) for image in images])
        batch = torch.zeros(len(images), *sizes)
        mask = torch.ones(len(images), *sizes[1:], dtype=torch.bool)
        for image, row, hidden in zip(images, batch, mask):
            row[: image.shape[0], : image.shape[1], : image.shape[2]].copy_(image)
            hidden[: image.shape[1], : image.shape[2]] = False
        return batch, mask


class Larger(torch.nn.Module):
    """Into a corner of rows that are larger, by views of them."""

    def forward(self, images):
        batch = torch.zeros(len(images), 3, 16, 16)
        sums = []
        for place, (image, row) in enumerate(zip(images, batch)):
            corner = row[:2, : image.shape[1]]
            corner[:, :, : image.shape[2]].add_(image[:2] + place)
            sums.append(row.sum())
        return batch, torch.stack(sums)


class Own(torch.nn.Module):
    """Into what it goes over."""

    def forward(self, images):
        rows = images.transpose(1, 2).clone()
        for row in rows:
            row.mul_(2)
            row[0] = 0
        return rows


class Counted(torch.nn.Module):
    def forward(self, images):
        sizes = [(image.shape[1], image.shape[2]) for image in images]
        return images * max(sizes)[0] + sizes[-1][1] + images[: sizes[0][0] - 1].sum()


EXAMPLE, OTHERS = torch.randn(2, 3, 5, 6), [torch.randn(4, 3, 5, 6), torch.randn(3, 3, 7, 4), torch.randn(1, 3, 5, 6)]
SHAPES = ({0: "batch", 2: "height", 3: "width"},)


@pytest.mark.parametrize("model", [Nested, Larger, Own, Counted], ids=lambda model: model.__name__)
def test_rows_of_a_dynamic_batch(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model(), (EXAMPLE,), SHAPES)
    compare(program, model(), (EXAMPLE,), *((other,) for other in OTHERS))


class Twice(torch.nn.Module):
    """A tensor has two names."""

    def forward(self, images):
        batch = torch.zeros_like(images)
        for image, row, same in zip(images, batch, batch):
            row.add_(image)
            same.add_(image)
        return batch


class ReadWithin(torch.nn.Module):
    """A round sees what those before it wrote."""

    def forward(self, images):
        batch = torch.zeros_like(images)
        for image, row in zip(images, batch):
            row.copy_(image + batch.sum(0))
        return batch


@pytest.mark.parametrize("model", [Twice, ReadWithin], ids=lambda model: model.__name__)
def test_rows_that_have_other_names(model):
    program = convert(model(), (EXAMPLE,), ({0: "batch"},))
    compare(program, model(), (EXAMPLE,), (OTHERS[0],))


class FirstIsChanged(torch.nn.Module):
    def forward(self, images):
        sizes = [list(image.shape) for image in images]
        sizes[0][0] = 9
        total = 0
        for each in sizes:
            total = total + each[0]
        return images * total


def test_sizes_that_are_not_those_of_all_rows():
    program = convert(FirstIsChanged(), (EXAMPLE,), ({0: "batch"},))
    compare(program, FirstIsChanged(), (EXAMPLE,), (OTHERS[0],))


class Asserted(torch.nn.Module):
    def forward(self, x, lengths):
        rows = []
        for row, length in enumerate(lengths.tolist()):
            assert length <= x.size(1), "too long"
            rows.append(x[row, :length].sum(0))
        return torch.stack(rows)


class Raised(torch.nn.Module):
    def forward(self, x, lengths):
        rows = []
        for row in range(x.size(0)):
            length = int(lengths[row])
            if length > x.size(1):
                raise ValueError("too long")
            rows.append(x[row, :length].sum(0))
        return torch.stack(rows)


@pytest.mark.parametrize("model", [Asserted, Raised], ids=lambda model: model.__name__)
def test_rounds_may_say_what_they_cannot_take(model):
    example = torch.randn(3, 6, 4), torch.tensor([6, 2, 4])
    program = convert(model(), example, ({0: "batch", 1: "time"}, {0: "batch"}))
    assert program.capture_strategy.endswith("with loops kept")
    compare(program, model(), example, (torch.randn(2, 5, 4), torch.tensor([1, 5])), (torch.randn(5, 9, 4), torch.tensor([9, 0, 3, 4, 1])))


class Handled(torch.nn.Module):
    def forward(self, x, lengths):
        total = x[0].sum(0) * 0
        try:
            for row in range(x.size(0)):
                if int(lengths[row]) > 3:
                    raise StopIteration
                total = total * 2 + x[row].sum(0)
        except StopIteration:
            pass
        return total


class HandledElsewhere(torch.nn.Module):
    def check(self, length):
        if length > 3:
            raise ValueError(length)

    def forward(self, x, lengths):
        with contextlib.suppress(ValueError):
            self.check(int(lengths[0]))
            x = x * 2
        return x


@pytest.mark.parametrize("model", [Handled, HandledElsewhere], ids=lambda model: model.__name__)
def test_what_is_raised_counts_where_it_is_handled(model):
    with pytest.raises(flambeau.errors.CaptureError, match="test_rows.py"):
        flambeau.export(model(), (torch.randn(3, 2), torch.tensor([1, 2, 3])), dynamic_shapes=({0: "batch"},) * 2)
