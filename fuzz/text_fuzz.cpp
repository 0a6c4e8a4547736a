// The textual form of graphs: what parses prints, and its text is a fixed point.
#include <cstdlib>
#include <iostream>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace flambeau;
  Context context;
  Sink sink;
  const auto graph = ParseGraph({reinterpret_cast<const char*>(bytes), size}, context, sink);
  if (!graph) {
    if (!sink.HasErrors()) std::abort();  // a failure is always reported
    return 0;
  }
  (void)VerifyGraph(*graph, sink);
  const std::string text = PrintGraph(*graph);
  Context other;
  const auto again = ParseGraph(text, other, sink);
  const std::string repeated = again ? PrintGraph(*again) : "(does not parse)";
  if (repeated != text) {
    std::cerr << text << "---\n" << repeated << '\n';
    std::abort();
  }
  return 0;
}
