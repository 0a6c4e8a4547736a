import torch
from harness import bools, case, floats, ints

fft = torch.fft
x, y = floats(3, 8), floats(2, 5, 6)
c = torch.complex(floats(3, 8), floats(3, 8))
d = torch.complex(floats(2, 5, 6), floats(2, 5, 6))
NORMS = (None, "ortho", "forward")
ONE = (fft.fft, fft.ifft, fft.hfft, fft.irfft)
OF_REAL = (fft.rfft, fft.ihfft)
window = torch.hann_window(12)
signal = floats(2, 50)


def spectrum(frames, n=16, batch=2):
    values = torch.complex(floats(batch, n // 2 + 1, frames), floats(batch, n // 2 + 1, frames))
    return values


CASES = [
    *[case(fn, x, norm=norm) for fn in (*ONE, *OF_REAL) for norm in NORMS],
    *[case(fn, c, norm=norm) for fn in ONE for norm in NORMS],
    *[case(fn, x, n=n, dim=0, dynamic={0: [1]}) for fn in (*ONE, *OF_REAL) for n in (2, 5)],
    *[case(fn, c, n=n) for fn in ONE for n in (1, 4, 7, 11)],
    *[case(fn, floats(7), n=None) for fn in (*ONE, *OF_REAL)],
    *[case(fn, value) for fn in (*ONE, *OF_REAL) for value in (ints(3, 5), bools(3, 5))],
    *[case(fn, y, norm=norm) for fn in (fft.fft2, fft.fftn, fft.rfft2, fft.rfftn, fft.ihfft2, fft.ihfftn) for norm in NORMS],
    # exact zeros, the sign of which decides an angle
    *[case(lambda x: fft.rfft(x, dim=0).angle()[[0, -1] if x.shape[0] % 2 == 0 else [0]], -1 - floats(n, 2).abs(), dynamic=d, opsets=[13, 18, 20], name=f"angles of real bins of {n}")
      for n, d in ((3, False), (6, False), (400, False), (512, False), (600, False), (1001, False))],
    case(lambda x: (fft.rfft(x).angle()[:, 0], fft.fft(x).angle()[:, 0]), -1 - floats(3, 12).abs(), name="angle of the sum"),
    *[case(fn, floats(2, 400), tolerance=(0, 5e-5), name=f"{fn.__name__} of many") for fn in (fft.rfft, fft.hfft)],
    *[case(fn, d, norm=norm) for fn in (fft.ifft2, fft.ifftn, fft.irfft2, fft.irfftn, fft.hfft2, fft.hfftn) for norm in NORMS],
    *[case(fn, y, s=(4, 7), dim=(0, 2), dynamic={0: [1]}) for fn in (fft.fftn, fft.rfftn, fft.ihfftn, fft.ifftn, fft.irfftn, fft.hfftn)],
    *[case(fn, y, s=(4, -1)) for fn in (fft.fft2, fft.rfft2)],
    *[case(fn, value) for fn in (fft.fftshift, fft.ifftshift) for value in (x, y, c)],
    *[case(fn, y, dim=(0, 1)) for fn in (fft.fftshift, fft.ifftshift)],
    case(fft.fft, floats(3, 8, dtype=torch.float64)),
    case(fft.irfft, c.to(torch.complex128)),
    case(lambda: (fft.fftfreq(5, 0.5), fft.rfftfreq(6), fft.fftfreq(4)), name="frequencies"),
    case(lambda: (fft.fftfreq(5001, 0.3), fft.rfftfreq(9000)), name="many-frequencies"),
    *[case(torch.ops.aten._fft_c2c.default, d, [1, 2], norm, forward) for norm in (0, 1, 2) for forward in (True, False)],
    *[case(torch.ops.aten._fft_r2c.default, y, [0, 2], norm, half) for norm in (0, 1) for half in (True, False)],
    *[case(torch.ops.aten._fft_c2r.default, d, [0, 2], norm, size, dynamic={0: [0, 1]}) for norm in (0, 2) for size in (10, 11)],
    # windows
    *[case(torch.stft, signal, 16, return_complex=True, **options)
      for options in ({}, {"hop_length": 5}, {"center": False}, {"normalized": True}, {"onesided": False}, {"pad_mode": "constant"})],
    case(torch.stft, signal, 16, 4, 12, window, return_complex=True, dynamic={0: [0, 1]}),
    case(torch.stft, signal, 16, 4, 12, None, return_complex=True),
    # windows of another dtype than the signal
    case(torch.stft, floats(40), 16, 4, 16, floats(16).double(), return_complex=True, dynamic=False),
    case(torch.stft, floats(40).double(), 16, 4, 16, floats(16), return_complex=True, dynamic=False),
    case(torch.stft, floats(40), 16, 4, 16, ints(16), return_complex=True, dynamic=False),
    case(torch.istft, spectrum(6), 16, 4, 16, floats(16, low=0.5, high=1).double(), dynamic=False),
    case(torch.istft, spectrum(6).to(torch.complex128), 16, 4, 16, floats(16, low=0.5, high=1), dynamic=False),
    case(torch.stft, floats(50), 16, 4, return_complex=False),
    case(torch.stft, torch.complex(floats(40), floats(40)), 16, return_complex=True),
    *[case(torch.ops.aten.stft.center, signal, 16, 4, None, None, center, "reflect", False, None, True, dynamic={0: [0]}) for center in (True, False)],
    case(torch.istft, spectrum(6), 16, dynamic={0: [0, 2]}),
    case(torch.istft, spectrum(6), 16, 4, 12, window, dynamic={0: [0]}),
    case(torch.istft, spectrum(6), 16, normalized=True, dynamic={0: [0, 2]}),
    case(torch.istft, spectrum(6)[0], 16, length=14, dynamic=False),
    case(torch.istft, spectrum(4), 16, length=40, dynamic=False),
    case(lambda v: torch.istft(torch.stft(v, 16, 4, window=torch.hann_window(16), return_complex=True), 16, 4, window=torch.hann_window(16), length=v.shape[-1]), signal,
         dynamic={0: [0]}, name="there and back"),
]
