"""What an export has Python load."""

import subprocess
import sys

import pytest

EXPORT = """
import sys
import torch
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
    path = [entry for entry in sys.path if entry]
    script = f"import sys; sys.path[:0] = {path!r}{EXPORT.format(export=export)}"
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True)
    if "torch itself loads Dynamo" in result.stderr:
        pytest.skip("this torch loads Dynamo by itself")
    assert result.stdout.splitlines()[-1:] == [str(loaded)], result.stderr
