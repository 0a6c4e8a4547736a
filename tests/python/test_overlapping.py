"""Exports in several threads."""

import math
import threading

import torch
import torch.nn.functional as F

import flambeau


def test_exports_that_overlap_leave_nothing_behind():
    first_began, first_ended = threading.Event(), threading.Event()

    class First(torch.nn.Module):
        def forward(self, x):
            first_began.set()
            other.join(0.5)
            return x * math.sqrt(x.shape[0])

    class Second(torch.nn.Module):
        def forward(self, x):
            assert first_ended.wait(20)
            return x * math.log(x.shape[0])

    def export_second():
        first_began.wait(20)
        programs.append(flambeau.export(Second(), (x,), dynamic_shapes=({0: "n"},)))

    programs, x = [], torch.ones(3, 2)
    before = vars(math).copy(), torch.as_tensor, F.scaled_dot_product_attention, torch.Tensor.__dict__.get("new_tensor")
    other = threading.Thread(target=export_second)
    other.start()
    programs.append(flambeau.export(First(), (x,), dynamic_shapes=({0: "n"},)))
    first_ended.set()
    other.join()
    assert before == (vars(math), torch.as_tensor, F.scaled_dot_product_attention, torch.Tensor.__dict__.get("new_tensor"))
    for program, number in zip(programs, (math.sqrt(5), math.log(5)), strict=True):
        torch.testing.assert_close(program(torch.ones(5, 2))[0], torch.ones(5, 2) * number)
