// Tensors of a trace that stand for Python's numbers: torch's tracer makes 0-d tensors of sizes, and torch.onnx of numbers
// among the arguments. PyTorch computes with a number, which promotes less than a 0-d tensor does: a float16 tensor times a
// size stays float16. What Python's functions give of sizes is in a trace a tensor of the default dtype, made of one in float64.
#pragma once

#include <string_view>
#include <unordered_map>

#include "script/value.h"

namespace flambeau::script {

class NumberStandIns {
 public:
  bool Contains(const Val& val) const;
  // Notes that a tensor stands for a number; of another value, nothing.
  void Note(const Val& val) { Note(val, val); }
  // The same, where `whole` is the number in Python's precision.
  void Note(const Val& val, const Val& whole);
  // For such a tensor, one that holds the number in Python's precision; else the value itself.
  Val Whole(const Val& val) const;

  // Whether the operator gives numbers of numbers.
  static bool GivesNumbers(std::string_view kind);
  // Whether it computes with the numbers that come with a tensor as numbers.
  static bool Promotes(std::string_view kind);

 private:
  std::unordered_map<ValueId, Val> whole_;
};

// The second operand, where PyTorch computes with it as with a number when it runs a program that was loaded: it is a constant
// 0-d tensor, and the operator one of these four (torch/csrc/jit, CanonicalizeOps). So a trace has Python's numbers. Else null.
const TensorData* ConstantNumber(const torchscript::Node& node);

}  // namespace flambeau::script
