// JSON: parsing, and a walk over all values with the accessors of each kind.
#include <cstdlib>
#include <vector>

#include "container/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flambeau;
  Sink sink;
  const auto document =
      JsonDocument::Parse(std::string(reinterpret_cast<const char*>(data), size), {.entry = "fuzz.json"}, sink);
  if (!document != sink.HasErrors()) std::abort();
  if (!document) return 0;
  std::vector<JsonValue> open = {document->root()};
  size_t seen = 0;
  while (!open.empty()) {
    const JsonValue value = open.back();
    open.pop_back();
    uint32_t children = 0;
    for (const JsonValue element : value.elements()) {
      open.push_back(element);
      ++children;
    }
    for (const auto& [key, member] : value.members()) {
      open.push_back(member);
      ++children;
    }
    if (children != value.size()) std::abort();
    (void)value.AsDouble();
    // Pointers and errors walk from the root; a few are enough.
    if (++seen > 100) continue;
    const JsonReader reader(value, sink);
    if (!reader.Int("name") && !sink.HasErrors()) std::abort();
  }
  return 0;
}
