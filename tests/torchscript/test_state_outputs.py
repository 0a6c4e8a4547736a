"""What traced and scripted models leave in their buffers, as outputs of the model."""

import copy

import onnx
import onnxruntime
import pytest
import torch

import flambeau

X = torch.linspace(-1.5, 2, 12).reshape(3, 4)


class Stateful(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("last", torch.ones(2, 4))


class WritesAndSets(Stateful):
    """An augmented assignment writes the tensor, and then sets the attribute to the same one."""

    def forward(self, x):
        self.mean += x.sum(0)
        return x + self.mean


class Rebinds(Stateful):
    def forward(self, x):
        self.mean = self.mean * 0.5 + x.mean(0)
        return x + self.mean


class WritesWhatItThenDrops(Stateful):
    def forward(self, x):
        self.mean.add_(x[0])
        self.mean = self.mean * 2
        return x


class WritesWhatItSet(Stateful):
    def forward(self, x):
        self.mean = self.mean * 2
        self.mean.add_(x[1])
        return x


class KeepsRows(Stateful):
    """It gives the rows that were there before: the same tensor must not be written."""

    def forward(self, x):
        before = self.last
        self.last = torch.cat([self.last, x])[-2:]
        return before, self.last + 1


class SetsWhatItNeverReads(Stateful):
    def forward(self, x):
        self.last, self.mean = x[:2], torch.full((4,), 3.0)
        return x * 2


class KeepsItsInput(Stateful):
    def forward(self, x):
        x, self.last = x - self.last.mean(), x
        return x


class Swaps(Stateful):
    def __init__(self):
        super().__init__()
        self.register_buffer("other", torch.full((4,), 2.0))

    def forward(self, x):
        self.mean, self.other = self.other, self.mean
        return x + self.mean


class KeepsAConstant(Stateful):
    def __init__(self):
        super().__init__()
        self.start = torch.full((4,), 5.0)

    def forward(self, x):
        x, self.mean = x - self.mean, self.start
        return x


class KeepsWhatNoRunComputes(Stateful):
    rows: list[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.rows = [torch.full((4,), 5.0)]

    def forward(self, x):
        x, self.mean = x - self.mean, self.rows[0]
        return x


class AfterABufferThatIsNone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bias", None)
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("last", torch.ones(2, 4))

    def forward(self, x):
        self.mean, self.last = x[0] * 2, x[1:] + self.mean
        return x * 2


class WithinModules(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Rebinds(), WritesAndSets()

    def forward(self, x):
        return self.second(self.first(self.first(x)))


class ChangesTheShape(Stateful):
    def forward(self, x):
        self.mean.add_(x.sum(0)).unsqueeze_(0)
        self.last.t_()
        return x + self.mean


MODELS = [
    WritesAndSets,
    Rebinds,
    WritesWhatItThenDrops,
    WritesWhatItSet,
    KeepsRows,
    SetsWhatItNeverReads,
    KeepsItsInput,
    Swaps,
    KeepsAConstant,
    KeepsWhatNoRunComputes,
    AfterABufferThatIsNone,
    WithinModules,
    ChangesTheShape,
]


def new_state(model):
    """Its results, and the values of the buffers that it changes."""
    model = copy.deepcopy(model)
    before = copy.deepcopy(dict(model.named_buffers(remove_duplicate=False)))
    results = model(X.clone())
    changed = {name: value for name, value in model.named_buffers() if value.shape != before[name].shape or not torch.equal(value, before[name])}
    return results if isinstance(results, tuple) else (results,), changed


def check(results, changed, proto):
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    actual = [torch.as_tensor(each) for each in session.run(None, {session.get_inputs()[0].name: X.numpy()})]
    assert len(actual) == len(results) + len(changed)
    torch.testing.assert_close(actual[: len(results)], [*results])
    names = [output.name.removesuffix("_out") for output in session.get_outputs()][len(results) :]
    torch.testing.assert_close(dict(zip(names, actual[len(results) :])), changed)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("how", ["trace", "script"])
def test_new_values_of_buffers_are_outputs_once(model, how):
    model = model()
    results, changed = new_state(model)
    captured = torch.jit.script(copy.deepcopy(model)) if how == "script" else model
    before = {name: id(value) for name, value in model.named_buffers()}
    check(results, changed, flambeau.export(captured, (X,), dynamo=False, state_outputs=True, verbose=False).model_proto)
    assert before == {name: id(value) for name, value in model.named_buffers()}


class Resizes(Stateful):
    def forward(self, x):
        self.last = x + self.mean
        return x * 2


class TakesAPartOfAnother(Stateful):
    """Of the old tensor, which is written afterwards."""

    def forward(self, x):
        self.mean = self.last[0]
        self.last.mul_(2)
        return x + self.mean


class AfterAVmap(Stateful):
    """Of which the program is recorded a second time."""

    def forward(self, x):
        turned = torch.vmap(lambda row: torch.cat([row[2:], row[:2]]).softmax(0))(x)
        before, self.mean = self.mean, self.mean * 0.5 + turned.mean(0)
        return before, turned


class AssignsWhatIsThere(Stateful):
    def forward(self, x):
        self.last, self.mean = self.last, x[0]
        return x + self.last.mean()


class GrowsWithin(torch.nn.Module):
    """A cache of an inner module, of another size after each call."""

    def __init__(self):
        super().__init__()
        self.inner = Resizes()

    def forward(self, x):
        return self.inner(x) + self.inner(x * 2)


class WritesTheTable(Stateful):
    def forward(self, x):
        self._buffers["mean"] = self.mean * 0.5 + x.mean(0)
        return x + self.mean


class GivesItOtherMemory(Stateful):
    """By which each is still the same tensor."""

    def forward(self, x):
        self.mean.data = self.mean.data * 0.5 + x[0]
        self.last.t_()
        return x * 2 + self.mean


class ModuleOfTwoNames(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Rebinds()
        self.again = self.inner

    def forward(self, x):
        return self.again(self.inner(x))


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}], ids=["export", "trace"])
@pytest.mark.parametrize("model", [WritesTheTable, GivesItOtherMemory])
def test_buffers_that_become_others_without_an_assignment(model, options):
    results, changed = new_state(model())
    check(results, changed, flambeau.export(model(), (X,), state_outputs=True, verbose=False, **options).model_proto)


def test_the_state_of_a_module_of_two_names_is_an_output():
    results, changed = new_state(ModuleOfTwoNames())
    program = flambeau.export(ModuleOfTwoNames(), (X,), state_outputs=True, verbose=False)
    check(results, {"again.mean": changed["inner.mean"]}, program.model_proto)


@pytest.mark.parametrize("shapes", [None, ({0: "n"},)], ids=["static", "dynamic"])
@pytest.mark.parametrize("model", [*MODELS, Resizes, TakesAPartOfAnother, AfterAVmap, AssignsWhatIsThere, GrowsWithin])
def test_a_capture_gives_tensors_that_were_assigned_to_buffers(model, shapes):
    results, changed = new_state(model())
    program = flambeau.export(model(), (X,), dynamic_shapes=shapes, state_outputs=True, verbose=False)
    check(results, changed, program.model_proto)
    check(results, {}, flambeau.export(model(), (X,), verbose=False, dynamic_shapes=shapes).model_proto)


@pytest.mark.parametrize("model", MODELS)
def test_new_values_of_buffers_of_an_archive_are_outputs_once(model, tmp_path):
    model = model()
    results, changed = new_state(model)
    torch.jit.script(model).save(tmp_path / "model.pt")
    flambeau.convert(tmp_path / "model.pt", tmp_path / "model.onnx", inputs={"x": "float32[3,4]"}, state_outputs=True)
    check(results, changed, onnx.load(tmp_path / "model.onnx"))


def test_a_trace_that_loses_a_state_says_so():
    with pytest.warns(flambeau.errors.ConversionWarning, match="the model writes 'mean'; the new values are not outputs"):
        program = flambeau.export(Rebinds(), (X,), dynamo=False)
    check(new_state(Rebinds())[0], {}, program.model_proto)


def test_a_capture_that_loses_a_state_says_so():
    with pytest.warns(flambeau.errors.ConversionWarning, match="assigns another tensor to 'first.mean', which torch.export does not record"):
        program = flambeau.export(WithinModules(), (X,), state_outputs=True, capture_strategies=["strict"])
    results, changed = new_state(WithinModules())
    check(results, {"second.mean": changed["second.mean"]}, program.model_proto)


class OneTensorOfTwo(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Rebinds(), Rebinds()
        self.second.mean = self.first.mean

    def forward(self, x):
        return self.second(self.first(x))


def test_a_trace_that_knows_a_tensor_by_another_name_says_so():
    results, changed = new_state(OneTensorOfTwo())
    with pytest.warns(flambeau.errors.ConversionWarning, match="assigns another tensor to 'second.mean', which a trace does not record"):
        program = flambeau.export(OneTensorOfTwo(), (X,), state_outputs=True, capture="trace")
    check(results, {"first.mean": changed["first.mean"]}, program.model_proto)


class HoldsAScript(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.jit.script(Rebinds()), Rebinds()

    def forward(self, x):
        return self.second(self.first(self.first(x)))


@pytest.mark.parametrize("options", [{}, {"dynamo": False}, {"verify": True}])
def test_a_model_that_holds_a_script_is_left_as_it_was(options):
    model = HoldsAScript()
    results, changed = new_state(model)
    for _ in range(2):
        check(results, changed, flambeau.export(model, (X,), state_outputs=True, verbose=False, **options).model_proto)


class Counts(torch.nn.Module):
    rows: list[torch.Tensor]
    seen: dict[str, int]

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(4))
        self.rows, self.seen, self.calls = [], {"rows": 1}, 0

    def forward(self, x):
        self.last, self.calls = x[0], self.calls + 1
        self.rows.append(x[1])
        self.seen["rows"] += 1
        return x * self.calls + len(self.rows) + self.seen["rows"]


def test_an_export_leaves_a_script_as_it_was():
    script = torch.jit.script(Counts())
    flambeau.export(script, (X,), verify=True)
    assert not script.last.any()
    assert (script.calls, script.rows, script.seen) == (0, [], {"rows": 1})


TABLE = torch.zeros(4)


class FillsATableOfItsOwn(torch.nn.Module):
    def forward(self, x):
        table = torch.tensor([1.0, 0.0, -1.0, 2.0])
        table[0] = x.sum()
        table += 1
        return x * table


class FillsATableOfAll(torch.nn.Module):
    def forward(self, x):
        table = TABLE
        table += x.sum(0)
        return x * table


@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("state_outputs", [False, True])
def test_a_table_that_each_run_makes_anew_is_no_state(how, state_outputs):
    model = FillsATableOfItsOwn()
    options = {"capture": "trace"} if how == "trace" else {}
    program = flambeau.export(torch.jit.script(model) if how == "script" else model, (X,), state_outputs=state_outputs, **options)
    assert len(program.outputs) == 1 and not any(each.kind == "ignored-mutation" for each in program.diagnostics)
    for x in (X, X + 1):
        torch.testing.assert_close(program(x)[0], model(x))


@pytest.mark.filterwarnings("ignore")
def test_a_table_that_stays_written_is_state():
    try:
        program = flambeau.export(FillsATableOfAll(), (X,), state_outputs=True, capture="trace")
    finally:
        TABLE.zero_()
    assert len(program.outputs) == 2
    torch.testing.assert_close(program(X)[1], X.sum(0))
