"""`seed`: random numbers that are the same in each session, other ones in each draw."""

import itertools
import warnings

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import flambeau
from flambeau.errors import ConversionWarning

OPSETS = (7, 9, 15, 20, 22)
DRAWS = {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
N = 600


class Draws(torch.nn.Module):
    """Numbers of several distributions, each twice."""

    def forward(self, x):
        return (
            torch.rand_like(x),
            torch.rand_like(x),
            torch.randn(N),
            torch.randn(N),
            torch.bernoulli(x),
            torch.bernoulli(x),
            torch.nn.functional.dropout(x, 0.5, training=True),
            torch.nn.functional.dropout(x, 0.5, training=True),
        )


class Regions(torch.nn.Module):
    """Two loops of which the bodies are alike, and a branch."""

    def forward(self, x, n: int):
        first, second = torch.zeros_like(x), torch.zeros_like(x)
        for _ in range(n):
            first = torch.rand_like(x)
        for _ in range(n):
            second = torch.rand_like(x)
        if bool(x.sum() > 0):
            third = torch.rand_like(x)
        else:
            third = torch.rand_like(x)
        return first, second, third


def runs(model, process, feeds, times=2):
    """What a session gives, run after run; `process` stands for the seed that onnxruntime takes from the clock."""
    onnxruntime.set_seed(process)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return [session.run(None, feeds) for _ in range(times)]


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes_of(attribute.g)


def seeds_of(model):
    nodes = [node for owner in (model.graph, *model.functions) for node in nodes_of(owner)]
    return [attribute for node in nodes if node.op_type in DRAWS for attribute in node.attribute if attribute.name == "seed"]


def seeds(model):
    return [onnx.helper.get_attribute_value(attribute) for attribute in seeds_of(model)]


def same(a, b):
    return all(np.array_equal(x, y) for run, other in zip(a, b, strict=True) for x, y in zip(run, other, strict=True))


@pytest.mark.parametrize("opset", OPSETS)
def test_sessions_agree_and_draws_differ(opset):
    x = torch.full((N,), 0.5)
    program = flambeau.export(Draws(), (x,), opset_version=opset, seed=3)
    model, feeds = program.model_proto.SerializeToString(), {"x": x.numpy()}
    once, again = runs(model, 1, feeds), runs(model, 2, feeds)
    assert same(once, again)
    for run in once:
        for one, other in zip(run[::2], run[1::2], strict=True):
            assert not np.array_equal(one, other)
        for drawn, mean, std in zip(run[::2], (0.5, 0, 0.5, 0.5), (0.289, 1, 0.5, 0.5), strict=True):
            assert abs(drawn.mean() - mean) < 6 * std / N**0.5
            assert abs(drawn.std() - std) < 0.15 * std
    for first, second in zip(*once, strict=True):
        assert not np.array_equal(first, second)  # a session goes on where its run before ended
    found = seeds(program.model_proto)
    assert len(found) == len(set(found)) >= len(once[0])


def test_without_a_seed_there_is_none():
    x = torch.full((N,), 0.5)
    program = flambeau.export(Draws(), (x,))
    model, feeds = program.model_proto.SerializeToString(), {"x": x.numpy()}
    assert seeds_of(program.model_proto) == []
    assert not same(runs(model, 1, feeds), runs(model, 2, feeds))


def test_other_seeds_give_other_numbers():
    x = torch.full((N,), 0.5)
    drawn = [runs(flambeau.export(Draws(), (x,), seed=seed).model_proto.SerializeToString(), 1, {"x": x.numpy()}, 1)[0] for seed in (0, 1, 2**64 - 1)]
    for one, other in itertools.combinations(drawn, 2):
        assert not any(np.array_equal(a, b) for a in one for b in other)


@pytest.mark.parametrize("opset", [9, 15, 22])
@pytest.mark.parametrize("optimize", [True, False])
def test_bodies_have_their_own(opset, optimize):
    x = torch.ones(50)
    program = flambeau.export(torch.jit.script(Regions()), (x, 3), opset_version=opset, optimize=optimize, seed=11, dynamo=False)
    model = program.model_proto
    feeds = dict(zip((each.name for each in model.graph.input), (x.numpy(), np.array(3)), strict=True))
    once, again = runs(model.SerializeToString(), 1, feeds), runs(model.SerializeToString(), 2, feeds)
    assert same(once, again)
    for one, other in itertools.combinations(once[0], 2):
        assert not np.array_equal(one, other)
    found = seeds(model)
    assert len(found) == len(set(found)) >= 4


def test_functions_of_modules_draw_apart():
    class Noise(torch.nn.Module):
        def forward(self, x):
            return x + torch.rand_like(x)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Noise(), Noise()

        def forward(self, x):
            return self.a(x), self.b(x)

    program = flambeau.export(Net(), (torch.zeros(20),), export_modules_as_functions=True, seed=1)
    model, feeds = program.model_proto.SerializeToString(), {"x": np.zeros(20, np.float32)}
    assert same(runs(model, 1, feeds), runs(model, 2, feeds))
    one, other = runs(model, 1, feeds, 1)[0]
    assert not np.array_equal(one, other)


def test_archives(tmp_path):
    x = torch.full((N,), 0.5)
    torch.export.save(torch.export.export(Draws(), (x,)), tmp_path / "draws.pt2")
    converted = flambeau.convert(tmp_path / "draws.pt2", tmp_path / "draws.onnx", seed=3)
    found = seeds(onnx.load(tmp_path / "draws.onnx"))
    assert found
    assert found == seeds(converted.model_proto) == seeds(flambeau.export(Draws(), (x,), seed=3).model_proto)


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, "3"], ids=str)
def test_seeds_that_are_none(seed, tmp_path):
    with pytest.raises(ValueError, match=r"seed is .*; it must be None or an integer from 0 to 2\*\*64 - 1"):
        flambeau.export(Draws(), (torch.ones(N),), seed=seed)
    with pytest.raises(ValueError, match="seed is"):
        flambeau.convert(tmp_path / "none.pt2", tmp_path / "none.onnx", seed=seed)


def test_integers_of_numpy_are_fine():
    assert seeds(flambeau.export(Draws(), (torch.ones(N),), seed=np.int64(3)).model_proto)


class Seeding(torch.nn.Module):
    """Draws the same numbers in each run, as PyTorch has it."""

    def __init__(self, generator):
        super().__init__()
        self.generator = generator

    def forward(self, x):
        if self.generator:
            return x + torch.randn(x.shape, generator=torch.Generator().manual_seed(3))
        torch.manual_seed(3)
        return x + torch.randn_like(x)


@pytest.mark.parametrize("generator", [False, True])
@pytest.mark.parametrize("capture", ["export", "trace"])
def test_a_seed_of_the_model_is_warned_of(capture, generator):
    line = "Generator" if generator else "torch"
    with pytest.warns(ConversionWarning, match=rf"seeds random numbers \(test_seed\.py:\d+: .*{line}.*manual_seed\(3\)") as warned:
        flambeau.export(Seeding(generator), (torch.ones(2, 4),), dynamic_shapes=({0: "n"},), capture=capture)
    assert len([each for each in warned if "seeds" in str(each.message)]) == 1


class SeedingInVain(torch.nn.Module):
    def forward(self, x):
        torch.manual_seed(3)
        return x + 1


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
def test_a_seed_of_nothing_is_not():
    flambeau.export(SeedingInVain(), (torch.ones(2, 4),))


class Hidden(torch.nn.Module):
    """Asks what is there, so that what is captured is compared with it, from the same seed."""

    def forward(self, x):
        if (x < 0).any():
            x = x.masked_fill(x < 0, 0)
        return x


def test_other_seeds_are_not():
    torch.manual_seed(3)
    own = torch.Generator.manual_seed
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        flambeau.export(Hidden(), (torch.randn(3, 4),), capture="export")
    assert not [each for each in said if "seeds" in str(each.message)]
    assert torch.Generator.manual_seed is own
