// Which initializer's bytes go where: into the model, into the data file beside
// it, or nowhere, because the model points at an archive that has them.
#pragma once

#include <string>
#include <vector>

#include "onnx/model.h"

namespace flambeau::onnx {

// Smaller tensors are inside the model: where weights are left out, or stay in an archive, …
inline constexpr uint64_t kLeastOmittedBytes = 64 << 10;
// … and where they go into a data file (the bound of onnx_ir, so of torch.onnx).
inline constexpr uint64_t kLeastExternalBytes = 256;
// Tensors of a data file begin at multiples of it, so that they can be mapped; smaller ones lie closer.
inline constexpr uint64_t kDataAlignment = 4096, kSmallDataAlignment = 64;
constexpr uint64_t DataAlignment(uint64_t bytes) { return bytes < kDataAlignment ? kSmallDataAlignment : kDataAlignment; }

struct Placement {
  enum class Where : uint8_t { kInline, kExternal, kOmitted };
  Where where = Where::kInline;
  uint32_t location = 0;  // kExternal: index in Layout::locations
  uint64_t offset = 0, length = 0;
};

struct Layout {
  std::vector<ValueId> initializers;
  std::vector<Placement> placements;   // one an initializer
  std::vector<std::string> locations;  // relative to the model's folder
  // What the data file holds: indexes of initializers, by offset. Initializers
  // with the same bytes share one place.
  std::vector<uint32_t> stored;
  uint64_t stored_bytes = 0;  // payload of the data file
  uint64_t inline_bytes = 0;  // payload inside the model

  bool has_data_file() const { return !stored.empty(); }
};

Layout LayOutInline(const Graph& graph);
// As LayOutInline, but large tensors have no bytes at all.
Layout LayOutWithoutWeights(const Graph& graph);
// Large tensors in the data file `data_name`.
Layout LayOutExternal(const Graph& graph, const std::string& data_name);
// Large tensors that lie unchanged in a file stay there; `relative` gives a
// file's path from the model's folder. The others are in `data_name`.
Layout LayOutByReference(const Graph& graph, const std::string& data_name,
                         const std::function<std::string(const File&)>& relative);

}  // namespace flambeau::onnx
