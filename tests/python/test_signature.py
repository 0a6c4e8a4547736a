"""`flambeau.export` takes what `torch.onnx.export` takes, and swallows nothing."""

import inspect

import pytest
import torch

import flambeau


def test_signature_is_that_of_torch():
    ours = inspect.signature(flambeau.export).parameters
    theirs = inspect.signature(torch.onnx.export).parameters
    assert list(ours)[: len(theirs)] == list(theirs)
    assert all(ours[name].kind is inspect.Parameter.KEYWORD_ONLY for name in list(ours)[len(theirs) :])
    for name, parameter in theirs.items():
        assert (ours[name].kind, ours[name].default) == (parameter.kind, parameter.default), name


def _public(owner):
    return {name: inspect.getattr_static(owner, name) for name in dir(owner) if not name.startswith("_") or name == "__call__"}


def test_program_is_that_of_torch():
    """Every method and property, each parameter with its kind and its default."""
    ours, theirs = _public(flambeau.ONNXProgram), _public(torch.onnx.ONNXProgram)
    made = torch.onnx.ONNXProgram(None, None)
    ours_made, theirs_made = (inspect.signature(each).parameters for each in (flambeau.ONNXProgram, torch.onnx.ONNXProgram))
    assert list(ours_made) == list(theirs_made)
    assert theirs.keys() | {name for name in vars(made) if not name.startswith("_")} <= ours.keys()
    for name, member in theirs.items():
        if not callable(member):
            assert isinstance(ours[name], type(member)), name
            continue
        expected, found = inspect.signature(member).parameters, inspect.signature(ours[name]).parameters
        assert list(found) == list(expected), name
        for parameter, of_torch in expected.items():
            mine = found[parameter]
            assert mine.kind == of_torch.kind, f"{name}({parameter})"
            assert mine.default == of_torch.default or callable(mine.default) == callable(of_torch.default) is True, f"{name}({parameter})"


def test_options_that_exclude_each_other():
    with pytest.raises(flambeau.errors.UnsupportedOptionError, match="export_modules_as_functions"):
        flambeau.export(torch.nn.ReLU(), (torch.ones(2),), export_modules_as_functions=True, opset_version=9)


def test_errors_are_those_of_torch_too():
    with pytest.raises(torch.onnx.OnnxExporterError):
        flambeau.export(torch.nn.ReLU(), (torch.ones(2),), opset_version=99)


@pytest.mark.parametrize("value", ["sometimes", "Always"])
def test_external_data_of_another_word(value):
    with pytest.raises(ValueError, match="external_data"):
        flambeau.export(torch.nn.ReLU(), (torch.ones(2),), external_data=value)


def test_model_of_another_type():
    with pytest.raises(TypeError, match="builtin_function_or_method|function"):
        flambeau.export(torch.relu, (torch.ones(2),))


def test_capture_of_another_word():
    with pytest.raises(ValueError, match="capture"):
        flambeau.export(torch.nn.ReLU(), (torch.ones(2),), capture="magic")


def test_exports_give_a_program():
    exports = (flambeau.export, flambeau.onnx.utils.export, flambeau.onnx.dynamo_export, flambeau.onnx.ExportableModule.to_onnx)
    assert {inspect.signature(each).return_annotation for each in exports} == {"ONNXProgram"}
