"""TorchScript programs against PyTorch: dtypes, shapes and values, strictly."""

import copy

import onnx
import onnxruntime
import torch
from torch.utils import _pytree as pytree

import flambeau
from closeness import assert_close

onnxruntime.set_default_logger_severity(4)


class Calls(torch.nn.Module):
    """A function of a tensor."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def tensors(tree):
    """The leaves that are inputs or outputs of a model, in PyTorch's order."""
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, (torch.Tensor, bool, int, float))]


def script(model):
    return torch.jit.script(copy.deepcopy(model))


def compare(model, program, args):
    """Run both on the arguments; outputs must agree in number, dtype, shape and values."""
    model = copy.deepcopy(model)
    expected = tensors(model(*copy.deepcopy(args)))
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    given = [leaf for leaf in pytree.tree_leaves(args) if isinstance(leaf, torch.Tensor)]
    names = [value.name for value in session.get_inputs()]
    assert len(names) == len(given), f"the model has the inputs {names}; {len(given)} tensors are given"
    actual = []
    for value in session.run(None, {name: tensor.detach().numpy() for name, tensor in zip(names, given)}):
        actual.extend(value if isinstance(value, list) else [] if value is None else [value])
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected):
        ours = torch.as_tensor(ours)
        # A float is float64, or as precise as the tensors that it comes from: test_dtypes_of_floats.
        theirs = torch.as_tensor(theirs, dtype=ours.dtype if isinstance(theirs, float) and ours.dtype.is_floating_point else None)
        assert ours.dtype == theirs.dtype
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert_close(ours, theirs, rtol=1e-3)


def check(model, args, *, others=(), how="script", dynamic_axes=None, **options):
    """Export as captured by `how`, check, and run on these arguments and on others."""
    model = model.eval() if options.get("training") is None else model
    captured = script(model) if how == "script" else copy.deepcopy(model)
    if how == "trace":
        options["capture"] = "trace"
    if dynamic_axes is not None:
        options["input_names"] = options.get("input_names") or list(dynamic_axes)
    program = flambeau.export(captured, args, dynamic_axes=dynamic_axes, verbose=False, **options)
    onnx.checker.check_model(program.model_proto, full_check=True)
    for each in (args, *others):
        compare(model, program, each)
    return program
