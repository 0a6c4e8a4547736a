"""Spectra in programs: complex tensors, their sizes, and lists of them."""

from typing import List

import torch
from cases import Cases, x
from torch import Tensor, nn

case = Cases()


def signals(*, how=("trace", "script")):
    """Decorates a forward of a batch of signals, of which both are dynamic."""
    return case.forward(x(2, 40), others=[(x(3, 60),)], dynamic_axes={"a": {0: "batch", 1: "time"}}, how=how)


@case(x(2, 40), others=[(x(3, 60),)], dynamic_axes={"a": {0: "batch", 1: "time"}})
class Spectrogram(nn.Module):
    """Sizes of a complex tensor, as torchaudio asks for them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))

    def forward(self, a):
        shape = a.size()
        spectra = torch.stft(a.reshape(-1, shape[-1]), 16, window=self.window, return_complex=True)
        spectra = spectra.reshape(shape[:-1] + spectra.shape[-2:])
        return spectra.abs(), spectra.numel() + a


@signals()
def as_long_as_before(self, a):
    window = torch.hann_window(16)
    spectra = torch.stft(a, 16, 4, window=window, return_complex=True)
    return torch.istft(spectra, 16, 4, window=window, length=a.size(1))


@signals()
def frames_by_the_length(self, a):
    return torch.stft(a, 16, a.size(1) // 10, window=torch.hann_window(16), return_complex=True).abs()


@signals(how=["script"])
def lists_of_spectra(self, a):
    spectra = torch.stft(a, 16, window=torch.hann_window(16), return_complex=True)
    frames = [frame * 2 for frame in spectra.unbind(2)]
    frames.append(frames[0])
    frames.insert(0, frames[1] * 1j)
    last = frames.pop()
    sums: List[Tensor] = []
    for piece in spectra.split(3, dim=2):
        sums.append(piece.sum(2))
    joined = torch.cat([frame + last for frame in frames], -1)
    return torch.view_as_real(joined), torch.view_as_real(torch.stack(sums)), len(frames)


@signals(how=["script"])
def some_of_a_spectrum(self, a):
    spectra = torch.fft.rfft(a)
    spectra = spectra.masked_fill(spectra.abs() < 1, 0)
    if spectra.size(1) > 25:
        spectra = spectra[:, :25]
    return spectra.abs()


test_program = case.test()
