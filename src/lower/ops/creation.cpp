// Tensors of values that follow from sizes and numbers.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "lower/op.h"
#include "lower/ops/bessel.h"
#include "lower/ops/geometry.h"
#include "onnx/complex.h"

namespace flambeau::lower {
namespace {

// What is written into the model as values; longer ranges are computed there.
constexpr int64_t kMaxStoredElements = 4096;

constexpr Restriction kRunTimeWindow{"a Kaiser window of more than a million elements", "torch.kaiser_window(2_000_000)",
                                     "a window is written into the model"};

DType DtypeOf(Lowering& to, const Scalar& number) {
  if (number.is_bool()) return DType::kBool;
  if (number.is_integral()) return DType::kInt64;
  return number.is_complex() ? onnx::ComplexDtype(to.default_dtype()) : to.default_dtype();
}

template <int64_t kValue>
Tensor Filled(Lowering& to, Dims size, std::optional<DType> dtype, Unused, Unused, Unused) {
  return to.Full(size, kValue, dtype.value_or(to.default_dtype()));
}
template <int64_t kValue>
Tensor FilledLike(Lowering& to, Tensor self, std::optional<DType> dtype, Unused, Unused, Unused, Unused) {
  return to.Full(self.sizes(), kValue, dtype.value_or(self.dtype()));
}
template <int64_t kValue>
Tensor NewFilled(Lowering& to, Tensor self, Dims size, std::optional<DType> dtype, Unused, Unused, Unused) {
  return to.Full(size, kValue, dtype.value_or(self.dtype()));
}
Tensor Zero(Lowering& to, Tensor self) { return to.Full(self.sizes(), int64_t{0}, self.dtype()); }

// Nothing says what is in an empty tensor: zeros.
Tensor Empty(Lowering& to, Dims size, std::optional<DType> dtype, Unused, Unused, Unused, Unused) {
  return to.Full(size, int64_t{0}, dtype.value_or(to.default_dtype()));
}
Tensor EmptyStrided(Lowering& to, Dims size, Dims, std::optional<DType> dtype, Unused, Unused, Unused) {
  return to.Full(size, int64_t{0}, dtype.value_or(to.default_dtype()));
}
Tensor NewEmptyStrided(Lowering& to, Tensor self, Dims size, Dims, std::optional<DType> dtype, Unused, Unused, Unused) {
  return to.Full(size, int64_t{0}, dtype.value_or(self.dtype()));
}

Tensor Full(Lowering& to, Dims size, Scalar fill_value, std::optional<DType> dtype, Unused, Unused, Unused) {
  return to.Full(size, fill_value, dtype.value_or(DtypeOf(to, fill_value)));
}
Tensor FullLike(Lowering& to, Tensor self, Scalar fill_value, std::optional<DType> dtype, Unused, Unused, Unused,
                Unused) {
  return to.Full(self.sizes(), fill_value, dtype.value_or(self.dtype()));
}
Tensor NewFull(Lowering& to, Tensor self, Dims size, Scalar fill_value, std::optional<DType> dtype, Unused, Unused,
               Unused) {
  return to.Full(size, fill_value, dtype.value_or(self.dtype()));
}
// Unlike torch.tensor, it makes a float of an integer.
Tensor ScalarTensor(Lowering& to, Scalar s, std::optional<DType> dtype, Unused, Unused, Unused) {
  const DType own = DtypeOf(to, s);
  return to.NumberOf(s, dtype.value_or(IsComplex(own) ? own : to.default_dtype()));
}
Tensor TensorOf(Lowering& to, Scalar t, std::optional<DType> dtype, Unused, Unused) {
  return to.NumberOf(t, dtype.value_or(DtypeOf(to, t)));
}

Tensor StoredRange(Lowering& to, double start, double step, int64_t count, DType dtype) {
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * step;
  return to.ConstantFloats(values, dtype, {&count, 1});
}

// Integers counted by fractions: as many as the fractions say, of both numbers truncated.
Tensor TruncatedRange(Lowering& to, Scalar start, Scalar end, Scalar step, DType dtype) {
  auto exact = [&](Scalar number) { return to.NumberOf(number, DType::kFloat64); };
  auto truncated = [&](Scalar number) { return to.NumberOf(number, DType::kInt64); };
  const Tensor count = to.Ceil(to.Div(to.Sub(exact(end), exact(start)), exact(step)));
  const Tensor zero = to.ConstantOf(0.0, DType::kFloat64), one = to.ConstantOf(1.0, DType::kFloat64);
  const Tensor positions = to.CastTo(to.Range(zero, count, one), DType::kInt64);
  return to.CastTo(to.Add(to.Mul(positions, truncated(step)), truncated(start)), dtype);
}

Tensor ArangeStep(Lowering& to, Scalar start, Scalar end, Scalar step, std::optional<DType> dtype, Unused, Unused,
                  Unused) {
  const bool floating = start.is_floating() || end.is_floating() || step.is_floating();
  const DType result = dtype.value_or(floating ? to.default_dtype() : DType::kInt64);
  const bool truncates_before = result == DType::kInt64 && !to.IsCapturedFrom(2, 14);
  const bool constant = start.is_constant() && end.is_constant() && step.is_constant();
  if (constant && (floating || IsFloating(result))) {
    // PyTorch counts in floats, then truncates both numbers to an integer dtype.
    auto counted = [&](const Scalar& number) { return truncates_before ? std::trunc(number.AsDouble()) : number.AsDouble(); };
    const double count = std::ceil((counted(end) - counted(start)) / counted(step));
    const double first = IsFloating(result) ? start.AsDouble() : std::trunc(start.AsDouble());
    const double delta = IsFloating(result) ? step.AsDouble() : std::trunc(step.AsDouble());
    if (count <= static_cast<double>(kMaxStoredElements))
      return StoredRange(to, first, delta, static_cast<int64_t>(std::max(count, 0.0)), result);
  }
  if (floating && !IsFloating(result) && !truncates_before) return TruncatedRange(to, start, end, step, result);
  // In the widest dtype, so that rounding is that of PyTorch's accumulation.
  const DType wide = floating && result != DType::kInt64 ? DType::kFloat64 : DType::kInt64;
  return to.CastTo(to.Range(to.NumberOf(start, wide), to.NumberOf(end, wide), to.NumberOf(step, wide)), result);
}
Tensor ArangeStart(Lowering& to, Scalar start, Scalar end, std::optional<DType> dtype, Unused, Unused, Unused) {
  return ArangeStep(to, start, end, int64_t{1}, dtype, {}, {}, {});
}
Tensor Arange(Lowering& to, Scalar end, std::optional<DType> dtype, Unused, Unused, Unused) {
  return ArangeStep(to, int64_t{0}, end, int64_t{1}, dtype, {}, {}, {});
}

Tensor DimArange(Lowering& to, Tensor like, int64_t dim) {
  return Arange(to, Scalar(like.size(to.Axis(dim, like))), DType::kInt64, {}, {}, {});
}

// torch.range includes its end. It counts in the dtype of the result where that is an integer, else in double precision.
Tensor RangeStep(Lowering& to, Scalar start, Scalar end, Scalar step, std::optional<DType> dtype, Unused, Unused, Unused) {
  const DType result = dtype.value_or(to.default_dtype());
  if (start.is_constant() && end.is_constant() && step.is_constant()) {
    auto counted = [&](const Scalar& number) { return IsFloating(result) ? number.AsDouble() : std::trunc(number.AsDouble()); };
    const double count = std::floor((counted(end) - counted(start)) / counted(step)) + 1;
    if (count >= 0 && count <= static_cast<double>(kMaxStoredElements))
      return StoredRange(to, counted(start), counted(step), static_cast<int64_t>(count), result);
  }
  auto counted = [&](const Scalar& number) {
    return IsFloating(result) ? to.NumberOf(number, DType::kFloat64) : to.CastTo(to.NumberOf(number, DType::kInt64), DType::kFloat64);
  };
  const Tensor first = counted(start), delta = counted(step);
  const Tensor last = to.Floor(to.Div(to.Sub(counted(end), first), delta));
  const Tensor zero = to.ConstantOf(0.0, DType::kFloat64), one = to.ConstantOf(1.0, DType::kFloat64);
  const Tensor steps = to.Range(zero, to.Add(last, one), one);
  return to.CastTo(to.Add(to.Mul(steps, delta), first), result);
}
Tensor RangeStart(Lowering& to, Scalar start, Scalar end, std::optional<DType> dtype, Unused, Unused, Unused) {
  return RangeStep(to, start, end, int64_t{1}, dtype, {}, {}, {});
}

// Of tensors as of numbers, whatever their dtypes: the default one, or its complex one.
DType SpacedDtype(Lowering& to, const Tensor& start, const Tensor& end) {
  return start.is_complex() || end.is_complex() ? onnx::ComplexDtype(to.default_dtype()) : to.default_dtype();
}

// The first half counts from the start, the second from the end, as PyTorch does.
Tensor Linspace(Lowering& to, Tensor start, Tensor end, Dim count, std::optional<DType> dtype) {
  const DType result = dtype.value_or(SpacedDtype(to, start, end));
  // Integers lie between whole ends, truncated from double precision; floats compute as they are.
  const bool complex = IsComplex(result) || start.is_complex() || end.is_complex();
  const DType real = result == DType::kFloat32 ? result : DType::kFloat64, compute = complex ? DType::kComplex128 : real;
  const bool constant =
      !complex && start.is_number() && end.is_number() && start.number().is_constant() && end.number().is_constant();
  const std::optional<int64_t> known = to.AsConstant(count);
  if (constant && known && *known <= kMaxStoredElements) {
    const int64_t steps = *known;
    const auto number = [&](const Tensor& of) { return IsInteger(result) ? std::trunc(of.number().AsDouble()) : of.number().AsDouble(); };
    const double first = number(start), last = number(end);
    const double step = steps > 1 ? (last - first) / static_cast<double>(steps - 1) : 0;
    std::vector<double> values(static_cast<size_t>(std::max<int64_t>(steps, 0)));
    for (int64_t i = 0; i < steps; ++i)
      values[static_cast<size_t>(i)] = i < steps / 2 || steps == 1 ? std::fma(step, static_cast<double>(i), first)
                                                                   : std::fma(-step, static_cast<double>(steps - 1 - i), last);
    if (!IsFloating(result)) std::ranges::transform(values, values.begin(), [](double v) { return std::trunc(v); });
    return to.ConstantFloats(values, result, {&steps, 1});
  }
  const auto whole = [&](const Tensor& of) { return IsInteger(result) && of.is_floating() ? to.CastTo(of, result) : of; };
  const Tensor first = to.CastTo(whole(start), compute), last = to.CastTo(whole(end), compute);
  if (known == 1) return to.CastTo(to.UnsqueezeAt(first, {0}), result);
  auto number = [&](Dim dim) { return to.CastTo(to.Number(dim), real); };
  // Of a single step the start, whatever its gap.
  auto at_least_one = [&](const Tensor& n) { return known ? n : to.Max({n, to.ConstantOf(int64_t{1}, real)}); };
  const Tensor positions = to.CastTo(Iota(to, count), real);
  const Tensor gaps = number(to.Minus(count, to.Of(1)));
  const Tensor step = to.Div(to.Sub(last, first), at_least_one(gaps));
  const Tensor from_start = to.Add(first, to.Mul(step, positions));
  const Tensor from_end = to.Sub(last, to.Mul(step, to.Sub(gaps, positions)));
  const Tensor half = number(Dim{to.exprs().FloorDiv(count.expr, to.Of(2).expr)});
  const Tensor in_first_half = to.Less(positions, at_least_one(half));
  return to.CastTo(to.Where(in_first_half, from_start, from_end), result);
}

Tensor Logspace(Lowering& to, Tensor start, Tensor end, Dim steps, double base, std::optional<DType> dtype) {
  const DType result = dtype.value_or(SpacedDtype(to, start, end));
  const bool complex = IsComplex(result) || start.is_complex() || end.is_complex();
  const auto powers = [&](const Tensor& first, const Tensor& last) {
    const Tensor exponents = Linspace(to, first, last, steps, complex ? DType::kComplex128 : DType::kFloat64);
    return to.CastTo(to.Pow(to.ConstantOf(base, DType::kFloat64), exponents), result);
  };
  if (!IsInteger(result) || to.AsConstant(steps) == 1) return powers(start, end);
  // The ends are whole, but for a single step.
  const Tensor several = powers(to.CastTo(start, result), to.CastTo(end, result));
  if (to.AsConstant(steps) || (!start.is_floating() && !start.is_number())) return several;
  return to.Where(to.Equal(to.Number(steps), to.ConstantInt(1)), powers(start, end), several);
}

// Each end is a number or a 0-d tensor.
template <class Start, class End>
Tensor LinspaceOf(Lowering& to, Start start, End end, Dim steps, std::optional<DType> dtype, Unused, Unused,
                  Unused) {
  return Linspace(to, internal::AsResult(to, start), internal::AsResult(to, end), steps, dtype);
}
template <class Start, class End>
Tensor LogspaceOf(Lowering& to, Start start, End end, Dim steps, double base, std::optional<DType> dtype, Unused,
                  Unused, Unused) {
  return Logspace(to, internal::AsResult(to, start), internal::AsResult(to, end), steps, base, dtype);
}

Tensor EyeM(Lowering& to, Dim n, Dim m, std::optional<DType> dtype, Unused, Unused, Unused) {
  return to.CastTo(DiagonalMask(to, n, m, to.Of(0)), dtype.value_or(to.default_dtype()));
}
Tensor Eye(Lowering& to, Dim n, std::optional<DType> dtype, Unused, Unused, Unused) {
  return EyeM(to, n, n, dtype, {}, {}, {});
}

// --- windows ------------------------------------------------------------------

constexpr int64_t kMaxWindow = 1 << 20;  // that is a constant of the model

DType WindowDtype(Lowering& to, std::optional<DType> dtype) {
  const DType of = dtype.value_or(to.default_dtype());
  if (!IsFloating(of)) throw onnx::BadOperand("takes a floating dtype");
  return of;
}

// value(x) for x = 0, 1, … over a period of `length` or length - 1.
template <class F>
Tensor Window(Lowering& to, int64_t length, bool periodic, std::optional<DType> dtype, F value) {
  const DType of = WindowDtype(to, dtype);
  if (length > kMaxWindow) return to.Unsupported(kRunTimeWindow);
  const double period = static_cast<double>(periodic ? length : length - 1);
  std::vector<double> values(static_cast<size_t>(std::max<int64_t>(length, 0)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = length == 1 ? 1.0 : value(static_cast<double>(i), period);
  return to.ConstantFloats(values, of, {&length, 1});
}

bool IsStored(Lowering& to, Dim length) {
  const auto known = to.AsConstant(length);
  return known && *known <= kMaxWindow;
}

// The same of a length that is known at run time only: value(x / period) of tensors.
template <class F>
Tensor WindowAtRunTime(Lowering& to, Dim length, bool periodic, std::optional<DType> dtype, F value) {
  const Tensor one = to.ConstantOf(1.0, DType::kFloat64), count = to.CastTo(to.Number(length), DType::kFloat64);
  const Tensor period = periodic ? count : to.Max({to.Sub(count, one), one});
  const Tensor values = value(to.Div(to.CastTo(Iota(to, length), DType::kFloat64), period));
  return to.CastTo(to.Where(to.Equal(count, one), one, values), WindowDtype(to, dtype));
}

// a - b·cos(2πx) + c·cos(4πx)
Tensor CosineWindow(Lowering& to, Dim length, bool periodic, std::optional<DType> dtype, double a, double b, double c) {
  if (IsStored(to, length))
    return Window(to, *to.AsConstant(length), periodic, dtype, [&](double x, double period) {
      const double angle = 2 * std::numbers::pi * x / period;
      return a - b * std::cos(angle) + c * std::cos(2 * angle);
    });
  auto constant = [&](double value) { return to.ConstantOf(value, DType::kFloat64); };
  return WindowAtRunTime(to, length, periodic, dtype, [&](const Tensor& x) {
    const Tensor angle = to.Mul(x, constant(2 * std::numbers::pi));
    const Tensor first = to.Sub(constant(a), to.Mul(constant(b), to.Cos(angle)));
    return c == 0 ? first : to.Add(first, to.Mul(constant(c), to.Cos(to.Mul(angle, constant(2)))));
  });
}

Tensor HammingAlphaBeta(Lowering& to, Dim length, bool periodic, double alpha, double beta, std::optional<DType> dtype,
                        Unused, Unused, Unused) {
  return CosineWindow(to, length, periodic, dtype, alpha, beta, 0);
}
Tensor HammingAlpha(Lowering& to, Dim length, bool periodic, double alpha, std::optional<DType> dtype, Unused, Unused,
                    Unused) {
  return CosineWindow(to, length, periodic, dtype, alpha, 0.46, 0);
}
Tensor HammingPeriodic(Lowering& to, Dim length, bool periodic, std::optional<DType> dtype, Unused, Unused, Unused) {
  return CosineWindow(to, length, periodic, dtype, 0.54, 0.46, 0);
}
Tensor Hamming(Lowering& to, Dim length, std::optional<DType> dtype, Unused, Unused, Unused) {
  return HammingPeriodic(to, length, true, dtype, {}, {}, {});
}
Tensor HannPeriodic(Lowering& to, Dim length, bool periodic, std::optional<DType> dtype, Unused, Unused, Unused) {
  return CosineWindow(to, length, periodic, dtype, 0.5, 0.5, 0);
}
Tensor Hann(Lowering& to, Dim length, std::optional<DType> dtype, Unused, Unused, Unused) {
  return HannPeriodic(to, length, true, dtype, {}, {}, {});
}
Tensor BlackmanPeriodic(Lowering& to, Dim length, bool periodic, std::optional<DType> dtype, Unused, Unused, Unused) {
  return CosineWindow(to, length, periodic, dtype, 0.42, 0.5, 0.08);
}
Tensor Blackman(Lowering& to, Dim length, std::optional<DType> dtype, Unused, Unused, Unused) {
  return BlackmanPeriodic(to, length, true, dtype, {}, {}, {});
}
Tensor BartlettPeriodic(Lowering& to, Dim length, bool periodic, std::optional<DType> dtype, Unused, Unused, Unused) {
  if (IsStored(to, length))
    return Window(to, *to.AsConstant(length), periodic, dtype,
                  [](double x, double period) { return x <= period / 2 ? 2 * x / period : 2 - 2 * x / period; });
  return WindowAtRunTime(to, length, periodic, dtype, [&](const Tensor& x) {
    const Tensor rising = to.Mul(x, to.ConstantOf(2.0, DType::kFloat64));
    return to.Min({rising, to.Sub(to.ConstantOf(2.0, DType::kFloat64), rising)});
  });
}
Tensor Bartlett(Lowering& to, Dim length, std::optional<DType> dtype, Unused, Unused, Unused) {
  return BartlettPeriodic(to, length, true, dtype, {}, {}, {});
}

double BesselI0(double x) {
  double term = 1, sum = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= (x / 2 / k) * (x / 2 / k);
    sum += term;
  }
  return sum;
}
Tensor KaiserBeta(Lowering& to, Dim length, bool periodic, double beta, std::optional<DType> dtype, Unused, Unused, Unused) {
  if (const auto known = to.AsConstant(length))
    return Window(to, *known, periodic, dtype, [&](double x, double period) {
      const double ratio = 2 * x / period - 1;
      return BesselI0(beta * std::sqrt(std::max(1 - ratio * ratio, 0.0))) / BesselI0(beta);
    });
  auto constant = [&](double value) { return to.ConstantOf(value, DType::kFloat64); };
  return WindowAtRunTime(to, length, periodic, dtype, [&](const Tensor& x) {
    const Tensor ratio = to.Sub(to.Mul(x, constant(2)), constant(1));
    const Tensor height = to.Sqrt(to.Max({to.Sub(constant(1), to.Mul(ratio, ratio)), constant(0)}));
    return to.Div(BesselI0(to, to.Mul(height, constant(beta))), constant(BesselI0(beta)));
  });
}
Tensor KaiserPeriodic(Lowering& to, Dim length, bool periodic, std::optional<DType> dtype, Unused, Unused, Unused) {
  return KaiserBeta(to, length, periodic, 12, dtype, {}, {}, {});
}
Tensor Kaiser(Lowering& to, Dim length, std::optional<DType> dtype, Unused, Unused, Unused) {
  return KaiserBeta(to, length, true, 12, dtype, {}, {}, {});
}

// The arguments that all of these operators end with.
#define FLAMBEAU_OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define FLAMBEAU_LIKE_OPTIONS FLAMBEAU_OPTIONS ", MemoryFormat? memory_format=None"

constexpr OpRow kRows[] = {
    Op<Filled<0>>("aten::_efficientzerotensor(SymInt[] size, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<DimArange>("aten::_dim_arange(Tensor like, int dim) -> Tensor"),
    Op<Arange>("aten::arange(Scalar end, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<ArangeStart>("aten::arange.start(Scalar start, Scalar end, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<ArangeStep>("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " FLAMBEAU_OPTIONS
                   ") -> Tensor"),
    Op<Bartlett>("aten::bartlett_window(int window_length, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<BartlettPeriodic>("aten::bartlett_window.periodic(int window_length, bool periodic, *, " FLAMBEAU_OPTIONS
                         ") -> Tensor"),
    Op<Blackman>("aten::blackman_window(int window_length, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<BlackmanPeriodic>("aten::blackman_window.periodic(int window_length, bool periodic, *, " FLAMBEAU_OPTIONS
                         ") -> Tensor"),
    Op<Empty>("aten::empty.memory_format(SymInt[] size, *, " FLAMBEAU_LIKE_OPTIONS ") -> Tensor"),
    Op<FilledLike<0>>("aten::empty_like(Tensor self, *, " FLAMBEAU_LIKE_OPTIONS ") -> Tensor"),
    Op<EmptyStrided>("aten::empty_permuted(SymInt[] size, int[] physical_layout, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<EmptyStrided>("aten::empty_strided(SymInt[] size, SymInt[] stride, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<Eye>("aten::eye(SymInt n, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<EyeM>("aten::eye.m(SymInt n, SymInt m, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<Full>("aten::full(SymInt[] size, Scalar fill_value, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<FullLike>("aten::full_like(Tensor self, Scalar fill_value, *, " FLAMBEAU_LIKE_OPTIONS ") -> Tensor"),
    Op<Hamming>("aten::hamming_window(int window_length, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<HammingPeriodic>("aten::hamming_window.periodic(int window_length, bool periodic, *, " FLAMBEAU_OPTIONS
                        ") -> Tensor"),
    Op<HammingAlpha>(
        "aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, " FLAMBEAU_OPTIONS
        ") -> Tensor"),
    Op<HammingAlphaBeta>("aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, "
                         "float beta, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<Hann>("aten::hann_window(int window_length, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<HannPeriodic>("aten::hann_window.periodic(int window_length, bool periodic, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<Kaiser>("aten::kaiser_window(int window_length, *, " FLAMBEAU_OPTIONS ") -> Tensor", &kRunTimeWindow),
    Op<KaiserBeta>("aten::kaiser_window.beta(int window_length, bool periodic, float beta, *, " FLAMBEAU_OPTIONS
                   ") -> Tensor",
                   &kRunTimeWindow),
    Op<KaiserPeriodic>("aten::kaiser_window.periodic(int window_length, bool periodic, *, " FLAMBEAU_OPTIONS
                       ") -> Tensor",
                       &kRunTimeWindow),
    Op<LinspaceOf<Scalar, Scalar>>("aten::linspace(Scalar start, Scalar end, int steps, *, " FLAMBEAU_OPTIONS
                                   ") -> Tensor"),
    Op<LinspaceOf<Scalar, Tensor>>(
        "aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<LinspaceOf<Tensor, Scalar>>(
        "aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<LinspaceOf<Tensor, Tensor>>(
        "aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<LogspaceOf<Scalar, Scalar>>(
        "aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<LogspaceOf<Scalar, Tensor>>(
        "aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, " FLAMBEAU_OPTIONS
        ") -> Tensor"),
    Op<LogspaceOf<Tensor, Scalar>>(
        "aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, " FLAMBEAU_OPTIONS
        ") -> Tensor"),
    Op<LogspaceOf<Tensor, Tensor>>(
        "aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, " FLAMBEAU_OPTIONS
        ") -> Tensor"),
    Op<NewFilled<0>>("aten::new_empty(Tensor self, SymInt[] size, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<NewEmptyStrided>("aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, " FLAMBEAU_OPTIONS
                        ") -> Tensor"),
    Op<NewFull>("aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<NewFilled<1>>("aten::new_ones(Tensor self, SymInt[] size, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<NewFilled<0>>("aten::new_zeros(Tensor self, SymInt[] size, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<Filled<1>>("aten::ones(SymInt[] size, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<FilledLike<1>>("aten::ones_like(Tensor self, *, " FLAMBEAU_LIKE_OPTIONS ") -> Tensor"),
    Op<RangeStart>("aten::range(Scalar start, Scalar end, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<RangeStep>("aten::range.step(Scalar start, Scalar end, Scalar step=1, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<ScalarTensor>("aten::scalar_tensor(Scalar s, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<TensorOf>("aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) "
                 "-> Tensor"),
    Op<TensorOf>("aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool "
                 "requires_grad=False) -> Tensor"),
    Op<Zero>("aten::zero(Tensor self) -> Tensor"),
    Op<Filled<0>>("aten::zeros(SymInt[] size, *, " FLAMBEAU_OPTIONS ") -> Tensor"),
    Op<FilledLike<0>>("aten::zeros_like(Tensor self, *, " FLAMBEAU_LIKE_OPTIONS ") -> Tensor"),
};

#undef FLAMBEAU_OPTIONS
#undef FLAMBEAU_LIKE_OPTIONS

}  // namespace

std::span<const OpRow> Creation() { return kRows; }

}  // namespace flambeau::lower
