// Divisors of integers.
#include "lower/op.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/geometry.h"

namespace flambeau::lower {
namespace {

// Euclid's steps until no remainder is left anywhere.
Tensor GreatestDivisor(Lowering& to, Tensor a, Tensor b) {
  const TensorList both = Broadcast(to, {to.Abs(a), to.Abs(b)});
  const Tensor zero = to.ConstantInt(0);
  const Type state = Type::OfTensor(DType::kInt64, both[0].type().sizes);
  auto unfinished = [&](Tensor rest) {
    const Tensor any = to.CastTo(to.Not(to.Equal(rest, zero)), DType::kInt32);
    return to.CastTo(to.ReduceSum(any, {}, {.keepdims = 0}), DType::kBool);
  };
  const Tensor begin = unfinished(both[1]);
  const BlockId body = to.Body([&] {
    to.AddBlockInput(Type::OfTensor(DType::kInt64, {}));
    to.AddBlockInput(Type::OfTensor(DType::kBool, {}));
    const Tensor divisor = to.AddBlockInput(state), rest = to.AddBlockInput(state);
    const Tensor done = to.Equal(rest, zero);
    const Tensor next = to.Where(done, zero, to.Mod(divisor, to.Where(done, to.ConstantInt(1), rest)));
    return std::vector<Tensor>{unfinished(next), to.Where(done, divisor, rest), next};
  });
  onnx::AttributeList attributes;
  attributes.Add("body", body);
  const Tensor operands[] = {{}, begin, both[0], both[1]};
  const std::vector<Type> types(2, state);
  return to.EmitCustom("Loop", operands, attributes, types)[0];
}

Tensor Gcd(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  return to.CastTo(GreatestDivisor(to, to.CastTo(a, DType::kInt64), to.CastTo(b, DType::kInt64)), dtype);
}

Tensor Lcm(Lowering& to, Tensor self, Tensor other) {
  const auto [dtype, a, b] = Promoted(to, self, other);
  const Tensor x = to.CastTo(a, DType::kInt64), y = to.CastTo(b, DType::kInt64);
  const Tensor divisor = GreatestDivisor(to, x, y);
  // Both are 0 where the divisor is.
  const Tensor quotient = to.Div(x, to.Max({divisor, to.ConstantInt(1)}));
  return to.CastTo(to.Abs(to.Mul(quotient, y)), dtype);
}

constexpr OpRow kRows[] = {
    Op<Gcd>("aten::gcd(Tensor self, Tensor other) -> Tensor"),
    Op<Lcm>("aten::lcm(Tensor self, Tensor other) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Integers() { return kRows; }

}  // namespace flambeau::lower
