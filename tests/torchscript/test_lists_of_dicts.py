"""Lists of dicts whose length is known at run time only, as detectors give out what they find in each image."""

from typing import Dict, List

import flambeau
import onnxruntime
import pytest
import torch
from cases import Cases, x
from checking import check, script
from torch import Tensor, nn

case = Cases()
SOME = [(x(3, 4), torch.tensor(n)) for n in (1, 5)]
ANY = [*SOME, (x(3, 4), torch.tensor(0))]


@case.forward(
    x(2, 5, 4),
    x(2, 5, 3),
    dynamic_axes={name: {0: "images", 1: "boxes"} for name in ("boxes", "logits")},
    others=[(x(3, 6, 4), x(3, 6, 3)), (x(1, 2, 4), x(1, 2, 3))],
)
def found_in_each_image(self, boxes, logits):
    results: List[Dict[str, Tensor]] = []
    for box, logit in zip(boxes.unbind(0), logits.unbind(0)):
        scores, labels = logit.softmax(-1).max(-1)
        kept = scores > 0.5
        results.append({"boxes": box[kept], "scores": scores[kept], "labels": labels[kept]})
    counts = [result["labels"].size(0) for result in results]
    best = torch.zeros(1)
    for result in results:
        if result["scores"].numel() > 0:
            best = best + result["scores"].max()
    return torch.cat([result["boxes"] for result in results]), torch.tensor(counts), best, len(results)


@case.forward(x(3, 4), torch.tensor(3), others=SOME)
def changed_in_place(self, x, n):
    a = [{"u": x, "k": x * 2}, {"u": x + 1, "k": x * 3}]
    for i in range(int(n)):
        a.append({"u": a[-1]["k"], "k": a[-1]["u"] + 1})
        a.insert(1, {"u": x * i, "k": x - i})
        a[i] = {"u": a[0]["k"], "k": a[0]["u"]}
        a.reverse()
    last = a.pop()
    a += a[1:]
    a.extend([{"u": x, "k": x}])
    b = a + [last]
    del b[0]
    return last, len(a), torch.stack([each["u"] - each["k"] for each in b]), a[int(n)]["k"]


@case.forward(x(3, 4), torch.tensor(3), others=ANY)
def numbers_by_keys_that_are_numbers(self, x, n):
    a: List[Dict[int, int]] = [{0: 1, 7: 2}]
    for i in range(int(n)):
        a.append({0: i, 7: i * 2})
    total = 0
    for k, each in enumerate(a):
        total += each[0] * k - each[7]
    return total, a[int(n)][7], x


@case.forward(x(2, 3).abs(), others=[(-x(2, 3).abs(),)])
def on_one_path(self, x):
    a = [{"value": x}]
    if bool(x.sum() > 0):
        a.append({"value": x * 2})
        a.append({"value": x * 3})
    return a[-1]["value"], len(a)


@case.forward(x(3, 4), torch.tensor(2), others=[(x(3, 4), torch.tensor(n)) for n in (0, -1)])
def picked_at_run_time(self, x, k):
    a = [{"value": x, "more": x[0]}, {"value": x * 2, "more": x[1]}, {"value": x * 3, "more": x[2]}]
    picked = a[int(k)]
    return picked["value"] + picked["more"], a[0]["value"]


@case.forward(x(3, 4), torch.tensor(3), others=SOME)
def written_before_it_is_appended(self, x, n):
    a: List[Dict[str, Tensor]] = []
    for i in range(int(n)):
        each = {"value": x}
        each["value"] = each["value"] * i
        each["more"] = x[0] + i
        a.append(each)
    return torch.stack([each["value"] + each["more"] for each in a])


@case.forward(x(3, 4), torch.tensor(3), others=SOME)
def copies_are_written(self, x, n):
    a: List[Dict[str, Tensor]] = []
    for i in range(int(n)):
        a.append({"value": x * i})
    mine = a[0].copy()
    mine["value"] = x + 1
    return mine["value"], a[0]["value"]


test_program = case.test()


class WritesWhatWasAppended(nn.Module):
    def forward(self, x, n):
        first = {"value": x}
        a = [first]
        for i in range(int(n)):
            a.append({"value": x * i})
        first["value"] = x + 1
        return a[0]["value"]


class ReadsWhatWasAppendedWhereAnotherIsWritten(nn.Module):
    def forward(self, x, n):
        first = {"value": x}
        a = [first, {"value": x * 2}]
        a[int(n)]["value"] = x + 1
        return first["value"]


class WritesToOneForEachRound(nn.Module):
    def forward(self, x, n):
        each = {"value": x}
        a: List[Dict[str, Tensor]] = []
        for i in range(int(n)):
            each["value"] = x * i
            a.append(each)
        return a[0]["value"]


WRITERS = [
    WritesWhatWasAppended,
    ReadsWhatWasAppendedWhereAnotherIsWritten,
    WritesToOneForEachRound,
]


@pytest.mark.parametrize("model", WRITERS)
def test_writes_to_dicts_of_the_list_are_refused(model):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="nobody knows what it holds"):
        flambeau.export(script(model()), (x(3, 4), torch.tensor(0)), verbose=False)


class OtherKeys(nn.Module):
    def forward(self, x, n):
        a = [{"value": x}]
        for i in range(int(n)):
            a.append({"other": x})
        return len(a), a[0]["value"]


def test_dicts_of_other_keys_are_refused():
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"test_lists_of_dicts\.py:\d+"):
        check(OtherKeys(), (x(2, 3), torch.tensor(2)))


class Returned(nn.Module):
    def forward(self, x, n: int):
        found: List[Dict[str, Tensor]] = []
        for i in range(n):
            found.append({"boxes": x + i, "scores": x[0] * i})
        return {"found": found, "input": x}


def test_what_dicts_hold_is_given_out_as_sequences():
    program = flambeau.export(script(Returned()), (x(2, 3), torch.tensor(1)), verbose=False, verify=True)
    assert any("list of dicts" in each.message for each in program.diagnostics)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    assert names == ["found.boxes", "found.scores", "input"]
    boxes, scores, _ = session.run(None, {"x": x(2, 3).numpy(), "n": torch.tensor(3).numpy()})
    for i, (box, score) in enumerate(zip(boxes, scores, strict=True)):
        torch.testing.assert_close(torch.as_tensor(box), x(2, 3) + i)
        torch.testing.assert_close(torch.as_tensor(score), x(2, 3)[0] * i)
    given = (x(2, 3), torch.tensor(3))
    assert all(result.ok for result in flambeau.verify(program, given, reference=lambda x, n: Returned()(x, int(n))))
