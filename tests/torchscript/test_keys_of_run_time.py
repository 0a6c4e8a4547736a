"""Dicts that are read by keys which only a run knows."""

from typing import Dict, List, Tuple

import pytest
import torch
from cases import Cases, x
from checking import check

import flambeau

case = Cases()

KEYS = [(x(4, 3), torch.tensor(key)) for key in (0, 1, 2, 5)]


@case.forward(*KEYS[2], others=KEYS)
def tensors(self, x, i):
    rows: Dict[int, torch.Tensor] = {0: x, 5: x + 1, 1: x * 2, 2: x[1:]}
    return rows[int(i)]


@case.forward(*KEYS[2], others=KEYS)
def numbers(self, x, i):
    k = int(i)
    ints: Dict[int, int] = {5: 7, 0: 3}
    floats: Dict[float, float] = {0.0: 0.1, 1.0: 2.0, 2.0: 1e9, 5.0: -1.0}
    flags: Dict[int, bool] = {0: True, 1: False, 2: True, 5: False}
    return k in ints, ints.get(k, -1), ints[k] if k in ints else 100, floats[float(k)], x * floats[float(k)], flags[k], k + 1 in ints


@case.forward(*KEYS[2], others=KEYS)
def entries_that_may_not_be_there(self, x, i):
    rows: Dict[int, torch.Tensor] = {0: x, 1: x * 2}
    row = rows.get(int(i))
    return rows.get(int(i), x - 1), x * 10 if row is None else row + 1


@case.forward(*KEYS[2], others=KEYS)
def entries_that_were_written_before(self, x, i):
    a, b = x.clone(), x * 2
    rows: Dict[int, torch.Tensor] = {0: a, 1: b, 2: a + b, 5: b * 3}
    a += 1
    return rows[int(i)] + a


@case.forward(*KEYS[2], others=KEYS)
def lists(self, x, i):
    follow: Dict[int, List[int]] = {0: [1, 2], 1: [0], 2: [5, 0, 1], 5: [7]}
    rows: Dict[int, List[torch.Tensor]] = {0: [x], 1: [x, x + 1], 2: [x * 2], 5: [x]}
    sum, reached = 0, [int(i)]
    for k in follow[int(i)]:
        sum += k
        if k < 5:
            reached.extend(follow[k])
    other, more = follow.get(int(i) + 1), len(rows.get(int(i) + 3, [x - 1]))
    row = rows[int(i)]
    row.append(x * 3)
    return sum, torch.tensor(reached), torch.stack(row), more, 0 if other is None else 1


@case.forward(*KEYS[2], others=KEYS)
def tuples_and_dicts(self, x, i):
    pairs: Dict[int, Tuple[torch.Tensor, int]] = {0: (x, 1), 1: (x + 1, 4), 2: (x * 2, 3), 5: (x, 5)}
    boxes: Dict[int, Dict[str, torch.Tensor]] = {0: {"a": x}, 1: {"a": x + 1}, 2: {"a": x * 2}, 5: {"a": -x}}
    y, factor = pairs[int(i)]
    box = boxes[int(i)]
    box["a"] = box["a"] + 1
    return y * factor, box["a"]


@case.forward(x(5, 3), others=[(x(2, 3),), (x(7, 3),)], dynamic_axes={"x": {0: "n"}})
def in_rounds(self, x):
    factors: Dict[int, float] = {0: 0.5, 1: 2.0, 2: -1.0}
    sum, n = x.sum(0), 0
    for row in x:
        k = int(row.argmax())
        sum = sum * factors[k]
        if k * 2 in factors:
            n += 1
    return sum, n


@case.forward(x(5, 3), others=[(x(2, 3),), (x(7, 3),)], dynamic_axes={"x": {0: "n"}})
def the_key_of_an_entry(self, x):
    n = x.size(0)
    rows: Dict[int, torch.Tensor] = {n: x}
    rows[n] = rows[n] + 1
    return rows[n], len(rows), 5 in rows, n in rows, rows.get(2) is None


class Lacking(torch.nn.Module):
    def forward(self, x, i):
        rows: Dict[int, torch.Tensor] = {0: x, 1: x * 2}
        return rows[int(i)]


def test_a_key_that_the_dict_lacks_fails():
    program = check(Lacking(), KEYS[0])
    with pytest.raises(Exception, match="(?i)index|sequence"):
        program(*KEYS[3])


class Written(torch.nn.Module):
    def forward(self, x, i):
        k = int(i)
        rows: Dict[int, torch.Tensor] = {0: x, 1: x * 2, 5: x - 1}
        counts: Dict[int, int] = {0: 0, 1: 10, 5: 20}
        rows[k] = rows[k] + 1
        counts[k] += 7
        return rows[0], rows[1], rows[5], len(rows), counts[0], counts[1], counts[5], counts[k]


def test_an_entry_is_written_where_only_a_run_knows_the_key():
    program = check(Written(), KEYS[0], others=[KEYS[1], KEYS[3]])
    assert any("taken to be one that the dict has" in each.message for each in program.diagnostics)
    with pytest.raises(Exception, match="(?i)index|sequence|bound"):
        program(*KEYS[2])


@case.forward(x(5, 3), others=[(x(2, 3),), (x(7, 3),)], dynamic_axes={"x": {0: "n"}})
def counts_in_rounds(self, x):
    counts: Dict[int, int] = {0: 0, 1: 0, 2: 0}
    latest: Dict[int, torch.Tensor] = {0: x[0], 1: x[0], 2: x[0]}
    for row in x:
        k = int(row.argmax())
        counts[k] += 1
        latest[k] = row
    most = 0
    for k, n in counts.items():
        most = max(most, n * 10 + k)
    return most, counts[0], latest[0], latest[2]


@case.forward(x(5, 3), others=[(x(2, 3),), (x(7, 3),)], dynamic_axes={"x": {0: "n"}})
def counted_by_default(self, x):
    counts: Dict[int, int] = {0: 0, 1: 0, 2: 0}
    sums: Dict[int, float] = {0: 0.0, 1: 0.5, 2: 0.0}
    seen: Dict[int, bool] = {0: False, 1: False, 2: False}
    by_name: Dict[str, int] = {}
    for name in ["a", "b", "a"]:
        by_name[name] = by_name.get(name, 0) + 1
    for row in x:
        k = int(row.argmax())
        counts[k] = counts.get(k, 0) + 1
        sums[k] += float(row.max())
        if k in seen:
            seen[k] = True
        else:
            seen[k] = False
    most = max([counts[0], counts[1], counts[2]])
    return counts[0], counts[1], counts[2], sums[1], seen[0], seen[2], most, by_name["a"], by_name.get("c", 5)


COUNTING = {
    "get": "d[k] = d.get(k, 0) + 1",
    "in": "if k in d:\n            d[k] += 1\n        else:\n            d[k] = 1",
    "not in": "if k not in d:\n            d[k] = 0\n        d[k] += 1",
}


@pytest.mark.parametrize("rows", ["dynamic", "static"])
@pytest.mark.parametrize("line", COUNTING)
def test_counting_from_nothing_says_what_to_do(line, rows, tmp_path):
    file = tmp_path / "counting.py"
    file.write_text("import torch\nfrom typing import Dict\ndef counting(x: torch.Tensor):\n    d: Dict[int, int] = {}\n    for row in x:\n"
                    f"        k = int(row.argmax())\n        {COUNTING[line]}\n    return d[0]\n")  # fmt: skip
    namespace = {"__name__": "counting"}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"a key that is known at run time only(.|\n)*hint: .*with all its keys"):
        flambeau.export(torch.jit.script(namespace["counting"]), (x(3, 2),), input_names=["x"], verbose=False, dynamo=False,
                        dynamic_axes={"x": {0: "n"}} if rows == "dynamic" else None)  # fmt: skip


class Empty(torch.nn.Module):
    def forward(self, x, i):
        rows: Dict[int, torch.Tensor] = {}
        rows[int(i)] = x
        rows[0] = x + 1
        return len(rows), x


def test_entries_are_not_added_where_they_may_be_there():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="looks in a dict for a key that is known at run time only"):
        flambeau.export(torch.jit.script(Empty()), KEYS[0])


ROWS_BY_PLACE = {"rows": "rows[i] = x[i]", "twice": "rows[i] = x[i]\n        rows[i] = rows[i] * 2", "shifted": "rows[i + 2] = x[i]"}


@pytest.mark.parametrize("line", ROWS_BY_PLACE)
def test_entries_that_rounds_add_are_refused(line, tmp_path):
    """The first round makes an entry, and no other round writes that one."""
    file = tmp_path / "by_place.py"
    file.write_text("import torch\nfrom typing import Dict\ndef by_place(x: torch.Tensor):\n    rows: Dict[int, torch.Tensor] = {}\n"
                    f"    for i in range(x.size(0)):\n        {ROWS_BY_PLACE[line]}\n    return len(rows), x\n")  # fmt: skip
    namespace = {"__name__": "by_place"}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    with pytest.raises(flambeau.errors.OnnxExporterError, match="a key that is known at run time only"):
        flambeau.export(torch.jit.script(namespace["by_place"]), (x(4, 3),), input_names=["x"], dynamic_axes={"x": {0: "n"}})


def test_entries_whose_keys_may_be_the_same_are_refused():
    """How many there are, only a run knows."""

    class Model(torch.nn.Module):
        def forward(self, x, i):
            rows = {int(i[0]): x, int(i[1]): x * 2}
            return len(rows), x

    with pytest.raises(flambeau.errors.OnnxExporterError, match="a key that is known at run time only"):
        flambeau.onnx.export(torch.jit.script(Model()), (x(3), torch.tensor([1, 2])), dynamo=False)


@case.forward(x(3))
def keys_that_are_the_same(self, x):
    rows = {1: x, 2: x * 2, 1: x * 3}
    return rows[1], len(rows)


test_program = case.test()


@pytest.mark.parametrize("read", ["len(rows[1])", "len(first)", "len(rows[i])"])
def test_a_list_is_written_through_such_a_key(read, tmp_path):
    file = tmp_path / "written.py"
    file.write_text("import torch\nfrom typing import Dict, List\ndef written(x: torch.Tensor, i: int):\n    first = [x]\n"
                    "    rows: Dict[int, List[torch.Tensor]] = {0: first, 1: [x, x + 1]}\n"
                    f"    rows[i].append(x)\n    return {read}\n")  # fmt: skip
    namespace = {"__name__": "written"}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    program = flambeau.onnx.export(torch.jit.script(namespace["written"]), (x(2, 3), 1), None, dynamo=False)
    for key in (0, 1):
        assert program(x(2, 3), torch.tensor(key)) == (torch.tensor(namespace["written"](x(2, 3), key)),)
