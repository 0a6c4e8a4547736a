#include "lower/op.h"

#include <fmt/format.h>

#include <algorithm>

#include "aten/schema.h"
#include "onnx/complex.h"

namespace flambeau::lower {

const Attribute& ArgumentView::attribute() const { return to_.aten()[node_].attributes[index_].value; }

std::string_view ArgumentView::name() const {
  return to_.context().Text(to_.aten()[node_].attributes[index_].name);
}

bool ArgumentView::IsNone() const {
  if (std::holds_alternative<None>(attribute())) return true;
  const auto* operand = std::get_if<Operand>(&attribute());
  return operand && to_.aten().type(to_.aten().operand(node_, operand->index)).kind == TypeKind::kNone;
}

std::nullopt_t ArgumentView::Mismatch(std::string_view wanted) const {
  to_.Report(DiagnosticKind::kUnsupportedForm, fmt::format("argument '{}' must be {}", name(), wanted));
  return std::nullopt;
}

namespace {

const Type* NumberType(Lowering& to, const Scalar& scalar) {
  switch (scalar.kind()) {
    case Scalar::Kind::kBool: return to.InternType(Type::OfTensor(DType::kBool, {}));
    case Scalar::Kind::kInt:
    case Scalar::Kind::kSymbolic: return to.InternType(Type::OfTensor(DType::kInt64, {}));
    case Scalar::Kind::kFloat: return to.InternType(Type::OfTensor(to.default_dtype(), {}));
    case Scalar::Kind::kComplex: return to.InternType(Type::OfTensor(onnx::ComplexDtype(to.default_dtype()), {}));
    case Scalar::Kind::kValue: return scalar.type();
  }
  return nullptr;
}

// A graph that was edited after its capture may have nodes without a recorded value.
constexpr std::string_view kButNone = "a tensor or a number; the capture recorded None";

// Of what a constant stands for: ONNX's attributes, and what a translator writes out, are the same in each run.
constexpr std::string_view kComputed = "; it is computed when the model runs: branch on its values in the model (if n == 1: ...)";
constexpr std::string_view kSizeOfMemory = "an integer that may count elements in memory";
constexpr std::string_view kSizesOfMemory = "integers that may count elements in memory";

bool IsNumber(TypeKind kind) { return kind == TypeKind::kBool || kind == TypeKind::kInt || kind == TypeKind::kFloat; }

// A value that holds a Python number, as that number.
std::optional<Scalar> NumberIn(const Tensor& tensor) {
  if (tensor.is_number()) return tensor.number();
  return Scalar::OfValue(tensor.id(), &tensor.type());
}

}  // namespace

namespace internal {
Tensor AsResult(Lowering& to, const Scalar& scalar) { return Tensor(scalar, NumberType(to, scalar)); }
Tensor AsResult(Lowering& to, Dim dim) { return AsResult(to, Scalar(dim)); }
}  // namespace internal

std::optional<Tensor> ArgumentView::AsTensor() const {
  if (const auto* operand = std::get_if<Operand>(&attribute())) {
    const ValueId given = to_.aten().operand(node_, operand->index);
    const Tensor value = to_.ValueOf(given);
    if (!value) return Mismatch(kButNone);
    // A number that comes out of an If or a Loop is a value of ONNX's, and promotes as a number still.
    const bool is_made = !value.is_number() && IsNumber(to_.aten().type(given).kind);
    return is_made ? internal::AsResult(to_, Scalar::OfValue(value.id(), &value.type())) : value;
  }
  if (IsNone()) return Mismatch("a tensor");
  const auto scalar = AsScalar();
  if (!scalar) return std::nullopt;
  return internal::AsResult(to_, *scalar);
}

std::optional<TensorList> ArgumentView::AsTensorList() const {
  TensorList list;
  const auto* elements = std::get_if<OperandList>(&attribute());
  if (elements == nullptr) return Mismatch("a list of tensors");
  for (const ListElement& element : *elements) {
    if (const auto* operand = std::get_if<Operand>(&element)) {
      list.push_back(to_.ValueOf(to_.aten().operand(node_, operand->index)));
      if (!list.back()) return Mismatch(kButNone);
    } else if (std::holds_alternative<None>(element)) {
      list.emplace_back();
    } else {
      return Mismatch("a list of tensors");
    }
  }
  return list;
}

std::optional<TensorList> ArgumentView::AsFilledTensorList() const {
  auto list = AsTensorList();
  if (list && list->empty()) return Mismatch("a list of at least one tensor");
  if (list && std::ranges::any_of(*list, [](const Tensor& each) { return each && each.type().kind == TypeKind::kSequence; }))
    return Mismatch("a list whose length is known at conversion");
  return list;
}

std::optional<Scalar> ArgumentView::AsScalar() const {
  const Attribute& a = attribute();
  if (const auto* b = std::get_if<bool>(&a)) return Scalar(*b);
  if (const auto* i = std::get_if<int64_t>(&a)) return Scalar(*i);
  if (const auto* d = std::get_if<double>(&a)) return Scalar(*d);
  if (const auto* c = std::get_if<std::complex<double>>(&a)) return Scalar(*c);
  if (const auto* operand = std::get_if<Operand>(&a)) {
    const Tensor value = to_.ValueOf(to_.aten().operand(node_, operand->index));
    return value ? NumberIn(value) : Mismatch(kButNone);
  }
  return Mismatch("a number");
}

std::optional<Scalar> ArgumentView::AsConstantScalar() const {
  const auto scalar = AsScalar();
  if (!scalar) return std::nullopt;
  if (scalar->is_constant()) return scalar;
  if (scalar->kind() == Scalar::Kind::kSymbolic)
    if (const auto value = to_.AsConstant(scalar->dim())) return Scalar(*value);
  return Mismatch(fmt::format("a constant number{}", kComputed));
}

namespace {

// An integer computed at run time gets a symbol that stands for it.
std::optional<Dim> DimOf(Lowering& to, Tensor tensor) {
  if (!tensor) return std::nullopt;
  if (tensor.is_number() && tensor.number().kind() == Scalar::Kind::kValue) tensor = to.Wrap(tensor.number().value());
  if (tensor.is_number()) {
    const Scalar& number = tensor.number();
    if (number.kind() == Scalar::Kind::kSymbolic) return number.dim();
    if (number.kind() == Scalar::Kind::kInt || number.kind() == Scalar::Kind::kBool) return to.Of(number.AsInt());
    return std::nullopt;
  }
  // A list of numbers that a run computes is none.
  const bool is_one = tensor.type().is_tensor() && (!tensor.ranked() || tensor.rank() == 0 || (tensor.rank() == 1 && to.AsConstant(tensor.size(0)) == 1));
  return is_one ? std::optional(to.DimOf(tensor)) : std::nullopt;
}

}  // namespace

std::optional<Dim> ArgumentView::AsDim() const {
  const Attribute& a = attribute();
  if (const auto* i = std::get_if<int64_t>(&a)) return to_.Of(*i);
  if (const auto* b = std::get_if<bool>(&a)) return to_.Of(*b);
  if (const auto* operand = std::get_if<Operand>(&a))
    if (const auto dim = DimOf(to_, to_.ValueOf(to_.aten().operand(node_, operand->index)))) return dim;
  return Mismatch("an integer");
}

namespace {

// Plain integers and lists of them are sizes, dimensions, pads, steps and the like, with which translators calculate.
// Numbers that a tensor may hold, and ends of ranges, are Scalars and symbolic ones.
bool IsOfMemory(int64_t number) {
  constexpr int64_t kLargest = int64_t{1} << 40;
  return -kLargest <= number && number <= kLargest;
}

// Of "int[2]", which takes none, one for both, or two. "int[1]" is a list of any length that one number may stand for.
size_t SchemaLength(Lowering& to, NodeId node, size_t argument) {
  const aten::Schema* schema = aten::FindSchema(to.aten().op(node));
  const int length = schema != nullptr && argument < schema->arguments.size() ? schema->arguments[argument].type.list_size : 0;
  return length < 2 ? 0 : static_cast<size_t>(length);
}

}  // namespace

std::optional<Dims> ArgumentView::AsDims() const {
  const Attribute& a = attribute();
  Dims dims;
  const auto* ints = std::get_if<Ints>(&a);
  const auto* elements = std::get_if<OperandList>(&a);
  if (ints == nullptr && elements == nullptr) return Mismatch("a list of integers");
  for (int64_t i : ints != nullptr ? *ints : Ints()) {
    if (!IsOfMemory(i)) return Mismatch(kSizesOfMemory);
    dims.push_back(to_.Of(i));
  }
  for (const ListElement& element : elements != nullptr ? *elements : OperandList()) {
    if (const auto* i = std::get_if<int64_t>(&element)) {
      if (!IsOfMemory(*i)) return Mismatch(kSizesOfMemory);
      dims.push_back(to_.Of(*i));
      continue;
    }
    const auto* operand = std::get_if<Operand>(&element);
    const auto dim = operand ? DimOf(to_, to_.ValueOf(to_.aten().operand(node_, operand->index))) : std::nullopt;
    if (!dim) return Mismatch("a list of integers, whose length the conversion knows");
    dims.push_back(*dim);
  }
  const size_t length = SchemaLength(to_, node_, index_);
  if (length == 0 || dims.empty() || dims.size() == length) return dims;
  if (dims.size() != 1) return Mismatch(fmt::format("a list of {} integers", length));
  dims.resize(length, dims.front());
  return dims;
}

std::optional<int64_t> ArgumentView::AsInt() const {
  if (const auto* operand = std::get_if<Operand>(&attribute())) {
    const auto dim = DimOf(to_, to_.ValueOf(to_.aten().operand(node_, operand->index)));
    const auto value = dim ? to_.AsConstant(*dim) : std::nullopt;
    if (!value) return Mismatch(fmt::format("a constant integer{}", kComputed));
    return IsOfMemory(*value) ? value : Mismatch(kSizeOfMemory);
  }
  if (const auto* i = std::get_if<int64_t>(&attribute())) return IsOfMemory(*i) ? std::optional(*i) : Mismatch(kSizeOfMemory);
  if (const auto* b = std::get_if<bool>(&attribute())) return *b;
  return Mismatch("a constant integer");
}

std::optional<Ints> ArgumentView::AsInts() const {
  const auto dims = AsDims();
  if (!dims) return std::nullopt;
  auto constants = to_.AsConstants(*dims);
  if (!constants) return Mismatch(fmt::format("a list of constant integers{}", kComputed));
  return constants;
}

std::optional<bool> ArgumentView::AsBool() const {
  const auto scalar = AsConstantScalar();
  if (!scalar) return std::nullopt;
  return scalar->AsDouble() != 0;
}

std::optional<Bools> ArgumentView::AsBools() const {
  if (const auto* bools = std::get_if<Bools>(&attribute())) return *bools;
  if (const auto* ints = std::get_if<Ints>(&attribute())) return Bools(ints->begin(), ints->end());
  return Mismatch("a list of bools");
}

std::optional<double> ArgumentView::AsDouble() const {
  const auto scalar = AsConstantScalar();
  if (!scalar) return std::nullopt;
  return scalar->AsDouble();
}

std::optional<Floats> ArgumentView::AsFloats() const {
  if (const auto* floats = std::get_if<Floats>(&attribute())) return *floats;
  if (const auto* ints = std::get_if<Ints>(&attribute())) return Floats(ints->begin(), ints->end());
  if (const auto* mixed = std::get_if<OperandList>(&attribute())) {
    Floats floats;
    for (const ListElement& element : *mixed) {
      const auto* i = std::get_if<int64_t>(&element);
      const auto* d = std::get_if<double>(&element);
      if (i == nullptr && d == nullptr) return Mismatch("a list of constant floats");
      floats.push_back(d != nullptr ? *d : static_cast<double>(*i));
    }
    return floats;
  }
  return Mismatch("a list of constant floats");
}

std::optional<DType> ArgumentView::AsDtype() const {
  if (const auto* dtype = std::get_if<DType>(&attribute())) return *dtype;
  return Mismatch("a dtype");
}

std::optional<std::string_view> ArgumentView::AsString() const {
  if (const auto* text = std::get_if<std::string>(&attribute())) return *text;
  return Mismatch("a string");
}

std::optional<MemoryFormat> ArgumentView::AsMemoryFormat() const {
  if (const auto* format = std::get_if<MemoryFormat>(&attribute())) return *format;
  return Mismatch("a memory format");
}

}  // namespace flambeau::lower
