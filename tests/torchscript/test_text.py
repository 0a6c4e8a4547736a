"""Methods of text: what TorchScript makes of them, which the model's numbers are chosen by."""

from typing import List

import pytest
import torch
from checking import script
from torch import nn

import flambeau


class Cases(nn.Module):
    def forward(self, x):
        letters = "hELLO w0rld x-y"
        return x, [letters.title(), letters.capitalize(), letters.swapcase(), letters.upper(), letters.lower(), "".title()]


class Widths(nn.Module):
    def forward(self, x):
        centred = ["ab".center(5), "abc".center(6), "abc".center(8, "*"), "abc".center(2)]
        return x, centred + ["ab".ljust(4, "-"), "ab".rjust(4), "-7".zfill(4), "7".zfill(1), "".rjust(2, "0")]


class Parts(nn.Module):
    def forward(self, x):
        a, b, c = "a-b-c".partition("-")
        d, e, f = "a-b-c".rpartition("-")
        g, h, i = "abc".partition("-")
        j, k, m = "abc".rpartition("-")
        return x, [a, b, c, d, e, f, g, h, i, j, k, m]


class Kinds(nn.Module):
    def forward(self, x):
        kinds: List[str] = []
        for text in ["abc1", "1", "AB1", "", "12", "aB", " ", "a b"]:
            kinds.append(str(text.islower()) + str(text.isupper()) + str(text.isnumeric()) + str(text.isdecimal()))
            kinds.append(str(text.isdigit()) + str(text.isalpha()) + str(text.isalnum()) + str(text.isspace()))
        return x, kinds


class Counts(nn.Module):
    def forward(self, x):
        a = [str("a,b,c".count(",")), str("aaaaa".count("aa")), str("abcabc".count("b", 2)), str("abcabc".count("b", 0, 2))]
        b = [str("abcabc".count("b", -2)), str("abc".count("c", 0, -1)), str("abcabc".count("c", 0, -2)), str("ab".count("b", 7)), str("".count("b"))]
        return x, a + b + [str("abcb".index("b")), str("abcb".rindex("b")), str("abcb".index("b", 2)), str("abcb".rindex("b", 0, 3))]


class Splits(nn.Module):
    def forward(self, x):
        parts = "a,b,c".rsplit(",") + "a,b,c".rsplit(",", 1) + "a b  c".rsplit() + "a,b,".rsplit(",", 1) + "aXXbXXXc".rsplit("XX", 1)
        parts += "a,b".rsplit(",", 0) + "".rsplit(",") + "XX".rsplit("XX")
        lines = "a\nb\n".splitlines() + "a\r\nb\rc".splitlines() + "a\n\nb".splitlines() + "a\nb".splitlines(True) + "".splitlines()
        lines += "a\x0cb\x0bc\x1cd".splitlines() + "\n".splitlines(True)
        numbers = [hex(255), hex(-16), oct(64), oct(-8), bin(5), bin(0)]
        return x, numbers + parts + lines + ["a\tb".expandtabs(), "abcd\tb".expandtabs(4), "a\nbc\td\t".expandtabs(4), "a\tb".expandtabs(0)]


class MoreKinds(nn.Module):
    def forward(self, x):
        kinds: List[str] = []
        for text in ["a1", "1a", "", "_a", "a b", "Ab Cd", "AB", "A1b", "A1B", "1", "ab\n", "a-b"]:
            kinds.append(str(text.isidentifier()) + str(text.istitle()) + str(text.isprintable()))
            kinds.append(str(text < "a") + str(text <= "a1") + str(text > "a b") + str(text >= "A1b"))
        return x, kinds


class Asked(nn.Module):
    """Adds 2^i where text i is the one that is wanted."""

    def __init__(self, inner: nn.Module, wanted: List[str]):
        super().__init__()
        self.inner = inner
        self.wanted = wanted

    def forward(self, x):
        x, texts = self.inner(x)
        total = 0
        for i in range(len(texts)):
            if texts[i] == self.wanted[i]:
                total += 1 << i
        return x + total


@pytest.mark.parametrize("make", [Cases, Widths, Parts, Kinds, Counts, Splits, MoreKinds])
def test_text_is_what_torchscript_makes_of_it(make):
    x = torch.zeros(2, dtype=torch.int64)
    _, wanted = torch.jit.script(make())(x)
    model = script(Asked(make(), wanted))
    assert model(x)[0] == 2 ** len(wanted) - 1
    (result,) = flambeau.export(model, (x,), verbose=False)(x)
    assert torch.equal(torch.as_tensor(result), model(x))


class Lacking(nn.Module):
    def forward(self, x):
        if x.size(0) > 3:
            return x + "abc".index("d")
        return x + "abc".index("c")


def test_text_that_other_text_lacks_is_an_exception():
    x = torch.zeros(2, dtype=torch.int64)
    (result,) = flambeau.export(torch.jit.script(Lacking()), (x,), verbose=False)(x)
    assert torch.equal(result, x + 2)


OF_RUN_TIME = {
    "less": 'int(s < "5")',
    "greater or equal": 'int(s >= "5")',
    "from the end": 'len((s + ",b").rsplit("0"))',
    "last place": '(s + "b").rindex("b")',
    "lines": "len(s.splitlines())",
    "tabs": "len((s + '\\tb').expandtabs())",
}


@pytest.mark.parametrize("asks", OF_RUN_TIME.values(), ids=OF_RUN_TIME)
def test_nothing_is_decided_by_text_that_only_a_run_knows(asks):
    unit = torch.jit.CompilationUnit(f"def forward(x):\n  s = str(x.size(0))\n  return x + {asks}\n")
    with pytest.raises(flambeau.errors.OnnxExporterError, match="text that is known at run time only"):
        flambeau.export(unit.forward, (torch.zeros(7),), dynamic_axes={"x": [0]}, input_names=["x"], dynamo=False)


FLOATS = [0.0, -0.0, 1.0, -2.75, 0.1, 1e-5, 1 / 3, 1e9, 123456789012345678.0, 1e18, 1e19, 1.5e300, float("inf"), float("-inf"), float("nan")]


class TextsOfFloats(nn.Module):
    def forward(self, x, numbers: List[float]):
        texts: List[str] = []
        for number in numbers:
            texts.extend([str(number), "{}".format(number), "%s" % number, "%f" % number])
        return x, texts + ["%d" % 2.75, "%i" % -2.75, "%f" % 3, "%d" % 3, str([1.0, 2.5])]


def test_floats_as_torchscript_writes_them():
    """Numbers, unlike text, are what a model gives: each text's place among all of them."""
    scripted = torch.jit.script(TextsOfFloats())
    places = {text: i for i, text in enumerate(dict.fromkeys(scripted(torch.zeros(2), FLOATS)[1]))}
    finite = [each for each in FLOATS if each - each == 0]
    unit = torch.jit.CompilationUnit(
        f"""def forward(x):
  places = {places}
  for number in {finite}:
    for text in [str(number), "{{}}".format(number), "%s" % number, "%f" % number]:
      x = x * 3 + places[text]
  for text in ["%d" % 2.75, "%i" % -2.75, "%f" % 3, "%d" % 3, str([1.0, 2.5])]:
    x = x * 3 + places[text]
  return x
"""
    )
    x = torch.zeros(1, dtype=torch.int64)
    (result,) = flambeau.export(unit.forward, (x,), verbose=False, dynamo=False)(x)
    assert torch.equal(result, unit.forward(x))


OFTEN = {"split": 'len("a,b,c,d".split(",", n))', "rsplit": 'len("a,b,c,d".rsplit(",", n))', "blanks": 'len("a b c d".split(None, n))',
         "replace": 'len("a,b,c,d".replace(",", ";;", n))'}


@pytest.mark.parametrize("asks", OFTEN.values(), ids=OFTEN)
def test_text_is_changed_as_often_as_a_path_says(asks):
    unit = torch.jit.CompilationUnit(f"def forward(x):\n  n = 1\n  if bool(x.sum() > 0):\n    n = 2\n  return x + {asks}\n")
    program = flambeau.export(unit.forward, (torch.zeros(7),), verbose=False, dynamo=False)
    for x in (torch.zeros(7), torch.ones(7)):
        assert torch.equal(program(x)[0], unit.forward(x))


@pytest.mark.parametrize("asks", [asks for asks in OFTEN.values() if "None" not in asks])
def test_text_is_not_changed_as_often_as_only_a_run_knows(asks):
    unit = torch.jit.CompilationUnit(f"def forward(x):\n  n = int(x.sum())\n  return x + {asks}\n")
    with pytest.raises(flambeau.errors.OnnxExporterError, match="as often as only a run knows"):
        flambeau.export(unit.forward, (torch.zeros(7),), verbose=False, dynamo=False)
