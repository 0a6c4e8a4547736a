"""What an export has Python load."""

import subprocess
import sys

import pytest

EXPORT = """
import math
import sys
import torch
import torch.utils.checkpoint
import flambeau

if "torch._dynamo" in sys.modules:
    sys.exit("torch itself loads Dynamo")
module, args = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()).eval(), (torch.ones(2, 3),)
{export}
print("torch._dynamo" in sys.modules)
"""


@pytest.mark.parametrize(
    ("export", "loaded"),
    [
        ("flambeau.export(module, args, capture='trace')", False),
        ("flambeau.export(module, args, dynamo=False)", False),
        ("flambeau.export(torch.jit.script(module), args)", False),
        ("flambeau.export(module, args)", True),
    ],
)
def test_dynamo_is_loaded_where_it_captures_alone(export, loaded):
    run(export, loaded)


CHECKPOINTED = """
class Checkpointed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = module

    def forward(self, x):
        return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=False)

flambeau.export(Checkpointed(), args, capture="trace")
"""
AFTERWARDS = """
class Floors(torch.nn.Module):
    def forward(self, x):
        return x * max(1, math.floor(math.sqrt(x.shape[0])))

assert torch.compile(Floors(), backend="eager", fullgraph=True, dynamic=True)(*args).equal(Floors()(*args))
"""


@pytest.mark.parametrize("first", ["", CHECKPOINTED, "flambeau.export(module, args, verbose=True)"])
def test_dynamo_knows_the_functions_that_a_capture_replaces(first, tmp_path):
    """It remembers which they are when it is loaded. TorchDynamo refuses the others."""
    script = tmp_path / "model.py"  # Dynamo reads the source
    run(f"{first}\n{AFTERWARDS}", True, script)


def run(export, loaded, script=None):
    path = [entry for entry in sys.path if entry]
    text = f"import sys; sys.path[:0] = {path!r}{EXPORT.format(export=export)}"
    if script is not None:
        script.write_text(text)
    result = subprocess.run([sys.executable, "-W", "ignore", *([script] if script else ["-c", text])], capture_output=True, text=True)
    if "torch itself loads Dynamo" in result.stderr:
        pytest.skip("this torch loads Dynamo by itself")
    assert result.returncode == 0 and result.stdout.splitlines()[-1:] == [str(loaded)], result.stderr
