"""Lists of tuples of numbers in order: by the first field, then the next."""

from typing import List, Tuple

import torch
from cases import Cases, x

case = Cases()

ROWS = {"dynamic_axes": {"x": {0: "n"}}, "others": [(x(6, 3),), (x(1, 3),), (torch.tensor([[2.0, 1, 0], [1, 1, 1], [-1, 0, 1], [3, 0, 0]]),)]}


@case.forward(x(4, 3), **ROWS)
def candidates_by_score(self, x):
    made: List[Tuple[float, int]] = []
    for i in range(x.size(0)):
        made.append((float(x[i].sum()), i))
    best = sorted(made)
    made.sort(reverse=True)
    first = made[0]
    made.append((9.0, 9))
    made.sort()
    return torch.tensor([i for _, i in best]), first[1], first[0], [i for _, i in made], len(made)


@case.forward(x(4, 3), **ROWS)
def ties_are_left_to_the_next_field(self, x):
    made: List[Tuple[int, float, int]] = []
    for i in range(x.size(0)):
        made.append((int(x[i].argmax()), float(x[i, 0]), i))
        made.append((int(x[i].argmax()), float(x[i, 0]), -i))
    made.sort()
    return [a for a, _, _ in made], [b for _, b, _ in made], [c for _, _, c in made]


@case.forward(x(4, 3), **ROWS)
def of_known_length(self, x):
    made = [(float(x[0, 0]), 3), (float(x[0, 1]), 2), (float(x[0, 0]), 1)]
    names = [(2, 1), (1, 5), (1, 2)]
    made.sort()
    return [i for _, i in made], made[0][0], [b for _, b in sorted(names)]


@case.forward(x(4, 3), **ROWS)
def of_text_that_is_known(self, x):
    steps = [("shift", 2), ("scale", 3), ("scale", 1)]
    for name, by in sorted(steps):
        x = x * by if name == "scale" else x + by
    steps.sort(reverse=True)
    for name, by in steps[:2]:
        x = x * by if name == "scale" else x - by
    table = {"b": x.size(0), "a": 2, "c": x.size(1)}
    return x, [value for _, value in sorted(table.items())], [key == "a" for key in sorted(table.keys())]


test_program = case.test()
