"""Exports in several threads."""

import math
import queue
import threading

import torch
import torch.nn.functional as F

import flambeau
from flambeau.onnx._globals import GLOBALS


def test_exports_that_overlap_leave_nothing_behind():
    first_began, first_ended = threading.Event(), threading.Event()

    class First(torch.nn.Module):
        def forward(self, x):
            first_began.set()
            other.join(0.5)
            opsets.put(GLOBALS.export_onnx_opset_version)
            return x * math.sqrt(x.shape[0])

    class Second(torch.nn.Module):
        def forward(self, x):
            assert first_ended.wait(20)
            opsets.put(GLOBALS.export_onnx_opset_version)
            return x * math.log(x.shape[0])

    def export_second():
        first_began.wait(20)
        programs.append(flambeau.export(Second(), (x,), dynamic_shapes=({0: "n"},), opset_version=18))

    programs, opsets, x = [], queue.SimpleQueue(), torch.ones(3, 2)  # a list would be as it was before
    before = torch.onnx.is_in_onnx_export(), vars(math).copy(), torch.as_tensor, F.scaled_dot_product_attention, torch.Tensor.__dict__.get("new_tensor")
    other = threading.Thread(target=export_second)
    other.start()
    programs.append(flambeau.export(First(), (x,), dynamic_shapes=({0: "n"},), opset_version=13))
    first_ended.set()
    other.join()
    assert before == (torch.onnx.is_in_onnx_export(), vars(math), torch.as_tensor, F.scaled_dot_product_attention, torch.Tensor.__dict__.get("new_tensor"))
    asked = [opsets.get() for _ in range(opsets.qsize())]
    assert set(asked) == {13, 18} and asked == sorted(asked)
    for program, number in zip(programs, (math.sqrt(5), math.log(5)), strict=True):
        torch.testing.assert_close(program(torch.ones(5, 2))[0], torch.ones(5, 2) * number)
