"""Compares aliasing.def and the schemas' annotations with what eager PyTorch does.

Each sample is traced to ATen calls, and each call is run: which results share storage with which arguments, and which
arguments change their version.
"""

import collections
import importlib.util
import sys
import types
import unittest
import warnings

import aliasing_table
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

if importlib.util.find_spec("expecttest") is None:
    # PyTorch's samples import it for tests of their own.
    sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase)
op_db = pytest.importorskip("torch.testing._internal.common_methods_invocations").op_db

SAMPLES = 1
LAYOUTS = {
    "contiguous": lambda t: t,
    "transposed": lambda t: t.mT.contiguous().mT if t.dim() >= 2 else t,
    "channels_last": lambda t: t.to(memory_format=torch.channels_last) if t.dim() == 4 else t,
}


def storage(tensor):
    return tensor.untyped_storage()._cdata


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [v for v in value if isinstance(v, torch.Tensor)]
    return []


class Checker(torch.fx.Interpreter):
    """Runs a traced sample and writes down each call that the table gets wrong."""

    def __init__(self, module, faults):
        super().__init__(module)
        self.faults = faults

    def call_function(self, target, args, kwargs):
        if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
            return super().call_function(target, args, kwargs)
        arguments = aliasing_table.arguments_of(target._schema, args, kwargs)
        given = {name: tensors_in(value) for name, value in arguments.items()}
        before = {name: [(t._version, storage(t)) for t in tensors] for name, tensors in given.items()}
        # The rules look at the tensors as they were.
        seen = {name: [t.detach() for t in tensors] for name, tensors in given.items()}
        result = super().call_function(target, args, kwargs)
        self.check_writes(target, arguments, given, before)
        results = [result] if isinstance(result, torch.Tensor) else list(result) if isinstance(result, (tuple, list)) else []
        for index, value in enumerate(results):
            if isinstance(value, torch.Tensor) and value.numel() > 0 and value.layout == torch.strided:
                self.check_alias(target, arguments, seen, before, index, value)
        return result

    def check_writes(self, op, arguments, given, before):
        written = {n for n, tensors in given.items() if any(t._version != v for t, (v, _) in zip(tensors, before[n]))}
        expected = aliasing_table.written_arguments(op, arguments)
        storages = {s for n in expected for _, s in before[n]}
        # A write shows in each view of the storage, and in none if there is nothing to write.
        extra = {n for n in written if not any(s in storages for _, s in before[n])}
        if extra:
            self.faults[str(op)].add(f"writes {sorted(extra)}, the table says {sorted(expected)}")

    def check_alias(self, op, arguments, given, before, index, result):
        rule = aliasing_table.aliased_argument(op, index)
        shared = {n for n, tensors in before.items() if any(s == storage(result) for _, s in tensors)}
        if rule is None:
            if shared:
                self.faults[str(op)].add(f"result {index} shares storage with {sorted(shared)}, the table says it is new")
            return
        name, when = rule
        tensors = given[name]
        if not tensors or any(t.layout != torch.strided for t in tensors):
            return
        position = index if isinstance(arguments[name], (tuple, list)) and index < len(tensors) else 0
        expected = aliasing_table.is_alias(when, arguments, tensors[position], result)
        actual = storage(result) == before[name][position][1]
        if expected is not None and expected != actual:
            self.faults[str(op)].add(f"result {index} of {tuple(tensors[position].shape)} {tensors[position].stride()}: "
                                     f"shares storage with {name}: {actual}, the table says {expected}")
        if not op._schema.is_mutable and isinstance(arguments[name], torch.Tensor) and not tensors[position].is_complex():
            itself = actual and op._schema.name in aliasing_table.SELVES and tensors[position].dim() == result.dim()
            if itself != (result is arguments[name]):
                self.faults[str(op)].add(f"result {index} is {name} itself: {not itself}, the table says {itself}")


def relaid(value, layout):
    if isinstance(value, torch.Tensor):
        return layout(value.detach())
    if isinstance(value, (tuple, list)):
        return type(value)(relaid(v, layout) for v in value)
    return value


def check_sample(function, sample, layout, faults):
    flat = [relaid(v, layout) for v in (sample.input, *sample.args)]
    kwargs = {k: relaid(v, layout) for k, v in sample.kwargs.items()}
    try:
        traced = make_fx(lambda *args: function(*args, **kwargs), pre_dispatch=True)(*flat)
        Checker(traced, faults).run(*flat)
    except (RuntimeError, TypeError, ValueError, NotImplementedError, AttributeError, KeyError):
        return 0  # what cannot be traced, or refuses the layout, cannot be captured either
    return 1


# Operators whose storage is not what the tensor is, or that are slow to sample.
SKIPPED = ("sparse", "nested", "jiterator", "to_sparse", "resize", "linalg.lstsq", "empty")


@pytest.mark.parametrize("part", range(8))
def test_operators(part):
    faults = collections.defaultdict(set)
    checked = 0
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for info in op_db[part::8]:
            if info.name.startswith(SKIPPED) or torch.float32 not in info.supported_dtypes("cpu"):
                continue
            for number, sample in enumerate(info.sample_inputs("cpu", torch.float32)):
                if number == SAMPLES:
                    break
                for function in (info.op, info.inplace_variant):
                    for layout in LAYOUTS.values():
                        if function is not None:
                            checked += check_sample(function, sample, layout, faults)
    assert checked > 100
    assert not faults, "\n".join(f"{op}: {fault}" for op, each in sorted(faults.items()) for fault in each)


CASES = [
    (lambda x: torch.nn.functional.dropout(x, 0.5, training=False), "aten.dropout.default"),
    (lambda x: torch.nn.functional.dropout(x, 0.0, training=True), "aten.dropout.default"),
    (lambda x: torch.nn.functional.dropout(x, 0.5, training=True), "aten.dropout.default"),
    (lambda x: x.to(torch.float32), "aten.to.dtype"),
    (lambda x: x.to(torch.float64), "aten.to.dtype"),
    (lambda x: x.to(torch.float32, copy=True), "aten.to.dtype"),
    (lambda x: x.type_as(x), "aten.type_as.default"),
    (lambda x: torch.batch_norm(x, None, None, torch.zeros(3), torch.ones(3), True, 0.1, 1e-5, False), "aten.batch_norm.default"),
    (lambda x: torch.batch_norm(x, None, None, torch.zeros(3), torch.ones(3), False, 0.1, 1e-5, False), "aten.batch_norm.default"),
    (lambda x: torch.instance_norm(x, None, None, torch.zeros(3), torch.ones(3), True, 0.1, 1e-5, False), "aten.instance_norm.default"),
    (lambda x: torch.einsum("abcd->dcba", x), "aten.einsum.default"),
    (lambda x: x.flatten(1, 1), "aten.flatten.using_ints"),
    (lambda x: x.contiguous(), "aten.contiguous.default"),
    (lambda x: x.positive(), "aten.positive.default"),
    (lambda x: torch.atleast_2d(x), "aten.atleast_2d.default"),
    (lambda x: x.reshape(2, 3, 4, 5), "aten.reshape.default"),
    (lambda x: x.expand(2, 3, 4, 5), "aten.expand.default"),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_rows(case, layout):
    function, op = CASES[case]
    faults = collections.defaultdict(set)
    x = LAYOUTS[layout](torch.randn(2, 3, 4, 5))
    with torch.no_grad():
        traced = make_fx(function, pre_dispatch=True)(x)
        if op == "aten.contiguous.default" and x.is_contiguous():
            return  # torch records nothing
        assert op in {str(node.target) for node in traced.graph.nodes}
        Checker(traced, faults).run(x)
    assert not faults
