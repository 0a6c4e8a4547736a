"""Models that ask whether a matrix had the factors that they looked for, and go on in another way if it had not."""

import pytest
import torch

import flambeau


def covered(x):
    """Of no script: TorchScript takes no keywords out of a dict."""
    x = torch.add(**{"input": x, "other": 0.0})
    return x @ x.mT + torch.eye(x.shape[-2]) * 0.1


class Jittered(torch.nn.Module):
    def forward(self, x):
        factor, info = torch.linalg.cholesky_ex(covered(x))
        if info.any():
            factor, info = torch.linalg.cholesky_ex(covered(x) + torch.eye(x.shape[-2]))
        return factor


class Named(torch.nn.Module):
    def forward(self, x):
        result = torch.linalg.cholesky_ex(covered(x))
        return result.L if torch.all(result.info == 0) else torch.zeros_like(result.L)


class Inverted(torch.nn.Module):
    def forward(self, x):
        inverse, info = torch.linalg.inv_ex(covered(x))
        return torch.linalg.pinv(covered(x)) if (info != 0).any() else inverse


class Single(torch.nn.Module):
    def forward(self, x):
        factors, pivots, info = torch.linalg.lu_factor_ex(covered(x[0]))
        if info > 0 or info.item() != 0 or bool(info):
            factors = factors + 1
        return factors, pivots


@pytest.mark.parametrize("model", [Jittered, Named, Inverted, Single], ids=lambda model: model.__name__)
def test_that_matrices_have_factors_is_taken_for_granted_with_a_warning(model):
    model, x = model(), torch.randn(2, 4, 6)
    with pytest.warns(flambeau.errors.ConversionWarning, match="assumes that matrices have the factors"):
        program = flambeau.export(model, (x,), dynamic_shapes=({0: "batch"},))
    for given in (x, torch.randn(3, 4, 6)):
        wanted = model(given)
        for one, want in zip(program(given), wanted if isinstance(wanted, tuple) else (wanted,)):
            torch.testing.assert_close(one, want, rtol=1e-4, atol=1e-5)


class Indefinite(torch.nn.Module):
    def forward(self, x):
        factor, info = torch.linalg.cholesky_ex(covered(x) - 100 * torch.eye(x.shape[-2]))
        return torch.linalg.cholesky(covered(x)) if info.any() else factor


def test_an_example_without_factors_is_not_taken_to_have_them():
    with pytest.raises(flambeau.errors.CaptureError, match=r"info.any\(\)"):
        flambeau.export(Indefinite(), (torch.randn(2, 4, 6),))


class Scripted(torch.nn.Module):
    def forward(self, x):
        square = x.mT @ x - 2 * torch.eye(3)
        factor, info = torch.linalg.cholesky_ex(square)
        return square if bool(info.any()) else factor


def test_a_script_looks_in_each_run():
    """So no factor is taken for granted where TorchScript takes the module."""
    model, x = Scripted(), 4 * torch.eye(3)
    with pytest.warns(flambeau.errors.ConversionWarning, match="converted from torch.jit.script"):
        program = flambeau.export(model, (x,))
    for given in (x, torch.eye(3)):
        torch.testing.assert_close(program(given)[0], model(given))
