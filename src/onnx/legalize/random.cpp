// What is drawn at random.
#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

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

// Training came with 12.
Results DropoutByMask(Builder& to, const Request& request) {
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
  const Tensor p = to.CastTo(request.operands[0], DType::kFloat32);
  return {{to.CastTo(to.Less(UniformLike(to, request), p), request.types[0].dtype)}};
}

constexpr LegalizeRule kRules[] = {
    {"Bernoulli", 15, &BernoulliByUniform},
    {"Dropout", 12, &DropoutByMask},
};

}  // namespace

std::span<const LegalizeRule> RandomForms() { return kRules; }

}  // namespace flambeau::onnx
