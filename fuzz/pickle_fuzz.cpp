// The pickle machine, and the text of what it made.
#include <cstdlib>

#include "container/pickle.h"
#include "container/quote.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flambeau;
  Sink sink;
  const auto pickle =
      Pickle::Parse(std::string_view(reinterpret_cast<const char*>(data), size), {.entry = "data.pkl"}, sink);
  if (!pickle != sink.HasErrors()) std::abort();
  if (!pickle) return 0;
  const std::string text = pickle->root().ToText();
  // Linear: every opcode adds one value, which is printed at most once in full.
  if (text.size() > 600 * (size + 1) || !IsUtf8(text)) std::abort();
  return 0;
}
