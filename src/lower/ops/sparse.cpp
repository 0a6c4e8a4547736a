// Sparse tensors: ONNX's operators take dense ones only, so each is the dense tensor that PyTorch's `to_dense` makes of it.
// What asks for its elements themselves (`values`, `indices`) has no translation.
#include "lower/op.h"
#include "lower/ops/linalg/linear_algebra.h"
#include "lower/ops/reduction.h"
#include "lower/ops/scatter.h"

namespace flambeau::lower {
namespace {

constexpr Restriction kOtherThanSums = {"a reduction other than a sum", "torch.sparse.mm(a.to_sparse_csr(), b, 'amax')",
                                        "of a dense tensor nothing tells which elements the sparse one had"};

// Elements at one place add up, and those of a hybrid tensor are tensors.
// The values' dtype counts: PyTorch does not look at the one beside them.
Tensor OfCoordinates(Lowering& to, Tensor indices, Tensor values, Dims size, std::optional<DType>, Unused, Unused, Unused, Unused) {
  const Tensor none = to.Full(size, int64_t{0}, values.dtype());
  return ScatterPoints(to, none, to.Permute(to.CastTo(indices, DType::kInt64), {1, 0}), values, Combine::kAdd);
}

Tensor Empty(Lowering& to, Dims size, std::optional<DType> dtype, Unused, Unused, Unused) {
  return to.Full(size, int64_t{0}, dtype.value_or(to.default_dtype()));
}

Tensor AsDense(Lowering& to, Tensor self, std::optional<DType> dtype, Unused) { return to.CastTo(self, dtype.value_or(self.dtype())); }
Tensor Same(Lowering&, Tensor self) { return self; }
Tensor OfDimensions(Lowering&, Tensor self, int64_t) { return self; }
Tensor OfLayout(Lowering&, Tensor self, Unused, std::optional<Ints>, std::optional<int64_t>) { return self; }
Tensor OfRows(Lowering&, Tensor self, std::optional<int64_t>) { return self; }
Tensor OfBlocks(Lowering&, Tensor self, Ints, std::optional<int64_t>) { return self; }

Tensor Product(Lowering& to, Tensor sparse, Tensor dense, std::string_view reduce) {
  if (reduce != "sum") return to.Unsupported(kOtherThanSums);
  return Matmul(to, sparse, dense);
}

Tensor TotalOf(Lowering& to, Tensor self) { return Sum(to, self, std::nullopt, false, std::nullopt); }
Tensor TotalIn(Lowering& to, Tensor self, DType dtype) { return Sum(to, self, std::nullopt, false, dtype); }
// What is left of the dimensions is sparse, and has the dtype that it had.
Tensor SumOver(Lowering& to, Tensor self, Ints dim) {
  const bool left = static_cast<int64_t>(dim.size()) < self.rank();
  return Sum(to, self, std::move(dim), false, left ? std::optional(self.dtype()) : std::nullopt);
}
Tensor SumOverIn(Lowering& to, Tensor self, Ints dim, DType dtype) { return Sum(to, self, std::move(dim), false, dtype); }

#define FLAMBEAU_OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory="

constexpr OpRow kRows[] = {
    Op<Addmm>("aten::_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    Op<OfCoordinates>("aten::_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, *, " FLAMBEAU_OPTIONS
                      "None, bool? is_coalesced=None) -> Tensor"),
    Op<Matmul>("aten::_sparse_mm(Tensor sparse, Tensor dense) -> Tensor"),
    Op<Product>("aten::_sparse_mm.reduce(Tensor sparse, Tensor dense, str reduce) -> Tensor", &kOtherThanSums),
    Op<TotalOf>("aten::_sparse_sum(Tensor self) -> Tensor"),
    Op<SumOver>("aten::_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor"),
    Op<SumOverIn>("aten::_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor"),
    Op<TotalIn>("aten::_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor"),
    Op<AsDense>("aten::_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor"),
    Op<OfLayout>("aten::_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor"),
    Op<OfDimensions>("aten::_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor"),
    Op<OfBlocks>("aten::_to_sparse_bsr(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor"),
    Op<OfRows>("aten::_to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor"),
    Op<Same>("aten::coalesce(Tensor(a) self) -> Tensor(a)"),
    Op<Matmul>("aten::hspmm(Tensor mat1, Tensor mat2) -> Tensor"),
    Op<Matmul>("aten::smm(Tensor self, Tensor mat2) -> Tensor"),
    Op<OfCoordinates>("aten::sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, *, " FLAMBEAU_OPTIONS
                      "None, bool? is_coalesced=None) -> Tensor"),
    Op<Empty>("aten::sparse_coo_tensor.size(int[] size, *, " FLAMBEAU_OPTIONS "False) -> Tensor"),
    Op<Addmm>("aten::sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    Op<AsDense>("aten::to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor"),
    Op<OfLayout>("aten::to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor"),
    Op<OfDimensions>("aten::to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor"),
    Op<OfBlocks>("aten::to_sparse_bsr(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor"),
    Op<OfRows>("aten::to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor"),
};

#undef FLAMBEAU_OPTIONS

}  // namespace

std::span<const OpRow> SparseTensors() { return kRows; }

}  // namespace flambeau::lower
