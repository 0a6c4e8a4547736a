// Weights that overlap in memory, as a buffer and a row of it that is another buffer: a write to one is seen by all.
#include <algorithm>
#include <tuple>
#include <vector>

#include "pass/aten/functionalizer.h"

namespace flambeau {
namespace {

struct Place {
  ValueId tensor;
  const TensorData* data;
  const void* space;  // whose addresses they are: of a file, of a source, or of memory (null)
  uint64_t begin, end;
};

std::optional<Place> PlaceOf(const Graph& graph, ValueId tensor) {
  if (graph[tensor].kind != ValueKind::kConstant) return std::nullopt;
  const TensorData& data = graph.context()[graph[tensor].data];
  const auto width = static_cast<uint64_t>(ByteSize(data.dtype));
  if (!data.source || data.element_count() == 0 || width == 0) return std::nullopt;
  uint64_t last = 0;  // the furthest element; what the reader took lies inside its source
  for (size_t d = 0; d < data.strides.size(); ++d) last += static_cast<uint64_t>((data.sizes[d] - 1) * data.strides[d]);
  if (data.strides.empty()) last = data.element_count() - 1;
  Place place{tensor, &data, data.source.get(), data.offset, data.offset + (last + 1) * width};
  uint64_t start = 0;
  if (const auto memory = data.source->InMemory()) {
    place.space = nullptr;
    start = reinterpret_cast<uint64_t>(memory->data());
  } else if (const auto range = data.source->InFile()) {
    place.space = range->file.get();
    start = range->offset;
  }
  place.begin += start;
  place.end += start;
  return place;
}

Ints StridesOf(const TensorData& data) {
  if (!data.strides.empty()) return data.strides;
  Ints strides(data.sizes.size(), 1);
  for (size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * data.sizes[d];
  return strides;
}

// `part` becomes a view of `whole`, which is contiguous and has all its memory.
void SetPart(const Graph& graph, const Place& part, const Place& whole, Storages& storages) {
  const auto width = static_cast<uint64_t>(ByteSize(whole.data->dtype));
  const auto offset = static_cast<int64_t>((part.begin - whole.begin) / width);
  Call call = CallMaker(graph.context(), "aten::as_strided")
                  .Set("self", whole.tensor)
                  .Set("size", Attribute(Ints(part.data->sizes)))
                  .Set("stride", Attribute(StridesOf(*part.data)))
                  .Set("storage_offset", Attribute(offset))
                  .Make();
  storages.SetInputView(part.tensor, storages.ViewOf(whole.tensor), {{std::move(call), 0, false, graph[part.tensor].type}});
}

// Of weights of which each overlaps one before it; the first begins first.
void Link(const Graph& graph, std::span<const Place> places, Storages& storages) {
  const auto end = std::ranges::max_element(places, {}, &Place::end)->end;
  const auto whole = std::ranges::find_if(places, [&](const Place& place) {
    return place.data->contiguous() && place.begin == places.front().begin && place.end == end;
  });
  if (whole == places.end()) {
    const Place* furthest = &places.front();
    for (const Place& part : places.subspan(1)) {
      storages.SetMaybe(part.tensor, furthest->tensor);
      if (part.end > furthest->end) furthest = &part;
    }
    return;
  }
  const auto width = static_cast<uint64_t>(ByteSize(whole->data->dtype));
  for (const Place& part : places) {
    if (&part == &*whole) continue;
    if (part.data->dtype == whole->data->dtype && (part.begin - whole->begin) % width == 0) SetPart(graph, part, *whole, storages);
    else storages.SetMaybe(part.tensor, whole->tensor);
  }
}

}  // namespace

void LinkSharedMemory(const Program::Impl& program, Storages& storages) {
  std::vector<Place> places;
  for (const InputSpec& input : program.inputs)
    if (const auto place = PlaceOf(program.graph, input.value)) places.push_back(*place);
  std::ranges::stable_sort(places, {}, [](const Place& place) { return std::tuple(place.space, place.begin); });
  for (size_t first = 0, next = 0; first < places.size(); first = next) {
    uint64_t end = places[first].end;
    for (next = first + 1; next < places.size() && places[next].space == places[first].space && places[next].begin < end; ++next)
      end = std::max(end, places[next].end);
    if (next - first > 1) Link(program.graph, std::span(places).subspan(first, next - first), storages);
  }
}

}  // namespace flambeau
