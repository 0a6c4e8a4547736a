"""Outputs that are None on some paths through a program only."""

from typing import Dict, List, Optional, Tuple

import flambeau
import pytest
import torch
from cases import SIGNS, Cases, x
from checking import check, script
from flambeau.verification.archives import verify_archive
from flambeau.archived import ArchivedProgram
from torch import Tensor, nn

case = Cases()
LARGE = (9 * x(2, 3).abs(),)


def signs(function):
    """Decorates a forward that takes its paths by the sign and size of a sum, at any number of rows."""
    return case.forward(*SIGNS[0], others=[*SIGNS, LARGE, (x(5, 3),)], dynamic_axes={"x": [0]}, opset_version=16)(function)


@signs
def a_tensor(self, x) -> Optional[Tensor]:
    y: Optional[Tensor] = None
    if x.sum() > 0:
        y = x * 2
    return y


@signs
def in_tuples(self, x) -> Tuple[Tensor, Optional[Tensor], Optional[Tensor]]:
    if x.sum() > 0:
        return x + 1, x, None
    return x, None, x.relu()


@signs
def nested(self, x) -> Tuple[Optional[Tuple[Tensor, Optional[Tensor]]], Tensor]:
    if x.sum() > 0:
        inner: Optional[Tensor] = None
        if x.amax() > 5:
            inner = x * 9
        return (x, inner), x
    return None, x


@signs
def in_lists(self, x) -> List[Optional[Tensor]]:
    out: List[Optional[Tensor]] = []
    for i in range(3):
        if x[0, i] > 0:
            out.append(x[:, i])
        else:
            out.append(None)
    return out


@signs
def in_dicts(self, x) -> Dict[str, Optional[Tensor]]:
    d: Dict[str, Optional[Tensor]] = {"a": None, "b": x}
    if x.sum() > 0:
        d["a"] = x + 1
    else:
        d["b"] = None
    return d


@signs
def numbers(self, x) -> Tuple[Optional[int], Optional[float], Optional[bool]]:
    n: Optional[int] = None
    total: Optional[float] = None
    large: Optional[bool] = None
    if x.sum() > 0:
        n = 3
        total = float(x.sum())
        large = bool(x.amax() > 5)
    return n, total, large


@signs
def a_list(self, x) -> Optional[List[Tensor]]:
    if x.sum() > 0:
        out: List[Tensor] = []
        for i in range(int(x.sum())):
            out.append(x + i)
        return out
    return None


@signs
def of_a_loop(self, x) -> Optional[Tensor]:
    y: Optional[Tensor] = None
    for i in range(int(x.abs().sum())):
        if x.sum() > 0:
            y = x * i
    return y


@signs
def of_two_ranks(self, x) -> Optional[Tensor]:
    y: Optional[Tensor] = None
    if x.sum() > 0:
        y = x if x.amax() > 5 else x.sum(0)
    return y


test_optional_output = case.test()


class Maybe(nn.Module):
    def forward(self, x) -> Tuple[Tensor, Optional[Tensor]]:
        y: Optional[Tensor] = None
        if x.sum() > 0:
            y = x * 2
        return x, y


def test_program_returns_none():
    program = check(Maybe(), SIGNS[0], others=SIGNS)
    assert program(*SIGNS[1])[1] is None
    torch.testing.assert_close(program(*SIGNS[0])[1], Maybe()(*SIGNS[0])[1])


def test_program_returns_lists():
    class Listed(nn.Module):
        def forward(self, x, n: int) -> Tuple[List[Tensor], Tensor]:
            return [x * i for i in range(n)], x

    rows = flambeau.export(script(Listed()), (x(2), torch.tensor(2)), verbose=False)(x(2), torch.tensor(3))
    torch.testing.assert_close(rows, (*Listed()(x(2), 3),))


def test_archives_with_such_outputs_are_verified(tmp_path, capsys):
    script(Maybe()).save(tmp_path / "model.pt")
    program = flambeau.export(script(Maybe()), SIGNS[0], verbose=False)
    program.save(tmp_path / "model.onnx")
    assert verify_archive(ArchivedProgram(str(tmp_path / "model.pt")), tmp_path / "model.onnx")
    assert "x" in capsys.readouterr().out


def test_complex_ones_are_pairs():
    class Complex(nn.Module):
        def forward(self, x) -> Optional[Tensor]:
            y: Optional[Tensor] = None
            if x.sum() > 0:
                y = torch.complex(x, -x)
            return y

    program = flambeau.export(script(Complex()), SIGNS[0], verbose=False)
    assert program(*SIGNS[1]) == (None,)
    torch.testing.assert_close(program(*SIGNS[0])[0], torch.view_as_real(Complex()(*SIGNS[0])))


def test_before_opset_16_the_branch_is_named():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="is None on some paths through it only") as error:
        flambeau.export(script(Maybe()), SIGNS[0], verbose=False, opset_version=15)
    assert "from opset 16 on" in str(error.value) and "test_optional_outputs.py" in str(error.value)
