#include "lower/strict_outs.h"

#include <algorithm>

namespace flambeau::lower {
namespace {

// What PyTorch 2.13 says of its own samples of each operator.
constexpr std::string_view kNames[] = {
    "abs", "addbmm", "addmm", "addmv", "alias_copy", "amax", "amin", "as_strided_copy",
    "avg_pool2d", "avg_pool3d", "baddbmm", "bmm", "ceil", "conj_physical", "cross", "diag",
    "diagonal_copy", "dot", "expand_copy", "floor", "frac", "gather", "gelu", "hardshrink",
    "heaviside", "histc", "index_add", "index_copy", "index_reduce", "index_select", "linalg_cholesky", "linalg_cross",
    "linalg_det", "linalg_eigvalsh", "linalg_inv", "linalg_ldl_solve", "linalg_lu_solve", "linalg_matrix_norm", "linalg_multi_dot", "linalg_norm",
    "linalg_solve", "linalg_solve_triangular", "linalg_svdvals", "linalg_vecdot", "linalg_vector_norm", "linear", "log_softmax", "logcumsumexp",
    "lu_solve", "masked_select", "matmul", "mm", "msort", "mv", "nan_to_num", "nanquantile",
    "narrow_copy", "neg", "norm", "ormqr", "permute_copy", "quantile", "renorm", "round",
    "scatter", "scatter_add", "scatter_reduce", "sgn", "sign", "slice_scatter", "softmax", "softplus",
    "softshrink", "squeeze_copy", "t_copy", "take", "take_along_dim", "tensordot", "transpose_copy", "tril",
    "triu", "trunc", "unfold_copy", "unsqueeze_copy", "vdot", "view_copy", "where",
};
static_assert(std::ranges::is_sorted(kNames));

}  // namespace

bool WritesItsOwnDtype(std::string_view op) {
  constexpr std::string_view kAten = "aten::";
  if (!op.starts_with(kAten)) return false;
  op.remove_prefix(kAten.size());
  return std::ranges::binary_search(kNames, op.substr(0, op.find('.')));
}

}  // namespace flambeau::lower
