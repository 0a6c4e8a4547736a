// One operator, one row: the schema as PyTorch writes it, and the translator.
//
//   Op<Addmm>("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor")
//
// `Op` is consteval: a row whose function does not take the schema's arguments
// does not compile. A parameter's type says what the translator needs:
//
//   Tensor             a tensor, or the number where the schema has a Scalar; numbers arrive as 0-d tensors that
//                      promotion knows as weak, so one translator serves add.Tensor and add.Scalar
//   TensorList         Tensor[], Tensor?[], of at least one; elements may be absent
//   Scalar             constant, symbolic or run-time number
//   Dim, Dims          SymInt, SymInt[] (or int, int[]): constant, symbolic or run-time
//   int64_t, Ints, bool, double, Floats, Bools, DType, std::string_view, MemoryFormat: constants
//   Const<Scalar>, Const<Dim>, Const<Dims>: constants where the schema allows more;
//                      a restriction, which the documentation names
//   std::optional<T>   where the schema has T?
//   Unused             devices, layouts, generators, memory formats, flags without meaning in ONNX
//
// Results: Tensor, TensorList, Dim, Scalar, or a tuple of them; where the schema has an int, float or bool, a Scalar,
// a Dim or a 0-d Tensor of that dtype.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lower/lowering.h"

namespace flambeau::lower {

// An argument of a call: a view of one attribute of a canonical ATen node.
class ArgumentView {
 public:
  ArgumentView(Lowering& to, NodeId node, size_t index) : to_(to), node_(node), index_(index) {}

  std::string_view name() const;
  bool IsNone() const;
  // Each gives nullopt after it reported that the argument is something else.
  std::optional<Tensor> AsTensor() const;
  std::optional<TensorList> AsTensorList() const;
  std::optional<TensorList> AsFilledTensorList() const;
  std::optional<Scalar> AsScalar() const;
  std::optional<Dim> AsDim() const;
  std::optional<Dims> AsDims() const;
  std::optional<int64_t> AsInt() const;
  std::optional<Ints> AsInts() const;
  std::optional<bool> AsBool() const;
  std::optional<Bools> AsBools() const;
  std::optional<double> AsDouble() const;
  std::optional<Floats> AsFloats() const;
  std::optional<DType> AsDtype() const;
  std::optional<std::string_view> AsString() const;
  std::optional<MemoryFormat> AsMemoryFormat() const;
  std::optional<Scalar> AsConstantScalar() const;

 private:
  const Attribute& attribute() const;
  std::nullopt_t Mismatch(std::string_view wanted) const;

  Lowering& to_;
  NodeId node_;
  size_t index_;
};

struct Unused {};

template <class T>
struct Const {
  std::conditional_t<std::is_same_v<T, Dim>, int64_t, std::conditional_t<std::is_same_v<T, Dims>, Ints, T>> value;
  operator const decltype(value)&() const { return value; }
};

namespace internal {

// Kinds of schema types, as a set of bits.
enum Kind : uint32_t {
  kTensorKind = 1 << 0, kIntKind = 1 << 1, kSymIntKind = 1 << 2, kFloatKind = 1 << 3, kBoolKind = 1 << 4,
  kScalarKind = 1 << 5, kStringKind = 1 << 6, kDtypeKind = 1 << 7, kLayoutKind = 1 << 8, kDeviceKind = 1 << 9,
  kMemoryFormatKind = 1 << 10, kGeneratorKind = 1 << 11, kOtherKind = 1 << 12,
  kListFlag = 1 << 16, kOptionalFlag = 1 << 17,
};

constexpr uint32_t KindOf(std::string_view type) {
  uint32_t flags = 0;
  if (type.ends_with('?')) { flags |= kOptionalFlag; type.remove_suffix(1); }
  if (type.ends_with(']')) {
    flags |= kListFlag;
    type = type.substr(0, type.rfind('['));
    if (type.ends_with('?')) type.remove_suffix(1);
  }
  if (const size_t open = type.find('('); open != type.npos) type = type.substr(0, open);
  constexpr std::pair<std::string_view, Kind> kKinds[] = {
      {"Tensor", kTensorKind}, {"int", kIntKind}, {"SymInt", kSymIntKind}, {"float", kFloatKind}, {"bool", kBoolKind},
      {"Scalar", kScalarKind}, {"number", kScalarKind}, {"str", kStringKind}, {"ScalarType", kDtypeKind},
      {"Layout", kLayoutKind}, {"Device", kDeviceKind}, {"MemoryFormat", kMemoryFormatKind}, {"Generator", kGeneratorKind}};
  for (const auto& [text, kind] : kKinds)
    if (text == type) return flags | kind;
  return flags | kOtherKind;
}

// Calls f(index, type) for each argument of "name(Type a, Type b=1, *, Type c) -> R".
template <class F>
constexpr size_t ForEachArgument(std::string_view schema, F f) {
  size_t count = 0, begin = schema.find('(') + 1;
  int depth = 0;
  char quote = 0;
  for (size_t i = begin; i < schema.size(); ++i) {
    const char c = schema[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    const bool end = depth == 0 && (c == ',' || c == ')');
    if (c == '(' || c == '[') ++depth;
    if ((c == ')' || c == ']') && depth > 0) --depth;
    if (!end) continue;
    std::string_view one = schema.substr(begin, i - begin);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (!one.empty() && one != "*") {
      one = one.substr(0, one.find('='));
      f(count++, one.substr(0, one.rfind(' ')));
    }
    begin = i + 1;
    if (c == ')') break;
  }
  return count;
}

// A C++ parameter: which schema types it may stand for, and how it is taken.
template <class T>
struct Parameter;
#define FLAMBEAU_PARAMETER(type, accessor, ...)                                                    \
  template <>                                                                                      \
  struct Parameter<type> {                                                                         \
    static constexpr bool Accepts(uint32_t kind) {                                                 \
      for (const uint32_t each : {__VA_ARGS__})                                                    \
        if (kind == each) return true;                                                             \
      return false;                                                                                \
    }                                                                                              \
    static std::optional<type> Take(const ArgumentView& argument) { return argument.accessor(); }  \
  }
FLAMBEAU_PARAMETER(Tensor, AsTensor, kTensorKind, kScalarKind);
FLAMBEAU_PARAMETER(TensorList, AsFilledTensorList, kTensorKind | kListFlag);
FLAMBEAU_PARAMETER(Scalar, AsScalar, kScalarKind, kFloatKind, kBoolKind);
FLAMBEAU_PARAMETER(Dim, AsDim, kSymIntKind, kIntKind);
FLAMBEAU_PARAMETER(Dims, AsDims, kSymIntKind | kListFlag, kIntKind | kListFlag);
FLAMBEAU_PARAMETER(int64_t, AsInt, kIntKind);
FLAMBEAU_PARAMETER(Ints, AsInts, kIntKind | kListFlag);
FLAMBEAU_PARAMETER(bool, AsBool, kBoolKind);
FLAMBEAU_PARAMETER(Bools, AsBools, kBoolKind | kListFlag);
FLAMBEAU_PARAMETER(double, AsDouble, kFloatKind);
FLAMBEAU_PARAMETER(Floats, AsFloats, kFloatKind | kListFlag, kScalarKind | kListFlag);
FLAMBEAU_PARAMETER(DType, AsDtype, kDtypeKind);
FLAMBEAU_PARAMETER(std::string_view, AsString, kStringKind);
FLAMBEAU_PARAMETER(MemoryFormat, AsMemoryFormat, kMemoryFormatKind);
#undef FLAMBEAU_PARAMETER

template <>
struct Parameter<Unused> {
  static constexpr bool Accepts(uint32_t kind) {
    const uint32_t base = kind & ~(kOptionalFlag | kListFlag);
    return base == kLayoutKind || base == kDeviceKind || base == kMemoryFormatKind || base == kGeneratorKind || base == kBoolKind;
  }
  static std::optional<Unused> Take(const ArgumentView&) { return Unused{}; }
};
template <>
struct Parameter<Const<Scalar>> {
  static constexpr bool Accepts(uint32_t kind) { return kind == kScalarKind; }
  static std::optional<Const<Scalar>> Take(const ArgumentView& argument) {
    const auto value = argument.AsConstantScalar();
    if (!value) return std::nullopt;
    return Const<Scalar>{*value};
  }
};
template <>
struct Parameter<Const<Dim>> {
  static constexpr bool Accepts(uint32_t kind) { return kind == kSymIntKind; }
  static std::optional<Const<Dim>> Take(const ArgumentView& argument) {
    const auto value = argument.AsInt();
    if (!value) return std::nullopt;
    return Const<Dim>{*value};
  }
};
template <>
struct Parameter<Const<Dims>> {
  static constexpr bool Accepts(uint32_t kind) { return kind == (kSymIntKind | kListFlag); }
  static std::optional<Const<Dims>> Take(const ArgumentView& argument) {
    auto value = argument.AsInts();
    if (!value) return std::nullopt;
    return Const<Dims>{std::move(*value)};
  }
};
template <class T>
struct Parameter<std::optional<T>> {
  static constexpr bool Accepts(uint32_t kind) { return (kind & kOptionalFlag) != 0 && Parameter<T>::Accepts(kind & ~kOptionalFlag); }
  static std::optional<std::optional<T>> Take(const ArgumentView& argument) {
    if (argument.IsNone()) return std::optional<std::optional<T>>(std::in_place, std::nullopt);
    auto value = Parameter<T>::Take(argument);
    if (!value) return std::nullopt;
    return std::optional<std::optional<T>>(std::in_place, std::move(*value));
  }
};

Tensor AsResult(Lowering& to, const Scalar& scalar);
Tensor AsResult(Lowering& to, Dim dim);
inline Tensor AsResult(Lowering&, Tensor tensor) { return tensor; }

template <class R>
void AppendResult(Lowering& to, std::vector<Tensor>* results, R value) {
  if constexpr (std::is_same_v<R, TensorList>) {
    results->insert(results->end(), value.begin(), value.end());
  } else {
    results->push_back(AsResult(to, value));
  }
}
template <class R>
std::vector<Tensor> Flatten(Lowering& to, R value) {
  if constexpr (std::is_same_v<R, TensorList>) {
    return value;
  } else {
    return {AsResult(to, value)};
  }
}
template <class... R>
std::vector<Tensor> Flatten(Lowering& to, std::tuple<R...> values) {
  std::vector<Tensor> results;
  results.reserve(sizeof...(R));
  std::apply([&](auto&... value) { (AppendResult(to, &results, std::move(value)), ...); }, values);
  return results;
}

}  // namespace internal

// Results of a node in order; nullopt after a report.
using Lowered = std::optional<std::vector<Tensor>>;

inline constexpr size_t kMaxRestrictions = 4;

struct OpRow {
  std::string_view schema;
  Lowered (*lower)(Lowering& to, NodeId node);
  std::array<const Restriction*, kMaxRestrictions> restrictions = {};

  constexpr std::string_view name() const { return schema.substr(0, schema.find('(')); }
};

namespace internal {

template <auto Fn, class... A>
Lowered Invoke(Lowering& to, NodeId node) {
  return [&]<size_t... I>(std::index_sequence<I...>) -> Lowered {
    auto arguments = std::make_tuple(Parameter<A>::Take(ArgumentView(to, node, I))...);
    if (!(std::get<I>(arguments).has_value() && ...)) return std::nullopt;
    return Flatten(to, Fn(to, *std::move(std::get<I>(arguments))...));
  }(std::index_sequence_for<A...>{});
}

template <auto Fn, class R, class... A, class... Restrictions>
consteval OpRow MakeRow(std::string_view schema, R (*)(Lowering&, A...), const Restrictions*... restrictions) {
  bool fits = true;
  const size_t count = ForEachArgument(schema, [&](size_t i, std::string_view type) {
    const uint32_t kind = KindOf(type);
    size_t position = 0;
    bool accepted = false;
    ((accepted |= position++ == i && Parameter<std::remove_cvref_t<A>>::Accepts(kind)), ...);
    fits &= accepted;
  });
  if (!fits || count != sizeof...(A)) throw "the translator's parameters do not match the ATen schema of this row";
  return {schema, &Invoke<Fn, std::remove_cvref_t<A>...>, {restrictions...}};
}

}  // namespace internal

template <auto Fn, class... R>
consteval OpRow Op(std::string_view schema, const R*... restrictions) {
  return internal::MakeRow<Fn>(schema, Fn, restrictions...);
}
// An operator without an ATen schema (a higher-order one): the function reads
// the node itself.
consteval OpRow RawOp(std::string_view name, Lowered (*lower)(Lowering& to, NodeId node)) { return {name, lower, {}}; }

}  // namespace flambeau::lower
