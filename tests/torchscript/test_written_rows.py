"""Lists and dicts that are written where they lie in a list of run-time length, or at a place that only a run knows."""

from typing import Dict, List, Optional

import flambeau
import pytest
import torch
from cases import Cases, x
from checking import script
from torch import Tensor, nn

case = Cases()
N = torch.tensor
SOME = [(x(4, 3, seed=seed) * 2, N(n)) for seed, n in ((1, 0), (2, 2), (3, 1), (4, 3))]


# --- dicts ------------------------------------------------------------------------------------


@case.forward(
    x(2, 5, 4),
    dynamic_axes={"images": {0: "images", 1: "boxes"}},
    others=[(x(3, 6, 4),), (x(1, 2, 4) * 9,)],
)
def boxes_are_scaled_in_what_was_found(self, images):
    found: List[Dict[str, Tensor]] = []
    for image in images:
        kept = image[:, 0] > 0
        found.append({"boxes": image[kept], "labels": kept.nonzero().squeeze(1)})
    for i, each in enumerate(found):
        boxes = each["boxes"]
        found[i]["boxes"] = boxes * (i + 2)
    for each in found:
        each["labels"] = each["labels"] + 1
    return torch.cat([each["boxes"] for each in found]), torch.cat([each["labels"] for each in found])


@case.forward(x(4, 3), N(1), others=SOME)
def at_places(self, a, k):
    found: List[Dict[str, Tensor]] = []
    for row in a:
        found.append({"v": row, "w": row[:2]})
    found[int(k)]["v"] = found[int(k)]["v"] * 3
    found[0]["w"] = found[-1]["w"] + 1
    last = found[-1]
    last["v"] = last["v"] - 1
    last["w"] = last["v"][:2]
    return torch.stack([each["v"] for each in found]), torch.stack([each["w"] for each in found])


@case.forward(x(4, 3), N(1), others=SOME)
def two_names_of_what_is_at_a_place(self, a, k):
    found: List[Dict[str, Tensor]] = []
    for row in a:
        found.append({"v": row, "w": row * 2})
    total = torch.zeros(3)
    for i, each in enumerate(found):
        found[i]["v"] = each["v"] * 2
        total = total + each["v"]
        each["w"] = each["v"] + each["w"]
    return total, torch.stack([each["v"] - each["w"] for each in found])


@case.forward(x(4, 3), N(1), others=SOME)
def on_some_paths(self, a, k):
    found: List[Dict[str, Tensor]] = []
    for row in a:
        found.append({"v": row})
    for i in range(len(found)):
        each = found[i]
        if bool(each["v"].sum() > 0):
            each["v"] = each["v"] * 2
        elif bool(each["v"][0] > 0):
            continue
        else:
            found[i]["v"] = each["v"] - 1
            if i > int(k):
                break
    one = found[0] if bool(a.sum() > 0) else found[-1]
    one["v"] = a[0] + 1
    return torch.stack([each["v"] for each in found])


@case.forward(x(4, 3), N(1), others=SOME)
def one_of_the_list_or_another(self, a, k):
    found: List[Dict[str, Tensor]] = []
    for row in a:
        found.append({"v": row})
    each = found[0] if bool(a.sum() > 0) else {"v": a[0]}
    each["v"] = a[0] + 1
    return found[0]["v"]


@case.forward(x(4, 3), N(1), others=SOME)
def lists_that_grew_otherwise(self, a, k):
    found: List[Dict[str, Tensor]] = []
    for row in a:
        found = found + [{"v": row}]
    found = [{"v": a[0] * 5}] + found
    found += [{"v": a[1] * 2}]
    found.insert(1, {"v": a[2]})
    found.pop()
    found[int(k)]["v"] = a[0] * 9
    part = found[1:]
    part[-1]["v"] = a[0] * 4
    return torch.stack([each["v"] for each in part])


@case.forward(x(4, 3), N(1), others=SOME)
def what_the_list_can_not_have_is_not_read(self, a, k):
    found: List[Dict[str, Tensor]] = []
    for row in a:
        found.append({"v": row})
    each = found[int(k)]
    each["new"] = a[0]
    return each["new"] + each["v"]


# --- lists ------------------------------------------------------------------------------------


@case.forward(x(4, 3), N(1), others=SOME)
def begun_anew_where_one_is_full(self, a, k):
    groups: List[List[Tensor]] = []
    group: List[Tensor] = []
    for row in a:
        if bool(row[0] > 0) and len(group) > 0:
            groups.append(group)
            group = []
        group.append(row)
    groups.append(group)
    total = torch.zeros(3)
    for i, each in enumerate(groups):
        for row in each:
            total = total * 0.5 + row * (i + 1)
    return total, [len(each) for each in groups]


TREES = [N([-1, 0, 0, 1, 1]), N([-1, 0, 1, 2, 3, 4, 5]), N([-1]), N([-1, 0, 0])]


@case.forward(TREES[0], dynamic_axes={"parents": {0: "nodes"}}, others=[(each,) for each in TREES[1:]])
def children_of_each_node(self, parents):
    children: List[List[int]] = []
    for _ in range(parents.size(0)):
        none: List[int] = []
        children.append(none)
    for i in range(parents.size(0)):
        parent = int(parents[i])
        if parent >= 0:
            children[parent].append(i)
    sizes = [1 for _ in range(parents.size(0))]
    for i in range(parents.size(0) - 1, -1, -1):
        for child in children[i]:
            sizes[i] += sizes[child]
    return sizes, [len(each) for each in children]


@case.forward(x(4, 3), N(1), others=SOME)
def at_places_of_a_list_of_known_length(self, a, k):
    groups: List[List[Tensor]] = [[], [], []]
    for row in a:
        groups[int(row.argmax())].append(row)
    table = [[0, 1], [2], [0, 2, 1], [1]]
    total = torch.zeros(4)
    for i in range(a.size(0)):
        for column in table[(i + int(k)) % 4]:
            total = total * 0.5 + a[:, column]
    table[int(k)] = [2]
    table.append([1])
    return total, torch.stack(groups[0] + groups[1] + groups[2]), len(table[int(k)]), len(table)


@case.forward(x(4, 3), N(1), others=SOME)
def numbers_of_a_list_of_known_length(self, a, k):
    rows = [[0.5, 1.5], [2.5], [1.0], [4.0]]
    one = rows[int(k)]
    one.append(7.0)
    return sum(one), len(rows[0]), len(rows[3]), a


@case.forward(x(4, 3), N(1), others=SOME)
def all_ways_to_write_a_row(self, a, k):
    rows: List[List[Tensor]] = []
    for row in a:
        rows.append([row])
    for i in range(len(rows)):
        rows[i][0] = rows[i][0] * 2
        rows[i] += [a[0]]
        rows[i].extend([a[1], a[2]])
        rows[i].pop(1)
    for each in rows:
        each.append(a[3])
    rows[0 if bool(a.sum() > 0) else -1].insert(0, a[3])
    return torch.stack([torch.stack(each).sum(0) for each in rows]), [len(each) for each in rows]


@case.forward(x(4, 3), N(1), others=SOME)
def several_such_lists(self, a, k):
    rows: List[List[int]] = []
    found: List[Dict[str, Tensor]] = []
    known = [[0.5, 1.5], [2.5], [1.0], [4.0]]
    for i, each in enumerate(a):
        rows.append([i])
        found.append({"v": each})
    for i in range(a.size(0)):
        rows[(i + int(k)) % len(rows)].append(i)
        found[i]["v"] = found[i]["v"] * len(rows[i])
        known[i % 4].append(7.0)
        known[int(k)].append(3.0)
    return [len(each) for each in rows], torch.stack([each["v"] for each in found]), [sum(each) for each in known]


# --- lists of known length, of which a path may have written one ---------------------------------


@case.forward(x(4, 3), N(1), others=SOME)
def chosen_after_a_write_by_another_name(self, a, k):
    first, second, chosen = [1, 2], [3, 4], [0, 0]
    if int(k) > 0:
        second = first
    if bool(a.sum() > 0):
        second[0] = 99
        chosen = first
    return chosen[0]


@case.forward(x(4, 3), N(1), others=SOME)
def carried_after_a_write_by_another_name(self, a, k):
    first, second = [a.sum()], [a.sum() * 0]
    for i in range(a.size(0)):
        if i > 1:
            second[0] = a[i].sum() * 2
        else:
            first = first[:]
        second = first
    return first[0]


@case.forward(x(4, 3), N(1), others=SOME)
def in_a_tuple_after_a_write_by_another_name(self, a, k):
    first, second = [1, 2], [3, 4]
    pair = ([0, 0], 1)
    if int(k) > 0:
        second = first
    if bool(a.sum() > 0):
        second[0] = 99
        pair = (first, 2)
    return pair[0][0]


@case.forward(x(4, 3), N(1), others=SOME)
def given_out_by_one_path_after_a_write_by_another_name(self, a, k):
    first, second = [1, 2], [3, 4]
    maybe: Optional[List[int]] = None
    if int(k) > 0:
        second = first
    if bool(a.sum() > 0):
        second[0] = 99
        maybe = first
    return 0 if maybe is None else maybe[0]


test_program = case.test()


# --- what may be several ------------------------------------------------------------------------


class Twice(nn.Module):
    def forward(self, a, k):
        found: List[Dict[str, Tensor]] = []
        for row in a:
            each = {"v": row}
            found.append(each)
            if bool(row[0] > 0):
                found.append(each)
        found[int(k)]["v"] = a[0]
        return found[0]["v"]


class TheSameInEachRound(nn.Module):
    def forward(self, a, k):
        rows: List[List[int]] = []
        row = [1]
        for i in range(a.size(0)):
            rows.append(row)
        rows[int(k)].append(3)
        return len(rows[0])


class TheSameOfAKnownLength(nn.Module):
    def forward(self, a, k):
        row = [1]
        rows = [row, row, [2]]
        rows[int(k)].append(3)
        return len(rows[0])


class InTwoLists(nn.Module):
    def forward(self, a, k):
        found: List[Dict[str, Tensor]] = []
        others: List[Dict[str, Tensor]] = []
        for row in a:
            each = {"v": row}
            found.append(each)
            others.append(each)
        found[int(k)]["v"] = a[0]
        return others[0]["v"]


class MovedToAnotherList(nn.Module):
    def forward(self, a, k):
        found: List[Dict[str, Tensor]] = []
        others: List[Dict[str, Tensor]] = []
        for row in a:
            found.append({"v": row})
        for row in a:
            others.append(found[int(k)])
        found[int(k)]["v"] = a[0]
        return others[0]["v"]


class APartOfTheList(nn.Module):
    def forward(self, a, k):
        found: List[Dict[str, Tensor]] = []
        for row in a:
            found.append({"v": row})
        found[1:][int(k)]["v"] = a[0]
        return found[0]["v"]


class BesideItself(nn.Module):
    def forward(self, a, k):
        found: List[Dict[str, Tensor]] = []
        for row in a:
            found.append({"v": row})
        found = found + found
        found[int(k)]["v"] = a[0]
        return found[0]["v"]


class MovedBeforeTheWrite(nn.Module):
    def forward(self, a, k):
        found: List[Dict[str, Tensor]] = []
        for row in a:
            found.append({"v": row})
        each = found[0]
        found.insert(0, {"v": a[1]})
        each["v"] = a[2]
        return found[0]["v"]


class OfAnotherPlace(nn.Module):
    def forward(self, a, k):
        found: List[Dict[str, Tensor]] = []
        for row in a:
            found.append({"v": row})
        first, other = found[0], found[int(k)]
        other["v"] = a[2]
        return first["v"]


class ByItsOldName(nn.Module):
    def forward(self, a, k):
        rows: List[List[Tensor]] = []
        row: List[Tensor] = []
        old: List[Tensor] = []
        for each in a:
            if bool(each[0] > 0):
                rows.append(row)
                old = row
                row = []
            row.append(each)
            old.append(each)
        rows.append(row)
        return len(rows[0])


class AnotherKey(nn.Module):
    def forward(self, a, k):
        found: List[Dict[str, Tensor]] = []
        for row in a:
            found.append({"v": row})
        found[0]["new"] = a[0]
        return found[0]["v"]


class JoinedToAnotherList(nn.Module):
    def forward(self, a, k):
        found: List[Dict[str, Tensor]] = []
        for row in a:
            found.append({"v": row})
        every: List[Dict[str, Tensor]] = []
        every += found
        every[int(k)]["v"] = a[0]
        return found[1]["v"]


class JoinedToAKnownList(nn.Module):
    def forward(self, a, k):
        found: List[Dict[str, Tensor]] = []
        for row in a:
            found.append({"v": row})
        every = [{"v": a[1]}]
        if bool(a.sum() > 0):
            every.extend(found)
        found[int(k)]["v"] = a[0]
        return every[-1]["v"]


class TakenBeforeAWriteAtAPlace(nn.Module):
    def forward(self, a, k):
        rows = [[1], [2], [3], [4]]
        row = rows[int(k)]
        if bool(a.sum() > 0):
            rows[a.size(0) - 1].append(3)
            return row
        return [0]


REFUSED = [
    Twice,
    JoinedToAnotherList,
    JoinedToAKnownList,
    TakenBeforeAWriteAtAPlace,
    TheSameInEachRound,
    TheSameOfAKnownLength,
    InTwoLists,
    MovedToAnotherList,
    APartOfTheList,
    BesideItself,
    MovedBeforeTheWrite,
    OfAnotherPlace,
    ByItsOldName,
    AnotherKey,
]


@pytest.mark.parametrize("model", REFUSED)
def test_what_may_be_another_is_refused(model):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="nobody knows what it holds"):
        flambeau.export(script(model()), (x(4, 3), N(1)), verbose=False, dynamic_axes={"a": {0: "rows"}}, input_names=["a", "k"])
