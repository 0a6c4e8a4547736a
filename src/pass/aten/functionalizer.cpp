#include "pass/aten/functionalizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "aten/pure_form.h"
#include "aten/strides.h"
#include "pass/aten/passes.h"

namespace flambeau {

using aten::Relation;
using aten::Schema;

namespace {

bool IsHigherOrder(std::string_view op) { return op.starts_with("higher_order::"); }

// The argument whose memory, sizes and strides become those of the first.
std::optional<std::string_view> SetFrom(std::string_view op) {
  if (op == "aten::set_.source_Tensor") return "source";
  if (op == "aten::set_data") return "new_data";
  return std::nullopt;
}

bool IsResize(std::string_view base) { return base == "aten::resize_" || base == "aten::resize_as_"; }

// Whether no element of a tensor is read: then it does not matter what was written.
bool LooksAtSizes(std::string_view op) {
  static constexpr std::string_view kOps[] = {"aten::dim",          "aten::empty_like", "aten::full_like",    "aten::len.t",
                                              "aten::new_empty",    "aten::new_full",   "aten::new_ones",     "aten::new_zeros",
                                              "aten::numel",        "aten::ones_like",  "aten::size",         "aten::size.int",
                                              "aten::sym_numel",    "aten::sym_size",   "aten::sym_size.int", "aten::zeros_like"};
  static_assert(std::ranges::is_sorted(kOps));
  return std::ranges::binary_search(kOps, op);
}

// Whether no dimension is known to differ.
bool MayBeSame(ExprPool& exprs, const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b, [&](Expr left, Expr right) {
    const ExprPool::Range more = exprs.RangeOf(exprs.Sub(left, right));
    return left == right || (more.min <= 0 && more.max >= 0);
  });
}

// Whether the sizes are made of others, as those of `torch.zeros(x.size(0), 2)` and none of `torch.empty(0)` are: meant for what is written.
bool AreComputed(const ExprPool& exprs, const std::vector<Expr>& sizes) {
  return std::ranges::any_of(sizes, [&](Expr size) { return !exprs.AsConstant(size); }) &&
         std::ranges::none_of(sizes, [&](Expr size) { return exprs.AsConstant(size) == 0; });
}

// What is written, of `rank` dimensions, as the type of what it is written to, which is `like`. A run in which the sizes differ
// fails: tensors of other sizes cannot be stacked, where one may be reshaped to the other's if it only has as many elements.
ValueId Fit(Graph& graph, NodeId node, ValueId value, size_t rank, ValueId like, TypeId type) {
  Context& context = graph.context();
  const OriginId origin = graph[node].origin;
  if (context[type].rank() != rank) {
    const Call view = CallMaker(context, "aten::view_as").Set("self", value).Set("other", like).Make();
    return InsertCall(graph, node, view, type, origin);
  }
  std::vector<Expr> sizes = context[type].sizes;
  sizes.insert(sizes.begin(), context.exprs().Constant(2));
  const ValueId both[] = {value, like};
  Call stack = CallMaker(context, "aten::stack").Set("tensors", both).Set("dim", Attribute(int64_t{0})).Make();
  const TypeId pair = context.Intern(Type::OfTensor(context[type].dtype, std::move(sizes)));
  const ValueId stacked = InsertCall(graph, node, std::move(stack), pair, origin);
  CallMaker first(context, "aten::select.int");
  first.Set("self", stacked).Set("dim", Attribute(int64_t{0})).Set("index", Attribute(int64_t{0}));
  return InsertCall(graph, node, first.Make(), type, origin);
}

}  // namespace

Expr ElementCount(std::span<const Expr> sizes, ExprPool& pool) {
  Expr count = pool.Constant(1);
  for (const Expr size : sizes) count = pool.Mul(count, size);
  return count;
}

bool ChangesMetadata(std::string_view base) {
  static constexpr std::string_view kOps[] = {"aten::as_strided_", "aten::detach_",    "aten::requires_grad_",
                                              "aten::resize_",     "aten::resize_as_", "aten::squeeze_",
                                              "aten::swapaxes_",   "aten::swapdims_",  "aten::t_",
                                              "aten::transpose_",  "aten::unsqueeze_"};
  return std::ranges::find(kOps, base) != std::end(kOps);
}

std::optional<std::string_view> PureOperator(const Graph& graph, NodeId node) {
  const Schema* schema = aten::FindSchema(graph.op(node));
  if (schema == nullptr) return graph.op(node);
  const aten::Writes writes = aten::WritesOf(graph, node, *schema);
  if (writes.arguments.empty()) return graph.op(node);
  if (IsResize(schema->base) || SetFrom(schema->name) || ChangesMetadata(schema->base)) return "";
  if (writes.listed && writes.pure.empty()) return std::nullopt;
  const auto form = aten::FindPureForm(*schema, writes.pure, static_cast<uint32_t>(writes.arguments.size()));
  return form ? std::optional(form->schema->name) : std::nullopt;
}

bool WritesUnseen(const Graph& graph, NodeId node) {
  if (graph[node].result_count > 0) return false;
  const std::string_view op = graph.op(node), space = op.substr(0, op.find("::"));
  static constexpr std::string_view kKnown[] = {"aten", "higher_order", "prim", "torch", "_operator"};
  if (std::ranges::find(kKnown, space) != std::end(kKnown) || aten::FindSchema(op) != nullptr) return false;
  const std::vector<ValueId> operands = graph.operands(node);
  return std::ranges::any_of(operands, [&](ValueId operand) { return operand && graph.type(operand).is_tensor(); });
}

Status Functionalizer::Visit(NodeId node) { return Apply(node, Resolve(node)); }

std::vector<ValueId> Functionalizer::Resolve(NodeId node) {
  std::vector<ValueId> captured = graph_.operands(node);
  const bool whole = graph_.op(node) == "aten::as_strided";  // sees the memory behind a view
  const bool sizes = LooksAtSizes(graph_.op(node));
  for (uint32_t i = 0; i < captured.size(); ++i) {
    const ValueId now = whole && i == 0         ? MemoryBehind(captured[i], node)
                        : sizes && captured[i] ? storages_.ReadSizes(captured[i], node)
                                                : storages_.Read(captured[i], node);
    if (now != captured[i]) graph_.SetOperand(node, i, now);
  }
  return captured;
}

Status Functionalizer::Apply(NodeId node, std::span<const ValueId> captured) {
  const Schema* schema = aten::FindSchema(graph_.op(node));
  if (schema != nullptr) {
    const aten::Writes writes = aten::WritesOf(graph_, node, *schema);
    if (!writes.arguments.empty()) return VisitWrites(node, *schema, writes, captured);
  }
  if (schema != nullptr && schema->base == "aten::as_strided") return AddStrided(node, captured[0]);
  if (schema == nullptr && WritesUnseen(graph_, node)) return ReportUnknownWrites(LocationOf(graph_, node), sink_);
  VisitViews(node, schema, captured);
  return {};
}

void Functionalizer::VisitViews(NodeId node, const Schema* schema, std::span<const ValueId> captured) {
  std::vector<TypeId> types;
  for (const ValueId tensor : captured)
    types.push_back(!tensor                   ? TypeId{}
                    : storages_.Knows(tensor) ? storages_.type(storages_.ViewOf(tensor))
                                              : graph_[tensor].type);
  CutEnd cut;
  for (uint32_t result = 0; result < graph_[node].result_count; ++result) {
    const ValueId value = graph_.result(node, result);
    if (!graph_.type(value).is_tensor()) continue;
    if (schema == nullptr) {
      if (IsHigherOrder(graph_.op(node))) continue;
      // Who knows what it does.
      for (const ValueId tensor : captured)
        if (tensor && graph_.type(tensor).is_tensor()) storages_.SetMaybe(value, tensor);
      continue;
    }
    const aten::ResultAlias alias = aten::AliasOf(graph_, node, *schema, result, types);
    if (alias.relation == Relation::kFresh) continue;
    const std::vector<ValueId> elements = CapturedElements(node, alias.argument, captured);
    const ValueId tensor = elements.size() > 1 && result < elements.size() ? elements[result] : elements[0];
    if (alias.relation == Relation::kMaybe || alias.relation == Relation::kIfOne) {
      storages_.SetMaybe(value, tensor, alias.relation == Relation::kIfOne);
      continue;
    }
    if (alias.itself) {
      storages_.SetSame(value, tensor);
      continue;
    }
    std::vector<ViewStep> steps = StepsOf(graph_, node, result, alias.argument, cut);
    storages_.SetView(value, storages_.ViewOf(tensor), std::move(steps), graph_[node].origin);
  }
}

// Why the elements of a storage cannot be counted as they lie in memory, as numbers of that dtype; empty if they can.
std::string_view Functionalizer::LacksOfMemory(ViewId root, DType dtype) const {
  const Type& type = graph_.context()[storages_.type(root)];
  if (!type.is_tensor()) return "as_strided on an element of a list of run-time length, which may be a part of another tensor";
  if (!aten::DenseOrder(type, graph_.context().exprs())) return "as_strided on memory of which the layout is not known, or has gaps";
  const bool halves = IsComplex(type.dtype) && IsFloating(dtype) && ByteSize(type.dtype) == 2 * ByteSize(dtype);
  return type.dtype == dtype || halves ? "" : "as_strided on memory that holds numbers of another dtype";
}

// From a storage to its dimensions in the order in which they lie in memory; what real strides count are halves of
// complex numbers.
std::vector<ViewStep> Functionalizer::StepsToMemory(ViewId root, ValueId base, DType dtype) {
  Context& context = graph_.context();
  const Type& type = context[storages_.type(root)];
  const auto order = *aten::DenseOrder(type, context.exprs());
  std::vector<Expr> sizes;
  for (const int64_t dim : order) sizes.push_back(type.sizes[static_cast<size_t>(dim)]);
  const bool is_part = type.dtype != dtype;
  std::vector<ViewStep> steps;
  if (!std::ranges::is_sorted(order)) {
    Call permute = CallMaker(context, "aten::permute").Set("self", base).Set("dims", order).Make();
    steps.push_back({std::move(permute), 0, false, context.Intern(Type::OfTensor(type.dtype, sizes))});
  }
  if (is_part) {
    sizes.push_back(context.exprs().Constant(2));
    Call parts = CallMaker(context, "aten::view_as_real").Set("self", base).Make();
    steps.push_back({std::move(parts), 0, false, context.Intern(Type::OfTensor(dtype, std::move(sizes)))});
  }
  return steps;
}

ValueId Functionalizer::MemoryBehind(ValueId tensor, NodeId node) {
  const ViewId root = storages_.Root(storages_.ViewOf(tensor));
  const DType dtype = graph_.type(tensor).dtype;
  ValueId base = storages_.Read(root, node);
  if (!LacksOfMemory(root, dtype).empty()) return base;  // is reported where it becomes a view
  for (const ViewStep& step : StepsToMemory(root, base, dtype)) base = Replay(graph_, step, base, node, graph_[node].origin);
  return base;
}

// as_strided sees the memory behind its argument, whatever view that is; it has that by now. Here it becomes a view of
// the whole storage.
Status Functionalizer::AddStrided(NodeId node, ValueId tensor) {
  Context& context = graph_.context();
  const ViewId view = storages_.ViewOf(tensor);
  const ViewId root = storages_.Root(view);
  auto fail = [&](std::string_view message) {
    return sink_.Error(DiagnosticKind::kUnsupportedForm, std::string(message), LocationOf(graph_, node));
  };
  if (storages_.MayBePart(tensor))
    return sink_.Error(DiagnosticKind::kUnknownAliasing,
                       "as_strided looks at the memory around a tensor that may be a part of another; the capture does not say where it lies",
                       LocationOf(graph_, node), "clone the tensor before, or index the one that it is a part of");
  const DType dtype = graph_.type(tensor).dtype;
  if (const std::string_view lacks = LacksOfMemory(root, dtype); !lacks.empty()) return fail(lacks);
  if (storages_.HasOtherValues(view)) return fail("as_strided of a conjugate, which is a view of what is not conjugate");
  const Attribute* given = graph_.FindAttribute(node, "storage_offset");
  Attribute offset = given ? *given : Attribute(None{});
  if (std::holds_alternative<None>(offset)) {
    const auto start = storages_.Offset(view);
    const auto constant = start ? context.exprs().AsConstant(*start) : std::nullopt;
    if (!constant) return fail("as_strided without a storage_offset, on a view that starts at an unknown place");
    offset = *constant;
  }
  std::vector<ViewStep> steps = StepsToMemory(root, graph_.operand(node, 0), dtype);
  const ValueId result = graph_.result(node);
  graph_.SetAttribute(node, context.Intern("storage_offset"), offset);
  steps.push_back({Call::Of(graph_, node), 0, false, graph_[result].type});
  storages_.SetView(result, root, std::move(steps), graph_[node].origin);
  return {};
}

std::vector<ValueId> Functionalizer::CapturedElements(NodeId node, uint32_t argument,
                                                      std::span<const ValueId> captured) const {
  const Attribute& value = graph_[node].attributes[argument].value;
  if (const auto* operand = std::get_if<Operand>(&value)) return {captured[operand->index]};
  std::vector<ValueId> elements;
  if (const auto* list = std::get_if<OperandList>(&value))
    for (const ListElement& element : *list) {
      const auto* operand = std::get_if<Operand>(&element);
      elements.push_back(operand ? captured[operand->index] : ValueId{});
    }
  return elements;
}

const aten::PureForm* Functionalizer::PureFormOf(const Schema& schema, const aten::Writes& writes, uint32_t count) {
  if (writes.listed && writes.pure.empty()) return nullptr;
  auto& form = pure_forms_.try_emplace({&schema, writes.pure}).first->second;
  if (!form) form = aten::FindPureForm(schema, writes.pure, count);
  return form ? &*form : nullptr;
}

std::vector<Functionalizer::Written> Functionalizer::WrittenBy(NodeId node, const Schema& schema, const aten::Writes& writes,
                                                               std::span<const ValueId> captured) {
  std::vector<Written> written;
  uint32_t place = 0, next = 0;
  for (const uint32_t argument : writes.arguments) {
    // The pure form of a user's operator has a result for all that it may write, given or not.
    for (; next < argument; ++next) place += schema.arguments[next].writes ? 1 : 0;
    for (const ValueId tensor : CapturedElements(node, argument, captured))
      if (tensor) written.push_back({tensor, storages_.ViewOf(tensor), place++});
    next = argument + 1;
  }
  return written;
}

std::optional<Result<Call>> Functionalizer::PureCallOf(NodeId node, std::span<const ValueId> captured) {
  const Schema* schema = aten::FindSchema(graph_.op(node));
  if (schema == nullptr) return std::nullopt;
  if (const auto source = SetFrom(schema->name))
    return CallMaker(graph_.context(), "aten::detach").Take("self", Call::Of(graph_, node), *source).Make();
  const aten::Writes writes = aten::WritesOf(graph_, node, *schema);
  if (writes.arguments.empty()) return std::nullopt;
  const std::vector<Written> written = WrittenBy(node, *schema, writes, captured);
  const aten::PureForm* form = PureFormOf(*schema, writes, static_cast<uint32_t>(written.size()));
  if (form == nullptr) return Result<Call>(kFailure);
  return PureCall(node, *schema, *form, written);
}

void Functionalizer::EraseReplaced() {
  for (size_t i = replaced_.size(); i-- > 0;)
    if (!graph_[replaced_[i]].erased) graph_.Erase(replaced_[i]);
  replaced_.clear();
}

Status Functionalizer::VisitWrites(NodeId node, const Schema& schema, const aten::Writes& writes,
                                   std::span<const ValueId> captured) {
  if (IsResize(schema.base)) return VisitResize(node, captured[0]);
  if (SetFrom(schema.name)) {
    storages_.Rebind(captured[0], storages_.ViewOf(captured[1]), {}, {}, graph_[node].origin);
    if (graph_[node].result_count > 0) storages_.SetSame(graph_.result(node), captured[0]);
    replaced_.push_back(node);
    return {};
  }
  if (ChangesMetadata(schema.base)) return VisitMetadata(node, schema, captured[0]);
  // Others PyTorch refuses.
  if (schema.base == "aten::fill_diagonal_" && storages_.Overlaps(storages_.ViewOf(captured[0])))
    return sink_.Error(DiagnosticKind::kUnsupportedForm, "writes the diagonal of a tensor whose elements share memory", LocationOf(graph_, node),
                       "clone the expanded tensor before");
  std::vector<Written> written = WrittenBy(node, schema, writes, captured);
  const aten::PureForm* form = PureFormOf(schema, writes, static_cast<uint32_t>(written.size()));
  if (form == nullptr)
    return sink_.Error(DiagnosticKind::kUnsupportedForm, "writes to its argument, and has no pure counterpart",
                       LocationOf(graph_, node));
  const OriginId origin = graph_[node].origin;
  FLAMBEAU_TRY(const Fresh fresh, BindResults(node, schema, captured, written));
  const PureTypes types = TypesOfPure(node, schema, *form, fresh, written);
  replaced_.push_back(node);
  // A copy of something of the same type is that something.
  if (schema.base == "aten::copy_" && graph_.operand_count(node) >= 2) {
    const Type &to = graph_.type(graph_.operand(node, 0)), &from = graph_.type(graph_.operand(node, 1));
    if (to.dtype == from.dtype && to.sizes == from.sizes) return Store(node, written[0], graph_.operand(node, 1));
  }
  FLAMBEAU_TRY(Call call, PureCall(node, schema, *form, written));
  const NodeId pure = InsertCall(graph_, node, std::move(call), types.all, origin);
  return ReplaceByPure(node, pure, fresh, written, types.first_written);
}

Result<Functionalizer::Fresh> Functionalizer::BindResults(NodeId node, const Schema& schema, std::span<const ValueId> captured,
                                                          std::span<Written> written) {
  Fresh fresh;
  for (uint32_t i = 0; i < graph_[node].result_count; ++i) {
    const auto& to = aten::ReturnOf(graph_, node, schema, i);
    const auto target = std::ranges::find_if(
        schema.arguments, [&](const auto& a) { return a.writes && !to.alias.empty() && a.alias == to.alias; });
    const ValueId result = graph_.result(node, i);
    if (target == schema.arguments.end()) {
      fresh.results.push_back(i);
      fresh.types.push_back(graph_[result].type);
      continue;
    }
    const auto elements = CapturedElements(node, static_cast<uint32_t>(target - schema.arguments.begin()), captured);
    const ValueId tensor = elements.size() > 1 ? elements[i] : elements[0];
    const auto out = std::ranges::find(written, tensor, &Written::tensor);
    if (target->keyword_only && out != written.end()) FLAMBEAU_CHECK_OK(BindOut(result, schema, *out, node));
    else storages_.SetSame(result, tensor);  // what is written in place keeps its sizes
  }
  return fresh;
}

Functionalizer::OutShape Functionalizer::ShapeOfOut(const Schema& schema, ValueId tensor, std::span<const Expr> sizes) {
  // These count the elements, and resize where there are more or fewer.
  static constexpr std::string_view kCounting[] = {"aten::arange", "aten::linspace", "aten::logspace", "aten::range"};
  if (std::ranges::find(kCounting, schema.base) == std::end(kCounting)) return OutShape::kOfResult;
  ExprPool& exprs = graph_.context().exprs();
  const Type& given = graph_.context()[storages_.type(storages_.ViewOf(tensor))];
  if (!given.ranked) return OutShape::kUnknown;
  if (given.rank() == 1) return OutShape::kOfResult;
  const ExprPool::Range more = exprs.RangeOf(exprs.Sub(ElementCount(sizes, exprs), ElementCount(given.sizes, exprs)));
  if (more.min == 0 && more.max == 0) return OutShape::kKept;
  return more.min > 0 || more.max < 0 ? OutShape::kOfResult : OutShape::kUnknown;
}

// An out= argument of other sizes is made to fit; its memory is then new. A part of a tensor, or one made to size of which
// there are parts, is meant to be written where its sizes may be those.
Status Functionalizer::BindOut(ValueId result, const Schema& schema, Written& out, NodeId node) {
  ExprPool& exprs = graph_.context().exprs();
  const ViewId view = storages_.ViewOf(out.tensor);
  const std::vector<Expr>&wanted = graph_.type(result).sizes, &given = graph_.context()[storages_.type(view)].sizes;
  const OutShape shape = ShapeOfOut(schema, out.tensor, wanted);
  if (shape == OutShape::kUnknown)
    return sink_.Error(DiagnosticKind::kUnsupportedForm, "keeps the shape of out= where it has as many elements as are written, which only the run knows",
                       LocationOf(graph_, node), "give out= a tensor of one dimension, and view it in that shape afterwards");
  if (shape == OutShape::kKept) {
    if (wanted != given)
      return sink_.Error(DiagnosticKind::kBadProgram, "has another shape in the captured program than out=, of which PyTorch keeps the shape where the elements are as many",
                         LocationOf(graph_, node), "give out= a tensor of one dimension, and view it in that shape afterwards");
    out.sizes = {ElementCount(wanted, exprs)};
    storages_.SetSame(result, out.tensor);
    return {};
  }
  const bool is_meant = view != storages_.Root(view) || (AreComputed(exprs, given) && storages_.HasViews(view));
  if (is_meant ? !MayBeSame(exprs, wanted, given) : wanted != given) {
    const bool is_empty = std::ranges::any_of(given, [&](Expr size) { return exprs.AsConstant(size) == 0; });
    if (!is_empty && !storages_.IsAlone(out.tensor)) storages_.SetOverwritten(storages_.StorageOf(out.tensor));  // others see some of what is written
    storages_.Detach(out.tensor, result);
  } else if (wanted != given) {
    out.sizes = wanted;
    if (!storages_.IsAlone(out.tensor))
      sink_.Add({DiagnosticKind::kUnsupportedForm, Severity::kWarning, LocationOf(graph_, node),
                 "out= is taken to have the sizes of what is written there, where other tensors share its memory: the model fails where it has not", {}, ""});
  }
  storages_.SetSame(result, out.tensor);
  return {};
}

Functionalizer::PureTypes Functionalizer::TypesOfPure(NodeId node, const Schema& schema, const aten::PureForm& form,
                                                      const Fresh& fresh, std::vector<Written>& written) {
  PureTypes types{fresh.types, fresh.types.size()};
  const size_t returned = form.schema->returns.size();
  if (aten::IsDeclared(schema)) {
    types.all.resize(std::max(returned, types.first_written + (written.empty() ? 0 : written.back().place + 1)),
                     graph_.context().Intern(Type::OfNone()));
  } else {
    // Batch norm returns its batch's statistics too, which are like the running ones.
    for (size_t i = types.all.size() + written.size(); i < returned; ++i) types.all.push_back(graph_[written[0].tensor].type);
    types.first_written = types.all.size();
    for (uint32_t i = 0; i < written.size(); ++i) written[i].place = i;
    types.all.resize(types.first_written + written.size());
  }
  for (Written& each : written) {
    each.view = storages_.ViewOf(each.tensor);
    Type type = graph_.context()[storages_.type(each.view)];
    type.dtype = PureDtype(node, form, type.dtype);
    if (!each.sizes.empty()) type = Type::OfTensor(type.dtype, each.sizes);
    types.all[types.first_written + each.place] = graph_.context().Intern(std::move(type));
  }
  return types;
}

Status Functionalizer::ReplaceByPure(NodeId node, NodeId pure, const Fresh& fresh, std::span<const Written> written, size_t first_written) {
  for (uint32_t i = 0; i < fresh.results.size(); ++i) {
    const ValueId old = graph_.result(node, fresh.results[i]), now = graph_.result(pure, i);
    graph_.SetName(now, graph_[old].name);
    graph_.ReplaceAllUses(old, now);
    storages_.SetSame(old, now);  // for users that are still to come
  }
  for (uint32_t i = 0; i < written.size(); ++i) {
    const ValueId value = graph_.result(pure, static_cast<uint32_t>(first_written + written[i].place));
    if (fresh.results.empty() && i < graph_[node].result_count) graph_.SetName(value, graph_[graph_.result(node, i)].name);
    FLAMBEAU_CHECK_OK(Store(node, written[i], value));
  }
  return {};
}

// The pure operator's own dtype, before what in-place operators cast away.
DType Functionalizer::PureDtype(NodeId node, const aten::PureForm& form, DType written) const {
  const aten::ResultDtype rule = aten::ResultDtypeOf(*form.schema);
  if (rule == aten::ResultDtype::kSame) return written;
  if (rule == aten::ResultDtype::kBool) return DType::kBool;
  // Tensors with dimensions count first, then those without, then numbers.
  DType dims = DType::kNone, scalars = DType::kNone;
  bool has_float = rule == aten::ResultDtype::kFloat;
  for (size_t i = 0; i < form.arguments.size(); ++i) {
    if (form.arguments[i] < 0) continue;
    const auto argument = static_cast<uint32_t>(form.arguments[i]);
    const aten::BaseType base = form.schema->arguments[i].type.base;
    if (argument < graph_[node].attributes.size())
      has_float |= std::holds_alternative<double>(graph_[node].attributes[argument].value) &&
                   (base == aten::BaseType::kTensor || base == aten::BaseType::kScalar);
    if (base != aten::BaseType::kTensor) continue;
    const ValueId value = aten::TensorArgument(graph_, node, argument);
    if (!value || !graph_.type(value).is_tensor()) continue;
    const Type& type = graph_.type(value);
    DType& side = type.rank() > 0 ? dims : scalars;
    side = side == DType::kNone ? type.dtype : aten::PromoteTypes(side, type.dtype);
  }
  DType dtype = dims;
  if (dims == DType::kNone || (scalars != DType::kNone && Info(scalars).category > Info(dims).category))
    dtype = dims == DType::kNone ? scalars : aten::PromoteTypes(dims, scalars);
  if (rule == aten::ResultDtype::kDouble) return IsComplex(dtype) ? DType::kComplex128 : DType::kFloat64;
  return has_float && !IsFloating(dtype) && !IsComplex(dtype) ? DType::kFloat32 : dtype;
}

Result<Call> Functionalizer::PureCall(NodeId node, const Schema& schema, const aten::PureForm& form,
                                      std::span<const Written> written) {
  const Call call = Call::Of(graph_, node);
  CallMaker maker(graph_.context(), form.schema->name);
  for (size_t i = 0; i < form.arguments.size(); ++i) {
    const int from = form.arguments[i];
    const std::string_view name = form.schema->arguments[i].name;
    // A reduction computes in the dtype of what it writes to, unless told another.
    const bool of_target = name == "dtype" && from >= 0 && static_cast<size_t>(from) < graph_[node].attributes.size() &&
                           std::holds_alternative<None>(graph_[node].attributes[static_cast<size_t>(from)].value) && !written.empty();
    if (from >= 0 && !of_target)
      maker.Take(name, call, schema.arguments[static_cast<size_t>(from)].name);
    else if (of_target || from == aten::PureForm::kOutDtype)
      maker.Set(name, Attribute(graph_.context()[storages_.type(written[0].view)].dtype));
  }
  return maker.Make();
}

Status Functionalizer::Store(NodeId node, const Written& written, ValueId value) {
  Context& context = graph_.context();
  const Type& type = context[storages_.type(written.view)];
  const ValueId memory = storages_.Whole(written.view);
  if (body_inputs_ == BodyInputs::kReadOnly && graph_[memory].kind == ValueKind::kInput &&
      graph_[memory].block != graph_.main())
    return sink_.Error(DiagnosticKind::kUnsupportedForm, "writes to an input of a nested graph",
                       LocationOf(graph_, node));
  if (graph_.type(value).dtype != type.dtype) {
    const Call cast =
        CallMaker(context, "aten::to.dtype").Set("self", value).Set("dtype", Attribute(type.dtype)).Make();
    Type cast_type = graph_.type(value);
    cast_type.dtype = type.dtype;
    value = InsertCall(graph_, node, cast, context.Intern(std::move(cast_type)), graph_[node].origin);
  }
  if (!written.sizes.empty()) {
    value = Fit(graph_, node, value, written.sizes.size(), storages_.ReadSizes(written.tensor, node), storages_.type(written.view));
  }
  storages_.Write(written.view, value, node);
  return {};
}

// t_() and its like: the same memory, seen differently through this object.
Status Functionalizer::VisitMetadata(NodeId node, const Schema& schema, ValueId tensor) {
  const OriginId origin = graph_[node].origin;
  const ViewId view = storages_.ViewOf(tensor);
  const aten::PureForm* form = PureFormOf(schema, {}, 1);
  const ValueId result = graph_[node].result_count > 0 ? graph_.result(node) : ValueId{};
  // Of no size of 1 squeeze_ leaves what was there, which is no other view: so in a loop.
  const bool leaves = schema.base == "aten::detach_" || schema.base == "aten::requires_grad_" ||
                      (schema.base == "aten::squeeze_" && result && graph_.type(result).sizes == graph_.context()[storages_.type(view)].sizes);
  if (result && form != nullptr && !leaves) {
    FLAMBEAU_TRY(Call call, PureCall(node, schema, *form, {}));
    const TypeId type = graph_[result].type;
    const ValueId viewed = InsertCall(graph_, node, std::move(call), type, origin);
    const NodeId pure = graph_[viewed].node;
    if (schema.base == "aten::as_strided_") {
      graph_.SetOperand(pure, 0, MemoryBehind(tensor, pure));
      FLAMBEAU_CHECK_OK(AddStrided(pure, tensor));
      storages_.SetSame(tensor, viewed);
    } else {
      CutEnd cut;
      storages_.Rebind(tensor, view, StepsOf(graph_, pure, 0, 0, cut), viewed, origin);
    }
  }
  if (result) storages_.SetSame(result, tensor);
  replaced_.push_back(node);
  return {};
}

}  // namespace flambeau
