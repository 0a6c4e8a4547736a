#include "onnx/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "onnx/infer/infer.h"
#include "onnx/legalize.h"
#include "onnx/operator_table.h"
#include "onnx/runtime_kernels.h"
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

// --- emission -----------------------------------------------------------------

std::vector<Tensor> Builder::Emit(std::string_view op, std::span<const Tensor> operands,
                                  const AttributeList& attributes, size_t results) {
  std::vector<Tensor> values;
  values.reserve(operands.size());
  for (const Tensor& operand : operands) values.push_back(operand ? Value(operand) : Tensor());
  if (auto legal = Legalize(*this, op, values, attributes, results)) return std::move(*legal);
  const OperatorVersion* version = FindOperator(op, opset_);
  if (version == nullptr || version->deprecated) {
    Report(DiagnosticKind::kUnsupportedOpset, fmt::format("needs ONNX's {}, which opset {} does not have", op, opset_),
           FirstOpset(op) > opset_ ? fmt::format("use opset {} or newer", FirstOpset(op)) : "");
    return std::vector<Tensor>(std::max<size_t>(results, 1), Poison(Type::Unranked(values.empty() || !values[0] ? DType::kFloat32 : values[0].dtype())));
  }
  if (auto cast = EmitThroughCasts(op, values, attributes, results)) return std::move(*cast);
  return EmitNode(op, values, attributes, results);
}

std::vector<Tensor> Builder::EmitNode(std::string_view op, std::span<const Tensor> operands,
                                      const AttributeList& attributes, size_t results) {
  const OperatorVersion* version = FindOperator(op, opset_);
  size_t count = operands.size();
  while (count > static_cast<size_t>(version->min_inputs) && !operands[count - 1]) --count;
  std::vector<ValueId> ids(count);
  std::vector<const Type*> types(count);
  for (size_t i = 0; i < count; ++i) {
    if (!operands[i]) continue;
    ids[i] = operands[i].id();
    types[i] = &operands[i].type();
  }
  std::vector<Type> inferred(results);
  InferContext infer(context(), opset_, types, attributes.items(), inferred);
  InferTypes(op, infer);
  if (results == 1)
    if (auto folded = FoldedResult(inferred[0])) return {*folded};
  std::vector<TypeId> result_types;
  result_types.reserve(results);
  for (Type& type : inferred) result_types.push_back(context().Intern(std::move(type)));
  std::vector<NamedAttribute> named;
  named.reserve(attributes.items().size());
  for (const auto& [name, value] : attributes.items())
    if (version->FindAttribute(name) != nullptr) named.push_back({context().Intern(name), value});
  const NodeId node = graph_->Append(block(), context().Intern(op), ids, std::move(named), result_types, origin_);
  std::vector<Tensor> values;
  values.reserve(results);
  for (uint32_t i = 0; i < results; ++i) values.push_back(Wrap(graph_->result(node, i)));
  return values;
}

std::vector<Tensor> Builder::EmitCustom(std::string_view op, std::span<const Tensor> operands,
                                        const AttributeList& attributes, std::span<const Type> results) {
  std::vector<ValueId> ids;
  for (const Tensor& operand : operands) ids.push_back(operand ? Value(operand).id() : ValueId{});
  std::vector<TypeId> types;
  for (const Type& type : results) types.push_back(context().Intern(type));
  std::vector<NamedAttribute> named;
  for (const auto& [name, value] : attributes.items()) named.push_back({context().Intern(name), value});
  const NodeId node = graph_->Append(block(), context().Intern(op), ids, std::move(named), types, origin_);
  std::vector<Tensor> values;
  for (uint32_t i = 0; i < results.size(); ++i) values.push_back(Wrap(graph_->result(node, i)));
  return values;
}

// A result of no elements is a constant (kernels disagree about such operands),
// and so is a small integer one whose elements are all known.
std::optional<Tensor> Builder::FoldedResult(const Type& type) {
  if (!type.is_tensor() || !type.ranked || ByteSize(type.dtype) == 0) return {};
  flambeau::Ints sizes;
  for (Expr size : type.sizes) {
    const auto constant = exprs().AsConstant(size);
    if (!constant) return {};
    sizes.push_back(*constant);
  }
  if (std::ranges::find(sizes, 0) != sizes.end()) return Constant(type.dtype, sizes, {});
  if (!type.contents || (type.dtype != DType::kInt64 && type.dtype != DType::kBool)) return {};
  std::vector<std::byte> bytes(type.contents->size() * static_cast<size_t>(ByteSize(type.dtype)));
  for (size_t i = 0; i < type.contents->size(); ++i) {
    const auto element = exprs().AsConstant((*type.contents)[i]);
    if (!element) return {};
    StoreInt(type.dtype, *element, bytes.data() + i * static_cast<size_t>(ByteSize(type.dtype)));
  }
  return Constant(type.dtype, sizes, bytes);
}

namespace {

// Where a value of `from` keeps every bit.
std::span<const DType> LosslessWider(DType from) {
  using enum DType;
  static constexpr DType kOfBool[] = {kUint8, kInt32, kInt64, kFloat32};
  static constexpr DType kOfSmall[] = {kInt32, kInt64, kFloat32, kFloat64};
  static constexpr DType kOfInt32[] = {kInt64, kFloat64};
  static constexpr DType kOfUint32[] = {kInt64, kUint64, kFloat64};
  static constexpr DType kOfHalf[] = {kFloat32, kFloat64};
  static constexpr DType kOfFloat[] = {kFloat64};
  static constexpr DType kOfFloat8[] = {kFloat16, kFloat32};
  switch (from) {
    case kBool: return kOfBool;
    case kUint8:
    case kInt8:
    case kInt16:
    case kUint16: return kOfSmall;
    case kInt32: return kOfInt32;
    case kUint32: return kOfUint32;
    case kFloat16:
    case kBfloat16: return kOfHalf;
    case kFloat32: return kOfFloat;
    case kFloat8E5M2:
    case kFloat8E4M3FN:
    case kFloat8E5M2FNUZ:
    case kFloat8E4M3FNUZ:
    case kFloat8E8M0: return kOfFloat8;
    default: return {};
  }
}

}  // namespace

std::optional<std::vector<Tensor>> Builder::EmitThroughCasts(std::string_view op, std::span<const Tensor> operands,
                                                             const AttributeList& attributes, size_t results) {
  const OperatorVersion& version = *FindOperator(op, opset_);
  const bool has_kernel = HasKernel(op, opset_);
  struct Change {
    uint8_t type;  // of the version's types()
    DType from, to;
  };
  std::vector<Change> changes;
  std::vector<bool> seen(version.types().size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const FormalParameter* formal = version.input(static_cast<int>(i));
    if (!operands[i] || formal == nullptr || !operands[i].type().is_tensor() || seen[formal->type]) continue;
    seen[formal->type] = true;
    const TypeConstraint& constraint = version.types()[formal->type];
    DTypeSet allowed = constraint.tensors;
    if (allowed.empty()) continue;
    const DType dtype = operands[i].dtype();
    // float16 stays: runtimes without such a kernel insert the casts themselves.
    const bool keep = allowed.contains(dtype) && dtype == DType::kFloat16;
    if (has_kernel)
      if (const DTypeSet kernels = KernelDtypes(op, opset_, constraint.name); !kernels.empty()) allowed = allowed & kernels;
    if (keep || allowed.contains(dtype)) continue;
    const auto wider = LosslessWider(dtype);
    const auto found = std::find_if(wider.begin(), wider.end(), [&](DType d) { return allowed.contains(d); });
    if (found == wider.end()) {
      if (constraint.tensors.contains(dtype)) continue;  // valid ONNX; another runtime may have the kernel
      Report(DiagnosticKind::kUnsupportedDtype,
             fmt::format("ONNX's {} does not take {} at opset {}", op, Info(dtype).torch_name, opset_));
      return std::vector<Tensor>(std::max<size_t>(results, 1), Poison(Type::Unranked(dtype)));
    }
    changes.push_back({formal->type, dtype, *found});
  }
  if (changes.empty()) return std::nullopt;
  auto change_of = [&](uint8_t type) {
    return std::find_if(changes.begin(), changes.end(), [&](const Change& c) { return c.type == type; });
  };
  std::vector<Tensor> widened(operands.begin(), operands.end());
  for (size_t i = 0; i < widened.size(); ++i) {
    const FormalParameter* formal = version.input(static_cast<int>(i));
    if (!widened[i] || formal == nullptr) continue;
    if (const auto change = change_of(formal->type); change != changes.end()) widened[i] = CastTo(widened[i], change->to);
  }
  std::vector<Tensor> values = EmitNode(op, widened, attributes, results);
  for (size_t i = 0; i < values.size(); ++i) {
    const FormalParameter* formal = version.output(static_cast<int>(i));
    if (!values[i] || formal == nullptr) continue;
    if (const auto change = change_of(formal->type); change != changes.end()) values[i] = CastTo(values[i], change->from);
  }
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
    // Complex values are pairs of reals on a trailing axis.
    const DType part = dtype == DType::kComplex128 ? DType::kFloat64 : dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat16;
    const int64_t two = 2;
    StoreDouble(part, value.AsComplex().real(), bytes);
    StoreDouble(part, value.AsComplex().imag(), bytes + ByteSize(part));
    return Constant(part, {&two, 1}, std::span(bytes, static_cast<size_t>(2 * ByteSize(part))));
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

Tensor Builder::Value(const Tensor& tensor, std::optional<DType> dtype) {
  if (!tensor || !tensor.is_number()) return tensor;
  return ConstantOf(tensor.number(), dtype.value_or(tensor.dtype()));
}

Tensor Builder::Weight(DataId data, Symbol name) {
  if (auto it = weights_.find(data); it != weights_.end()) return it->second;
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
  const TypeId id = context().Intern(type);
  const NodeId node = graph_->Append(block(), context().Intern("flambeau::Poison"), {}, {}, {&id, 1}, origin_);
  return Wrap(graph_->result(node));
}

Failure Builder::Report(DiagnosticKind kind, std::string message, std::string hint) {
  poisoned_ = true;
  return sink_->Error(kind, std::move(message), {}, std::move(hint));
}

}  // namespace flambeau::onnx
