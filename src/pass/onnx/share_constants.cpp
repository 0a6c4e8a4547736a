#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

bool HasName(const Graph& graph, ValueId value) { return graph[value].name && graph[value].name != Symbol{0}; }

size_t HashOfType(const TensorData& data) {
  size_t hash = static_cast<size_t>(data.dtype);
  for (const int64_t size : data.sizes) hash = hash * 1000003 ^ static_cast<size_t>(size);
  return hash;
}

size_t HashOfPlace(const TensorData& data) {
  uint64_t place = reinterpret_cast<size_t>(data.source.get());
  if (const auto range = data.source->InFile()) {
    place = reinterpret_cast<size_t>(range->file.get()) + range->offset;
  } else if (const auto memory = data.source->InMemory()) {
    place = reinterpret_cast<size_t>(memory->data());
  }
  return HashOfType(data) * 1000003 ^ static_cast<size_t>(place + data.offset);
}

size_t HashOfBytes(const TensorData& data, std::span<const std::byte> bytes) {
  return HashOfType(data) ^ std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The constants that stay, of which another one may be a copy.
class Kept {
 public:
  explicit Kept(const Graph& graph) : graph_(graph) {}

  // What the constant can be replaced by; invalid if it stays, too.
  ValueId SameAs(ValueId value) {
    const TensorData& data = DataOf(value);
    const size_t place = HashOfPlace(data);
    for (auto [same, end] = by_place_.equal_range(place); same != end; ++same)
      if (DataOf(same->second).SameBytes(data)) return same->second;
    // A parameter remains one though it happens to equal another constant.
    if (!HasName(graph_, value) && data.dtype != DType::kString && data.source->available())
      if (std::optional<std::vector<std::byte>> bytes = data.ReadAll(kSmallConstant))
        if (const ValueId same = SameBytesAs(value, *std::move(bytes))) return same;
    by_place_.emplace(place, value);
    return {};
  }

 private:
  struct Small {
    ValueId value;
    std::vector<std::byte> bytes;
  };

  const TensorData& DataOf(ValueId value) const { return graph_.context()[graph_[value].data]; }

  ValueId SameBytesAs(ValueId value, std::vector<std::byte> bytes) {
    const TensorData& data = DataOf(value);
    const size_t hash = HashOfBytes(data, bytes);
    for (auto [same, end] = by_bytes_.equal_range(hash); same != end; ++same) {
      const TensorData& other = DataOf(same->second.value);
      if (other.dtype == data.dtype && other.sizes == data.sizes && same->second.bytes == bytes) return same->second.value;
    }
    by_bytes_.emplace(hash, Small{value, std::move(bytes)});
    return {};
  }

  const Graph& graph_;
  std::unordered_multimap<size_t, ValueId> by_place_;
  std::unordered_multimap<size_t, Small> by_bytes_;  // without a name
};

}  // namespace

Result<Changed> ShareConstants(Graph& graph, PassContext& context) {
  Editor to(graph, context);
  // Those with a name come first, so that a parameter's name stays.
  std::vector<ValueId> named, others;
  for (ValueId value{0}; value.index < graph.value_capacity(); ++value.index) {
    if (graph[value].kind != ValueKind::kConstant || !graph.HasUses(value)) continue;
    (HasName(graph, value) ? named : others).push_back(value);
  }
  named.insert(named.end(), others.begin(), others.end());
  Kept kept(graph);
  for (const ValueId value : named)
    if (const ValueId same = kept.SameAs(value)) to.ReplaceConstant(value, same);
  return to.changed() ? Changed::kYes : Changed::kNo;
}

}  // namespace flambeau
