#include "onnx/placement.h"

#include <unordered_map>

namespace flambeau::onnx {
namespace {

bool IsLarge(const TensorData& data, uint64_t least) { return data.dtype != DType::kString && data.byte_size() >= least; }

// Equal for tensors of the same bytes; SameBytes has the last word.
size_t HashOfPlace(const TensorData& data) {
  size_t base = reinterpret_cast<size_t>(data.source.get());
  if (const auto range = data.source->InFile()) {
    base = reinterpret_cast<size_t>(range->file.get()) + range->offset;
  } else if (const auto memory = data.source->InMemory()) {
    base = reinterpret_cast<size_t>(memory->data());
  }
  return (base + data.offset) * 0x9E3779B97F4A7C15 ^ data.byte_size();
}

// Places large tensors one behind the other, equal ones once.
class DataFile {
 public:
  DataFile(const Graph& graph, Layout* layout, uint32_t location)
      : graph_(graph), layout_(*layout), location_(location) {}

  void Add(uint32_t initializer) {
    const TensorData& data = Data(initializer);
    const auto [first, last] = by_place_.equal_range(HashOfPlace(data));
    for (auto it = first; it != last; ++it) {
      if (!data.SameBytes(Data(it->second))) continue;
      layout_.placements[initializer] = layout_.placements[it->second];
      return;
    }
    by_place_.emplace(HashOfPlace(data), initializer);
    const uint64_t alignment = DataAlignment(data.byte_size());
    const uint64_t offset = (end_ + alignment - 1) / alignment * alignment;
    layout_.placements[initializer] = {Placement::Where::kExternal, location_, offset, data.byte_size()};
    layout_.stored.push_back(initializer);
    layout_.stored_bytes += data.byte_size();
    end_ = offset + data.byte_size();
  }

 private:
  const TensorData& Data(uint32_t initializer) const {
    return graph_.context()[graph_[layout_.initializers[initializer]].data];
  }

  const Graph& graph_;
  Layout& layout_;
  uint32_t location_;
  uint64_t end_ = 0;
  std::unordered_multimap<size_t, uint32_t> by_place_;
};

// A layout of which `place(index, data)` decides where each tensor of `least` bytes or more goes.
template <class F>
Layout LayOut(const Graph& graph, Layout* layout, uint64_t least, F place) {
  layout->initializers = Initializers(graph);
  layout->placements.resize(layout->initializers.size());
  for (uint32_t i = 0; i < layout->initializers.size(); ++i) {
    const TensorData& data = graph.context()[graph[layout->initializers[i]].data];
    if (IsLarge(data, least)) place(i, data);
    if (layout->placements[i].where == Placement::Where::kInline) layout->inline_bytes += data.byte_size();
  }
  return std::move(*layout);
}

}  // namespace

Layout LayOutInline(const Graph& graph) {
  Layout layout;
  return LayOut(graph, &layout, kLeastOmittedBytes, [](uint32_t, const TensorData&) {});
}

Layout LayOutWithoutWeights(const Graph& graph) {
  Layout layout;
  return LayOut(graph, &layout, kLeastOmittedBytes,
                [&](uint32_t i, const TensorData&) { layout.placements[i].where = Placement::Where::kOmitted; });
}

Layout LayOutExternal(const Graph& graph, const std::string& data_name) {
  Layout layout;
  layout.locations = {data_name};
  DataFile file(graph, &layout, 0);
  return LayOut(graph, &layout, kLeastExternalBytes, [&](uint32_t i, const TensorData&) { file.Add(i); });
}

Layout LayOutByReference(const Graph& graph, const std::string& data_name,
                         const std::function<std::string(const File&)>& relative) {
  Layout layout;
  layout.locations = {data_name};
  DataFile file(graph, &layout, 0);
  std::unordered_map<const File*, uint32_t> location_of;
  return LayOut(graph, &layout, kLeastOmittedBytes, [&](uint32_t i, const TensorData& data) {
    const auto range = data.source->InFile();
    if (!range || !data.contiguous()) return file.Add(i);
    const auto [it, added] = location_of.emplace(range->file.get(), static_cast<uint32_t>(layout.locations.size()));
    if (added) layout.locations.push_back(relative(*range->file));
    layout.placements[i] = {Placement::Where::kExternal, it->second, range->offset + data.offset, data.byte_size()};
  });
}

}  // namespace flambeau::onnx
