"""Whole models: captured, converted, run in onnxruntime, compared with PyTorch, also at a second size."""

from __future__ import annotations

import os

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import flambeau

from . import zoo


def flat(value: object) -> list[torch.Tensor]:
    """The tensors of nested tuples, lists and dicts, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in flat(item)] if isinstance(value, list | tuple) else []


def largest_difference(session: onnxruntime.InferenceSession, case: zoo.Case, args: tuple[object, ...]) -> float:
    """Runs both; shapes and dtypes must agree, and the numbers to a thousandth of the largest (some models' are tiny)."""
    with torch.no_grad():
        expected = flat(case.module(*args))
    names = [value.name for value in session.get_inputs()]
    results = session.run(None, dict(zip(names, (tensor.numpy() for tensor in flat(list(args))), strict=True)))
    assert len(results) == len(expected)
    largest = 0.0
    for got, want in zip(results, expected, strict=True):
        assert got.shape == tuple(want.shape)
        assert got.dtype == want.numpy().dtype
        difference = float(np.abs(got.astype(np.float64) - want.numpy()).max())
        scale = float(want.abs().max())
        assert 0 < scale < float("inf"), "an output without numbers shows nothing"
        assert difference <= 1e-3 * scale, f"{difference} where the largest number is {scale}"
        largest = max(largest, difference)
    return largest


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", zoo.MODELS)
def test_model_matches_pytorch(name: str, dynamic: bool, tmp_path) -> None:
    case = zoo.MODELS[name]()
    path = tmp_path / "model.onnx"
    flambeau.export(case.module, case.args, path, dynamic_shapes=case.dynamic_shapes if dynamic else None)
    onnx.checker.check_model(str(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert largest_difference(session, case, case.args) <= case.tolerance
    if dynamic and case.second is not None:
        assert largest_difference(session, case, case.second) <= case.tolerance


OLDER_OPSETS = (9, 11, 13, 17)
# Each model at one of them; all with FLAMBEAU_TEST_ALL.
OLDER = [
    (name, opset)
    for i, name in enumerate(zoo.MODELS)
    for j, opset in enumerate(OLDER_OPSETS)
    if os.environ.get("FLAMBEAU_TEST_ALL") or i % len(OLDER_OPSETS) == j
]


@pytest.mark.parametrize(("name", "opset"), OLDER)
def test_model_at_an_older_opset(name: str, opset: int) -> None:
    case = zoo.MODELS[name]()
    program = flambeau.export(case.module, case.args, opset_version=opset, dynamic_shapes=case.dynamic_shapes)
    model = program.model_proto
    onnx.checker.check_model(model, full_check=True)
    assert {imported.version for imported in model.opset_import if not imported.domain} == {opset}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert largest_difference(session, case, case.args) <= case.tolerance
    if case.second is not None:
        assert largest_difference(session, case, case.second) <= case.tolerance
