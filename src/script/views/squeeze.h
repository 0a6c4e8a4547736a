// A squeeze of dimensions of which some have a size that is known at run time only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "script/evaluator.h"

namespace flambeau::script {

class Evaluator::Squeeze {
 public:
  static bool Is(const Node& node);
  // All must outlive this; the arguments are the node's inputs.
  Squeeze(Evaluator& evaluator, const Node& node, std::span<const Val> arguments);

  // An If for each axis of which it is decided when the model runs whether it goes; nullptr where there is none.
  Result<const Node*> Part();
  // The result; nullopt where all that is to be decided is known.
  Result<std::optional<Vals>> AtRunTime();

 private:
  static bool IsInPlace(const Node& node);
  std::vector<int64_t> AxesThatMayGo();
  Result<const Node*> Branch(std::span<const int64_t> axes);
  Result<Val> WithoutKnownOnes(std::span<const int64_t> open, Vals& left);
  Result<Val> TheOnly(const Val& tensor, int64_t axis);
  Expr SizeOf(int64_t axis) const { return sizes_[static_cast<size_t>(axis)]; }
  bool IsConstant(Expr size) const { return exprs().AsConstant(size).has_value(); }
  bool WasOne(Expr size) const;
  bool IsOneAtMost(Expr size) const;
  bool MayBeOneOrMore(Expr size) const;  // so that it is to be decided whether the axis goes
  void WarnOfGuess(int64_t axis) const;
  const ExprPool& exprs() const { return evaluator_.program_.context->exprs(); }

  Evaluator& evaluator_;
  const Node& node_;
  std::span<const Val> arguments_;
  bool in_place_;        // the tensor itself loses the dimensions
  bool ranked_ = false;  // it is of a tensor of known rank
  std::vector<Expr> sizes_;
  std::optional<std::vector<int64_t>> axes_;  // that it looks at, in order, none of them twice, if they are known
};

}  // namespace flambeau::script
