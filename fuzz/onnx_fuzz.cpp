// ONNX models read back: what is read is a graph.
#include <cstdlib>
#include <memory>
#include <string>

#include "ir/print.h"
#include "ir/verify.h"
#include "onnx/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace flambeau;
  const auto owner = std::make_shared<const std::string>(reinterpret_cast<const char*>(bytes), size);
  Context context;
  Sink sink;
  const auto model = onnx::ReadModel(*owner, owner, "/nowhere", &context, sink);
  if (!model != sink.HasErrors()) std::abort();
  if (!model) return 0;
  if (!VerifyGraph(model->graph, sink)) std::abort();
  (void)PrintGraph(model->graph);
  return 0;
}
