"""Updates of one place by several threads of onnxruntime: none may be lost."""

from __future__ import annotations

import numpy
import onnx
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from harness import Function

import flambeau

PLACES, UPDATES, WIDTH = 3, 12000, 128  # enough for onnxruntime to share them out
TABLE, ROWS = torch.zeros(PLACES, WIDTH), torch.ones(UPDATES, WIDTH)
AT = torch.arange(UPDATES) % PLACES


@pytest.mark.parametrize("opset", (18, 20, 26))
@pytest.mark.parametrize("function", (
    lambda table, at, rows: table.index_put((at,), rows, accumulate=True),
    lambda table, at, rows: table.index_put((at - PLACES,), rows, accumulate=True),
    lambda table, at, rows: table.T.reshape(WIDTH, PLACES, 1).index_put((at % WIDTH, at), rows[:, :1], accumulate=True),
    lambda table, at, rows: table.index_add(0, at, rows),
    lambda table, at, rows: F.embedding_bag(at.view(2, -1), table + 1, mode="sum"),
))
def test_no_update_is_lost(function, opset, tmp_path):
    module, args = Function(function), (TABLE, AT, ROWS)
    flambeau.export(module, args, opset_version=opset).save(tmp_path / "m.onnx")
    # The kernel of this operator shares them out, and loses some now and then.
    assert not [node for node in onnx.load(tmp_path / "m.onnx").graph.node if node.op_type == "ScatterND"]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), options)
    feeds = {given.name: arg.numpy() for given, arg in zip(session.get_inputs(), args)}
    for _ in range(3):
        numpy.testing.assert_array_equal(session.run(None, feeds)[0], module(*args).numpy())
