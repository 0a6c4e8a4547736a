#include "reader/torchscript/upgraders.h"

#include <string>

namespace flambeau::torchscript {
namespace {

constexpr Upgrader kUpgraders[] = {
#define FLAMBEAU_UPGRADER(name, version, old_schema, function) {name, version, old_schema, function},
#include "reader/torchscript/upgraders.def"
#undef FLAMBEAU_UPGRADER
};

}  // namespace

const Upgrader* FindUpgrader(std::string_view name, std::string_view overload, int64_t version) {
  for (const Upgrader& upgrader : kUpgraders) {
    if (version >= upgrader.version || !upgrader.name.starts_with(name)) continue;
    const std::string_view rest = upgrader.name.substr(name.size());
    if (overload.empty() ? rest.empty() : rest.starts_with('.') && rest.substr(1) == overload) return &upgrader;
  }
  return nullptr;
}

// Before version 4 division of integers floored towards zero. Before 5, full()
// of an integer was a float. Before 8 and 9, linspace and logspace could leave
// the number of steps out, which meant 100. Before 10, gelu had no
// approximation.
const std::string_view kUpgraderCode = R"py(def div_tensors(self: Tensor, other: Tensor) -> Tensor:
  if torch.is_floating_point(self):
    floating = True
  else:
    floating = torch.is_floating_point(other)
  if floating:
    result = torch.true_divide(self, other)
  else:
    result = torch.divide(self, other, rounding_mode="trunc")
  return result
def div_tensor_number(self: Tensor, other: number) -> Tensor:
  if torch.is_floating_point(self):
    floating = True
  else:
    floating = isinstance(other, float)
  if floating:
    result = torch.true_divide(self, other)
  else:
    result = torch.divide(self, other, rounding_mode="trunc")
  return result
def div_tensors_mode(self: Tensor, other: Tensor, rounding_mode: Optional[str]=None) -> Tensor:
  return torch.divide(self, other, rounding_mode=rounding_mode)
def div_tensor_number_mode(self: Tensor, other: number, rounding_mode: Optional[str]=None) -> Tensor:
  return torch.divide(self, other, rounding_mode=rounding_mode)
def div_tensors_inplace(self: Tensor, other: Tensor) -> Tensor:
  if torch.is_floating_point(self):
    floating = True
  else:
    floating = torch.is_floating_point(other)
  if floating:
    result = torch.true_divide_(self, other)
  else:
    result = torch.divide_(self, other, rounding_mode="trunc")
  return result
def div_tensor_number_inplace(self: Tensor, other: number) -> Tensor:
  if torch.is_floating_point(self):
    floating = True
  else:
    floating = isinstance(other, float)
  if floating:
    result = torch.true_divide_(self, other)
  else:
    result = torch.divide_(self, other, rounding_mode="trunc")
  return result
def div_tensors_mode_inplace(self: Tensor, other: Tensor, rounding_mode: Optional[str]=None) -> Tensor:
  return torch.divide_(self, other, rounding_mode=rounding_mode)
def div_tensor_number_mode_inplace(self: Tensor, other: number, rounding_mode: Optional[str]=None) -> Tensor:
  return torch.divide_(self, other, rounding_mode=rounding_mode)
def full(size: List[int], fill_value: number, dtype: Optional[int]=None, layout: Optional[int]=None, device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  if torch.__is__(dtype, None):
    value = annotate(number, float(fill_value))
  else:
    value = fill_value
  return torch.full(size, value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
def linspace(start: number, end: number, steps: Optional[int]=None, dtype: Optional[int]=None, layout: Optional[int]=None, device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  if torch.__is__(steps, None):
    count = 100
  else:
    count = unchecked_cast(int, steps)
  return torch.linspace(start, end, count, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
def logspace(start: number, end: number, steps: Optional[int]=None, base: float=10., dtype: Optional[int]=None, layout: Optional[int]=None, device: Optional[Device]=None, pin_memory: Optional[bool]=None) -> Tensor:
  if torch.__is__(steps, None):
    count = 100
  else:
    count = unchecked_cast(int, steps)
  return torch.logspace(start, end, count, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
def gelu(self: Tensor) -> Tensor:
  return torch.gelu(self, approximate="none")
def full_out(size: List[int], fill_value: number, out: Tensor) -> Tensor:
  return torch.full(size, fill_value, out=out)
def linspace_out(start: number, end: number, steps: Optional[int], out: Tensor) -> Tensor:
  if torch.__is__(steps, None):
    count = 100
  else:
    count = unchecked_cast(int, steps)
  return torch.linspace(start, end, count, out=out)
def logspace_out(start: number, end: number, steps: Optional[int], base: float, out: Tensor) -> Tensor:
  if torch.__is__(steps, None):
    count = 100
  else:
    count = unchecked_cast(int, steps)
  return torch.logspace(start, end, count, base, out=out)
def gelu_out(self: Tensor, out: Tensor) -> Tensor:
  return torch.gelu(self, approximate="none", out=out)
def div_tensors_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
  if torch.is_floating_point(self):
    floating = True
  else:
    if torch.is_floating_point(other):
      floating = True
    else:
      floating = torch.is_floating_point(out)
  if floating:
    result = torch.true_divide(self, other, out=out)
  else:
    result = torch.divide(self, other, rounding_mode="trunc", out=out)
  return result
def div_tensors_mode_out(self: Tensor, other: Tensor, rounding_mode: Optional[str], out: Tensor) -> Tensor:
  return torch.divide(self, other, rounding_mode=rounding_mode, out=out)
)py";

}  // namespace flambeau::torchscript
