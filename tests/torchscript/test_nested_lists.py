"""Lists in lists, dicts and tuples, and dicts of lists, whose lengths or places only a run knows."""

import sys
from pathlib import Path
from random import Random
from typing import Dict, List, Tuple

import flambeau
import pytest
import torch
from cases import Cases, x
from checking import script
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))
import aliased_lists

case = Cases()
PLACES = [(x(4, 3), torch.tensor([0, 2, 1, 0])), (x(6, 3), torch.tensor([2, 2, 1, 5, 5])), (x(4, 3, seed=9), torch.tensor([1, 1, 1, 3]))]
given = {"others": PLACES, "dynamic_axes": {"a": {0: "rows"}, "at": {0: "places"}}}


def sentences(n: int) -> List[List[Dict[str, Tensor]]]:
    return [torch.jit.annotate(List[Dict[str, Tensor]], []) for _ in range(n)]


# --- lists of lists of dicts ------------------------------------------------------------------


@case.forward(*PLACES[0], **given)
def what_a_search_found_by_sentence(self, a, at):
    found = sentences(a.size(0))
    places: List[int] = at.tolist()
    for i, place in enumerate(places):
        if len(found[place]) < 2:
            found[place].append({"tokens": a[place] * i, "score": a[place].sum() - i})
    for k in range(len(found)):
        scores = torch.tensor([float(each["score"].item()) for each in found[k]])
        _, order = torch.sort(scores)
        found[k] = [found[k][int(j)] for j in order]
    tokens: List[Tensor] = []
    for sentence in found:
        for each in sentence:
            tokens.append(each["tokens"] + each["score"])
    return torch.stack(tokens), torch.tensor([len(sentence) for sentence in found])


@case.forward(*PLACES[0], **given)
def written_by_an_element_of_an_element(self, a, at):
    found = sentences(a.size(0))
    for i in range(at.size(0)):
        found[int(at[i])].append({"v": a[i], "w": a[i].sum()})
    sentence = found[int(at[0])]
    first = sentence[0]
    first["v"] = first["v"] * 100
    return found[int(at[0])][0]["v"], sentence[0]["v"], first["v"], first["w"]


@case.forward(*PLACES[0], **given)
def written_in_loops_over_both(self, a, at):
    found = sentences(a.size(0))
    for i in range(at.size(0)):
        found[int(at[i])].append({"v": a[i], "w": a[i].sum()})
    for k in range(len(found)):
        for each in found[k]:
            each["v"] = each["v"] + k
    for k in range(len(found)):
        sentence = found[k]
        for j in range(len(sentence)):
            sentence[j]["w"] = sentence[j]["w"] * j
    found[0] = found[int(at[0])][:1]
    found.reverse()
    last = found.pop()
    total = a[0] * 0
    for sentence in found:
        for each in sentence:
            total = total * 0.5 + each["v"] * each["w"]
    return total, len(last), last[0]["v"]


@case.forward(*PLACES[0], **given)
def written_on_one_path(self, a, at):
    best = sentences(a.size(0))
    for i in range(at.size(0)):
        sentence = best[int(at[i])]
        if len(sentence) == 0 or bool(sentence[len(sentence) - 1]["w"] < a[i].sum()):
            sentence.append({"v": a[i], "w": a[i].sum()})
        else:
            sentence[-1]["v"] = a[i] * 3
    total = a[0] * 0
    for sentence in best:
        for each in sentence:
            total = total * 0.5 + each["v"] * each["w"]
    return total


@case.forward(*PLACES[0], **given)
def slices_of_known_lists(self, a, at):
    found = [{"v": a[0]}, {"v": a[1]}, {"v": a[2]}]
    total = a[0] * 0
    for each in found[: int(at[0])]:
        total = total + each["v"]
    found[0]["v"] = a[2] * 5
    rows = [[0, 1], [2], [3, 4, 5]]
    return total, found[0]["v"], sum([len(row) for row in rows[int(at[0]) :]])


@case.forward(*PLACES[0], **given)
def lists_of_lists_of_lists(self, a, at):
    cubes: List[List[List[int]]] = [torch.jit.annotate(List[List[int]], []) for _ in range(a.size(0))]
    for i in range(at.size(0)):
        cubes[int(at[i])].append([i, i + 1] if bool(a[i].sum() > 0) else [i])
    numbers: List[int] = []
    for cube in cubes:
        for row in cube:
            for each in row:
                numbers.append(each)
        numbers.append(-1)
    return torch.tensor(numbers)


# --- lists in dicts and tuples ----------------------------------------------------------------


@case.forward(*PLACES[0], **given)
def lists_that_are_fields(self, a, at):
    found: List[Dict[str, List[Tensor]]] = []
    for row in a:
        found.append({"rows": [row, row * 2], "sums": [row.sum()]})
    found[int(at[1])]["rows"].append(a[0])
    one = found[int(at[0])]
    rows = one["rows"]
    rows.append(a[1])
    rows[0] = a[2]
    return torch.stack(one["rows"]), torch.stack(one["sums"]), torch.stack(found[int(at[0])]["rows"])


@case.forward(x(4, 3), others=[(x(6, 3),), (x(1, 3),)], dynamic_axes={"a": {0: "rows"}})
def beams_that_rounds_hand_on(self, a):
    beams: List[Tuple[List[int], Tensor]] = [([0], a[0].sum())]
    for i in range(a.size(0)):
        grown: List[Tuple[List[int], Tensor]] = []
        for tokens, score in beams:
            grown.append((tokens + [i], score + a[i].sum()))
            if bool(a[i].sum() > 0) and len(grown) < 4:
                grown.append((tokens + [i * 10], score - 1))
        beams = grown
    best = beams[0]
    for each in beams:
        if bool(each[1] > best[1]):
            best = each
    return torch.tensor(best[0]), best[1]


@case.forward(*PLACES[0], **given)
def a_list_out_of_a_tuple_by_its_new_name(self, a, at):
    pairs: List[Tuple[List[int], Tensor]] = []
    for i in range(a.size(0)):
        pairs.append(([i], a[i]))
    numbers, row = pairs[int(at[0])]
    numbers.append(77)
    return torch.tensor(numbers), row


@case.forward(*PLACES[0], **given)
def tuples_in_tuples(self, a, at):
    found: List[Tuple[Tensor, Tuple[Tensor, int]]] = []
    for i in range(a.size(0)):
        found.append((a[i], (a[i] * 2, i)))
    first, (second, number) = found[int(at[0])]
    total = first * 0
    for left, (right, factor) in found[1 : int(at[1]) + 1]:
        total = total + left * factor + right
    return first, second, number, total


# --- dicts of lists, at keys that only a run knows --------------------------------------------


@case.forward(*PLACES[0], **given)
def groups_by_key(self, a, at):
    groups: Dict[int, List[Tensor]] = {0: [], 1: [], 2: []}
    for i in range(at.size(0)):
        groups[int(at[i]) % 3].append(a[i])
    counts: List[int] = []
    for _, rows in groups.items():
        counts.append(len(rows))
    first = groups[0]
    first.append(a[0])
    return torch.tensor(counts), torch.stack(groups[0]), len(groups[int(at[0]) % 3])


@case.forward(*PLACES[0], **given)
def dicts_by_key(self, a, at):
    found = {0: {"v": a[0], "w": a[1]}, 1: {"v": a[1], "w": a[2]}}
    for i in range(at.size(0)):
        each = found[int(at[i]) % 2]
        each["v"] = each["v"] * 2 + each["w"]
    return found[0]["v"], found[1]["v"], found[0]["w"]


@case.forward(*PLACES[0], **given)
def by_key_on_one_path(self, a, at):
    groups = {0: [a[0]], 1: [a[1], a[2]]}
    if bool(a[0].sum() > 0):
        groups[int(at[0]) % 2].append(a[1])
    else:
        groups[0].append(a[2])
    return len(groups[0]), len(groups[1]), torch.stack(groups[0]).sum(0)


@case.forward(*PLACES[0], **given)
def by_another_name_of_the_entries(self, a, at):
    groups = {0: [1], 1: [2, 3]}
    rows = [groups[0], groups[1]]
    groups[int(at[0]) % 2].append(9)
    return torch.tensor(rows[0]), torch.tensor(rows[1]), torch.tensor(groups[0])


test_program = case.test()


# --- what may be another ----------------------------------------------------------------------


class TwoSentences(nn.Module):
    def forward(self, a, at):
        found = sentences(a.size(0))
        for i in range(at.size(0)):
            found[int(at[i])].append({"v": a[i]})
        one, other = found[int(at[0])], found[int(at[1])]
        one.append({"v": a[0]})
        return len(other)


class TwoElements(nn.Module):
    def forward(self, a, at):
        found = sentences(a.size(0))
        for i in range(at.size(0)):
            found[int(at[i])].append({"v": a[i]})
        one, other = found[int(at[0])][0], found[int(at[1])][0]
        one["v"] = one["v"] * 100
        return other["v"]


class InTwoSentences(nn.Module):
    def forward(self, a, at):
        found = sentences(a.size(0))
        each = {"v": a[0]}
        found[int(at[0])].append(each)
        found[int(at[1])].append(each)
        found[int(at[0])][0]["v"] = a[1]
        return found[int(at[1])][0]["v"]


class ByTheNameThatItHad(nn.Module):
    def forward(self, a, at):
        found = sentences(a.size(0))
        each = {"v": a[0]}
        found[int(at[0])].append(each)
        each["v"] = a[1]
        return found[int(at[0])][0]["v"]


class OfATuple(nn.Module):
    def forward(self, a, at):
        pairs: List[Tuple[List[int], Tensor]] = []
        for i in range(a.size(0)):
            pairs.append(([i], a[i]))
        pairs[int(at[0])][0].append(77)
        return pairs[int(at[1])][0]


class TwoFields(nn.Module):
    def forward(self, a, at):
        found: List[Dict[str, List[Tensor]]] = []
        for row in a:
            rows = [row]
            found.append({"v": rows, "w": rows})
        one = found[int(at[0])]
        one["v"].append(a[0])
        return len(one["w"])


class TwoKeys(nn.Module):
    def forward(self, a, at):
        rows = [a[0]]
        groups = {0: rows, 1: rows}
        groups[int(at[0]) % 2].append(a[1])
        return len(groups[0])


class OfASlice(nn.Module):
    def forward(self, a, at):
        found = [{"v": a[0]}, {"v": a[1]}, {"v": a[2]}]
        part = found[: int(at[0]) + 1]
        part[0]["v"] = a[2] * 5
        return found[0]["v"]


class AnEmptyListThatWasPutIn(nn.Module):
    def forward(self, a, at):
        rows: List[int] = []
        found: List[Dict[str, List[int]]] = [{"v": [k], "w": [k]} for k in range(a.size(0))]
        for i in range(at.size(0)):
            found[int(at[i])]["v"] = rows
        rows.insert(0, 13)
        return found[0]["v"]


REFUSED = [
    TwoSentences, TwoElements, InTwoSentences, ByTheNameThatItHad, OfATuple, TwoFields, TwoKeys, OfASlice, AnEmptyListThatWasPutIn
]  # fmt: skip


@pytest.mark.parametrize("model", REFUSED)
def test_what_may_be_another_is_refused(model):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="nobody knows what it holds"):
        flambeau.export(script(model()), PLACES[0], verbose=False, input_names=["a", "at"], dynamic_axes=given["dynamic_axes"])


def test_fields_of_lists_of_lists_are_outputs():
    class Model(nn.Module):
        def forward(self, a, at):
            found = sentences(a.size(0))
            for i in range(at.size(0)):
                found[int(at[i])].append({"v": a[i], "w": a[i].sum()})
            return found, torch.tensor([len(each) for each in found])

    program = flambeau.export(script(Model()), PLACES[0], verbose=False, dynamic_axes=given["dynamic_axes"], input_names=["a", "at"])
    assert any("gives the elements of all as one sequence" in each.message for each in program.diagnostics)
    for a, at in PLACES:
        found, lengths = Model()(a, at)
        *fields, ours = program(a, at)
        flat = [each for sentence in found for each in sentence]
        torch.testing.assert_close(fields, [[each["v"] for each in flat], [each["w"] for each in flat]])
        assert torch.equal(ours, lengths)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_generated_programs_agree_or_are_refused(first, tmp_path):
    agreed = 0
    for seed in range(first, first + 20):
        try:
            aliased_lists.check(aliased_lists.Draw(Random(seed)).program(), tmp_path)
            agreed += 1
        except aliased_lists.Refusal:
            pass
    assert agreed >= 5
