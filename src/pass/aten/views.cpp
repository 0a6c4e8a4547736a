#include "pass/aten/views.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "aten/aliasing.h"
#include "support/static_index.h"

namespace flambeau {
namespace {

// How a new value of the view becomes a new value of the tensor.
enum class Inverse : uint8_t {
  kPut,      // by the positions of the elements: right for each view, fast for none
  kScatter,  // the operator named beside, with the step's own arguments
  kSame,     // the step itself
  kReshape,  // back to the tensor's sizes
  kPermute,
  kMoveDims,
  kViewDtype,
  kReal,
  kImaginary,
  kElement,  // into the sequence, at its place
};

struct ViewRow {
  Inverse inverse;
  std::string_view scatter = {};
};

constexpr std::pair<std::string_view, ViewRow> kViews[] = {
    {"aten::select", {Inverse::kScatter, "aten::select_scatter"}},
    {"aten::slice", {Inverse::kScatter, "aten::slice_scatter"}},
    {"aten::diagonal", {Inverse::kScatter, "aten::diagonal_scatter"}},
    {"aten::linalg_diagonal", {Inverse::kScatter, "aten::diagonal_scatter"}},
    {"aten::as_strided", {Inverse::kScatter, "aten::as_strided_scatter"}},
    {"aten::view_as_real", {Inverse::kScatter, "aten::view_as_complex"}},
    {"aten::view_as_complex", {Inverse::kScatter, "aten::view_as_real"}},
    {"aten::t", {Inverse::kSame}},
    {"aten::transpose", {Inverse::kSame}},
    {"aten::swapaxes", {Inverse::kSame}},
    {"aten::swapdims", {Inverse::kSame}},
    {"aten::numpy_T", {Inverse::kSame}},
    {"aten::mT", {Inverse::kSame}},
    {"aten::mH", {Inverse::kSame}},
    {"aten::matrix_H", {Inverse::kSame}},
    {"aten::adjoint", {Inverse::kSame}},
    {"aten::conj", {Inverse::kSame}},
    {"aten::_conj", {Inverse::kSame}},
    {"aten::_neg_view", {Inverse::kSame}},
    {"aten::permute", {Inverse::kPermute}},
    {"aten::movedim", {Inverse::kMoveDims}},
    {"aten::moveaxis", {Inverse::kMoveDims}},
    {"aten::view", {Inverse::kReshape}},
    {"aten::view_as", {Inverse::kReshape}},
    {"aten::_unsafe_view", {Inverse::kReshape}},
    {"aten::_reshape_alias", {Inverse::kReshape}},
    {"aten::reshape", {Inverse::kReshape}},
    {"aten::reshape_as", {Inverse::kReshape}},
    {"aten::flatten", {Inverse::kReshape}},
    {"aten::unflatten", {Inverse::kReshape}},
    {"aten::ravel", {Inverse::kReshape}},
    {"aten::squeeze", {Inverse::kReshape}},
    {"aten::unsqueeze", {Inverse::kReshape}},
    {"aten::atleast_1d", {Inverse::kReshape}},
    {"aten::atleast_2d", {Inverse::kReshape}},
    {"aten::atleast_3d", {Inverse::kReshape}},
    {"aten::expand", {Inverse::kReshape}},
    {"aten::expand_as", {Inverse::kReshape}},
    {"aten::broadcast_to", {Inverse::kReshape}},
    {"aten::real", {Inverse::kReal}},
    {"aten::imag", {Inverse::kImaginary}},
    {"aten::__getitem__", {Inverse::kElement}},
};

std::string_view Base(std::string_view op) { return op.substr(0, op.find('.')); }

ViewRow RowOf(const Graph& graph, const ViewStep& step) {
  using Named = std::pair<std::string_view, ViewRow>;
  static const auto* rows = new StaticIndex<ViewRow>(kViews, &Named::first, &Named::second);
  const std::string_view op = graph.context().Text(step.call.op);
  if (op == "aten::view.dtype") return {Inverse::kViewDtype};
  return rows->ValueOr(Base(op), {Inverse::kPut});
}

using Number = CutEnd::Number;

class Numbers {
 public:
  Numbers(Graph& graph, NodeId before, OriginId origin) : graph_(graph), before_(before), origin_(origin) {}

  Number Size(ValueId tensor, size_t dim) {
    const Expr size = graph_.type(tensor).sizes[dim];
    if (const auto constant = exprs().AsConstant(size)) return *constant;
    return InsertCall(
        graph_, before_,
        CallMaker(context(), "aten::sym_size.int").Set("self", tensor).Set("dim", static_cast<int64_t>(dim)).Make(),
        context().Intern(Type::OfInt(size)), origin_);
  }
  Number Add(Number a, Number b) {
    const int64_t *left = std::get_if<int64_t>(&a), *right = std::get_if<int64_t>(&b);
    if (left != nullptr && right != nullptr) return *left + *right;
    if (left != nullptr && *left == 0) return b;
    CallMaker maker(context(), "_operator::add");
    Set(maker, "a", a);
    Set(maker, "b", b);
    return InsertCall(graph_, before_, maker.Make(), context().Intern(Type::OfInt(exprs().Add(ExprOf(a), ExprOf(b)))),
                      origin_);
  }
  static void Set(CallMaker& maker, std::string_view name, Number number) {
    if (const auto* value = std::get_if<ValueId>(&number))
      maker.Set(name, *value);
    else
      maker.Set(name, Attribute(std::get<int64_t>(number)));
  }

 private:
  Context& context() { return graph_.context(); }
  ExprPool& exprs() { return context().exprs(); }
  Expr ExprOf(Number number) {
    if (const auto* constant = std::get_if<int64_t>(&number)) return exprs().Constant(*constant);
    const auto& contents = graph_.type(std::get<ValueId>(number)).contents;
    return contents && !contents->empty() ? (*contents)[0] : exprs().Anonymous();
  }

  Graph& graph_;
  NodeId before_;
  OriginId origin_;
};

int64_t IntArgument(const Graph& graph, NodeId node, std::string_view name, int64_t otherwise) {
  const Attribute* attribute = graph.FindAttribute(node, name);
  const int64_t* value = attribute ? std::get_if<int64_t>(attribute) : nullptr;
  return value ? *value : otherwise;
}

// The dimension along which a node cuts its argument into a list.
std::optional<size_t> CutDim(const Graph& graph, NodeId node, std::string_view base, size_t rank) {
  static constexpr std::string_view kAlongDim[] = {
      "aten::split",        "aten::split_with_sizes",        "aten::chunk",       "aten::tensor_split",
      "aten::unsafe_split", "aten::unsafe_split_with_sizes", "aten::unsafe_chunk"};
  int64_t dim;
  if (std::ranges::find(kAlongDim, base) != std::end(kAlongDim))
    dim = IntArgument(graph, node, "dim", 0);
  else if (base == "aten::hsplit")
    dim = rank > 1 ? 1 : 0;
  else if (base == "aten::vsplit")
    dim = 0;
  else if (base == "aten::dsplit")
    dim = 2;
  else
    return std::nullopt;
  if (dim < 0) dim += static_cast<int64_t>(rank);
  if (dim < 0 || dim >= static_cast<int64_t>(rank)) return std::nullopt;
  return static_cast<size_t>(dim);
}

// Result `result` of a node that cuts its argument, as a slice.
Call SliceOf(Graph& graph, NodeId node, uint32_t result, ValueId tensor, size_t dim, CutEnd& cut) {
  if (!cut.before) cut.before = graph[node].next ? graph[node].next : graph[graph[node].block].terminator;
  Numbers numbers(graph, cut.before, graph[node].origin);
  const auto take_next = [&] { cut.end = numbers.Add(cut.end, numbers.Size(graph.result(node, cut.results++), dim)); };
  while (cut.results < result) take_next();
  CallMaker maker(graph.context(), "aten::slice.Tensor");
  maker.Set("self", tensor).Set("dim", static_cast<int64_t>(dim)).Set("step", int64_t{1});
  Numbers::Set(maker, "start", cut.end);
  take_next();
  Numbers::Set(maker, "end", cut.end);
  return maker.Make();
}

// The sizes of a type as a constant argument, of which one may be -1: as many
// as are left. nullopt if more than one is not constant, or not even the rank is known.
std::optional<Ints> ConstantSizes(const Graph& graph, TypeId type) {
  if (!graph.context()[type].ranked) return std::nullopt;
  Ints sizes;
  bool rest = false;
  for (const Expr size : graph.context()[type].sizes) {
    const auto constant = graph.context().exprs().AsConstant(size);
    if (!constant && std::exchange(rest, true)) return std::nullopt;
    sizes.push_back(constant.value_or(-1));
  }
  if (rest && std::ranges::find(sizes, 0) != sizes.end()) return std::nullopt;
  return sizes;
}

Call Reshape(Graph& graph, ValueId tensor, TypeId to, ValueId like) {
  if (auto sizes = ConstantSizes(graph, to))
    return CallMaker(graph.context(), "aten::reshape").Set("self", tensor).Set("shape", std::move(*sizes)).Make();
  return CallMaker(graph.context(), "aten::reshape_as").Set("self", tensor).Set("other", like).Make();
}

Call Expand(Graph& graph, ValueId tensor, TypeId to, ValueId like) {
  if (!graph.context()[to].ranked) return CallMaker(graph.context(), "aten::expand_as").Set("self", tensor).Set("other", like).Make();
  Ints sizes;
  for (const Expr size : graph.context()[to].sizes) {
    const auto constant = graph.context().exprs().AsConstant(size);
    if (!constant) return CallMaker(graph.context(), "aten::expand_as").Set("self", tensor).Set("other", like).Make();
    sizes.push_back(*constant);
  }
  return CallMaker(graph.context(), "aten::expand").Set("self", tensor).Set("size", std::move(sizes)).Make();
}

// meshgrid: a vector along one dimension, repeated along the others.
std::vector<ViewStep> GridSteps(Graph& graph, NodeId node, uint32_t result, ValueId vector) {
  Context& context = graph.context();
  const ValueId grid = graph.result(node, result);
  const Type& type = graph.type(grid);
  size_t dim = result;
  const Attribute* indexing = graph.FindAttribute(node, "indexing");
  if (indexing && *indexing == Attribute(std::string("xy")) && dim < 2 && type.rank() > 1) dim = 1 - dim;
  Ints shape(type.rank(), 1);
  if (dim >= shape.size()) return {};
  shape[dim] = -1;
  std::vector<Expr> sizes(type.rank(), context.exprs().Constant(1));
  sizes[dim] = type.sizes[dim];
  Call reshape = CallMaker(context, "aten::reshape").Set("self", vector).Set("shape", std::move(shape)).Make();
  Call expand = Expand(graph, vector, graph[grid].type, grid);
  return {{std::move(reshape), 0, false, context.Intern(Type::OfTensor(type.dtype, std::move(sizes)))},
          {std::move(expand), 0, false, graph[grid].type}};
}

bool IsIdentity(std::string_view base, const Type& from, const Type& to) {
  static constexpr std::string_view kIdentities[] = {
      "aten::alias",           "aten::contiguous",    "aten::data",
      "aten::detach",          "aten::lift_fresh",    "aten::positive",
      "aten::resolve_conj",    "aten::resolve_neg",   "aten::to",
      "aten::type_as",         "aten::conj_physical", "aten::dropout",
      "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout",
      "aten::detach_",         "aten::requires_grad_"};
  if (std::ranges::find(kIdentities, base) != std::end(kIdentities)) return true;
  return !IsComplex(from.dtype) && from.sizes == to.sizes &&
         (base == "aten::real" || base == "aten::conj" || base == "aten::_conj");
}

}  // namespace

std::vector<ViewStep> StepsOf(Graph& graph, NodeId node, uint32_t result, uint32_t argument, CutEnd& cut) {
  const ValueId view = graph.result(node, result);
  const TypeId type = graph[view].type;
  const std::string_view base = Base(graph.op(node));
  const bool list = std::holds_alternative<OperandList>(graph[node].attributes[argument].value);
  const ValueId tensor = aten::TensorArgument(graph, node, argument, list ? result : 0);
  if (IsIdentity(base, graph.type(tensor), graph.type(view))) return {{{}, 0, true, type}};
  if (base == "aten::unbind") {
    const Call call = Call::Of(graph, node);
    return {{CallMaker(graph.context(), "aten::select.int")
                 .Set("self", tensor)
                 .Take(call, {"dim"})
                 .Set("index", int64_t{result})
                 .Make(),
             0, false, type}};
  }
  if (const auto dim = CutDim(graph, node, base, graph.type(tensor).rank()))
    return {{SliceOf(graph, node, result, tensor, *dim, cut), 0, false, type}};
  if (base == "aten::narrow") {
    const Call call = Call::Of(graph, node);
    const int64_t start = IntArgument(graph, node, "start", -1);
    const int64_t length = IntArgument(graph, node, "length", -1);
    if (start >= 0 && length >= 0 && length <= INT64_MAX - start)
      return {{CallMaker(graph.context(), "aten::slice.Tensor")
                   .Set("self", tensor)
                   .Take(call, {"dim"})
                   .Set("start", start)
                   .Set("end", start + length)
                   .Set("step", int64_t{1})
                   .Make(),
               0, false, type}};
  }
  if (base == "aten::meshgrid") return GridSteps(graph, node, result, tensor);
  if (base == "aten::broadcast_tensors") return {{Expand(graph, tensor, type, view), 0, false, type}};
  if (list) return {{Reshape(graph, tensor, type, view), 0, false, type}};
  const auto* slot = std::get_if<Operand>(&graph[node].attributes[argument].value);
  return {{Call::Of(graph, node), slot->index, false, type}};
}

ViewStep StepOfSequence(const Graph& graph, NodeId node) {
  const auto* slot = std::get_if<Operand>(&graph[node].attributes[0].value);
  return {Call::Of(graph, node), slot->index, false, graph[graph.result(node)].type};
}

bool IsCut(const Graph& graph, NodeId node) {
  static constexpr std::string_view kOps[] = {
      "aten::unbind",       "aten::split",        "aten::split_with_sizes",        "aten::chunk",
      "aten::unsafe_split", "aten::unsafe_chunk", "aten::unsafe_split_with_sizes", "aten::tensor_split"};
  return std::ranges::find(kOps, Base(graph.op(node))) != std::end(kOps);
}

bool CutsApart(const Graph& graph, NodeId node) {
  if (!IsCut(graph, node)) return false;
  if (Base(graph.op(node)) != "aten::tensor_split") return true;
  // It may go back and forth between the positions that it is given.
  const Type* numbers = graph.op(node).ends_with(".tensor_indices_or_sections") ? &graph.type(graph.operand(node, 1)) : nullptr;
  return numbers != nullptr ? numbers->ranked && numbers->rank() == 0 : graph.op(node).ends_with(".sections");
}

ValueId Replay(Graph& graph, const ViewStep& step, ValueId tensor, NodeId before, OriginId origin) {
  if (step.identity) return tensor;
  Call call = step.call;
  call.operands[step.slot] = tensor;
  return InsertCall(graph, before, std::move(call), step.type, origin);
}

bool InverseReadsTensor(const Graph& graph, const ViewStep& step) {
  if (step.identity) return false;
  const ViewRow row = RowOf(graph, step);
  if (row.inverse == Inverse::kScatter) return row.scatter.ends_with("_scatter");
  return row.inverse == Inverse::kReal || row.inverse == Inverse::kImaginary || row.inverse == Inverse::kElement;
}

ValueId PutBack(Graph& graph, std::span<const ViewStep* const> steps, Viewed viewed, ValueId tensor, ValueId view,
                NodeId before, OriginId origin) {
  Context& context = graph.context();
  ExprPool& exprs = context.exprs();
  Expr count = context[viewed.type].ranked ? exprs.Constant(1) : exprs.Anonymous();
  for (const Expr size : context[viewed.type].sizes) count = exprs.Mul(count, size);
  const auto type_of_positions = [&](TypeId type) {
    return context.Intern(context[type].ranked ? Type::OfTensor(DType::kInt64, context[type].sizes) : Type::Unranked(DType::kInt64));
  };
  CallMaker arange(context, "aten::arange");
  arange.Set("dtype", DType::kInt64);
  if (const auto constant = exprs.AsConstant(count)) {
    arange.Set("end", Attribute(*constant));
  } else {
    arange.Set("end", InsertCall(graph, before, CallMaker(context, "aten::sym_numel").Set("self", viewed.like).Make(),
                                 context.Intern(Type::OfInt(count)), origin));
  }
  // The positions of the view's elements in the flattened tensor.
  ValueId positions =
      InsertCall(graph, before, arange.Make(), context.Intern(Type::OfTensor(DType::kInt64, {count})), origin);
  const TypeId shape = type_of_positions(viewed.type);
  positions = InsertCall(graph, before, Reshape(graph, positions, shape, viewed.like), shape, origin);
  for (const ViewStep* step : steps) {
    ViewStep of_positions = *step;
    of_positions.type = type_of_positions(step->type);
    positions = Replay(graph, of_positions, positions, before, origin);
  }
  const Call put = CallMaker(context, "aten::put")
                       .Set("self", tensor)
                       .Set("index", positions)
                       .Set("source", view)
                       .Set("accumulate", false)
                       .Make();
  return InsertCall(graph, before, put, viewed.type, origin);
}

namespace {

// The permutation that undoes `permute(dims)`.
std::optional<Ints> InversePermutation(const Attribute* attribute) {
  const Ints* dims = attribute ? std::get_if<Ints>(attribute) : nullptr;
  if (dims == nullptr) return std::nullopt;
  Ints inverse(dims->size(), -1);
  for (size_t i = 0; i < dims->size(); ++i) {
    const int64_t dim = (*dims)[i] < 0 ? (*dims)[i] + static_cast<int64_t>(dims->size()) : (*dims)[i];
    if (dim < 0 || dim >= static_cast<int64_t>(dims->size())) return std::nullopt;
    inverse[static_cast<size_t>(dim)] = static_cast<int64_t>(i);
  }
  return inverse;
}

// Whether strides surely lead to different places: each is longer than all that
// the shorter ones can reach.
bool IsInjective(const Attribute* size, const Attribute* stride) {
  const Ints* sizes = size ? std::get_if<Ints>(size) : nullptr;
  const Ints* strides = stride ? std::get_if<Ints>(stride) : nullptr;
  if (sizes == nullptr || strides == nullptr || sizes->size() != strides->size()) return false;
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < sizes->size(); ++i)
    if ((*sizes)[i] > 1) dims.emplace_back((*strides)[i], (*sizes)[i]);
  std::ranges::sort(dims);
  int64_t reach = 0;
  for (const auto& [step, count] : dims) {
    int64_t further;
    if (step <= reach || __builtin_mul_overflow(step, count - 1, &further) ||
        __builtin_add_overflow(reach, further, &reach))
      return false;
  }
  return true;
}

// Whether two shapes have the same elements: the same sizes but for ones.
bool SameButOnes(const Graph& graph, TypeId a, TypeId b) {
  auto sizes = [&](TypeId id) {
    std::vector<Expr> kept;
    for (const Expr size : graph.context()[id].sizes)
      if (!graph.context().exprs().IsConstant(size, 1)) kept.push_back(size);
    return kept;
  };
  return sizes(a) == sizes(b);
}

}  // namespace

ValueId Invert(Graph& graph, const ViewStep& step, Viewed viewed, ValueId tensor, ValueId view, NodeId before,
               OriginId origin) {
  if (step.identity) return view;
  Context& context = graph.context();
  auto insert = [&](Call call, TypeId type) { return InsertCall(graph, before, std::move(call), type, origin); };
  const std::string_view op = context.Text(step.call.op);
  const ViewRow row = RowOf(graph, step);
  switch (row.inverse) {
    case Inverse::kPut: break;  // see MayOverlap
    case Inverse::kScatter: {
      CallMaker maker(context, row.scatter);
      if (!row.scatter.ends_with("_scatter")) return insert(maker.Set("self", view).Make(), viewed.type);
      maker.Set("self", tensor).Set("src", view);
      // These names suffice for all four, and each has those of its view.
      maker.Take(step.call, {"dim", "index", "start", "end", "step", "offset", "dim1", "dim2", "size", "stride",
                             "storage_offset"});
      return insert(maker.Make(), viewed.type);
    }
    case Inverse::kSame: {
      Call call = step.call;
      call.operands[step.slot] = view;
      return insert(std::move(call), viewed.type);
    }
    case Inverse::kReshape: {
      if (context[viewed.type].ranked && context[step.type].ranked && context[viewed.type].sizes == context[step.type].sizes) return view;
      return insert(Reshape(graph, view, viewed.type, viewed.like), viewed.type);
    }
    case Inverse::kPermute: {
      Ints dims = *InversePermutation(step.call.Find(context.Intern("dims")));
      return insert(CallMaker(context, "aten::permute").Set("self", view).Set("dims", std::move(dims)).Make(),
                    viewed.type);
    }
    case Inverse::kMoveDims:
      return insert(CallMaker(context, op)
                        .Set("self", view)
                        .Take("source", step.call, "destination")
                        .Take("destination", step.call, "source")
                        .Make(),
                    viewed.type);
    case Inverse::kViewDtype:
      return insert(
          CallMaker(context, "aten::view.dtype").Set("self", view).Set("dtype", context[viewed.type].dtype).Make(),
          viewed.type);
    case Inverse::kReal:
    case Inverse::kImaginary: {
      const bool real = row.inverse == Inverse::kReal;
      const ValueId other =
          insert(CallMaker(context, real ? "aten::imag" : "aten::real").Set("self", tensor).Make(), step.type);
      return insert(
          CallMaker(context, "aten::complex").Set("real", real ? view : other).Set("imag", real ? other : view).Make(),
          viewed.type);
    }
    case Inverse::kElement:
      return insert(CallMaker(context, "aten::_set_item.t").Set("l", tensor).Take("idx", step.call, "idx").Set("el", view).Make(),
                    viewed.type);
  }
  return view;
}

bool MayOverlap(const Graph& graph, const ViewStep& step, TypeId viewed) {
  if (step.identity) return false;
  const std::string_view op = graph.context().Text(step.call.op), base = Base(op);
  if (base == "aten::expand" || base == "aten::expand_as" || base == "aten::broadcast_to")
    return !SameButOnes(graph, viewed, step.type);
  const Inverse inverse = RowOf(graph, step).inverse;
  if (inverse == Inverse::kPermute) return !InversePermutation(step.call.Find(graph.context().Intern("dims")));
  if (base == "aten::as_strided")
    return !IsInjective(step.call.Find(graph.context().Intern("size")),
                        step.call.Find(graph.context().Intern("stride")));
  return inverse == Inverse::kPut;
}

namespace {

struct StepArguments {
  const Context& context;
  const Call& call;
  std::optional<int64_t> Int(std::string_view name, int64_t absent) const {
    for (const NamedAttribute& attribute : call.attributes) {
      if (context.Text(attribute.name) != name) continue;
      if (const auto* value = std::get_if<int64_t>(&attribute.value)) return *value;
      if (std::holds_alternative<None>(attribute.value)) return absent;
      return std::nullopt;
    }
    return absent;
  }
  std::optional<ValueId> Operand(std::string_view name) const {
    for (const NamedAttribute& attribute : call.attributes)
      if (const auto* operand = std::get_if<flambeau::Operand>(&attribute.value); operand != nullptr && context.Text(attribute.name) == name)
        return call.operands[operand->index];
    return std::nullopt;
  }
};

}  // namespace

std::optional<Expr> OffsetOf(const Graph& graph, const ViewStep& step, TypeId viewed) {
  ExprPool& exprs = graph.context().exprs();
  if (step.identity) return exprs.Constant(0);
  const Type& tensor = graph.context()[viewed];
  const std::string_view base = Base(graph.context().Text(step.call.op));
  const StepArguments arguments{graph.context(), step.call};
  const auto rank = static_cast<int64_t>(tensor.rank());
  // `count` steps along `dim`.
  auto along = [&](std::optional<int64_t> dim, std::optional<int64_t> count) -> std::optional<Expr> {
    if (!dim || !count || tensor.strides.size() != tensor.rank()) return std::nullopt;
    if (*dim < 0) *dim += rank;
    if (*dim < 0 || *dim >= rank) return std::nullopt;
    const auto at = static_cast<size_t>(*dim);
    Expr position = exprs.Constant(*count);
    if (*count < 0) position = exprs.Add(position, tensor.sizes[at]);
    return exprs.Mul(position, tensor.strides[at]);
  };
  if (base == "aten::select") return along(arguments.Int("dim", 0), arguments.Int("index", 0));
  if (base == "aten::slice") {
    auto dim = arguments.Int("dim", 0), start = arguments.Int("start", 0);
    if (dim && *dim < 0) *dim += rank;
    const auto size = dim && *dim >= 0 && *dim < rank ? exprs.AsConstant(tensor.sizes[static_cast<size_t>(*dim)]) : std::nullopt;
    if (start && size) start = std::clamp<int64_t>(*start < 0 ? *start + *size : *start, 0, *size);  // as PyTorch does
    return along(dim, start);
  }
  if (base == "aten::diagonal" || base == "aten::linalg_diagonal") {
    const auto offset = arguments.Int("offset", 0);
    if (!offset || *offset == std::numeric_limits<int64_t>::min()) return std::nullopt;
    return *offset >= 0 ? along(arguments.Int("dim2", 1), offset) : along(arguments.Int("dim1", 0), -*offset);
  }
  const Inverse inverse = RowOf(graph, step).inverse;
  if (inverse == Inverse::kSame || inverse == Inverse::kReshape || inverse == Inverse::kPermute ||
      inverse == Inverse::kMoveDims)
    return exprs.Constant(0);
  return std::nullopt;
}

bool IsWhole(const Graph& graph, const ViewStep& step) {
  if (step.identity) return true;
  if (Base(graph.context().Text(step.call.op)) != "aten::slice") return false;
  const StepArguments arguments{graph.context(), step.call};
  return arguments.Int("start", 0) == 0 && arguments.Int("end", INT64_MAX) == INT64_MAX && arguments.Int("step", 1) == 1;
}

std::optional<OpenPosition> OpenPositionOf(const Graph& graph, const ViewStep& step, TypeId viewed) {
  if (step.identity || Base(graph.context().Text(step.call.op)) != "aten::select") return std::nullopt;
  const StepArguments arguments{graph.context(), step.call};
  const auto dim = arguments.Int("dim", 0);
  const auto index = arguments.Operand("index");
  if (!dim || !index) return std::nullopt;
  return OpenPosition{*index, *dim < 0 ? *dim + static_cast<int64_t>(graph.context()[viewed].rank()) : *dim};
}

}  // namespace flambeau
