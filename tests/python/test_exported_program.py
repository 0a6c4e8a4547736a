"""What a walk over a captured program tells the engine."""

import pytest
import torch

import flambeau
from flambeau import _engine
from flambeau.capture import capture
from flambeau.options import make_options
from flambeau.errors import CaptureError
from flambeau.feed import weights
from flambeau.feed.exported_program import DTYPES, build_program


def aten_text(exported, **options):
    text, diagnostics = _engine.dump(build_program(exported, **options), "aten", make_options())
    assert text, diagnostics
    return text


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4), persistent=False)

    def forward(self, x):
        low, high = torch.split(self.fc(x) * self.scale, 2, dim=1)
        return {"sum": low + high, "none": None, "three": 3}


@torch.jit.script
def scalar_type(x: torch.Tensor) -> int:
    return x.dtype  # TorchScript holds a dtype as its c10::ScalarType


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype_codes_are_those_of_torch(dtype):
    assert DTYPES[dtype] == scalar_type(torch.empty(0, dtype=dtype))


def test_calls_modules_and_names():
    text = aten_text(capture(Small(), (torch.ones(3, 4),), {}, {"x": {0: "batch"}}), dimension_names=[(0, 0, "batch")])
    assert "aten::linear" in text
    # The elements of a list are values of their own, under the names of their getitem nodes.
    assert "getitem: f32" in text and "getitem_1: f32" in text and "= aten::split.Tensor(" in text
    assert "_operator::getitem" not in text
    assert "fc.weight" in text


def test_effects_are_calls_in_order():
    class Inverse(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.inv(x)

    program = capture(Inverse(), (torch.eye(3) + 1,), {}, None).run_decompositions()
    assert any(node.target is torch.ops.higher_order.with_effects for node in program.graph.nodes)
    text = aten_text(program)
    assert "aten::linalg_inv_ex" in text and "aten::_linalg_check_errors" in text and "higher_order" not in text


def test_nested_graphs():
    class Model(torch.nn.Module):
        def forward(self, x):
            y = torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,))
            with torch.no_grad():
                return y * 2

    text = aten_text(capture(Model(), (torch.ones(3),), {}, None))
    assert "cond" in text
    assert "aten::sub" in text


def test_weights_of_other_devices_need_no_bytes_only_without_parameters():
    with torch.device("meta"):
        model = torch.nn.Linear(4, 2)
        x = torch.ones(3, 4)
    exported = capture(model, (x,), {}, None)
    with pytest.raises(CaptureError, match="'weight' is a meta tensor.*export_params=False"):
        build_program(exported)
    assert [weight.name for weight in _engine.summarize(build_program(exported, export_params=False)).weights]


def test_wrapper_subclass_is_named():
    from torch.testing._internal.two_tensor import TwoTensor

    exported = capture(torch.nn.Linear(2, 2), (torch.ones(1, 2),), {}, None)
    exported.state_dict["weight"] = TwoTensor(torch.ones(2, 2), torch.ones(2, 2))
    with pytest.raises(CaptureError, match="'weight' is a TwoTensor"):
        build_program(exported)


def test_weight_outside_main_memory_is_fetched(monkeypatch):
    """Stands for a CUDA tensor: nothing may read its address."""
    fetched = []
    exported = capture(torch.nn.Linear(2, 2, bias=False), (torch.ones(1, 2),), {}, None)
    weight = exported.state_dict["weight"]
    original = weights._Fetch.__call__

    def call(self, offset, out):
        fetched.append((offset, len(out)))
        original(self, offset, out)

    monkeypatch.setattr(weights._Fetch, "__call__", call)
    monkeypatch.setattr(weights, "_in_memory", lambda storage: False)
    model, diagnostics = _engine.convert(build_program(exported), make_options())
    assert model is not None, diagnostics
    data, _ = model.serialize()
    assert weight.detach().numpy().tobytes() in data
    assert sum(size for _, size in fetched) >= 16


def test_exception_while_fetching_is_raised(monkeypatch):
    def call(self, offset, out):
        raise ConnectionError("the device is gone")

    exported = capture(torch.nn.Linear(2, 2, bias=False), (torch.ones(1, 2),), {}, None)
    monkeypatch.setattr(weights._Fetch, "__call__", call)
    monkeypatch.setattr(weights, "_in_memory", lambda storage: False)
    with pytest.raises(ConnectionError, match="the device is gone"):
        model, _ = _engine.convert(build_program(exported), make_options())
        model.serialize()


def test_sparse_weight_is_named():
    exported = capture(torch.nn.Linear(2, 2), (torch.ones(1, 2),), {}, None)
    exported.state_dict["weight"] = torch.ones(2, 2).to_sparse()
    with pytest.raises(CaptureError, match="'weight' has the layout torch.sparse_coo.*to_dense"):
        build_program(exported)


def test_argument_without_meaning_is_located():
    exported = capture(Small(), (torch.ones(3, 4),), {}, None)
    node = next(node for node in exported.graph.nodes if "split" in node.name)
    node.args = (*node.args[:2], {1: 2})
    with pytest.raises(CaptureError, match="split.*type 'immutable_dict'"):
        build_program(exported)


def test_programs_are_converted_once():
    program = build_program(capture(torch.nn.ReLU(), (torch.ones(2),), {}, None))
    _engine.convert(program, make_options())
    with pytest.raises(ValueError, match="converted before"):
        _engine.convert(program, make_options())


def test_exception_of_a_callback_is_raised():
    program = build_program(capture(torch.nn.ReLU(), (torch.ones(2),), {}, None))

    def progress(stage, done, total):
        raise ZeroDivisionError(stage)

    with pytest.raises(ZeroDivisionError):
        _engine.convert(program, make_options(), progress)


def test_instance_norms_in_training(tmp_path):
    model = torch.nn.Sequential(torch.nn.InstanceNorm1d(3, track_running_stats=True)).train()
    x = torch.randn(2, 3, 6)
    exported = torch.export.export(model, (x,))
    torch.export.save(exported, tmp_path / "model.pt2")
    for source in (exported, tmp_path / "model.pt2"):
        torch.testing.assert_close(flambeau.export(source)(x)[0], torch.nn.functional.instance_norm(x))


class OfSequences(torch.nn.Module):
    def forward(self, x, bounds):
        one = x[None]
        flash = torch.ops.aten._flash_attention_forward(x, x, x, bounds, bounds, 4, 4, 0.0, False, False)[0]
        return flash, torch.ops.aten._efficient_attention_forward(one, one, one, None, bounds, bounds, 4, 4, 0.0, 0)[0]


def test_attention_without_the_bounds_of_its_keys_is_a_bad_program():
    program = torch.export.export(OfSequences(), (torch.randn(4, 2, 8), torch.tensor([0, 4], dtype=torch.int32)))
    for node in program.graph.nodes:
        if "_attention_forward" in str(node.target):
            (bounds,) = {each for each in node.args[3:] if isinstance(each, torch.fx.Node)}
            last = max(i for i, each in enumerate(node.args) if each is bounds)
            node.args = (*node.args[:last], None, *node.args[last + 1 :])
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"(?s)takes cum_seq_k or a block_table.*takes cu_seqlens_k with"):
        flambeau.export(program)
