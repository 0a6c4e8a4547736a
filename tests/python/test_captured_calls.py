"""Calls that torch.export does not capture, or makes numbers of sizes in, and which a capture here keeps."""

import functools
import math
import warnings
from math import ceil
from math import sqrt as square_root

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.nn.functional import scaled_dot_product_attention as attend

import flambeau


def model_of(function):
    class Model(torch.nn.Module):
        def forward(self, *args):
            return function(*args)

    return Model()


def checked(x, index):
    if index.numel() > 0 and 5 <= int(index.max()):
        raise ValueError("an index is too large")
    if not (index >= 0).all():
        raise ValueError("an index is negative")
    if index is not None and not torch.all(index < 5):
        raise ValueError("an index is too large")
    if not (x < 50).all() or (x < -50).any():
        raise ValueError("too far")
    assert (x < 100).all(), "too large"
    if (x > -100).all():
        x = x + 1
    else:
        raise ValueError("too small")
    return x.new_zeros(5, 4).index_add(0, index, x)


def counted(x, index):
    return torch.zeros(int(index.max()) + 1, 4).index_add(0, index, x) * float(index[0])


def moved(x, index):
    return torch.nn.Linear(4, 4).requires_grad_(False).to(x.dtype)(x) * 0


def halves(x, index):
    return x.reshape(torch.div(x.shape[0], 2, rounding_mode="trunc"), -1, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, index: x * torch.as_tensor(3 * x.shape[0] / 4),
        lambda x, index: torch.where((x > 0).byte(), x, -x),
        lambda x, index: x[: torch.ceil(torch.as_tensor(x.shape[0] / 4)).long()],
        lambda x, index: x * torch.asarray([x.shape[0], 2]).sum() + torch.as_tensor([1.5, 2.5]).sum(),
        lambda x, index: x * x.new_tensor([x.shape[0] / 2, 2]).sum(),
        lambda x, index: x + 0 * torch.randn(x.shape, generator=torch.Generator()),
        lambda x, index: torch.fake_quantize_per_tensor_affine(x, 0.03, 3, 0, 255),
        lambda x, index: torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.03), torch.tensor(3, dtype=torch.int32), 0, 255),
        lambda x, index: torch.fake_quantize_per_channel_affine(x, torch.rand(4).fill_(0.1), torch.arange(4, dtype=torch.int32), 1, 0, 255),
        checked,
        counted,
        moved,
        halves,
    ],
)
def test_sizes_stay_dynamic(function):
    model = model_of(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        first = torch.randn(6, 4), torch.tensor([0, 1, 2, 1, 0, 2])
        program = flambeau.export(model, first, dynamic_shapes={"args": ({0: "n"}, {0: "n"})})
    args = torch.randn(4, 4), torch.tensor([1, 4, 2, 1])
    torch.testing.assert_close(program(*args)[0], model(*args))


class Layers(torch.nn.Module):
    """As SpeechBrain calls them: with the lengths, where a layer takes any."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.ReLU()])

    def forward(self, x):
        for layer in self.layers:
            try:
                x = layer(x, lengths=None)
            except TypeError:
                x = layer(x)
        return x


class Segments(torch.nn.Module):
    """As EnCodec cuts: one segment, where no length is set."""

    def forward(self, x):
        return self.joined(self.cut(x, x.shape[0]))

    def cut(self, x, stride):
        segments = []
        for offset in range(0, x.shape[0], stride):
            segments.append((x[offset : offset + stride] * 2, None))
        return segments

    def joined(self, segments):
        assert len(segments) == 1
        return segments[0][0]


class Frames(torch.nn.Module):
    """As EnCodec pads: to the last frame that is not whole, layer after layer."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Conv1d(1, 1, 4, 2) for _ in range(3))

    def forward(self, x):
        x = x.T[:, None]
        for layer in self.layers:
            length = x.shape[-1]
            frames = (length - 4 + 2) / 2 + 1
            x = layer(F.pad(x, (2, (math.ceil(frames) - 1) * 2 + 2 - length)))
        return x


class Strides(torch.nn.Module):
    """As Asteroid pads: by numbers that NumPy made once."""

    strides = numpy.prod([[2, 2], [1, 2]], axis=0)

    def forward(self, x):
        step = int(torch.from_numpy(self.strides)[1])
        return F.pad(x, (0, step - 1)) if step % 2 == 0 else x


class Halves(torch.nn.Module):
    """As LoFTR parts what it has joined: as many rows as data chose, twice."""

    def forward(self, x):
        kept = torch.nonzero(x[:, 0] > 0)[:, 0]
        one, other = torch.chunk(torch.cat([x[kept], -x[kept]]), 2, dim=0)
        return one + 2 * other


@pytest.mark.parametrize("model", [Layers(), Segments(), Strides(), Frames()], ids=lambda model: type(model).__name__)
def test_calls_of_libraries(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = flambeau.export(model, (torch.randn(6, 4),), dynamic_shapes=({0: "n"},))
    assert "Ceil" not in str(program.outputs[0].sizes)
    for x in (torch.randn(9, 4), torch.randn(14, 4)):
        torch.testing.assert_close(program(x)[0], model(x))


def test_halves_of_what_data_chose_twice():
    model = Halves()
    program = flambeau.export(model, (torch.randn(6, 4),), dynamic_shapes=({0: "n"},), verbose=False)
    for x in (torch.randn(9, 4), torch.ones(1, 4), -torch.ones(3, 4)):
        torch.testing.assert_close(program(x)[0], model(x))


def test_a_size_that_a_constructor_makes_a_number_is_warned_of():
    model = model_of(lambda x: x * torch.FloatTensor([x.shape[0] / 4]))
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"right only where IntTrueDiv\(n, 4\) = 1.5"):
        flambeau.export(model, (torch.randn(6, 4),), dynamic_shapes={"args": ({0: "n"},)})


def attended(x, mask, is_causal):
    return F.scaled_dot_product_attention(x, x, x, mask, is_causal=is_causal)  # its kernel takes both, others refuse


SIGNAL = torch.arange(24.0).sin().reshape(1, 2, 12), torch.arange(51.0).cos().reshape(1, 3, 17)[:, :2]
"""Of other lengths."""


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.max_pool1d(x, 3, 2, 1) + torch.max_pool1d(x, 3, 2, padding=1, ceil_mode=False),
        lambda x: torch.nn.MaxPool1d(2, ceil_mode=True)(x[0]),
        lambda x: F.interpolate(x, scale_factor=2, mode="area"),
        lambda x: F.adaptive_avg_pool1d(x, x.shape[2] // 2),
        lambda x: F.one_hot(x[0].argmin(1), x.shape[2]),
        lambda x: torch.take_along_dim(x, x.argsort(-1)[:, :1], -1) + x.take_along_dim(x.argsort())[0],
        lambda x: torch.kron(x[0], x[:, 0]) + torch.kron(x[0], x2=x[:, 0]),
        # by NumPy's names
        lambda x: x.mean(1, keepdims=True) + torch.mean(x=x, axis=1) + torch.take_along_dim(x, x.argsort(-1)[:, :1], axis=-1),
        lambda x: F.avg_pool1d(x, max(1, round(min(x.shape[-2:]) / 2))) + round(x.shape[2] / 5) + round(x.shape[2] / 7, 2),
        lambda x: torch.vander(x[0, 0], 3) + torch.vander(x[0, 0], 3, increasing=True),
        lambda x: torch.vander(x[0, 0]),
        lambda x: torch.logspace(-1, 2, x.shape[2]) + torch.logspace(0, 1, x.shape[2], base=2),
        lambda x: torch.stack([*torch.gradient(x, spacing=0.5, dim=-1), *torch.gradient(x, dim=(-1,))]),
        lambda x: torch.cat([torch.tril_indices(x.shape[2], 5, 1), torch.triu_indices(4, x.shape[2])], 1),
        lambda x: torch.hann_window(x.shape[2]) + torch.hann_window(x.shape[2], periodic=False),
        lambda x: torch.hamming_window(x.shape[2]) + torch.hamming_window(x.shape[2], False, 0.5, 0.4),
        lambda x: torch.blackman_window(x.shape[2]) + torch.bartlett_window(x.shape[2]),
        lambda x: torch.kaiser_window(x.shape[2]) + torch.kaiser_window(x.shape[2], False, beta=8.0, dtype=torch.float32),
        lambda x: torch.linspace(0, x.shape[2] - 1, x.shape[2]) + torch.linspace(0.5, x.shape[2] - 0.5, x.shape[2]),
        lambda x: torch.complex(x, -x).mean((0, -1), keepdim=True).imag + torch.complex(x, x).mean().real + x.mean(1, dtype=torch.complex64).real,
        lambda x: torch.cat([torch.fft.fftfreq(x.shape[2]), torch.fft.rfftfreq(x.shape[2], d=1 / x.shape[2])]),
        lambda x: F.scaled_dot_product_attention(x, x, x, scale=1 / math.sqrt(x.shape[2])),
        lambda x: F.scaled_dot_product_attention(x.mT, x.mT, x.mT, is_causal=x.shape[2] > 14),
        lambda x: F.scaled_dot_product_attention(x.mT, torch.cat([x.mT, -x.mT], 1), torch.cat([x.mT, x.mT], 1), None, 0.0, x.shape[2] < 14),
        lambda x: F.scaled_dot_product_attention(x.mT, x.mT, x.mT, x[:, 0] > 0, is_causal=x.shape[2] > 20, scale=0.5),
        lambda x: attended(x.mT[None].contiguous(), (x.mT @ x > -3)[None], x.shape[2] > 14),
        lambda x: attended(x.mT[None].contiguous(), (x.mT @ x)[None], x.shape[2] > 14),
        lambda x: F.scaled_dot_product_attention(x.mT[None], x.mT[None], x.mT[None], causal_upper_left(x.shape[2], x.shape[2])),
        lambda x: F.scaled_dot_product_attention(x.mT[None, :, 3:], x.mT[None], x.mT[None], causal_lower_right(x.shape[2] - 3, x.shape[2])),
        lambda x: F.pad(x, (1, 2), value=x.shape[2] / 3),
        lambda x: torch.quantile(x, 1 / x.shape[2], dim=1),
        lambda x: F.interpolate(x, scale_factor=x.shape[2] // 6),
        lambda x: x * math.log(x.shape[2]) + math.log(x.shape[2], 2) + math.log2(x.shape[2] / 2) * math.exp(x.shape[2] / 9),
        lambda x: x * math.sin(x.shape[2]) + math.hypot(x.shape[2], 3) + math.atan2(x.shape[2], 2) + math.isqrt(x.shape[2]),
        lambda x: x * math.sinh(x.shape[2] / 9) + math.cosh(x.shape[2] / 9) * math.asinh(x.shape[2]) - math.acosh(x.shape[2]),
        lambda x: x * math.asin(x.shape[2] / 99) + math.acos(x.shape[2] / 99) * math.atanh(x.shape[2] / 99) - math.modf(x.shape[2] / 4)[0],
        lambda x: x * math.expm1(x.shape[2] / 9) + math.erf(x.shape[2] / 9) * math.erfc(x.shape[2] / 9) - math.lgamma(x.shape[2]),
        lambda x: x * math.fmod(x.shape[2], 5) + math.remainder(x.shape[2], 5) * math.copysign(x.shape[2], -1) - math.ldexp(x.shape[2], 3),
        lambda x: x * math.degrees(x.shape[2]) - math.radians(x.shape[2]),
        lambda x: x * round(x.shape[2], -1) + round(x.shape[2] / 3, 1) + round(x.shape[2]),
        lambda x: x * (x.shape[2] / 4).is_integer(),
        lambda x: x * math.gcd(x.shape[2], 8, 20) + math.lcm(x.shape[2], 4) - math.fsum([x.shape[2], 0.25]) * math.dist((x.shape[2], 1), (2, 3)),
        lambda x: x * math.factorial(x.shape[2] // 2) + math.gamma(x.shape[2] - 5) - math.gamma(x.shape[2] / 4),
        lambda x: x * math.comb(x.shape[2], 2) + math.comb(20, x.shape[2]) - math.comb(x.shape[2], x.shape[2] - 9),
        lambda x: x * math.perm(x.shape[2], 3) + math.perm(x.shape[2] // 3) - math.perm(18, x.shape[2] // 4),
        lambda x: x * math.frexp(x.shape[2])[0] + math.frexp(x.shape[2])[1] - math.nextafter(x.shape[2], 99) * math.ulp(x.shape[2]),
        lambda x: x * math.isclose(x.shape[2], 12) + float(math.isfinite(x.shape[2] / 3)) - float(math.isnan(x.shape[2]) or math.isinf(x.shape[2])),
        lambda x: x * (x.shape[2] ^ 5) + ~x.shape[2] - (6 ^ x.shape[2]) + x.shape[2].bit_length() * x.shape[2].numerator + x.shape[2].imag,
        lambda x: x / numpy.sqrt(x.shape[2]) * numpy.log(x.shape[2]),
        lambda x: x[..., : divmod(x.shape[2], 5)[0]] * divmod(40, x.shape[2])[1],
        lambda x: x.reshape(numpy.prod(x.shape[:2]), int(numpy.prod(x.shape[2:]))) * numpy.prod(x.size()) + numpy.prod((2, 3)) * numpy.prod([2.5], axis=0),
        lambda x: x[..., [0, x.shape[2] - 1]] + x[:, :, x.shape[2] // 2 :].sum(),
        lambda x: x[..., : int(torch.as_tensor(x.shape[2] / 3))] + int(torch.as_tensor(x.shape[2] * 2)),
        lambda x: torch.einsum("bcl,lm,mn->bcn", x, x.new_ones(x.shape[2], 5), x.new_ones(5, 6)),
        lambda x: torch.as_tensor([x.sum(), 2.0]) + torch.asarray((x[0, 0, 0], x.shape[2])) + torch.as_tensor(x, dtype=torch.float64).mean(),
        lambda x: x.reshape(x.shape[:2].numel(), -1) * x.size().numel() + x.nbytes,
        lambda x: F.avg_pool1d(x, x.shape[2]) + F.max_pool1d(x, x.size(2)) + F.max_pool1d(x, x.shape[2] // 2, x.shape[2]),
        lambda x: F.avg_pool2d(x, x.shape[1:]) + F.max_pool2d(x, (1, x.size(2)), padding=(0, 0)),
        lambda x: F.avg_pool2d(x, (x.size(1), x.size(2) // 3)) - F.max_pool2d(x, (1, x.size(2) // 3), stride=(1, x.size(2) // 3)),
        lambda x: F.avg_pool3d(x[None], (1, 2, x.size(2)), ceil_mode=True) + F.max_pool3d(x[None], (1, 2, x.size(2)), (1, 2, 1)),
        lambda x: F.max_pool2d(x[None], (3, x.size(2)), padding=(1, 0)) + F.avg_pool2d(x[None], (3, x.size(2)), padding=(1, 0)),
        lambda x: x.unfold(2, x.shape[2] // 2, 2).sum(-1) + x.unfold(-1, 3, x.shape[2] // 4).sum(),
        lambda x: F.avg_pool1d(x, x.shape[2] // 3, 2, 1) + F.avg_pool1d(x, x.shape[2] // 3, 2, 1, count_include_pad=False),
        lambda x: F.max_pool1d(-1 - x.abs(), 3, x.shape[2] // 3, 1) * F.avg_pool2d(x, (1, 3), (1, x.shape[2] // 3), (0, 1)),
        lambda x: F.avg_pool1d(x, 2, padding=x.shape[2] % 2) + F.avg_pool1d(x, 2, None, [x.shape[2] % 2], count_include_pad=False),
        lambda x: F.avg_pool2d(x, (1, 4), padding=(0, x.shape[2] % 2), divisor_override=3) - F.max_pool2d(x, (1, 4), padding=(0, x.shape[2] % 2)),
        lambda x: F.avg_pool2d(x[None], (1, x.shape[2] // 4), padding=(0, x.shape[2] % 2)),
        lambda x: F.max_pool1d(x, 3, 1, x.shape[2] % 2, 2) + F.max_pool2d((9 * x).long(), (1, 3), 1, (0, x.shape[2] % 2), 2),
        lambda x: F.unfold(x[None], (1, 4), padding=(0, x.shape[2] % 2), stride=2),
        lambda x: F.adaptive_max_pool2d(x, (1, None)) + F.adaptive_max_pool2d(x[None], (None, 1))[0] + F.adaptive_max_pool3d(x[None], (1, 2, None))[0, 0],
        lambda x: torch.stack(torch.gradient(x, spacing=[0.5, 2.0], dim=[1, 2], edge_order=1) + torch.gradient(x, dim=2, edge_order=2)),
        lambda x: torch.stack(
            [*torch.gradient(x, spacing=(x[0, 0].cumsum(0).exp(),), dim=-1), *torch.gradient(x, spacing=[torch.arange(x.shape[2]) ** 2], dim=2, edge_order=2)]
        ),
        lambda x: torch.view_as_real(torch.fft.fft(x, 12)) + torch.fft.ifft(x, n=12, norm="ortho").real[..., None],
        lambda x: torch.view_as_real(torch.fft.rfft(x / 9, n=2 * x.shape[2])) * torch.fft.irfft(torch.fft.rfft(x, n=16), 14).sum(),
        lambda x: torch.fft.hfft(torch.fft.ihfft(x, x.shape[2] - 2), n=15) + torch.fft.hfft2(torch.fft.ihfft2(x, s=(2, 13)), s=(1, 15)),
        lambda x: torch.fft.irfft2(torch.fft.rfft2(x, s=(4, 15)), s=(2, 14)) + torch.fft.irfftn(torch.fft.fftn(x, (15,)), s=[14], dim=[2]),
        lambda x: torch.view_as_real(torch.fft.rfft(x / 99, n=2 ** math.ceil(math.log2(x.shape[2])))) * 2 ** (x.shape[2] - 1).bit_length(),
        lambda x: F.pad(x, (0, max(14, x.shape[2], x.shape[1]) - x.shape[2])) * max(1.0, x.shape[2] / 14) + min([math.log(x.shape[2]), 2.6, 7]),
        lambda x: F.pad(x, (0, 2 ** math.ceil(math.log(x.shape[2], 2)) - x.shape[2])) + int(math.pow(2, int(math.log2(x.shape[2])))),
        lambda x: torch.linalg.matrix_norm(x, math.inf) + torch.linalg.norm(x, 1, (0, 2), keepdim=True) - torch.linalg.matrix_norm(x, -1, (2, 1)),
        lambda x: torch.linalg.matrix_norm(x, 2) + torch.linalg.norm(x[0], -2, keepdim=True) + torch.linalg.norm(x, -math.inf, (-1, -2), dtype=torch.float64),
        lambda x: F.adaptive_max_pool1d(x, x.shape[2] // 2) + F.adaptive_max_pool2d(x, (1, x.shape[2] // 2)) - F.adaptive_max_pool2d(x, (None, 1)),
        lambda x: F.adaptive_max_pool2d(x, (2, 5)) + F.adaptive_max_pool2d(x[None], (None, x.shape[2] - 4)).mean(-1)[0, ..., None],
        lambda x: F.pad(x, (0, ceil(x.shape[2] / 8) * 8 - x.shape[2])) * square_root(x.shape[2]),  # by their own names
        lambda x: torch.distributions.kl_divergence(
            torch.distributions.MultivariateNormal(x.mT, torch.eye(x.shape[1]).expand(x.shape[2], -1, -1)),
            torch.distributions.MultivariateNormal(x.mT * 2, 2 * torch.eye(x.shape[1])),
        ),
        lambda x: x * {(x.shape[2], 1.0): 3}[x.shape[2], math.copysign(-1.0, x.shape[2])] + math.copysign(2 - x.shape[2], x.shape[2] - 9),
        lambda x: x * math.trunc(x.shape[2] % 2.5) + math.floor(x.shape[2] % 5.5) - math.ceil(-x.shape[2] % 1.5) + round(x.shape[2] % 0.7),
        lambda x: x * (x.shape[2] // 5 // -2) + x.shape[2] // -4 // -3 - x.shape[2] // 2 // -3 // -2,
        lambda x: attend(x.mT, x.mT, x.mT, is_causal=x.shape[2] > 14) + attend(x.mT, x.mT, x.mT, is_causal=x.shape[2] > 1),
    ],
)
def test_functions_that_make_numbers_of_sizes(function):
    model = model_of(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = flambeau.export(model, SIGNAL[:1], dynamic_shapes={"args": ({2: "n"},)})
    for x in SIGNAL:
        torch.testing.assert_close(program(x)[0], model(x))


@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize(
    "loss, sizes, target",
    [
        (F.multilabel_margin_loss, (4,), torch.tensor([3, 0, -1, 1])),
        (F.multilabel_margin_loss, (), torch.tensor(0)),
        (F.multilabel_margin_loss, (1, 2), torch.tensor([[1, -1]])),
        (F.multi_margin_loss, (4,), torch.tensor(2)),
        (F.multi_margin_loss, (4,), torch.tensor([2])),
        (F.multi_margin_loss, (), torch.tensor(0)),
        (F.multi_margin_loss, (1, 4), torch.tensor([2])),
    ],
)
def test_the_loss_of_one_sample(loss, sizes, target, reduction):
    model = model_of(lambda x, target: loss(x, target, reduction=reduction))
    args = torch.randn(sizes), target
    torch.testing.assert_close(flambeau.export(model, args)(*args)[0], model(*args))


def test_sizes_that_sympy_cannot_compare():
    def halved(x):
        for _ in range(4):
            x = F.conv1d(x, torch.ones(2, 2, 1), stride=2) + F.avg_pool1d(x, 2)
        return x

    model = model_of(halved)
    program = flambeau.export(model, (torch.ones(1, 2, 64),), dynamic_shapes={"args": ({2: "n"},)})
    longer = torch.arange(192.0).sin().reshape(1, 2, 96)
    torch.testing.assert_close(program(longer)[0], model(longer))


def written_at_sizes(x):
    n = x.shape[2]
    y = x.clone()
    y[..., n - 1] = 0.5
    y[:, :, n // 2] += 1
    y[..., -n] = x[:, :, 1]
    y[0, :, [1, n - 2]] = 3
    y[:, 0, n - 3] = x[None, None, None, 0, 1, 2]
    return y


def diagonals(x):
    square, tall = x[0].mT @ x[0], torch.stack([x[0, 0], x[0, 1]], 1)
    return square.fill_diagonal_(-2.0), tall.clone().fill_diagonal_(5.0), tall.fill_diagonal_(5.0, wrap=True), x[0].clone().fill_diagonal_(1)


@pytest.mark.parametrize("function", [written_at_sizes, diagonals])
def test_writes_where_sizes_say(function):
    model = model_of(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = flambeau.export(model, SIGNAL[:1], dynamic_shapes={"args": ({2: "n"},)})
    for x in SIGNAL:
        torch.testing.assert_close(list(program(x)), [*model(x)] if isinstance(model(x), tuple) else [model(x)])


def scaled(x):
    return torch.full((2, 1), 0.5) * F.avg_pool1d(x, 4) + F.conv1d(F.avg_pool1d(x, 4), torch.ones(2, 2, 1))


def pooled_to_the_end(x):
    for _ in range(3):
        x = F.avg_pool1d(F.conv1d(x, torch.ones(2, 2, 3), stride=2, padding=1), 2, ceil_mode=True)
    return x


@pytest.mark.parametrize("function", [scaled, pooled_to_the_end])
def test_what_holds_for_all_sizes_is_not_warned_of(function):
    model = model_of(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = flambeau.export(model, (torch.ones(1, 2, 64),), dynamic_shapes={"args": ({2: "n"},)})
    for length in (5, 16, 99):
        x = torch.arange(2.0 * length).sin().reshape(1, 2, length)
        torch.testing.assert_close(program(x)[0], model(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.max_pool1d(x, 2, padding=x.shape[2] % 2, ceil_mode=True),
        lambda x: F.max_pool1d(x, 2, padding=x.shape[2] % 2, return_indices=True)[1],
        lambda x: x[..., : (5, 7)[x.shape[2] % 2]],
        lambda x: x.sum(x.shape[2] % 2 + 1),
        lambda x: F.adaptive_max_pool1d(x, 2 * (x.shape[2] % 2) + 1, return_indices=True)[1],
        lambda x: F.local_response_norm(x, x.shape[2] % 2 + 1),
    ],
)
def test_a_remainder_that_becomes_a_number_is_warned_of(function):
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"right only where Mod\(n, 2\) = 0"):
        flambeau.export(model_of(function), SIGNAL[:1], dynamic_shapes={"args": ({2: "n"},)})


def test_what_holds_for_some_sizes_is_warned_of():
    model = model_of(lambda x: x[:, :, ::2] if 2 * (x.shape[2] // 2) < x.shape[2] + x.shape[2] % 3 else x)
    with pytest.warns(flambeau.errors.ConversionWarning, match="right only where"):
        flambeau.export(model, SIGNAL[1:], dynamic_shapes={"args": ({2: "n"},)})


@functools.lru_cache(maxsize=8)
def ramp(n):
    return torch.arange(n).float().sum()


class Tables(torch.nn.Module):
    """They are made once for each size, and kept."""

    def __init__(self):
        super().__init__()
        self.tables = {}

    def table(self, *sizes):
        if sizes not in self.tables:
            self.tables[sizes] = torch.arange(sizes[0]).float()[:, None] * torch.arange(sizes[1])
        return self.tables[sizes]

    def forward(self, x):
        return x + self.table(*x.shape[1:]) + self.table(*x.shape[1:]) * ramp(x.shape[2]) + ramp(x.shape[2])


def test_tables_by_sizes_are_those_of_each_size():
    model = Tables()
    model(SIGNAL[0])
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error", flambeau.errors.ConversionWarning)
            program = flambeau.export(model, SIGNAL[:1], dynamic_shapes=({1: "m", 2: "n"},))
        for x in (*SIGNAL, torch.ones(1, 4, 5)):
            torch.testing.assert_close(program(x)[0], model(x))
    assert all(isinstance(size, int) for sizes in model.tables for size in sizes)


@pytest.mark.parametrize(
    "options",
    [dict(mode="nearest"), dict(mode="nearest-exact"), dict(mode="bilinear"), dict(mode="bicubic", align_corners=True), dict(mode="bicubic"), dict(mode="area"), dict(mode="bilinear", recompute_scale_factor=True)],
    ids=str,
)
def test_images_are_resized_by_factors_that_follow_from_sizes(options):
    """Of tables of positions, with a little more to be safe when it is rounded."""

    class Stretched(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.randn(1, 2, 4, 4))

        def forward(self, x):
            rows, columns = x.shape[2] // 4, x.shape[3] // 4
            table = torch.nn.functional.interpolate(self.table, scale_factor=((rows + 0.1) / 4, (columns + 0.1) / 4), **options)
            return table + x[:, :, :rows, :columns]

    model = Stretched()
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = flambeau.export(model, (torch.randn(1, 2, 12, 20),), dynamic_shapes=({2: "height", 3: "width"},))
    for sizes in ((12, 20), (28, 12), (9, 40)):
        x = torch.randn(1, 2, *sizes)
        torch.testing.assert_close(program(x)[0], model(x).detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "left, right, ends",
    [((9, 8), (3, 8, 16), [2, 2, 9]), ((3, 4, 8), (8, 16), [2, 2, 16]), ((4, 16), (16, 8), [2, 2, 15]), ((2, 4, 8), (2, 8, 16), None)],
    ids=["rows", "columns", "sums", "batch"],
)
def test_products_of_groups_of_floats(left, right, ends):
    """torch.export knows the shapes of bfloat16 ones."""
    model = model_of(lambda a, b, *offs: F.grouped_mm(a, b, offs=offs[0] if offs else None))
    args = torch.randn(left), torch.randn(right), *([torch.tensor(ends, dtype=torch.int32)] if ends else [])
    torch.testing.assert_close(flambeau.export(model, args)(*args)[0], model(*args))


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project = torch.nn.LazyLinear(3)

    def forward(self, x):
        state, states = torch.zeros(3), []
        for row in x:
            state = torch.tanh(self.project(row) + state)
            states.append(state)
        return torch.stack(states)


def test_an_example_that_another_network_computed():
    """A tensor with a history of gradients, which Python does not copy."""
    model, encoder = Recurrent(), torch.nn.Linear(3, 3)
    program = flambeau.export(model, (encoder(torch.randn(4, 3)),), dynamic_shapes=({0: "n"},), verbose=False)
    for n in (4, 6):
        x = torch.randn(n, 3)
        torch.testing.assert_close(program(x)[0], model(x))
    flambeau.onnx.verification.verify(model, (encoder(torch.randn(4, 3)),))
    assert not flambeau.onnx.verification.find_mismatch(model, (encoder(torch.randn(4, 3)),)).has_mismatch()
