"""What scripts ask of dtypes before they convert."""

import torch
from cases import Cases, x

case = Cases()


@case.forward(x(4, 3), torch.tensor(2), torch.arange(3, dtype=torch.int32), others=[(x(2, 3), torch.tensor(1), torch.arange(3, dtype=torch.int32))], dynamic_axes={"x": {0: "n"}})
def of_operands(self, x, k, i):
    tensors = i.to(torch.result_type(i, k)), i.to(torch.result_type(x, i)), i.to(torch.result_type(k, x.double()[0, 0])), i.to(torch.result_type(i > 0, k))
    numbers = i.to(torch.result_type(i, 2.5)), i.to(torch.result_type(2, i)), i.to(torch.result_type(x.half(), 1e9)), i.to(torch.result_type(i, float(x.sum())))
    return tensors, numbers, i.to(torch.result_type(1, 2.0)), i.to(torch.result_type(x, x.t()[:, :1]))


@case.forward(x(4, 3), torch.arange(3, dtype=torch.int32))
def of_dtypes(self, x, i):
    flags = torch.can_cast(x.dtype, i.dtype), torch.can_cast(i.dtype, x.dtype), torch.can_cast(i.dtype, torch.bool), torch.can_cast(torch.float64, x.dtype)
    return i.to(torch.promote_types(x.dtype, i.dtype)), i.to(torch.promote_types(i.dtype, torch.int64)), flags


test_program = case.test()
