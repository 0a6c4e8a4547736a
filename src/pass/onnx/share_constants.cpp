#include <unordered_map>

#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

bool HasName(const Graph& graph, ValueId value) { return graph[value].name && graph[value].name != Symbol{0}; }

// Where a large constant lies, or the bytes of a small one.
size_t HashOf(const TensorData& data, const std::vector<std::byte>* bytes) {
  size_t hash = static_cast<size_t>(data.dtype);
  for (const int64_t size : data.sizes) hash = hash * 1000003 ^ static_cast<size_t>(size);
  if (bytes != nullptr)
    return hash ^ std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  uint64_t place = reinterpret_cast<size_t>(data.source.get());
  if (const auto range = data.source->InFile()) {
    place = reinterpret_cast<size_t>(range->file.get()) + range->offset;
  } else if (const auto memory = data.source->InMemory()) {
    place = reinterpret_cast<size_t>(memory->data());
  }
  return hash * 1000003 ^ static_cast<size_t>(place + data.offset);
}

}  // namespace

Result<Changed> ShareConstants(Graph& graph, PassContext& context) {
  Editor to(graph, context);
  struct Known {
    ValueId value;
    std::vector<std::byte> bytes;  // of a small one
  };
  std::unordered_multimap<size_t, Known> known;
  // Those with a name come first, so that a parameter's name stays.
  std::vector<ValueId> named, others;
  for (ValueId value{0}; value.index < graph.value_capacity(); ++value.index) {
    if (graph[value].kind != ValueKind::kConstant || !graph.HasUses(value)) continue;
    (HasName(graph, value) ? named : others).push_back(value);
  }
  named.insert(named.end(), others.begin(), others.end());
  for (const ValueId value : named) {
    const TensorData& data = graph.context()[graph[value].data];
    std::optional<std::vector<std::byte>> bytes;
    if (data.dtype != DType::kString && data.source->available()) bytes = data.ReadAll(kSmallConstant);
    const size_t hash = HashOf(data, bytes ? &*bytes : nullptr);
    const auto [first, last] = known.equal_range(hash);
    auto same = first;
    for (; same != last; ++same) {
      const TensorData& other = graph.context()[graph[same->second.value].data];
      if (other.SameBytes(data)) break;
      // A parameter remains one though it happens to equal another constant.
      if (HasName(graph, value) || HasName(graph, same->second.value)) continue;
      if (bytes && other.dtype == data.dtype && other.sizes == data.sizes && same->second.bytes == *bytes) break;
    }
    if (same != last) {
      to.ReplaceConstant(value, same->second.value);
    } else {
      known.emplace(hash, Known{value, bytes ? *std::move(bytes) : std::vector<std::byte>()});
    }
  }
  return to.changed() ? Changed::kYes : Changed::kNo;
}

}  // namespace flambeau
