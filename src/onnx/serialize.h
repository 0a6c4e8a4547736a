// A ModelData as the bytes of a ModelProto, in two passes: one measures, one
// streams. Where the weights go is decided before (placement.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diag/sink.h"
#include "onnx/byte_sink.h"
#include "onnx/model.h"
#include "onnx/placement.h"

namespace flambeau::onnx {

// No protobuf message may be longer.
inline constexpr uint64_t kMessageLimit = INT32_MAX;
// Above it onnx.checker refuses a model that is given as bytes.
inline constexpr uint64_t kComfortableSize = 2'000'000'000;
// Readers give up on messages that are nested more than 100 deep; a graph in a
// graph takes three levels.
inline constexpr int kMaxGraphDepth = 30;

// Whether the graph can be written at all: attributes of ONNX's kinds, dtypes
// that ONNX has, no nesting beyond kMaxGraphDepth. What follows relies on it.
Status CheckWritable(const Graph& graph, Sink& sink);

class Serializer {
 public:
  // Both must outlive it. `inner_metadata` false leaves out the metadata of
  // nodes and values.
  Serializer(const ModelData& model, const Layout& layout, bool inner_metadata);

  // Of the whole message.
  uint64_t size() const { return size_; }
  // Writes the message; only while it is within kMessageLimit. Look at the
  // sink for failures.
  void Write(ByteSink& sink) const;

 private:
  const ModelData& model_;
  const Layout& layout_;
  bool inner_metadata_;
  uint64_t size_ = 0;
  std::vector<uint32_t> lengths_;
};

// The whole model as bytes. With `weights` false, tensors of 64 KB and more
// have no bytes.
Result<std::string> SerializeModel(const ModelData& model, bool weights, Sink& sink);

}  // namespace flambeau::onnx
