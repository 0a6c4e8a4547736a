"""Lists whose length, or the places in which, are known at run time only."""

from typing import Dict, List, Tuple

import flambeau
import onnxruntime
import pytest
import torch
from cases import ROUNDS, SIGNS, Cases, x
from checking import check, script
from torch import Tensor, nn

case = Cases()


def rounds(function):
    """Decorates a forward of a tensor and of how often something happens."""
    return case.forward(x(2, 3), torch.tensor(3), others=[(x(2, 3), n) for n in ROUNDS])(function)


@rounds
def joined(self, x, n):
    a = [x]
    b: List[Tensor] = []
    for i in range(int(n)):
        a.extend([x + i, x - i])
        b.append(x * i)
    a.extend(b)
    a += [x]
    both = a + b
    return torch.stack(a), torch.stack([x * 3] + both), len(both)


@case.forward(x(2, 3).abs(), dynamic_axes={"x": {0: "n"}}, others=[(-x(3, 3).abs(),), (x(1, 3).abs(),), (-x(1, 3).abs(),)])
def empty_on_some_paths(self, x):
    a: List[Tensor] = []
    b: List[Tensor] = []
    c: List[Tensor] = []
    if bool(x.sum() > 0):
        a.append(x)
        b = [x, x * 2]
    if x.size(0) > 1:
        c.append(x[0])
    a.append(x - 1)
    b += [x * 3]
    return torch.cat(a), torch.cat([x] + b, 1), torch.cat(c + [x[0] * 2]), torch.cat(c + c + [x[0]])


@rounds
def tuples_by_place(self, x, n):
    sizes, parts = (2, x.size(1), 5), (x, x + 1, x * 2)
    rests = [sizes[i] % 3 for i in range(3)]
    total = torch.zeros_like(x)
    for i in range(int(n)):
        total = total + parts[i % 3] * sizes[i % 3]
    return total, rests


@rounds
def extended_by_itself(self, x, n):
    a = [x]
    for i in range(int(n)):
        a.extend(a)
    return torch.stack(a)


@rounds
def reversed_in_place(self, x, n):
    a = [x]
    for i in range(int(n)):
        a.append(x + i)
        a.reverse()
    a.reverse()
    return torch.stack(a)


@rounds
def slices(self, x, n):
    a = [x]
    for i in range(int(n)):
        a.append(x + i)
    return torch.stack(a[:1]), torch.stack(a[-1:]), len(a[1:]), torch.stack(a[::2]), torch.stack(a[:-1] + [x]), len(a[-2:9])


@rounds
def slices_at_run_time(self, x, n):
    k = int(n)
    a = [x, x + 1, x + 2, x + 3, x + 4]
    return torch.stack(a[k:]), torch.stack(a[: k + 1]), torch.stack(a[-k - 1 :: 2]), len(a[k : k + 9])


@rounds
def elements_at_run_time(self, x, n):
    k = int(n)
    a = [x, x[:1], x[:, :2], x + 3]
    return a[k], a[-k - 1], [1, 2, 3, 4][k], [1.5, 2.5, 3.5, 4.5][k]


@rounds
def writes_at_run_time(self, x, n):
    a = [x, x, x, x, x]
    for i in range(int(n)):
        a[i] = x * i
        a[-1] = a[i] + 1
    a.insert(int(n), x * 100)
    del a[int(n) + 1]
    last = a.pop(int(n))
    return torch.stack(a), last


@rounds
def cleared_on_one_path(self, x, n):
    a = [x]
    for i in range(int(n)):
        if i == 1:
            a.clear()
        a.append(x + i)
    return torch.stack(a)


@rounds
def repeated(self, x, n):
    return torch.stack([x, x * 2] * (int(n) + 1)), len([x] * int(n))


@rounds
def integers(self, x, n):
    a = [1]
    for i in range(int(n)):
        a.append(a[-1] + 2)
    return torch.tensor(a), sum(a), max(a), min(a), a[-1] * x, len(a)


@rounds
def floats(self, x, n):
    a: List[float] = []
    for i in range(int(n)):
        a.append(i * 0.5)
    return torch.tensor(a)


@rounds
def returned(self, x, n):
    a: List[int] = []
    b: List[Tensor] = []
    for i in range(int(n)):
        a.append(i)
        b.append(x[:1] * i)
    return a, b


@rounds
def comprehension(self, x, n):
    a = [x + i for i in range(int(n))]
    total = torch.zeros(2, 3)
    for i, each in enumerate([v * 2 for v in a]):
        total = total + each * i
    return total


@rounds
def in_a_dict(self, x, n):
    d: Dict[str, List[Tensor]] = {"a": [x], "b": [x]}
    for i in range(int(n)):
        d["a"].append(x + i)
    return torch.stack(d["a"]), torch.stack(d["b"])


@rounds
def queue(self, x, n):
    waiting = [x]
    done: List[Tensor] = []
    while len(waiting) > 0 and len(done) < int(n):
        first = waiting.pop(0)
        done.append(first)
        waiting.append(first + 1)
        waiting.append(first * 2)
    done.append(x)
    return torch.stack(done), len(waiting)


# --- pieces ------------------------------------------------------------------------------------

ROWS = {"dynamic_axes": {"x": {0: "n"}}, "others": [(x(6, 4),), (x(1, 4),)]}


@case.forward(x(3, 4), **ROWS)
def unbound(self, x):
    rows = x.unbind(0)
    total = torch.zeros(4)
    for row in rows:
        total = total + row
    return torch.stack(rows), rows[0], len(rows), rows[-1] + 1, total, rows


@case.forward(torch.zeros(0, 4))
def unbound_of_nothing(self, x):
    total = torch.zeros(4)
    for row in x.unbind(0):
        total = total + row
    return total, len(x.unbind(0)), x + 1


@case.forward((x(4, 2) * 9).to(torch.int8), (x(4, 3) * 9).to(torch.int16), dynamic_axes={"x": {0: "n"}, "y": {0: "n"}})
def of_small_integers(self, x, y):
    rows = x.unbind(0)
    return torch.stack(rows), rows[-1], torch.cat(y.split(3)), y.chunk(3)[-1], rows


@case.forward([x(2, 3), x(2, 3, seed=4)], torch.tensor(1), others=[([x(2, 3), x(2, 3, seed=4)], torch.tensor(0))])
def given(self, tensors: List[Tensor], n):
    return tensors[int(n)] * 2, [tensor * int(n) for tensor in tensors]


@rounds
def elements_that_the_first_round_lacks(self, x, n):
    made: List[Tensor] = []
    sums: List[int] = []
    latest: Dict[str, Tensor] = {}
    for i in range(int(n) + 1):
        if i > 0:
            made.append(made[-1] * 0.5 + made[i - 1])
            latest["x"] = latest["x"] + made[i]
            made[0] = made[0] + 1
        else:
            made.append(x)
            latest["x"] = x
        if len(sums) < 2:
            sums.append(1)
        else:
            sums.append(sums[i - 1] + sums[i - 2])
    return made, sums, latest["x"]


@rounds
def a_stack(self, x, n):
    waiting: List[int] = []
    next_larger = torch.zeros(x.size(1), dtype=torch.long)
    for i in range(min(int(n) + 1, x.size(1))):
        while len(waiting) > 0 and bool(x[0, waiting[-1]] < x[0, i]):
            last = waiting.pop()
            next_larger[last] = i
        waiting.append(i)
    return next_larger, waiting


# --- before opset 13, when regions pass tensors only ----------------------------------------------


def at_older_opsets(*args, **options):
    """Decorates a forward: what `test_lists_of_one_shape_…` takes."""

    def add(function):
        return type(function.__name__, (nn.Module,), {"forward": function}), args, options

    return add


ROUND = {"others": [(x(2, 3), n) for n in ROUNDS]}


@at_older_opsets(x(2, 3), torch.tensor(3), **ROUND)
def repeated_rows(self, x, n):
    rows: List[Tensor] = []
    for i in range(int(n)):
        rows.append(x * i)
    count = len(rows)
    rows.append(x)
    return torch.stack(rows), torch.stack(rows, -1), torch.cat(rows), torch.cat(rows, 1), rows[-1], count, rows


@at_older_opsets(x(2, 3), torch.tensor(3), **ROUND)
def all_operations(self, x, n):
    a = [x, x + 1, x + 2]
    for i in range(int(n)):
        a.insert(1, x * i)
        a.insert(-1, a[0] - i)
        a[-2] = a[i] * 2
        del a[0]
        last = a.pop()
        a.append(last)
    return torch.stack(a), torch.stack(a[1:-1] + [x])


@at_older_opsets(x(2, 3), torch.tensor(3), **ROUND)
def nested(self, x, n):
    a = [x]
    for i in range(int(n)):
        for j in range(i):
            a.append(x + j)
        if i == 1:
            a.append(x * 10)
    return torch.cat(a)


@at_older_opsets(x(2, 3).abs(), others=SIGNS)
def on_one_path(self, x):
    a = [x]
    if bool(x.sum() > 0):
        a.append(x + 1)
    return torch.stack(a), len(a)


@at_older_opsets(x(3, 4), dynamic_axes={"x": {0: "n", 1: "m"}}, others=[(x(5, 2),), (x(1, 1),)])
def dynamic_rows(self, x):
    a: List[Tensor] = []
    for row in x:
        a.append(row * 2)
    return torch.stack(a), torch.cat(a)


@at_older_opsets(x(6, 3), torch.tensor(2), others=[(x(6, 3), torch.tensor(3))])
def collected_pieces(self, x, n):
    a: List[Tensor] = []
    for piece in x.chunk(int(n)):
        a.append(piece.sum(0))
    return torch.stack(a)


@at_older_opsets(x(2, 5), torch.tensor(2), dynamic_axes={"x": {0: "n"}}, others=[(x(4, 5), torch.tensor(3))])
def rows_of_a_size_that_is_computed(self, x, k: int):
    best = x.topk(k, -1)[0]
    rows = [best[i] for i in range(x.size(0))]
    return torch.stack(rows)


@at_older_opsets(x(3, 2), torch.tensor(2), others=[(x(3, 2), torch.tensor(n)) for n in (1, 3)])
def rows_of_what_grew(self, x, n: int):
    y = x
    for i in range(n):
        y = torch.cat([y, x], 1)
    rows: List[Tensor] = []
    for i in range(int(n) + 1):
        rows.append(y[i % 3] * i)
    return torch.stack(rows)


@pytest.mark.parametrize("opset", [11, 12])
@pytest.mark.parametrize(
    "make",
    [repeated_rows, all_operations, nested, on_one_path, dynamic_rows, collected_pieces, rows_of_a_size_that_is_computed, rows_of_what_grew],
)
def test_lists_of_one_shape_before_sequences_in_regions(make, opset):
    program, args, options = make
    check(program(), args, opset_version=opset, **options)


class Growing(nn.Module):
    def forward(self, x, n):
        rows = [x]
        for i in range(int(n)):
            rows.append(torch.cat([rows[-1], x]))
        return rows[-1]


class RowsOfWhatGrows(nn.Module):
    def forward(self, x, n):
        y, total = x, x.sum()
        for i in range(int(n)):
            y = torch.cat([y, x], 1)
            rows: List[Tensor] = []
            for k in range(int(n)):
                rows.append(y[k % 2] * i)
            total = total + torch.stack(rows).sum()
        return total


class RowsThatGrow(nn.Module):
    def forward(self, x, n):
        y = x
        rows: List[Tensor] = []
        for i in range(int(n)):
            y = torch.cat([y, x])
            rows.append(y)
        return torch.cat(rows)


class StackedAtTimes(nn.Module):
    def forward(self, x, n):
        rows: List[Tensor] = []
        for i in range(int(n)):
            rows.append(x[0, : i + 1])
        if x.size(0) == 1:
            return torch.stack(rows)
        return torch.cat(rows)


@pytest.mark.parametrize("model", [RowsThatGrow(), StackedAtTimes()], ids=lambda model: type(model).__name__)
def test_sizes_that_differ_in_each_round_need_sequences_in_regions(model):
    axes = {"x": {0: "rows"}}
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"Loop takes no sequences at opset 12"):
        check(model, (x(2, 3), torch.tensor(2)), opset_version=12, dynamic_axes=axes)
    check(model, (x(2, 3), torch.tensor(2)), opset_version=13, others=[(x(2, 3), torch.tensor(3))], dynamic_axes=axes)


@pytest.mark.parametrize("opset", [11, 12, 13])
def test_rows_that_are_stacked_are_of_one_shape_in_each_round(opset):
    check(RowsOfWhatGrows(), (x(2, 3), torch.tensor(2)), opset_version=opset, others=[(x(2, 3), torch.tensor(3)), (x(2, 3), torch.tensor(1))])


def test_lists_of_several_shapes_need_sequences_in_regions():
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"Loop takes no sequences at opset 12.*\n.*\n.*opset 13"):
        check(Growing(), (x(2, 3), torch.tensor(2)), opset_version=12)
    check(Growing(), (x(2, 3), torch.tensor(2)), opset_version=13, others=[(x(2, 3), torch.tensor(0))])


# --- lists of tuples ------------------------------------------------------------------------------


@rounds
def pairs(self, x, n):
    found: List[Tuple[Tensor, int]] = []
    for i in range(int(n)):
        found.append((x + i, i * 2))
    found.append((x, 7))
    total = x
    for k, (tensor, number) in enumerate(found):
        total = total + tensor * number - k
    return total, len(found), found[-1][0], found[0][1], torch.stack([pair[0] for pair in found])


@rounds
def pairs_changed_in_place(self, x, n):
    a = [(x, x * 2), (x + 1, x * 3)]
    for i in range(int(n)):
        a.append((a[-1][1], a[-1][0] + 1))
        a.insert(1, (x * i, x - i))
        a[i] = (a[0][1], a[0][0])
        a.reverse()
    last = a.pop()
    a += a[1:]
    a.extend([(x, x)])
    b = a + [last]
    del b[0]
    return last, len(a), torch.stack([p[0] - p[1] for p in b]), a[int(n)][1]


@rounds
def pairs_on_one_path(self, x, n):
    a: List[Tuple[Tensor, float]] = [(x, 0.5)]
    if bool(n > 1):
        a.append((x * 2, 1.5))
        a.append((x * 3, 2.5))
    return a[len(a) - 1][0], a[len(a) - 1][1] * x, len(a)


@rounds
def pairs_that_share_memory(self, x, n):
    x = x.clone()
    a: List[Tuple[Tensor, int]] = []
    for i in range(int(n)):
        a.append((x + i, i))
    a.append((x * 2, 1))
    return a[0][0] + 1, x


@rounds
def searched_and_sorted(self, x, n):
    a: List[int] = []
    for i in range(int(n)):
        a.append((i * 7) % 5)
    ordered = sorted(a)
    weighted = 0
    for i, value in enumerate(ordered):
        weighted += i * value
    a.append(4)
    a.sort()
    return x + a.index(4), a.count(2), 2 in a, 9 in ordered, weighted, torch.tensor(a)


@case.forward(torch.tensor([3, 5, 3, 7]), torch.tensor(5), others=[(torch.tensor([5, 2, 3, 4]), torch.tensor(5)), (torch.tensor([2, 4, 4, 5]), torch.tensor(4))],
              dynamic_axes={"x": {0: "n"}, "k": []})
def removed_by_value(self, x, k):
    grown: List[int] = []
    for row in range(x.size(0)):
        grown.append(int(x[row]))
    grown.remove(int(k))
    mixed = [int(k), 5, 9]
    mixed.remove(5)
    mixed.remove(int(k) * 0 + 9)
    return torch.tensor(grown), len(grown), mixed


@case.forward(x(5), others=[(-x(5),)])
def numbers_of_elements(self, x):
    a = [float(v) for v in x]
    a.sort(reverse=True)
    signs = [v > 0 for v in a]
    return torch.tensor(a), a.index(min(a)), any(signs), all(signs), float(x[0]) in a


@case.forward(torch.arange(6), dynamic_axes={"x": {0: "n"}}, others=[(torch.arange(4),)])
def numbers_of_a_tensor(self, x):
    rows: List[List[int]] = torch.arange(6).reshape(2, 3).tolist()
    a: List[int] = x.tolist()
    weighted = 0
    for i, value in enumerate(a):
        weighted += i * value
    return weighted, len(a), 5 in a, max(a), rows[1][2] + x


@case.forward(x(2, 3), torch.tensor(2), others=[(x(2, 3), torch.tensor(3))])
def rows_that_grow_together(self, x, n):
    beams: List[List[int]] = [[0], [1]]
    for i in range(int(n)):
        longer: List[List[int]] = []
        for beam in beams:
            longer.append(beam + [i])
        beams = longer
    return torch.tensor(beams), x


class Labelled(nn.Module):
    def forward(self, x, n):
        pairs = [(x, "0")]
        for i in range(int(n)):
            pairs.append((x + i, "1"))
        return pairs[0][0]


def test_what_no_sequence_holds_is_refused():
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"test_lists\.py:\d+"):
        check(Labelled(), (x(2, 3), torch.tensor(2)))


class WrittenPair(nn.Module):
    def forward(self, x, n):
        x = x.clone()
        a: List[Tuple[Tensor, int]] = []
        for i in range(int(n)):
            a.append((x, i))
        x.add_(1)
        return a[0][0]


def test_an_element_of_a_tuple_that_was_written_elsewhere_is_refused():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="unknown-aliasing"):
        check(WrittenPair(), (x(2, 3), torch.tensor(2)))


def test_fields_of_tuples_are_given_out_as_sequences():
    class Returned(nn.Module):
        def forward(self, x, n):
            pairs: List[Tuple[Tensor, int]] = []
            for i in range(int(n)):
                pairs.append((x + i, i * 2))
            return pairs

    program = flambeau.export(script(Returned()), (x(2, 3), torch.tensor(1)), verbose=False)
    assert any("each field of them as a sequence of its own" in each.message for each in program.diagnostics)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    tensors, numbers = session.run(None, {"x": x(2, 3).numpy(), "n": torch.tensor(3).numpy()})
    assert [int(number) for number in numbers] == [0, 2, 4]
    torch.testing.assert_close(torch.stack([torch.as_tensor(each) for each in tensors]), torch.stack([x(2, 3) + i for i in range(3)]))


@case.forward(x(3, 4), others=[(x(5, 4),)], dynamic_axes={"x": {0: "n"}})
def two_windows_that_are_made_anew(self, x):
    rows, numbers, doubled = [x[0] * 1], [1, 2], [x[0], x[1]]
    for row in x:
        rows.append(row)
        rows = rows[1:]
        numbers.append(3)
        numbers = [n + 1 for n in numbers[1:]]
        doubled.append(row * 2)
        doubled = doubled[1:]
    return torch.stack(rows), numbers, torch.stack(doubled)


@case.forward(x(3, 4), others=[(x(5, 4),), (x(1, 4),)], dynamic_axes={"x": {0: "n"}})
def inserted_into_nothing_at_run_time(self, x):
    rows: List[torch.Tensor] = []
    pairs: List[Tuple[int, torch.Tensor]] = []
    for i in range(x.size(0)):
        rows.insert(i // 2, x[i])
        pairs.insert(i // 2, (i, x[i]))
    return torch.stack(rows), torch.stack([row * i for i, row in pairs]), rows[-1]


test_program = case.test()
