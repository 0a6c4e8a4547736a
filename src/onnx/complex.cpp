#include "onnx/complex.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "onnx/attribute_edit.h"
#include "onnx/complex_functions.h"

namespace flambeau::onnx {

DType PartDtype(DType complex) {
  switch (complex) {
    case DType::kComplex128: return DType::kFloat64;
    case DType::kComplex32: return DType::kFloat16;
    default: return DType::kFloat32;
  }
}

DType ComplexDtype(DType part) {
  switch (part) {
    case DType::kFloat64: return DType::kComplex128;
    case DType::kFloat16: return DType::kComplex32;
    default: return DType::kComplex64;
  }
}

Type PairType(Type type, ExprPool& exprs) {
  if (!IsComplex(type.dtype)) return type;
  type.dtype = PartDtype(type.dtype);
  if (type.ranked) type.sizes.push_back(exprs.Constant(2));
  return type;
}

Tensor Pairs(Builder& to, const Tensor& complex) { return to.Wrap(to.Value(complex).id()); }

Tensor OfPairs(Builder& to, const Tensor& pairs) {
  Type type = pairs.type();
  type.dtype = ComplexDtype(type.dtype);
  if (!type.sizes.empty()) type.sizes.pop_back();
  return {pairs.id(), to.InternType(std::move(type))};
}

Parts PartsOf(Builder& to, const Tensor& complex) {
  const Tensor pairs = Pairs(to, complex);
  auto part = [&](int64_t index) { return to.GatherIndex(pairs, complex.rank(), to.Of(index)); };
  return {part(0), part(1)};
}

Tensor ComplexOf(Builder& to, const Parts& parts) {
  Tensor re = parts.re, im = parts.im;
  // Either may be the larger.
  if (re.sizes() != im.sizes()) {
    const Tensor always = to.ConstantOf(true, DType::kBool);
    const Tensor narrow = re;
    re = to.Where(always, re, im);
    im = to.Where(always, im, narrow);
  }
  const int64_t axis = re.rank();
  return OfPairs(to, to.Concat({to.UnsqueezeAt(re, {axis}), to.UnsqueezeAt(im, {axis})}, {.axis = axis}));
}

Tensor CastComplex(Builder& to, const Tensor& tensor, DType dtype) {
  if (!IsComplex(dtype)) {
    const Parts parts = PartsOf(to, tensor);
    if (dtype == DType::kBool) return to.Or(to.CastTo(parts.re, dtype), to.CastTo(parts.im, dtype));
    return to.CastTo(parts.re, dtype);
  }
  if (tensor.is_complex()) return OfPairs(to, to.CastTo(Pairs(to, tensor), PartDtype(dtype)));
  const Tensor re = to.UnsqueezeAt(to.CastTo(tensor, PartDtype(dtype)), {tensor.rank()});
  Ints pads(2 * static_cast<size_t>(re.rank()));
  pads.back() = 1;
  return OfPairs(to, to.Pad(re, to.ConstantInts(pads)));
}

namespace {

struct Call {
  Builder& to;
  std::string_view op;
  std::span<const Tensor> operands;
  const AttributeList& attributes;
  size_t results;
  int64_t rank;  // of the first complex operand

  const Tensor& operand(size_t i) const { return operands[i]; }
  bool Has(size_t i) const { return i < operands.size() && operands[i]; }
  int64_t Int(std::string_view name, int64_t otherwise) const {
    const Attribute* found = Find(attributes, name);
    return found ? std::get<int64_t>(*found) : otherwise;
  }
};
using Results = std::vector<Tensor>;
using Rule = Results (*)(const Call& call);

// The operator over the pairs of its complex operands, with further changes.
Results OverPairs(const Call& call, const AttributeList& attributes, std::vector<Tensor> operands) {
  for (Tensor& operand : operands)
    if (operand && operand.is_complex()) operand = Pairs(call.to, operand);
  Results results = call.to.Emit(call.op, operands, attributes, call.results);
  for (Tensor& result : results) result = OfPairs(call.to, result);
  return results;
}

std::vector<Tensor> Operands(const Call& call) { return {call.operands.begin(), call.operands.end()}; }

// The operands in the first complex one's dtype.
std::vector<Tensor> AllComplex(const Call& call) {
  std::vector<Tensor> operands = Operands(call);
  const auto complex = std::ranges::find_if(operands, [](const Tensor& t) { return t && t.is_complex(); });
  const DType dtype = complex->dtype();
  for (Tensor& operand : operands)
    if (operand) operand = call.to.CastTo(operand, dtype);
  return operands;
}

// --- what holds for pairs as it is ------------------------------------------------

// Linear, elementwise; the parts broadcast as the whole does.
Results Linear(const Call& call) { return OverPairs(call, call.attributes, AllComplex(call)); }

// An axis counted from behind would count the parts.
Results AlongAxis(const Call& call) {
  int64_t axis = call.Int("axis", 0);
  if (axis < 0) axis += call.rank;
  const bool join = call.op == "Concat";
  return OverPairs(call, With(call.attributes, "axis", axis), join ? AllComplex(call) : Operands(call));
}

// Operand `index` lists axes, counted over `rank` dimensions.
std::vector<Tensor> WithAxes(const Call& call, size_t index, int64_t rank) {
  std::vector<Tensor> operands = Operands(call);
  if (!call.Has(index) || !operands[index].type().contents) return operands;
  Ints axes;
  for (Expr axis : *operands[index].type().contents) {
    const int64_t value = call.to.AsConstant({axis}).value_or(0);
    axes.push_back(value < 0 ? value + rank : value);
  }
  operands[index] = call.to.ConstantInts(axes);
  return operands;
}

Results Unsqueeze(const Call& call) {
  const int64_t added = static_cast<int64_t>(call.operand(1).type().contents ? call.operand(1).type().contents->size() : 0);
  return OverPairs(call, call.attributes, WithAxes(call, 1, call.rank + added));
}
Results Squeeze(const Call& call) { return OverPairs(call, call.attributes, WithAxes(call, 1, call.rank)); }
Results Slice(const Call& call) { return OverPairs(call, call.attributes, WithAxes(call, 3, call.rank)); }

// The second operand has a number for each dimension; the parts get one more.
template <int64_t kNumber>
Results WithNumber(const Call& call) {
  std::vector<Tensor> operands = Operands(call);
  operands[1] = call.to.Concat({operands[1], call.to.ConstantInts({kNumber})}, {.axis = 0});
  return OverPairs(call, call.attributes, operands);
}

Results Transpose(const Call& call) {
  Ints permutation;
  if (const Attribute* given = Find(call.attributes, "perm")) {
    permutation = std::get<Ints>(*given);
  } else {
    permutation.resize(static_cast<size_t>(call.rank));
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  permutation.push_back(call.rank);
  return OverPairs(call, With(call.attributes, "perm", permutation), Operands(call));
}

Results Where(const Call& call) {
  const DType dtype = (call.operand(1).is_complex() ? call.operand(1) : call.operand(2)).dtype();
  const Tensor condition = call.to.UnsqueezeAt(call.operand(0), {call.operand(0).rank()});
  return OverPairs(call, {}, {condition, call.to.CastTo(call.operand(1), dtype), call.to.CastTo(call.operand(2), dtype)});
}

// --- what holds for each part by itself ----------------------------------------------

Results PartByPart(const Call& call) {
  std::vector<Tensor> re = Operands(call), im = re;
  for (size_t i = 0; i < re.size(); ++i) {
    if (!re[i] || !re[i].is_complex()) continue;
    const Parts parts = PartsOf(call.to, re[i]);
    re[i] = parts.re;
    im[i] = parts.im;
  }
  const Results real = call.to.Emit(call.op, re, call.attributes, call.results);
  const Results imaginary = call.to.Emit(call.op, im, call.attributes, call.results);
  Results results;
  for (size_t i = 0; i < real.size(); ++i) results.push_back(ComplexOf(call.to, {real[i], imaginary[i]}));
  return results;
}

// Sums over updates add part by part; other reductions do not.
Results Scatter(const Call& call) {
  if (const Attribute* reduction = Find(call.attributes, "reduction")) {
    const auto* text = std::get_if<std::string>(reduction);
    if (text == nullptr || (*text != "none" && *text != "add")) return {};
  }
  return PartByPart(call);
}

// --- what mixes the parts -------------------------------------------------------------

// (a + ib)(c + id) of any bilinear operator.
Results Bilinear(const Call& call) {
  auto emit = [&](const Tensor& a, const Tensor& b) {
    const Tensor operands[] = {a, b};
    return call.to.Emit(call.op, operands, call.attributes, 1).front();
  };
  const Tensor &a = call.operand(0), &b = call.operand(1);
  if (!b.is_complex()) {
    const Parts x = PartsOf(call.to, a);
    return {ComplexOf(call.to, {emit(x.re, b), emit(x.im, b)})};
  }
  const Parts y = PartsOf(call.to, b);
  if (!a.is_complex()) return {ComplexOf(call.to, {emit(a, y.re), emit(a, y.im)})};
  const Parts x = PartsOf(call.to, a);
  return {ComplexOf(call.to, {call.to.Sub(emit(x.re, y.re), emit(x.im, y.im)),
                              call.to.Add(emit(x.re, y.im), emit(x.im, y.re))})};
}

// A convolution; the bias is added to the product.
Results Convolve(const Call& call) {
  const std::vector<Tensor> operands = AllComplex(call);
  const Parts x = PartsOf(call.to, operands[0]), w = PartsOf(call.to, operands[1]);
  const Parts bias = call.Has(2) ? PartsOf(call.to, operands[2]) : Parts{};
  auto emit = [&](const Tensor& a, const Tensor& b, const Tensor& added) {
    const Tensor parts[] = {a, b, added};
    return call.to.Emit(call.op, std::span(parts).first(added ? 3 : 2), call.attributes, 1).front();
  };
  return {ComplexOf(call.to, {call.to.Sub(emit(x.re, w.re, bias.re), emit(x.im, w.im, {})),
                              call.to.Add(emit(x.re, w.im, bias.im), emit(x.im, w.re, {}))})};
}

// The products of all combinations of parts: each imaginary one turns what it is in by i.
Results Multilinear(const Call& call) {
  constexpr size_t kMostComplex = 5;
  std::vector<Tensor> operands = Operands(call);
  std::vector<std::pair<size_t, Parts>> parts;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].is_complex()) parts.emplace_back(i, PartsOf(call.to, operands[i]));
  if (parts.size() > kMostComplex) return {};
  Tensor sums[2];  // of the real and of the imaginary products
  for (uint32_t chosen = 0; chosen < uint32_t{1} << parts.size(); ++chosen) {
    for (size_t k = 0; k < parts.size(); ++k) operands[parts[k].first] = chosen >> k & 1 ? parts[k].second.im : parts[k].second.re;
    const Tensor product = call.to.Emit(call.op, operands, call.attributes, 1).front();
    const int turns = std::popcount(chosen);
    Tensor& sum = sums[turns % 2];
    const bool minus = turns % 4 > 1;
    sum = sum ? (minus ? call.to.Sub(sum, product) : call.to.Add(sum, product)) : minus ? call.to.Neg(product) : product;
  }
  return {ComplexOf(call.to, {sums[0], sums[1]})};
}

Results Einsum(const Call& call) {
  if (call.operands.size() == 1) return PartByPart(call);
  return call.operands.size() == 2 ? Bilinear(call) : Multilinear(call);
}

Results Equal(const Call& call) {
  const std::vector<Tensor> operands = AllComplex(call);
  const Parts a = PartsOf(call.to, operands[0]), b = PartsOf(call.to, operands[1]);
  return {call.to.And(call.to.Equal(a.re, b.re), call.to.Equal(a.im, b.im))};
}

Results EitherPart(const Call& call) {
  const Parts parts = PartsOf(call.to, call.operand(0));
  auto test = [&](const Tensor& part) {
    return call.to.Emit(call.op, {&part, 1}, call.attributes, 1).front();
  };
  return {call.to.Or(test(parts.re), test(parts.im))};
}

Results Abs(const Call& call) { return {Magnitude(call.to, PartsOf(call.to, call.operand(0)))}; }

Results NonZero(const Call& call) { return {call.to.NonZero(call.to.CastTo(call.operand(0), DType::kBool))}; }

// Of the parts' shape, the dimensions before the last.
Results Shape(const Call& call) {
  auto bound = [&](std::string_view name, int64_t otherwise) {
    const int64_t value = call.Int(name, otherwise);
    return call.to.Of(std::clamp<int64_t>(value < 0 ? value + call.rank : value, 0, call.rank));
  };
  const Tensor shape = call.to.Shape(Pairs(call.to, call.operand(0)));
  return {call.to.SliceAxis(shape, 0, bound("start", 0), bound("end", call.rank))};
}

// Of a sequence, whose elements have another rank.
Results AlongAxisOfElements(const Call& call) {
  const int64_t axis = call.Int("axis", 0);
  return OverPairs(call, With(call.attributes, "axis", axis < 0 ? axis - 1 : axis), Operands(call));
}

Results AsItIs(const Call& call) { return OverPairs(call, call.attributes, Operands(call)); }

Results SequenceLength(const Call& call) {
  const Tensor pairs = Pairs(call.to, call.operand(0));
  return {call.to.SequenceLength(pairs)};
}

Results Size(const Call& call) { return {call.to.Size(PartsOf(call.to, call.operand(0)).re)}; }

struct RuleOf {
  std::string_view op;
  Rule rule;
};
constexpr RuleOf kRules[] = {
    {"Abs", Abs},
    {"Add", Linear},
    {"Compress", PartByPart},
    {"Concat", AlongAxis},
    {"ConcatFromSequence", AlongAxisOfElements},
    {"Conv", Convolve},
    {"ConvTranspose", Convolve},
    {"CumSum", PartByPart},
    {"Einsum", Einsum},
    {"Equal", Equal},
    {"Expand", WithNumber<2>},
    {"Gather", AlongAxis},
    {"GatherElements", PartByPart},
    {"GatherND", PartByPart},
    {"Identity", Linear},
    {"IsInf", EitherPart},
    {"IsNaN", EitherPart},
    {"MatMul", Bilinear},
    {"Neg", Linear},
    {"NonZero", NonZero},
    {"Pad", PartByPart},
    {"ReduceMean", PartByPart},
    {"ReduceSum", PartByPart},
    {"Reshape", WithNumber<2>},
    {"ReverseSequence", PartByPart},
    {"ScatterElements", Scatter},
    {"ScatterND", Scatter},
    {"SequenceAt", AsItIs},
    {"SequenceConstruct", AsItIs},
    {"SequenceErase", AsItIs},
    {"SequenceInsert", AsItIs},
    {"SequenceLength", SequenceLength},
    {"Shape", Shape},
    {"Size", Size},
    {"Slice", Slice},
    {"Split", AlongAxis},
    {"SplitToSequence", AlongAxis},
    {"Squeeze", Squeeze},
    {"Sub", Linear},
    {"Tile", WithNumber<1>},
    {"Transpose", Transpose},
    {"Trilu", PartByPart},
    {"Unsqueeze", Unsqueeze},
    {"Where", Where},
};

Results Emitted(const Call& call) {
  const std::string_view op = call.op;
  for (const RuleOf& row : kRules)
    if (row.op == op) return row.rule(call);
  if (const UnaryFunction function = ComplexFunction(op))
    return {ComplexOf(call.to, function(call.to, PartsOf(call.to, call.operand(0))))};
  if (const BinaryFunction operation = ComplexOperation(op)) {
    const std::vector<Tensor> operands = AllComplex(call);
    return {ComplexOf(call.to, operation(call.to, PartsOf(call.to, operands[0]), PartsOf(call.to, operands[1])))};
  }
  return {};
}

}  // namespace

std::optional<std::vector<Tensor>> EmitComplex(Builder& to, std::string_view op, std::span<const Tensor> operands,
                                               const AttributeList& attributes, size_t results) {
  const auto is_complex = [](const Tensor& operand) { return operand && operand.is_complex(); };
  const auto first = std::ranges::find_if(operands, is_complex);
  if (first == operands.end()) return std::nullopt;
  const size_t count = std::max<size_t>(results, 1);
  if (to.poisoned() && !first->ranked()) return std::vector<Tensor>(count, to.Poison(first->type()));
  Results emitted = first->ranked() ? Emitted({to, op, operands, attributes, results, first->rank()}) : Results();
  if (!emitted.empty()) return emitted;
  to.Report(DiagnosticKind::kUnsupportedDtype,
            first->ranked() ? fmt::format("ONNX's {} has no form for {}", op, Info(first->dtype()).torch_name)
                            : fmt::format("the rank of a {} tensor must be known", Info(first->dtype()).torch_name));
  return std::vector<Tensor>(count, to.Poison(first->type()));
}

}  // namespace flambeau::onnx
