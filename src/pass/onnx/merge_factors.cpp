#include <algorithm>

#include "pass/onnx/rules.h"
#include "support/numeric.h"

namespace flambeau {
namespace {

// A tensor of floats times a constant number, or by it.
struct Scaled {
  ValueId tensor, number;
  bool divides;
};

std::optional<Scaled> ScaledOf(const Editor& to, ValueId value) {
  const NodeId product = to.Producer(value, "Mul"), quotient = to.Producer(value, "Div");
  if (!product && !quotient) return std::nullopt;
  const NodeId node = product ? product : quotient;
  for (uint32_t i = quotient ? 1 : 0; i < 2; ++i) {
    const ValueId number = to.Operand(node, i), tensor = to.Operand(node, 1 - i);
    if (to.KnownNumber(number) && IsFloating(to.type(tensor).dtype) && to.SameType(tensor, value))
      return Scaled{tensor, number, static_cast<bool>(quotient)};
  }
  return std::nullopt;
}

// What a value is a transpose of, by which Transposes.
struct Untransposed {
  ValueId tensor;
  std::vector<NodeId> by;
  bool shared = false;  // a value on the way has other uses
};

Untransposed UntransposedOf(const Editor& to, ValueId value) {
  Untransposed of{.tensor = value};
  while (true) {
    of.shared |= !to.HasOneUse(of.tensor);
    const NodeId transpose = to.Producer(of.tensor, "Transpose");
    if (!transpose) return of;
    of.by.push_back(transpose);
    of.tensor = to.Operand(transpose, 0);
  }
}

// The factors of a tensor, the last first, down to what has none, and the Transposes between them.
struct Chain {
  std::vector<Scaled> factors;
  std::vector<NodeId> transposes;
  bool shared = false;  // a value within has other uses
};

Chain ChainOf(const Editor& to, ValueId value) {
  Chain chain;
  for (auto scaled = ScaledOf(to, value); scaled;) {
    chain.factors.push_back(*scaled);
    const Untransposed inner = UntransposedOf(to, scaled->tensor);
    scaled = ScaledOf(to, inner.tensor);
    if (!scaled) break;
    chain.shared |= inner.shared;
    chain.transposes.insert(chain.transposes.end(), inner.by.begin(), inner.by.end());
  }
  return chain;
}

ValueId TransposedBy(Editor& to, NodeId position, ValueId value, std::span<const NodeId> by) {
  for (auto transpose = by.rbegin(); transpose != by.rend(); ++transpose) {
    onnx::AttributeList attributes;
    attributes.Add("perm", PermutationOf(to, *transpose));
    value = to.Insert(position, "Transpose", {value}, attributes);
  }
  return value;
}

// All factors as one, or as one divisor if all of them divide; known now, so that what is scaled by it is scaled by a constant.
struct Merged {
  double number = 1;
  bool divides;
};

Merged MergedOf(const Editor& to, const Chain& chain) {
  Merged merged{.divides = std::ranges::all_of(chain.factors, &Scaled::divides)};
  for (const Scaled& factor : chain.factors)
    merged.number = factor.divides && !merged.divides ? merged.number / *to.KnownNumber(factor.number) : merged.number * *to.KnownNumber(factor.number);
  return merged;
}

ValueId NumberOf(Editor& to, double number, DType dtype) {
  std::vector<std::byte> bytes(static_cast<size_t>(ByteSize(dtype)));
  StoreDouble(dtype, number, bytes.data());
  return to.AddConstant({.source = MakeBufferSource(std::move(bytes)), .dtype = dtype, .sizes = {}});
}

// (x · a) · b in front of a product is x · (a · b) where x · a has other uses, transposed on the way or not.
// onnxruntime moves transposes aside and such factors into the product all the same, and 1.31 loses the node between
// them where it is used elsewhere: x · a, of which attention to itself takes queries, keys and values. All factors
// become one, so that what is between them gets no further use.
bool MergeFactors(Editor& to, NodeId node) {
  for (uint32_t i = 0; i < 2; ++i) {
    const ValueId scaled = UntransposedOf(to, to.Operand(node, i)).tensor;
    const Chain chain = ChainOf(to, scaled);
    if (chain.factors.size() < 2 || !chain.shared) continue;
    const NodeId position = to.graph()[scaled].node;
    const Merged merged = MergedOf(to, chain);
    const ValueId tensor = TransposedBy(to, position, chain.factors.back().tensor, chain.transposes);
    return to.Replace(scaled, to.Insert(position, merged.divides ? "Div" : "Mul", {tensor, NumberOf(to, merged.number, to.type(scaled).dtype)}));
  }
  return false;
}

constexpr RewriteRow kRules[] = {{"MatMul", &MergeFactors}};

}  // namespace

RewriteTable FactorRules() { return kRules; }

}  // namespace flambeau
