import torch
from harness import case, floats, ints
from torch import nn
from torch.nn import functional as F

aten = torch.ops.aten
HALVES = [torch.float16, torch.bfloat16]
line, image, volume = floats(2, 4, 9), floats(2, 4, 9, 8), floats(2, 4, 5, 6, 7)
BATCH_AND_SPACE = {0: [0, 2, 3]}


def transposed(x, w):
    return aten.convolution.default(x, w, None, [2, 2], [1, 1], [1, 1], True, [1, 1], 2)


def conv_of_each(x, weight, bias):
    """Each image of a batch has a weight of its own."""
    groups = x.shape[0]
    result = F.conv2d(x.flatten(0, 1)[None], weight.flatten(0, 1), bias.flatten(), padding=1, stride=(2, 1), groups=groups)
    return result.unflatten(1, (groups, -1))[0]


def same_conv_of_each(x, weight):
    return F.conv1d(x.flatten(0, 1), weight.flatten(0, 1), padding="same", dilation=2, groups=x.shape[0])


def conv_transpose_of_each(x, weight):
    return F.conv_transpose2d(x.flatten(0, 1)[None], weight.flatten(0, 1), stride=2, padding=1, groups=x.shape[0])


def padded_by_kernel(x, weight):
    return F.conv1d(x, weight, padding=weight.shape[-1] - 1, dilation=2)


def padded_by_size(x, weight):
    return F.conv2d(x, weight, stride=2, padding=(x.shape[-1] // 4, 1))


def transposed_and_cut_by_kernel(x, weight):
    return F.conv_transpose2d(x, weight, stride=2, padding=(weight.shape[-2] // 2, 1), output_padding=1)


class UpTo(nn.Module):
    """The output padding follows from the sizes of what the result is to fit."""

    def __init__(self, transposed):
        super().__init__()
        self.up = transposed

    def forward(self, x, like):
        return self.up(x, output_size=like.shape[-2:])


CASES = [
    case(conv_of_each, floats(2, 3, 5, 6), floats(2, 4, 3, 3, 3), floats(2, 4), dynamic={0: [0, 2], 1: [0], 2: [0]}),
    case(same_conv_of_each, floats(2, 3, 8), floats(2, 4, 3, 3), dynamic={0: [0, 2], 1: [0]}),
    case(conv_transpose_of_each, floats(2, 3, 5, 6), floats(2, 3, 4, 3, 2), dynamic={0: [0, 2], 1: [0]}),
    case(padded_by_kernel, line, floats(6, 4, 3), dynamic={0: [0, 2], 1: [2]}),
    case(padded_by_kernel, floats(4, 9), floats(6, 4, 3), dynamic={0: [1], 1: [2]}),
    case(padded_by_size, image, floats(6, 4, 3, 2), dynamic=BATCH_AND_SPACE),
    case(transposed_and_cut_by_kernel, image, floats(4, 6, 5, 4), dynamic={0: [0, 2, 3], 1: [2]}),
    case(UpTo(nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1)), floats(2, 4, 5, 6), floats(2, 3, 10, 12), dynamic={0: [0, 2], 1: [0, 2]}),
    case(UpTo(nn.ConvTranspose2d(4, 6, (3, 2), stride=(2, 3), dilation=(4, 1), groups=2)), floats(4, 3, 4), floats(14, 12), dynamic={0: [2], 1: [1]}, second=(floats(4, 3, 5), floats(14, 16))),
    case(F.conv1d, line, floats(6, 4, 3), floats(6)),
    case(F.conv1d, line, floats(6, 2, 3), stride=2, padding=1, dilation=2, groups=2),
    case(F.conv1d, floats(4, 9), floats(6, 4, 3), floats(6), padding=1),
    case(F.conv1d, floats(2, 0, 4), floats(3, 0, 2), floats(3), name="conv1d_of_no_channels", dynamic={0: [0]}),
    case(F.conv1d, line, floats(6, 4, 4), floats(6), padding="same"),
    case(F.conv1d, line, floats(6, 4, 4), floats(6), padding="valid"),
    case(F.conv1d, line, floats(6, 4, 3), floats(6), dtypes=HALVES, tolerance=(5e-2, 1e-1)),
    case(F.conv2d, image, floats(6, 4, 3, 3), floats(6)),
    case(F.conv2d, image, floats(6, 4, 3, 3), floats(6), dtypes=HALVES, tolerance=(5e-2, 2e-1)),
    case(F.conv2d, image, floats(8, 1, 3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=4),
    case(F.conv2d, floats(4, 9, 8), floats(6, 4, 3, 3), padding=1),
    case(F.conv2d, image, floats(6, 4, 4, 3), floats(6), padding="same", dilation=(2, 1), dynamic={0: [0, 2, 3]}),
    case(F.conv2d, image, floats(6, 4, 4, 3), padding="valid", stride=2),
    case(F.conv2d, image, floats(6, 4, 1, 1), name="a weight that is an input", dynamic={0: [0, 2, 3]}),
    case(nn.Conv2d(4, 6, 3, padding=1), image, dynamic=BATCH_AND_SPACE),
    case(F.conv3d, volume, floats(6, 4, 3, 3, 3), floats(6)),
    case(F.conv3d, volume, floats(4, 2, 2, 3, 2), stride=(1, 2, 1), padding=(1, 0, 1), groups=2),
    case(F.conv3d, floats(4, 5, 6, 7), floats(6, 4, 3, 3, 3), padding="same"),
    case(F.conv3d, volume, floats(6, 4, 2, 3, 3), padding="valid"),
    case(F.conv_transpose1d, line, floats(4, 6, 3), floats(6)),
    case(F.conv_transpose1d, line, floats(4, 3, 3), stride=3, padding=1, output_padding=2, groups=2, dilation=2),
    case(F.conv_transpose1d, floats(4, 9), floats(4, 6, 3)),
    case(F.conv_transpose2d, image, floats(4, 6, 3, 3), floats(6), stride=2, padding=1, output_padding=1),
    case(F.conv_transpose2d, floats(2, 4, 4, 4), floats(4, 2, 4, 5), floats(4), stride=(3, 2), padding=(1, 2), output_padding=(2, 3), groups=2, dilation=4, dynamic={0: [0]}),
    case(F.conv_transpose2d, floats(2, 4, 4, 4), floats(4, 2, 3, 3), floats(2), stride=2, output_padding=3, dilation=4, dynamic={0: [0]}),
    case(F.conv_transpose1d, floats(4, 4), floats(4, 2, 3), stride=2, output_padding=3, dilation=4, dynamic=False),
    case(F.conv_transpose2d, floats(4, 9, 8), floats(4, 3, 2, 3), stride=(2, 3), groups=2),
    # Without instructions for bfloat16, PyTorch adds up in it.
    case(F.conv_transpose2d, image, floats(4, 6, 3, 3), dtypes=HALVES, tolerance=(5e-2, 4e-1), dynamic={0: [0, 2, 3]}),
    case(F.conv_transpose3d, volume, floats(4, 6, 3, 2, 3), floats(6), stride=2, output_padding=1),
    case(F.conv_transpose3d, floats(4, 5, 6, 7), floats(4, 3, 2, 3, 2), groups=2),
    case(transposed, image, floats(4, 3, 3, 3)),
    case(aten.convolution.default, image, floats(6, 4, 3, 3), floats(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    case(aten._convolution.default, image, floats(6, 4, 3, 3), floats(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True),
    case(aten._convolution.deprecated, image, floats(6, 4, 3, 3), floats(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True),
    case(aten._convolution_mode.default, image, floats(6, 4, 3, 3), floats(6), [1, 1], "same", [1, 1], 1),
    case(torch.conv_tbc, floats(9, 2, 4), floats(3, 4, 6), floats(6), 1),

    case(F.conv1d, ints(2, 4, 9), ints(6, 2, 3), ints(6), stride=2, padding=1, dilation=2, groups=2, dynamic={0: [0, 2]}),
    case(F.conv1d, ints(4, 9), ints(6, 4, 4), padding="same", dynamic={0: [1]}),
    case(F.conv2d, ints(2, 4, 9, 8), ints(6, 4, 3, 2), ints(6), stride=(2, 1), padding=1, dynamic={0: [0, 2, 3]}),
    case(F.conv3d, ints(2, 2, 5, 6, 7), ints(2, 1, 3, 2, 2), groups=2, dynamic={0: [0]}),
    case(F.conv_transpose1d, ints(2, 4, 9), ints(4, 3, 3), ints(3), stride=2, padding=1, output_padding=1, dynamic={0: [0, 2]}),
    case(F.conv_transpose2d, ints(2, 4, 5, 6), ints(4, 3, 3, 2), ints(6), stride=(2, 1), padding=1, dilation=2, groups=2, dynamic={0: [0]}),
    # of float64, for which onnxruntime has no kernels
    *[case(F.conv2d, image, floats(6, 2, 3, 2), floats(6), stride=(2, 1), padding=1, dilation=(1, 2), groups=2, dtypes=[torch.float64])],
    case(F.conv_transpose2d, image, floats(4, 3, 3, 2), floats(6), stride=2, padding=1, output_padding=1, groups=2, dtypes=[torch.float64]),
    # the kernel's sizes known late
    case(F.conv1d, ints(2, 4, 9), ints(6, 2, 3), groups=2, stride=2, dilation=2, padding=3, dynamic={0: [2], 1: [2]}),
    case(F.conv2d, ints(2, 4, 9, 8), ints(6, 4, 3, 2), padding="same", dynamic={0: [2, 3], 1: [2, 3]}),
    case(F.conv1d, line, floats(6, 4, 4), floats(6), padding="same", dilation=2, dynamic={0: [2], 1: [2]}),
    case(F.conv2d, floats(4, 9, 8), floats(6, 4, 4, 3), padding="same", dynamic={0: [1, 2], 1: [2, 3]}),
    case(F.conv_transpose2d, ints(2, 4, 5, 6), ints(4, 3, 3, 2), ints(6), stride=2, padding=1, groups=2, dynamic={0: [2, 3], 1: [2, 3]}),
    case(F.conv_transpose3d, ints(2, 2, 3, 4, 3), ints(2, 3, 2, 3, 2), stride=2, dynamic={0: [0]}),
]
