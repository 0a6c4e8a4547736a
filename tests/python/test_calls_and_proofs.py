"""Arguments by position and by name become the values of a model's inputs: in calls, and in proofs."""

import math
import random
import typing

import pytest
import sympy
import torch
from torch.utils._sympy.functions import (
    CeilToInt,
    FloatPow,
    FloatTrueDiv,
    FloorDiv,
    FloorToInt,
    IntTrueDiv,
    Max,
    Min,
    Mod,
    OpaqueUnaryFn_sqrt,
    PythonMod,
    ToFloat,
    TruncToInt,
)

import flambeau
from flambeau.verification.archives import verify_archive
from flambeau.archived import ArchivedProgram
from flambeau.capture.sizes.proofs import as_integers, at, divided, even_quotient, holds, rounded, simplified, zeros
from flambeau.errors import VerificationError

X = torch.arange(6.0).reshape(2, 3)
CAPTURES = {"export": {}, "trace": {"capture": "trace"}, "torchscript": {"dynamo": False}}


class Pair(typing.NamedTuple):
    low: torch.Tensor
    high: torch.Tensor


class Q(torch.nn.Module):
    def forward(self, a, b):
        return a - 2 * b


class Named(torch.nn.Module):
    def forward(self, a, *, b, c):
        return a - 2 * b + 3 * c


class OfDict(torch.nn.Module):
    def forward(self, entries):
        return entries["x"] - 2 * entries["y"]


class Rest(torch.nn.Module):
    def forward(self, *several, **named):
        return several[0] - 2 * several[1] + 3 * named["p"] - 5 * named["q"]


class Mixed(torch.nn.Module):
    def forward(self, a, flag: bool, b, unused, none=None):
        return a - 2 * b if flag else a + b


def captures():
    return pytest.mark.parametrize("options", CAPTURES.values(), ids=CAPTURES)


def agrees(program, expected, *args, **kwargs):
    torch.testing.assert_close(program(*args, **kwargs)[0], expected)
    torch.testing.assert_close(program.call_reference(*args, **kwargs)[0], expected)
    (output,) = program.outputs
    torch.testing.assert_close(program.compute_values([output.name], args, kwargs)[0], expected)


@captures()
@pytest.mark.parametrize("example", [((X, X), {}), ((), {"b": X, "a": X}), ((X,), {"b": X})], ids=["positional", "named", "both"])
def test_arguments_by_name(example, options):
    program = flambeau.export(Q(), example[0], kwargs=example[1] or None, **options)
    expected = X + 1 - 2 * X
    agrees(program, expected, b=X, a=X + 1)
    agrees(program, expected, a=X + 1, b=X)
    agrees(program, expected, X + 1, b=X)
    agrees(program, expected, X + 1, X)
    for args, kwargs in [((X,), {"zz": X}), ((X,), {"a": X}), ((X,), {}), ((X, X, X), {}), ((X, X), {"zz": 1})]:
        with pytest.raises(TypeError):
            program(*args, **kwargs)


@pytest.mark.parametrize("options", [{"capture": "trace"}, {"dynamo": False}])
def test_a_last_dict_of_names_as_exports_take_it(options):
    args = X + 1, {"b": X}
    program = flambeau.export(Q(), args, **options)
    agrees(program, X + 1 - 2 * X, *args)


class OfPair(torch.nn.Module):
    def forward(self, pair, b):
        return pair.low - 2 * pair.high + 3 * b


@pytest.mark.parametrize("options", [{"capture": "trace"}, {"dynamo": False}])
def test_named_tuples(options):
    program = flambeau.export(OfPair(), (Pair(X, X), X), verify=True, **options)
    agrees(program, X + 1 - 2 * X + 3 * (X + 2), b=X + 2, pair=Pair(X + 1, X))
    agrees(program, X + 1 - 2 * X + 3 * (X + 2), X + 1, X, X + 2)


@captures()
def test_keywords_only(options):
    program = flambeau.export(Named(), (X,), kwargs={"c": X, "b": X}, **options)
    agrees(program, X - 2 * (X + 1) + 3 * (X + 2), X, b=X + 1, c=X + 2)
    agrees(program, X - 2 * (X + 1) + 3 * (X + 2), c=X + 2, b=X + 1, a=X)


@captures()
def test_entries_of_dicts_by_key(options):
    program = flambeau.export(OfDict(), ({"y": X, "x": X},), kwargs={}, **options)
    agrees(program, X + 1 - 2 * X, {"x": X + 1, "y": X})
    agrees(program, X + 1 - 2 * X, entries={"x": X + 1, "y": X})
    with pytest.raises(TypeError):
        program({"x": X, "z": X})


@captures()
def test_arguments_without_names_of_their_own(options):
    program = flambeau.export(Rest(), (X, X), kwargs={"q": X, "p": X}, **options)
    agrees(program, X - 2 * (X + 1) + 3 * (X + 2) - 5 * (X + 3), X, X + 1, p=X + 2, q=X + 3)


@captures()
def test_constants_are_left_out(options):
    program = flambeau.export(Mixed(), (X, True, X, X), **options)
    expected = X - 2 * (X + 1)
    agrees(program, expected, X, True, X + 1, X)
    agrees(program, expected, unused=X, b=X + 1, flag=True, a=X)
    agrees(program, expected, *([X, X + 1] if len(program.inputs) == 2 else [X, X + 1, X]))
    if options:
        agrees(program, expected, X, True, X + 1, X, None)
        with pytest.raises(TypeError, match="without the argument 'none'"):
            program(X, True, X + 1, X, X)


class Chosen(torch.nn.Module):
    def forward(self, a, how="minus", *, b, none=None, table={"x": "once"}):  # noqa: B006
        return (a - b if how == "minus" else a + b) * (1 if table["x"] == "once" else 2)


@pytest.mark.parametrize("made", ["live", "program", "loaded"])
@captures()
def test_constants_need_not_be_given(options, made, recwarn, tmp_path):
    given = {"b": X + 1, "none": None, "table": {"x": "twice"}}
    if made == "live":
        program = flambeau.export(Chosen(), (X, "minus"), kwargs=given, **options)
    else:
        captured = torch.export.export(Chosen(), (X, "minus"), given)
        torch.export.save(captured, tmp_path / "model.pt2")
        program = flambeau.export(captured if made == "program" else torch.export.load(tmp_path / "model.pt2"))
    agrees(program, 2 * X - 2 * (X + 1), X, b=X + 1)
    agrees(program, 2 * X - 2 * (X + 1), b=X + 1, a=X, none=None)
    with pytest.raises(TypeError):
        program(b=X)
    assert not [each for each in recwarn if "is not looked at" in str(each.message)]


@captures()
def test_defaults_that_are_not_the_constants_are_told(options):
    program = flambeau.export(Chosen(), (X, "plus"), kwargs={"b": X}, **options)
    with pytest.warns(flambeau.errors.ConversionWarning, match="'how' is 'plus' in this model, as it was captured; 'minus' is not looked at"):
        program(X, b=X)


@pytest.mark.parametrize("options", [{}, {"dynamo": False}])
@pytest.mark.parametrize("make", [torch.jit.script, lambda model: torch.jit.trace(model, (X, X))], ids=["script", "trace"])
def test_scripts_by_name(make, options, tmp_path):
    script = make(Q())
    program = flambeau.export(script, (), kwargs={"b": X, "a": X}, **options)
    agrees(program, X + 1 - 2 * X, b=X, a=X + 1)
    with pytest.raises(TypeError, match="zz"):
        program(X, zz=X)
    with pytest.raises(TypeError, match="zz"):
        flambeau.export(script, (X,), kwargs={"zz": X}, **options)
    script.save(tmp_path / "q.pt")
    program = flambeau.convert(tmp_path / "q.pt", tmp_path / "q.onnx", inputs={"a": "float32[2,3]", "b": "float32[2,3]"})
    agrees(program, X + 1 - 2 * X, b=X, a=X + 1)
    with pytest.raises(TypeError, match="zz"):
        program(X, zz=X)


def test_dynamic_dimensions_of_scripts_by_name():
    program = flambeau.export(torch.jit.script(Q()), (), kwargs={"b": X[0], "a": X}, dynamic_shapes={"a": {0: "n"}, "b": None})
    assert [value.sizes for value in program.inputs] == [["n", "3"], ["3"]]


def test_archives_and_models_by_name(tmp_path):
    flambeau.save(torch.export.export(Q(), (X, X.clone())), tmp_path / "q.pt2")
    program = flambeau.convert(tmp_path / "q.pt2", tmp_path / "q.onnx")
    agrees(program, X + 1 - 2 * X, b=X, a=X + 1)
    made = flambeau.ONNXProgram(program.model)
    torch.testing.assert_close(made(b=X, a=X + 1)[0], X + 1 - 2 * X)
    torch.testing.assert_close(made(X + 1, b=X)[0], X + 1 - 2 * X)
    for args, kwargs in [((X,), {"zz": X}), ((X,), {"a": X}), ((X, X), {"b": X})]:
        with pytest.raises(TypeError):
            made(*args, **kwargs)
        with pytest.raises(TypeError):
            program(*args, **kwargs)


# --- proofs ---------------------------------------------------------------------------


class Swapped(torch.nn.Module):
    def forward(self, b, a):
        return b - a


class Minus(torch.nn.Module):
    def forward(self, a, b):
        return a - b


class Times(torch.nn.Module):
    def forward(self, a, n: int):
        return a * n


class Numbers(torch.nn.Module):
    def forward(self, a, n: int, c: float, flag: bool):
        return a * n + c if flag else a


MAKERS = {"module": lambda: Q(), "script": lambda: torch.jit.script(Q()), "trace": lambda: torch.jit.trace(Q(), (X, X + 1))}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@captures()
def test_proofs_by_name(make, options):
    named, args = {"b": X, "a": X + 1}, (X + 1, X)
    model = make()
    for f in (flambeau.export, flambeau.onnx.export):
        program = f(model, (), kwargs=named, verify=True, **options)
        f(model, (), kwargs=named, verify=True, dynamic_shapes={"a": {0: "n"}, "b": {0: "n"}}, **options)
    for given in ((args, {}), ((), named), ((X + 1,), {"b": X})):
        assert flambeau.verify(program, *given, reference=model)
        with pytest.raises(VerificationError):
            flambeau.verify(program, *given, reference=Minus())


@captures()
def test_sizes_of_arguments_by_name(options):
    shapes = {"b": None, "a": {0: "n"}}
    program = flambeau.export(Q(), (), kwargs={"b": X[0], "a": X}, dynamic_shapes=shapes, verify=True, **options)
    for given in (((X + 1, X[0]), {}), ((), {"a": X, "b": X[0]}), ((), {"b": X[0], "a": X}), ((X,), {"b": X[0]})):
        assert len(flambeau.verify(program, *given, reference=Q())) == 2
        if not options:
            assert len(flambeau.verify(program, *given)) == 2
            assert not flambeau.find_mismatch(program, *given)


@captures()
def test_a_reference_with_other_names_is_no_proof(options):
    program = flambeau.export(Minus(), (X, X + 1), **options)
    with pytest.raises(VerificationError):
        flambeau.verify(program, (), {"b": X, "a": X + 1}, reference=lambda b, a: b - a)
    assert flambeau.verify(program, (), {"b": X, "a": X + 1}, reference=lambda b, a: a - b)
    program = flambeau.export(Minus(), (X, X + 1), dynamic_shapes={"a": {0: "n"}, "b": {0: "n"}}, **options)
    assert len(flambeau.verify(program, (), {"b": X, "a": X + 1}, reference=lambda b, a: a - b)) == 2


def test_numbers_that_are_inputs_are_given_in_proofs():
    program = flambeau.export(Times(), (X, 2), dynamic_shapes=({0: "n"}, torch.export.Dim.DYNAMIC))
    assert flambeau.verify(program, (X + 1, 3), reference=Times())
    program = flambeau.export(Numbers(), (X, 2, 3.0, True), dynamo=False, verify=True)
    assert flambeau.verify(program, (X, 5, 4.0, True), reference=Numbers())
    flambeau.onnx.verification.verify(Numbers(), (X, 2, 3.0, True))


@captures()
def test_constants_are_left_out_of_proofs(options):
    args = X, True, X + 1, X + 2
    program = flambeau.export(Mixed(), args, verify=True, **options)
    assert flambeau.verify(program, args, reference=Mixed())
    assert flambeau.verify(program, (X,), {"unused": X, "b": X + 3, "flag": True}, reference=Mixed())


@pytest.mark.parametrize("model", [Q(), torch.jit.script(Q())], ids=["module", "script"])
def test_torchs_proofs_by_name(model):
    proofs = flambeau.onnx.verification
    proofs.verify(model, (), {"b": X, "a": X + 1})
    proofs.verify(model, (X + 1, {"b": X}))
    proofs.verify(model, (X, X), additional_test_inputs=[(X, {"b": X + 1})])
    with pytest.raises(AssertionError):
        proofs.verify(model, (X + 1, {"b": X}), options=proofs.VerificationOptions(remained_onnx_input_idx=[1, 0]))
    assert not proofs.find_mismatch(model, (X + 1, {"b": X})).has_mismatch()
    assert not proofs.find_mismatch(model, ({"b": X, "a": X + 1},)).has_mismatch()


def test_torchs_proofs_of_keywords_only():
    flambeau.onnx.verification.verify(Named(), (X, {"c": X, "b": X + 1}))
    assert not flambeau.onnx.verification.find_mismatch(Named(), (X, {"c": X, "b": X + 1})).has_mismatch()


# --- what a proof compares --------------------------------------------------------------


class ListFirst(torch.nn.Module):
    def forward(self, x, n: int):
        parts = []
        for _ in range(n):
            parts.append(x)
        return parts, x


class Longer(torch.nn.Module):
    def forward(self, x, n: int):
        parts = [x]
        for _ in range(n):
            parts.append(x)
        return parts, x


class ListLast(torch.nn.Module):
    def forward(self, x, n: int):
        parts = []
        for _ in range(n):
            parts.append(x)
        return x, parts


def archived(script, folder):
    script.save(folder / "model.pt")
    return ArchivedProgram(str(folder / "model.pt"))


@pytest.mark.parametrize("make", [ListFirst, ListLast])
def test_lists_have_the_length_of_pytorchs(make, tmp_path):
    """All their elements are the same tensor: only their number differs."""
    script = torch.jit.script(make())
    args = X, torch.tensor(3)
    program = flambeau.export(script, args, tmp_path / "model.onnx", verify=True)
    assert verify_archive(archived(script, tmp_path), tmp_path / "model.onnx")
    for change in (-1, 1):
        with pytest.raises(VerificationError, match="elements"):
            flambeau.verify(program, args, reference=lambda x, n: script(x, n + change))

    with pytest.raises(AssertionError):
        flambeau.onnx.verification._compare(program(*args), script(X, 2), flambeau.onnx.verification.VerificationOptions())


def test_files_whose_lists_are_longer_are_found(tmp_path):
    flambeau.export(torch.jit.script(Longer()), (X, torch.tensor(3)), tmp_path / "model.onnx")
    with pytest.raises(VerificationError, match="elements"):
        verify_archive(archived(torch.jit.script(ListFirst()), tmp_path), tmp_path / "model.onnx")


def test_files_whose_last_lists_are_longer_are_found():
    from flambeau.verification.outputs import paired

    with pytest.raises(VerificationError, match="elements"):
        paired(["x", "parts"], [X, [X, X]], (X, []), further=True)
    assert len(paired(["x", "parts", "state"], [X, [X, X], X], (X, [X, X]), further=True)) == 3


@captures()
@pytest.mark.parametrize("nothing", [None, [], {}, (None, "text")])
def test_nothing_is_no_proof(nothing, options):
    program = flambeau.export(Q(), (X, X), **options)
    with pytest.raises(VerificationError):
        flambeau.verify(program, (X, X), reference=lambda a, b: nothing)


@captures()
def test_what_a_model_gives_too_much_is_no_proof(options):
    program = flambeau.export(OfTwo(), (X,), **options)
    with pytest.raises(VerificationError, match="2 tensors; PyTorch 1"):
        flambeau.verify(program, (X,), reference=lambda x: x + 1)


class OfTwo(torch.nn.Module):
    def forward(self, x):
        return x + 1, x + 2


class Counts(torch.nn.Module):
    def __init__(self, gives):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))
        self.gives = gives

    def forward(self, x):
        self.seen.add_(x.sum())
        return x + self.seen if self.gives else None


@pytest.mark.parametrize("gives", [True, False])
def test_states_may_be_outputs_too(gives):
    program = flambeau.export(Counts(gives), (X,), state_outputs=True, verify=True)
    assert len(program.outputs) == 1 + gives


@captures()
def test_outputs_that_were_added_are_not_compared(options):
    program = flambeau.export(Q(), (X, X), **options)
    program.model.graph.outputs.append(program.model.graph.inputs[0])
    assert len(flambeau.verify(program, (X, X), reference=Q())) == 1


# --- texts among results -------------------------------------------------------------------


class Texts(torch.nn.Module):
    def forward(self, a):
        return {"logits": a * 2, "name": "x", "rest": ["y", a + 1]}


@captures()
def test_texts_among_results_are_no_outputs(options):
    program = flambeau.export(Texts(), (X,), verify=True, **options)
    assert len(program.outputs) == 2 and flambeau.verify(program, (X,), reference=Texts())
    flambeau.onnx.verification.verify(Texts(), (X,))


def test_what_torch_does_not_define_is_not_proven():
    """Its remainders are of no negative numbers."""
    size = sympy.Symbol("size", integer=True, positive=True)
    assert not holds(sympy.Le(Mod(size - 8, 7), 6))
    assert holds(sympy.Le(PythonMod(size - 8, 7), 6))


def test_what_is_the_larger_or_smaller_of_two_is_proven():
    size = sympy.Symbol("size", integer=True, positive=True)
    cut = Max(0, size - Max(0, size - 5000))
    assert holds(cut <= 5000) and not holds(cut <= 4999) and holds(cut >= 1, 1) and not holds(cut >= 1, 0)
    assert holds(Min(size, 7) + FloorDiv(size, 7) >= 7, 7) and not holds(Min(size, 7) + FloorDiv(size, 7) >= 7, 6)
    assert not holds(Max(100000, size) >= size)  # beyond what is looked at


def _line(draw, size, depth):
    """A random expression of the kind that is proven of."""
    if depth == 0:
        return draw.choice((size, sympy.Integer(draw.randint(-9, 9))))
    one, other = (_line(draw, size, depth - 1) for _ in range(2))
    number = draw.randint(1, 9)
    kind = draw.randrange(6)
    return (one + other, one - other, number * one, FloorDiv(one, number), PythonMod(one, number), draw.choice((Max, Min))(one, other))[kind]


def test_what_is_proven_holds_for_each_size():
    draw, size, proven = random.Random(0), sympy.Symbol("size", integer=True, positive=True), 0
    for _ in range(400):
        condition = _line(draw, size, 3) >= draw.randint(-3, 3)
        if condition in (sympy.true, sympy.false) or not holds(condition, 2):
            continue
        proven += 1
        assert all(condition.subs(size, value) == sympy.true for value in (*range(2, 60), 1000, 5003)), condition
    assert proven > 30


def test_sizes_of_which_nothing_is_left():
    size = sympy.Symbol("size", integer=True, positive=True)
    left = Mod(7 - Mod(FloorDiv(size + 1, 2), 7), 7)
    assert list(zeros(left, range(2, 60))) == [13, 14, 27, 28, 41, 42, 55, 56]
    assert list(zeros(size**2 - 9 * size, range(2, 60))) == [9]  # no line


def test_what_is_not_defined_of_a_size_is_left_as_it_is():
    size = sympy.Symbol("size", integer=True, positive=True)
    condition = sympy.Ne(Mod(FloorDiv(size, 8), 8 * FloorDiv(size, 8)), 0)
    assert at(condition, {size: 4}) is condition  # a remainder by 0
    assert at(condition, {size: 8}) == sympy.true


def test_what_is_known_of_sizes_is_simplified():
    size, batch = (sympy.Symbol(name, integer=True, positive=True) for name in ("size", "batch"))
    padded = size + Mod(16 - Mod(size, 16), 16)
    assert simplified(Min(size, 16 * FloorDiv(padded, 16))) == size
    assert simplified(FloorDiv(64 * Min(size, 16 * FloorDiv(padded, 16)), size)) == 64
    assert simplified(FloorDiv(3 * size - 1, size)) == 2 and simplified(FloorDiv(3 * size + 1, size)) == 3
    for unknown in (FloorDiv(3 * size - 3, size), FloorDiv(3 * size + 2, size), FloorDiv(3 * size - 1, batch), FloorDiv(size**2 - 1, size)):
        assert simplified(unknown) == unknown
    assert divided(FloorDiv(16 * batch * FloorDiv(padded, 16), padded)) == batch
    assert even_quotient(16 * batch * FloorDiv(padded, 16), size * padded) is None
    assert even_quotient(48 * batch**2 * FloorDiv(padded, 16), batch * padded) == 3 * batch


def test_quotients_of_quotients_are_one():
    size, by = (sympy.Symbol(name, integer=True, positive=True) for name in ("size", "by"))
    halves = FloorDiv(FloorDiv(size, 4) + 1, 2)
    assert divided(halves) == FloorDiv(size + 4, 8) and divided(FloorDiv(FloorDiv(size - 9, 3) - 5, 2)) == FloorDiv(size - 24, 6)
    assert all(halves.subs({size: n}) == divided(halves).subs({size: n}) for n in range(1, 60))
    for other in (FloorDiv(FloorDiv(size, by) + 1, 2), FloorDiv(FloorDiv(size, 4) + by, 2), FloorDiv(3 * FloorDiv(size, 4) + 1, 2)):
        assert divided(other) == other


def test_whole_numbers_of_quotients_are_quotients_of_integers():
    size = sympy.Symbol("size", integer=True, positive=True)
    frames = IntTrueDiv(size - 3, 4) + 2.0
    assert as_integers(CeilToInt(frames)) == FloorDiv(size, 4) + 2 and as_integers(FloorToInt(frames)) == FloorDiv(size - 3, 4) + 2
    windows = FloatTrueDiv(ToFloat(7 * size**2), IntTrueDiv(14 * size, 2))
    assert as_integers(TruncToInt(windows)) == as_integers(CeilToInt(windows)) == size
    inexact = FloatTrueDiv(ToFloat(size), IntTrueDiv(size, 49)), FloatTrueDiv(ToFloat(size**2), 0.1 * size)
    for other in (TruncToInt(IntTrueDiv(size, 4)), *map(TruncToInt, inexact)):
        assert as_integers(other) == other
    for other in (CeilToInt(IntTrueDiv(size, 4) + 0.5), CeilToInt(IntTrueDiv(3, size)), CeilToInt(2 * IntTrueDiv(size, 3)), size):
        assert as_integers(other) == other
    for n in range(3, 40):
        assert as_integers(CeilToInt(frames)).subs({size: n}) == math.ceil((n - 3) / 4 + 2)


def test_roots_of_squares_are_whole():
    size, data = sympy.Symbol("size", integer=True, positive=True), sympy.Symbol("data", integer=True)
    for square, root in {4 * FloorDiv(size, 8) ** 2: 2 * FloorDiv(size, 8), size**2 * (size + 1) ** 4: size * (size + 1) ** 2, data**4: data**2}.items():
        for told in (OpaqueUnaryFn_sqrt(square), FloatPow(ToFloat(square), sympy.Float(0.5))):
            assert as_integers(TruncToInt(told)) == as_integers(FloorToInt(told)) == root
    for other in (size, 2 * size**2, size**3, size**2 + 1, data**2):
        assert as_integers(TruncToInt(OpaqueUnaryFn_sqrt(other))) == TruncToInt(OpaqueUnaryFn_sqrt(other))


def test_sizes_that_are_padded_are_multiples():
    size = sympy.Symbol("size", integer=True, positive=True)
    whole = 3 * size + 2
    sums = {
        size + Mod(7 - Mod(size, 7), 7): 7 * FloorDiv(size + 6, 7),
        whole + PythonMod(-whole, 7) + 5: 7 * FloorDiv(3 * size + 8, 7) + 5,
        size + PythonMod(3 - size, 4): 4 * FloorDiv(size, 4) + 3,
        size - Mod(size, 8) - 1: 8 * FloorDiv(size, 8) - 1,
        size + Mod(size, 2): 2 * FloorDiv(size + 1, 2),
        size + Mod(size + 1, 2): 2 * FloorDiv(size, 2) + 1,
    }
    for told, short in sums.items():
        assert rounded(told) == short
        assert all(told.subs({size: n}) == short.subs({size: n}) for n in range(1, 60))
    for other in (size + Mod(7 - Mod(size, 5), 7), size + Mod(7 - Mod(2 * size, 7), 7), size + Mod(size, 3), 2 * size - Mod(size, 8), size + 1):
        assert rounded(other) == other
