// Random tensors: shapes, dtypes and distributions are PyTorch's, the numbers are not.
#include "lower/ops/random.h"

#include <cmath>
#include <limits>

#include "lower/op.h"
#include "onnx/complex.h"

namespace flambeau::lower {

namespace {

// The generators make float32, which casts narrow or widen.
template <class Attributes>
Attributes OfShape(const Ints& shape) {
  Attributes attributes;
  attributes.shape = shape;
  return attributes;
}

// Both parts of complex numbers are drawn at once: in onnxruntime two draws that stand beside each other begin alike.
template <class Draw>
Tensor OfParts(Lowering& to, Dims sizes, DType dtype, Draw draw) {
  if (!IsComplex(dtype)) return draw(sizes, dtype);
  sizes.push_back(to.Of(2));
  return onnx::OfPairs(to, draw(sizes, onnx::PartDtype(dtype)));
}

// The deviation of each part of a number whose own is `std`.
double PartDeviation(DType dtype, double std) { return IsComplex(dtype) ? std * M_SQRT1_2 : std; }

}  // namespace

Tensor RandomUniform(Lowering& to, const Dims& sizes, DType dtype) {
  if (IsComplex(dtype)) return OfParts(to, sizes, dtype, [&](const Dims& all, DType part) { return RandomUniform(to, all, part); });
  const auto known = to.AsConstants(sizes);
  const Tensor drawn = known ? to.RandomUniform(OfShape<onnx::RandomUniformAttributes>(*known))
                             : to.RandomUniformLike(to.Full(sizes, 0.0, DType::kFloat32));
  return to.CastTo(drawn, dtype);
}

Tensor RandomNormal(Lowering& to, const Dims& sizes, DType dtype) {
  if (IsComplex(dtype)) {
    const double std = PartDeviation(dtype, 1);
    return OfParts(to, sizes, dtype, [&](const Dims& all, DType part) { return to.Mul(RandomNormal(to, all, part), to.NumberOf(std, part)); });
  }
  const auto known = to.AsConstants(sizes);
  const Tensor drawn = known ? to.RandomNormal(OfShape<onnx::RandomNormalAttributes>(*known))
                             : to.RandomNormalLike(to.Full(sizes, 0.0, DType::kFloat32));
  return to.CastTo(drawn, dtype);
}

namespace {

using Device = Unused;

// What integers a dtype of random numbers holds exactly, and Python's ints.
Tensor Shifted(Lowering& to, Tensor x, const Scalar& scale, const Scalar& offset) {
  x = to.Scale(x, scale);
  return offset.Is(0) ? x : to.Add(x, to.NumberOf(offset, x.dtype()));
}

// The first `count` integers as float64, which float32 would miss some of.
Tensor IntegersBelow(Lowering& to, const Dims& sizes, Tensor count) {
  return to.Floor(to.Mul(RandomUniform(to, sizes, DType::kFloat64), count));
}

// Integers in [low, high).
Tensor Integers(Lowering& to, const Dims& sizes, Dim low, Dim high, DType dtype) {
  auto number = [&](Dim dim) { return to.NumberOf(Scalar(dim), DType::kFloat64); };
  const Tensor below = IntegersBelow(to, sizes, number(to.Minus(high, low)));
  return to.CastTo(to.AsConstant(low) == 0 ? below : to.Add(below, number(low)), dtype);
}

Tensor Rand(Lowering& to, Dims size, std::optional<DType> dtype, Unused, Unused, Unused) {
  return RandomUniform(to, size, dtype.value_or(to.default_dtype()));
}
Tensor RandWithGenerator(Lowering& to, Dims size, Unused, std::optional<DType> dtype, Unused, Unused, Unused) {
  return RandomUniform(to, size, dtype.value_or(to.default_dtype()));
}
Tensor RandLike(Lowering& to, Tensor self, std::optional<DType> dtype, Unused, Unused, Unused, Unused) {
  return RandomUniform(to, self.sizes(), dtype.value_or(self.dtype()));
}
Tensor Randn(Lowering& to, Dims size, std::optional<DType> dtype, Unused, Unused, Unused) {
  return RandomNormal(to, size, dtype.value_or(to.default_dtype()));
}
Tensor RandnWithGenerator(Lowering& to, Dims size, Unused, std::optional<DType> dtype, Unused, Unused, Unused) {
  return RandomNormal(to, size, dtype.value_or(to.default_dtype()));
}
Tensor RandnLike(Lowering& to, Tensor self, std::optional<DType> dtype, Unused, Unused, Unused, Unused) {
  return RandomNormal(to, self.sizes(), dtype.value_or(self.dtype()));
}

Tensor RandintLow(Lowering& to, Dim low, Dim high, Dims size, std::optional<DType> dtype, Unused, Unused, Unused) {
  return Integers(to, size, low, high, dtype.value_or(DType::kInt64));
}
Tensor Randint(Lowering& to, Dim high, Dims size, std::optional<DType> dtype, Unused, Unused, Unused) {
  return Integers(to, size, to.Of(0), high, dtype.value_or(DType::kInt64));
}
Tensor RandintLikeLow(Lowering& to, Tensor self, Dim low, Dim high, std::optional<DType> dtype, Unused, Unused, Unused,
                      Unused) {
  return Integers(to, self.sizes(), low, high, dtype.value_or(self.dtype()));
}
Tensor RandintLike(Lowering& to, Tensor self, Dim high, std::optional<DType> dtype, Unused, Unused, Unused, Unused) {
  return Integers(to, self.sizes(), to.Of(0), high, dtype.value_or(self.dtype()));
}

// The order of random keys.
Tensor Randperm(Lowering& to, Dim n, std::optional<DType> dtype, Unused, Unused, Unused) {
  const Tensor keys = RandomUniform(to, {n}, DType::kFloat32);
  return to.CastTo(to.TopK(keys, to.Number1(n))[1], dtype.value_or(DType::kInt64));
}

// --- filled in place, which functionalisation made a result ---------------------------

Tensor Uniform(Lowering& to, Tensor self, Scalar from, Scalar end, Unused) {
  const Tensor width = to.Sub(to.NumberOf(end, DType::kFloat32), to.NumberOf(from, DType::kFloat32));
  return OfParts(to, self.sizes(), self.dtype(), [&](const Dims& all, DType part) {
    return to.CastTo(Shifted(to, to.Mul(RandomUniform(to, all, DType::kFloat32), width), 1, from), part);
  });
}

// PyTorch adds the mean to both parts.
Tensor NormalOf(Lowering& to, const Dims& sizes, DType dtype, Scalar mean, Scalar std) {
  return OfParts(to, sizes, dtype, [&](const Dims& all, DType part) {
    return to.CastTo(Shifted(to, to.Scale(RandomNormal(to, all, DType::kFloat32), PartDeviation(dtype, 1)), std, mean), part);
  });
}
Tensor Normal(Lowering& to, Tensor self, Scalar mean, Scalar std, Unused) {
  return NormalOf(to, self.sizes(), self.dtype(), mean, std);
}

// -log(1 - u) / lambda: 1 - u is never 0.
Tensor Exponential(Lowering& to, Tensor self, Scalar lambd, Unused) {
  const Tensor u = RandomUniform(to, self.sizes(), DType::kFloat32);
  const Tensor log = to.Log(to.Sub(to.NumberOf(1.0, u.dtype()), u));
  return to.CastTo(to.Neg(to.Div(log, to.NumberOf(lambd, u.dtype()))), self.dtype());
}

Tensor Cauchy(Lowering& to, Tensor self, Scalar median, Scalar sigma, Unused) {
  const Tensor u = RandomUniform(to, self.sizes(), DType::kFloat32);
  const Tensor angle = Shifted(to, u, M_PI, -M_PI / 2);
  return to.CastTo(Shifted(to, to.Tan(angle), sigma, median), self.dtype());
}

Tensor LogNormal(Lowering& to, Tensor self, Scalar mean, Scalar std, Unused) {
  return to.CastTo(to.Exp(Shifted(to, RandomNormal(to, self.sizes(), DType::kFloat32), std, mean)), self.dtype());
}

Tensor Geometric(Lowering& to, Tensor self, double p, Unused) {
  const Tensor u = RandomUniform(to, self.sizes(), DType::kFloat32);
  const Tensor log = to.Log(to.Sub(to.NumberOf(1.0, u.dtype()), u));
  const Tensor trials = to.Ceil(to.Mul(log, to.NumberOf(1 / std::log1p(-p), u.dtype())));
  return to.CastTo(to.Max({trials, to.NumberOf(1.0, u.dtype())}), self.dtype());
}

// One more than the largest integer that random_ draws by default: all that an integer type has, and those of a float
// type below which it holds each.
double EndOfIntegers(DType dtype) {
  switch (dtype) {
    case DType::kBool: return 2;
    case DType::kFloat16: return std::ldexp(1.0, 11) + 1;
    case DType::kBfloat16: return std::ldexp(1.0, 8) + 1;
    case DType::kFloat32: return std::ldexp(1.0, 24) + 1;
    case DType::kFloat64: return std::ldexp(1.0, 53);
    default: return std::ldexp(1.0, static_cast<int>(ByteSize(dtype)) * 8 - (IsSigned(dtype) ? 1 : 0));
  }
}

Tensor RandomFrom(Lowering& to, Tensor self, int64_t from, std::optional<int64_t> end, Unused) {
  const double count = (end ? static_cast<double>(*end) : EndOfIntegers(self.dtype())) - static_cast<double>(from);
  const Tensor below = IntegersBelow(to, self.sizes(), to.NumberOf(count, DType::kFloat64));
  return to.CastTo(Shifted(to, below, 1, static_cast<double>(from)), self.dtype());
}
Tensor RandomTo(Lowering& to, Tensor self, int64_t end, Unused) { return RandomFrom(to, self, 0, end, {}); }
Tensor Random(Lowering& to, Tensor self, Unused) { return RandomFrom(to, self, 0, std::nullopt, {}); }

// --- of given distributions ------------------------------------------------------------

// The result has the mean's dtype, whatever that of the deviation is.
Tensor NormalOfTensors(Lowering& to, Tensor mean, Tensor std, Unused) {
  const Tensor spread = to.CastTo(std, mean.dtype());
  return to.Add(mean, to.Mul(spread, RandomNormal(to, to.Add(mean, spread).sizes(), mean.dtype())));
}
Tensor NormalOfMean(Lowering& to, Tensor mean, Scalar std, Unused) {
  return to.Add(mean, Shifted(to, RandomNormal(to, mean.sizes(), mean.dtype()), std, 0));
}
Tensor NormalOfStd(Lowering& to, Scalar mean, Tensor std, Unused) {
  return Shifted(to, to.Mul(std, RandomNormal(to, std.sizes(), std.dtype())), 1, mean);
}
Tensor NormalOfNumbers(Lowering& to, Scalar mean, Scalar std, Dims size, Unused, std::optional<DType> dtype, Unused,
                       Unused, Unused) {
  return NormalOf(to, size, dtype.value_or(to.default_dtype()), mean, std);
}

// 1 where a uniform number is below the probability.
Tensor Below(Lowering& to, Tensor probability, const Dims& sizes, DType dtype) {
  const Tensor u = RandomUniform(to, sizes, DType::kFloat32);
  return to.CastTo(to.Less(u, to.CastTo(probability, DType::kFloat32)), dtype);
}

Tensor Bernoulli(Lowering& to, Tensor self, Unused) { return Below(to, self, self.sizes(), self.dtype()); }
Tensor BernoulliP(Lowering& to, Tensor self, Scalar p, Unused) {
  return Below(to, to.NumberOf(p, DType::kFloat32), self.sizes(), self.dtype());
}
Tensor BernoulliTensor(Lowering& to, Tensor self, Tensor p, Unused) { return Below(to, p, self.sizes(), self.dtype()); }

// The largest of log(p) + Gumbel noise: without replacement, the k largest.
Tensor GumbelKeys(Lowering& to, Tensor probabilities, const Dims& sizes) {
  const Tensor u = RandomUniform(to, sizes, DType::kFloat32);
  const Tensor one = to.NumberOf(1.0, DType::kFloat32);
  const Tensor exponential = to.Neg(to.Log(to.Sub(one, u)));
  return to.Div(to.CastTo(probabilities, DType::kFloat32), to.Add(exponential, to.NumberOf(1e-30, DType::kFloat32)));
}

Tensor Multinomial(Lowering& to, Tensor self, Dim num_samples, bool replacement, Unused) {
  if (self.rank() == 0) onnx::ThrowNoAxis(-1, 0);
  if (!replacement || to.AsConstant(num_samples) == 1)
    return to.TopK(GumbelKeys(to, self, self.sizes()), to.Number1(num_samples), {.axis = self.rank() - 1})[1];
  // One draw a sample: an axis for the samples before the categories.
  Dims sizes = self.sizes();
  sizes.insert(sizes.end() - 1, num_samples);
  const Tensor keys = GumbelKeys(to, to.UnsqueezeAt(self, {self.rank() - 1}), sizes);
  return to.ArgMax(keys, {.axis = self.rank(), .keepdims = 0});
}

constexpr OpRow kRows[] = {
    Op<Bernoulli>("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor"),
    Op<BernoulliTensor>("aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor"),
    Op<BernoulliP>("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor"),
    Op<Cauchy>("aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor"),
    Op<Exponential>("aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor"),
    Op<Geometric>("aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor"),
    Op<LogNormal>("aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor"),
    Op<Multinomial>("aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? "
                    "generator=None) -> Tensor"),
    Op<NormalOfStd>("aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor"),
    Op<NormalOfNumbers>(
        "aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? "
        "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    Op<NormalOfMean>("aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor"),
    Op<NormalOfTensors>("aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor"),
    Op<Normal>(
        "aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor"),
    Op<Rand>("aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
             "pin_memory=None) -> Tensor"),
    Op<RandWithGenerator>("aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, "
                          "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    Op<RandLike>("aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
                 "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
    Op<Randint>("aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? "
                "device=None, bool? pin_memory=None) -> Tensor"),
    Op<RandintLow>("aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? "
                   "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    Op<RandintLike>("aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, "
                    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
    Op<RandintLikeLow>(
        "aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
    Op<Randn>("aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
              "pin_memory=None) -> Tensor"),
    Op<RandnWithGenerator>("aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, "
                           "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    Op<RandnLike>("aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
                  "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
    Op<Random>("aten::random(Tensor self, *, Generator? generator=None) -> Tensor"),
    Op<RandomFrom>("aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor"),
    Op<RandomTo>("aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor"),
    Op<Randperm>("aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
                 "pin_memory=None) -> Tensor"),
    Op<Uniform>("aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Random() { return kRows; }

}  // namespace flambeau::lower
