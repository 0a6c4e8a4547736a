"""Random programs of views and writes.

A program is drawn by running it: each step is recorded with its constants, so that replaying the steps on equal
inputs gives the same tensors, eagerly and under torch.export.
"""

import random

import torch

LAYOUTS = ("contiguous", "transposed", "channels_last", "sliced")


def make_input(rng, layout):
    sizes = [rng.randint(1, 4) for _ in range(4 if layout == "channels_last" else rng.randint(1, 4))]
    if layout == "channels_last":
        return torch.randn(sizes).to(memory_format=torch.channels_last)
    if layout == "transposed" and len(sizes) > 1:
        return torch.randn(sizes[::-1]).permute(*reversed(range(len(sizes))))
    if layout == "sliced":
        # Gaps in memory; the storage that a program sees is still dense once it is saved.
        return torch.randn(sizes[:-1] + [sizes[-1] * 2])[..., ::2].clone(memory_format=torch.preserve_format)
    return torch.randn(sizes)


def overlaps(tensor):
    """Whether two elements of the tensor are one element in memory."""
    positions = torch.zeros(tensor.shape, dtype=torch.int64)
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride())):
        shape = [1] * tensor.dim()
        shape[dim] = size
        positions = positions + (torch.arange(size) * stride).reshape(shape)
    return positions.unique().numel() != positions.numel()


def view_steps(rng, t):
    """Views of `t`, as (function name, arguments); a list result is followed by its length."""
    steps = [("detach", ()), ("alias", ()), ("unsqueeze", (rng.randint(0, t.dim()),)), ("squeeze", ()), ("flatten", ())]
    steps.append(("contiguous", ()))
    if t.dim() > 0:
        dim = rng.randrange(t.dim())
        size = t.shape[dim]
        steps += [("select", (dim, rng.randrange(-size, size))), ("unbind", (dim,)), ("chunk", (rng.randint(1, 3), dim))]
        start = rng.randrange(size)
        steps += [("slice", (dim, start, rng.randint(start + 1, size), rng.randint(1, 2)))]
        steps += [("narrow", (dim, start, rng.randint(1, size - start))), ("split", (rng.randint(1, size), dim))]
        steps += [("tensor_split", (rng.randint(1, 3), dim)), ("movedim", (dim, rng.randrange(t.dim())))]
        steps += [("transpose", (dim, rng.randrange(t.dim()))), ("permute", (rng.sample(range(t.dim()), t.dim()),))]
        window = rng.randint(1, size)
        steps += [("unfold", (dim, window, rng.randint(1, 3)))]
        steps += [("reshape", ([-1],)), ("reshape", ([-1] + list(t.shape[1:]),))]
        if 1 in t.shape or rng.random() < 0.2:
            steps.append(("expand", ([3 if s == 1 and rng.random() < 0.5 else s for s in t.shape],)))
    if t.dim() == 2:
        steps.append(("t", ()))
    if t.dim() >= 2:
        steps.append(("diagonal", (rng.randint(-1, 1), 0, 1)))
    if t.is_contiguous() and t.numel() >= 4:
        steps += [("view", ([t.numel()],)), ("as_strided", ([2, 2], [1, 2], t.storage_offset()))]
    if t.is_contiguous() and t.dim() >= 1 and t._base is None and t.numel() >= 3:
        steps.append(("as_strided", ([t.numel() - 1], [1], 1)))
    return steps


def write_steps(rng, t):
    number = round(rng.uniform(-2, 2), 2)
    steps = [("add_", (number,)), ("mul_", (number,)), ("fill_", (number,)), ("zero_", ()), ("relu_", ()), ("neg_", ())]
    steps += [("copy_", ("random", list(t.shape))), ("sub_", ("random", list(t.shape[1:])))]
    steps += [("gt_", (0.0,)), ("masked_fill_", ("mask", list(t.shape), number))]
    if t.dim() > 0 and t.shape[0] > 0:
        steps.append(("index_put_", ([rng.randrange(t.shape[0])], number)))
    return steps


def constant(kind, sizes):
    values = torch.arange(torch.Size(sizes).numel(), dtype=torch.float32).reshape(sizes)
    return torch.sin(values * 1.7 + 0.5) if kind == "random" else torch.sin(values * 2.3) > 0


def apply(name, t, arguments):
    if name == "slice":
        return torch.ops.aten.slice.Tensor(t, *arguments)
    if name == "alias":
        return torch.ops.aten.alias(t)
    if name == "index_put_":
        return t.index_put_((torch.tensor(arguments[0]),), torch.tensor(arguments[1]))
    if name == "as_strided":
        return torch.as_strided(t, *arguments)
    if name == "masked_fill_":
        return t.masked_fill_(constant("mask", arguments[1]), arguments[2])
    if arguments and arguments[0] == "random":
        return getattr(t, name)(constant("random", arguments[1]))
    if name == "expand":
        return t.expand(*arguments[0])
    if name == "permute":
        return t.permute(*arguments[0])
    return getattr(t, name)(*arguments)


def draw(rng, tensor, length):
    """A program over `tensor` as a list of (operation, number of its operand, arguments, list item)."""
    tensors = [tensor.clone(memory_format=torch.preserve_format)]
    program = []
    # Most programs work on a tensor of their own, some on the input itself.
    if rng.random() < 0.7:
        program.append(("clone", 0, (), None))
        tensors.append(tensors[0].clone())
    for _ in range(length):
        # Recent tensors are the more interesting ones.
        which = max(rng.randrange(len(tensors)), rng.randrange(len(tensors)))
        t = tensors[which]
        if t.numel() == 0:
            continue
        roll = rng.random()
        if roll < 0.55:
            name, arguments = rng.choice(view_steps(rng, t))
            if name == "unfold" and overlaps(t):
                continue
        elif roll < 0.9:
            if overlaps(t):
                continue
            name, arguments = rng.choice(write_steps(rng, t))
        else:
            name, arguments = "mul", (1.5,)
        result = apply(name, t, arguments)
        item = None
        if isinstance(result, (tuple, list)):
            item = rng.randrange(len(result))
            result = result[item]
        program.append((name, which, arguments, item))
        tensors.append(result)
    outputs = rng.sample(range(len(tensors)), min(len(tensors), 4)) + [0, len(tensors) - 1]
    return program, outputs


def run(program, outputs, tensor):
    tensors = [tensor]
    for name, which, arguments, item in program:
        result = apply(name, tensors[which], arguments)
        tensors.append(result if item is None else result[item])
    return [tensors[i] for i in outputs]


class Programs(torch.nn.Module):
    """Several programs: the first of them write buffers, the others inputs."""

    def __init__(self, seed, count, length=8, buffers=2):
        super().__init__()
        rng = random.Random(seed)
        torch.manual_seed(seed)
        self.sources = [make_input(rng, rng.choice(LAYOUTS)) for _ in range(count)]
        self.programs = [draw(rng, source, length) for source in self.sources]
        self.buffer_count = buffers
        for i in range(buffers):
            self.register_buffer(f"state{i}", self.sources[i].clone(memory_format=torch.preserve_format))

    def inputs(self):
        return tuple(s.clone(memory_format=torch.preserve_format) for s in self.sources[self.buffer_count :])

    def forward(self, *tensors):
        starts = [getattr(self, f"state{i}") for i in range(self.buffer_count)] + list(tensors)
        return tuple(t for (program, outputs), start in zip(self.programs, starts) for t in run(program, outputs, start))
