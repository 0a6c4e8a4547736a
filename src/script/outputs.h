// The outputs of a program, in PyTorch's order: what it returns, and what it leaves in the attributes of its modules.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aten/program.h"
#include "diag/sink.h"
#include "script/evaluator.h"

namespace flambeau::script {

class Outputs {
 public:
  Outputs(Evaluator& evaluator, Program::Impl& program) : evaluator_(evaluator), program_(program) {}

  // The tensors and numbers of a result: None is none.
  Status Add(const Val& value, std::string_view name);
  // "output", "output_1" and so on.
  void NameTheNameless();
  // What the program leaves in the attributes of its modules.
  Status AddAttributes(const torchscript::Graph& graph, Sink& sink);

  const std::vector<ValueId>& values() const { return values_; }

 private:
  // Of a number or list that an object had; a flag is mostly one that a warning has been given.
  bool IsChanged(const Val& value, const torchscript::Constant& before) const;
  Failure Lost();
  Status AddBounded(const Val& value, std::string_view name);
  // Of run-time length: ONNX's sequences do not nest.
  Status AddRows(const Cell& list, std::string_view name);
  Status AddColumns(const Cell& list, std::string_view name);
  Status AddFields(const Cell& list, std::string_view name);
  Status AddSequence(const Cell& list, std::string_view name);
  // What is in dicts is called after its keys: `boxes`, `losses.boxes`.
  Status AddDict(const Cell& cell);
  // Each tensor of it is an output that is None where the whole is.
  Status AddOptional(const OptionalVal& optional, std::string_view name);
  Status AddLeaf(ValueId value, std::string_view name);

  Evaluator& evaluator_;
  Program::Impl& program_;
  std::vector<ValueId> values_;
  std::string keys_;            // of the dicts around what is being added
  std::optional<Val> present_;  // whether what is being added is not None
};

}  // namespace flambeau::script
