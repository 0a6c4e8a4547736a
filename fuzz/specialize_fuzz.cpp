// TorchScript programs, specialised: `forward` of the code, for inputs that fit its types.
#include <cstdlib>

#include "ir/verify.h"
#include "reader/torchscript/reader.h"
#include "script/inputs/inputs.h"
#include "script/specialize.h"

namespace flambeau {
namespace {

// What an input is said to be; nullptr: none fits.
const char* Described(torchscript::TypeKind kind) {
  using enum torchscript::TypeKind;
  switch (kind) {
    case kTensor: return "float32[batch,3]";
    case kInt: return "3";
    case kFloat: return "0.5";
    case kBool: return "True";
    default: return nullptr;
  }
}

void Specialized(const std::string& code) {
  Sink sink;
  const auto graph = torchscript::ReadCode(code, "forward", sink);
  if (!graph) return;
  std::vector<std::pair<std::string, std::string>> given;
  for (const torchscript::Value* input : graph->main->inputs) {
    const char* described = input->type ? Described(input->type->kind) : nullptr;
    if (described == nullptr) return;
    given.emplace_back(input->name, described);
  }
  const auto inputs = script::DescribeInputs(*graph, given, sink);
  if (!inputs || !inputs->missing.empty()) return;
  const auto program = script::Specialize(*graph, inputs->inputs, {}, sink);
  if (!program != sink.HasErrors()) std::abort();
  if (program && !VerifyGraph(program->impl().graph, sink)) std::abort();
}

}  // namespace
}  // namespace flambeau

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  flambeau::Specialized(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
