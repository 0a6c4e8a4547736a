// TorchScript code: parsing, and the graphs of all functions called `f` and `A.f`.
#include <cstdlib>

#include "reader/torchscript/reader.h"
#include "reader/torchscript/syntax.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flambeau;
  const std::string code(reinterpret_cast<const char*>(data), size);
  Sink sink;
  const auto syntax =
      torchscript::Parse(std::make_shared<torchscript::SourceFile>(torchscript::SourceFile{"fuzz.py", code, {.entry = "fuzz.py"}}), sink);
  if (!syntax != sink.HasErrors()) std::abort();
  if (!syntax) return 0;
  (void)torchscript::ToText(**syntax);
  for (const char* function : {"f", "A.f"}) {
    Sink emitted;
    const auto graph = torchscript::ReadCode(code, function, emitted);
    if (!graph != emitted.HasErrors()) std::abort();
    if (graph) (void)torchscript::Print(*graph);
  }
  return 0;
}
