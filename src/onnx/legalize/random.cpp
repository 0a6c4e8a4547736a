// What is drawn at random.
#include <cmath>
#include <numbers>

#include "onnx/legalize/rule.h"
#include "onnx/runtime_kernels.h"

namespace flambeau::onnx {
namespace {

// --- where onnxruntime has no generator ----------------------------------------------
// From opset 22 on it has one operator that draws: Dropout.

bool LacksGenerators(const Builder& to) { return to.widens_for_runtime() && !RuntimeKernels("RandomUniformLike", to.opset()).any(); }

// Two integers of 31 bits, [2]: flags that Dropout keeps as often as not. It seeds a generator anew whenever it runs, by
// one number after the other, of which the first flags hardly ever differ, and the others by a pattern: it is no more than
// a key.
Tensor DrawnKeys(Builder& to, const Request& request) {
  constexpr int64_t kBits = 31;
  Ints powers;
  for (int64_t i = 0; i < kBits; ++i) powers.push_back(int64_t{1} << i);
  DropoutAttributes attributes;
  if (Find(request.attributes, "seed") != nullptr) attributes.seed = std::llround(request.Float("seed", 0));
  const Tensor ones = to.Expand(to.ConstantOf(1.0, DType::kFloat32), to.ConstantInts({2, kBits}));
  const Tensor kept = to.Dropout(ones, to.ConstantOf(0.5, DType::kFloat32), to.ConstantOf(true, DType::kBool), attributes, 2)[1];
  return to.ReduceSum(to.Where(kept, to.ConstantInts(powers), to.ConstantInt(0)), to.ConstantInts({1}), {.keepdims = 0});
}

// Numbers in [0, 1), float32, of as many bits as it holds exactly: each place's number is hashed with a key. The hash is of
// 32 bits, in int64, which no product of its leaves.
Tensor UniformByHash(Builder& to, const Request& request, const Tensor& shape) {
  const Tensor keys = DrawnKeys(to, request);
  auto key = [&](int64_t i) { return to.Gather(keys, to.ConstantInt(i), {.axis = 0}); };
  auto number = [&](int64_t value) { return to.ConstantInt(value); };
  auto folded = [&](const Tensor& x, int bits) { return to.BitwiseXor(x, to.Div(x, number(int64_t{1} << bits))); };
  auto low = [&](const Tensor& x) { return to.BitwiseAnd(x, number((int64_t{1} << 32) - 1)); };
  const Tensor count = to.ReduceProd(shape, {}, {.keepdims = 0});
  Tensor x = to.BitwiseXor(to.Range(number(0), count, number(1)), key(0));
  x = low(to.Add(to.Mul(folded(x, 16), number(0x21F0AAAD)), key(1)));
  x = low(to.Mul(folded(x, 15), number(0x735A2D97)));
  const Tensor upper = to.CastTo(to.Div(folded(x, 15), number(1 << 8)), DType::kFloat32);
  return to.Reshape(to.Mul(upper, to.ConstantOf(std::ldexp(1.0, -24), DType::kFloat32)), shape, {.allowzero = 1});
}

Tensor ShapeAsked(Builder& to, const Request& request) {
  return request.operand(0) ? to.Shape(request.operands[0]) : to.ConstantInts(request.IntList("shape"));
}

Results As(Builder& to, const Request& request, const Tensor& drawn) {
  return {{to.Refined(to.CastTo(drawn, request.types[0].dtype), request.types[0])}};
}

Tensor ScaledBy(Builder& to, const Tensor& x, double scale, double offset) {
  return to.Add(to.Mul(x, to.ConstantOf(scale, DType::kFloat32)), to.ConstantOf(offset, DType::kFloat32));
}

Results UniformDrawn(Builder& to, const Request& request) {
  if (!LacksGenerators(to)) return std::nullopt;
  const double low = request.Float("low", 0);
  return As(to, request, ScaledBy(to, UniformByHash(to, request, ShapeAsked(to, request)), request.Float("high", 1) - low, low));
}

// Box and Muller's: the logarithm is of (0, 1].
Results NormalDrawn(Builder& to, const Request& request) {
  if (!LacksGenerators(to)) return std::nullopt;
  const Tensor both = UniformByHash(to, request, to.Concat({to.ConstantInts({2}), ShapeAsked(to, request)}, {.axis = 0}));
  auto one = [&](int64_t i) { return to.Gather(both, to.ConstantInt(i), {.axis = 0}); };
  const Tensor radius = to.Sqrt(ScaledBy(to, to.Log(ScaledBy(to, one(0), -1, 1)), -2, 0));
  const Tensor angle = ScaledBy(to, one(1), 2 * std::numbers::pi, 0);
  return As(to, request, ScaledBy(to, to.Mul(radius, to.Cos(angle)), request.Float("scale", 1), request.Float("mean", 0)));
}

// --- what older opsets lack --------------------------------------------------------------

AttributeList SeedOf(const Request& request) {
  AttributeList attributes;
  if (const Attribute* seed = Find(request.attributes, "seed")) {
    const auto* number = std::get_if<int64_t>(seed);
    attributes.Add("seed", number != nullptr ? static_cast<double>(*number) : std::get<double>(*seed));
  }
  attributes.Add("dtype", static_cast<int64_t>(Info(DType::kFloat32).onnx_code));
  return attributes;
}

Tensor UniformLike(Builder& to, const Request& request) {
  return to.Emit("RandomUniformLike", request.operands.first(1), SeedOf(request), 1).front();
}

// onnxruntime 1.31 removes a Dropout that trains, from opset 22 on any, before only one between two nodes, unless its mask is used too.
Results DropoutThatStays(Builder& to, const Request& request) {
  const auto training = request.operand(2) ? KnownInts(to, request.operand(2)) : Ints{0};
  if (!to.widens_for_runtime() || (training && training->front() == 0)) return std::nullopt;
  Results both = EmitAsIs(to, "Dropout", request.operands, request.attributes, 2);
  both->front() = to.Where(both->back(), both->front(), to.ConstantOf(0.0, request.operands[0].dtype()));
  both->resize(request.results);
  return both;
}

// Training came with 12.
Results DropoutByMask(Builder& to, const Request& request) {
  if (to.opset() >= 12) return DropoutThatStays(to, request);
  const Tensor x = request.operands[0];
  const auto training = request.operand(2) ? KnownInts(to, request.operand(2)) : Ints{0};
  if (!training) return Refuse(to, request, "does not train");
  if (training->front() == 0) {
    if (request.results > 1) return Refuse(to, request, "gives no mask");
    return {{to.Identity(x)}};
  }
  const Tensor ratio = request.operand(1) ? to.CastTo(request.operand(1), DType::kFloat32) : to.ConstantOf(0.5, DType::kFloat32);
  const Tensor one = to.ConstantOf(1.0, DType::kFloat32);
  const Tensor mask = to.Not(to.Less(UniformLike(to, request), ratio));
  const Tensor factor = to.Div(to.CastTo(mask, DType::kFloat32), to.Sub(one, ratio));
  std::vector<Tensor> results = {to.Mul(x, to.CastTo(factor, x.dtype()))};
  if (request.results > 1) results.push_back(mask);
  return results;
}

Results BernoulliByUniform(Builder& to, const Request& request) {
  if (to.opset() >= 15 && !LacksGenerators(to)) return std::nullopt;
  const Tensor p = to.CastTo(request.operands[0], DType::kFloat32);
  return {{to.CastTo(to.Less(UniformLike(to, request), p), request.types[0].dtype)}};
}

constexpr LegalizeRule kRules[] = {
    {"Bernoulli", kNever, &BernoulliByUniform},
    {"Dropout", kNever, &DropoutByMask},
    {"RandomNormal", kNever, &NormalDrawn},
    {"RandomNormalLike", kNever, &NormalDrawn},
    {"RandomUniform", kNever, &UniformDrawn},
    {"RandomUniformLike", kNever, &UniformDrawn},
};

}  // namespace

std::span<const LegalizeRule> RandomForms() { return kRules; }

}  // namespace flambeau::onnx
