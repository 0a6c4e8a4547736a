// Generators of random numbers. A runtime has its own: of PyTorch's it matters only that they are there.
#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// An object without attributes: what draws from it does not ask for it, but the program may ask whether it is None.
Result<Vals> Make(Evaluator& evaluator, const Node&, Arguments) {
  return Vals{ObjectVal{evaluator.heap().Add({.class_name = std::string(kGeneratorClass)})}};
}

// torch.manual_seed(3), generator.manual_seed(3), which gives the generator back.
Result<Vals> Seed(Evaluator& evaluator, const Node& node, Arguments arguments) {
  evaluator.sink().Warning(DiagnosticKind::kUnsupportedForm, "seeds random numbers: those that the ONNX model draws are others");
  return node.outputs.empty() ? Vals{} : Vals{arguments[0]};
}

constexpr BuiltinRow kRows[] = {
    {"aten::Generator", &Make},
    {"aten::manual_seed", &Seed},
};

}  // namespace

std::span<const BuiltinRow> GeneratorBuiltins() { return kRows; }

}  // namespace flambeau::script
