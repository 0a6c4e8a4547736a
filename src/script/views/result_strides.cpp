#include "script/views/result_strides.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "aten/aliasing.h"
#include "aten/strides.h"
#include "script/views/view_strides.h"

namespace flambeau::script {
namespace {

// Operators whose results lie in memory in another order than their dimensions, or may: columns first, as LAPACK has
// them, batches behind time, or as they are told.
bool MayTranspose(std::string_view base) {
  static constexpr std::string_view kFamilies[] = {"aten::linalg_", "aten::_linalg_", "aten::fft_", "aten::_fft_", "aten::lu_"};
  static constexpr std::string_view kOthers[] = {
      "aten::argwhere", "aten::cholesky", "aten::cholesky_inverse", "aten::cholesky_solve", "aten::einsum",
      "aten::empty_permuted", "aten::empty_strided", "aten::geqrf", "aten::gru", "aten::inverse", "aten::istft",
      "aten::lstm", "aten::new_empty_strided", "aten::nonzero", "aten::ormqr", "aten::qr", "aten::rnn_relu",
      "aten::rnn_tanh", "aten::rot90", "aten::stft", "aten::svd", "aten::tensordot", "aten::triangular_solve"};
  return std::ranges::find(kOthers, base) != std::end(kOthers) ||
         std::ranges::any_of(kFamilies, [&](std::string_view family) { return base.starts_with(family); });
}

// Those whose results are contiguous whatever they are given. What is joined may be channels-last, of four dimensions or more.
bool IsContiguousAlways(std::string_view base, size_t rank) {
  static constexpr std::string_view kJoin[] = {"aten::cat", "aten::concat", "aten::concatenate", "aten::stack"};
  static constexpr std::string_view kOthers[] = {"aten::addmm",  "aten::baddbmm",      "aten::bmm",    "aten::cumprod",     "aten::cumsum",
                                                 "aten::gather", "aten::index_select", "aten::linear", "aten::log_softmax", "aten::matmul",
                                                 "aten::mm",     "aten::softmax"};
  return (rank < 4 && std::ranges::find(kJoin, base) != std::end(kJoin)) || std::ranges::find(kOthers, base) != std::end(kOthers);
}

// Whether a tensor that fills its memory gives a result that lies in memory as it does.
bool KeepsOrder(std::string_view base, const Type& tensor, const ExprPool& exprs) {
  static constexpr std::string_view kCopies[] = {"aten::_to_copy",  "aten::clone",      "aten::empty_like", "aten::full_like", "aten::ones_like",
                                                 "aten::rand_like", "aten::randn_like", "aten::to",         "aten::zeros_like"};
  static constexpr std::string_view kElementwise[] = {
      "aten::abs",   "aten::bitwise_not", "aten::ceil",        "aten::cos", "aten::erf",        "aten::exp",    "aten::floor",
      "aten::isnan", "aten::log",         "aten::logical_not", "aten::neg", "aten::reciprocal", "aten::relu",   "aten::round",
      "aten::rsqrt", "aten::sigmoid",     "aten::sign",        "aten::sin", "aten::sqrt",       "aten::square", "aten::tanh"};
  static_assert(std::ranges::is_sorted(kCopies) && std::ranges::is_sorted(kElementwise));
  if (std::ranges::binary_search(kCopies, base)) return true;
  // Where a size of 1 makes the tensor contiguous, so are these results.
  return std::ranges::binary_search(kElementwise, base) && std::ranges::none_of(tensor.sizes, [&](Expr size) {
           const auto range = exprs.RangeOf(size);
           return range.min <= 1 && range.max >= 1;
         });
}

}  // namespace

std::optional<std::vector<Expr>> StridesOfResult(Graph& graph, NodeId node, const aten::Schema& schema, const Type& type) {
  if (!type.is_tensor() || !type.ranked || !type.strides.empty()) return std::nullopt;
  ExprPool& exprs = graph.context().exprs();
  const bool view = !schema.returns.empty() && !schema.returns[0].alias.empty();
  std::string_view base = schema.base;
  if (view && base.ends_with('_')) base.remove_suffix(1);  // t_() lies in memory as t() does
  if (auto strides = StridesOfView(graph, node, base, type)) return strides;
  if (MayTranspose(schema.base)) return std::nullopt;
  const MemoryFormat format = aten::FormatOf(graph, node, MemoryFormat::kPreserve);
  if (format == MemoryFormat::kChannelsLast || format == MemoryFormat::kChannelsLast3d) return aten::DenseStrides(type.sizes, format, exprs);
  if (format == MemoryFormat::kPreserve && graph.operand_count(node) > 0 && graph.operand(node, 0)) {
    const Type& tensor = graph.type(graph.operand(node, 0));
    const bool like = tensor.is_tensor() && tensor.ranked && tensor.sizes == type.sizes;
    if (like && KeepsOrder(base, tensor, exprs) && aten::DenseOrder(tensor, exprs)) return tensor.strides;
  }
  static constexpr std::string_view kDense[] = {"aten::view", "aten::reshape", "aten::flatten", "aten::unsqueeze",
                                                "aten::squeeze", "aten::detach", "aten::alias", "aten::contiguous",
                                                "aten::view_as", "aten::reshape_as", "aten::unflatten", "aten::to"};
  if (view && std::ranges::find(kDense, base) == std::end(kDense)) return std::nullopt;
  const bool always = IsContiguousAlways(base, type.rank());
  for (const ValueId operand : graph.operands(node)) {
    if (always || !operand || !graph.type(operand).is_tensor()) continue;
    if (aten::IsContiguous(graph.type(operand), MemoryFormat::kContiguous, exprs) != aten::Decision::kYes) return std::nullopt;
  }
  return ContiguousStrides(type.sizes, exprs);
}

}  // namespace flambeau::script
