#include "onnx/emission.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "onnx/attribute_edit.h"
#include "onnx/infer/fit.h"
#include "onnx/infer/infer.h"
#include "onnx/legalize.h"
#include "onnx/operator_table.h"
#include "onnx/runtime_kernels.h"
#include "support/few.h"
#include "support/numeric.h"

namespace flambeau::onnx {
namespace {

constexpr int kFirstOpsetOfNegativeAxes = 11;

bool IsDefault(const AttributeSchema& schema, const Attribute& value) {
  if (!schema.has_default) return false;
  switch (schema.type) {
    case AttributeType::kInt: return value == Attribute(schema.default_int);
    case AttributeType::kFloat: return value == Attribute(schema.default_float);
    case AttributeType::kString: return value == Attribute(std::string(schema.default_string));
    case AttributeType::kInts: {
      const auto* ints = std::get_if<Ints>(&value);
      return ints != nullptr && std::ranges::equal(*ints, schema.default_ints());
    }
    default: return false;
  }
}

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

// Types of operands: of absent ones none.
class TypesOf : public Few<const Type*> {
 public:
  explicit TypesOf(std::span<const Tensor> operands) : Few(operands.size()) {
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i]) (*this)[i] = &operands[i].type();
  }
};

// `op` is an operator's name, or its version at that opset.
template <class Op>
void Infer(Builder& to, const Op& op, std::span<const Tensor> operands, const AttributeList& attributes, std::span<Type> results,
           int opset) {
  const TypesOf types(operands);
  InferContext infer(to.context(), opset, types, attributes.items(), results);
  InferTypes(op, infer);
  if (infer.impossible()) throw BadOperand("gives a tensor of a negative size");
}

void RequireFit(Builder& to, std::string_view op, std::span<const Tensor> operands, const AttributeList& attributes) {
  const TypesOf types(operands);
  InferContext context(to.context(), NewestOpset(), types, attributes.items(), {});
  if (const auto misfit = MisfitOf(op, context)) throw BadOperand(*misfit);
}

std::vector<Tensor> Poisoned(Builder& to, std::string_view op, std::span<const Tensor> operands,
                                      const AttributeList& attributes, size_t results) {
  std::vector<Type> types(std::max<size_t>(results, 1));
  Infer(to, op, operands, attributes, types, NewestOpset());
  std::vector<Tensor> poison;
  for (const Type& type : types) poison.push_back(to.Poison(type));
  return poison;
}

// The same value as the newest form has it: a size or element that an older form says otherwise would not be known
// to equal the same one elsewhere.
Tensor Refined(Builder& to, const Tensor& tensor, const Type& known) {
  Type type = tensor.type();
  if (!type.is_tensor() || type.dtype != known.dtype || !known.ranked) return tensor;
  if (type.ranked && type.rank() != known.rank()) return tensor;
  auto take = [&](std::vector<Expr>& own, const std::vector<Expr>& newest) {
    for (size_t i = 0; i < newest.size(); ++i)
      if (to.exprs().HasAnonymous(own[i]) || !to.exprs().HasAnonymous(newest[i])) own[i] = newest[i];
  };
  if (!type.ranked) type.sizes = known.sizes;
  type.ranked = true;
  take(type.sizes, known.sizes);
  if (!type.contents) {
    type.contents = known.contents;
  } else if (known.contents && known.contents->size() == type.contents->size()) {
    take(*type.contents, *known.contents);
  }
  if (type == tensor.type() || to.graph()[tensor.id()].kind != ValueKind::kResult) return tensor;
  to.graph().SetType(tensor.id(), to.context().Intern(std::move(type)));
  return to.Wrap(tensor.id());
}

// A result of no elements is a constant (kernels disagree about such operands),
// and so is a small integer one whose elements are all known.
std::optional<Tensor> FoldedResult(Builder& to, const Type& type) {
  if (!type.is_tensor() || !type.ranked || ByteSize(type.dtype) == 0) return {};
  const auto constant = [&](Expr number) { return to.exprs().AsConstant(number); };
  const bool empty = std::ranges::any_of(type.sizes, [&](Expr size) { return constant(size) == 0; });
  const bool known = type.contents && (type.dtype == DType::kInt64 || type.dtype == DType::kBool);
  if (!empty && !known) return {};
  flambeau::Ints sizes;
  for (const Expr size : type.sizes) {
    if (!constant(size)) return {};
    sizes.push_back(*constant(size));
  }
  if (empty) return to.Constant(type.dtype, sizes, {});
  const auto width = static_cast<size_t>(ByteSize(type.dtype));
  std::vector<std::byte> bytes(type.contents->size() * width);
  for (size_t i = 0; i < type.contents->size(); ++i) {
    const auto element = constant((*type.contents)[i]);
    if (!element) return {};
    StoreInt(type.dtype, *element, bytes.data() + i * width);
  }
  return to.Constant(type.dtype, sizes, bytes);
}

// A newer opset may know the type.
void ReportDtype(Builder& to, std::string_view op, std::string_view parameter, DType dtype, std::string_view verb) {
  bool newer = false;
  for (int opset = to.opset() + 1; opset <= onnx::NewestOpset(); ++opset) {
    const TypeConstraint* constraint = FindOperator(op, opset)->FindType(parameter);
    newer = newer || (constraint != nullptr && constraint->tensors.contains(dtype));
  }
  to.Report(newer ? DiagnosticKind::kUnsupportedOpset : DiagnosticKind::kUnsupportedDtype,
         fmt::format("ONNX's {} does not {} {} at opset {}", op, verb, Info(dtype).torch_name, to.opset()));
}

// What the target opset's version of the operator lacks. An attribute that has
// the newest version's default is left out where older versions don't know it:
// they do what the default says (where they don't, there is a rule).
std::optional<std::string> Misfit(const Builder& to, std::string_view op, const OperatorVersion* version,
                                  std::span<const Tensor> operands, AttributeList& attributes, size_t results) {
  if (version == nullptr || version->deprecated)
    return fmt::format("needs ONNX's {}, which opset {} does not have", op, to.opset());
  std::vector<std::string_view> implied;
  for (const auto& [name, value] : attributes.items()) {
    if (version->FindAttribute(name) != nullptr) continue;
    const AttributeSchema* newest = FindOperator(op, onnx::NewestOpset())->FindAttribute(name);
    if (newest == nullptr || !IsDefault(*newest, value))
      return fmt::format("ONNX's {} has no attribute '{}' at opset {}", op, name, to.opset());
    implied.push_back(name);
  }
  for (const std::string_view name : implied) attributes = Without(attributes, name);
  for (const AttributeSchema& schema : version->attributes())
    if (schema.required && Find(attributes, schema.name) == nullptr)
      return fmt::format("ONNX's {} takes '{}' only as an attribute at opset {}", op, schema.name, to.opset());
  for (size_t i = 0; i < std::max(operands.size(), static_cast<size_t>(version->min_inputs)); ++i) {
    const bool given = i < operands.size() && operands[i];
    const FormalParameter* formal = version->input(static_cast<int>(i));
    if (given && formal == nullptr)
      return fmt::format("ONNX's {} takes {} inputs at opset {}", op, version->max_inputs, to.opset());
    if (!given && formal != nullptr && formal->option == FormalOption::kSingle)
      return fmt::format("ONNX's {} needs the input '{}' at opset {}", op, formal->name, to.opset());
  }
  if (results > static_cast<size_t>(version->max_outputs))
    return fmt::format("ONNX's {} gives {} results at opset {}", op, version->max_outputs, to.opset());
  return std::nullopt;
}

std::vector<Tensor> EmitNode(Builder& to, const OperatorVersion& version, std::span<const Tensor> operands,
                             const AttributeList& attributes, size_t results) {
  const std::string_view op = version.name;
  size_t count = operands.size();
  while (count > static_cast<size_t>(version.min_inputs) && !operands[count - 1]) --count;
  operands = operands.first(count);
  Few<Type, 1> inferred(results);
  Infer(to, version, operands, attributes, inferred, to.opset());
  if (results == 1)
    if (auto folded = FoldedResult(to, inferred[0])) return {*folded};
  for (size_t i = 0; i < results; ++i) {
    const FormalParameter* formal = version.output(static_cast<int>(i));
    if (formal != nullptr && inferred[i].is_tensor() && inferred[i].dtype != DType::kNone &&
        !version.type_of(*formal).tensors.contains(inferred[i].dtype)) {
      ReportDtype(to, op, version.type_of(*formal).name, inferred[i].dtype, "give");
      return Poisoned(to, op, operands, attributes, results);
    }
  }
  Few<TypeId> types(results);
  for (size_t i = 0; i < results; ++i) types[i] = to.context().Intern(std::move(inferred[i]));
  Few<ValueId> ids(count);
  for (size_t i = 0; i < count; ++i)
    if (operands[i]) ids[i] = operands[i].id();
  std::vector<NamedAttribute> named;
  named.reserve(attributes.items().size());
  for (const auto& [name, value] : attributes.items())
    named.push_back({to.context().Intern(name), value});
  const NodeId node = to.graph().Append(to.block(), to.context().Intern(op), ids, std::move(named), types, to.origin());
  std::vector<Tensor> values;
  values.reserve(results);
  for (uint32_t i = 0; i < results; ++i) values.push_back(to.Wrap(to.graph().result(node, i)));
  return values;
}

std::optional<std::vector<Tensor>> EmitThroughCasts(Builder& to, const OperatorVersion& version, std::span<const Tensor> operands,
                                                    const AttributeList& attributes, size_t results) {
  const std::string_view op = version.name;
  const RuntimeKernels runtime(version);
  const bool has_kernel = to.widens_for_runtime() && runtime.any();
  // Then the nodes of its function need kernels of the element type.
  const bool runs_inlined = to.widens_for_runtime() && !has_kernel && version.has_function;
  struct Change {
    uint8_t type;  // of the version's types()
    DType from, to;
  };
  std::vector<Change> changes;
  std::bitset<256> seen;  // by type, a uint8_t
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
    // The elements of a sequence are not cast back by one node: whoever makes it says how (emission.h).
    const bool makes_sequence = version.output(0) != nullptr && version.types()[version.output(0)->type].tensors.empty();
    if (has_kernel && !makes_sequence)
      if (const DTypeSet kernels = runtime.Dtypes(constraint.name); !kernels.empty()) allowed = allowed & kernels;
    if (runs_inlined && IsFloating(dtype)) allowed = allowed & RuntimeKernels("Mul", to.opset()).Dtypes("T");
    if (keep || allowed.contains(dtype)) continue;
    const auto wider = op == "Cast" ? std::span<const DType>() : LosslessWider(dtype);
    const auto found = std::find_if(wider.begin(), wider.end(), [&](DType d) { return allowed.contains(d); });
    if (found == wider.end()) {
      if (constraint.tensors.contains(dtype)) continue;  // valid ONNX; another runtime may have the kernel
      ReportDtype(to, op, constraint.name, dtype, "take");
      return Poisoned(to, op, operands, attributes, results);
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
    if (const auto change = change_of(formal->type); change != changes.end()) widened[i] = to.CastTo(widened[i], change->to);
  }
  std::vector<Tensor> values = EmitNode(to, version, widened, attributes, results);
  for (size_t i = 0; i < values.size(); ++i) {
    const FormalParameter* formal = version.output(static_cast<int>(i));
    if (!values[i] || formal == nullptr) continue;
    if (const auto change = change_of(formal->type); change != changes.end()) values[i] = to.CastTo(values[i], change->from);
  }
  return values;
}

}  // namespace

void RequireDtypes(Builder& to, std::string_view op, std::span<const Tensor> operands, std::span<const Type> results) {
  const OperatorVersion* version = FindOperator(op, to.opset());
  if (version == nullptr) return;
  auto require = [&](const FormalParameter* formal, const Type& type, std::string_view verb) {
    if (formal == nullptr || !type.is_tensor()) return true;
    const TypeConstraint& constraint = version->type_of(*formal);
    if (constraint.tensors.contains(type.dtype)) return true;
    ReportDtype(to, op, constraint.name, type.dtype, verb);
    return false;
  };
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i] && !require(version->input(static_cast<int>(i)), operands[i].type(), "take")) return;
  for (size_t i = 0; i < results.size(); ++i)
    if (!require(version->output(static_cast<int>(i)), results[i], "give")) return;
}

std::optional<DType> WiderForRuntime(const Builder& to, std::string_view op, std::string_view type_parameter, DType dtype) {
  if (!to.widens_for_runtime() || dtype == DType::kFloat16) return std::nullopt;
  const DTypeSet kernels = RuntimeKernels(op, to.opset()).Dtypes(type_parameter);
  if (kernels.empty() || kernels.contains(dtype)) return std::nullopt;
  for (const DType wider : LosslessWider(dtype))
    if (kernels.contains(wider)) return wider;
  return std::nullopt;
}

std::vector<Tensor> EmitAsIs(Builder& to, std::string_view op, std::span<const Tensor> operands, const AttributeList& given,
                                      size_t results) {
  AttributeList attributes = given;
  if (to.opset() < kFirstOpsetOfNegativeAxes)
    if (auto forward = WithForwardAxes(op, operands, given)) attributes = std::move(*forward);
  const OperatorVersion* version = FindOperator(op, to.opset());
  if (const auto problem = Misfit(to, op, version, operands, attributes, results)) {
    to.Report(DiagnosticKind::kUnsupportedOpset, *problem);
    return Poisoned(to, op, operands, given, results);
  }
  if (auto cast = EmitThroughCasts(to, *version, operands, attributes, results)) return std::move(*cast);
  return EmitNode(to, *version, operands, attributes, results);
}

std::vector<Tensor> EmitNewestForm(Builder& to, std::string_view op, std::span<const Tensor> operands,
                                   const AttributeList& attributes, size_t results) {
  RequireFit(to, op, operands, attributes);
  if (!HasOlderForm(op, to.opset())) return EmitAsIs(to, op, operands, attributes, results);
  Few<Type, 1> types(results);
  Infer(to, op, operands, attributes, types, NewestOpset());
  if (results == 1)
    if (auto folded = FoldedResult(to, types[0])) return {*folded};
  auto legal = Legalize(to, op, operands, attributes, types);
  if (!legal) return EmitAsIs(to, op, operands, attributes, results);
  for (size_t i = 0; i < legal->size() && i < results; ++i)
    if ((*legal)[i]) (*legal)[i] = Refined(to, (*legal)[i], types[i]);
  return std::move(*legal);
}

}  // namespace flambeau::onnx
