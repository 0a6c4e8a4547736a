#include "lower/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "aten/pure_form.h"
#include "aten/schema.h"
#include "ir/encoded_source.h"
#include "lower/custom.h"
#include "lower/op.h"
#include "lower/ops/steps.h"
#include "lower/registry.h"
#include "lower/requirements.h"
#include "lower/strict_outs.h"

namespace flambeau::lower {

Lowering::Lowering(const Graph& aten, Graph* graph, int opset, Sink* sink, const CustomOperators* custom)
    : Builder(graph, opset, sink), aten_(&aten), custom_(custom), values_(aten.value_capacity()) {}

// --- the nodes ------------------------------------------------------------------

std::vector<Tensor> Lowering::LowerBlock(BlockId aten_block, std::span<const Tensor> inputs) {
  const std::vector<ValueId>& formal = (*aten_)[aten_block].inputs;
  for (size_t i = 0; i < formal.size() && i < inputs.size(); ++i) SetValue(formal[i], inputs[i]);
  aten_->ForEachNode(aten_block, [&](NodeId node) { LowerNode(node); });
  std::vector<Tensor> outputs;
  for (ValueId output : aten_->outputs(aten_block)) outputs.push_back(output ? ValueOf(output) : Tensor());
  return outputs;
}

// A graph that is still being built grows.
Tensor& Lowering::Slot(ValueId aten_value) {
  if (aten_value.index >= values_.size()) values_.resize(aten_->value_capacity());
  return values_[aten_value.index];
}

Tensor Lowering::ValueOf(ValueId aten_value) {
  if (!aten_value) return {};
  Tensor& known = Slot(aten_value);
  if (known) return known;
  const flambeau::Value& value = (*aten_)[aten_value];
  if (value.kind == ValueKind::kConstant) return known = Weight(value.data, value.name);
  return {};  // None
}

void Lowering::set_torch_version(std::string_view version) {
  release_ = {};
  const char* end = version.data() + version.size();
  int major{}, minor{};
  const auto [dot, error] = std::from_chars(version.data(), end, major);
  if (error == std::errc() && dot != end && *dot == '.' && std::from_chars(dot + 1, end, minor).ec == std::errc()) release_ = {major, minor};
}

void Lowering::SetValue(ValueId aten_value, Tensor tensor) {
  Slot(aten_value) = tensor;
  const Type& recorded = aten_->type(aten_value);
  if (!tensor) return;
  if (recorded.kind == TypeKind::kInt && recorded.contents) BindRecorded(recorded.contents->front(), tensor);
  if (tensor.is_number()) return;
  // An input of a nested graph has sizes of its own names.
  const bool known = recorded.is_tensor() && !mistyped_.contains(aten_value);
  for (size_t i = 0; known && i < recorded.sizes.size(); ++i)
    if (exprs().kind(recorded.sizes[i]) == ExprKind::kSymbol) BindSize(recorded.sizes[i], tensor, static_cast<int64_t>(i));
  BindSizes(tensor);
}

// The symbol by which the program knows an integer stands for that integer.
void Lowering::BindRecorded(Expr symbol, const Tensor& number) {
  if (exprs().kind(symbol) != ExprKind::kSymbol || HasSource(symbol)) return;
  if (!number.is_number()) return BindNumber(symbol, number);
  const Scalar& scalar = number.number();
  const bool is_itself = scalar.kind() == Scalar::Kind::kSymbolic && scalar.dim().expr == symbol;
  if (!is_itself) BindNumber(symbol, Value(number, DType::kInt64));
}

// Whether all results are Python numbers whose expressions the graph can
// compute: then the node needs no translation.
bool Lowering::KnownNumbers(NodeId node) {
  const Node& n = (*aten_)[node];
  if (n.result_count == 0) return false;
  for (uint32_t i = 0; i < n.result_count; ++i) {
    const Type& type = aten_->type(n.result(i));
    if ((type.kind != TypeKind::kInt && type.kind != TypeKind::kBool) || !type.contents) return false;
    bool known = true;
    exprs().ForEachSymbol(type.contents->front(), [&](Expr symbol) { known &= HasSource(symbol); });
    if (!known) return false;
  }
  for (uint32_t i = 0; i < n.result_count; ++i) {
    const Expr expr = aten_->type(n.result(i)).contents->front();
    const bool is_bool = aten_->type(n.result(i)).kind == TypeKind::kBool;
    if (const auto constant = AsConstant({expr})) {
      Slot(n.result(i)) = internal::AsResult(*this, is_bool ? Scalar(*constant != 0) : Scalar(*constant));
    } else if (is_bool) {
      Slot(n.result(i)) = CastTo(Number({expr}), DType::kBool);
    } else {
      Slot(n.result(i)) = internal::AsResult(*this, Dim{expr});
    }
  }
  return true;
}

namespace {

bool TouchesComplex(const Graph& aten, NodeId node) {
  auto is_complex = [&](ValueId value) { return value && IsComplex(aten.type(value).dtype); };
  for (uint32_t i = 0; i < aten.operand_count(node); ++i)
    if (is_complex(aten.operand(node, i))) return true;
  for (uint32_t i = 0; i < aten[node].result_count; ++i)
    if (is_complex(aten[node].result(i))) return true;
  return false;
}

bool TouchesUnranked(Lowering& to, NodeId node) {
  for (uint32_t i = 0; i < to.aten().operand_count(node); ++i) {
    const ValueId operand = to.aten().operand(node, i);
    if (!operand || !to.aten().type(operand).is_tensor() || to.aten().type(operand).ranked) continue;
    const Tensor tensor = to.ValueOf(operand);
    if (tensor && !tensor.ranked()) return true;
  }
  return false;
}

// Says of what is reported at which call it was.
std::function<void(Diagnostic&)> SayWhere(Lowering& to, NodeId node) {
  return [&to, node](Diagnostic& diagnostic) {
    Location& at = diagnostic.location;
    if (!at.operation.empty()) return;  // an inner node said it
    Location place = PlaceOf(to, node);
    at.operation = std::move(place.operation);
    const OriginId id = to.aten()[node].origin;
    if (!id) return;
    at.module = std::move(place.module);
    at.source = std::move(place.source);
    if (const std::string_view captured = to.context().Text(to.context()[id].node_name); !captured.empty())
      diagnostic.notes.push_back(fmt::format("in the captured node '{}'", captured));
  };
}

}  // namespace

// While it lives the node is at hand: what is emitted comes from it, and what is reported is said of it.
class Lowering::At {
 public:
  At(Lowering& to, NodeId node)
      : to_(to), outer_(std::exchange(to.current_, node)), outer_origin_(to.origin()), scope_(to.sink(), SayWhere(to, node)) {
    if (const OriginId origin = to.aten()[node].origin) to.SetOrigin(origin);
  }
  ~At() {
    to_.current_ = outer_;
    to_.SetOrigin(outer_origin_);
  }

 private:
  Lowering& to_;
  NodeId outer_;
  OriginId outer_origin_;
  ContextScope scope_;
};

void Lowering::LowerNode(NodeId node) {
  if (!FollowsMistyped(node) && KnownNumbers(node)) return;
  const At at(*this, node);  // recording may report and emit, too
  if (auto results = Call(node)) {
    Record(node, *std::move(results));
    return;
  }
  const Node& n = (*aten_)[node];
  for (uint32_t i = 0; i < n.result_count; ++i)
    if (const Type& type = aten_->type(n.result(i)); type.kind != TypeKind::kNone)
      SetValue(n.result(i), Poison(OnnxType(type)));
}

std::optional<std::vector<Tensor>> Lowering::Translate(NodeId node) {
  const At at(*this, node);
  return Call(node);
}

const Callee& Lowering::CalleeOf(Symbol op) {
  const auto [found, is_new] = callees_.try_emplace(op);
  Callee& callee = found->second;
  if (!is_new) return callee;
  callee.name = aten::WithoutFunctionalized(context().Text(op));
  callee.row = FindOp(callee.name);
  callee.schema = aten::FindSchema(callee.name);
  if (callee.schema != nullptr) callee.requirements = RequirementsOf(*callee.schema);
  return callee;
}

std::optional<std::vector<Tensor>> Lowering::Call(NodeId node) {
  const Callee& callee = CalleeOf((*aten_)[node].op);
  const std::string_view name = callee.name;
  const OpRow* row = callee.row;
  std::optional<std::vector<Tensor>> results;
  bool is_custom = false, declined = false;
  if (const Translator* translator = custom_ ? custom_->FindTranslator(name) : nullptr) {
    results = LowerByTranslator(*this, node, *translator, &declined);
    is_custom = !declined;
  }
  if (is_custom) {
    // It is done, or reported.
  } else if (row && TouchesComplex(*aten_, node) && !TakesComplex(name)) {
    Report(DiagnosticKind::kUnsupportedDtype, fmt::format("{} of complex tensors has no translation", name));
  } else if (row && TouchesUnranked(*this, node) && !TakesUnranked(name)) {
    Report(DiagnosticKind::kMissingInformation, "needs the rank of a tensor that paths through the program give different ranks");
  } else if (const auto unmet = row && !FollowsMistyped(node) ? Unmet(*this, node, callee) : std::nullopt) {
    Report(DiagnosticKind::kBadProgram, *unmet);
  } else if (row) {
    try {
      results = row->lower(*this, node);
    } catch (const onnx::BadOperand& error) {
      Report(DiagnosticKind::kBadProgram, error.what());
    } catch (const TooMuch& error) {
      Report(DiagnosticKind::kLimitExceeded, error.what());
    } catch (const std::length_error&) {  // of a list with a place for each dimension but the last ones
      Report(DiagnosticKind::kBadProgram, "takes tensors of more dimensions than it is given");
    }
  } else if (const auto version = custom_ ? custom_->FindDomain(name) : std::nullopt) {
    results = LowerAsCustomNode(*this, node, *version);
  } else {
    std::string hint;
    for (std::string_view nearest : NearestOps(name)) hint += (hint.empty() ? "supported: " : ", ") + std::string(nearest);
    if (name.starts_with("aten::") && name.find("_backward") != name.npos)
      hint = "program.run_decompositions() writes most gradients out, as flambeau.export of a program in memory does: save what that returns";
    if (name.starts_with("torch::_functorch.")) hint = "what torch.func transforms is spelled out by program.run_decompositions({}): save what that returns";
    Report(DiagnosticKind::kUnsupportedOperator, NoTranslation(name), std::move(hint));
  }
  return results;
}

void Lowering::Record(NodeId node, std::vector<Tensor> results) {
  const Node& n = (*aten_)[node];
  for (uint32_t i = 0; i < n.result_count; ++i) {
    const ValueId value = n.result(i);
    const Type& recorded = aten_->type(value);
    if (recorded.kind == TypeKind::kNone) continue;
    if (i >= results.size() || !results[i]) {
      // An absent result is fine where nobody reads it.
      if (aten_->HasUses(value)) {
        if (!poisoned()) Report(DiagnosticKind::kUnsupportedForm, fmt::format("result {} is not produced", i));
        SetValue(value, Poison(OnnxType(recorded)));
      }
      continue;
    }
    const Tensor result = Reconcile(node, i, results[i]);
    SetValue(value, result);
    // Values keep their captured names: by them, numbers are compared. The first of several names stays.
    if (!result || result.is_number()) continue;
    const flambeau::Value& made = graph()[result.id()];
    if (made.kind == ValueKind::kResult && context().Text(made.name).empty()) graph().SetName(result.id(), (*aten_)[value].name);
  }
}

namespace {

// Operators for which torch.export records a wrong type. Of unique_consecutive the rank, for a dimension that counts from
// the end, by PyTorch up to 2.13; or the size of an inverse that was not asked for. Of unique_dim the dtype of the inverse, by
// PyTorch up to 2.11, and of LSTMs the states' rank, from 2.4 on. Of normal the dtype to which both are promoted, where eager
// takes the mean's. Of margin losses of one sample a dimension that eager does not make.
bool IsMistyped(std::string_view op) {
  constexpr std::string_view kMistyped[] = {"aten::lstm.data", "aten::lstm.input", "aten::multi_margin_loss",
                                            "aten::multilabel_margin_loss", "aten::multilabel_margin_loss_forward",
                                            "aten::normal.Tensor_Tensor", "aten::unique_consecutive", "aten::unique_dim"};
  return std::ranges::find(kMistyped, op) != std::end(kMistyped);
}

// Whether the node is what an operator of the program computes that writes to memory.
bool IsOfWrite(const Graph& aten, NodeId node) {
  const OriginId origin = aten[node].origin;
  const aten::Schema* schema = origin ? aten::FindSchema(aten.context().Text(aten.context()[origin].target)) : nullptr;
  return schema != nullptr && std::ranges::any_of(schema->arguments, &aten::SchemaArgument::writes);
}

}  // namespace

// Whether what the capture recorded of the node's results was inferred from wrong types.
bool Lowering::FollowsMistyped(NodeId node) const {
  if (mistyped_.empty()) return false;
  if ((*aten_)[node].result_count > 0 && mistyped_.contains((*aten_)[node].result(0))) return true;
  for (uint32_t i = 0; i < aten_->operand_count(node); ++i)
    if (mistyped_.contains(aten_->operand(node, i))) return true;
  return false;
}

// A result as it is; what was recorded of the node's results was wrong.
Tensor Lowering::Mistyped(NodeId node, Tensor tensor) {
  for (uint32_t i = 0; i < (*aten_)[node].result_count; ++i) mistyped_.insert((*aten_)[node].result(i));
  return tensor;
}

void Lowering::ReportDifference(NodeId node, std::string difference) {
  if (custom_ && custom_->FindTranslator(aten::WithoutFunctionalized(aten_->op(node))))
    Report(DiagnosticKind::kUnsupportedForm, std::move(difference), "it is yours: its results have to be of the operator's types and shapes");
  else
    Report(DiagnosticKind::kInternalError, std::move(difference), "please report this operator");
}

// Compares a result with what the capture recorded, and takes over sizes that
// the capture knows better. A difference would be a wrong model: it is an error.
Tensor Lowering::Reconcile(NodeId node, uint32_t result, Tensor tensor) {
  const ValueId value = (*aten_)[node].result(result);
  const Type& recorded = aten_->type(value);
  if (recorded.kind != TypeKind::kTensor) return tensor;
  if (!aten_->HasUses(value)) return tensor;  // what kernels leave for a backward pass differs between devices
  if (tensor.is_number()) tensor = ConstantOf(tensor.number(), recorded.dtype);
  if (tensor.dtype() != recorded.dtype) {
    if (IsMistyped(aten_->op(node)) || FollowsMistyped(node)) return Mistyped(node, tensor);
    if (poisoned()) return tensor;
    const std::string_view own = Info(tensor.dtype()).torch_name, wanted = Info(recorded.dtype).torch_name;
    if (!IsOfWrite(*aten_, node)) {
      ReportDifference(node, fmt::format("the translation gives {} where the program has {}", own, wanted));
      return tensor;
    }
    if (Info(tensor.dtype()).category > Info(recorded.dtype).category || WritesItsOwnDtype(aten_->op(node))) {
      Report(DiagnosticKind::kBadProgram, fmt::format("writes {} to a tensor of {}", own, wanted));
      return tensor;
    }
    tensor = CastTo(tensor, recorded.dtype);  // as PyTorch does what it has computed, into what `out` can hold
  }
  if (!recorded.ranked) return tensor;
  if (FollowsMistyped(node)) {
    mistyped_.insert(value);
    return tensor;
  }
  if (tensor.ranked() && tensor.rank() != static_cast<int64_t>(recorded.rank())) {
    if (IsMistyped(aten_->op(node))) return Mistyped(node, tensor);
    if (!poisoned() && IsOfWrite(*aten_, node))
      Report(DiagnosticKind::kBadProgram, fmt::format("writes a tensor of rank {} to one of rank {}", tensor.rank(), recorded.rank()));
    else if (!poisoned())
      ReportDifference(node, fmt::format("the translation gives rank {} where the program has rank {}", tensor.rank(), recorded.rank()));
    return tensor;
  }
  if (tensor.ranked() && tensor.type().sizes == recorded.sizes) return tensor;
  Type refined = tensor.type();
  bool changed = !refined.ranked;
  if (!refined.ranked) {
    refined.ranked = true;
    refined.sizes = recorded.sizes;
  }
  for (size_t i = 0; i < recorded.rank(); ++i) {
    const auto ours = exprs().AsConstant(refined.sizes[i]), theirs = exprs().AsConstant(recorded.sizes[i]);
    if (ours && theirs && *ours != *theirs && IsMistyped(aten_->op(node))) return Mistyped(node, tensor);
    if (ours && theirs && *ours != *theirs && !poisoned())
      ReportDifference(node, fmt::format("the translation gives size {} in dimension {} where the program has {}", *ours, i, *theirs));
    if (ours || refined.sizes[i] == recorded.sizes[i] || exprs().HasAnonymous(recorded.sizes[i])) continue;
    refined.sizes[i] = recorded.sizes[i];
    changed = true;
  }
  return changed ? Refined(tensor, std::move(refined)) : tensor;
}

Type Lowering::OnnxType(const Type& aten_type) {
  Type type = aten_type;
  type.strides.clear();
  type.contents.reset();
  switch (type.kind) {
    case TypeKind::kInt: return Type::OfTensor(DType::kInt64, {});
    case TypeKind::kBool: return Type::OfTensor(DType::kBool, {});
    case TypeKind::kFloat: return Type::OfTensor(default_dtype(), {});
    default: break;
  }
  return type;
}

// --- reporting --------------------------------------------------------------------

std::string Restriction::Explained() const {
  return because.empty() ? std::string(text) : fmt::format("{}, because {}", text, because);
}

Unconvertible Lowering::Unsupported(const Restriction& restriction) {
  Report(DiagnosticKind::kUnsupportedForm, fmt::format("not translated: {}", restriction.Explained()));
  return {};
}

bool Lowering::RequireRank(const Tensor& tensor, std::string_view argument) {
  if (tensor.ranked()) return true;
  Report(DiagnosticKind::kMissingInformation, fmt::format("the rank of '{}' must be known", argument));
  return false;
}

// --- small things of PyTorch's ------------------------------------------------------

Tensor Lowering::Scale(Tensor x, const Scalar& factor) {
  if (factor.Is(1)) return x;
  return Mul(x, NumberOf(factor, x.dtype()));
}

std::optional<TensorData> Lowering::Narrow(const TensorData& weight, DType dtype) {
  if (!narrows_weights_) return std::nullopt;
  if (!weight.contiguous()) return Narrowed(weight, dtype);
  const auto [at, is_new] = narrowed_.try_emplace({weight.source, weight.offset, weight.byte_size(), weight.dtype, dtype});
  if (is_new) at->second = Narrowed(weight, dtype);
  std::optional<TensorData> narrowed = at->second;
  if (narrowed) narrowed->sizes = weight.sizes;
  return narrowed;
}

Ints Lowering::Axes(const Ints& axes, const Tensor& tensor) const {
  Ints result;
  for (int64_t axis : axes) {
    const int64_t each = Axis(axis, tensor);
    if (std::ranges::find(result, each) != result.end()) throw onnx::BadOperand(fmt::format("names dimension {} twice", each));
    result.push_back(each);
  }
  return result;
}

Dim Lowering::Kept(Expr made, std::initializer_list<Dim> others, const std::function<Tensor()>& emit) {
  if (!exprs().HasAnonymous(made)) return {made};
  bool cut = false;
  exprs().ForEachSymbol(made, [&](Expr symbol) {
    if (exprs().symbol_kind(symbol) != SymbolKind::kAnonymous || HasSource(symbol)) return;
    bool is_new = true;
    for (const Dim other : others) exprs().ForEachSymbol(other.expr, [&](Expr part) { is_new &= part != symbol; });
    cut |= is_new;
  });
  return cut ? DimOf(emit()) : Dim{made};
}
Dim Lowering::Plus(Dim a, Dim b) {
  return Kept(exprs().Add(a.expr, b.expr), {a, b}, [&] { return Add(Number(a), Number(b)); });
}
Dim Lowering::Minus(Dim a, Dim b) {
  return Kept(exprs().Sub(a.expr, b.expr), {a, b}, [&] { return Sub(Number(a), Number(b)); });
}
Dim Lowering::Times(Dim a, Dim b) {
  return Kept(exprs().Mul(a.expr, b.expr), {a, b}, [&] { return Mul(Number(a), Number(b)); });
}

Dim Lowering::Product(std::span<const Dim> dims) {
  Dim product = Of(1);
  for (Dim dim : dims) product = Times(product, dim);
  return product;
}

Dim Lowering::Numel(const Tensor& tensor) { return Product(tensor.sizes()); }

}  // namespace flambeau::lower
