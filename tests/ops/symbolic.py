import math

import torch
from harness import case, floats, ints

x = floats(3, 4)


def scaled(fn, name):
    """The tensor times a number that follows from its sizes."""
    return case(lambda t: t * fn(t.shape[0], t.shape[1]), x, name=name)


def from_item(fn, name):
    """The same with a number out of a tensor."""
    return case(lambda t, n: t * fn(n.item()), x, torch.tensor(3), name=name, dynamic=False, again=False)


CASES = [
    scaled(lambda a, b: a + b, "add"),
    scaled(lambda a, b: a - 2 * b, "sub mul"),
    scaled(lambda a, b: (a * b) // 3, "floordiv"),
    scaled(lambda a, b: (a - b) // 2, "floordiv of a negative"),
    scaled(lambda a, b: (a * b) % 5, "mod"),
    scaled(lambda a, b: a / b, "truediv"),
    scaled(lambda a, b: a**2, "pow"),
    scaled(lambda a, b: b**0.5, "root"),
    scaled(lambda a, b: b**-1, "negative power"),
    scaled(lambda a, b: -a, "neg"),
    scaled(lambda a, b: abs(a - b), "abs"),
    scaled(lambda a, b: torch.sym_float(a) * 0.5, "float"),
    scaled(lambda a, b: torch.sym_int(a / 2), "int"),
    scaled(lambda a, b: torch._sym_sqrt(a), "sqrt"),
    scaled(lambda a, b: 1 / torch._sym_sqrt(a), "one by sqrt"),
    scaled(lambda a, b: math.floor(a / 2), "floor"),
    scaled(lambda a, b: math.ceil(a / 2), "ceil"),
    scaled(lambda a, b: math.trunc(a / 2), "trunc"),
    scaled(lambda a, b: round(a / 2), "round"),
    scaled(lambda a, b: torch.sym_max(a, b), "sym_max"),
    scaled(lambda a, b: torch.sym_min(a, 2 * b), "sym_min"),
    scaled(lambda a, b: torch.sym_sum([a, b, 2]), "sym_sum"),
    scaled(lambda a, b: torch.sym_ite(a > b, 2, 3), "sym_ite"),
    case(lambda t: (t.shape[0], t.shape[1] * 2 + 1), x, name="sizes as outputs"),
    case(lambda t: (t, 3, 2.5, True), x, name="constants as outputs"),
    case(lambda t: (t.numel(), t.sum()), x, name="numel as output"),
    *(
        from_item(fn, f"item {name}")
        for name, fn in {
            "itself": lambda n: n,
            "add": lambda n: n + 1,
            "mul": lambda n: 2 * n - 1,
            "mod": lambda n: n % 2,
            "float": lambda n: n * 0.5,
        }.items()
    ),
    case(lambda t, n: t * n.item(), x, torch.tensor(2.5), name="item of a float", dynamic=False),
    case(lambda t, n: torch.full((2,), n.item()), x, torch.tensor(2.5), name="full of an item", dynamic=False),
    case(lambda n: n.item() + 1, ints(1), name="item as output", dynamic=False),
    case(
        lambda n: torch.stack([torch.full((), n.item() % by, dtype=torch.float64) for by in (0.1, -0.1, 0.25, 3.0)]),
        torch.tensor(1.0, dtype=torch.float64),
        name="remainder of an item",
        dynamic=False,
    ),
]
