// The values that the emitter makes of the program's numbers and lists: tensors of numbers, constants, sequences, optionals.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "onnx/complex.h"
#include "script/emitter.h"

namespace flambeau::script {

// --- tensors of numbers ------------------------------------------------------------------

namespace {

// bool < int < float, as c10::ScalarType numbers.
int64_t DtypeOf(const Val& number, const Graph& graph, DType floats) {
  const auto* value = number.As<NumberVal>();
  const TypeKind kind = value != nullptr ? graph.type(value->id).kind : TypeKind::kNone;
  if (const auto* tensor = number.As<TensorVal>()) return Info(graph.type(tensor->id).dtype).torch_code;
  if (number.Is<bool>() || kind == TypeKind::kBool) return Info(DType::kBool).torch_code;
  if (number.Is<int64_t>() || kind == TypeKind::kInt) return Info(DType::kInt64).torch_code;
  if (number.Is<std::complex<double>>()) return Info(onnx::ComplexDtype(floats)).torch_code;
  return Info(floats).torch_code;
}

int Order(int64_t code) { return code == Info(DType::kBool).torch_code ? 0 : code == Info(DType::kInt64).torch_code ? 1 : 2; }

}  // namespace

Result<Val> Emitter::NumberTensor(const Val& number, std::optional<DType> given) {
  if (number.Is<TensorVal>()) return number;
  return Call1("aten::scalar_tensor", {number, DtypeOf(number, graph_, given.value_or(default_dtype()))});
}

Result<Val> Emitter::NumbersTensor(const Vals& numbers, std::optional<DType> given) {
  const DType floats = given.value_or(default_dtype());
  int64_t dtype = numbers.empty() ? Info(floats).torch_code : Info(DType::kBool).torch_code;
  for (const Val& number : numbers)
    if (const int64_t other = DtypeOf(number, graph_, floats); Order(other) > Order(dtype)) dtype = other;
  if (std::ranges::any_of(numbers, &Val::Is<std::complex<double>>))
    return sink_.Error(DiagnosticKind::kUnsupportedForm, "makes a tensor of a list of complex numbers");
  if (numbers.empty()) return Call1("aten::zeros", {ListVal{heap_.Add({.elements = {int64_t{0}}})}, dtype});
  if (std::ranges::all_of(numbers, &Val::IsConstantNumber) && ByteSize(floats) >= 4) return ConstantTensor(numbers, dtype);
  Vals tensors;
  for (const Val& number : numbers) {
    Val flat = number;
    if (number.Is<TensorVal>()) {
      FLAMBEAU_TRY(flat, Call1("aten::reshape", {number, ListVal{heap_.Add({})}}));
    }
    FLAMBEAU_TRY(Val tensor, Call1(number.Is<TensorVal>() ? "aten::to.dtype" : "aten::scalar_tensor", {flat, dtype}));
    tensors.push_back(std::move(tensor));
  }
  return Call1("aten::stack", {ListVal{heap_.Add({.elements = std::move(tensors)})}, int64_t{0}});
}

Val Emitter::ConstantTensor(const Vals& numbers, int64_t dtype) {
  TensorData data;
  data.dtype = *DTypeFromTorchCode(dtype);
  data.sizes = {static_cast<int64_t>(numbers.size())};
  std::vector<std::byte> bytes(data.byte_size());
  const auto width = static_cast<size_t>(ByteSize(data.dtype));
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::byte* to = bytes.data() + i * width;
    const auto integer = numbers[i].AsInt();
    const double number = integer ? static_cast<double>(*integer) : numbers[i].Is<double>() ? *numbers[i].As<double>() : 0;
    const auto single = static_cast<float>(number);
    const auto flag = static_cast<uint8_t>(integer.value_or(0) != 0);
    if (data.dtype == DType::kInt64) std::memcpy(to, &*integer, sizeof(int64_t));
    else if (data.dtype == DType::kBool) std::memcpy(to, &flag, 1);
    else if (data.dtype == DType::kFloat64) std::memcpy(to, &number, sizeof number);
    else std::memcpy(to, &single, sizeof single);
  }
  data.source = MakeBufferSource(std::move(bytes));
  const ValueId made = AddTensor(data, InputKind::kConstantTensor, fmt::format("constant_{}", constants_++), false);
  program_.inputs.back().target = Symbol{0};  // each run makes it anew
  return TensorVal{made};
}

// --- values that operators take ------------------------------------------------------------

int64_t Emitter::NumberOf(const EnumVal& member) {
  return context().Intern(fmt::format("{}.{}", member.constant->class_name, member.constant->member)).index;
}

ValueId Emitter::Materialise(const Val& number) {
  if (const auto* member = number.As<EnumVal>()) return Materialise(Val(NumberOf(*member)));
  Type type;
  Attribute constant;
  if (const auto* b = number.As<bool>()) {
    type = Type::OfBool();
    type.contents = {context().exprs().Constant(*b)};
    constant = *b;
  } else if (const auto* i = number.As<int64_t>()) {
    type = Type::OfInt(context().exprs().Constant(*i));
    constant = *i;
  } else if (const auto* d = number.As<double>()) {
    type = Type::OfFloat();
    constant = *d;
  } else {
    return {};
  }
  (void)Settle();
  const TypeId id = context().Intern(std::move(type));
  const NodeId node = graph_.Append(block(), context().Intern("prim::Constant"), {},
                                    {{context().Intern("value"), std::move(constant)}}, {&id, 1}, origin_);
  (void)Settle();
  return graph_.result(node);
}

namespace {

std::string_view OperatorOf(ExprKind kind) {
  switch (kind) {
    case ExprKind::kAdd: return "_operator::add";
    case ExprKind::kMul: return "_operator::mul";
    case ExprKind::kFloorDiv: return "_operator::floordiv";
    case ExprKind::kMod: return "_operator::mod";
    case ExprKind::kMax: return "torch::sym_max";
    case ExprKind::kMin: return "torch::sym_min";
    default: return {};
  }
}

}  // namespace

// The depth of expressions is bounded.
Result<std::optional<Val>> Emitter::ValueOfSize(Expr size) {
  const ExprPool& exprs = context().exprs();
  if (const auto constant = exprs.AsConstant(size)) return std::optional<Val>(*constant);
  if (exprs.kind(size) == ExprKind::kSymbol) {
    for (const ValueId input : graph_[graph_.main()].inputs) {
      const Type& type = graph_.type(input);
      const auto found = type.is_tensor() ? std::ranges::find(type.sizes, size) : type.sizes.end();
      if (found == type.sizes.end()) continue;
      FLAMBEAU_TRY(Val number, Call1("aten::sym_size.int", {TensorVal{input}, static_cast<int64_t>(found - type.sizes.begin())}));
      return std::optional(std::move(number));
    }
    return std::optional<Val>();
  }
  const std::string_view op = OperatorOf(exprs.kind(size));
  if (op.empty()) return std::optional<Val>();
  std::optional<Val> result;
  // A copy: calls make further expressions.
  const std::vector<Expr> operands(exprs.operands(size).begin(), exprs.operands(size).end());
  for (const Expr operand : operands) {
    FLAMBEAU_TRY(const std::optional<Val> value, ValueOfSize(operand));
    if (!value) return std::optional<Val>();
    if (!result) {
      result = value;
      continue;
    }
    FLAMBEAU_TRY(result, Call1(op, {*result, *value}));
  }
  return result;
}

bool Emitter::AreDistinct(const Vals& tensors) {
  std::vector<ValueId> ids;
  for (const Val& element : tensors) {
    const auto* tensor = element.As<TensorVal>();
    if (tensor == nullptr) return false;
    ids.push_back(tensor->id);
  }
  return storages().AreApart(ids);
}

Result<ValueId> Emitter::Sequence(const Cell& list, const Type& type) {
  if (list.sequence) return Read(*list.sequence);
  if (!list.columns.empty()) return sink_.Error(DiagnosticKind::kUnsupportedForm, "a list of run-time length must hold tensors or numbers here");
  std::vector<ValueId> operands;
  OperandList elements;
  Vals tensors;
  for (const Val& element : list.elements) {
    if (element.IsNumber()) {
      FLAMBEAU_TRY(Val number, NumberTensor(element, DType::kFloat64));
      tensors.push_back(std::move(number));
    } else {
      tensors.push_back(element);
    }
  }
  (void)Settle();
  for (const Val& element : tensors) {
    const auto* tensor = element.As<TensorVal>();
    if (tensor == nullptr) return sink_.Error(DiagnosticKind::kUnsupportedForm, "a list of run-time length must hold tensors or numbers");
    elements.push_back(Operand{static_cast<uint32_t>(operands.size())});
    operands.push_back(Read(tensor->id));
  }
  Type sequence = type;
  sequence.strides.clear();
  const TypeId id = context().Intern(std::move(sequence));
  std::vector<NamedAttribute> attributes = {{context().Intern("elements"), std::move(elements)},
                                            {context().Intern("dtype"), type.dtype}};
  const NodeId node = graph_.Append(block(), context().Intern("prim::ListConstruct"), operands, std::move(attributes),
                                    {&id, 1}, origin_);
  inference_.Introduce(graph_.result(node));
  open_.back().settled = node;
  const ValueId made = Register(graph_.result(node));
  if (AreDistinct(tensors)) storages().SetDistinct(made);
  for (const Val& element : tensors) storages().SetMaybe(made, element.As<TensorVal>()->id);
  return made;
}

ValueId Emitter::Optional(ValueId present, ValueId value) {
  (void)Settle();
  Type type = TypeOf(value);
  type.kind = type.kind == TypeKind::kSequence ? TypeKind::kOptionalSequence : TypeKind::kOptional;
  type.strides.clear();
  type.contents.reset();
  const TypeId id = context().Intern(std::move(type));
  const ValueId operands[] = {present, value};
  const NodeId node = graph_.Append(block(), context().Intern("prim::Optional"), operands,
                                    {{context().Intern("present"), Operand{0}}, {context().Intern("value"), Operand{1}}},
                                    {&id, 1}, origin_);
  open_.back().settled = node;
  return graph_.result(node);
}

}  // namespace flambeau::script
