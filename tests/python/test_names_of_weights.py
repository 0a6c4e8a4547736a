"""Names after those of the inputs are the weights', with ``dynamo=False``."""

import warnings

import pytest
import torch

import flambeau

X = torch.ones(2, 3)


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x, idle):
        return self.linear(x)


@pytest.mark.parametrize("scripted", [False, True])
@pytest.mark.parametrize("names, left_out", [(["x", "idle", "learned_0", "learned_1"], ["idle"]), (["x"], [])])
def test_only_inputs_are_said_to_be_left_out(names, left_out, scripted):
    model = Linear().eval()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = flambeau.export(torch.jit.script(model) if scripted else model, (X, X), dynamo=False, input_names=names)
    assert [str(each.message).partition(":")[0] for each in caught if each.category is flambeau.errors.ConversionWarning] == [
        f"nothing reads '{name}'" for name in left_out
    ]
    found = [each.name for each in program.model_proto.graph.initializer]
    assert sorted(found) == (["learned_0", "learned_1"] if left_out else ["linear.bias", "linear.weight"])
    torch.testing.assert_close(program(X, X)[0], model(X, X))
