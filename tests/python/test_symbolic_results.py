"""What symbolic functions give for operators of several results."""

import pytest
import torch
from registering import CAPTURES, Call, registered

import flambeau
from flambeau.onnx import symbolic_helper

X = torch.tensor([[0.5, -1.0, 2.0, 3.0], [1.5, 0.0, -0.25, 4.0]])


def check(function, args=(X,), **options):
    """The operators of the exported model, whose numbers are PyTorch's."""
    model = function if isinstance(function, (torch.nn.Module, torch.jit.ScriptFunction)) else Call(function)
    program = flambeau.export(model, args, **options)
    expected = torch.utils._pytree.tree_leaves(model(*args))
    for ours, theirs in zip(program(*args), expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    return [node.op_type for node in program.model_proto.graph.node]


# --- lists that are unpacked ----------------------------------------------------------------


def split(given):
    @symbolic_helper.parse_args("v", "i", "i", "i")
    def symbolic(g, x, size, dim, _outputs=None):
        given.append(_outputs)
        count = x.type().sizes()[dim] // size
        return list(g.op("Split", x, axis_i=dim, split_i=[size] * count, outputs=count))

    return symbolic


def unpacked(x: torch.Tensor) -> torch.Tensor:
    a, b = x.split(2, 1)
    return a * b


def kept(x: torch.Tensor) -> torch.Tensor:
    parts = x.split(2, 1)
    return torch.cat(parts) + len(parts)


@CAPTURES
def test_they_get_the_number_of_elements(dynamo):
    given = []
    with registered("aten::split", split(given)):
        assert check(unpacked, opset_version=11, dynamo=dynamo) == ["Split", "Mul"]
    assert given and set(given) == {2}


def test_they_get_it_in_scripts_where_the_list_is_unpacked():
    given = []
    with registered("aten::split", split(given)):
        assert check(torch.jit.script(unpacked), opset_version=11) == ["Split", "Mul"]
        assert set(given) == {2}
        given.clear()
        check(torch.jit.script(kept), opset_version=11)
        assert set(given) == {None}


@CAPTURES
def test_who_does_not_take_it_does_not_get_it(dynamo):
    with registered("aten::unbind", lambda g, x, dim: [g.op("Gather", x, torch.tensor(i), axis_i=0) for i in range(2)]):
        assert check(lambda x: x.unbind()[0] + x.unbind()[1], dynamo=dynamo).count("Gather") == 2


parts = torch.library.custom_op(
    "flambeau_results::parts", lambda x: [x[0] * 1, x[1] * 1], mutates_args=(), schema="(Tensor x) -> Tensor[]"
)
parts.register_fake(lambda x: [torch.empty_like(x[0]), torch.empty_like(x[1])])


@CAPTURES
def test_functions_of_any_arguments(dynamo):
    given = []

    def of_own(g, x, **kwargs):
        given.append(kwargs)
        return [g.op("Gather", x, torch.tensor(i), axis_i=0) for i in range(2)]

    with registered("flambeau_results::parts", of_own):
        assert check(lambda x: parts(x)[0] + parts(x)[1], dynamo=dynamo).count("Gather") == 2
    assert given and not any(given)
    with registered("aten::unbind", lambda g, *args, **kwargs: given.append(kwargs) or of_own(g, args[0])):
        check(lambda x: x.unbind()[0] + x.unbind()[1], dynamo=dynamo)
    assert {"_outputs": 2} in given


class Unrolled(torch.nn.Module):
    """Of whose loop a script is tried."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = x.split(2, 1)
        rows = []
        for i in range(x.shape[0]):
            if i % 2 == 0:
                rows.append(a[i] + b[i] * i)
        return torch.stack(rows)


def test_the_export_that_a_script_could_not_replace_has_the_number_too():
    given = []

    def refuses_at_first(g, x, size, dim, _outputs=None):
        given.append(_outputs)
        if len(given) == 1:
            raise ValueError("not yet")
        return list(g.op("Split", x, torch.tensor([2, 2]), axis_i=1, outputs=2))

    with registered("aten::split", refuses_at_first):
        program = flambeau.export(Unrolled(), (X,), dynamic_shapes=({0: "n"},), verbose=False)
    torch.testing.assert_close(program(X)[0], Unrolled()(X))
    assert len(given) > 1 and set(given) == {2}


@CAPTURES
def test_torchs_functions_work_as_registered(dynamo):
    with registered("aten::split", torch.onnx.symbolic_opset9.split):
        assert check(lambda x: x.split(1, 1)[3] * 2, opset_version=11, dynamo=dynamo)[-1] == "Mul"


# --- results that ONNX does not have ----------------------------------------------------------


def only(index):
    def symbolic(g, x, dim, keepdim):
        if index:
            return None, g.op("ArgMax", x, axis_i=1, keepdims_i=0)
        return g.op("ReduceMax", x, torch.tensor([1]), keepdims_i=0), None

    return symbolic


def script(function):
    return torch.jit.script(function)


def largest(x: torch.Tensor) -> torch.Tensor:
    return x.max(1)[0] + 1


def place_of_largest(x: torch.Tensor) -> torch.Tensor:
    return x.max(1)[1] + 1


FORMS = [(Call, {"dynamo": True}), (Call, {"dynamo": False}), (script, {})]


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(("form", "options"), FORMS, ids=["export", "trace", "script"])
def test_what_nobody_reads_may_be_missing(index, form, options):
    wanted, other = (largest, place_of_largest)[:: -1 if index else 1]
    with registered("aten::max", only(index), 18):
        assert check(form(wanted), optimize=False, **options)[0] == ("ReduceMax", "ArgMax")[index]
        with pytest.raises(flambeau.errors.UnsupportedOperatorError, match=f"result {1 - index} is not produced|must be a tensor"):
            flambeau.export(form(other), (X,), **options)


def test_it_may_be_missing_of_autograd_functions():
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x + 1, x.sum(1)

        @staticmethod
        def symbolic(g, x):
            return g.op("Add", x, torch.tensor(1.0)), None

    assert check(lambda x: Function.apply(x)[0], dynamo=False) == ["Add"]


@CAPTURES
def test_more_results_than_the_operator_has_are_an_error(dynamo):
    with registered("aten::relu", lambda g, x: (g.op("Relu", x), g.op("Neg", x))):
        with pytest.raises(flambeau.errors.OnnxExporterError, match="of aten::relu returned 2 values, and the operator has 1"):
            flambeau.export(Call(torch.relu), (X,), dynamo=dynamo)
    with registered("aten::split", lambda g, x, size, dim: g.op("Split", x, axis_i=0, num_outputs_i=2, outputs=2)):
        flambeau.export(Call(lambda x: x.split(1)[1]), (X,), dynamo=dynamo)
