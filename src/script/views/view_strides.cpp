#include "script/views/view_strides.h"

#include <algorithm>

#include "aten/strides.h"

namespace flambeau::script {
namespace {

std::optional<int64_t> Int(const Graph& graph, NodeId node, std::string_view name, int64_t absent) {
  const Attribute* attribute = graph.FindAttribute(node, name);
  if (attribute == nullptr || std::holds_alternative<None>(*attribute)) return absent;
  const auto* value = std::get_if<int64_t>(attribute);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<size_t> Dim(const Graph& graph, NodeId node, std::string_view name, size_t rank, int64_t absent = 0) {
  auto dim = Int(graph, node, name, absent);
  if (!dim) return std::nullopt;
  if (*dim < 0) *dim += static_cast<int64_t>(rank);
  if (*dim < 0 || *dim >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(*dim);
}

// Views of fewer elements along some dimensions, or of all.
constexpr std::string_view kKeepStrides[] = {"aten::alias", "aten::chunk", "aten::detach", "aten::split",
                                             "aten::split_with_sizes", "aten::tensor_split"};

constexpr std::string_view kReshape[] = {"aten::flatten", "aten::reshape", "aten::reshape_as",
                                         "aten::unflatten", "aten::view", "aten::view_as"};

}  // namespace

std::optional<std::vector<Expr>> StridesOfView(const Graph& graph, NodeId node, std::string_view base, const Type& view) {
  if (graph.operand_count(node) == 0 || !graph.operand(node, 0)) return std::nullopt;
  const Type& tensor = graph.type(graph.operand(node, 0));
  if (!tensor.is_tensor() || !tensor.ranked || tensor.strides.size() != tensor.rank()) return std::nullopt;
  ExprPool& exprs = graph.context().exprs();
  std::vector<Expr> strides = tensor.strides;
  const size_t rank = strides.size();
  if (base == "aten::t" || base == "aten::numpy_T" || base == "aten::mT") {
    if (rank >= 2) std::swap(strides[rank - 1], strides[rank - 2]);
  } else if (base == "aten::transpose" || base == "aten::swapaxes" || base == "aten::swapdims") {
    const bool axes = base == "aten::swapaxes";
    const auto a = Dim(graph, node, axes ? "axis0" : "dim0", rank), b = Dim(graph, node, axes ? "axis1" : "dim1", rank);
    if (!a || !b) return std::nullopt;
    std::swap(strides[*a], strides[*b]);
  } else if (base == "aten::permute") {
    const Attribute* attribute = graph.FindAttribute(node, "dims");
    const Ints* dims = attribute != nullptr ? std::get_if<Ints>(attribute) : nullptr;
    if (dims == nullptr || dims->size() != rank) return std::nullopt;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t from = (*dims)[i] < 0 ? (*dims)[i] + static_cast<int64_t>(rank) : (*dims)[i];
      if (from < 0 || from >= static_cast<int64_t>(rank)) return std::nullopt;
      strides[i] = tensor.strides[static_cast<size_t>(from)];
    }
  } else if (base == "aten::select") {
    const auto dim = Dim(graph, node, "dim", rank);
    if (!dim) return std::nullopt;
    strides.erase(strides.begin() + static_cast<ptrdiff_t>(*dim));
  } else if (base == "aten::slice" || base == "aten::narrow") {
    const auto dim = Dim(graph, node, "dim", rank);
    const auto step = Int(graph, node, "step", 1);
    if (!dim || !step) return std::nullopt;
    strides[*dim] = exprs.Mul(strides[*dim], exprs.Constant(*step));
  } else if (base == "aten::expand" || base == "aten::expand_as") {
    if (view.rank() < rank) return std::nullopt;
    const size_t added = view.rank() - rank;
    strides.insert(strides.begin(), added, exprs.Constant(0));
    for (size_t i = 0; i < rank; ++i)
      if (tensor.sizes[i] != view.sizes[i + added]) strides[i + added] = exprs.Constant(0);
  } else if (base == "aten::unsqueeze") {
    const auto dim = Dim(graph, node, "dim", rank + 1);
    if (!dim) return std::nullopt;
    const Expr stride = *dim < rank ? exprs.Mul(strides[*dim], tensor.sizes[*dim]) : exprs.Constant(1);
    strides.insert(strides.begin() + static_cast<ptrdiff_t>(*dim), stride);
  } else if (base == "aten::unbind") {
    const auto dim = Dim(graph, node, "dim", rank);
    if (!dim) return std::nullopt;
    strides.erase(strides.begin() + static_cast<ptrdiff_t>(*dim));
  } else if (std::ranges::find(kReshape, base) != std::end(kReshape)) {
    // view(dtype) has other elements
    return tensor.dtype == view.dtype ? aten::StridesAs(tensor, view.sizes, exprs) : std::nullopt;
  } else if (std::ranges::find(kKeepStrides, base) != std::end(kKeepStrides)) {
    return strides;
  } else {
    return std::nullopt;
  }
  if (strides.size() != view.rank()) return std::nullopt;
  return strides;
}

}  // namespace flambeau::script
