#include "script/emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "aten/aliasing.h"
#include "aten/canonical.h"
#include "aten/strides.h"
#include "ir/torch_names.h"
#include "lower/registry.h"
#include "onnx/infer/fit.h"
#include "script/views/result_strides.h"

namespace flambeau::script {

using aten::BaseType;
using aten::Schema;

Emitter::Emitter(Program::Impl& program, Heap& heap, Sink& sink, const lower::CustomOperators& custom, int opset)
    : program_(program),
      graph_(program.graph),
      heap_(heap),
      sink_(sink),
      scratch_(program.context.get()),
      functionalizer_(graph_, sink, Functionalizer::BodyInputs::kWritable),
      inference_(graph_, &scratch_, &sink, &custom, opset) {
  inference_.set_default_dtype(program.default_dtype);
  inference_.set_torch_version(program.torch_version);
  open_.push_back({graph_.main(), {}});
}

// --- inputs and weights ------------------------------------------------------------

ValueId Emitter::AddInput(InputKind kind, std::string_view name, Type type, std::string_view target) {
  if (type.is_tensor() && type.ranked && type.strides.empty()) type.strides = ContiguousStrides(type.sizes, context().exprs());
  const ValueId value = graph_.AddInput(graph_.main(), context().Intern(std::move(type)), context().Intern(name));
  program_.inputs.push_back({kind, value, context().Intern(name), context().Intern(target)});
  inference_.Introduce(value);
  return Register(value);
}

ValueId Emitter::AddTensor(const TensorData& data, InputKind kind, std::string_view target, bool persistent) {
  Type type = Type::OfTensor(data.dtype, {});
  for (const int64_t size : data.sizes) type.sizes.push_back(context().exprs().Constant(size));
  if (data.strides.empty()) {
    type.strides = ContiguousStrides(type.sizes, context().exprs());
  } else {
    for (const int64_t stride : data.strides) type.strides.push_back(context().exprs().Constant(stride));
  }
  const ValueId value =
      graph_.AddConstant(context().Add(data), context().Intern(std::move(type)), context().Intern(target));
  program_.inputs.push_back({kind, value, context().Intern(target), context().Intern(target), persistent});
  return Register(value);
}

bool Emitter::IsParameter(ValueId tensor) const {
  return std::ranges::any_of(program_.inputs, [&](const InputSpec& input) {
    return input.kind == InputKind::kParameter && input.value == tensor;
  });
}

// Before a snapshot is taken, or a write after it would go to a storage that the
// snapshot does not know.
ValueId Emitter::Register(ValueId value) {
  if (value && (graph_.type(value).is_tensor() || graph_.type(value).kind == TypeKind::kSequence)) storages().ViewOf(value);
  return value;
}

Val Emitter::Settled(const Val& value) const {
  const auto* optional = value.As<OptionalVal>();
  const auto present = optional != nullptr ? Known(optional->present) : std::nullopt;
  if (!present) return value;
  return *present ? *optional->value : Val(Nothing{});
}

// --- calls -----------------------------------------------------------------------------

namespace {

// By their numbers in c10::Layout and c10::MemoryFormat.
std::optional<Argument> EnumArgument(BaseType base, int64_t number) {
  static constexpr std::string_view kLayouts[] = {"strided",    "sparse_coo", "sparse_csr", "mkldnn",
                                                  "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};
  const auto at = static_cast<size_t>(number);
  if (base == BaseType::kLayout && at < std::size(kLayouts)) return Argument(LayoutArgument{kLayouts[at]});
  if (base == BaseType::kMemoryFormat && at < std::size(kMemoryFormatNames)) return Argument(MemoryFormatArgument{kMemoryFormatNames[at]});
  if (base == BaseType::kLayout || base == BaseType::kMemoryFormat) return std::nullopt;
  return Argument(number);
}

}  // namespace

Result<Argument> Emitter::ArgumentOf(const Val& value, const aten::SchemaType& type, std::string_view name) {
  auto handle = [&](ValueId id) {
    handles_.push_back(id);
    return Argument(ValueHandle{static_cast<uint32_t>(handles_.size() - 1)});
  };
  auto elements = [&](const Vals& list) -> Result<Argument> {
    Argument::List arguments;
    aten::SchemaType element = type;
    element.list = false;
    for (const Val& each : list) {
      FLAMBEAU_TRY(Argument argument, ArgumentOf(each, element, name));
      arguments.push_back(std::move(argument));
    }
    return Argument(std::move(arguments));
  };
  if (value.Is<Nothing>() || type.base == aten::BaseType::kGenerator) return Argument();
  if (const auto* b = value.As<bool>()) return Argument(*b);
  if (const auto* i = value.As<int64_t>()) {
    if (auto argument = EnumArgument(type.base, *i)) return *std::move(argument);
  }
  if (const auto* d = value.As<double>()) return Argument(*d);
  if (const auto* c = value.As<std::complex<double>>()) return Argument(*c);
  if (const auto* s = value.As<std::string>()) return Argument(std::string_view(*s));
  if (const auto* device = value.As<DeviceVal>()) return Argument(DeviceArgument{device->text});
  if (const auto* tensor = value.As<TensorVal>()) return handle(tensor->id);
  if (const auto* number = value.As<NumberVal>()) return handle(number->id);
  if (const auto* tuple = value.As<TupleVal>()) return elements(*tuple->elements);
  if (const auto* list = value.As<ListVal>()) {
    const Cell& cell = heap_[list->cell];
    if (cell.sequence) return handle(*cell.sequence);
    return elements(cell.elements);
  }
  if (value.Is<QuantizedVal>())
    return sink_.Error(DiagnosticKind::kUnsupportedForm, fmt::format("argument '{}' is a quantized tensor", name), {},
                       "dequantize it before");
  return sink_.Error(DiagnosticKind::kUnsupportedForm,
                     fmt::format("argument '{}' is a value that no operator can take", name));
}

Status Emitter::Settle(NodeId except) {
  Open& open = open_.back();
  NodeId node = open.settled ? graph_[open.settled].next : graph_[open.block].first;
  for (; node; node = graph_[node].next) {
    if (node == except) continue;
    open.settled = node;  // reported once
    if (!inference_.Infer(node)) return kFailure;
    inference_.Accept(node);
  }
  open.settled = except ? graph_[except].previous : graph_[open.block].last;
  return {};
}

namespace {

// What is written in place has the sizes of the tensor, or is broadcast to them, and becomes its dtype, unless that loses what a number is.
std::string_view LacksInPlace(const Type& written, const Type& tensor, const ExprPool& exprs) {
  if (!written.is_tensor()) return {};
  if (Info(written.dtype).category > Info(tensor.dtype).category) return "numbers of more kinds";
  if (!written.ranked || !tensor.ranked) return {};
  const bool fits = written.rank() == tensor.rank() &&
                    std::ranges::equal(written.sizes, tensor.sizes, [&](Expr a, Expr b) { return !onnx::Differ(exprs, a, b); });
  return fits ? std::string_view() : "other sizes";
}

}  // namespace

// The types of the results of a node that writes.
Result<Emitter::Inferred> Emitter::InferredOfPure(NodeId node, const Schema& schema, std::span<const ValueId> captured,
                                                  Result<flambeau::Call> pure) {
  if (!pure)
    return sink_.Error(DiagnosticKind::kUnsupportedForm,
                       fmt::format("{} writes to its argument, and has no pure counterpart", context().Text(graph_[node].op)));
  const NodeId probe = InsertCall(graph_, node, *std::move(pure), std::span<const TypeId>(), origin_);
  auto inferred = inference_.Infer(probe);
  graph_.Erase(probe);
  if (!inferred) return kFailure;
  size_t fresh = 0, written = 0, writes = 0;
  for (const aten::SchemaArgument& argument : schema.arguments) writes += argument.writes;
  const size_t first_written = inferred->size() >= writes ? inferred->size() - writes : 0;
  std::vector<Type> types;
  auto take = [&](size_t i) {
    const Type* type = i < inferred->size() ? std::get_if<Type>(&(*inferred)[i]) : nullptr;
    types.push_back(type != nullptr ? *type : Type::OfNone());
  };
  for (const aten::SchemaArgument& returned : schema.returns) {
    const auto target = std::ranges::find_if(schema.arguments, [&](const aten::SchemaArgument& argument) {
      return argument.writes && !returned.alias.empty() && argument.alias == returned.alias;
    });
    if (target == schema.arguments.end()) {
      take(fresh++);
      continue;
    }
    const auto index = static_cast<uint32_t>(target - schema.arguments.begin());
    const auto operand = aten::TensorOperand(graph_, node, index);
    const ValueId tensor = operand ? captured[*operand] : ValueId{};
    if (!tensor || ChangesMetadata(schema.base)) {
      take(first_written + written);
    } else {
      const Type& before = context()[functionalizer_.storages().type(functionalizer_.storages().ViewOf(tensor))];
      take(first_written + written);
      if (!target->keyword_only && !schema.base.starts_with("aten::set_"))
        if (const auto lacks = LacksInPlace(types.back(), before, context().exprs()); !lacks.empty())
          return sink_.Error(DiagnosticKind::kBadProgram, fmt::format("{} writes {} than its tensor has", schema.base, lacks));
      // An out= argument is mostly made to fit; what is written in place keeps its sizes.
      const bool kept = functionalizer_.ShapeOfOut(schema, tensor, types.back().sizes) == Functionalizer::OutShape::kKept;
      if (!target->keyword_only || kept) types.back() = before;
      types.back().dtype = before.dtype;
    }
    ++written;
  }
  return Inferred{std::move(types), {}};
}

// Whether no two elements of the list that the operator makes share memory.
bool Emitter::KeepsElementsApart(NodeId node, std::span<const ValueId> captured) {
  if (CutsApart(graph_, node)) return !storages().Overlaps(storages().ViewOf(captured[0]));
  static constexpr std::string_view kOps[] = {"aten::Delete.t", "aten::_set_item.t", "aten::add.t",
                                              "aten::append.t", "aten::insert.t",    "aten::slice.t"};
  if (std::ranges::find(kOps, graph_.op(node)) == std::end(kOps)) return false;
  std::vector<ValueId> joined;
  for (const ValueId operand : captured) {
    if (!operand) continue;
    const bool list = graph_.type(operand).kind == TypeKind::kSequence;
    if (!list && !graph_.type(operand).is_tensor()) continue;
    if (list && !storages().IsDistinct(operand)) return false;
    joined.push_back(operand);
  }
  return storages().AreApart(joined);
}

// A sequence holds the values that its tensors had when they came to it; one that a tensor was cut into is a view of it.
void Emitter::LinkSequences(NodeId node, const Schema& schema, std::span<const ValueId> captured) {
  auto is_sequence = [&](ValueId value) { return graph_.type(value).kind == TypeKind::kSequence; };
  auto view = [&] { storages().SetView(graph_.result(node), storages().ViewOf(captured[0]), {StepOfSequence(graph_, node)}, origin_); };
  if (graph_.op(node) == "aten::__getitem__.t" && storages().OwnsElements(captured[0])) return view();
  if (graph_[node].result_count == 1 && is_sequence(graph_.result(node))) {
    const bool distinct = KeepsElementsApart(node, captured);
    if (IsCut(graph_, node)) view();
    if (distinct) storages().SetDistinct(graph_.result(node));
    if (IsCut(graph_, node)) return;  // of the tensor, and of none that says where
  }
  for (uint32_t i = 0; i < graph_[node].result_count; ++i) {
    const ValueId result = graph_.result(node, i);
    const bool aliases = !schema.returns.empty() && (schema.returns[0].wildcard || !schema.returns[0].alias.empty());
    const bool element = graph_.type(result).is_tensor() && aliases;
    if (!is_sequence(result) && !element) continue;
    for (const ValueId operand : captured)
      if (operand && (is_sequence(operand) || (is_sequence(result) && graph_.type(operand).is_tensor())))
        storages().SetMaybe(result, operand);
  }
}

Val Emitter::ResultOf(ValueId value) {
  const Type& type = graph_.type(value);
  switch (type.kind) {
    case TypeKind::kTensor: return TensorVal{storages().FirstName(value)};  // of what was written, if it was
    case TypeKind::kInt:
    case TypeKind::kBool:
      if (type.contents)
        if (const auto constant = context().exprs().AsConstant(type.contents->front()))
          return type.kind == TypeKind::kBool ? Val(*constant != 0) : Val(*constant);
      return NumberVal{value};
    case TypeKind::kFloat: return NumberVal{value};
    case TypeKind::kSequence: return ListVal{heap_.Add({.sequence = value})};
    case TypeKind::kNone: return Nothing{};
    default: return Undefined{};
  }
}

Vals Emitter::Group(const Schema& schema, Vals flat) {
  if (schema.returns.size() == 1 && schema.returns[0].type.list) {
    if (flat.size() == 1 && flat[0].Is<ListVal>()) return flat;
    return {ListVal{heap_.Add({.elements = std::move(flat)})}};
  }
  // One of several results may be a list: it takes what is left of the others.
  const auto list = std::ranges::find_if(schema.returns, [](const aten::SchemaArgument& each) { return each.type.list; });
  if (list == schema.returns.end() || flat.size() + 1 < schema.returns.size()) return flat;
  const auto first = flat.begin() + (list - schema.returns.begin());
  const auto last = flat.end() - (schema.returns.end() - list - 1);
  const Val elements = ListVal{heap_.Add({.elements = Vals(first, last)})};
  flat.insert(flat.erase(first, last), elements);
  return flat;
}

namespace {

Val ConstantOf(const onnx::Scalar& scalar) {
  switch (scalar.kind()) {
    case onnx::Scalar::Kind::kBool: return scalar.AsInt() != 0;
    case onnx::Scalar::Kind::kInt: return scalar.AsInt();
    case onnx::Scalar::Kind::kComplex: return scalar.AsComplex();
    default: return scalar.AsDouble();
  }
}

}  // namespace

// The call, canonical; as yet without results.
Result<NodeId> Emitter::Append(std::string_view op, const Schema& schema, std::span<const Val> values) {
  if (values.size() > schema.arguments.size())
    return sink_.Error(DiagnosticKind::kBadProgram, fmt::format("{} takes {} arguments, {} are given", op,
                       schema.arguments.size(), values.size()));
  handles_.clear();
  std::vector<Argument> arguments;
  for (size_t i = 0; i < values.size(); ++i) {
    FLAMBEAU_TRY(Argument argument, ArgumentOf(values[i], schema.arguments[i].type, schema.arguments[i].name));
    arguments.push_back(std::move(argument));
  }
  FLAMBEAU_TRY(aten::CanonicalCall call,
               aten::Canonicalize(&schema, op, arguments, {}, handles_, {}, context(), sink_));
  FLAMBEAU_CHECK_OK(Settle());
  return graph_.Append(block(), context().Intern(op), call.operands, call.attributes, {}, origin_);
}

Result<Emitter::Inferred> Emitter::InferredOf(NodeId node, std::span<const Type> recorded) {
  FLAMBEAU_TRY(auto results, inference_.Infer(node, recorded));
  Inferred inferred;
  for (auto& each : results) {
    if (const auto* scalar = std::get_if<onnx::Scalar>(&each)) {
      inferred.constants.push_back(ConstantOf(*scalar));
      inferred.types.push_back(Type::OfNone());
    } else {
      inferred.types.push_back(std::move(std::get<Type>(each)));
    }
  }
  if (inferred.constants.size() != inferred.types.size()) inferred.constants.clear();
  return inferred;
}

// The node again, with results, whose number is known by now.
NodeId Emitter::WithResults(NodeId node, const Schema& schema, std::vector<Type> types) {
  std::vector<TypeId> ids;
  for (Type& type : types) {
    if (auto strides = StridesOfResult(graph_, node, schema, type)) type.strides = *std::move(strides);
    ids.push_back(context().Intern(std::move(type)));
  }
  const Symbol op = graph_[node].op;
  const NodeId whole = graph_.InsertBefore(node, op, graph_.operands(node), graph_[node].attributes, ids, origin_);
  graph_.Erase(node);
  if (origin_) context()[origin_].node = whole;
  return whole;
}

// Makes the call pure, and its results known to the storages.
Status Emitter::Accept(NodeId node, std::span<const ValueId> captured, bool pure) {
  if (!pure) {
    inference_.Accept(node);
    open_.back().settled = node;
  }
  if (!functionalizer_.Apply(node, captured)) {
    open_.back().settled = graph_[block()].last;  // reported once
    return kFailure;
  }
  FLAMBEAU_CHECK_OK(Settle(pure ? node : NodeId{}));
  open_.back().settled = graph_[block()].last;  // what was replaced stays where it is until the end
  for (uint32_t i = 0; i < graph_[node].result_count; ++i) Register(graph_.result(node, i));
  return {};
}

Result<Vals> Emitter::Call(std::string_view op, std::span<const Val> values, std::span<const Type> recorded) {
  const Schema* schema = aten::FindSchema(op);
  if (schema == nullptr)
    return sink_.Error(DiagnosticKind::kUnsupportedOperator, lower::NoTranslation(op),
                       {.operation = std::string(op)});
  FLAMBEAU_TRY(NodeId node, Append(op, *schema, values));
  const std::vector<ValueId> captured = functionalizer_.Resolve(node);
  FLAMBEAU_CHECK_OK(Settle(node));
  const auto pure = functionalizer_.PureCallOf(node, captured);
  auto inferred = pure ? InferredOfPure(node, *schema, captured, *pure) : InferredOf(node, recorded);
  if (!inferred || !inferred->constants.empty()) {
    graph_.Erase(node);
    if (!inferred) return kFailure;
    return Group(*schema, std::move(inferred->constants));
  }
  node = WithResults(node, *schema, std::move(inferred->types));
  FLAMBEAU_CHECK_OK(Accept(node, captured, pure.has_value()));
  LinkSequences(node, *schema, captured);
  if (schema->name == "aten::select.int" && !captured.empty()) NoteElement(graph_.type(captured[0]), values);
  Vals results;
  for (uint32_t i = 0; i < graph_[node].result_count; ++i) results.push_back(ResultOf(graph_.result(node, i)));
  if (results.size() == 1 && results[0].Is<ListVal>()) FLAMBEAU_CHECK_OK(RememberPieces(*schema, values, results[0]));
  return Group(*schema, std::move(results));
}

// PyTorch raises where there is no such element.
void Emitter::NoteElement(const Type& tensor, std::span<const Val> arguments) {
  if (arguments.size() < 3 || !tensor.ranked) return;
  const auto given = arguments[1].AsInt(), index = arguments[2].AsInt();
  if (!given || !index) return;
  const auto rank = static_cast<int64_t>(tensor.sizes.size());
  const int64_t dim = *given < 0 ? *given + rank : *given;
  if (dim < 0 || dim >= rank) return;  // reported
  const Expr size = tensor.sizes[static_cast<size_t>(dim)];
  if (!context().exprs().AsConstant(size)) facts_.AssumeMoreThan(size, *index < 0 ? ~*index : *index);
}

Result<Val> Emitter::Call1(std::string_view op, std::span<const Val> arguments) {
  FLAMBEAU_TRY(Vals results, Call(op, arguments));
  if (results.empty()) return sink_.Error(DiagnosticKind::kInternalError, fmt::format("{} has no result", op));
  return std::move(results.front());
}

// --- values of now ------------------------------------------------------------------------

ValueId Emitter::Read(ValueId tensor) {
  const ValueId value = functionalizer_.storages().Read(tensor, graph_[block()].terminator);
  (void)Settle();
  return value;
}

ValueId Emitter::Read(ViewId view) {
  const ValueId value = functionalizer_.storages().Read(view, graph_[block()].terminator);
  (void)Settle();
  return value;
}

void Emitter::Write(StorageId storage, ValueId value) {
  functionalizer_.storages().Write(functionalizer_.storages().Root(storage), value, graph_[block()].terminator);
}

// --- nested graphs ----------------------------------------------------------------------------

BlockId Emitter::BeginBlock() {
  open_.push_back({graph_.AddBlock(), {}});
  return block();
}

void Emitter::EndBlock(std::span<const ValueId> outputs) {
  graph_.SetOutputs(block(), outputs);
  open_.pop_back();
}

ValueId Emitter::AddBlockInput(Type type) {
  const ValueId value = graph_.AddInput(block(), context().Intern(std::move(type)));
  inference_.Introduce(value);
  return Register(value);
}

std::vector<ValueId> Emitter::CallWithBlocks(std::string_view op, std::vector<ValueId> operands,
                                             std::vector<NamedAttribute> attributes, std::span<const Type> results) {
  (void)Settle();
  std::vector<TypeId> types;
  for (const Type& type : results) types.push_back(context().Intern(type));
  const NodeId node = graph_.Append(block(), context().Intern(op), operands, std::move(attributes), types, origin_);
  if (origin_) context()[origin_].node = node;
  std::vector<ValueId> values;
  for (uint32_t i = 0; i < types.size(); ++i) {
    values.push_back(Register(graph_.result(node, i)));
    inference_.Introduce(values.back());
  }
  open_.back().settled = node;
  return values;
}

void Emitter::DiscardBlock(BlockId block) {
  graph_.SetOutputs(block, {});
  // Uses come after definitions: from the last node to the first.
  while (const NodeId last = graph_[block].last) graph_.Erase(last);
}

void Emitter::DiscardBlocksFrom(BlockId first) {
  for (uint32_t i = graph_.block_capacity(); i-- > first.index;) DiscardBlock(BlockId{i});
}

void Emitter::DiscardLeftBlocksFrom(BlockId first) {
  for (uint32_t i = graph_.block_capacity(); i-- > first.index;)
    if (!graph_[BlockId{i}].owner) DiscardBlock(BlockId{i});
}

void Emitter::Finish() { functionalizer_.EraseReplaced(); }

}  // namespace flambeau::script
