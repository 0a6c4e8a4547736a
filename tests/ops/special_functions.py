import torch
from harness import case, floats, ints
from torch import special

aten = torch.ops.aten
wide, positive = torch.linspace(-9.05, 9.1, 41), torch.tensor([1e-3, 0.1, 0.5, 1.0, 1.5, 2.0, 3.7, 11.0, 13.0, 40.0, 100.0])
degrees = torch.tensor([0, 1, 2, 3, 4, 5, 9, -1])

POLYNOMIALS = [
    getattr(special, f"{name}")
    for name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
                 "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
                 "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
                 "shifted_chebyshev_polynomial_w")
]

EDGES = torch.tensor([0.0, 1.0, 2.0, -1.0, float("inf"), -float("inf"), float("nan")])

CASES = [
    *(
        [
            case(op, floats(4, 1, low=-0.9, high=0.9), degrees.float()),
            case(op, floats(4, 1, low=0.05, high=0.95), degrees, dtypes=[torch.float64]),
            case(op, floats(4, low=1.5), 4),
            case(op, 0.3, degrees[:7]),
            case(op, ints(3, low=0, high=2), 2),
        ]
        for op in POLYNOMIALS
    ),
    *(
        [case(op, wide), case(op, positive), case(op, torch.tensor([0.0, -1.0, -2.0, float("nan"), float("inf")])), case(op, ints(4, low=1)), case(op, positive, dtypes=[torch.float64, torch.float16])]
        for op in (torch.lgamma, torch.digamma)
    ),
    case(special.gammaln, positive),
    case(special.psi, positive),
    case(special.digamma, positive),
    *(case(torch.polygamma, n, positive) for n in (0, 1, 2, 5)),
    case(torch.polygamma, 2, wide, tolerance=(2e-3, 1e-3)),
    case(special.polygamma, 1, positive),
    *[case(op, floats(2, 0, 3)) for op in (torch.lgamma, torch.digamma, special.bessel_j0, special.airy_ai, special.erfcx)],
    case(torch.mvlgamma, positive + 2, 3),
    case(special.multigammaln, positive + 2, 2),
    case(special.zeta, torch.tensor([1.0, 0.5, 2.0, 3.0, 5.5]), torch.tensor([[0.5], [2.0], [10.0], [0.0], [-1.0], [-1.5]])),
    case(special.zeta, 2.5, positive),
    case(special.zeta, positive + 1.1, 2),
    case(torch.erfinv, torch.tensor([0.0, 0.1, -0.5, 0.9, 0.9999, -0.999999, 1.0, -1.0, 1.5, float("nan")])),
    case(special.erfinv, floats(4, low=-0.99, high=0.99), dtypes=[torch.float64]),
    case(special.ndtri, torch.tensor([0.0, 1e-30, 1e-10, 0.01, 0.5, 0.9, 0.99999, 1.0, -0.5])),
    case(special.log_ndtr, torch.cat([wide, torch.tensor([-50.0, 20.0])])),
    case(special.log_ndtr, torch.tensor([4.0, 8.0, 12.0]), tolerance=(1e-4, 0), again=False, name="log_ndtr near 0"),
    case(special.erfcx, wide),
    case(special.erfcx, torch.tensor([30.0, 1e4, float("inf")])),
    *(
        [case(op, positive[:, None], torch.tensor([0.0, 0.1, 1.0, 5.0, 30.0, 90.0, float("inf")])), case(op, torch.tensor([0.0, -1.0]), torch.tensor([1.0, 1.0])),
         case(op, torch.tensor([0.0, float("nan"), 2.0]), torch.tensor([float("nan"), 1.0, float("nan")]))]
        for op in (torch.igamma, torch.igammac, special.gammainc, special.gammaincc)
    ),
    *[case(op, large + 0.5, large * near, again=False, name=f"{op.__name__} of large numbers, {near} of them", dtypes=[torch.float64], tolerance=(1e-6, 1e-8))
      for large in [torch.tensor([900.0, 1600.0, 8000.0, 1e5, 1e7])] for near in (0.99, 1.0, 1.01) for op in (torch.igamma, torch.igammac)],
    case(lambda a, x: (a.clone().igamma_(x), a.clone().igammac_(x)), positive.half(), positive, name="igamma_ of other dtypes", tolerance=(1e-2, 1e-2)),
    *(
        [case(op, wide), case(op, positive), case(op, torch.tensor([0.0, float("nan"), 25.0]))]
        for op in (torch.i0, special.i0, special.i0e, special.i1, special.i1e, special.bessel_j0, special.bessel_j1,
                   special.modified_bessel_i0, special.modified_bessel_i1, special.spherical_bessel_j0, special.airy_ai)
    ),
    *(
        [case(op, positive), case(op, torch.tensor([0.0, -1.0, float("nan")]))]
        for op in (special.bessel_y0, special.bessel_y1, special.modified_bessel_k0, special.modified_bessel_k1,
                   special.scaled_modified_bessel_k0, special.scaled_modified_bessel_k1)
    ),
    case(special.i0e, torch.tensor([299.0, 301.0, 1e5])),

    *(case(op, floats(4, 1, low=-0.9, high=0.9), floats(6, low=-1.9, high=4.9)) for op in POLYNOMIALS),
    *[case(op, torch.tensor([0.0, -0.0, 1e-300, 1e-9, 0.3, -0.999, 1.0, 1.7, -3.0, 5.9, 30.0, -1e300, float("inf"), -float("inf"), float("nan")], dtype=torch.float64), tolerance=(1e-14, 1e-15)) for op in (torch.erf, torch.nn.functional.gelu)],
    *[case(op, EDGES[:, None], EDGES) for op in (torch.igamma, torch.igammac)],
    case(special.zeta, torch.tensor([2.0, 3.0, 4.0, 2.5], dtype=torch.float64), torch.tensor([[-63.4], [-500.3], [-1000.75], [90.5]], dtype=torch.float64)),
    case(torch.polygamma, 1, torch.tensor([-63.4, -500.3])),
    case(torch.polygamma, 4, torch.tensor([-63.4, -500.3, -1000.75, -30.0])),
]
