"""Every operator that Flambeau says it converts, against PyTorch: see harness.py."""

import pytest


def test_case(one, mode, opset, batches):
    failure = batches.outcome(one, mode, opset)
    if one.xfail is not None:
        assert failure is not None, f"this case passes now; it was expected to fail: {one.xfail}"
        pytest.xfail(one.xfail)
    if failure is not None:
        pytest.fail(failure, pytrace=False)
