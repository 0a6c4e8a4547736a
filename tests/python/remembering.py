"""A file beside a model's, which keeps what its functions are given."""

RUNS = 0
SEEN = []


def remember(x):
    global RUNS
    RUNS += 1
    SEEN.append(x)
    return x * len(SEEN)
