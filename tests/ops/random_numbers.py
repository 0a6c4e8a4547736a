import functools

import torch
from harness import case, floats
from torch import distributions

aten = torch.ops.aten
OPSETS = (18, 20, 21, 26)  # from 22 on onnxruntime draws in Dropout alone
n = 2000


def looks_like(want, got, mean, std, kurtosis):
    """Shape, dtype, and moments within a few of their own deviations, of which that of the deviation follows from the fourth moment."""
    if got.shape != tuple(want.shape) or str(got.dtype) != str(want.dtype).removeprefix("torch."):
        return False
    values = got.astype(float)
    room = 6 * std / max(values.size, 1) ** 0.5 + 1e-6
    share = max(0.1, 6 * ((kurtosis - 1) / max(4 * values.size, 1)) ** 0.5)
    return abs(values.mean() - mean) < room and abs(values.std() - std) < share * std + 0.01


def drawn(fn, *args, mean, std, kurtosis=3, **options):
    check = functools.partial(looks_like, mean=mean, std=std, kurtosis=kurtosis)
    return case(fn, *args, opsets=OPSETS, again=False, check=check, **options)


def permutation(want, got):
    return sorted(got.tolist()) == list(range(len(want))) and got.tolist() != list(range(len(want)))


def sample_without_zero(want, got):
    """Categories 0 and 3 of probability zero; without replacement no category twice."""
    return got.shape == tuple(want.shape) and got.dtype == "int64" and set(got.flatten().tolist()) <= {1, 2, 4}


def distinct(want, got):
    return sample_without_zero(want, got) and all(len(set(row)) == len(row) for row in got.reshape(-1, got.shape[-1]).tolist())


flat, weights = torch.zeros(40, 60), torch.tensor([0.0, 1.0, 3.0, 0.0, 2.0])

CASES = [
    drawn(lambda x: torch.rand(n) + x, torch.tensor(0.0), mean=0.5, std=0.289, name="rand"),
    drawn(lambda x: torch.rand(x.shape[0], x.shape[1]), flat, mean=0.5, std=0.289, name="rand of sizes"),
    drawn(lambda x: torch.rand(n, dtype=torch.float64) + x, torch.tensor(0.0), mean=0.5, std=0.289, name="rand float64"),
    drawn(lambda x: aten.rand.generator([n], generator=None) + x, torch.tensor(0.0), mean=0.5, std=0.289, name="rand.generator"),
    drawn(torch.rand_like, flat, mean=0.5, std=0.289),
    # Where Dropout alone draws, each of these has a seed next to the others'.
    drawn(lambda x: torch.cat([torch.rand(1) for _ in range(200)]) + x, torch.tensor(0.0), mean=0.5, std=0.289, name="many draws of one number", since=22),
    drawn(lambda x: torch.stack([torch.rand(3, 5) for _ in range(40)])[:, 0, :4] + x, torch.tensor(0.0), mean=0.5, std=0.289, name="many draws of few numbers", since=22),
    drawn(lambda x: torch.rand_like(x) - torch.rand_like(x), flat, mean=0, std=0.408, name="two draws"),
    drawn(lambda x: torch.rand(()) * 0 + x[0, 0] + torch.rand(0, 3).sum(), flat + 3, mean=3, std=0, name="rand of no and of one number"),
    drawn(lambda x: torch.randn(n) + x, torch.tensor(0.0), mean=0, std=1, name="randn"),
    drawn(lambda x: aten.randn.generator([n], generator=None) + x, torch.tensor(0.0), mean=0, std=1, name="randn.generator"),
    drawn(torch.randn_like, flat, mean=0, std=1),
    drawn(torch.randn_like, flat, mean=0, std=1, dtypes=[torch.float16, torch.float64]),
    *(drawn(lambda x, fn=fn: torch.view_as_real(fn(x.to(torch.complex64)) + x), flat, mean=mean, std=std, name=f"complex {name}")
      for name, fn, mean, std in (("rand_like", torch.rand_like, 0.5, 0.289), ("randn_like", torch.randn_like, 0, 0.707),
                                  ("randn", lambda x: torch.randn(x.shape, dtype=torch.complex64), 0, 0.707),
                                  ("rand", lambda x: torch.rand(x.shape, dtype=torch.complex64), 0.5, 0.289),
                                  ("normal_", lambda x: x.clone().normal_(2.0, 0.5), 2, 0.354),
                                  ("normal of numbers", lambda x: torch.normal(1.0, 2.0, x.shape, dtype=torch.complex64), 1, 1.414),
                                  ("normal of a mean", lambda x: torch.normal(torch.zeros_like(x), torch.full(x.shape, 2.0)), 0, 1.414), ("uniform_", lambda x: x.clone().uniform_(-1, 3), 1, 1.155))),
    drawn(lambda x: torch.randint(10, (n,)) + x, torch.tensor(0), mean=4.5, std=2.872, name="randint"),
    drawn(lambda x: torch.randint(-5, 5, (n,), dtype=torch.int32) + x, torch.tensor(0, dtype=torch.int32), mean=-0.5, std=2.872, name="randint.low"),
    drawn(torch.randint_like, flat, 10, mean=4.5, std=2.872),
    drawn(torch.randint_like, flat.long(), -5, 5, mean=-0.5, std=2.872),
    case(lambda x: torch.randperm(x.shape[0]), torch.zeros(40), check=permutation, opsets=OPSETS, name="randperm"),
    case(lambda x: torch.randperm(50) + x, torch.tensor(0), check=permutation, opsets=OPSETS, name="randperm of a constant"),
    drawn(lambda x: aten.uniform.default(x, 2.0, 4.0), flat, mean=3, std=0.577, name="uniform"),
    drawn(lambda x: torch.empty_like(x).uniform_(-1, 1), flat, mean=0, std=0.577, name="uniform_"),
    drawn(lambda x: torch.empty_like(x).normal_(1, 2), flat, mean=1, std=2, name="normal_"),
    drawn(lambda x: torch.empty_like(x).random_(10), flat.long(), mean=4.5, std=2.872, name="random_.to"),
    drawn(lambda x: torch.empty_like(x).random_(), flat.bool(), mean=0.5, std=0.5, name="random_ of bools"),
    *[drawn(lambda x, end=end: torch.empty_like(x).random_() / end, flat.to(dtype), mean=0.5, std=0.289, name=f"random_ of {dtype}")
      for dtype, end in ((torch.uint8, 255), (torch.int8, 127), (torch.int32, 2**31), (torch.int64, 2.0**63), (torch.float16, 2**11), (torch.float32, 2**24))],
    drawn(aten.normal_functional.default, flat, 1.0, 2.0, mean=1, std=2),
    drawn(aten.exponential.default, flat, 2.0, mean=0.5, std=0.5, kurtosis=9),
    drawn(aten.log_normal.default, flat, 0.0, 0.25, mean=1.0317, std=0.262),
    drawn(aten.geometric.default, flat, 0.25, mean=4, std=3.464, kurtosis=9.1),
    case(aten.cauchy.default, flat, check="shapes", opsets=OPSETS),
    case(aten.rrelu_with_noise_functional.default, floats(3, 4), floats(3, 4), 0.1, 0.4),
    drawn(lambda x: aten.rrelu_with_noise_functional(x - 2, x, 0.25, 0.75, True)[0], flat, mean=-1, std=0.2887, name="rrelu in training"),
    drawn(torch.normal, flat + 3, flat + 2, mean=3, std=2),
    *[drawn(torch.normal, flat.to(of_mean) + 3, flat.to(of_std) + 2, mean=3, std=2)
      for of_mean, of_std in ((torch.float32, torch.float64), (torch.float64, torch.float32), (torch.float16, torch.float64), (torch.float32, torch.int64), (torch.bfloat16, torch.float32))],
    drawn(lambda x, y: torch.normal(x, y) + x, flat + 3, flat.double() + 2, mean=6, std=2, name="normal of another dtype, added"),
    drawn(torch.normal, flat + 3, torch.full((60,), 2.0, dtype=torch.float64), mean=3, std=2),
    drawn(torch.normal, flat + 3, 2.0, mean=3, std=2),
    drawn(torch.normal, 3.0, flat + 2, mean=3, std=2),
    drawn(lambda x: torch.normal(3.0, 2.0, (n,)) + x, torch.tensor(0.0), mean=3, std=2, name="normal.float_float"),
    drawn(torch.bernoulli, flat + 0.25, mean=0.25, std=0.433),
    drawn(torch.bernoulli, flat, 0.25, mean=0.25, std=0.433),
    drawn(aten.bernoulli.p, flat, 0.25, mean=0.25, std=0.433),
    drawn(aten.bernoulli.Tensor, flat, torch.tensor(0.25), mean=0.25, std=0.433),
    drawn(torch.poisson, flat + 4, mean=4, std=2),
    drawn(torch.poisson, flat.double() + 100, mean=100, std=10),
    case(torch.poisson, torch.zeros(2, 3), opsets=OPSETS),
    drawn(torch._standard_gamma, flat + 4, mean=4, std=2, kurtosis=4.5),
    drawn(torch._standard_gamma, flat.double() + 0.25, mean=0.25, std=0.5, kurtosis=27),
    drawn(torch._standard_gamma, flat + 1000, mean=1000, std=1000**0.5),
    case(torch._standard_gamma, torch.tensor([0.0, 1e-6, float("inf")]), opsets=OPSETS, again=False, dynamic=False, tolerance=(1e-6, 0)),
    drawn(lambda x: torch._standard_gamma(x).expand(n) * 0 + 3, torch.tensor(2.0), mean=3, std=0, name="standard_gamma of a number"),
    drawn(lambda x: torch._sample_dirichlet(x)[:, :20], flat + 0.5, mean=1 / 60, std=(1 / 60 * 59 / 60 / 31) ** 0.5, dynamic=False, name="dirichlet"),
    case(torch._sample_dirichlet, torch.tensor([3.0]), opsets=OPSETS, dynamic=False, tolerance=(1e-9, 0)),
    drawn(lambda x: distributions.Beta(x + 2, x + 3, validate_args=False).rsample(), flat, mean=0.4, std=0.2, dynamic=False, name="beta"),
    # Equal streams of both would halve the deviation.
    drawn(lambda x: distributions.Gamma(x + 4, x + 1, validate_args=False).rsample() - torch._standard_gamma(x + 4), flat, mean=0, std=8**0.5, name="independent gammas"),
    case(torch.multinomial, weights, 2, check=distinct, opsets=OPSETS, dynamic=False, again=False),
    case(torch.multinomial, weights.repeat(4, 1), 3, check=distinct, opsets=OPSETS, dynamic={0: [0]}, again=False),
    case(torch.multinomial, weights.repeat(4, 1), 40, True, check=sample_without_zero, opsets=OPSETS, dynamic={0: [0]}, again=False),
]
