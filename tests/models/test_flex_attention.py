"""Flex attention: scores that a function changes, places that another masks, at sizes other than the example's."""

import flambeau
import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import AuxRequest, and_masks, create_block_mask, flex_attention

HEADS, CHANNELS = 4, 8
DYNAMIC = {0: "batch", 2: "length"}


def heads(batch: int, length: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(batch, HEADS, length, CHANNELS).to(dtype)


def equal_heads(batch: int, length: int) -> tuple[Tensor, ...]:
    return tuple(heads(batch, length) for _ in range(3))


def block_mask(mask_mod, query: Tensor, key: Tensor, of_batch: bool = False):
    return create_block_mask(mask_mod, len(query) if of_batch else None, None, query.shape[2], key.shape[2], device="cpu")


class Slopes(nn.Module):
    """A score that reads a parameter by head."""

    def __init__(self) -> None:
        super().__init__()
        self.slopes = nn.Parameter(torch.rand(HEADS))

    def forward(self, q, k, v):
        return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + self.slopes[h] * (j - i))


class RelativePlaces(nn.Module):
    """A score that reads a table at a place that two places make."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(HEADS, 9))

    def forward(self, q, k, v):
        return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + self.table[h, (i - j).clamp(-4, 4) + 4])


class Window(nn.Module):
    """Two masks, and what a row's sum is."""

    def forward(self, q, k, v):
        mask = block_mask(and_masks(lambda b, h, i, j: i >= j, lambda b, h, i, j: i - j < 4), q, k)
        return flex_attention(q, k, v, block_mask=mask, return_lse=True)


class Documents(nn.Module):
    """A mask that reads an input."""

    def forward(self, q, k, v, document):
        mask = block_mask(lambda b, h, i, j: (document[b, i] == document[b, j]) & (i >= j), q, k, of_batch=True)
        return flex_attention(q, k, v, block_mask=mask)


class Lengths(nn.Module):
    """Rows of which some see nothing."""

    def forward(self, q, k, v, lengths):
        return flex_attention(q, k, v, block_mask=block_mask(lambda b, h, i, j: j < lengths[b], q, k, of_batch=True))


class Padded(nn.Module):
    """A mask that is left out where it hides nothing, as transformers does."""

    def forward(self, q, k, v, present):
        mask = causal = lambda b, h, i, j: i >= j
        if present.sum() != present.numel():
            mask = and_masks(causal, lambda b, h, i, j: present[b, j])
        return flex_attention(q, k, v, block_mask=block_mask(mask, q, k, of_batch=True))


class Rows(nn.Module):
    """A score that is no elementwise function of the places: it reads a whole row at one."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.randn(HEADS, 3))

    def forward(self, q, k, v):
        return flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score * self.rows[h].softmax(0)[0] + self.rows[h].sum())


class Grouped(nn.Module):
    """Fewer heads of keys than of queries, and a scale."""

    def forward(self, q, k, v):
        result, aux = flex_attention(q, k[:, :2], v[:, :2], scale=0.5, enable_gqa=True, return_aux=AuxRequest(lse=True))
        return result, aux.lse


class Compiled(nn.Module):
    """As PyTorch's documentation calls it."""

    attention = staticmethod(torch.compile(flex_attention))

    def forward(self, q, k, v):
        return self.attention(q, k, v, score_mod=lambda score, b, h, i, j: torch.tanh(score / 5) * 5)


CASES = {
    "slopes": (Slopes(), equal_heads),
    "relative_places": (RelativePlaces(), equal_heads),
    "window": (Window(), equal_heads),
    "documents": (Documents(), lambda b, n: (*equal_heads(b, n), torch.randint(0, 3, (b, n)).sort()[0])),
    "lengths": (Lengths(), lambda b, n: (*equal_heads(b, n), torch.arange(b) * n // b)),
    "padded": (Padded(), lambda b, n: (*equal_heads(b, n), torch.arange(n).expand(b, n) != 1)),
    "rows": (Rows(), equal_heads),
    "grouped": (Grouped(), equal_heads),
    "compiled": (Compiled(), equal_heads),
}


def check(model: nn.Module, program, arguments: tuple[Tensor, ...]) -> None:
    eager = Compiled.attention
    Compiled.attention = staticmethod(flex_attention)  # torch's compiler is not what is tested
    try:
        with torch.no_grad():
            expected = model(*arguments)
    finally:
        Compiled.attention = staticmethod(eager)
    for actual, wanted in zip(program(*arguments), [expected] if isinstance(expected, Tensor) else expected, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_at_other_sizes(name: str) -> None:
    model, inputs = CASES[name]
    example = inputs(2, 16)
    shapes = tuple(DYNAMIC if each.dim() == 4 else dict(zip(range(each.dim()), ("batch", "length"))) for each in example)
    program = flambeau.export(model, example, dynamic_shapes=shapes, verbose=False)
    for sizes in ((2, 16), (3, 21), (1, 5), (2, 200)):
        check(model, program, inputs(*sizes))


@pytest.mark.filterwarnings("ignore")
def test_a_mask_that_hides_nothing() -> None:
    example = (*equal_heads(2, 16), torch.ones(2, 16, dtype=torch.bool))
    program = flambeau.export(Padded(), example, dynamic_shapes=(DYNAMIC,) * 3 + ({0: "batch", 1: "length"},), verbose=False)
    for hidden in (0, 3):
        check(Padded(), program, (*equal_heads(3, 21), torch.arange(21).expand(3, 21) >= hidden))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["slopes", "window", "grouped"])
def test_of_a_program_that_torch_exported(name: str) -> None:
    model, inputs = CASES[name]
    with torch.no_grad():
        exported = torch.export.export(model.requires_grad_(False), inputs(2, 16), strict=False)
    check(model, flambeau.export(exported, verbose=False), inputs(2, 16))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_dtypes(dtype: torch.dtype) -> None:
    class Plain(nn.Module):
        def forward(self, q, k, v):
            return flex_attention(q, k, v)

    arguments = tuple(heads(2, 7, dtype) for _ in range(3))
    (actual,) = flambeau.export(Plain(), arguments, verbose=False)(*arguments)
    tolerance = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float64: 1e-6}[dtype]
    torch.testing.assert_close(actual, Plain()(*arguments), rtol=tolerance, atol=tolerance)
