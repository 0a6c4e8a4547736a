"""Inputs whose sizes all have names of their own, although they have to agree when the model runs."""

import pytest
import torch
import torch.nn.functional as F
from cases import Cases, x
from checking import check

import flambeau

case = Cases()


def named(make):
    """Decorates the forward of a module whose arguments are made for an offset to the sizes."""

    def add(function):
        args, others = make(0), make(3)
        axes = {f"x{i}": {d: f"x{i}_{d}" for d in range(each.dim())} for i, each in enumerate(args)}
        return case.forward(*args, how=("trace", "script"), others=[others], dynamic_axes=axes)(function)

    return add


def pair(k):
    return x(2 + k, 4), x(2 + k, 4, seed=7)


@named(pair)
def mean_losses(self, a, b):
    p, q = a.sigmoid(), b.sigmoid()
    return (
        F.binary_cross_entropy(p, q),
        F.binary_cross_entropy_with_logits(a, q),
        F.kl_div(a, q),
        F.soft_margin_loss(a, b.sign()),
        F.margin_ranking_loss(a, b, b.sign()),
        F.poisson_nll_loss(a, q),
        F.triplet_margin_loss(a, b, p),
    )


@named(lambda k: (x(3 + k, 4), torch.arange(8 + 4 * k).reshape(2 + k, 4) % 3))
def taken_along(self, a, places):
    return torch.take_along_dim(a, places, 0), torch.take_along_dim(a[:, :1], places, 0)


@named(lambda k: (x(4 + k, 5),))
def strided(self, a):
    return a.as_strided((2, 3), (3, 1)), torch.as_strided(a, (2, 2), (1, 2), 3), (a * 2).as_strided([3], [4])


@named(lambda k: (x(2, 3, 8 + k, 9),))
def pooled_over_whole_axes(self, a):
    both = F.avg_pool2d(a, a.size()[2:]) + F.max_pool2d(a, kernel_size=(a.size(2), a.size(3)))
    rows = F.avg_pool2d(a, (a.size(2), 3), stride=(a.size(2), 2))
    columns = F.max_pool2d(a, (3, a.size(3)), padding=(1, 0))
    return both, rows, columns, F.avg_pool1d(a[0], a.size(3)), F.max_pool1d(a[0], a.size(3))


def pieces(k):
    return (x(4 + k, 6 + k),)


@case.forward(*pieces(0), others=[pieces(1)], dynamic_axes={"x": {0: "rows", 1: "columns"}})
def pieces_written_in_loops(self, x):
    x = x.clone()
    for row in x.unbind(1):
        row.add_(2)
    for piece in x.chunk(2, 1):
        piece[0] = piece[0] * 7
    parts = x.split(3, 1)
    for i in range(len(parts)):
        parts[-1 - i].mul_(i + 1)
    return x


@named(lambda k: (x(3 + k, 4 + k), x(3 + k, 4 + k, seed=5).abs().long() % 3))
def one_of_many_squeezed(self, a, places):
    gathered = a.gather(1, places[:, :1]).squeeze(1)
    return a[:, :1].squeeze(1) * 2, a[:1].squeeze() + 1, a.narrow(0, 0, 1).squeeze(0), gathered, a.split(1, 1)[0].squeeze(-1)


@named(lambda k: (x(1, 4 + k),))
def batch_of_one_squeezed(self, a):
    return (a.squeeze(0) * 2).sum(-1).flatten(), a.squeeze() + 1, a[:, None].squeeze((0, 1)).sum(0)


@case.forward(x(2, 3, 5, 4), others=[(x(2, 3, 5, 6),)], dynamic_axes={"x": {0: "n", 2: "h", 3: "w"}})
def computed_sizes_that_the_capture_had_as_one(self, x):
    pooled = torch.nn.functional.max_pool2d(x, (3, 1), stride=3)
    return x[1:].squeeze(0) * 2, pooled.squeeze(2).flatten(1).sum(1), pooled.squeeze(-2) + 1


@named(lambda k: (x(3, 1 + k, 4),))
def squeezed_where_it_is_one(self, a):
    squeezed = a.squeeze(1)
    return (squeezed + 1).flatten(), squeezed.sum(-1).flatten()


def rows(count):
    return (x(count, 4),)


@case.forward(*rows(3), others=[rows(1), rows(5)], dynamic_axes={"x": {0: "n"}})
def squeezed_on_a_path_where_it_is_one(self, x):
    if x.size(0) == 1:
        y = x.squeeze(0)
    else:
        y = x[0]
    z = x[1] if x.size(0) > 1 else x.squeeze(0)
    if 2 > x.size(0) and bool(x.sum() > -100):
        z = z + x.squeeze(0)
    return y.sum(0), z * 2


@case.forward(*rows(3), others=[rows(1), rows(5), rows(6)], dynamic_axes={"x": {0: "n"}})
def what_a_size_is_on_the_path(self, x):
    y = x.sum()
    if x.size(0) > 4:
        y = y + 1 if x.size(0) > 3 else x[10, 0]
        if x.size(0) == 6 or x.size(0) < 0:
            y = y + 1 if x.size(0) != 5 else x[20, 0]
    return y


@case.forward(x(3, 1, 4), others=[(x(2, 1, 4),)], dynamic_axes={"x": {0: "n", 1: "m"}})
def squeezed_after_an_assertion(self, x):
    assert x.size(1) == 1
    return x.squeeze(1).sum(-1)


test_named_sizes = case.test()


@pytest.mark.parametrize("how", ["trace", "script"])
def test_the_model_decides_about_a_squeeze_in_place_of_a_size_that_was_one(how):
    class Squeezed(torch.nn.Module):
        def forward(self, a):
            return a.squeeze_(0).add_(1)

    check(Squeezed(), (x(1, 4),), how=how)
    check(Squeezed(), (x(1, 4),), how=how, dynamic_axes={"a": {0: "n"}}, others=[(x(2, 4),)])


@pytest.mark.parametrize("opset", [7, 9, 10])
def test_the_model_decides_what_goes_before_branches_of_several_ranks(opset):
    class Squeezed(torch.nn.Module):
        def forward(self, a):
            return a.squeeze(0) * 2

    check(Squeezed(), (x(1, 4),), others=[(x(1, 7),), (x(2, 4),)], dynamic_axes={"a": {0: "n", 1: "m"}}, opset_version=opset)


class SlicesOfOne(torch.nn.Module):
    def forward(self, a, n: int):
        middle, best = a.size(0) // 2, int(a[:, 0].argmax())
        row = a[middle : middle + 1].squeeze(0) + 1
        rows = a[n : n + 1].squeeze(0), a[:, n : n + 1].squeeze(1), a[best : best + 1].squeeze()
        total = a[0] * 0
        for i in range(n):
            total = total + a[i : i + 1].squeeze(0)
        return row, rows, total, a.split(1)[-1].squeeze(0).unsqueeze(0).sum(1), a[-2:-1].squeeze(0) * 2


def test_a_slice_of_one_loses_its_dimension():
    check(SlicesOfOne(), (x(6, 4), torch.tensor(2)), others=[(x(5, 4), torch.tensor(3)), (x(2, 4), torch.tensor(0))], dynamic_axes={"a": {0: "n"}})


@pytest.mark.parametrize("width", [3, 4])
def test_cross_products_whose_axis_a_size_decides(width):
    def crossed(a: torch.Tensor, b: torch.Tensor):
        return torch.cross(a[:, :3], b[:, :3])

    args, longer = [(x(n, width), x(n, width, seed=7)) for n in (2, 5)]
    with pytest.warns(flambeau.errors.ConversionWarning, match="assumes that no dynamic size before that axis is 3") as told:
        program = flambeau.export(torch.jit.script(crossed), args, dynamic_shapes={"a": {0: "n"}, "b": {0: "n"}})
    assert sum("cross product" in str(each.message) for each in told) == 1
    for each in (args, longer):
        torch.testing.assert_close(program(*each)[0], crossed(*each))
