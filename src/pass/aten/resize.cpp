// resize_ and resize_as_: another view of the memory from where the tensor
// begins, whatever its strides were.
#include "pass/aten/functionalizer.h"

namespace flambeau {
namespace {

std::optional<Ints> Constants(std::span<const Expr> exprs, const ExprPool& pool) {
  Ints values;
  for (const Expr expr : exprs) {
    const auto value = pool.AsConstant(expr);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

int64_t Count(const Ints& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

}  // namespace

Status Functionalizer::VisitResize(NodeId node, ValueId tensor) {
  Context& context = graph_.context();
  const OriginId origin = graph_[node].origin;
  const ValueId result = graph_.result(node);
  auto fail = [&](std::string message) {
    return sink_.Error(DiagnosticKind::kUnsupportedForm, std::move(message), LocationOf(graph_, node),
                       "take a part of the tensor (x[:n], reshape), or make a new one of these sizes");
  };
  replaced_.push_back(node);
  const ViewId view = storages_.ViewOf(tensor);
  const Type& before = context[storages_.type(view)];
  if (graph_.type(result).sizes == before.sizes) {
    storages_.SetSame(result, tensor);
    return {};
  }
  const auto format = graph_.FindAttribute(node, "memory_format");
  const auto* order = format ? std::get_if<MemoryFormat>(format) : nullptr;
  if (order != nullptr && *order != MemoryFormat::kContiguous) return fail("resize_ to another memory format");
  const auto sizes = Constants(graph_.type(result).sizes, context.exprs());
  const auto memory = Constants(context[storages_.type(storages_.Root(view))].sizes, context.exprs());
  const auto offset = storages_.Offset(view);
  const auto start = offset ? context.exprs().AsConstant(*offset) : std::nullopt;
  if (!sizes || !memory || !start) return fail("resize_ where a size is not constant");
  if (Count(*memory) == 0) {
    // Nothing is shared of nothing.
    const Call zeros = CallMaker(context, "aten::zeros").Set("size", *sizes).Set("dtype", Attribute(before.dtype)).Make();
    storages_.Detach(tensor, InsertCall(graph_, node, zeros, graph_[result].type, origin));
  } else if (*start + Count(*sizes) <= Count(*memory)) {
    Ints strides(sizes->size());
    for (int64_t stride = 1, i = static_cast<int64_t>(sizes->size()); i-- > 0; stride *= (*sizes)[static_cast<size_t>(i)])
      strides[static_cast<size_t>(i)] = stride;
    const Call call = CallMaker(context, "aten::as_strided").Set("self", tensor).Set("size", *sizes).Set("stride", strides).Make();
    const ValueId viewed = InsertCall(graph_, node, call, graph_[result].type, origin);
    const NodeId strided = graph_[viewed].node;
    graph_.SetOperand(strided, 0, MemoryBehind(tensor, strided));
    FLAMBEAU_CHECK_OK(AddStrided(strided, tensor));
    storages_.SetSame(tensor, viewed);
  } else {
    return fail("resize_ to more elements than the memory has: the new ones are undefined");
  }
  storages_.SetSame(result, tensor);
  return {};
}

}  // namespace flambeau
