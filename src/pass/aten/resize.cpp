// resize_ and resize_as_: another view of the memory from where the tensor
// begins, whatever its strides were.
#include <utility>

#include "pass/aten/functionalizer.h"

namespace flambeau {
namespace {

Ints ContiguousStrides(const Ints& sizes) {
  Ints strides(sizes.size());
  for (size_t i = sizes.size(), stride = 1; i-- > 0; stride *= static_cast<size_t>(sizes[i])) strides[i] = static_cast<int64_t>(stride);
  return strides;
}

// A list argument of numbers, some of which only a run knows.
class List {
 public:
  List(Graph& graph, NodeId before) : graph_(graph), before_(before), origin_(graph[before].origin) {}

  // The sizes that the node gives its tensor. False where it takes them from another one, and they are not constant.
  bool TakeSizes() {
    call_ = Call::Of(graph_, before_);
    const Attribute* sizes = call_.Find(graph_.context().Intern("size"));
    if (const auto* open = sizes != nullptr ? std::get_if<OperandList>(sizes) : nullptr) {
      elements_ = *open;
      return true;
    }
    for (const Expr size : graph_.type(graph_.result(before_)).sizes) {
      const auto known = graph_.context().exprs().AsConstant(size);
      if (!known) return false;
      elements_.push_back(*known);
    }
    return true;
  }

  // Their product.
  List Product() {
    ListElement product = int64_t{1};
    const OperandList factors = elements_;
    for (const ListElement& factor : factors) product = Times(product, factor);
    List result = *this;
    result.elements_ = {product};
    return result;
  }
  std::optional<Ints> Constants() const {
    Ints values;
    for (const ListElement& element : elements_) {
      const auto* value = std::get_if<int64_t>(&element);
      if (value == nullptr) return std::nullopt;
      values.push_back(*value);
    }
    return values;
  }

  // As the argument; of a list of one maybe as the number.
  CallMaker& Give(CallMaker& maker, std::string_view name, bool as_number = false) const {
    Call from = call_;
    const auto constants = Constants();
    Attribute value = constants ? Attribute(*constants) : Attribute(elements_);
    if (as_number) value = std::visit([](auto element) { return Attribute(element); }, elements_.front());
    from.attributes = {{graph_.context().Intern(name), std::move(value)}};
    return maker.Take(name, from, name);
  }

 private:
  Operand Named(ValueId value) {
    call_.operands.push_back(value);
    return Operand{static_cast<uint32_t>(call_.operands.size() - 1)};
  }
  Expr ExprOf(const ListElement& element) {
    ExprPool& exprs = graph_.context().exprs();
    if (const auto* number = std::get_if<int64_t>(&element)) return exprs.Constant(*number);
    const auto& contents = graph_.type(call_.operands[std::get<Operand>(element).index]).contents;
    return contents && !contents->empty() ? contents->front() : exprs.Anonymous();
  }
  ListElement Times(const ListElement& a, const ListElement& b) {
    Context& context = graph_.context();
    const auto *left = std::get_if<int64_t>(&a), *right = std::get_if<int64_t>(&b);
    if (left != nullptr && right != nullptr) return *left * *right;
    if (left != nullptr && *left == 1) return b;
    CallMaker maker(context, "_operator::mul");
    for (const auto& [name, element] : {std::pair("a", &a), std::pair("b", &b)}) {
      if (const auto* number = std::get_if<int64_t>(element)) maker.Set(name, Attribute(*number));
      else maker.Set(name, call_.operands[std::get<Operand>(*element).index]);
    }
    const TypeId type = context.Intern(Type::OfInt(context.exprs().Mul(ExprOf(a), ExprOf(b))));
    return Named(InsertCall(graph_, before_, maker.Make(), type, origin_));
  }

  Graph& graph_;
  NodeId before_;
  OriginId origin_;
  Call call_;  // whose operands the elements name
  OperandList elements_;
};

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
  const Type& memory = context[storages_.type(storages_.Root(view))];
  const auto offset = storages_.Offset(view);
  const auto start = offset ? context.exprs().AsConstant(*offset) : std::nullopt;
  if (!memory.ranked || !start) return fail("resize_ of a tensor of which the capture does not say where in memory it begins");
  ExprPool& exprs = context.exprs();
  const Expr held = ElementCount(memory.sizes, exprs), asked = exprs.Add(ElementCount(graph_.type(result).sizes, exprs), exprs.Constant(*start));
  const ExprPool::Range left = exprs.RangeOf(exprs.Sub(held, asked));
  List sizes(graph_, node);
  if (!sizes.TakeSizes()) return fail("resize_as_ where a size of the other tensor is not constant");
  if (exprs.AsConstant(held) == 0) {
    // Nothing is shared of nothing.
    CallMaker zeros(context, "aten::zeros");
    const Call call = sizes.Give(zeros, "size").Set("dtype", Attribute(before.dtype)).Make();
    storages_.Detach(tensor, InsertCall(graph_, node, call, graph_[result].type, origin));
    storages_.SetSame(result, tensor);
    return {};
  }
  if (left.max < 0) return fail("resize_ to more elements than the memory has: the new ones are undefined");
  if (left.min < 0)
    sink_.Add({DiagnosticKind::kUnsupportedForm, Severity::kWarning, LocationOf(graph_, node),
               "resize_ is taken to ask for no more elements than the memory has: the model fails where it does", {}, ""});
  if (const auto constants = sizes.Constants()) {
    const Call call =
        CallMaker(context, "aten::as_strided").Set("self", tensor).Set("size", *constants).Set("stride", ContiguousStrides(*constants)).Make();
    const ValueId viewed = InsertCall(graph_, node, call, graph_[result].type, origin);
    const NodeId strided = graph_[viewed].node;
    graph_.SetOperand(strided, 0, MemoryBehind(tensor, strided));
    FLAMBEAU_CHECK_OK(AddStrided(strided, tensor));
    storages_.Rebind(tensor, viewed);
    storages_.SetSame(result, tensor);
    return {};
  }
  // The first elements of all that lies in memory from there on.
  const ViewId root = storages_.Root(view);
  if (storages_.MayBePart(tensor)) return fail("resize_ of a tensor that may be a part of another");
  if (const std::string_view lacks = LacksOfMemory(root, before.dtype); !lacks.empty()) return fail(std::string(lacks));
  if (storages_.HasOtherValues(view)) return fail("resize_ of a conjugate, which is a view of what is not conjugate");
  ValueId seen = MemoryBehind(tensor, node);
  std::vector<ViewStep> steps = StepsToMemory(root, seen, before.dtype);
  const auto see = [&](Call call, std::span<const Expr> seen_sizes) {
    const TypeId type = context.Intern(Type::OfTensor(before.dtype, {seen_sizes.begin(), seen_sizes.end()}));
    seen = InsertCall(graph_, node, std::move(call), type, origin);
    steps.push_back({Call::Of(graph_, graph_[seen].node), 0, false, type});
  };
  const Expr count = ElementCount(graph_.type(result).sizes, exprs), all[] = {held}, rest[] = {exprs.Sub(held, exprs.Constant(*start))}, some[] = {count};
  see(CallMaker(context, "aten::view").Set("self", seen).Set("size", Ints{-1}).Make(), all);
  if (*start != 0) see(CallMaker(context, "aten::slice.Tensor").Set("self", seen).Set("dim", int64_t{0}).Set("start", *start).Make(), rest);
  CallMaker slice(context, "aten::slice.Tensor");
  see(sizes.Product().Give(slice.Set("self", seen).Set("dim", int64_t{0}).Set("start", int64_t{0}), "end", true).Make(), some);
  CallMaker shape(context, "aten::view");
  see(sizes.Give(shape.Set("self", seen), "size").Make(), graph_.type(result).sizes);
  storages_.SetView(seen, root, std::move(steps), origin);
  storages_.Rebind(tensor, seen);
  storages_.SetSame(result, tensor);
  return {};
}

}  // namespace flambeau
