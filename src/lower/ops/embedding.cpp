// Rows of a table, by themselves and in bags.
#include <cmath>

#include "lower/op.h"

namespace flambeau::lower {
namespace {

// padding_idx matters to gradients only.
Tensor Embedding(Lowering& to, Tensor weight, Tensor indices, Dim, Unused, Unused) {
  return to.Gather(weight, indices);
}

struct Bags {
  Tensor of_index;  // the bag of each index
  Dim count;
  std::optional<Tensor> holds;  // of each index whether it comes before the last offset
};

// A bag begins at its offset and ends where the next begins.
Bags BagsOf(Lowering& to, Tensor indices, Tensor offsets, bool include_last_offset) {
  Tensor begins = to.CastTo(offsets, DType::kInt64);
  Dim count = offsets.size(0);
  const Tensor positions = to.Range(to.ConstantInt(0), to.Number(indices.size(0)), to.ConstantInt(1));
  std::optional<Tensor> holds;
  if (include_last_offset) {
    count = to.Minus(count, to.Of(1));
    holds = to.Less(positions, to.SliceAxis(begins, 0, count, offsets.size(0)));
    begins = to.SliceAxis(begins, 0, to.Of(0), count);
  }
  const Tensor begun = to.CastTo(to.LessOrEqual(begins, to.UnsqueezeAt(positions, {1})), DType::kInt64);
  return {to.Sub(to.ReduceSum(begun, to.ConstantInts({1}), {.keepdims = 0}), to.ConstantInt(1)), count, holds};
}

using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

constexpr Restriction kIndicesOfBags = {"indices that are not of one dimension",
                                        "torch.ops.aten._embedding_bag(w, indices_2d, offsets)"};

// Modes are sum, mean, max. The other results serve gradients and differ with
// the kernel that PyTorch chooses: they are not made.
Four InBags(Lowering& to, Tensor weight, Tensor indices, Tensor offsets, int64_t mode, std::optional<Tensor> per_sample_weights,
            bool include_last_offset, std::optional<Dim> padding) {
  if (indices.rank() != 1 || offsets.rank() != 1) return to.Unsupported(kIndicesOfBags);
  const DType dtype = weight.dtype();
  auto number = [&](double value) { return to.NumberOf(value, dtype); };
  const Bags bags = BagsOf(to, indices, offsets, include_last_offset);
  Tensor rows = to.Gather(weight, indices);
  if (per_sample_weights) rows = to.Mul(rows, to.UnsqueezeAt(*per_sample_weights, {1}));
  Tensor counted = to.Expand(number(1), to.Shape1(indices.sizes()));
  // By PyTorch's fast kernels the last bag ends at the last offset, by others it has all that is left; a mean is over that.
  if (bags.holds && !padding && mode != 2 && dtype != DType::kFloat64)
    rows = to.Where(to.UnsqueezeAt(*bags.holds, {1}), rows, number(0));
  if (padding) {
    const Tensor kept = to.Not(to.Equal(indices, to.CastTo(to.Number(*padding), indices.dtype())));
    counted = to.CastTo(kept, dtype);
    rows = to.Where(to.UnsqueezeAt(kept, {1}), rows, number(mode == 2 ? -INFINITY : 0));
  }
  const Tensor at = to.UnsqueezeAt(bags.of_index, {1});
  const Tensor counts = to.ScatterND(to.Full(Dims{bags.count}, 0.0, dtype), at, counted, {.reduction = "add"});
  const Tensor start = to.Full(Dims{bags.count, weight.size(1)}, mode == 2 ? -INFINITY : 0.0, dtype);
  Tensor result = to.ScatterND(start, at, rows, {.reduction = mode == 2 ? "max" : "add"});
  const Tensor column = to.UnsqueezeAt(counts, {1});
  if (mode == 1) result = to.Div(result, to.Max({column, number(1)}));
  if (mode == 2) result = to.Where(to.Equal(column, number(0)), number(0), result);  // an empty bag
  return {result, Tensor(), Tensor(), Tensor()};
}

Four EmbeddingBag(Lowering& to, Tensor weight, Tensor indices, Tensor offsets, Unused, int64_t mode, Unused,
                  std::optional<Tensor> per_sample_weights, bool include_last_offset) {
  return InBags(to, weight, indices, offsets, mode, per_sample_weights, include_last_offset, std::nullopt);
}

// A negative row is counted from the end.
Four EmbeddingBagWithPadding(Lowering& to, Tensor weight, Tensor indices, Tensor offsets, Unused, int64_t mode, Unused,
                             std::optional<Tensor> per_sample_weights, bool include_last_offset,
                             std::optional<int64_t> padding_idx) {
  std::optional<Dim> padding;
  if (padding_idx) padding = *padding_idx < 0 ? to.Minus(weight.size(0), to.Of(-*padding_idx)) : to.Of(*padding_idx);
  return InBags(to, weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding);
}

// Here a negative row is none.
Four EmbeddingBagForward(Lowering& to, Tensor weight, Tensor indices, Tensor offsets, Unused, int64_t mode, Unused,
                         std::optional<Tensor> per_sample_weights, bool include_last_offset, int64_t padding_idx) {
  const std::optional<Dim> padding = padding_idx < 0 ? std::nullopt : std::optional(to.Of(padding_idx));
  return InBags(to, weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding);
}

constexpr OpRow kRows[] = {
    Op<EmbeddingBagForward>("aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
                            "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
                            "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
                            &kIndicesOfBags),
    Op<EmbeddingBagForward>("aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
                            "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
                            "bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
                            &kIndicesOfBags),
    Op<Embedding>("aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
                  "scale_grad_by_freq=False, bool sparse=False) -> Tensor"),
    Op<EmbeddingBag>("aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
                     "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool "
                     "include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
                     &kIndicesOfBags),
    Op<EmbeddingBagWithPadding>("aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
                                "scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool "
                                "include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
                                &kIndicesOfBags),
};

}  // namespace

std::span<const OpRow> Embeddings() { return kRows; }

}  // namespace flambeau::lower
