"""Arguments of operators that are numbers of Python, which only a run knows."""

from typing import List

import flambeau
import pytest
import torch
import torch.nn.functional as F
from cases import Cases, x

case = Cases()
N = {"others": [(x(2, 4), x(2, 4, seed=9), torch.tensor(n)) for n in (1, 3)] + [(x(3, 6), x(3, 6, seed=9), torch.tensor(2))]}
GIVEN = (x(2, 4), x(2, 4, seed=9), torch.tensor(2))
AXES = {"x": [0, 1], "y": [0, 1], "n": []}


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def losses(self, x, y, n):
    part = float(n) / 10
    labels = torch.ones(x.size(0)).long()
    regressions = F.huber_loss(x, y, delta=part), F.smooth_l1_loss(x, y, beta=part)
    pairs = F.margin_ranking_loss(x, y, torch.sign(y), margin=part), F.cosine_embedding_loss(x, y, torch.ones(x.size(0)), margin=part)
    apart = F.triplet_margin_loss(x, y, x * y, margin=part, p=float(n), eps=part / 100), F.multi_margin_loss(x, labels, margin=part)
    classes = F.cross_entropy(x, labels, label_smoothing=part), F.cross_entropy(x, y.softmax(1), label_smoothing=part)
    others = F.hinge_embedding_loss(x, torch.sign(y), margin=part), F.poisson_nll_loss(x.abs(), y.abs(), eps=part, log_input=False)
    return regressions, pairs, apart, classes, others


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def ignored_classes(self, x, y, n):
    labels = torch.arange(x.size(0)) + 1
    ignored = int(n)
    return F.nll_loss(x, labels, ignore_index=ignored), F.cross_entropy(x, labels, ignore_index=ignored, label_smoothing=0.1)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def distances(self, x, y, n):
    p = float(n)
    return torch.cdist(x, y, p=p), F.pairwise_distance(x, y, p=p), F.pdist(x, p), F.cosine_similarity(x, y, eps=p), torch.isclose(x, y, p / 10, p / 4)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def normalizations(self, x, y, n):
    eps = float(n) / 10
    y = y.abs() + 1
    images = x[:, :, None]
    over_batch = F.batch_norm(x, x[0], y[0], y[0], x[0], False, 0.1, eps), F.batch_norm(images, None, None, y[0], None, True, 0.1, eps)
    in_groups = F.group_norm(x, 2, y[0], x[0], eps), F.group_norm(torch.cat([x, y, x], 1), int(n)), F.instance_norm(x[None], eps=eps)
    return over_batch, in_groups, F.layer_norm(x, [x.size(1)], y[0], x[0], eps), F.rms_norm(x, [x.size(1)], y[0], eps), F.normalize(x, eps=eps)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def statistics(self, x, y, n):
    n_ = int(n)
    spread = torch.var(x, 1, correction=n_ - 1), x.std(correction=x.size(0)), torch.var_mean(x, [0, 1], correction=n_), torch.cov(x, correction=n_ - 1)
    return spread, torch.quantile(x, n_ / 10, dim=1), torch.nanquantile(x, n_ / 4), torch.trapz(x, dx=n_ / 2)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def pads_of_either_sign(self, x, y, n):
    k = int(n)
    rows, image = x[None], (x + y)[None, None]
    circles = F.pad(rows, [1 - k, k - 2], mode="circular"), F.pad(image, [k - 2, 2 - k, k - 2, 1], mode="circular")
    borders = F.pad(rows, [1 - k, k - 2], mode="replicate"), F.pad(rows, [-x.size(1), k], mode="replicate"), F.pad(rows, [3, -k], mode="reflect")
    return circles, borders, F.pad(image, [1, k - 2, 0, 2 - k], mode="reflect"), F.pad(x, [k - 2, 2 - k], value=1.5)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def elements(self, x, y, n):
    number = float(n)
    infinite = torch.where(x > 0.5, x / 0, x * 0 / 0)
    rounded = torch.round(x * 1000, decimals=int(n)), torch.round(x * 1000, decimals=-int(n))
    padded = F.pad(x, [1, int(n)], value=number), torch.nn.utils.rnn.pad_sequence([x[0], x[0, :2]], padding_value=number)
    return torch.nan_to_num(infinite, number, number, -number), torch.logit(x.sigmoid(), number / 9), rounded, padded, F.rrelu(x, number / 10, number / 5)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def diagonals(self, x, y, n):
    offset = int(n) - 2
    on = torch.diag(x[0], offset), torch.diag_embed(x, offset, 0, 1), torch.diagflat(x, -offset)
    return on, torch.diagonal_scatter(torch.cat([x, y]), x[0, :1] * 0 + x[0].new_ones(1), 1 - x.size(0) * 2 + offset * 0)


@case.forward(x(1, 16, 6, 12), torch.tensor(2), others=[(x(1, 18, 6, 12), torch.tensor(3)), (x(1, 2, 6, 12), torch.tensor(1))], dynamic_axes={"x": [1], "n": []})
def blocks(self, x, n):
    factor = int(n)
    return F.pixel_shuffle(x, factor), F.pixel_unshuffle(x, factor)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def grids(self, x, y, n):
    scale, zero_point = float(n) / 50, int(n)
    return torch.fake_quantize_per_tensor_affine(x, scale, zero_point, 0, 255), torch.quantize_per_tensor(x, scale, zero_point, torch.quint8).dequantize()


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def draws_that_decide_nothing(self, x, y, n):
    number = float(n)
    dropped = F.dropout(x, number * 0, True), F.dropout(x, number / 4, False), F.alpha_dropout(x, number / 4, False), F.dropout1d(x[None], number * 0, True)
    same = torch.ones_like(x).normal_(number, 0.0), torch.ones_like(x).uniform_(number, number), torch.ones_like(x).bernoulli_(number * 0 + 1)
    return dropped, same, torch.normal(number, 0.0, [2, 3]), F.dropout(x, number * 0 + 1, True), F.alpha_dropout(x * 0, number * 0, True)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def asked_of_tensors(self, x, y, n):
    made = x.new_zeros(3, x.size(1), 2)
    sizes = x.itemsize, x.nbytes, made.stride(), made.stride(0), made.stride(-1), x.get_device()
    return sizes, x.is_same_size(y), x.is_same_size(y[:-1]), x.is_same_size(made), made.double().nbytes


@case.forward(*GIVEN, dynamic_axes=AXES, how=("script",), **N)
def what_a_tensor_is_not(self, x, y, n):
    if x.is_meta or x.is_vulkan or x.is_ipu or x.is_conj() or x.is_inference() or x.is_distributed():
        return y
    return x if x.retains_grad else x + n


@case.forward(*GIVEN, dynamic_axes=AXES, how=("script",), **N)
def strides_of_what_is_reshaped(self, x, y, n):
    cube = torch.ones(4, 6, 8)[:, 1:4, ::2]
    pairs = cube.reshape(2, 2, 3, 4), cube.reshape(4, 1, 3, 2, 2), cube.flatten(0, 1), cube.transpose(0, 1).reshape(3, 4, 2, 2), cube.reshape(-1)
    apart = cube.transpose(1, 2).flatten(1), cube.permute(2, 0, 1).view(2, 2, 4, 3), cube.unflatten(0, (2, -1)), cube.view_as(cube)
    a, b, c, d, e = pairs
    f, g, h, i = apart
    kept = torch.ones(x.size(0), 5, x.size(1))[:, 1:3].reshape(-1, 2, x.size(1))
    known = a.stride(), b.stride(), c.stride(), d.stride(), e.stride(), f.stride(), g.stride(), h.stride(), i.stride()
    return known, kept.stride()


@case.forward(*GIVEN, dynamic_axes=AXES, how=("script",), **N)
def strides_that_only_another_format_asks_for(self, x, y, n):
    image = torch.ones(2, 3, 4, 5) * x.sum()
    if int(n) > 1:
        image = image[:, :, 1:3, 2:]
    strides = image.stride()
    if image.is_contiguous(memory_format=torch.channels_last) and image.size(0) == 1 and image.numel() != strides[0]:
        image = image * 2
    return image.sum(dim=3)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def lengths_of_labels(self, x, y, n):
    steps = torch.stack([x, y, x - y, x * y]).log_softmax(-1)
    return torch.ctc_loss(steps[:, :2], torch.tensor([[1, 2, 3], [3, 1, 2]]), [4, int(n) + 1], [int(n), 1], 0, 0)


@case.forward(*GIVEN, dynamic_axes=AXES, how=("trace", "script"), **N)
def frequencies(self, x, y, n):
    return torch.fft.fftfreq(x.size(1)) + torch.fft.fftfreq(y.size(1), 0.3), torch.fft.rfftfreq(x.size(1) + 1, d=2.0, dtype=torch.float64) * n


@case.forward(*GIVEN, dynamic_axes=AXES, others=[(x(3, 5), x(3, 5), torch.tensor(n)) for n in (0, 1, 3)])
def pools_to_no_bins(self, x, y, n):
    image, bins = torch.stack([x, y]).unsqueeze(0), int(n)
    area = F.interpolate(image, size=(bins, 2), mode="area"), F.adaptive_avg_pool1d(x, bins)
    return area, F.adaptive_max_pool2d(image, (3, bins)), F.adaptive_max_pool2d(image, (bins, 1), return_indices=True)[1]


@case.forward(*GIVEN, dynamic_axes=AXES, how=("trace", "script"), **N)
def bins_of_a_histogram(self, x, y, n):
    return torch.histc(x, x.size(1)), torch.histc(y, x.size(0) + 2, -1.0, 1.0)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def bins_that_data_decide(self, x, y, n):
    return torch.histc(x, int(n) + 1), torch.histc(y, bins=int(x.abs().sum()) + 1, max=2)


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def widths_of_run_time_length(self, x, y, n):
    widths: List[int] = []
    for i in range(min(int(n), 2)):
        widths.append(i + 1)
        widths.append(-1 if i == 0 else 2)
    return F.pad(x, widths), F.pad(y, widths, "constant", 0.5), F.pad(x.sum() + y[0], widths[:2])


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def orders_of_norms_of_vectors(self, x, y, n):
    return torch.linalg.norm(x.flatten(), n.item()), torch.linalg.norm(y, float(n) + 0.5, dim=1, keepdim=True), torch.linalg.norm(x, int(n), dim=[0])
@case.forward(*GIVEN, dynamic_axes=AXES, **(N | {"others": N["others"] + [(x(2, 4), x(2, 4, seed=9), torch.tensor(n)) for n in (0, 4, 6)]}))
def differences(self, x, y, n):
    k, flags = int(n), x > 0
    return torch.diff(x, k), torch.diff(flags, k, 0), torch.diff(x, k, 1, prepend=y[:, :2], append=y), torch.diff(x.long(), n=k, dim=0, append=y.long())


@case.forward(*GIVEN, dynamic_axes=AXES, **N)
def windows_of_images(self, x, y, n):
    k = int(n)
    image = torch.stack([x, y]).repeat(1, 1, 3, 2)
    steps = F.unfold(image, 2, stride=k), F.unfold(image, (1, k), padding=k), F.unfold(image, k, stride=(1, k), padding=(0, k))
    return steps, F.unfold(image, (2, k), dilation=(k, 1)), F.unfold(image[0], 2, padding=(k - 1, 0))


def test_what_only_a_constant_can_be_says_what_to_do():
    def orders(x, n: int):
        return torch.linalg.norm(x, n), torch.linalg.matrix_norm(x, n)

    def windows(x, n: int):
        return torch.combinations(x[0], n), F.fold(x, (2, 2), n)

    for function, told in ((orders, "branch on it in the model"), (orders, "'ord' must be a constant number; .* branch on its values"), (windows, "'r' must be a constant integer; .* branch on its values"), (windows, "'kernel_size' must be a list of constant integers; .* branch on its values")):
        with pytest.raises(flambeau.errors.OnnxExporterError, match=told):
            flambeau.onnx.export(torch.jit.script(function), (x(2, 4), 2), None, dynamo=False)


test_program = case.test()
