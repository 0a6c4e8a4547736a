// Comparisons, logic on bools and bits, and choices by a condition.
#include "lower/ops/elementwise.h"
#include "lower/op.h"
#include "lower/ops/reduction.h"
#include "support/numeric.h"

namespace flambeau::lower {
namespace {

Tensor Ne(Lowering& to, Tensor self, Tensor other) { return to.Not(Binary<"Equal">(to, self, other)); }

// Bools are ordered: false < true. ONNX compares numbers only.
template <Text kOp>
Tensor Compare(Lowering& to, Tensor self, Tensor other) {
  auto [dtype, a, b] = Promoted(to, self, other);
  if (dtype == DType::kBool) {
    a = to.CastTo(a, DType::kInt32);
    b = to.CastTo(b, DType::kInt32);
  }
  const Tensor operands[] = {a, b};
  return to.Emit(kOp.view(), operands, {}, 1).front();
}

template <Text kOp>
Tensor Logical(Lowering& to, Tensor self, Tensor other) {
  const Tensor operands[] = {to.CastTo(self, DType::kBool), to.CastTo(other, DType::kBool)};
  return to.Emit(kOp.view(), operands, {}, 1).front();
}

Tensor LogicalNot(Lowering& to, Tensor self) { return to.Not(to.CastTo(self, DType::kBool)); }

// Of bools, bitwise is logical.
template <Text kOfBools, Text kOfIntegers>
Tensor Bitwise(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  const Tensor operands[] = {a, b};
  return to.Emit(dtype == DType::kBool ? kOfBools.view() : kOfIntegers.view(), operands, {}, 1).front();
}

Tensor BitwiseNot(Lowering& to, Tensor self) { return self.is_bool() ? to.Not(self) : to.BitwiseNot(self); }

Tensor PowerOfTwo(Lowering& to, Tensor exponent, DType dtype) {
  if (exponent.is_number() && exponent.number().is_constant())
    return to.NumberOf(int64_t{1} << exponent.number().AsInt(), dtype);
  return to.CastTo(to.Pow(to.NumberOf(2.0, DType::kFloat64), to.CastTo(exponent, DType::kFloat64)), dtype);
}

enum class Shift { kLeft, kRight };

// ONNX shifts unsigned integers only. For signed ones: times and (floored) by a power of two.
Tensor ShiftWithin(Lowering& to, Tensor a, Tensor count, Shift shift) {
  const DType dtype = a.dtype();
  if (!IsSigned(dtype))
    return to.BitShift(a, to.CastTo(count, dtype), {.direction = shift == Shift::kLeft ? "LEFT" : "RIGHT"});
  const Tensor power = PowerOfTwo(to, count, dtype);
  return shift == Shift::kLeft ? to.Mul(a, power) : to.Div(to.Sub(a, to.Mod(a, power)), power);
}

// By fewer than no bits, or by as many as there are or more, all bits go; of a negative number shifted to the right
// the sign stays.
Tensor Shifted(Lowering& to, Tensor self, Tensor other, Shift shift) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  const bool keeps_sign = shift == Shift::kRight && IsSigned(dtype);
  const int64_t limit = 8 * ByteSize(dtype) - (keeps_sign ? 1 : 0);
  const Tensor zero = to.NumberOf(0, dtype);
  auto emptied = [&, a = a, dtype = dtype] {
    return keeps_sign ? to.Neg(to.CastTo(to.Less(a, zero), dtype)) : to.Mul(a, zero);
  };
  if (other.is_number() && other.number().is_constant()) {
    const int64_t count = WrappedInt(dtype, other.number().AsInt());
    return count >= 0 && count < limit ? ShiftWithin(to, a, internal::AsResult(to, Scalar(count)), shift) : emptied();
  }
  Tensor within = to.Less(b, to.NumberOf(limit, dtype));
  if (IsSigned(dtype)) within = to.And(within, to.GreaterOrEqual(b, zero));
  return to.Where(within, ShiftWithin(to, a, to.Where(within, b, zero), shift), emptied());
}

Tensor ShiftLeft(Lowering& to, Tensor self, Tensor other) { return Shifted(to, self, other, Shift::kLeft); }
Tensor ShiftRight(Lowering& to, Tensor self, Tensor other) { return Shifted(to, self, other, Shift::kRight); }

Tensor Where(Lowering& to, Tensor condition, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  return to.Where(to.CastTo(condition, DType::kBool), a, b);
}

Tensor MaskedFill(Lowering& to, Tensor self, Tensor mask, Tensor value) {
  return to.Where(mask, to.CastTo(value, self.dtype()), self);
}

Tensor Isclose(Lowering& to, Tensor self, Tensor other, Scalar rtol, Scalar atol, bool equal_nan) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  Tensor close = to.Equal(a, b);
  if (equal_nan && IsFloating(dtype)) close = to.Or(close, to.And(to.IsNaN(a), to.IsNaN(b)));
  if (rtol.Is(0) && atol.Is(0)) return close;
  const DType computed = IsFloating(dtype) ? dtype : to.default_dtype();
  const Tensor allowed =
      to.Add(to.NumberOf(atol, computed), to.Abs(to.Mul(to.CastTo(b, computed), to.NumberOf(rtol, computed))));
  const Tensor distance = to.Abs(to.CastTo(to.Sub(a, b), computed));
  // An infinite distance is within no tolerance.
  const Tensor near = to.And(to.LessOrEqual(distance, allowed), to.Not(to.IsInf(distance)));
  return to.Or(close, near);
}

// One bool. Tensors of other sizes are not equal, and are not compared: they might broadcast.
Tensor EqualTensors(Lowering& to, Tensor self, Tensor other) {
  const Tensor no = to.NumberOf(false, DType::kBool);
  if (self.rank() != other.rank()) return no;
  Dim same_sizes = to.Of(1);
  for (int64_t axis = 0; axis < self.rank(); ++axis)
    same_sizes = to.Times(same_sizes, {to.exprs().Equal(self.size(axis).expr, other.size(axis).expr)});
  auto all_equal = [&] { return All(to, Binary<"Equal">(to, self, other)); };
  if (const auto known = to.AsConstant(same_sizes)) return *known != 0 ? all_equal() : no;
  const Tensor condition = to.CastTo(to.Number(same_sizes), DType::kBool);
  return to.Choose(condition, [&] { return TensorList{all_equal()}; }, [&] { return TensorList{no}; }).front();
}

constexpr OpRow kRows[] = {
    Op<Bitwise<"And", "BitwiseAnd">>("aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Bitwise<"And", "BitwiseAnd">>("aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<ShiftLeft>("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<ShiftLeft>("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Bitwise<"Or", "BitwiseOr">>("aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Bitwise<"Or", "BitwiseOr">>("aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<ShiftRight>("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<ShiftRight>("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Bitwise<"Xor", "BitwiseXor">>("aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Bitwise<"Xor", "BitwiseXor">>("aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Bitwise<"And", "BitwiseAnd">>("aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Bitwise<"And", "BitwiseAnd">>("aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    Op<Bitwise<"And", "BitwiseAnd">>("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<ShiftLeft>("aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    Op<ShiftLeft>("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<ShiftLeft>("aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<BitwiseNot>("aten::bitwise_not(Tensor self) -> Tensor"),
    Op<Bitwise<"Or", "BitwiseOr">>("aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Bitwise<"Or", "BitwiseOr">>("aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    Op<Bitwise<"Or", "BitwiseOr">>("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<ShiftRight>("aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    Op<ShiftRight>("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<ShiftRight>("aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Bitwise<"Xor", "BitwiseXor">>("aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Bitwise<"Xor", "BitwiseXor">>("aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    Op<Bitwise<"Xor", "BitwiseXor">>("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Binary<"Equal">>("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Binary<"Equal">>("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<EqualTensors>("aten::equal(Tensor self, Tensor other) -> bool"),
    Op<Compare<"GreaterOrEqual">>("aten::ge.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Compare<"GreaterOrEqual">>("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Compare<"Greater">>("aten::greater.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Compare<"Greater">>("aten::greater.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Compare<"GreaterOrEqual">>("aten::greater_equal.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Compare<"GreaterOrEqual">>("aten::greater_equal.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Compare<"Greater">>("aten::gt.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Compare<"Greater">>("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Isclose>("aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool "
                "equal_nan=False) -> Tensor"),
    Op<Compare<"LessOrEqual">>("aten::le.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Compare<"LessOrEqual">>("aten::le.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Compare<"Less">>("aten::less.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Compare<"Less">>("aten::less.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Compare<"LessOrEqual">>("aten::less_equal.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Compare<"LessOrEqual">>("aten::less_equal.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Logical<"And">>("aten::logical_and(Tensor self, Tensor other) -> Tensor"),
    Op<LogicalNot>("aten::logical_not(Tensor self) -> Tensor"),
    Op<Logical<"Or">>("aten::logical_or(Tensor self, Tensor other) -> Tensor"),
    Op<Logical<"Xor">>("aten::logical_xor(Tensor self, Tensor other) -> Tensor"),
    Op<Compare<"Less">>("aten::lt.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Compare<"Less">>("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<MaskedFill>("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor"),
    Op<MaskedFill>("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor"),
    Op<Ne>("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Ne>("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Ne>("aten::not_equal.Scalar(Tensor self, Scalar other) -> Tensor"),
    Op<Ne>("aten::not_equal.Tensor(Tensor self, Tensor other) -> Tensor"),
    Op<Where>("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor"),
    Op<Where>("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor"),
    Op<Where>("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor"),
    Op<Where>("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Comparison() { return kRows; }

}  // namespace flambeau::lower
