#include "reader/torchscript/upgraders.h"

#include <string>

namespace flambeau::torchscript {
namespace {

constexpr Upgrader kUpgraders[] = {
#define FLAMBEAU_UPGRADER(name, version, old_schema, function) {name, version, old_schema, function},
#include "reader/torchscript/upgraders.def"
#undef FLAMBEAU_UPGRADER
};

constexpr Retired kRetired[] = {
#define FLAMBEAU_RETIRED(version, schema, function) {version, schema, function},
#include "reader/torchscript/retired.def"
#undef FLAMBEAU_RETIRED
};

}  // namespace

std::vector<const Retired*> FindRetired(std::string_view name, int64_t version) {
  std::vector<const Retired*> found;
  for (const Retired& retired : kRetired) {
    const bool called = retired.schema.starts_with(name) && std::string_view(".(").find(retired.schema[name.size()]) != std::string_view::npos;
    if (called && version < retired.version) found.push_back(&retired);
  }
  return found;
}

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
// The functions of retired operators follow: before torch 1.8 fft and its like
// took and gave pairs, and "normalized" meant the norm that is "ortho" today. eig
// gave pairs, and of two conjugate vectors the parts; lstsq put what is left of
// each column below its solution.
const std::string_view kUpgraderCode = R"py(def assert_int_or_pair(vals: List[int], name: str, message: str) -> Tensor:
  return torch.zeros([0])
def list_with_default(list: List[int], defaults: List[int]) -> List[int]:
  return list
def implicit_tensor_to_num(a: Tensor) -> number:
  return torch.item(a)
def last_dims(count: int) -> List[int]:
  dims = annotate(List[int], [])
  for i in range(count):
    _0 = torch.append(dims, torch.sub(i, count))
  return dims
def norm_of(normalized: bool, unscaled: str) -> str:
  if normalized:
    norm = "ortho"
  else:
    norm = unscaled
  return norm
def fft(self: Tensor, signal_ndim: int, normalized: bool) -> Tensor:
  return torch.view_as_real(torch.fft_fftn(torch.view_as_complex(torch.contiguous(self)), None, __torch__.flambeau_upgraders.last_dims(signal_ndim), norm=__torch__.flambeau_upgraders.norm_of(normalized, "backward")))
def ifft(self: Tensor, signal_ndim: int, normalized: bool) -> Tensor:
  return torch.view_as_real(torch.fft_ifftn(torch.view_as_complex(torch.contiguous(self)), None, __torch__.flambeau_upgraders.last_dims(signal_ndim), norm=__torch__.flambeau_upgraders.norm_of(normalized, "backward")))
def rfft(self: Tensor, signal_ndim: int, normalized: bool, onesided: bool) -> Tensor:
  dims = __torch__.flambeau_upgraders.last_dims(signal_ndim)
  norm = __torch__.flambeau_upgraders.norm_of(normalized, "backward")
  if onesided:
    result = torch.fft_rfftn(self, None, dims, norm=norm)
  else:
    result = torch.fft_fftn(self, None, dims, norm=norm)
  return torch.view_as_real(result)
def irfft(self: Tensor, signal_ndim: int, normalized: bool, onesided: bool, signal_sizes: List[int]) -> Tensor:
  dims = __torch__.flambeau_upgraders.last_dims(signal_ndim)
  norm = __torch__.flambeau_upgraders.norm_of(normalized, "backward")
  pairs = torch.view_as_complex(torch.contiguous(self))
  if torch.gt(torch.len(signal_sizes), 0):
    sizes = unchecked_cast(Optional[List[int]], signal_sizes)
  else:
    sizes = annotate(Optional[List[int]], None)
  if onesided:
    if torch.eq(torch.len(signal_sizes), 0):
      whole = annotate(List[int], [])
      for i in range(torch.sub(signal_ndim, 1)):
        _0 = torch.append(whole, torch.size(pairs, torch.sub(i, signal_ndim)))
      half = torch.sub(torch.size(pairs, -1), 1)
      _1 = torch.append(whole, torch.add(torch.mul(half, 2), 1))
      sizes0 = unchecked_cast(Optional[List[int]], whole)
    else:
      sizes0 = sizes
    result = torch.fft_irfftn(pairs, sizes0, dims, norm=norm)
  else:
    result = torch.real(torch.fft_ifftn(pairs, sizes, dims, norm=norm))
  return result
def eig(self: Tensor, eigenvectors: bool) -> Tuple[Tensor, Tensor]:
  values, found = torch.linalg_eig(self)
  vectors = torch.zeros([0])
  if torch.is_complex(self):
    pairs = values
    if eigenvectors:
      vectors = found
  else:
    pairs = torch.view_as_real(values)
    if eigenvectors:
      vectors = torch.where(torch.lt(torch.imag(values), 0), torch.neg(torch.imag(found)), torch.real(found))
  return (pairs, vectors)
def frobenius_norm(self: Tensor) -> Tensor:
  return torch.norm(self, 2)
def linalg_matrix_rank(self: Tensor, tol: Optional[float], hermitian: bool) -> Tensor:
  if torch.__is__(tol, None):
    rank = torch.linalg_matrix_rank(self, atol=None, rtol=None, hermitian=hermitian)
  else:
    rank = torch.linalg_matrix_rank(self, unchecked_cast(float, tol), hermitian)
  return rank
def linalg_svd(self: Tensor, full_matrices: bool, compute_uv: bool) -> Tuple[Tensor, Tensor, Tensor]:
  if compute_uv:
    U, S, Vh = torch.linalg_svd(self, full_matrices)
  else:
    U = torch.zeros([0])
    S = torch.linalg_svdvals(self)
    Vh = torch.zeros([0])
  return (U, S, Vh)
def lstsq(self: Tensor, A: Tensor) -> Tuple[Tensor, Tensor]:
  solution, _0, _1, _2 = torch.linalg_lstsq(A, self)
  rows = torch.size(A, 0)
  columns = torch.size(A, 1)
  if torch.lt(rows, columns):
    LQ, _3 = torch.geqrf(torch.t(A))
    QR = torch.t(LQ)
  else:
    QR, _4 = torch.geqrf(A)
    Q, _5 = torch.linalg_qr(A, "complete")
    solution = torch.cat([solution, torch.slice(torch.matmul(torch.t(Q), self), 0, columns)], 0)
  return (solution, QR)
def unflatten(self: Tensor, dim: int, sizes: List[int], names: Optional[List[str]]) -> Tensor:
  return torch.unflatten(self, dim, sizes)
def matrix_rank(self: Tensor, symmetric: bool) -> Tensor:
  return torch.linalg_matrix_rank(self, atol=None, rtol=None, hermitian=symmetric)
def matrix_rank_tol(self: Tensor, tol: float, symmetric: bool) -> Tensor:
  return torch.linalg_matrix_rank(self, tol, symmetric)
def max_values(self: Tensor, dim: List[int], keepdim: bool) -> Tensor:
  return torch.amax(self, dim, keepdim)
def min_values(self: Tensor, dim: List[int], keepdim: bool) -> Tensor:
  return torch.amin(self, dim, keepdim)
def solve(self: Tensor, A: Tensor) -> Tuple[Tensor, Tensor]:
  LU, _0 = torch.linalg_lu_factor(A)
  return (torch.linalg_solve(A, self), LU)
def symeig(self: Tensor, eigenvectors: bool, upper: bool) -> Tuple[Tensor, Tensor]:
  if upper:
    part = "U"
  else:
    part = "L"
  if eigenvectors:
    values, vectors = torch.linalg_eigh(self, part)
  else:
    values = torch.linalg_eigvalsh(self, part)
    vectors = torch.zeros([0])
  return (values, vectors)
def div_tensors(self: Tensor, other: Tensor) -> Tensor:
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
