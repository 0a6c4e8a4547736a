"""Models that compute gradients in ``forward``, compared at other sizes than the example's."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import flambeau

from .checking import compare, convert, leaves


class Forces(nn.Module):
    """An energy of atoms in pairs, and its gradient by their places, as force fields compute them."""

    def __init__(self):
        super().__init__()
        self.kinds = nn.Embedding(5, 8)
        self.of_pair = nn.Sequential(nn.Linear(9, 16), nn.SiLU(), nn.Linear(16, 8), nn.Tanh())
        self.of_atom = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.Softplus(), nn.Linear(8, 1))

    def forward(self, places, kinds, pairs):
        with torch.enable_grad():
            places = places.clone().requires_grad_(True)
            first, second = pairs
            apart = (places[second] - places[first]).norm(dim=-1, keepdim=True)
            message = self.of_pair(torch.cat([self.kinds(kinds)[second], torch.exp(-apart)], -1))
            gathered = torch.zeros(places.shape[0], 8).index_add(0, first, message)
            energy = self.of_atom(gathered).sum()
            (gradient,) = torch.autograd.grad(energy, places, create_graph=self.training)
        return energy, -gradient


def atoms(count, pairs):
    generator = torch.Generator().manual_seed(count)
    first = torch.randint(0, count, (pairs,), generator=generator)
    second = (first + torch.randint(1, count, (pairs,), generator=generator)) % count
    return torch.rand(count, 3, generator=generator) * 4, torch.randint(0, 5, (count,), generator=generator), torch.stack([first, second])


def quiet(model, args, dynamic_shapes, opset=18):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        return convert(model, args, dynamic_shapes, opset)


@pytest.mark.parametrize("opset", [11, 18, 26])
def test_forces(opset):
    model = Forces().eval()
    program = quiet(model, atoms(4, 6), ({0: "atoms"}, {0: "atoms"}, {1: "pairs"}), opset)
    compare(program, model, atoms(4, 6), atoms(7, 11), atoms(2, 1))
    assert program.capture_strategy == "non-strict, below autograd"
    assert "forward" not in vars(model)


class Sensitivity(nn.Module):
    """What a class of an image hangs on."""

    def __init__(self, groups, **options):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(4, 8, 3, groups=groups, **options), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.ConvTranspose2d(8, 4, 3, 2), nn.GELU()
        )
        self.classes = nn.Linear(4, 3)

    def forward(self, image):
        with torch.enable_grad():
            image = image.detach().requires_grad_()
            scores = self.classes(self.features(image).mean((-1, -2)))
            return torch.autograd.grad(scores.amax(1).sum(), image)[0]


@pytest.mark.parametrize(("groups", "options"), [(1, {}), (2, {"stride": 2, "padding": 1}), (1, {"stride": 3, "padding": 2, "dilation": 2})], ids=str)
def test_gradients_of_convolutions(groups, options):
    model = Sensitivity(groups, **options).eval()
    program = quiet(model, (torch.rand(2, 4, 17, 19),), ({0: "batch", 2: "height", 3: "width"},))
    compare(program, model, (torch.rand(2, 4, 17, 19),), (torch.rand(3, 4, 20, 18),))


@pytest.mark.parametrize(
    "options",
    [{}, {"padding": 1}, {"padding": 1, "count_include_pad": False}, {"ceil_mode": True, "count_include_pad": False}, {"divisor_override": 3}],
    ids=str,
)
def test_gradients_of_average_pools(options):
    class Pool(nn.Module):
        def forward(self, x):
            return torch.func.grad(lambda x: F.avg_pool2d(x, (3, 2), (2, 1), **options).square().sum())(x)

    program = quiet(Pool(), (torch.rand(2, 3, 7, 8),), ({0: "batch", 2: "height", 3: "width"},))
    compare(program, Pool(), (torch.rand(2, 3, 7, 8),), (torch.rand(1, 3, 10, 5),))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("rank", [1, 2])
def test_gradients_of_the_multilabel_loss_count_targets_before_the_first_that_is_none(reduction, rank):
    class Slope(nn.Module):
        def forward(self, x, labels):
            x, labels = (x, labels) if rank == 2 else (x[0], labels[0])
            return torch.func.grad(lambda x: F.multilabel_margin_loss(x, labels, reduction=reduction).square().sum())(x)

    labels = torch.tensor([[1, 0, -1, 2], [3, -1, 0, 0], [0, 1, 2, 3], [2, 2, -1, 1], [-1, 0, 0, 0]])
    program = quiet(Slope(), (torch.randn(5, 4), labels), ({0: "n"}, {0: "n"}))
    compare(program, Slope(), (torch.randn(5, 4), labels), (torch.randn(3, 4), labels[:3]))


class Weights(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        with torch.enable_grad():
            return torch.autograd.grad(self.layer(x).tanh().sum(), list(self.layer.parameters()))


@pytest.mark.parametrize("layer", [nn.Conv2d(3, 4, 3, 2, 1), nn.Conv1d(3, 2, 2, dilation=3), nn.ConvTranspose2d(3, 4, (2, 3), 2, 1, dilation=2)], ids=str)
def test_gradients_by_weights_of_convolutions(layer):
    sizes = (9, 11)[: layer.weight.dim() - 2]
    program = quiet(Weights(layer), (torch.rand(2, 3, *sizes),), ({0: "batch"},))
    compare(program, Weights(layer), (torch.rand(2, 3, *sizes),), (torch.rand(4, 3, *sizes),))


class Attended(nn.Module):
    """The gradient by an input that asks for it, through attention, by weights as well."""

    def __init__(self):
        super().__init__()
        self.attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, x):
        with torch.enable_grad():
            loss = self.attention(x).square().mean()
            return torch.autograd.grad(loss, [x, self.attention.linear1.weight, self.attention.norm1.bias])


def test_gradients_through_attention():
    model = Attended().eval()
    x = torch.rand(2, 5, 8, requires_grad=True)
    program = quiet(model, (x,), ({0: "batch", 1: "time"},))
    compare(program, model, (x,), (torch.rand(3, 7, 8, requires_grad=True),))


class Sequence(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer(4, 5, batch_first=True, bidirectional=True)

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(self.layer(x)[0].square().sum(), x)[0]


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_gradients_through_recurrent_layers(layer):
    model = Sequence(layer).eval()
    program = quiet(model, (torch.rand(2, 3, 4),), ({0: "batch"},))
    compare(program, model, (torch.rand(2, 3, 4),), (torch.rand(5, 3, 4),))
    assert "LSTM" in [node.op_type for node in flambeau.export(nn.LSTM(4, 5), (torch.rand(3, 2, 4),)).model_proto.graph.node]


class Learnt(nn.Module):
    """Weights that are fitted in ``forward``, and the gradient of a virtual displacement."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(3, 3))

    def forward(self, x, y):
        with torch.enable_grad():
            weight, strain = self.weight, torch.zeros(3, 3, requires_grad=True)
            for _ in range(2):
                (step,) = torch.autograd.grad(F.mse_loss(x @ weight, y), weight, create_graph=True)
                weight = weight - 0.1 * step
            moved = x + x @ (strain + strain.T)
            apart = (moved[:, None] - moved[None] + torch.eye(x.shape[0])[..., None]).norm(dim=-1, keepdim=True)
            return weight, torch.autograd.grad([(apart.tanh() @ weight[:1]).sum()], [strain, self.weight])


def test_gradients_of_gradients():
    model = Learnt()
    program = quiet(model, (torch.rand(4, 3), torch.rand(4, 3)), ({0: "n"}, {0: "n"}))
    compare(program, model, (torch.rand(4, 3), torch.rand(4, 3)), (torch.rand(6, 3), torch.rand(6, 3)))


def energy(x):
    return (x.sin() * F.softplus(x.flip(0)) * x.square().sum()).sum()


FUNCTIONS = {
    "grad": torch.func.grad(energy),
    "grad_and_value": torch.func.grad_and_value(energy),
    "vjp": lambda x: torch.func.vjp(torch.tanh, x)[1](x)[0],
    "vjp of ones": lambda x: torch.func.vjp(lambda x: x.sin() * x, x)[1](torch.ones_like(x))[0],
    "jvp": lambda x: torch.func.jvp(energy, (x,), (torch.ones_like(x),))[1],
    "jvp of composites": lambda x: torch.func.jvp(lambda x: F.linear(x.square(), torch.ones(3, 4)).softmax(-1), (x,), (x.cos(),)),
    "jacrev": torch.func.jacrev(lambda x: x.tanh() * x.sum()),
    "jacfwd": torch.func.jacfwd(lambda x: x.sigmoid() * x.sum()),
    "hessian": torch.func.hessian(energy),
    "gradients_of_rows": torch.func.vmap(torch.func.grad(lambda x: x.exp().sum())),
    **{f"distances by {p}": torch.func.grad(lambda x, p=p: torch.cdist(x[:, None], x[:, None] * 2, p).sin().sum()) for p in (0.0, 0.5, 1.0, 2.0, 3.0, math.inf)},
    "autograd": lambda x: torch.autograd.functional.jacobian(torch.tanh, x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_torch_func(name):
    class Model(nn.Module):
        def forward(self, x):
            return FUNCTIONS[name](x)

    x = torch.rand(3, 2) if name == "gradients_of_rows" else torch.rand(4)
    program = convert(Model(), (x,))
    compare(program, Model(), (x,), (x + 1,))
    assert torch._C._functorch.peek_interpreter_stack() is None


@pytest.mark.parametrize("name", ["grad", "vjp", "vjp of ones", "gradients_of_rows", "jvp"])
def test_functions_of_torch_func_over_a_dynamic_size(name):
    class Model(nn.Module):
        def forward(self, x):
            return FUNCTIONS[name](x)

    def x(rows):
        return torch.rand(rows, 2) if name == "gradients_of_rows" else torch.rand(rows)

    compare(quiet(Model(), (x(4),), ({0: "n"},)), Model(), (x(4),), (x(7),))


def test_a_trace_says_what_has_gradients():
    with pytest.raises(flambeau.errors.CaptureError, match="torch.export has them"):
        flambeau.export(Forces(), atoms(4, 6), capture="trace")


def test_a_program_of_what_nobody_recorded_is_refused():
    class Model(nn.Module):
        def forward(self, x):
            return FUNCTIONS["vjp of ones"](x)

    exported = torch.export.export(Model(), (torch.rand(4),), dynamic_shapes=({0: torch.export.Dim("n")},))
    with pytest.raises(flambeau.errors.CaptureError, match="is left of a derivative by torch.func.*pass the module"):
        flambeau.export(exported)


@pytest.mark.parametrize(
    "function",
    [
        lambda y: y.gather(1, torch.zeros(3, 1, dtype=torch.long)) * y,
        lambda y: y.sort(0)[0] * torch.arange(3)[:, None],
        lambda y: nn.functional.embedding(torch.tensor([0, 1, 0]), y) ** 2,
        nn.functional.gelu,
    ],
    ids=["gather", "sort", "embedding", "gelu"],
)
def test_gradients_in_a_program_are_written_out(function):
    """Those of operators that are made of others, and of others again."""

    class Gradient(nn.Module):
        def forward(self, x):
            with torch.enable_grad():
                y = x.detach().clone().requires_grad_(True)
                return torch.autograd.grad(function(y).sum(), y, create_graph=True)[0]

    x = torch.randn(3, 4)
    program = flambeau.export(torch.export.export(Gradient(), (x,)))
    torch.testing.assert_close(program(x)[0], Gradient()(x).detach(), rtol=1e-4, atol=1e-5)


def test_an_archive_of_gradients_says_what_writes_them_out(tmp_path):
    class Gradient(nn.Module):
        def forward(self, x):
            with torch.enable_grad():
                y = x.detach().clone().requires_grad_(True)
                return torch.autograd.grad(nn.functional.gelu(y).sum(), y, create_graph=True)[0]

    torch.export.save(torch.export.export(Gradient(), (torch.randn(3),)), tmp_path / "model.pt2")
    with pytest.raises(flambeau.errors.UnsupportedOperatorError, match=r"run_decompositions\(\)"):
        flambeau.export(tmp_path / "model.pt2")


class Residual(nn.Module):
    """Of a differential equation, as nets that are taught physics compute it: in whatever mode they are called."""

    def __init__(self):
        super().__init__()
        self.field = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 1))

    def forward(self, at):
        at = at.clone().requires_grad_()
        field = self.field(at).relu()
        slope = torch.autograd.grad(field, at, torch.ones_like(field), create_graph=True)[0]
        return field, slope, torch.autograd.grad(slope[:, 0].sum(), at)[0]


class Step(nn.Module):
    """A layer that is adapted to what it is given."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        steps = torch.autograd.grad(self.layer(x).sigmoid().square().mean(), list(self.layer.parameters()))
        return F.linear(x, *(weight - step for weight, step in zip(self.layer.parameters(), steps)))


@pytest.mark.parametrize("kind", [Residual, Step])
def test_gradients_in_the_mode_of_the_caller(kind):
    model = kind().eval()
    program = quiet(model, (torch.randn(5, 2),), ({0: "n"},))
    for count in (5, 3):
        at = torch.randn(count, 2)
        for actual, expected in zip(program(at), leaves(model(at)), strict=True):
            torch.testing.assert_close(actual, expected.detach(), rtol=1e-4, atol=1e-5)
    flambeau.verify(program, (torch.randn(4, 2),), reference=model)
    with torch.no_grad(), pytest.raises(flambeau.errors.CaptureError, match="does not run on these arguments"):
        flambeau.export(model, (torch.randn(5, 2),))


class OfALoss(nn.Module):
    def __init__(self, reduction, beta):
        super().__init__()
        self.reduction, self.beta = reduction, beta

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            loss = F.smooth_l1_loss(x, torch.ones_like(x), reduction=self.reduction, beta=self.beta)
            return torch.autograd.grad((loss * torch.arange(1.0, 1.0 + loss.numel())).sum(), x)[0]


@pytest.mark.parametrize(("reduction", "beta"), [("none", 1.0), ("mean", 0.5), ("sum", 2.0)])
def test_gradients_of_a_smooth_loss_at_nan(reduction, beta):
    """PyTorch's kernel gives NaN, where its decomposition gives 0."""
    model, x = OfALoss(reduction, beta), torch.tensor([math.nan, 0.9, 1.0, 1.5, 2.0, 4.0, -4.0, math.inf])
    torch.testing.assert_close(quiet(model, (x,), None)(x)[0], model(x), equal_nan=True)
