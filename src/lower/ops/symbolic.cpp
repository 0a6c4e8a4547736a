// Python's numbers: sizes, and what programs compute with them. Constants fold,
// integers stay symbolic where the algebra can say them, the rest is computed
// by 0-d tensors: int64, bool, and float64 as Python's floats are.
#include <cmath>
#include <complex>
#include <functional>
#include <type_traits>

#include "lower/op.h"
#include "lower/ops/arithmetic.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/geometry.h"
#include "lower/ops/views.h"
#include "support/numeric.h"

namespace flambeau::lower {
namespace {

constexpr Restriction kStrideOfUnknown{"the stride of a tensor of which no strides were recorded", "",
                                       "ONNX's tensors have no strides"};
constexpr Restriction kComplexNumber{"complex numbers, but in +, -, *, /, **, ==, != and abs of constants", ""};

using Complex = std::complex<double>;

DType KindOf(const Scalar& number) {
  if (number.is_bool()) return DType::kBool;
  return number.is_floating() ? DType::kFloat64 : DType::kInt64;
}
DType CommonKind(const Scalar& a, const Scalar& b) {
  if (a.is_floating() || b.is_floating()) return DType::kFloat64;
  return DType::kInt64;  // bools count as integers
}

Scalar RunTime(Tensor tensor) { return Scalar::OfValue(tensor.id(), &tensor.type()); }
bool IsExpr(const Scalar& number) {
  return number.kind() == Scalar::Kind::kSymbolic || number.kind() == Scalar::Kind::kInt ||
         number.kind() == Scalar::Kind::kBool;
}
Dim ExprOf(Lowering& to, const Scalar& number) {
  return number.kind() == Scalar::Kind::kSymbolic ? number.dim() : to.Of(number.AsInt());
}
Scalar FromExpr(Lowering& to, Expr expr) {
  if (const auto value = to.exprs().AsConstant(expr)) return *value;
  return Dim{expr};
}
Scalar BoolFromExpr(Lowering& to, Expr expr) {
  if (const auto value = to.exprs().AsConstant(expr)) return Scalar(*value != 0);
  return RunTime(to.CastTo(to.Number({expr}), DType::kBool));
}

// A constant of constants; nothing where one is not known, or is complex and `fold` is of floats only.
template <class Fold>
std::optional<Scalar> FoldConstants(const Scalar& a, const Scalar& b, Fold fold) {
  if (!a.is_constant() || !b.is_constant()) return std::nullopt;
  if (!a.is_complex() && !b.is_complex()) return Scalar(fold(a.AsDouble(), b.AsDouble()));
  if constexpr (std::is_invocable_v<Fold, Complex, Complex>) {
    return Scalar(fold(a.AsComplex(), b.AsComplex()));
  } else {
    return std::nullopt;
  }
}

// Of constant integers, which wrap as PyTorch's do.
template <class Fold>
std::optional<Scalar> FoldIntegers(const Scalar& a, const Scalar& b, Fold fold) {
  if (!a.is_constant() || !b.is_constant() || !IsExpr(a) || !IsExpr(b)) return std::nullopt;
  return Scalar(static_cast<int64_t>(fold(static_cast<uint64_t>(a.AsInt()), static_cast<uint64_t>(b.AsInt()))));
}

// Integers go by `fold` on expressions, which folds constants too; floats by
// `fold_float`; what is known at run time only by `emit`.
template <class Fold, class FoldFloat, class Emit>
Scalar Compute(Lowering& to, const Scalar& a, const Scalar& b, Fold fold, FoldFloat fold_float, Emit emit) {
  if (IsExpr(a) && IsExpr(b)) {
    const Dim x = ExprOf(to, a), y = ExprOf(to, b);
    return FromExpr(to, to.Kept(fold(to.exprs(), x.expr, y.expr), {x, y}, [&] { return emit(to.Number(x), to.Number(y)); }).expr);
  }
  if (const auto constant = FoldConstants(a, b, fold_float)) return *constant;
  if (a.is_complex() || b.is_complex()) return to.Unsupported(kComplexNumber);
  const DType dtype = CommonKind(a, b);
  return RunTime(emit(to.NumberOf(a, dtype), to.NumberOf(b, dtype)));
}

Scalar Add(Lowering& to, Scalar a, Scalar b) {
  if (const auto constant = FoldIntegers(a, b, std::plus<>())) return *constant;
  return Compute(
      to, a, b, [](ExprPool& e, Expr x, Expr y) { return e.Add(x, y); }, std::plus<>(),
      [&](Tensor x, Tensor y) { return to.Add(x, y); });
}
Scalar Sub(Lowering& to, Scalar a, Scalar b) {
  if (const auto constant = FoldIntegers(a, b, std::minus<>())) return *constant;
  return Compute(
      to, a, b, [](ExprPool& e, Expr x, Expr y) { return e.Sub(x, y); }, std::minus<>(),
      [&](Tensor x, Tensor y) { return to.Sub(x, y); });
}
Scalar Mul(Lowering& to, Scalar a, Scalar b) {
  if (const auto constant = FoldIntegers(a, b, std::multiplies<>())) return *constant;
  return Compute(
      to, a, b, [](ExprPool& e, Expr x, Expr y) { return e.Mul(x, y); }, std::multiplies<>(),
      [&](Tensor x, Tensor y) { return to.Mul(x, y); });
}

// Python's: the sign of the divisor. The quotient would be rounded: 1 / 0.1 is 10, and 1 % 0.1 nearly 0.1.
double FloorMod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
Scalar Mod(Lowering& to, Scalar a, Scalar b) {
  return Compute(
      to, a, b, [](ExprPool& e, Expr x, Expr y) { return e.Mod(x, y); }, FloorMod,
      [&](Tensor x, Tensor y) { return Remainder(to, x, y); });
}
Scalar FloorDiv(Lowering& to, Scalar a, Scalar b) {
  return Compute(
      to, a, b, [](ExprPool& e, Expr x, Expr y) { return e.FloorDiv(x, y); },
      [](double x, double y) { return std::floor(x / y); },
      [&](Tensor x, Tensor y) {
        return x.is_floating() ? to.Floor(to.Div(x, y)) : to.Div(to.Sub(x, to.Mod(x, y)), y);
      });
}
Scalar TrueDiv(Lowering& to, Scalar a, Scalar b) {
  if (const auto constant = FoldConstants(a, b, std::divides<>())) return *constant;
  if (a.is_complex() || b.is_complex()) return to.Unsupported(kComplexNumber);
  return RunTime(to.Div(to.NumberOf(a, DType::kFloat64), to.NumberOf(b, DType::kFloat64)));
}
Scalar FloatPow(Lowering& to, Scalar a, Scalar b) {
  if (const auto constant = FoldConstants(a, b, [](auto x, auto y) { return std::pow(x, y); })) return *constant;
  if (a.is_complex() || b.is_complex()) return to.Unsupported(kComplexNumber);
  return RunTime(to.Pow(to.NumberOf(a, DType::kFloat64), to.NumberOf(b, DType::kFloat64)));
}
Scalar Pow(Lowering& to, Scalar a, Scalar b) {
  // An integer to a negative power is a float.
  const bool negative = b.is_constant() && b.AsDouble() < 0;
  if (CommonKind(a, b) == DType::kFloat64 || negative || a.is_complex() || b.is_complex()) return FloatPow(to, a, b);
  return Compute(
      to, a, b, [](ExprPool& e, Expr x, Expr y) { return e.Pow(x, y); },
      [](double x, double y) { return std::pow(x, y); }, [&](Tensor x, Tensor y) { return to.Pow(x, y); });
}
Scalar SymMax(Lowering& to, Scalar a, Scalar b) {
  return Compute(
      to, a, b, [](ExprPool& e, Expr x, Expr y) { return e.Max(x, y); },
      [](double x, double y) { return std::max(x, y); }, [&](Tensor x, Tensor y) { return to.Max({x, y}); });
}
Scalar SymMin(Lowering& to, Scalar a, Scalar b) {
  return Compute(
      to, a, b, [](ExprPool& e, Expr x, Expr y) { return e.Min(x, y); },
      [](double x, double y) { return std::min(x, y); }, [&](Tensor x, Tensor y) { return to.Min({x, y}); });
}
// TorchScript's, of which the second is the answer wherever the first is not larger: a NaN beside a number may be either.
template <bool kLargest>
Scalar ScriptExtreme(Lowering& to, Scalar a, Scalar b) {
  if (CommonKind(a, b) != DType::kFloat64 || a.is_complex() || b.is_complex()) return kLargest ? SymMax(to, a, b) : SymMin(to, a, b);
  const auto first = [](double x, double y) { return kLargest ? x > y : x < y; };
  if (const auto constant = FoldConstants(a, b, [&](double x, double y) { return first(x, y) ? x : y; })) return *constant;
  const Tensor x = to.NumberOf(a, DType::kFloat64), y = to.NumberOf(b, DType::kFloat64);
  return RunTime(to.Where(kLargest ? to.Greater(x, y) : to.Less(x, y), x, y));
}
Scalar Shift(Lowering& to, Scalar a, Scalar b, bool left) {
  constexpr int64_t kBits = 64;
  if (a.is_constant() && b.is_constant() && IsExpr(a) && IsExpr(b) && b.AsInt() >= 0 && b.AsInt() < kBits)
    return Scalar(left ? static_cast<int64_t>(static_cast<uint64_t>(a.AsInt()) << b.AsInt()) : a.AsInt() >> b.AsInt());
  const Scalar power = Pow(to, int64_t{2}, b);
  return left ? Mul(to, a, power) : FloorDiv(to, a, power);
}
Scalar LeftShift(Lowering& to, Scalar a, Scalar b) { return Shift(to, a, b, true); }
Scalar RightShift(Lowering& to, Scalar a, Scalar b) { return Shift(to, a, b, false); }

Scalar Neg(Lowering& to, Scalar a) { return Sub(to, int64_t{0}, a); }
Scalar Pos(Lowering&, Scalar a) { return a; }
Scalar Abs(Lowering& to, Scalar a) {
  return a.is_complex() ? Scalar(std::abs(a.AsComplex())) : SymMax(to, a, Neg(to, a));
}

// --- truth ----------------------------------------------------------------------------

template <class Fold, class FoldFloat, class Emit>
Scalar Compare(Lowering& to, const Scalar& a, const Scalar& b, Fold fold, FoldFloat fold_float, Emit emit) {
  if (IsExpr(a) && IsExpr(b)) return BoolFromExpr(to, fold(to.exprs(), ExprOf(to, a).expr, ExprOf(to, b).expr));
  if (const auto constant = FoldConstants(a, b, fold_float)) return *constant;
  if (a.is_complex() || b.is_complex()) return to.Unsupported(kComplexNumber);
  const DType dtype = CommonKind(a, b);
  return RunTime(emit(to.NumberOf(a, dtype), to.NumberOf(b, dtype)));
}

Scalar Not(Lowering& to, Scalar a) {
  if (a.is_constant()) return Scalar(a.AsComplex() == Complex());
  return RunTime(to.Not(to.NumberOf(a, DType::kBool)));
}
Scalar Eq(Lowering& to, Scalar a, Scalar b) {
  return Compare(
      to, a, b, [](ExprPool& e, Expr x, Expr y) { return e.Equal(x, y); }, std::equal_to<>(),
      [&](Tensor x, Tensor y) { return to.Equal(x, y); });
}
Scalar Lt(Lowering& to, Scalar a, Scalar b) {
  return Compare(
      to, a, b, [](ExprPool& e, Expr x, Expr y) { return e.Less(x, y); }, std::less<double>(),
      [&](Tensor x, Tensor y) { return to.Less(x, y); });
}
Scalar Le(Lowering& to, Scalar a, Scalar b) {
  return Compare(
      to, a, b,
      [](ExprPool& e, Expr x, Expr y) {
        return e.IsConstant(y, INT64_MAX) ? e.Constant(1) : e.Less(x, e.Add(y, e.Constant(1)));
      },
      std::less_equal<double>(), [&](Tensor x, Tensor y) { return to.LessOrEqual(x, y); });
}
Scalar Ne(Lowering& to, Scalar a, Scalar b) { return Not(to, Eq(to, a, b)); }
Scalar Gt(Lowering& to, Scalar a, Scalar b) { return Lt(to, b, a); }
Scalar Ge(Lowering& to, Scalar a, Scalar b) { return Le(to, b, a); }

// Of bools; of integers bit by bit.
template <class Fold, class EmitBool, class EmitInt>
Scalar Bitwise(Lowering& to, const Scalar& a, const Scalar& b, Fold fold, EmitBool emit_bool, EmitInt emit_int) {
  const bool bools = a.is_bool() && b.is_bool();
  if (a.is_constant() && b.is_constant()) {
    const int64_t value = fold(a.AsInt(), b.AsInt());
    return bools ? Scalar(value != 0) : Scalar(value);
  }
  const DType dtype = bools ? DType::kBool : DType::kInt64;
  const Tensor x = to.NumberOf(a, dtype), y = to.NumberOf(b, dtype);
  return RunTime(bools ? emit_bool(x, y) : emit_int(x, y));
}
Scalar And(Lowering& to, Scalar a, Scalar b) {
  return Bitwise(
      to, a, b, std::bit_and<int64_t>(), [&](Tensor x, Tensor y) { return to.And(x, y); },
      [&](Tensor x, Tensor y) { return to.BitwiseAnd(x, y); });
}
Scalar Or(Lowering& to, Scalar a, Scalar b) {
  return Bitwise(
      to, a, b, std::bit_or<int64_t>(), [&](Tensor x, Tensor y) { return to.Or(x, y); },
      [&](Tensor x, Tensor y) { return to.BitwiseOr(x, y); });
}
Scalar Xor(Lowering& to, Scalar a, Scalar b) {
  return Bitwise(
      to, a, b, std::bit_xor<int64_t>(), [&](Tensor x, Tensor y) { return to.Xor(x, y); },
      [&](Tensor x, Tensor y) { return to.BitwiseXor(x, y); });
}

Scalar IfThenElse(Lowering& to, Scalar b, Scalar t, Scalar f) {
  if (b.is_constant()) return b.AsDouble() != 0 ? t : f;
  const DType dtype = KindOf(t) == KindOf(f) ? KindOf(t) : CommonKind(t, f);
  return RunTime(to.Where(to.NumberOf(b, DType::kBool), to.NumberOf(t, dtype), to.NumberOf(f, dtype)));
}

// --- floats ---------------------------------------------------------------------------

template <double (*kFold)(double), Tensor (onnx::Builder::*kEmit)(Tensor)>
Scalar Float(Lowering& to, Scalar x) {
  if (x.is_complex()) return to.Unsupported(kComplexNumber);
  if (x.is_constant()) return Scalar(kFold(x.AsDouble()));
  return RunTime(std::invoke(kEmit, to, to.NumberOf(x, DType::kFloat64)));
}
Scalar Log2(Lowering& to, Scalar x) {
  if (x.is_complex()) return to.Unsupported(kComplexNumber);
  if (x.is_constant()) return Scalar(std::log2(x.AsDouble()));
  return RunTime(Logarithm(to, to.NumberOf(x, DType::kFloat64), 2));
}

// As PyTorch casts it, whatever it is.
Scalar IntegerOf(double x) {
  std::byte bytes[sizeof(int64_t)];
  StoreDouble(DType::kInt64, x, bytes);
  return LoadInt(DType::kInt64, bytes);
}

// An integer of a float, rounded by `fold`; integers are as they are.
template <double (*kFold)(double), Tensor (onnx::Builder::*kEmit)(Tensor)>
Scalar Rounded(Lowering& to, Scalar x) {
  if (!x.is_floating()) return x;
  if (x.is_constant()) return IntegerOf(kFold(x.AsDouble()));
  return RunTime(to.CastTo(std::invoke(kEmit, to, to.NumberOf(x, DType::kFloat64)), DType::kInt64));
}
// A cast truncates.
Scalar Trunc(Lowering& to, Scalar x) {
  if (x.is_bool() && !x.is_constant()) return RunTime(to.NumberOf(x, DType::kInt64));
  if (!x.is_floating()) return x.is_bool() ? Scalar(x.AsInt()) : x;
  if (x.is_constant()) return IntegerOf(x.AsDouble());
  return RunTime(to.NumberOf(x, DType::kInt64));
}
Scalar ToFloat(Lowering& to, Scalar a) {
  if (a.is_constant()) return Scalar(a.AsDouble());
  return RunTime(to.NumberOf(a, DType::kFloat64));
}
double RoundHalfToEven(double x) { return std::nearbyint(x); }
Scalar Round(Lowering& to, Scalar x, std::optional<int64_t> ndigits) {
  if (!ndigits) return Rounded<RoundHalfToEven, &onnx::Builder::Round>(to, x);
  if (!x.is_floating() && *ndigits >= 0) return x;
  const Scalar scale(std::pow(10.0, static_cast<double>(*ndigits)));
  const Scalar rounded = Float<RoundHalfToEven, &onnx::Builder::Round>(to, Mul(to, ToFloat(to, x), scale));
  const Scalar result = TrueDiv(to, rounded, scale);
  return x.is_floating() ? result : Trunc(to, result);
}

// --- numbers in tensors, sizes of tensors -------------------------------------------------

// A tensor of one element as a number.
Scalar Item(Lowering& to, Tensor self) {
  if (self.is_number()) return self.number();
  if (self.type().contents && self.type().contents->size() == 1) {
    const Expr element = self.type().contents->front();
    if (!self.is_bool() && !to.exprs().HasAnonymous(element)) return FromExpr(to, element);
  }
  if (self.is_floating())
    if (const auto bytes = to.ConstantBytes(self); bytes && bytes->size() == static_cast<size_t>(ByteSize(self.dtype())))
      return Scalar(LoadDouble(self.dtype(), bytes->data()));
  const Tensor number = self.rank() == 0 ? self : to.ReshapeTo(self, Ints{});
  return RunTime(to.CastTo(number, self.is_bool()       ? DType::kBool
                                   : self.is_floating() ? DType::kFloat64
                                                        : DType::kInt64));
}
Scalar IsNonzero(Lowering& to, Tensor self) {
  const Scalar number = Item(to, self);
  return self.dtype() == DType::kBool ? number : Ne(to, number, int64_t{0});
}
Scalar IntOf(Lowering& to, Tensor a) { return Trunc(to, Item(to, a)); }
Scalar FloatOf(Lowering& to, Tensor a) { return ToFloat(to, Item(to, a)); }

Dim SymSizeInt(Lowering& to, Tensor self, int64_t dim) { return self.size(to.Axis(dim, self)); }
Dim Numel(Lowering& to, Tensor self) { return to.Numel(Ranked(to, self)); }
Dim SymStrideInt(Lowering& to, Tensor self, int64_t dim) {
  const auto& strides = to.aten().type(to.aten().operand(to.node(), 0)).strides;
  const auto axis = static_cast<size_t>(to.Axis(dim, self));
  if (axis >= strides.size()) return to.Unsupported(kStrideOfUnknown);
  return {strides[axis]};
}
Tensor ShapeAsTensor(Lowering& to, Tensor self) { return to.Shape1(self.sizes()); }

// A size of 0 is one; ONNX's Reshape would take the operand's.
Tensor ReshapeFromTensor(Lowering& to, Tensor self, Tensor shape) {
  shape = to.CastTo(shape, DType::kInt64);
  Dims sizes;
  bool one_is_open = false, none_is_zero = true;
  for (const Expr size : shape.type().contents.value_or(std::vector<Expr>())) {
    sizes.push_back({size});
    one_is_open |= to.AsConstant(sizes.back()) == -1;
    none_is_zero &= to.AsConstant(sizes.back()).value_or(0) != 0;
  }
  if (shape.type().contents && !one_is_open) return to.ReshapeTo(self, sizes);
  if (shape.type().contents && none_is_zero) return to.Reshape(self, shape);
  return to.Reshape(self, shape, {.allowzero = 1});
}

Lowered SymSum(Lowering& to, NodeId node) {
  const auto terms = ArgumentView(to, node, 0).AsDims();
  if (!terms) return std::nullopt;
  Dim sum = to.Of(0);
  for (Dim term : *terms) sum = to.Plus(sum, term);
  return std::vector<Tensor>{internal::AsResult(to, sum)};
}

// A constant that the program returns.
Lowered Constant(Lowering& to, NodeId node) {
  const auto value = ArgumentView(to, node, 0).AsScalar();
  if (!value) return std::nullopt;
  return std::vector<Tensor>{internal::AsResult(to, *value)};
}

constexpr OpRow kRows[] = {
    Op<Abs>("_operator::abs(Scalar a) -> Scalar", &kComplexNumber),
    Op<Add>("_operator::add(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<And>("_operator::and_(Scalar a, Scalar b) -> Scalar"),
    Op<Eq>("_operator::eq(Scalar a, Scalar b) -> bool", &kComplexNumber),
    Op<FloorDiv>("_operator::floordiv(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<Ge>("_operator::ge(Scalar a, Scalar b) -> bool", &kComplexNumber),
    Op<Gt>("_operator::gt(Scalar a, Scalar b) -> bool", &kComplexNumber),
    Op<Le>("_operator::le(Scalar a, Scalar b) -> bool", &kComplexNumber),
    Op<LeftShift>("_operator::lshift(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<Lt>("_operator::lt(Scalar a, Scalar b) -> bool", &kComplexNumber),
    Op<Mod>("_operator::mod(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<Mul>("_operator::mul(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<Ne>("_operator::ne(Scalar a, Scalar b) -> bool", &kComplexNumber),
    Op<Neg>("_operator::neg(Scalar a) -> Scalar", &kComplexNumber),
    Op<Not>("_operator::not_(Scalar a) -> bool"),
    Op<Or>("_operator::or_(Scalar a, Scalar b) -> Scalar"),
    Op<Pos>("_operator::pos(Scalar a) -> Scalar"),
    Op<Pow>("_operator::pow(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<RightShift>("_operator::rshift(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<Sub>("_operator::sub(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<TrueDiv>("_operator::truediv(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<Xor>("_operator::xor(Scalar a, Scalar b) -> Scalar"),
    Op<IsNonzero>("aten::Bool.Tensor(Tensor a) -> bool"),
    Op<FloatOf>("aten::Float.Tensor(Tensor a) -> float"),
    Op<FloatOf>("aten::FloatImplicit(Tensor a) -> float"),
    Op<IntOf>("aten::Int.Tensor(Tensor a) -> int"),
    Op<IntOf>("aten::IntImplicit(Tensor a) -> int"),
    Op<Item>("aten::_local_scalar_dense(Tensor self) -> Scalar"),
    Op<ReshapeFromTensor>("aten::_reshape_from_tensor(Tensor self, Tensor shape) -> Tensor"),
    Op<ShapeAsTensor>("aten::_shape_as_tensor(Tensor self) -> Tensor"),
    Op<IsNonzero>("aten::is_nonzero(Tensor self) -> bool"),
    Op<Item>("aten::item(Tensor self) -> Scalar"),
    Op<Numel>("aten::numel(Tensor self) -> int"),
    Op<SymSizeInt>("aten::size.int(Tensor self, int dim) -> int"),
    Op<Numel>("aten::sym_numel(Tensor self) -> SymInt"),
    Op<SymSizeInt>("aten::sym_size.int(Tensor self, int dim) -> SymInt"),
    Op<SymStrideInt>("aten::sym_stride.int(Tensor self, int dim) -> SymInt", &kStrideOfUnknown),
    Op<Round>("builtins::round(Scalar x, int? ndigits=None) -> Scalar", &kComplexNumber),
    Op<Rounded<std::ceil, &onnx::Builder::Ceil>>("math::ceil(Scalar x) -> Scalar"),
    Op<Float<std::exp, &onnx::Builder::Exp>>("math::exp(Scalar x) -> Scalar", &kComplexNumber),
    Op<Rounded<std::floor, &onnx::Builder::Floor>>("math::floor(Scalar x) -> Scalar"),
    Op<Float<std::log, &onnx::Builder::Log>>("math::log(Scalar x) -> Scalar", &kComplexNumber),
    Op<Log2>("math::log2(Scalar x) -> Scalar", &kComplexNumber),
    Op<FloatPow>("math::pow(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<Float<std::sqrt, &onnx::Builder::Sqrt>>("math::sqrt(Scalar x) -> Scalar", &kComplexNumber),
    Op<Trunc>("math::trunc(Scalar x) -> Scalar"),
    RawOp("prim::Constant", &Constant),
    Op<Float<std::sqrt, &onnx::Builder::Sqrt>>("torch::_sym_sqrt(Scalar a) -> Scalar", &kComplexNumber),
    Op<ToFloat>("torch::sym_float(Scalar a) -> Scalar"),
    Op<Trunc>("torch::sym_int(Scalar a) -> Scalar"),
    Op<IfThenElse>("torch::sym_ite(Scalar b, Scalar t, Scalar f) -> Scalar"),
    Op<ScriptExtreme<true>>("script::max(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<ScriptExtreme<false>>("script::min(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<SymMax>("torch::sym_max(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<SymMin>("torch::sym_min(Scalar a, Scalar b) -> Scalar", &kComplexNumber),
    Op<Not>("torch::sym_not(Scalar a) -> bool"),
    RawOp("torch::sym_sum", &SymSum),
};

}  // namespace

std::span<const OpRow> Symbolic() { return kRows; }

}  // namespace flambeau::lower
