"""Calls that torch.export alone refuses, because it would have to look at data."""

import copy
import importlib
import sys
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

import flambeau


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def compare(function, *inputs, others=(), dynamic_shapes=None):
    module = Call(function).eval()
    program = flambeau.export(module, inputs, dynamic_shapes=dynamic_shapes, verbose=False)
    for given in (inputs, *others):
        wanted = function(*(value.clone() for value in given))
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        got = program(*given)
        assert len(got) == len(wanted)
        for one, want in zip(got, wanted):
            torch.testing.assert_close(one, torch.as_tensor(want), rtol=1e-4, atol=1e-5, equal_nan=True)


torch.manual_seed(5)
A, B = torch.randn(3, 5), torch.randn(3, 5)
WEIGHTS = torch.tensor([1, 2, 1, 3, 1])


@pytest.mark.parametrize("function", [torch.equal, torch.Tensor.equal, torch.allclose, torch.Tensor.allclose])
def test_equality(function):
    compare(function, A, B, others=[(A, A.clone()), (A, A + 1e-9)])


def test_equality_of_other_sizes():
    compare(torch.equal, A, A[0])


@pytest.mark.parametrize("inputs", [A, A[0], torch.randint(9, (3, 5))], ids=["matrix", "vector", "integers"])
def test_covariance(inputs):
    compare(torch.cov, inputs)
    compare(torch.corrcoef, inputs)


@pytest.mark.parametrize("correction", [0, 1])
def test_weighted_covariance(correction):
    compare(lambda x, f: torch.cov(x, correction=correction, fweights=f), A, WEIGHTS)
    compare(lambda x, a: torch.cov(x, correction=correction, aweights=a), A, WEIGHTS.float())
    compare(lambda x, f, a: torch.cov(x, correction=correction, fweights=f, aweights=a), A, WEIGHTS, torch.rand(5))
    compare(lambda x, a: torch.cov(x, correction=correction, aweights=a), A, WEIGHTS.double())
    compare(lambda x, a: torch.cov(x, correction=correction, aweights=a).float(), A.half(), WEIGHTS.float())


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_combinations(count, replacement):
    compare(lambda x: torch.combinations(x, count, replacement), torch.randn(5))


def test_combinations_of_a_dynamic_size():
    function = lambda x: torch.combinations(x, 3)  # noqa: E731
    compare(function, torch.randn(5), others=[(torch.randn(7),)], dynamic_shapes=(({0: Dim.DYNAMIC},),))


def test_narrow_at_a_tensor():
    others = [(A, torch.tensor(start)) for start in (0, 2, -3)]
    compare(lambda x, start: torch.narrow(x, 1, start, 3), A, torch.tensor(1), others=others)


def test_writes_at_a_tensor():
    def write(x, at, value):
        x, other = x.clone(), x.clone()
        x[at] = value
        x[..., at] = 7
        x[None, 1:, at] = value[None, :1]
        other[0, at] = 2.5
        other[at - 1, :2] = value[:2]
        other[at, at] += 1
        return x, other

    compare(write, torch.randn(5, 5), torch.tensor(1), torch.randn(5), others=[(torch.randn(5, 5), torch.tensor(at), torch.randn(5)) for at in (3, -2)])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_gaussian_nll_loss(reduction):
    compare(lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=True, reduction=reduction), A, B, torch.rand(3, 5))
    compare(lambda x, y, v: F.gaussian_nll_loss(x, y, v, reduction=reduction), A, B, torch.rand(3, 1))


@pytest.mark.parametrize("sizes", [(5,), (4, 6), (2, 3, 5)])
def test_unique_consecutive_as_torch_records_it(sizes):
    """Of a dimension that counts from the end, torch.export records a wrong rank."""

    class Model(torch.nn.Module):
        def forward(self, x):
            values, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=-1)
            return values * 2, inverse, counts / counts.sum()

    x = torch.arange(sizes[-1]).div(2, rounding_mode="floor").expand(sizes).clone()
    program = flambeau.export(torch.export.export(Model(), (x,)))
    for given in (x, torch.ones_like(x)):
        for got, expected in zip(program(given), Model()(given), strict=True):
            torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("dim", [None, -1, -2, 1])
def test_unique_consecutive(dim):
    x = torch.tensor([[1, 1, 2, 2, 2], [1, 1, 2, 3, 3], [1, 1, 2, 3, 3]])
    compare(lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=dim), x)
    compare(lambda x: torch.unique_consecutive(x, return_counts=True, dim=dim), x, others=[(torch.ones_like(x),)])


def test_instance_norm_of_running_statistics():
    def function(x, mean, variance):
        result = F.instance_norm(x, mean, variance, use_input_stats=True, momentum=0.3)
        return result, mean + 0, variance + 0

    compare(function, torch.randn(2, 3, 6), torch.zeros(3), torch.ones(3))


class Averages(torch.nn.Module):
    """The averages over all batches so far, and what they were."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4, momentum=None)
        self.norm.num_batches_tracked.fill_(2)

    def forward(self, x):
        before = self.norm.running_var.clone()
        return self.norm(x), self.norm.running_mean.clone(), self.norm.running_var - before


def test_batch_norm_that_averages_over_all_batches():
    model, x = Averages(), torch.randn(3, 4)
    program = flambeau.export(model, (x,), dynamic_shapes=({0: "batch"},), training=torch.onnx.TrainingMode.TRAINING, verbose=False)
    for rows in (x, torch.randn(5, 4)):
        for got, want in zip(program(rows), copy.deepcopy(model).train()(rows)):
            torch.testing.assert_close(got, want.detach())


@pytest.mark.parametrize("function", [F.rrelu, F.logsigmoid, lambda x: torch.nn.RReLU(inplace=True).eval()(x) + x])
def test_results_that_lie_otherwise_than_their_input(function):
    def written(x):
        result = function(x.T)
        result.reshape(-1)[1] = 2
        return result

    compare(written, A)


LOG_PROBS = torch.randn(7, 3, 6).log_softmax(2)


@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_ctc_loss(reduction, zero_infinity):
    def function(scores, targets, steps, lengths):
        return F.ctc_loss(scores, targets, steps, lengths, reduction=reduction, zero_infinity=zero_infinity)

    targets = torch.tensor([[1, 1, 2, 5], [3, 4, 4, 4], [2, 1, 0, 0]])
    others = [(LOG_PROBS, targets, torch.tensor([2, 7, 1]), torch.tensor([3, 0, 1]))]
    compare(function, LOG_PROBS, targets, torch.tensor([7, 7, 5]), torch.tensor([4, 3, 2]), others=others)


def test_ctc_loss_of_targets_end_to_end():
    targets = torch.tensor([1, 1, 2, 3, 4, 2])
    compare(lambda s, t: F.ctc_loss(s, t, (7, 6, 7), (3, 2, 1), blank=5), LOG_PROBS, targets)
    compare(lambda s, t: F.ctc_loss(s, t, torch.tensor(7), torch.tensor(2)), LOG_PROBS[:, 0], targets[2:4])


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelss", "gelsd"])
def test_least_squares(driver):
    def function(a, b):
        return tuple(torch.linalg.lstsq(a, b, driver=driver))

    for sizes in ((5, 3), (3, 5), (2, 5, 3)):
        compare(function, torch.randn(sizes), torch.randn(*sizes[:-1], 2), others=[(torch.randn(sizes), torch.randn(*sizes[:-1], 2))])
    compare(function, torch.randn(2, 5, 3), torch.randn(2, 5))


def test_least_squares_of_columns_that_depend():
    tall = torch.randn(5, 4)
    tall[:, 2:] = tall[:, :2]
    # Not by gelsy, the default: PyTorch hands it pivots that are not set, so its rank is another from call to call.
    # At the default rcond, rounding would decide whether the copies are dependent.
    compare(lambda a, b: torch.linalg.lstsq(a, b, rcond=1e-4, driver="gelsd")[0:4:2], tall, torch.randn(5, 2))
    compare(lambda a, b: torch.linalg.lstsq(a, b, rcond=1e-3, driver="gelsd").rank, tall + 1e-5 * torch.randn(5, 4), torch.randn(5, 2))
    # Whether there are residuals is known when the model runs: it says so rather than give wrong ones.
    module = Call(lambda a, b: torch.linalg.lstsq(a, b, driver="gelsd").residuals)
    program = flambeau.export(module, (torch.randn(5, 4), torch.randn(5, 2)), verbose=False)
    with pytest.raises(Exception, match="(?i)gather"):
        program(tall, torch.randn(5, 2))


def test_least_squares_of_a_rank_that_is_estimated():
    # What is left out by gelsy, the default, is no function of the matrix: PyTorch hands it pivots that are not set.
    a, b = torch.randn(5, 3), torch.randn(5, 2)
    with pytest.raises(flambeau.errors.UnsupportedOperatorError, match="gelsd"):
        flambeau.export(Call(lambda a, b: torch.linalg.lstsq(a, b, rcond=0.5).solution), (a, b), verbose=False)
    compare(lambda a, b: torch.linalg.lstsq(a, b, rcond=0.5, driver="gelsd").solution, a, b)
    compare(lambda a, b: torch.linalg.lstsq(a, b, rcond=1e-6).solution, a, b)


def test_least_squares_of_dynamic_sizes():
    sizes = {0: Dim.AUTO, 1: Dim.AUTO}
    others = [(torch.randn(7, 4), torch.randn(7, 3))]
    compare(lambda a, b: torch.linalg.lstsq(a, b).solution, torch.randn(5, 3), torch.randn(5, 2), others=others, dynamic_shapes=((sizes, sizes),))


@pytest.mark.parametrize("dtype", [None, torch.float64])
def test_linspace_of_a_dynamic_size(dtype):
    function = lambda x: torch.linspace(-1, 2.5, x.shape[0], dtype=dtype)  # noqa: E731
    others = [(torch.randn(size),) for size in (1, 2, 7, 8)]
    compare(function, torch.randn(5), others=others, dynamic_shapes=(({0: Dim.DYNAMIC},),))


def test_linspace_between_tensors():
    function = lambda x, low: torch.linspace(low, x.max(), x.shape[0])  # noqa: E731
    shapes = (({0: Dim.DYNAMIC}, None),)
    compare(function, torch.randn(5), torch.tensor(-3.0), others=[(torch.randn(8), torch.tensor(1.0))], dynamic_shapes=shapes)


@pytest.mark.parametrize("align_corners", [False, True])
def test_affine_grids_of_dynamic_sizes(align_corners):
    function = lambda x, theta: F.grid_sample(x, F.affine_grid(theta, x.size(), align_corners), align_corners=align_corners)  # noqa: E731
    shapes = (({0: Dim.DYNAMIC, 2: Dim.DYNAMIC, 3: Dim.DYNAMIC}, {0: Dim.DYNAMIC}),)
    theta = torch.tensor([[0.9, 0.2, 0.1], [-0.1, 1.1, 0.0]])
    others = [(torch.randn(2, 3, 7, 4), theta.expand(2, 2, 3).contiguous())]
    compare(function, torch.randn(3, 3, 5, 6), theta.expand(3, 2, 3).contiguous(), others=others, dynamic_shapes=shapes)


def test_distributions_do_not_look_at_their_parameters(monkeypatch):
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)  # torch.compile turns it off for the process

    def function(logits, action, mean):
        choice = torch.distributions.Categorical(logits=logits)
        move = torch.distributions.Independent(torch.distributions.Normal(mean, mean.exp()), 1)
        return choice.log_prob(action), choice.entropy(), move.log_prob(mean + 1), move.entropy()

    inputs = [(torch.randn(n, 4), torch.randint(4, (n,)), torch.randn(n, 2)) for n in (3, 5)]
    shapes = (tuple({0: Dim.DYNAMIC} for _ in inputs[0]),)
    compare(function, *inputs[0], others=inputs[1:], dynamic_shapes=shapes)
    with pytest.raises(ValueError, match="invalid values"):  # what PyTorch checks, it checks again
        torch.distributions.Categorical(logits=torch.tensor([float("nan")]))


class Draws(torch.nn.Module):
    def forward(self, x):
        d = torch.distributions
        return d.Gamma(x + 4, 2 * x).rsample(), d.StudentT(x + 12).rsample(), d.Beta(x + 1, 2 * x).sample(), d.Dirichlet(x).rsample(), d.Binomial(8, x / 2).sample()


class ScriptedDraws(torch.nn.Module):
    def forward(self, x):
        return torch._standard_gamma(x + 4) / (2 * x), torch._sample_dirichlet(x)


DRAWN = {"gamma": (2.5, 1.25**0.5), "student": (0, 1.2**0.5), "beta": (0.5, 0.05**0.5), "dirichlet": (1 / 60, (59 / 3600 / 61) ** 0.5), "binomial": (4, 2**0.5)}


@pytest.mark.parametrize("scripted", [False, True])
def test_distributions_of_gamma_draw_for_dynamic_sizes(scripted):
    model, names = (torch.jit.script(ScriptedDraws()), ("gamma", "dirichlet")) if scripted else (Draws(), DRAWN)
    program = flambeau.export(model, (torch.ones(4, 60),), dynamic_shapes=({0: Dim.DYNAMIC},))
    for name, got in zip(names, program(torch.ones(50, 60)), strict=True):
        mean, std = DRAWN[name]
        assert got.shape == (50, 60), name
        assert abs(got.mean().item() - mean) < 6 * std / 3000**0.5, name
        assert abs(got.std().item() - std) < 0.1 * std, name


def test_squeeze_of_a_size_of_which_the_program_knows_less():
    """Of one element, all that torch says of the number of runs is that it is at most 1; and so `squeeze` keeps it."""

    class Runs(torch.nn.Module):
        def forward(self, x):
            runs = torch.unique_consecutive(x.max(-1)[0].flatten()).clone()
            runs.squeeze().fill_(3)
            return runs

    program = flambeau.export(Runs(), (torch.randn(4),))
    torch.testing.assert_close(program(torch.randn(4))[0], torch.full((1,), 3.0))


@pytest.mark.parametrize("dynamic_shapes", [None, (({0: "n"}, {0: "m"}),)])
def test_masks_whose_sizes_data_decides(dynamic_shapes):
    """Of images packed into one sequence: each attends to itself."""

    def attend(one, two):
        x = torch.cat([one, two])
        image = torch.repeat_interleave(torch.arange(2), torch.tensor([one.shape[0], two.shape[0]]))
        return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=image[:, None] == image)

    others = [] if dynamic_shapes is None else [(torch.randn(2, 8), torch.randn(7, 8))]
    compare(attend, torch.randn(5, 8), torch.randn(3, 8), others=others, dynamic_shapes=dynamic_shapes)


@pytest.mark.parametrize("dim", [None, 0])
def test_rows_that_are_repeated_as_often_as_was_counted(dim):
    """How many counts there are, data decides."""

    def repeated(x, at):
        counts = torch.bincount(at, minlength=x.shape[0])
        return (x if dim is not None else x[:, 0]).repeat_interleave(counts, dim), torch.repeat_interleave(x, dim=0, repeats=counts)

    def given(rows, count):
        return torch.randn(rows, 4), torch.randint(0, rows, (count,))

    compare(repeated, *given(6, 12), others=[given(9, 20)], dynamic_shapes=(({0: "n"}, {0: "e"}),))


def test_slices_of_which_sizes_decide_where_they_count_from():
    """torch takes their sizes for what data decides; here the size of what is joined is asked for then."""

    def rolled(x):
        back = x.shape[1] - 2
        x = torch.cat((x[:, -back:], x[:, :-back]), dim=1)
        return x.reshape(-1, x.shape[1] // 2, 2) if x.shape[1] % 2 == 0 else x

    with pytest.warns(UserWarning, match=r"right only where 2 - n < 0: .*test_data_dependent.py:\d+: x = torch.cat"), pytest.warns(UserWarning, match="Mod"):
        compare(rolled, torch.randn(2, 6), others=[(torch.randn(3, 10),), (torch.randn(1, 4),)], dynamic_shapes=(({0: "b", 1: "n"},),))


def test_cells_that_only_a_gpu_computes_are_of_dynamic_sizes():
    class Cell(torch.nn.Module):
        def forward(self, gates, hidden_gates, state):
            return torch.ops.aten._thnn_fused_gru_cell(gates, hidden_gates, state)[0]

    def inputs(rows):
        return torch.randn(rows, 12), torch.randn(rows, 12), torch.randn(rows, 4)

    program = flambeau.export(Cell(), inputs(2), dynamic_shapes=({0: "rows"},) * 3)
    gates, hidden_gates, state = inputs(5)
    (r, z, n), (hr, hz, hn) = gates.chunk(3, 1), hidden_gates.chunk(3, 1)
    update = torch.sigmoid(z + hz)
    torch.testing.assert_close(program(gates, hidden_gates, state)[0], (1 - update) * torch.tanh(n + torch.sigmoid(r + hr) * hn) + update * state)


def written(at):
    def write(x, i, t, m):
        y = x.clone()
        y[at(i, t, m)] = 1.0
        y[at(i, t, m)] += x[0, 0, 0]
        return y

    return write


PLACES = {
    "beside": lambda i, t, m: (t, i),
    "before": lambda i, t, m: (i, t),
    "mask": lambda i, t, m: (m, slice(None), i),
    "behind": lambda i, t, m: (slice(None), t, i),
    "between": lambda i, t, m: (t, i, slice(None, 2)),
    "apart": lambda i, t, m: (i, slice(None), t),
    "ellipsis": lambda i, t, m: (..., t, i),
    "new": lambda i, t, m: (t, None, i),
    "several": lambda i, t, m: (i, t, t),
    "listed": lambda i, t, m: ([i, i - 1], slice(None), (i, 0)),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("at", PLACES.values(), ids=PLACES)
def test_tensors_that_are_numbers_beside_others_that_index(at, dynamic):
    x, i, t, m = torch.randn(4, 5, 6), torch.tensor(2), torch.tensor([0, 1]), torch.tensor([True, False, True, True])
    shapes = {"inputs": ({0: "a", 1: "b", 2: "c"}, None, {0: "k"}, {0: "a"})} if dynamic else None
    other = (torch.randn(6, 7, 5), torch.tensor(3), torch.tensor([1, 2, 0]), torch.rand(6) > 0.5) if dynamic else (x, torch.tensor(-1), t, ~m)
    for function in (lambda x, i, t, m: x[at(i, t, m)], written(at)):
        compare(function, x, i, t, m, others=[other], dynamic_shapes=shapes)


def test_as_many_classes_as_the_greatest_says():
    compare(lambda x: F.one_hot(x) * 2, torch.tensor([[1, 3], [0, 2]]), others=[(torch.tensor([[7, 0], [1, 1]]),)])


@pytest.mark.parametrize(
    ("draw", "least", "most"),
    [
        (lambda x: x.random_(5, 15), 5, 14),
        (lambda x: x.random_(5, to=15), 5, 14),
        (lambda x: x.random_(**{"from": 5, "to": 15}), 5, 14),
        (lambda x: x.random_(7, None), 7, 2**24),
        (lambda x: x.random_(**{"from": 7, "to": None}), 7, 2**24),
        (lambda x: x.random_(15), 0, 14),
    ],
)
def test_random_integers_from_a_number(draw, least, most):
    """torch writes the name of an argument as Python's word."""
    (numbers,) = flambeau.export(Call(lambda x: draw(x.clone())), (torch.zeros(40, 50),), verbose=False)(torch.zeros(40, 50))
    assert least <= numbers.min() <= least + (most - least) / 50 and most - (most - least) / 50 <= numbers.max() <= most
    torch.testing.assert_close(numbers, numbers.round())


@pytest.mark.parametrize("width", [4, 5, 512])
def test_places_for_features_are_as_many_as_these(width):
    """As models of images and text check; torch's bounds of both numbers are apart where it rounds."""

    def filled(tokens, embedded, features):
        features = features.reshape(-1, width)
        places = (tokens == 5).unsqueeze(-1).expand_as(embedded)
        torch._check(embedded[places].numel() == features.numel(), lambda: f"{features.shape[0]} features do not match")
        return embedded.masked_scatter(places, features)

    def given(batch, length):
        tokens = torch.randint(6, 90, (batch, length))
        tokens[:, 1:6] = 5
        return tokens, torch.randn(batch, length, width), torch.randn(batch, 5, width)

    dynamic = (({0: "batch", 1: "length"}, {0: "batch", 1: "length"}, {0: "batch"}),)
    compare(filled, *given(2, 12), others=[given(3, 17), given(1, 7)], dynamic_shapes=dynamic)


def _unless_given(index):
    size = None
    return torch.zeros(size or int(index.max()) + 1 or 0)


def _if_any(index):
    size = int(index.max()) + 1
    return torch.zeros(size if size else 0)


@pytest.mark.parametrize(
    "function",
    [
        lambda index: torch.bincount(index, minlength=int(index.max()) + 1 or 0),
        _unless_given,
        _if_any,
    ],
)
def test_a_number_of_data_or_0_is_the_number(function):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        compare(function, torch.tensor([0, 2, 2, 1]), others=[(torch.tensor([4, 0, 1]),), (torch.tensor([0, 0]),)], dynamic_shapes=(({0: "n"},),))


@pytest.mark.parametrize("name", ["n or 1", "n if n else 1", "n if n > 0 else 1", "n if n != 0 else 3"])
def test_a_number_of_data_that_is_replaced_where_it_is_0_is_taken_not_to_be(name, tmp_path, monkeypatch):
    (tmp_path / "replaced.py").write_text(f"import torch\n\ndef sized(index):\n    n = int(index.max())\n    return torch.zeros({name})\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "replaced", raising=False)
    sized = importlib.import_module("replaced").sized
    with pytest.warns(flambeau.errors.ConversionWarning, match="assumes that there is something .*replaced.py:5"):
        compare(sized, torch.tensor([0, 2, 2, 1]), others=[(torch.tensor([4, 0, 1]),)], dynamic_shapes=(({0: "n"},),))


@pytest.mark.parametrize("function", [lambda index: index * 2 if int(index.max()) > 0 else index, lambda index: index * (int(index.max()) and 3)])
def test_what_else_a_number_of_data_decides_is_refused(function):
    with pytest.raises(flambeau.errors.CaptureError, match="data-dependent"):
        flambeau.export(Call(function), (torch.tensor([0, 2, 2, 1]),), dynamic_shapes=(({0: "n"},),), capture="export")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * max(int(x.min()), 0),
        lambda x: x * (max(int(x.min()) + 1, 1) - 3),
        lambda x: x * min(-int(x.min()), 0),
        lambda x: torch.zeros(max(int(x.max()) + 1, 1)),
        lambda x: x * (min(int(x.min()), 2 * int(x.min())) // 2),
    ],
)
def test_numbers_of_data_may_be_negative(function):
    compare(function, torch.tensor([0, 2, 2, 1]), others=[(torch.tensor([-4, -2, -1]),), (torch.tensor([0, 0]),), (torch.tensor([3, 4]),)], dynamic_shapes=(({0: "n"},),))


def _filled(x, flag):
    y = x.clone()
    y[flag] = 0.5
    return y, x[flag]


def _divided_where_it_can_be(x, flag):
    y, of = torch.ones_like(x), x - x.floor()
    y[flag] = 1 - x[flag] / of[flag]
    return y


@pytest.mark.parametrize("function", [_filled, _divided_where_it_can_be])
@pytest.mark.parametrize("x", [torch.tensor(2.5), torch.rand(2, 3)], ids=["number", "matrix"])
def test_masks_of_no_dimensions(function, x):
    compare(function, x, torch.tensor(True), others=[(x, torch.tensor(False))])


def _halves_of_kept(x, kept):
    """torch takes halves to hold something, where it was told of the whole that it does."""
    one, other = torch.cat([x[kept], x[kept] + 1]).chunk(2)
    return torch.einsum("mc,mrc->mr", one[:, 0], other)


def test_nothing_in_halves_of_what_data_leaves():
    with pytest.warns(flambeau.errors.ConversionWarning, match="there is something where"):
        compare(
            _halves_of_kept,
            torch.randn(3, 5, 4),
            torch.tensor([True, False, True]),
            others=[(torch.randn(3, 5, 4), torch.tensor([False] * 3))],
        )


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * max(x.max(), x.shape[0]),
        lambda x: x * max(x.shape[0], x.sum()),
        lambda x: x.float() * min(x.float().mean(), x.shape[0] / 2),
        lambda x: x * min([x.min(), x.shape[0]]),
    ],
)
def test_extremes_of_a_number_of_data_and_a_size(function):
    inputs = [torch.tensor(each) for each in ([1, 3, 9], [0, 1, 2, 1, 0], [-4, -5, -6], [8, 7, 6])]
    compare(function, inputs[0], others=[(each,) for each in inputs[1:]], dynamic_shapes={"inputs": ({0: "n"},)})


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * max(x.to(torch.uint8).max(), x.shape[0] * 100),
        lambda x: x * max(x.shape[0], x.sum() * float("nan")),
        lambda x: x * max(x.half().max(), x.shape[0]),
    ],
)
def test_extremes_of_numbers_that_are_not_of_one_kind_are_refused(function):
    model = torch.nn.Module()
    model.forward = function
    with pytest.raises(flambeau.errors.CaptureError, match="data-dependent"):
        flambeau.export(model, (torch.rand(3),), dynamic_shapes=({0: "n"},))


@pytest.mark.parametrize("least", [3, 9])
def test_as_many_classes_as_the_greatest_of_a_tensor_and_a_number(least):
    inputs = torch.tensor([1, 3, 0]), torch.tensor([7, 1, 2, 0])
    compare(lambda x: F.one_hot(x, max(x.max() + 1, least)) * 2, inputs[0], others=[(inputs[1],)], dynamic_shapes={"inputs": ({0: "n"},)})
    compare(lambda x: F.one_hot(x, torch.tensor(-1)) * least, inputs[0], others=[(inputs[1],)], dynamic_shapes={"inputs": ({0: "n"},)})


class Segments(torch.nn.Module):
    """Multiplies parts of the rows, which data decides, by a weight each, as torch_geometric does for each type of nodes."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(3, 4, 2))

    def forward(self, x, ends):
        result = x.new_empty(x.shape[0], 2)
        for i, (start, end) in enumerate(zip(ends[:-1], ends[1:])):
            result[start:end] = x[start:end] @ self.weight[i]
        return result, result[ends[0] : ends[1]]


def test_parts_that_data_decides_are_written_with_gradients():
    model = Segments()
    inputs = torch.rand(6, 4), torch.tensor([0, 2, 3, 6])
    program = flambeau.export(model, inputs, dynamic_shapes=({0: "n"}, None))
    for x, ends in (inputs, (torch.rand(9, 4), torch.tensor([0, 0, 8, 9])), (torch.rand(9, 4), torch.tensor([0, -3, -1, 9]))):
        for one, want in zip(program(x, ends), model(x, ends)):
            torch.testing.assert_close(one, want.detach())


def test_reshapes_of_as_many_groups_as_the_last_one_says():
    def dense(x, group):
        groups, rows = int(group.max()) + 1, int(group.bincount().max())
        place = torch.arange(group.shape[0]) - torch.cat([torch.zeros(1).long(), group.bincount().cumsum(0)[:-1]])[group]
        found = x.new_zeros(groups * rows, 6).index_copy(0, group * rows + place, x).view(groups, rows, 2, 3)
        return found.permute(0, 1, 3, 2).reshape(groups, rows, -1)

    inputs = torch.rand(5, 6), torch.tensor([0, 0, 0, 1, 1])
    others = (torch.rand(4, 6), torch.tensor([0, 1, 2, 3])), (torch.rand(1, 6), torch.tensor([0]))
    compare(dense, *inputs, others=others, dynamic_shapes={"inputs": ({0: "n"}, {0: "n"})})


def _beginnings(mask):
    counts = mask.sum(1)[mask.any(1)]
    begins = torch.zeros_like(counts)
    begins[1:] += counts.cumsum(0)[:-1]
    return begins, counts[1:] - counts[:-1]


@pytest.mark.filterwarnings("error")  # of what might not be so
def test_all_but_the_first_are_as_many_as_all_but_the_last():
    masks = torch.tensor([[0, 1, 1], [0, 0, 0], [1, 0, 0], [1, 1, 1]]) > 0
    compare(_beginnings, masks, others=((masks[:3],), (masks[:2],), (masks[1:2],)), dynamic_shapes=(({0: "rows"},),))
