#include "script/views/view_strides.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

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

// A view whose strides are asked for, of a tensor that has strides.
struct View {
  const Graph& graph;
  NodeId node;
  const Type& tensor;
  const Type& type;  // of the view

  std::optional<size_t> DimNamed(std::string_view name, size_t added = 0) const { return Dim(graph, node, name, tensor.rank() + added); }
  ExprPool& exprs() const { return graph.context().exprs(); }
};

using Strides = std::optional<std::vector<Expr>>;

Strides Same(const View& view) { return view.tensor.strides; }

Strides Swapped(const View& view, std::optional<size_t> a, std::optional<size_t> b) {
  if (!a || !b) return std::nullopt;
  std::vector<Expr> strides = view.tensor.strides;
  std::swap(strides[*a], strides[*b]);
  return strides;
}

Strides OfT(const View& view) {
  const size_t rank = view.tensor.rank();
  return rank < 2 ? Same(view) : Swapped(view, rank - 1, rank - 2);
}
Strides Reversed(const View& view) { return std::vector<Expr>(view.tensor.strides.rbegin(), view.tensor.strides.rend()); }
Strides OfTranspose(const View& view) { return Swapped(view, view.DimNamed("dim0"), view.DimNamed("dim1")); }
Strides OfSwapaxes(const View& view) { return Swapped(view, view.DimNamed("axis0"), view.DimNamed("axis1")); }

// The dimensions that an argument lists, or names; nullopt where one is none.
std::optional<std::vector<size_t>> DimsNamed(const View& view, std::string_view name) {
  const Attribute* attribute = view.graph.FindAttribute(view.node, name);
  const Ints* list = attribute != nullptr ? std::get_if<Ints>(attribute) : nullptr;
  if (list == nullptr) {
    const auto dim = view.DimNamed(name);
    return dim ? std::optional(std::vector<size_t>{*dim}) : std::nullopt;
  }
  const auto rank = static_cast<int64_t>(view.tensor.rank());
  std::vector<size_t> dims;
  for (const int64_t dim : *list) {
    if (dim < -rank || dim >= rank) return std::nullopt;
    dims.push_back(static_cast<size_t>(dim < 0 ? dim + rank : dim));
  }
  return dims;
}

Strides InOrder(const View& view, std::span<const size_t> dims) {
  std::vector<Expr> strides;
  for (const size_t dim : dims) strides.push_back(view.tensor.strides[dim]);
  return strides;
}

Strides OfPermute(const View& view) {
  const auto dims = DimsNamed(view, "dims");
  return dims ? InOrder(view, *dims) : std::nullopt;
}

Strides OfMovedim(const View& view) {
  const auto from = DimsNamed(view, "source"), to = DimsNamed(view, "destination");
  if (!from || !to || from->size() != to->size()) return std::nullopt;
  std::map<size_t, size_t> moved;  // by where they go
  for (size_t i = 0; i < from->size(); ++i) moved.emplace((*to)[i], (*from)[i]);
  std::vector<size_t> order;
  size_t next = 0;  // of those that stay in order
  for (size_t i = 0; i < view.tensor.rank(); ++i) {
    if (const auto at = moved.find(i); at != moved.end()) {
      order.push_back(at->second);
      continue;
    }
    while (std::ranges::find(*from, next) != from->end()) ++next;
    order.push_back(next++);
  }
  return order.size() == view.tensor.rank() ? InOrder(view, order) : std::nullopt;
}

// What is on the diagonal comes last.
Strides OfDiagonal(const View& view) {
  const auto a = Dim(view.graph, view.node, "dim1", view.tensor.rank(), 0), b = Dim(view.graph, view.node, "dim2", view.tensor.rank(), 1);
  if (!a || !b || *a == *b) return std::nullopt;
  std::vector<Expr> strides = view.tensor.strides;
  strides.push_back(view.exprs().Add(strides[*a], strides[*b]));
  strides.erase(strides.begin() + static_cast<ptrdiff_t>(std::max(*a, *b)));
  strides.erase(strides.begin() + static_cast<ptrdiff_t>(std::min(*a, *b)));
  return strides;
}

Strides WithoutDim(const View& view) {
  const auto dim = view.DimNamed("dim");
  if (!dim) return std::nullopt;
  std::vector<Expr> strides = view.tensor.strides;
  strides.erase(strides.begin() + static_cast<ptrdiff_t>(*dim));
  return strides;
}

// Some elements of the dimension that the argument names, one in so many.
Strides Stepped(const View& view, std::string_view name) {
  const auto dim = view.DimNamed(name);
  const auto step = Int(view.graph, view.node, "step", 1);
  if (!dim || !step) return std::nullopt;
  std::vector<Expr> strides = view.tensor.strides;
  strides[*dim] = view.exprs().Mul(strides[*dim], view.exprs().Constant(*step));
  return strides;
}
Strides OfSlice(const View& view) { return Stepped(view, "dim"); }

// Windows begin at each step. What is within one comes last.
Strides OfUnfold(const View& view) {
  Strides strides = Stepped(view, "dimension");
  if (strides) strides->push_back(view.tensor.strides[*view.DimNamed("dimension")]);
  return strides;
}

// A dimension that is new, or has one element, has a stride of 0 where it becomes longer.
Strides OfExpand(const View& view) {
  const size_t rank = view.tensor.rank();
  if (view.type.rank() < rank) return std::nullopt;
  const size_t added = view.type.rank() - rank;
  const Expr zero = view.exprs().Constant(0);
  std::vector<Expr> strides(added, zero);
  for (size_t i = 0; i < rank; ++i) {
    const bool stays = view.tensor.sizes[i] == view.type.sizes[i + added];
    if (!stays && view.exprs().RangeOf(view.tensor.sizes[i]).max > 1) return std::nullopt;
    strides.push_back(stays ? view.tensor.strides[i] : zero);
  }
  for (size_t i = added; i-- > 0;)
    if (view.exprs().AsConstant(view.type.sizes[i]) == 1)
      strides[i] = i + 1 < strides.size() ? view.exprs().Mul(strides[i + 1], view.type.sizes[i + 1]) : view.exprs().Constant(1);
  return strides;
}

Strides OfAsStrided(const View& view) {
  const Attribute* attribute = view.graph.FindAttribute(view.node, "stride");
  const Ints* given = attribute != nullptr ? std::get_if<Ints>(attribute) : nullptr;
  if (given == nullptr) return std::nullopt;
  std::vector<Expr> strides;
  for (const int64_t stride : *given) strides.push_back(view.exprs().Constant(stride));
  return strides;
}

Strides OfUnsqueeze(const View& view) {
  const auto dim = view.DimNamed("dim", 1);
  if (!dim) return std::nullopt;
  std::vector<Expr> strides = view.tensor.strides;
  const Expr stride = *dim < strides.size() ? view.exprs().Mul(strides[*dim], view.tensor.sizes[*dim]) : view.exprs().Constant(1);
  strides.insert(strides.begin() + static_cast<ptrdiff_t>(*dim), stride);
  return strides;
}

// view(dtype) has other elements.
Strides OfReshape(const View& view) {
  return view.tensor.dtype == view.type.dtype ? aten::StridesAs(view.tensor, view.type.sizes, view.exprs()) : std::nullopt;
}

struct Row {
  std::string_view base;
  Strides (*strides)(const View& view);
};

constexpr Row kRows[] = {
    {"aten::adjoint", &OfT},
    {"aten::alias", &Same},
    {"aten::as_strided", &OfAsStrided},
    {"aten::broadcast_to", &OfExpand},
    {"aten::chunk", &Same},
    {"aten::detach", &Same},
    {"aten::diagonal", &OfDiagonal},
    {"aten::dsplit", &Same},
    {"aten::expand", &OfExpand},
    {"aten::expand_as", &OfExpand},
    {"aten::flatten", &OfReshape},
    {"aten::hsplit", &Same},
    {"aten::lift_fresh", &Same},
    {"aten::matrix_H", &OfT},
    {"aten::mH", &OfT},
    {"aten::moveaxis", &OfMovedim},
    {"aten::movedim", &OfMovedim},
    {"aten::mT", &OfT},
    {"aten::narrow", &OfSlice},
    {"aten::numpy_T", &Reversed},
    {"aten::permute", &OfPermute},
    {"aten::positive", &Same},
    {"aten::ravel", &OfReshape},
    {"aten::reshape", &OfReshape},
    {"aten::reshape_as", &OfReshape},
    {"aten::select", &WithoutDim},
    {"aten::slice", &OfSlice},
    {"aten::split", &Same},
    {"aten::split_with_sizes", &Same},
    {"aten::swapaxes", &OfSwapaxes},
    {"aten::swapdims", &OfTranspose},
    {"aten::t", &OfT},
    {"aten::tensor_split", &Same},
    {"aten::transpose", &OfTranspose},
    {"aten::unbind", &WithoutDim},
    {"aten::unflatten", &OfReshape},
    {"aten::unfold", &OfUnfold},
    {"aten::unsafe_chunk", &Same},
    {"aten::unsafe_split", &Same},
    {"aten::unsafe_split_with_sizes", &Same},
    {"aten::unsqueeze", &OfUnsqueeze},
    {"aten::view", &OfReshape},
    {"aten::view_as", &OfReshape},
    {"aten::vsplit", &Same},
};

}  // namespace

std::optional<std::vector<Expr>> StridesOfView(const Graph& graph, NodeId node, std::string_view base, const Type& view) {
  if (graph.operand_count(node) == 0 || !graph.operand(node, 0)) return std::nullopt;
  const Type& tensor = graph.type(graph.operand(node, 0));
  if (!tensor.is_tensor() || !tensor.ranked || tensor.strides.size() != tensor.rank()) return std::nullopt;
  const auto row = std::ranges::find(kRows, base, &Row::base);
  if (row == std::end(kRows)) return std::nullopt;
  Strides strides = row->strides({graph, node, tensor, view});
  return strides && strides->size() == view.rank() ? strides : std::nullopt;
}

}  // namespace flambeau::script
