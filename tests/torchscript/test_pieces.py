"""Pieces that a tensor is cut into: how many there are, or how large, may be known at run time only."""

from typing import List

import torch
from cases import Cases, x
from checking import check
from torch import nn

case = Cases()
ROWS = {"dynamic_axes": {"x": {0: "n"}}, "others": [(x(6, 4),), (x(1, 4),)]}


@case.forward(x(3, 4), **ROWS)
def split(self, x):
    pieces = x.split(2)
    return pieces[0], len(pieces), torch.cat(pieces), pieces


@case.forward(x(6, 4), torch.tensor(2), others=[(x(6, 4), torch.tensor(n)) for n in (1, 4, 9)])
def split_at_run_time(self, x, n):
    pieces, chunks, parts = x.split(int(n)), x.chunk(int(n)), torch.tensor_split(x, int(n))
    return pieces[-1], len(pieces), chunks[-1], len(chunks), torch.cat(chunks), parts[0], len(parts), torch.cat(parts)


@case.forward(x(6, 4), how=("trace", "script"), dynamic_axes={"x": {0: "n"}})
def unpacked(self, x):
    a, b, c = x.split(x.size(0) // 3)
    return a, b + 1, c


@case.forward(x(4, 4), dynamic_axes={"x": {0: "n"}}, others=[(x(6, 4),), (x(3, 4),), (x(2, 4),)])
def chunks_of_which_there_are_fewer(self, x):
    chunks = x.chunk(3)
    first, second = x.chunk(2)
    return chunks[0], chunks[-1], len(chunks), torch.cat(chunks[::-1]), first, second


@case.forward(x(2, 0), torch.tensor(2), dynamic_axes={"x": {0: "n"}}, others=[(x(3, 0), torch.tensor(3))])
def chunks_of_nothing(self, x, n):
    chunks, some = x.chunk(3, 1), x.chunk(int(n), 1)
    first, second = x.unsafe_chunk(2, 1)
    return torch.stack(chunks), len(chunks), first, second, some, len(some), some[1]


@case.forward(x(5, 4), torch.tensor(2), dynamic_axes={"x": {0: "n"}}, others=[(x(0, 4), torch.tensor(3)), (x(1, 4), torch.tensor(3)), (x(7, 4), torch.tensor(1))])
def pieces_of_what_may_be_nothing(self, x, n):
    size = int(n)
    pieces, parts, chunks = x.split(2), x.split(size), x.chunk(size)
    found = x[x[:, 0] > 9].split(3)
    return torch.cat(pieces), len(pieces), parts[-1], len(parts), torch.cat(chunks), len(chunks), torch.cat(found), len(found)


@case.forward(x(4, 4), dynamic_axes={"x": {0: "n"}}, others=[(x(7, 4),), (x(3, 4),)])
def pieces_are_views(self, x):
    x = x.clone()
    for k, row in enumerate(x.unbind(0)):
        row.add_(k)
    rows = x.unbind(0)
    x.unsqueeze_(0)
    rows[-1].zero_()
    pieces = x[0].split(2)
    pieces[1].mul_(3)
    first, second = x[0].chunk(2)
    second[0] = 5
    return x, rows[1], pieces[0], first

class SplitAsTold(nn.Module):
    def forward(self, x, sizes):
        parts: List[int] = sizes.tolist()
        return x.split(parts)[0]


def test_sizes_of_which_the_number_is_open():
    args = (x(6, 3), torch.tensor([1, 2, 3]))
    check(SplitAsTold(), args)
    check(SplitAsTold(), args, dynamic_axes={"x": [0], "sizes": [0]}, others=[(x(6, 3), torch.tensor([2, 4])), (x(5, 3), torch.tensor([5]))])


@case.forward(x(3, 6), torch.tensor(3), others=[(x(3, 3), torch.tensor(2)), (x(3, 1), torch.tensor(1))], dynamic_axes={"x": [1], "n": []})
def split_by_sizes_that_were_collected(self, x, n: int):
    sizes: List[int] = []
    for i in range(n):
        sizes.append(i + 1)
    pieces = x.split_with_sizes(sizes, 1)
    total = x.sum()
    for i, piece in enumerate(torch.split(x, sizes, dim=-1)):
        total = total + piece.mean() * i
    return pieces[-1], torch.cat(pieces, 1), len(pieces), total


ROWS_OF_LENGTHS = {"dynamic_axes": {"x": {0: "n"}, "lengths": {0: "n"}}, "others": [(x(4, 4), torch.tensor([1, 0, 2, 1]))]}


@case.forward(x(3, 4), torch.tensor([4, 1, 2]), **ROWS_OF_LENGTHS)
def padded_to_the_longest(self, x, lengths):
    lists: List[int] = lengths.tolist()
    rows = [x[i, : lists[i]] for i in range(len(lists))]
    whole = [row.long() for row in rows]
    left = torch.nn.utils.rnn.pad_sequence(whole, batch_first=True, padding_value=2.0, padding_side="left")
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.nn.utils.rnn.pad_sequence(rows, padding_value=-1.5), left


@case.forward(x(4, 3), torch.tensor(1), others=[(x(6, 3), torch.tensor(n)) for n in (-9, -6, -1, 0, 6, 100)], dynamic_axes={"x": {0: "n"}}, input_names=["x", "place"])
def inserted_beyond_the_ends(self, x, place: int):
    rows, numbers = [x[i] for i in range(x.size(0))], [i for i in range(x.size(0))]
    rows.insert(100, x[0] * 2)
    rows.insert(-100, x[1] * 3)
    rows.insert(place, x[2] * 5)
    numbers.insert(100, 50)
    numbers.insert(place, 70)
    few = [x[0], x[1]]
    few.insert(place, x[3])
    few.insert(-40, x[1])
    return torch.stack(rows), torch.tensor(numbers), torch.stack(few)


BOUNDS = [torch.tensor(bounds, dtype=torch.int64) for bounds in ([2], [1, 2, 4], [4, 2], [-2], [9, 12], [])]


@case.forward(x(5, 4), torch.tensor([1, 3]), others=[(x(7, 4), bounds) for bounds in BOUNDS], dynamic_axes={"x": {0: "n"}, "bounds": {0: "k"}})
def split_at_bounds_of_run_time_length(self, x, bounds):
    rows, columns = torch.tensor_split(x, bounds), torch.tensor_split(torch.complex(x, x + 1), bounds, -1)
    return rows[0], rows[-1], len(rows), torch.cat(rows), torch.view_as_real(columns[-1])


@case.forward(x(5, 4), torch.tensor(2), others=[(x(5, 4), torch.tensor(n)) for n in (1, 4, 9)])
def split_into_as_many_as_a_tensor_says(self, x, n):
    rows, columns = torch.tensor_split(x, n), torch.tensor_split(x, n, dim=-1)
    return rows[-1], len(rows), torch.cat(rows), columns[0], len(columns)


@case.forward(x(5, 4), torch.tensor(2), torch.tensor([1, 3]), how=("trace",), dynamic_axes={"x": {0: "n"}, "n": [], "bounds": {0: "k"}})
def split_at_tensors_in_a_trace(self, x, n, bounds):
    return torch.tensor_split(x, n), torch.tensor_split(x, bounds, 1)
@case.forward(x(5, 4), torch.tensor(2), others=[(x(rows, 4), torch.tensor(n)) for rows, n in ((7, 3), (5, 1), (2, 4), (0, 2))], dynamic_axes={"x": {0: "n"}, "n": []})
def written_parts_as_equal_as_can_be(self, x, n):
    y, z = x.clone(), x.clone()
    for k, part in enumerate(torch.tensor_split(y, int(n))):
        part += k + 1
    parts = torch.tensor_split(z, n)
    parts[0].mul_(2)
    parts[-1].sub_(3)
    y[0:1] = 9.0
    columns = torch.tensor_split(z, int(n), -1)
    columns[0].fill_(1.5)
    return y, z, parts[0], parts[-1], len(parts), torch.cat(parts), torch.cat(columns, 1)


@case.forward(x(5, 4), torch.tensor([1, 3]), others=[(x(7, 4), bounds) for bounds in BOUNDS], dynamic_axes={"x": {0: "n"}, "bounds": {0: "k"}})
def written_parts_between_bounds(self, x, bounds):
    """Where these go back, parts have rows in common."""
    y = x.clone()
    parts = torch.tensor_split(y, bounds)
    for part in parts:
        part *= 2
    bounds += 1
    parts[-1].add_(1)
    return y, parts[0], len(parts), bounds


@case.forward(x(5, 4), dynamic_axes={"x": {0: "n"}}, others=[(x(7, 4),), (x(1, 4),)], opset_version=9)
def joined_again(self, x):
    """Of what a tensor was cut into, joining makes that tensor: that needs no list of ONNX, which this opset has not."""
    y = x.clone()
    rows, pairs, halves = y.unbind(0), y.split(2), y.chunk(2)
    y *= 2
    return torch.stack(rows), torch.stack(rows, 1), torch.cat(pairs), torch.cat(halves, -2), torch.concat(pairs).add_(y)


test_program = case.test()
