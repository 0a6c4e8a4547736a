#include "lower/inference.h"

#include <fmt/format.h>

#include <algorithm>

#include "lower/custom.h"
#include "lower/op.h"
#include "onnx/operator_table.h"

namespace flambeau::lower {
namespace {

using aten::BaseType;

Type TypeOfNumber(DType dtype, Expr value) {
  switch (dtype) {
    case DType::kBool: return Type::OfBool();
    case DType::kInt64: return Type::OfInt(value);
    default: return Type::OfFloat();
  }
}

bool ReturnsNumber(const aten::SchemaArgument* returned) {
  if (returned == nullptr || returned->type.list) return false;
  switch (returned->type.base) {
    case BaseType::kInt:
    case BaseType::kSymInt:
    case BaseType::kFloat:
    case BaseType::kBool:
    case BaseType::kScalar: return true;
    default: return false;
  }
}

}  // namespace

Inference::Inference(const Graph& aten, Graph* scratch, Sink* sink, const CustomOperators* custom, int opset)
    : Lowering(aten, scratch, onnx::NewestOpset(), sink), custom_(custom), opset_(opset == 0 ? onnx::NewestOpset() : opset) {}

Expr Inference::FreshSymbol(ExprPool::Range range) {
  std::string name;
  do name = fmt::format("u{}", next_symbol_++);
  while (exprs().Find(name));
  const Expr symbol = exprs().Symbolic(name, SymbolKind::kUnbacked);
  exprs().SetRange(symbol, range);
  return symbol;
}

Expr Inference::WithoutAnonymous(Expr expr) {
  if (!exprs().HasAnonymous(expr)) return expr;
  exprs().ForEachSymbol(expr, [&](Expr symbol) {
    if (exprs().symbol_kind(symbol) != SymbolKind::kAnonymous || named_.contains(symbol)) return;
    const ExprPool::Range range = exprs().RangeOf(symbol);
    named_[symbol] = FreshSymbol(range);
  });
  // A size is one symbol: what it is made of has no source.
  if (exprs().kind(expr) == ExprKind::kSymbol) return named_.at(expr);
  const auto [found, fresh] = named_.try_emplace(expr);
  if (fresh) {
    const ExprPool::Range range = exprs().RangeOf(expr);
    found->second = FreshSymbol(range);
  }
  return named_.at(expr);
}

Inference::Inferred Inference::Describe(Tensor& result, const aten::SchemaArgument* returned) {
  Tensor tensor = result;
  std::optional<Expr> size;  // that the number is, of a tensor whose type names it
  if (tensor.is_number() && ReturnsNumber(returned)) {
    const Scalar& number = tensor.number();
    if (number.is_constant()) return number;
    if (number.kind() == Scalar::Kind::kSymbolic) {
      if (const auto value = AsConstant(number.dim())) return Scalar(*value);
      if (!exprs().HasAnonymous(number.dim().expr)) return Type::OfInt(number.dim().expr);
      if (const auto named = named_.find(number.dim().expr); named != named_.end()) size = named->second;
      tensor = result = Number(number.dim());
    } else {
      tensor = Wrap(number.value());  // the result stays a number, which promotes as one
    }
  }
  if (ReturnsNumber(returned)) {
    // A value that exists at run time.
    if (tensor.type().contents && tensor.type().contents->size() == 1)
      if (const auto value = AsConstant({tensor.type().contents->front()}))
        return tensor.is_bool() ? Scalar(*value != 0) : Scalar(*value);
    Type type = TypeOfNumber(tensor.dtype(), {});
    if (type.kind == TypeKind::kInt) type.contents = std::vector<Expr>{size ? *size : FreshSymbol({INT64_MIN, INT64_MAX})};
    return type;
  }
  Type type = tensor.type();
  type.contents.reset();
  // Elements of a list need not share a size that has no name.
  if (type.kind != TypeKind::kSequence)
    for (Expr& size : type.sizes) size = WithoutAnonymous(size);
  return type;
}

namespace {

// One call, lowered for its types alone, as it will be lowered.
class Trial : public Lowering {
 public:
  using Lowering::Lowering;
  using Lowering::Translate;
};

}  // namespace

// What a trace recorded holds for its example's sizes only.
Type Inference::Recorded(NodeId node, Type type) {
  bool fixed = true;
  for (const ValueId operand : aten().operands(node)) {
    if (!operand) continue;
    for (const Expr size : aten().type(operand).sizes) fixed &= exprs().AsConstant(size).has_value();
  }
  if (!fixed)
    for (Expr& size : type.sizes) size = FreshSymbol({0, INT64_MAX});
  return type;
}

// A user's translator writes for the model's opset, and may leave types open.
std::optional<std::vector<Inference::Inferred>> Inference::InferCustom(NodeId node, std::span<const Type> recorded) {
  Graph scratch(&context());
  Trial trial(aten(), &scratch, opset_, &sink(), custom_);
  for (const ValueId operand : aten().operands(node)) {
    if (!operand || aten()[operand].kind == ValueKind::kConstant) continue;
    const Tensor known = ValueOf(operand);
    if (!known) continue;
    if (known.is_number() && known.number().is_constant()) {
      trial.SetValue(operand, known);
    } else {
      trial.SetValue(operand, trial.AddBlockInput(OnnxType(aten().type(operand))));
    }
  }
  const size_t errors = sink().error_count(), reported = sink().diagnostics().size();
  auto results = trial.Translate(node);
  if (!results || sink().error_count() > errors) return std::nullopt;
  // Numbers are none of a translator's results: it has declined the call.
  if (std::ranges::any_of(*results, [](const Tensor& result) { return result && result.is_number(); })) {
    sink().Truncate(reported);
    return InferOwn(node);
  }
  std::vector<Inferred> inferred;
  for (size_t i = 0; i < std::max(results->size(), recorded.size()); ++i) {
    const Tensor tensor = i < results->size() ? (*results)[i] : Tensor();
    const bool typed = tensor && !tensor.is_number() &&
                       (tensor.type().kind == TypeKind::kSequence ||
                        (tensor.type().is_tensor() && tensor.dtype() != DType::kNone && tensor.ranked()));
    if (typed) {
      Type type = tensor.type();
      type.contents.reset();
      if (type.kind != TypeKind::kSequence)
        for (Expr& size : type.sizes) size = WithoutAnonymous(size);
      inferred.emplace_back(std::move(type));
    } else if (i < recorded.size()) {
      inferred.emplace_back(Recorded(node, recorded[i]));
    } else if (!tensor) {
      inferred.emplace_back(Type::OfNone());
    } else {
      Report(DiagnosticKind::kMissingInformation, fmt::format("the dtype and rank of result {} of {} are not known", i, aten().op(node)),
             "register a fake implementation of the operator (torch.library.register_fake), or say them in its translation "
             "(setType in a symbolic function)");
      return std::nullopt;
    }
  }
  last_is_custom_ = true;
  return inferred;
}

std::optional<std::vector<Inference::Inferred>> Inference::Infer(NodeId node, std::span<const Type> recorded) {
  last_.clear();
  last_is_custom_ = false;
  if (custom_ != nullptr && custom_->Handles(aten().op(node))) return InferCustom(node, recorded);
  return InferOwn(node);
}

std::optional<std::vector<Inference::Inferred>> Inference::InferOwn(NodeId node) {
  const size_t errors = sink().error_count(), reported = sink().diagnostics().size();
  auto results = Translate(node);
  if (!results || sink().error_count() > errors) return std::nullopt;
  sink().Truncate(reported);  // what it warns of is said when it is lowered
  const aten::Schema* schema = aten::FindSchema(aten().op(node));
  std::vector<Inferred> inferred;
  for (size_t i = 0; i < results->size(); ++i) {
    const aten::SchemaArgument* returned = schema == nullptr                   ? nullptr
                                           : schema->returns.size() == 1       ? &schema->returns[0]
                                           : i < schema->returns.size()        ? &schema->returns[i]
                                                                               : nullptr;
    Tensor& tensor = (*results)[i];
    if (!tensor) {
      inferred.emplace_back(Type::OfNone());
      continue;
    }
    inferred.push_back(Describe(tensor, returned));
  }
  last_ = std::move(*results);
  return inferred;
}

void Inference::Accept(NodeId node) {
  if (last_is_custom_) {
    for (uint32_t i = 0; i < aten()[node].result_count; ++i) Introduce(aten()[node].result(i));
    return;
  }
  const Node& n = aten()[node];
  // What is computed for `out=` becomes what that holds, as Reconcile has it.
  for (uint32_t i = 0; i < std::min<size_t>(n.result_count, last_.size()); ++i) {
    const Type& type = aten().type(n.result(i));
    if (last_[i] && !last_[i].is_number() && type.is_tensor() && last_[i].type().is_tensor() && last_[i].dtype() != type.dtype)
      last_[i] = CastTo(last_[i], type.dtype);
  }
  Record(node, std::move(last_));
  last_.clear();
  for (uint32_t i = 0; i < n.result_count; ++i) {
    // From here on an integer is its symbol.
    const Type& type = aten().type(n.result(i));
    if (type.kind == TypeKind::kInt && type.contents)
      SetValue(n.result(i), internal::AsResult(*this, Dim{type.contents->front()}));
  }
}

void Inference::Introduce(ValueId value) {
  const Type& type = aten().type(value);
  if (type.kind == TypeKind::kNone) return;
  const Tensor input = AddBlockInput(OnnxType(type));
  SetValue(value, input);
  if (type.kind == TypeKind::kInt && type.contents)
    SetValue(value, internal::AsResult(*this, Dim{type.contents->front()}));
  if (type.kind == TypeKind::kFloat || type.kind == TypeKind::kBool)
    SetValue(value, internal::AsResult(*this, Scalar::OfValue(input.id(), &input.type())));
}

}  // namespace flambeau::lower
