// Inputs of which a model computes nothing, but which torch's exporter of TorchScript keeps, and so its users count on.
// Of a tensor with a dynamic size it reads all sizes when the model runs, those that are numbers here, too; and what
// is copied to a tensor it puts into that, all of it or not. From the first opset on that has optional values it asks
// of an optional input when the model runs whether it is None, and keeps both paths.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "aten/program.h"
#include "reader/torchscript/graph.h"
#include "script/value.h"

namespace flambeau::script {

class Evaluator;

// What a walk meets that such an exporter would read.
class KeptInputs {
 public:
  // Both must outlive this.
  KeptInputs(const torchscript::Graph& source, Evaluator& evaluator) : source_(source), evaluator_(evaluator) {}

  // The node, one of the source or of a library, reads a size of the tensor; or copies something to it.
  void NoteSizeRead(const torchscript::Node& node, TensorVal tensor);
  void NoteWritten(TensorVal tensor);
  // Reads what only decides sizes, as torch's exporter has it.
  void NoteRead(const Val& val);
  // The node asks whether the value is None; `branch` is walked on this path alone.
  void NoteAsked(const torchscript::Node& node, const Val& val);
  void NoteLeftPath(const torchscript::Node& branch, const torchscript::Block& taken);
  // Says in the finished program which inputs were noted.
  void Mark(Program::Impl& program) const;

 private:
  using Values = std::unordered_set<const torchscript::Value*>;
  bool IsLive(const torchscript::Value* value);
  bool IsUndecided(const torchscript::Value* value);

  const torchscript::Graph& source_;
  Evaluator& evaluator_;
  std::optional<Values> live_, undecided_;
  std::vector<ValueId> read_;
};

}  // namespace flambeau::script
