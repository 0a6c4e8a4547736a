"""Arguments and results that are no lists, tuples or dicts, and that nobody told torch of."""

import collections
import dataclasses

import pytest
import torch
from torch.utils import _pytree

import flambeau
from flambeau.capture.containers import register_containers

from .checking import leaves, sizes_of


@dataclasses.dataclass
class Batch:
    values: torch.Tensor
    weights: torch.Tensor
    scale: float = 2.0


class Summary:
    def __init__(self, total):
        self.total = total
        self.name = "sum"


class Rows(list):
    pass


@dataclasses.dataclass(frozen=True)
class Result:
    mean: torch.Tensor
    rows: Rows
    summary: Summary
    count: int = 3


class Model(torch.nn.Module):
    def forward(self, batch):
        weighted = batch.values * batch.weights * batch.scale
        return Result(weighted.mean(0), Rows([weighted + 1, weighted - 1]), Summary(weighted.sum()))


def batch(rows):
    return Batch(torch.randn(rows, 4), torch.randn(rows, 1))


@pytest.mark.parametrize("capture", ["export", "trace"])
def test_classes_of_the_model(capture):
    model, first, second = Model(), batch(3), batch(5)
    program = flambeau.export(model, (first,), dynamic_shapes={"batch": [{0: "rows"}, {0: "rows"}]}, capture=capture)
    assert [sizes[0] for sizes in sizes_of(program.model_proto.graph.input)] == ["rows", "rows"]
    for each in (first, second):
        expected = model(each)
        actual = program(each)
        for ours, theirs in zip(actual, [expected.mean, *expected.rows, expected.summary.total], strict=True):
            torch.testing.assert_close(ours, theirs)


def test_sizes_among_the_results():
    class Sizes(torch.nn.Module):
        def forward(self, x):
            return x.nonzero().shape[0], x * 2, {"rows": x.shape[0]}

    program = flambeau.export(Sizes(), (torch.ones(3, 4),), dynamic_shapes=({0: "rows"},))
    count, doubled, rows = program(torch.eye(5, 4))
    assert (int(count), tuple(doubled.shape), int(rows)) == (4, (5, 4), 5)


def of_each_leaf(spec, shape):
    """Nested as the structure, whoever registered its classes first: other code in the process may have another layout."""
    return shape if spec.is_leaf() else [of_each_leaf(child, shape) for child in spec.children()]


@pytest.mark.parametrize("capture", ["export", "trace"])
def test_a_decoder_that_takes_and_gives_its_cache(capture):
    transformers = pytest.importorskip("transformers")
    sizes = dict(vocab_size=64, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=32)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).eval()

    def step(batch, length, past):
        cache = transformers.DynamicCache(config=model.config)
        for layer in range(2):
            cache.update(torch.randn(batch, 2, past, 8), torch.randn(batch, 2, past, 8), layer)
        ids = torch.randint(1, 60, (batch, length))
        return {"input_ids": ids, "attention_mask": torch.ones(batch, length + past, dtype=torch.int64), "past_key_values": cache}

    first, second = step(2, 3, 5), step(3, 2, 7)
    register_containers(first)
    cache = of_each_leaf(_pytree.tree_structure(first["past_key_values"]), {0: "batch", 2: "past"})
    shapes = {"input_ids": {0: "batch", 1: "length"}, "attention_mask": {0: "batch", 1: "all"}, "past_key_values": cache}
    program = flambeau.export(model, kwargs=first, dynamic_shapes=shapes, capture=capture)
    for each in (first, second):
        actual = program(**each)  # before the model's own run, which appends to the cache
        with torch.no_grad():
            expected = leaves(model(**each))
        assert len(actual) == len(expected) == 5
        for ours, theirs in zip(actual, expected):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


class Encoded(collections.OrderedDict):
    """A mapping that its library registers."""


_pytree.register_pytree_node(
    Encoded,
    lambda each: (list(each.values()), list(each)),
    lambda values, keys: Encoded(zip(keys, values)),
    flatten_with_keys_fn=lambda each: ([(_pytree.MappingKey(key), value) for key, value in each.items()], list(each)),
)


@pytest.mark.parametrize("shapes", [{"states": {0: "n"}}, [{0: "n"}, None]])
def test_dynamic_shapes_of_a_registered_mapping(shapes):
    class Reads(torch.nn.Module):
        def forward(self, x, encoded):
            return x + encoded["states"], encoded["mask"]

    args = torch.ones(3, 4), Encoded(states=torch.ones(3, 4), mask=torch.ones(2))
    program = flambeau.export(Reads(), args, dynamic_shapes=({0: "n"}, shapes))
    assert sizes_of(program.model_proto.graph.input) == [["n", 4], ["n", 4], [2]]
    names = {"input_names": ["x", "states", "mask"]}
    for words in ({"dynamic_axes": {"x": {0: "n"}, "states": {0: "n"}}}, {"dynamic_shapes": {"x": {0: "n"}, "states": {0: "n"}}}):
        program = flambeau.export(Reads(), args, **words, **names)
        assert sizes_of(program.model_proto.graph.input) == [["n", 4], ["n", 4], [2]]
    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it at 3"):
        flambeau.export(Reads(), args, dynamic_shapes={"x": {0: "n"}})


@pytest.fixture
def transformers(monkeypatch):
    """The library, whose caches no one in this process has given a layout."""
    library = pytest.importorskip("transformers")
    name = f"{library.DynamicCache.__module__}.{library.DynamicCache.__qualname__}"
    for registry, key in (
        (_pytree.SUPPORTED_NODES, library.DynamicCache),
        (_pytree.SUPPORTED_SERIALIZED_TYPES, library.DynamicCache),
        (_pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE, name),
    ):
        monkeypatch.delitem(registry, key, raising=False)
    return library


def test_a_cache_that_keeps_a_window(transformers):
    sizes = dict(vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2, intermediate_size=24)
    model = transformers.MistralForCausalLM(transformers.MistralConfig(**sizes, sliding_window=8)).eval()

    def step(batch, length, past):
        cache = transformers.DynamicCache(config=model.config)
        cache.update(torch.randn(batch, 2, past, 8), torch.randn(batch, 2, past, 8), 0)
        ids = torch.randint(1, 60, (batch, length))
        return {"input_ids": ids, "attention_mask": torch.ones(batch, length + past, dtype=torch.int64), "past_key_values": cache}

    first = step(2, 2, 3)
    register_containers(first)
    theirs = _pytree.SUPPORTED_NODES[transformers.DynamicCache]
    cache = of_each_leaf(_pytree.tree_structure(first["past_key_values"]), {0: "batch", 2: "past"})
    shapes = {"input_ids": {0: "batch", 1: "length"}, "attention_mask": {0: "batch", 1: "all"}, "past_key_values": cache}
    with pytest.warns(flambeau.errors.ConversionWarning, match="layer 0 of the cache keeps a window"):
        program = flambeau.export(model, kwargs=first, dynamic_shapes=shapes)
    assert _pytree.SUPPORTED_NODES[transformers.DynamicCache] is theirs
    for each in (first, step(3, 4, 6), step(1, 1, 0)):
        actual = program(**each)
        with torch.no_grad():
            expected = leaves(model(**each))
        assert len(actual) == len(expected) == 3
        for ours, theirs in zip(actual, expected):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    with pytest.raises(flambeau.errors.CaptureError, match="layer 0 of the cache has seen 9 tokens and holds 7"):
        program(**step(2, 1, 9))
    grown = transformers.DynamicCache()
    grown.update(torch.randn(2, 2, 3, 8), torch.randn(2, 2, 3, 8), 0)
    with pytest.raises(TypeError, match=r"past_key_values=DynamicCache\(\[\*\], \[\*\]\)\) are nested as the captured ones, but"):
        program(**{**step(2, 2, 3), "past_key_values": grown})


def test_sizes_and_numbers_hold_no_tensors():
    class Numbers(torch.nn.Module):
        def forward(self, x):
            return x.sum().item(), x.shape[0]

    program = flambeau.export(Numbers(), (torch.ones(3),), dynamic_shapes=({0: "n"},))
    total, count = program(torch.ones(5))
    assert float(total) == 5 and int(count) == 5
