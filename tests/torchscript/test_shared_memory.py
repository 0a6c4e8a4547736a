"""Memory, lists and dicts that paths through a program may share.

Each program either does as eager mode does, or is refused where it reads what may have been written as something else.
"""

import re
from typing import List

import flambeau
import pytest
import torch
import torch.nn.functional as F
from cases import ROUNDS, SIGNS
from checking import check
from torch import Tensor, nn

SHARED = {}


def sharing(*others, refused):
    """Decorates the forward of a scripted module; `others` are further arguments, each list of them is tried."""

    def add(forward):
        SHARED[forward.__name__] = (forward, others or ((),), refused)
        return forward

    return add


@sharing(refused=False)
def written_after_if(self, x):
    x = x.clone()
    y = x[0] if bool(x.sum() > 0) else x[1] * 2
    y.add_(1)
    return x


@sharing(refused=False)
def outer_written_after_if(self, x):
    x = x.clone()
    if bool(x.sum() > 0):
        y = x[0]
    else:
        y = x[1] + 1
    x.mul_(3)
    return y


@sharing(refused=False)
def another_name_by_a_cast_that_changes_nothing(self, x):
    y, z, w = x.to(torch.float32), x.float().contiguous(), x.detach()
    x.unsqueeze_(0)
    y.mul_(2)
    z.t_() if z.dim() == 2 else z.squeeze_(0)
    return x, y, z, w


@sharing(refused=False)
def read_after_if(self, x):
    y = x.t() if bool(x.sum() > 0) else (x * 2).t()
    return y + 1, x + y.t()


@sharing(refused=False)
def result_alone_read_after_write(self, x):
    z = x.clone()
    y = z if bool(x.sum() > 0) else z + 1
    y.mul_(2)
    return y


@sharing(refused=False)
def same_tensor_on_both_paths(self, x):
    z = x.clone()
    if bool(x.sum() > 0):
        y = z
        z.add_(1)
    else:
        y = z.mul_(2)
    y.sub_(3)
    return z, y


@sharing(refused=False)
def two_results_of_one_memory(self, x):
    if bool(x.sum() > 0):
        y = x + 1
        z = y[0]
    else:
        y = x + 2
        z = x[1] + 1
    y.mul_(2)
    return z


@sharing(refused=False)
def written_in_branch_through_unknown(self, x):
    x = x.clone()
    y = x[0] if bool(x.sum() > 0) else x[1] + 1
    if bool(x.mean() < 9):
        y.add_(5)
    return x


@sharing(refused=False)
def nested_ifs(self, x):
    x = x.clone()
    y = x[0] + 1
    if bool(x.sum() > 0):
        if bool(x.mean() > -5):
            y = x[1]
        else:
            y = x[0] * 4
    x.add_(1)
    return y


@sharing(refused=False)
def tuples_of_branches(self, x):
    x = x.clone()
    if bool(x.sum() > 0):
        pair = (x, x[0])
    else:
        pair = (x + 1, x[1] * 2)
    pair[1].add_(1)
    return pair[0]


@sharing(*((n,) for n in ROUNDS), refused=True)
def written_after_loop(self, x, n: Tensor):
    x = x.clone()
    y = x[0]
    for i in range(int(n)):
        y = y + i
    y.add_(1)
    return x, y


@sharing(*((n,) for n in ROUNDS), refused=False)
def how_many_rows_of_what_is_written(self, x, n: Tensor):
    x = x.clone()
    rows = [x[0], x[1]]
    for i in range(int(n)):
        rows.append(x[i])
    x[0] = 1
    return len(rows), x


@sharing(*((n,) for n in ROUNDS), refused=True)
def outer_written_after_loop(self, x, n: Tensor):
    x = x.clone()
    y = x[0] * 1
    for i in range(int(n)):
        y = x[1]
    x.add_(1)
    return y


@sharing(*((n,) for n in ROUNDS), refused=True)
def written_in_loop_through_what_it_carries(self, x, n: Tensor):
    x = x.clone()
    y = x[0]
    for i in range(int(n)):
        y.add_(1)
        y = y * 2
    return x


@sharing(*((n,) for n in ROUNDS), refused=True)
def read_in_the_round_after_the_write(self, x, n: Tensor):
    x = x.clone()
    y = x[0] * 1
    z = x[1] * 0
    for i in range(int(n)):
        z = z + x[0]
        y.add_(1)
        y = x[0]
    return z


@sharing(*((n,) for n in ROUNDS), refused=False)
def same_tensor_in_each_round(self, x, n: Tensor):
    x = x.clone()
    y = x[0]
    for i in range(int(n)):
        y += 1
        x *= 2
    return x, y


@sharing(*((n,) for n in ROUNDS), refused=True)
def swapped_in_loop(self, x, n: Tensor):
    a = x + 1
    b = x + 2
    c = a
    for i in range(int(n)):
        a, b = b, a
    a.mul_(2)
    return c


@sharing(refused=False)
def list_written_after_if(self, x):
    a = [x]
    b = a if bool(x.sum() > 0) else [x, x]
    b.append(x + 1)
    return torch.cat(a)


@sharing(refused=False)
def list_of_one_length_written_after_if(self, x):
    a = [x]
    b = a if bool(x.sum() > 0) else [x + 1]
    a[0] = x * 7
    return b[0]


@sharing(refused=False)
def new_lists_of_branches(self, x):
    if bool(x.sum() > 0):
        a = [x, x + 1]
    else:
        a = [x + 2, x]
    a.append(x * 3)
    return torch.cat(a)


@sharing(refused=False)
def same_list_on_both_paths(self, x):
    a = [x]
    if bool(x.sum() > 0):
        b = a
        a.append(x + 1)
    else:
        b = a
        b.append(x * 2)
    b.append(x)
    return torch.cat(a)


@sharing(refused=False)
def copied_list(self, x):
    a = [x]
    b = a if bool(x.sum() > 0) else [x + 1]
    c = b.copy()
    c.append(x)
    return torch.cat(a), torch.cat(c)


@sharing(refused=False)
def two_names_of_a_new_list(self, x):
    if bool(x.sum() > 0):
        a = [x]
        b = a
    else:
        a = [x]
        b = [x + 1]
    a[0] = x * 5
    return b[0]


@sharing(refused=False)
def dict_written_after_if(self, x):
    a = {"x": x}
    b = a if bool(x.sum() > 0) else {"x": x + 1}
    b["x"] = x * 9
    return a["x"]


@sharing(*((n,) for n in ROUNDS), refused=True)
def list_written_after_loop(self, x, n: Tensor):
    a = [x]
    b = a
    for i in range(int(n)):
        b = [x + i]
    b[0] = x * 9
    return a[0], b[0]


@sharing(refused=False)
def tensor_in_list_written_after_if(self, x):
    x = x.clone()
    a = [x[0]] if bool(x.sum() > 0) else [x[1] + 1]
    a[0].add_(1)
    return x


@sharing(*((n,) for n in ROUNDS), refused=True)
def tensor_in_sequence_written(self, x, n: Tensor):
    out: List[Tensor] = []
    y = x + 1
    out.append(y)
    for i in range(int(n)):
        out.append(x + i)
    y.mul_(2)
    return torch.cat(out)


@sharing(*((n,) for n in ROUNDS), refused=False)
def element_of_sequence_written(self, x, n: Tensor):
    out = [x + 1]
    for i in range(int(n)):
        out.append(x + i)
    out[0].mul_(2)
    return torch.cat(out)


@sharing(*((n,) for n in ROUNDS), refused=True)
def written_in_loop_after_append(self, x, n: Tensor):
    out: List[Tensor] = []
    y = x.clone()
    for i in range(int(n)):
        out.append(y)
        y.add_(1)
    return out, y


@sharing(refused=False)
def copy_of_channels_last(self, x):
    y = x.reshape(1, 1, 1, -1).repeat(1, 2, 2, 1).to(memory_format=torch.channels_last)
    y.flatten(1).mul_(2)
    return y


@sharing(refused=True)
def positions_lie_by_columns(self, x):
    y = torch.nonzero(x)
    y.reshape(-1).mul_(2)
    return y


@sharing(refused=True)
def padded_channels_last(self, x):
    y = x.reshape(1, 1, 1, -1).repeat(1, 2, 2, 1).to(memory_format=torch.channels_last)
    z = torch.constant_pad_nd(y, [1, 0])
    z.flatten(1).mul_(2)
    return z


@sharing(*((n,) for n in ROUNDS), refused=True)
def columns_that_a_loop_adds_to(self, x, n: Tensor):
    y = x.t()
    for _ in range(int(n)):
        y = y + 1
    y.contiguous().add_(1)
    return y


@sharing(refused=True)
def columns_that_a_branch_chose(self, x):
    y = x.t()
    if bool(x.sum() > 0):
        y = y + 1
    y.contiguous().add_(1)
    return y


@sharing(*((n,) for n in ROUNDS), refused=False)
def rows_that_a_loop_adds_to(self, x, n: Tensor):
    y = x + 1
    for _ in range(int(n)):
        y = y + 1
    y.contiguous().add_(1)
    return y


@sharing(*((n,) for n in ROUNDS), refused=False)
def rows_of_a_number_that_a_loop_changes(self, x, n: Tensor):
    y = x + 1
    for _ in range(int(n)):
        y = torch.cat([y, y[:1]])
    y.view(-1).add_(1)
    return y


@sharing(refused=False)
def memory_around_a_row_that_a_branch_chose(self, x):
    row = x[0] if bool(x.sum() > 0) else x[1]
    return row.as_strided((2, 2), (1, 1), 0)


@sharing(refused=True)
def memory_around_positions(self, x):
    return torch.where(x > 0)[0].as_strided((2,), (1,), 0)


@sharing(refused=False)
def a_number_turned_is_the_number(self, x):
    y = x.sum()
    y.mT.set_(x)
    return y


@sharing(refused=False)
def memory_around_a_row(self, x):
    return x[0].as_strided((2, 2), (1, 1), 1)


@sharing(refused=False)
def images_of_one_pixel_in_another_format(self, x):
    """PyTorch takes them for contiguous, although they are dense in both formats."""
    pixel = F.adaptive_avg_pool2d((x * 2).view(1, 2, 3, 1), 1)
    copied = pixel.to(memory_format=torch.channels_last)
    pixel.mul_(2)
    return pixel, copied


@sharing(refused=False)
def memory_of_columns_in_place(self, x):
    first, second = (x + 1).t(), (x + 2).t()
    first.as_strided_((2, 2), (1, 2), 1).mul_(2)
    second.resize_(2, 2)
    return first, second


@sharing(refused=False)
def memory_of_complex_numbers_by_halves(self, x):
    numbers = torch.complex(x, 2 * x)
    part = numbers.t().imag
    strided = part.as_strided((2, 2), (3, 2), 1)
    strided.add_(1)
    return strided, part, torch.view_as_real(numbers)


@sharing(refused=False)
def memory_of_what_was_joined(self, x):
    joined = torch.cat([x.flip(-1), x[..., 1:]], dim=-1)
    n = x.shape[-1]
    return joined.as_strided([joined.size(0), n, n], [joined.stride(0), 1, 1])


@sharing(refused=False)
def any_two_of_a_few_that_may_be_one(self, x):
    y, rows = x * 2, [x]
    if bool(x.sum() > 0):
        tensors, lists = [y, y, y, y], [rows, rows, rows]
    else:
        tensors, lists = [y + 1, y + 2, y + 3, y + 4], [[x], [x + 1], [x + 2]]
    tensors[1].add_(1)
    third = tensors[2] + 1
    tensors[3].unsqueeze_(0)
    lists[1].append(x)
    return third, tensors[0] * 2, y, len(lists[2]), len(rows)


@sharing(refused=False)
def any_two_of_many_that_may_be_one(self, x):
    y = x * 2
    tensors = [y] * 100 if bool(x.sum() > 0) else [y + 1] * 100
    tensors[1].add_(1)
    return tensors[98] * 2, y


@sharing(refused=True)
def any_two_of_a_few_that_may_be_one_in_a_round(self, x):
    y = x * 2
    a, b, c = y, y, x
    for i in range(int(x.sum())):
        if bool(a.sum() > i):
            a, b, c = b, c, a
    c.add_(1)
    return a + b


def test_a_diagonal_of_elements_that_share_memory_is_refused():
    class Filled(nn.Module):
        def forward(self, x):
            return x[:, :1].expand(x.shape).fill_diagonal_(2.0)

    with pytest.raises(flambeau.errors.OnnxExporterError, match="whose elements share memory"):
        flambeau.export(torch.jit.script(Filled()), (torch.randn(4, 3),))


def kept(self, tensors: List[Tensor]):
    kept: List[Tensor] = []
    for each in tensors:
        if bool(each.sum() > 0):
            kept.append(each)
    return kept


@sharing(refused=False)
def one_that_a_list_may_hold_beside_another(self, x):
    a, b = x + 1, x - 2
    kept = self.kept([a, b])
    b.add_(1)
    return a, b, len(kept)


@sharing(refused=False)
def one_of_three_that_a_list_may_hold(self, x):
    a, b, c = x + 1, x - 2, x * 3
    kept = self.kept([a, b, c])
    more = self.kept(kept)
    c.add_(1)
    return a, b, len(more)


@sharing(refused=False)
def a_list_that_may_hold_what_is_written(self, x):
    a, b = x + 1, x - 2
    kept = self.kept([a, b])
    b.add_(1)
    return a, torch.cat([x] + kept)


@sharing(refused=False)
def one_that_a_written_element_may_be(self, x):
    a, b = x + 1, x - 2
    kept = self.kept([a, b])
    if len(kept) > 0:
        kept[0].add_(1)
    return a


@sharing(refused=True)
def a_list_of_more_rounds_than_are_walked_apart(self, x):
    a, b = x + 1, x - 2
    kept = self.kept([a, b] + [x * k for k in range(8)])
    b.add_(1)
    return a, torch.cat([x] + kept)


@sharing(refused=True)
def one_of_more_than_are_walked_apart(self, x):
    a, b = x + 1, x - 2
    kept = self.kept([a, b] + [x * k for k in range(8)])
    if len(kept) > 0:
        kept[0].add_(1)
    return a


@sharing(refused=False)
def one_that_may_be_another_by_a_third(self, x):
    a, b = x + 1, x - 2
    c = a if bool(x.sum() > 0) else b
    d = c if bool(x[0, 0] > 0) else x * 2
    a.add_(1)
    return d


@pytest.mark.parametrize("name", SHARED)
def test_shared_memory(name):
    forward, others, refused = SHARED[name]
    model = type(name, (nn.Module,), {"forward": forward, "kept": kept})()
    arguments = [(*sign, *rest) for rest in others for sign in SIGNS]
    if not refused:
        check(model, arguments[0], others=arguments[1:])
        return
    with pytest.raises(flambeau.errors.OnnxExporterError) as caught:
        check(model, arguments[0])
    message = str(caught.value)
    assert "unknown-aliasing" in message and re.search(r"test_shared_memory\.py:\d+", message) and "reads ''" not in message, message
