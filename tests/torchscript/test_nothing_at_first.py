"""torch.zeros(0) to which torch.cat joins rows where a condition holds."""

import flambeau
import pytest
import torch

SOME, NONE, ALL = torch.tensor([[1.0, 2], [-3, 1], [3, 4]]), -torch.ones(2, 2), torch.ones(4, 2)


@torch.jit.script
def kept_rows(x):
    kept = torch.zeros(0)
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0):
            kept = torch.cat([kept, x[i : i + 1]])
    return kept


@torch.jit.script
def kept_while_few(x):
    kept = torch.zeros(0)
    for i in range(x.size(0)):
        if bool(x[i].sum() > 0) and kept.size(0) < 2:
            kept = torch.cat([kept, x[i : i + 1]])
    return kept


@pytest.mark.parametrize("function", [kept_rows, kept_while_few], ids=lambda f: f.name)
def test_nothing_is_no_rows(function):
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"where nothing is joined to it, its shape is \(0, 2\), not \(0\)"):
        program = flambeau.export(function, (SOME,), dynamic_shapes=({0: "rows"},))
    for x in (SOME, ALL):
        torch.testing.assert_close(program(x)[0], function(x))
    assert program(NONE)[0].shape == (0, 2)


@torch.jit.script
def nothing_or_all(x):
    if bool(x.sum() > 0):
        return x
    return torch.zeros(0)


def test_nothing_is_as_it_is_where_no_rank_is_needed():
    program = flambeau.export(nothing_or_all, (SOME,), dynamic_shapes=({0: "rows"},))
    for x in (SOME, NONE):
        torch.testing.assert_close(program(x)[0], nothing_or_all(x))


def test_a_list_of_rows_and_of_nothing_is_refused():
    """onnxruntime ends the process where it joins tensors of different ranks."""

    @torch.jit.script
    def listed(x):
        kept = [torch.zeros(0)]
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                kept.append(x[i : i + 1])
        return torch.cat(kept)

    with pytest.raises(flambeau.errors.OnnxExporterError, match="joins a list whose tensors have different ranks"):
        flambeau.export(listed, (SOME,), dynamic_shapes=({0: "rows"},))
