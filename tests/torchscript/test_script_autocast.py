"""torch.autocast in scripts."""

import flambeau
import onnx
import pytest
import torch
from cases import SIGNS, Cases, x
from checking import check, tensors
from torch import nn

case = Cases()


@case.forward(x(2, 3), others=SIGNS)
def autocast_that_is_off(self, x):
    with torch.autocast("cpu", enabled=False):
        y = x @ x.t()
    with torch.autocast("cuda", dtype=torch.float16):
        z = x @ x.t()
    with torch.cuda.amp.autocast(enabled=False):
        return x.float() @ x.t() + y, z


test_program = case.test()


class Lowered(nn.Module):
    """What torch makes of autocast in scripts is not what it does elsewhere: sums and sizes of scripts are in float32."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def part(self, x):
        return self.linear(x) @ x.t()

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.part(x)
            softer = torch.softmax(y, -1)
            if bool(x.sum() > 0):
                z = y + 1
            else:
                z = self.linear(x)[:, :2] * softer
            with torch.autocast("cpu", enabled=False):
                full = x @ x.t()
            sums = y.sum(), y.exp(), torch.cat([y, x], 1), y + full, torch.logsumexp(y, 1), torch.matmul(y, full)
        return y.float(), softer.float(), z.float(), full, [each.float() for each in sums], sums[0], sums[1], sums[2], sums[3], sums[4], self.linear(x)


class LoweredToHalf(nn.Module):
    def forward(self, x, y):
        with torch.autocast("cpu", dtype=torch.float16):
            return x @ x.t(), y @ y.t(), x.long() + 1


def rounded(model, args, others):
    """Compare what bfloat16 lets tell."""
    program = flambeau.export(torch.jit.script(model), args, verbose=False)
    for each in (args, *others):
        expected = tensors(torch.jit.script(model)(*each))
        actual = program(*each)
        assert [each.dtype for each in actual] == [each.dtype for each in expected]
        torch.testing.assert_close(list(actual), expected, rtol=0.03, atol=0.03)
    return program


def test_autocast_of_a_script():
    torch.manual_seed(0)
    program = rounded(Lowered().eval(), SIGNS[0], SIGNS)
    assert {onnx.TensorProto.BFLOAT16} <= {value.i for node in program.model_proto.graph.node for value in node.attribute if value.name == "to"}
    rounded(LoweredToHalf(), (x(2, 3), x(2, 3).double()), [(-x(2, 3), x(4, 3).double()[:2])])


class SometimesLowered(nn.Module):
    def forward(self, x):
        with torch.autocast("cpu", enabled=bool(x.sum() > 0)):
            return x @ x.t()


def test_autocast_that_only_a_run_turns_on_is_refused():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="autocast of a script that torch does not run either"):
        check(SometimesLowered(), SIGNS[0])


def test_autocast_of_an_archive_is_refused(tmp_path):
    torch.jit.script(Lowered()).save(tmp_path / "net.pt")
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"enters or leaves a context of the class .*autocast(.|\n)*export the live script"):
        flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[2,3]"})
