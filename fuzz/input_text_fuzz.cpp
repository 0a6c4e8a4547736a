// The words that describe an input of a TorchScript program.
#include <cstdlib>
#include <vector>

#include "script/inputs/input_text.h"
#include "support/dtype.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace flambeau;
  const auto input = script::ParseInput({reinterpret_cast<const char*>(bytes), size});
  if (!input) return 0;
  std::vector<const ScriptInput*> open = {&*input};
  while (!open.empty()) {
    const ScriptInput& next = *open.back();
    open.pop_back();
    if (next.kind == ScriptInput::Kind::kDict && next.keys.size() != next.elements.size()) std::abort();
    if (next.kind == ScriptInput::Kind::kTensor && !DTypeFromTorchCode(next.dtype)) std::abort();
    for (const ScriptInput& element : next.elements) open.push_back(&element);
  }
  return 0;
}
