// Arithmetic on types that came late, and operators that did.
#include <algorithm>
#include <cmath>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// Max and Min before 12 take floats, and before 8 tensors of the same sizes.
// Integers are compared, and before 8 float64, for which runtimes lack kernels.
Results ExtremeByComparison(Builder& to, const Request& request) {
  const bool max = request.op == "Max";
  const auto& operands = request.operands;
  const bool is_float64 = operands[0].dtype() == DType::kFloat64;
  if (!operands[0].is_floating() || (is_float64 && to.opset() < 8)) {
    Tensor result = operands[0];
    for (const Tensor& other : operands.subspan(1)) {
      Tensor taken = max ? to.Less(result, other) : to.Less(other, result);
      if (is_float64) taken = to.Or(taken, to.IsNaN(other));
      result = to.Where(taken, other, result);
    }
    return {{result.id() == operands[0].id() ? to.Identity(result) : result}};
  }
  const bool same = std::ranges::all_of(operands, [&](const Tensor& x) { return x.ranked() && x.type().sizes == operands[0].type().sizes; });
  if (to.opset() >= 8 || same) return std::nullopt;
  std::vector<Tensor> wide(operands.begin(), operands.end());
  Tensor sum = operands[0];
  for (const Tensor& other : operands.subspan(1)) sum = to.Add(sum, other);
  for (Tensor& each : wide) each = to.Expand(each, to.Shape(sum));
  return EmitAsIs(to, request.op, wide, request.attributes, 1);
}

// Sum and Mean before 8 don't broadcast.
Results SumByAdding(Builder& to, const Request& request) {
  Tensor sum = request.operands[0];
  for (const Tensor& other : request.operands.subspan(1)) sum = to.Add(sum, other);
  if (request.op == "Sum") return {{sum}};
  return {{to.Div(sum, to.ConstantOf(static_cast<int64_t>(request.operands.size()), sum.dtype()))}};
}

// onnxruntime merges a Relu into the Clip behind it, to bounds that it refuses where both were below 0.
bool MergesIntoNothing(Builder& to, const Tensor& x, const std::optional<std::vector<double>>& max) {
  if (!max || max->front() >= 0 || x.is_number()) return false;
  const flambeau::Value& value = to.graph()[x.id()];
  return value.kind == ValueKind::kResult && to.graph().op(value.node) == "Relu";
}

// Bounds were float attributes before 11, and floats before 12.
Results ClipByBounds(Builder& to, const Request& request) {
  const Tensor x = request.operands[0], least = request.operand(1), most = request.operand(2);
  if (to.opset() < 11 && (x.dtype() == DType::kFloat32 || x.dtype() == DType::kFloat16)) {
    const auto min = KnownFloats(to, least), max = KnownFloats(to, most);
    const bool crossed = min && max && min->front() > max->front();
    if ((!least || min) && (!most || max) && !crossed && !MergesIntoNothing(to, x, max)) {
      AttributeList attributes;
      attributes.Add("min", min ? min->front() : -INFINITY);
      attributes.Add("max", max ? max->front() : INFINITY);
      return EmitAsIs(to, "Clip", {&x, 1}, attributes, 1);
    }
  }
  if (to.opset() >= 11 && x.is_floating() && (to.opset() >= 12 || x.dtype() != DType::kFloat64)) return std::nullopt;
  Tensor y = x;
  if (least) y = to.Max(Tensors{y, least});
  if (most) y = to.Min(Tensors{y, most});
  return {{y.id() == x.id() ? to.Identity(x) : y}};
}

// Floats in float64, which holds the quotient of shorter ones well enough to be
// truncated, and its product with the divisor without rounding.
Tensor RestOfFloats(Builder& to, const Tensor& dividend, const Tensor& divisor) {
  const Tensor a = to.CastTo(dividend, DType::kFloat64), b = to.CastTo(divisor, DType::kFloat64);
  const Tensor quotient = to.Div(a, b);
  const Tensor whole = to.Mul(to.Sign(quotient), to.Floor(to.Abs(quotient)));
  const Tensor rest = to.Where(to.Less(to.Abs(a), to.Abs(b)), a, to.Sub(a, to.Mul(whole, b)));
  return to.CastTo(rest, dividend.dtype());
}

// Division truncates; without fmod the remainder has the sign of the divisor.
Results ModByDivision(Builder& to, const Request& request) {
  const Tensor a = request.operands[0], b = request.operands[1];
  if (a.is_floating()) return {{RestOfFloats(to, a, b)}};
  // onnxruntime takes (1 / b) · b for b / b, also of integers.
  const bool one = IsKnown(to, a, 1);
  const Tensor rest = one ? to.CastTo(to.Not(to.Equal(to.Abs(b), a)), a.dtype()) : to.Sub(a, to.Mul(to.Div(a, b), b));
  if (request.Int("fmod", 0) != 0 || !IsSigned(a.dtype())) return {{rest}};
  const Tensor zero = to.ConstantOf(int64_t{0}, a.dtype());
  const Tensor rest_negative = to.Less(rest, zero), negative = to.Less(b, zero);
  const Tensor wrong = to.And(to.Xor(rest_negative, negative), to.Not(to.Equal(rest, zero)));
  return {{to.Add(rest, to.Mul(to.CastTo(wrong, a.dtype()), b))}};
}

// x^n by squaring.
Tensor Power(Builder& to, const Tensor& x, int64_t n) {
  Tensor result, square = x;
  for (; n > 0; n /= 2) {
    if (n % 2 == 1) result = result ? to.Mul(result, square) : square;
    if (n > 1) square = to.Mul(square, square);
  }
  return result;
}

// Both were floats of one type before 12.
Results PowOfOneType(Builder& to, const Request& request) {
  const Tensor x = request.operands[0], y = request.operands[1];
  const auto known = to.ConstantBytes(y);
  if (!x.is_floating()) {
    const auto exponent = KnownInts(to, y);
    const bool known_power = exponent && exponent->size() == 1 && exponent->front() >= 0;
    // As runtimes compute the newer form.
    if (!known_power || y.rank() > x.rank())
      return {{to.CastTo(to.Pow(to.CastTo(x, DType::kFloat64), to.CastTo(y, DType::kFloat64)), x.dtype())}};
    if (exponent->front() == 0) return {{to.Expand(to.ConstantOf(int64_t{1}, x.dtype()), to.Shape(x))}};
    const Tensor power = Power(to, x, exponent->front());
    return {{power.id() == x.id() ? to.Identity(x) : power}};
  }
  if (x.dtype() == y.dtype()) return std::nullopt;
  if (known) return {{to.Pow(x, to.CastTo(y, x.dtype()))}};
  const Tensor wide = to.Pow(to.CastTo(x, DType::kFloat64), to.CastTo(y, DType::kFloat64));
  return {{to.CastTo(wide, x.dtype())}};
}

// To the nearest integer, to the even one of two; infinities and NaN stay.
Results RoundByFloor(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  auto number = [&](double value) { return to.ConstantOf(value, x.dtype()); };
  const Tensor below = to.Floor(x), rest = to.Sub(x, below);
  const Tensor parity = to.Sub(below, to.Mul(to.Floor(to.Mul(below, number(0.5))), number(2)));
  const Tensor half_of_odd = to.And(to.Not(to.Less(rest, number(0.5))), to.Greater(parity, number(0.5)));
  const Tensor up = to.Or(to.Greater(rest, number(0.5)), half_of_odd);
  return {{to.Add(below, to.CastTo(up, x.dtype()))}};
}

Results SignByComparison(Builder& to, const Request& request) {
  const Tensor x = request.operands[0], zero = to.ConstantOf(int64_t{0}, x.dtype());
  if (!IsSigned(x.dtype()) && !x.is_floating()) return {{to.CastTo(to.Greater(x, zero), x.dtype())}};
  return {{to.Sub(to.CastTo(to.Greater(x, zero), x.dtype()), to.CastTo(to.Less(x, zero), x.dtype()))}};
}

// With e = exp(|x|/2), of which the square may overflow: (e/2)·e + 1/(2e²)
Results CoshByExp(Builder& to, const Request& request) {
  if (to.Has("Cosh") && !LacksKernelOfDouble(to, request)) return std::nullopt;
  const Tensor x = request.operands[0];
  const Tensor half = to.ConstantOf(0.5, x.dtype());
  const Tensor root = to.Exp(to.Mul(to.Abs(x), half));
  return {{to.Add(to.Mul(to.Mul(root, half), root), to.Div(to.Div(half, root), root))}};
}

// tanh(x)·cosh(x): exact near 0, where a difference of exponentials isn't.
Results SinhByTanh(Builder& to, const Request& request) {
  if (to.Has("Sinh") && !LacksKernelOfDouble(to, request)) return std::nullopt;
  return {{to.Mul(to.Tanh(request.operands[0]), to.Cosh(request.operands[0]))}};
}

// A matrix times a vector: as a column. onnxruntime 1.31 merges a transposition into the product, and takes a vector
// behind it for a row.
Results MatMulOfColumn(Builder& to, const Request& request) {
  const Tensor a = request.operands[0], b = request.operands[1];
  if (!to.widens_for_runtime() || !a.ranked() || !b.ranked() || a.rank() < 2 || b.rank() != 1) return std::nullopt;
  return {{to.SqueezeAt(to.MatMul(a, to.UnsqueezeAt(b, {1})), {a.rank() - 1})}};
}

// Zeros of a tensor's sizes, but for one axis, which has one.
Tensor ZerosAcross(Builder& to, const Tensor& tensor, int64_t axis) {
  Dims sizes;
  for (const Expr size : tensor.type().sizes) sizes.push_back({size});
  sizes[static_cast<size_t>(axis)] = to.Of(1);
  return to.Full(sizes, int64_t{0}, tensor.dtype());
}

// Sums of nothing are zeros: onnxruntime leaves them unwritten.
Results MatMulOverNothing(Builder& to, const Request& request) {
  const Tensor a = request.operands[0], b = request.operands[1];
  if (!a.ranked() || !b.ranked() || a.rank() == 0 || b.rank() == 0 || to.AsConstant(a.size(-1)) != 0) return std::nullopt;
  const Type& type = request.types[0];
  // What batches make of each other, only the product knows.
  if (!type.ranked || std::ranges::any_of(type.sizes, [&](Expr size) { return to.exprs().HasAnonymous(size); }))
    return {{to.MatMul(ZerosAcross(to, a, a.rank() - 1), ZerosAcross(to, b, std::max<int64_t>(b.rank() - 2, 0)))}};
  Dims sizes;
  for (const Expr size : type.sizes) sizes.push_back({size});
  return {{to.Full(sizes, int64_t{0}, a.dtype())}};
}

// Of integers before 9: rows times columns, summed.
Results MatMulBySums(Builder& to, const Request& request) {
  Tensor a = request.operands[0], b = request.operands[1];
  if (a.is_floating() || to.opset() >= 9) return std::nullopt;
  if (!a.ranked() || !b.ranked()) return Refuse(to, request, "takes no integers");
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = to.UnsqueezeAt(a, {0});
  if (column) b = to.UnsqueezeAt(b, {1});
  const Tensor products = to.Mul(to.UnsqueezeAt(a, {a.rank()}), to.UnsqueezeAt(b, {b.rank() - 2}));
  const int64_t rank = products.rank();
  Tensor y = to.ReduceSum(products, to.ConstantInts({rank - 2}), {.keepdims = 0});
  if (column) y = to.SqueezeAt(y, {y.rank() - 1});
  if (row) y = to.SqueezeAt(y, {column ? y.rank() - 1 : y.rank() - 2});
  return {{y}};
}

Results LegalizeMatMul(Builder& to, const Request& request) {
  for (const auto rule : {&MatMulOfColumn, &MatMulOverNothing, &MatMulBySums})
    if (Results product = rule(to, request)) return product;
  return std::nullopt;
}

// The summand may be absent since 11.
Results GemmOfThree(Builder& to, const Request& request) {
  if (request.operand(2)) return std::nullopt;
  const Tensor zero = to.ConstantOf(int64_t{0}, request.operands[0].dtype());
  const Tensor operands[] = {request.operands[0], request.operands[1], zero};
  return EmitAsIs(to, "Gemm", operands, request.attributes, 1);
}

// --- bits ---------------------------------------------------------------------------

Results NotByNegation(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  return {{to.Sub(to.ConstantOf(int64_t{-1}, x.dtype()), x)}};
}

// Of unsigned numbers: times 2ⁿ, or divided by it.
Results ShiftByPower(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const Tensor two = to.ConstantOf(2.0, DType::kFloat64);
  const Tensor power = to.CastTo(to.Pow(two, to.CastTo(request.operands[1], DType::kFloat64)), x.dtype());
  return {{request.Text("direction", "LEFT") == "LEFT" ? to.Mul(x, power) : to.Div(x, power)}};
}

// Each bit on an axis of its own: x·2⁻ⁿ, rounded down, modulo 2. A cast back to
// fewer bits, and the product of the upper half, wrap around to the sign.
Results BitwiseByBits(Builder& to, const Request& request) {
  const DType dtype = request.operands[0].dtype();
  const DType wide = DType::kInt64;
  const int64_t bits = 8 * ByteSize(dtype);
  if (dtype == DType::kUint64) return Refuse(to, request, "does not exist");
  Ints powers;
  for (int64_t n = 0; n < bits; ++n) powers.push_back(n == 63 ? INT64_MIN : int64_t{1} << n);
  const Tensor two = to.ConstantInt(2);
  const Tensor below = to.ConstantInts({-1});
  auto digits = [&](const Tensor& x) {
    const Tensor column = to.Unsqueeze(to.CastTo(x, wide), below);
    // Division by 2ⁿ, rounded down. x is negative exactly if its top bit is set.
    Ints positive = powers;
    if (bits == 64) positive.pop_back();
    const Tensor divisors = to.ConstantInts(positive);
    const Tensor rest = to.Mod(column, divisors);
    Tensor found = to.Mod(to.Div(to.Sub(column, rest), divisors), two);
    if (bits == 64)
      found = to.Concat(Tensors{found, to.CastTo(to.Less(column, to.ConstantInt(0)), wide)}, {.axis = -1});
    return found;
  };
  const Tensor a = digits(request.operands[0]), b = digits(request.operands[1]), product = to.Mul(a, b);
  Tensor result = product;
  if (request.op == "BitwiseOr") result = to.Sub(to.Add(a, b), product);
  if (request.op == "BitwiseXor") result = to.Sub(to.Add(a, b), to.Mul(product, two));
  // Half of 64 bits at a time: runtimes sum in float64.
  const Tensor weights = to.ConstantInts(Ints(powers.begin(), powers.begin() + std::min<int64_t>(bits, 32)));
  // onnxruntime leaves an axis be that counts from the end, where there are no elements.
  const Tensor last = result.ranked() ? to.ConstantInts({result.rank() - 1}) : below;
  auto joined = [&](const Tensor& half) { return to.ReduceSum(to.Mul(half, weights), last, {.keepdims = 0}); };
  if (bits < 64) return {{to.CastTo(joined(result), dtype)}};
  auto half = [&](int64_t from) { return to.SliceAxis(result, -1, to.Of(from), to.Of(from + 32)); };
  return {{to.Add(joined(half(0)), to.Mul(joined(half(32)), to.ConstantInt(int64_t{1} << 32)))}};
}

constexpr LegalizeRule kRules[] = {
    {"BitShift", 11, &ShiftByPower},
    {"BitwiseAnd", 18, &BitwiseByBits},
    {"BitwiseNot", 18, &NotByNegation},
    {"BitwiseOr", 18, &BitwiseByBits},
    {"BitwiseXor", 18, &BitwiseByBits},
    {"Clip", 12, &ClipByBounds},
    {"Cosh", kNever, &CoshByExp},
    {"Gemm", 11, &GemmOfThree},
    {"MatMul", kNever, &LegalizeMatMul},
    {"Max", 12, &ExtremeByComparison},
    {"Mean", 8, &SumByAdding},
    {"Min", 12, &ExtremeByComparison},
    {"Mod", 10, &ModByDivision},
    {"Pow", 12, &PowOfOneType},
    {"Round", 11, &RoundByFloor},
    {"Sign", 9, &SignByComparison},
    {"Sinh", kNever, &SinhByTanh},
    {"Sum", 8, &SumByAdding},
};

}  // namespace

std::span<const LegalizeRule> ArithmeticForms() { return kRules; }

}  // namespace flambeau::onnx
