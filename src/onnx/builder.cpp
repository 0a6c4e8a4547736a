#include "onnx/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "onnx/complex.h"
#include "onnx/emission.h"
#include "onnx/legalize.h"
#include "onnx/operator_table.h"
#include "support/few.h"
#include "support/numeric.h"

namespace flambeau::onnx {

#include "onnx/operator_methods_impl.inc"

Builder::Builder(Graph* graph, int opset, Sink* sink) : graph_(graph), opset_(opset), sink_(sink) {
  blocks_.push_back({graph->main()});
}

bool Builder::Has(std::string_view op) const { return FindOperator(op, opset_) != nullptr; }

const Type* Builder::InternType(Type type) {
  Context& context = graph_->context();
  return &context[context.Intern(std::move(type))];
}

Tensor Builder::As(ValueId value, const Type& type) {
  return IsComplex(type.dtype) ? Tensor(value, InternType(type)) : Wrap(value);
}

Tensor Builder::Refined(const Tensor& tensor, Type type) {
  if (tensor.is_number() || (*graph_)[tensor.id()].kind != ValueKind::kResult) return tensor;
  graph_->SetType(tensor.id(), context().Intern(PairType(type, exprs())));
  return As(tensor.id(), type);
}

namespace {

// Gives sizes names of their own that hold anonymous symbols which no tensor has as its size, such as those of sums that
// grew too long: nothing could compute them.
void NameLostSizes(Builder& to, Tensor& tensor) {
  if (!tensor || tensor.is_number() || !tensor.type().is_tensor() || !tensor.ranked()) return;
  std::optional<Type> named;
  for (size_t axis = 0; axis < static_cast<size_t>(tensor.rank()); ++axis) {
    const Expr size = tensor.type().sizes[axis];
    bool lost = false;
    if (!to.exprs().operands(size).empty())
      to.exprs().ForEachSymbol(size, [&](Expr symbol) {
        lost |= to.exprs().symbol_kind(symbol) == SymbolKind::kAnonymous && !to.HasSource(symbol);
      });
    if (!lost) continue;
    if (!named) named = tensor.type();
    named->sizes[axis] = to.exprs().Anonymous();
  }
  if (named) tensor = to.Refined(tensor, *std::move(named));
}

}  // namespace

// --- emission -----------------------------------------------------------------

std::vector<Tensor> Builder::Emit(std::string_view op, std::span<const Tensor> operands,
                                  const AttributeList& attributes, size_t results) {
  Few<Tensor> values(operands.size());
  std::ranges::transform(operands, values.begin(), [&](const Tensor& operand) { return Value(operand); });
  if (auto complex = EmitComplex(*this, op, values, attributes, results)) return std::move(*complex);
  std::vector<Tensor> made = EmitNewestForm(*this, op, values, attributes, results);
  for (Tensor& result : made) {
    NameLostSizes(*this, result);
    BindAnonymousSizes(result);
  }
  return made;
}

std::vector<Tensor> Builder::EmitCustom(std::string_view op, std::span<const Tensor> operands,
                                        const AttributeList& attributes, std::span<const Type> results) {
  std::vector<Tensor> inputs;
  for (const Tensor& operand : operands) {
    inputs.push_back(operand ? Value(operand) : Tensor());
    if (inputs.back() && inputs.back().is_complex()) inputs.back() = Pairs(*this, inputs.back());
  }
  std::vector<Type> pairs;
  for (const Type& type : results) pairs.push_back(PairType(type, exprs()));
  std::vector<Tensor> values;
  if (HasOlderForm(op, opset_))
    if (auto legal = Legalize(*this, op, inputs, attributes, pairs)) values = std::move(*legal);
  if (values.empty()) {
    RequireDtypes(*this, op, inputs, pairs);
    std::vector<ValueId> ids;
    for (const Tensor& input : inputs) ids.push_back(input ? input.id() : ValueId{});
    std::vector<TypeId> types;
    for (const Type& type : pairs) types.push_back(context().Intern(type));
    std::vector<NamedAttribute> named;
    for (const auto& [name, value] : attributes.items()) named.push_back({context().Intern(name), value});
    const NodeId node = graph_->Append(block(), context().Intern(op), ids, std::move(named), types, origin_);
    for (uint32_t i = 0; i < results.size(); ++i) values.push_back(Wrap(graph_->result(node, i)));
  }
  for (size_t i = 0; i < values.size() && i < results.size(); ++i)
    if (IsComplex(results[i].dtype)) values[i] = As(values[i].id(), results[i]);
  return values;
}

// --- constants ------------------------------------------------------------------

Tensor Builder::Constant(DType dtype, std::span<const int64_t> sizes, std::span<const std::byte> bytes) {
  size_t hash = static_cast<size_t>(dtype);
  for (int64_t size : sizes) hash = hash * 1000003 ^ static_cast<size_t>(size);
  hash ^= std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (auto [it, end] = constants_.equal_range(hash); it != end; ++it) {
    const TensorData& data = context()[(*graph_)[it->second].data];
    const auto memory = data.source->InMemory();
    if (data.dtype == dtype && std::ranges::equal(data.sizes, sizes) && std::ranges::equal(*memory, bytes))
      return Wrap(it->second);
  }
  TensorData data;
  data.source = MakeBufferSource({bytes.begin(), bytes.end()});
  data.dtype = dtype;
  data.sizes.assign(sizes.begin(), sizes.end());
  Type type = Type::OfTensor(dtype, {});
  for (int64_t size : sizes) type.sizes.push_back(exprs().Constant(size));
  const uint64_t count = data.element_count();
  if ((dtype == DType::kInt64 || dtype == DType::kBool) && count <= 64) {
    type.contents.emplace();
    for (uint64_t i = 0; i < count; ++i)
      type.contents->push_back(exprs().Constant(LoadInt(dtype, bytes.data() + i * static_cast<uint64_t>(ByteSize(dtype)))));
  }
  const ValueId value = graph_->AddConstant(context().Add(std::move(data)), context().Intern(std::move(type)));
  constants_.emplace(hash, value);
  return Wrap(value);
}

Tensor Builder::ConstantInts(std::span<const int64_t> values) {
  const int64_t size = static_cast<int64_t>(values.size());
  return Constant(DType::kInt64, {&size, 1}, std::as_bytes(values));
}

Tensor Builder::ConstantInt(int64_t value) { return Constant(DType::kInt64, {}, std::as_bytes(std::span(&value, 1))); }

Tensor Builder::ConstantOf(const Scalar& value, DType dtype) {
  if (value.kind() == Scalar::Kind::kSymbolic) return CastTo(Number(value.dim()), dtype);
  if (value.kind() == Scalar::Kind::kValue) return CastTo(Tensor(value.value(), value.type()), dtype);
  std::byte bytes[16] = {};
  if (IsComplex(dtype)) {
    const DType part = PartDtype(dtype);
    const int64_t two = 2;
    StoreDouble(part, value.AsComplex().real(), bytes);
    StoreDouble(part, value.AsComplex().imag(), bytes + ByteSize(part));
    return OfPairs(*this, Constant(part, {&two, 1}, std::span(bytes, static_cast<size_t>(2 * ByteSize(part)))));
  }
  if (value.kind() == Scalar::Kind::kInt || value.kind() == Scalar::Kind::kBool) {
    StoreInt(dtype, value.AsInt(), bytes);
  } else {
    StoreDouble(dtype, value.AsDouble(), bytes);
  }
  return Constant(dtype, {}, std::span(bytes, static_cast<size_t>(ByteSize(dtype))));
}

Tensor Builder::ConstantFloats(std::span<const double> values, DType dtype, std::span<const int64_t> sizes) {
  const auto width = static_cast<size_t>(ByteSize(dtype));
  std::vector<std::byte> bytes(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) StoreDouble(dtype, values[i], bytes.data() + i * width);
  return Constant(dtype, sizes, bytes);
}

Tensor Builder::OperandOf(const Tensor& tensor, std::string_view op) {
  const ValueId value = tensor ? tensor.id() : ValueId();
  if (!value || (*graph_)[value].kind != ValueKind::kResult) return {};
  const NodeId node = (*graph_)[value].node;
  return graph_->op(node) == op && graph_->operand_count(node) == 1 ? Wrap(graph_->operand(node, 0)) : Tensor();
}

Tensor Builder::Value(const Tensor& tensor, std::optional<DType> dtype) {
  if (!tensor || !tensor.is_number()) return tensor;
  return ConstantOf(tensor.number(), dtype.value_or(tensor.dtype()));
}

namespace {

// The same bytes as pairs of reals.
TensorData PairsOfData(TensorData data) {
  data.dtype = PartDtype(data.dtype);
  data.sizes.push_back(2);
  for (int64_t& stride : data.strides) stride *= 2;
  if (!data.strides.empty()) data.strides.push_back(1);
  return data;
}

}  // namespace

Tensor Builder::Weight(DataId data, Symbol name) {
  if (auto it = weights_.find(data); it != weights_.end()) return it->second;
  if (IsComplex(context()[data].dtype)) return weights_[data] = OfPairs(*this, Weight(context().Add(PairsOfData(context()[data])), name));
  const TensorData& tensor = context()[data];
  Type type = Type::OfTensor(tensor.dtype, {});
  for (int64_t size : tensor.sizes) type.sizes.push_back(exprs().Constant(size));
  if ((tensor.dtype == DType::kInt64 || tensor.dtype == DType::kBool) && tensor.element_count() <= 64)
    if (const auto bytes = tensor.ReadAll(512)) {
      type.contents.emplace();
      for (uint64_t i = 0; i < tensor.element_count(); ++i)
        type.contents->push_back(exprs().Constant(LoadInt(tensor.dtype, bytes->data() + i * static_cast<uint64_t>(ByteSize(tensor.dtype)))));
    }
  return weights_[data] = Wrap(graph_->AddConstant(data, context().Intern(std::move(type)), name));
}

std::optional<std::vector<std::byte>> Builder::ConstantBytes(const Tensor& tensor, uint64_t limit) const {
  if (!tensor || tensor.is_number()) return std::nullopt;
  const flambeau::Value& value = (*graph_)[tensor.id()];
  if (value.kind != ValueKind::kConstant) return std::nullopt;
  return graph_->context()[value.data].ReadAll(limit);
}

// --- reporting ------------------------------------------------------------------

Tensor Builder::Poison(const Type& type) {
  poisoned_ = true;
  const TypeId id = context().Intern(PairType(type, exprs()));
  const NodeId node = graph_->Append(block(), context().Intern("flambeau::Poison"), {}, {}, {&id, 1}, origin_);
  return As(graph_->result(node), type);
}

void ThrowNoAxis(int64_t axis, int64_t rank) {
  throw BadOperand(fmt::format("reads dimension {} of a tensor of rank {}", axis, rank));
}
void ThrowAbsent() { throw BadOperand("reads a tensor that is absent"); }

Failure Builder::Report(DiagnosticKind kind, std::string message, std::string hint) {
  poisoned_ = true;
  return sink_->Error(kind, std::move(message), {}, std::move(hint));
}

}  // namespace flambeau::onnx
