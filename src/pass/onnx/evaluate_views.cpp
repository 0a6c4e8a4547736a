#include <algorithm>
#include <numeric>

#include "onnx/infer/sizes.h"
#include "pass/onnx/evaluate.h"

namespace flambeau {
namespace {

using Views = std::optional<std::vector<TensorData>>;

// The operand's view with strides spelled out, to be changed.
TensorData WithStrides(const TensorData& data) {
  TensorData view = data;
  if (view.strides.empty()) view.strides = onnx::RowMajorStrides(view.sizes);
  return view;
}

Views Transposed(const Editor& editor, NodeId node, const TensorData& data) {
  const TensorData from = WithStrides(data);
  Ints permutation(from.sizes.size());
  std::iota(permutation.rbegin(), permutation.rend(), 0);
  if (const Ints* given = editor.IntList(node, "perm")) permutation = *given;
  if (permutation.size() != from.sizes.size()) return std::nullopt;
  TensorData view = from;
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] < 0 || permutation[i] >= static_cast<int64_t>(permutation.size())) return std::nullopt;
    view.sizes[i] = from.sizes[static_cast<size_t>(permutation[i])];
    view.strides[i] = from.strides[static_cast<size_t>(permutation[i])];
  }
  return {{view}};
}

// Reshape, Squeeze, Unsqueeze, Flatten: the result's type says it all.
Views Reshaped(const Editor& editor, NodeId node, const TensorData& data) {
  const auto sizes = editor.ConstantSizes(editor.graph().result(node));
  if (!sizes) return std::nullopt;
  TensorData view = WithStrides(data);
  if (data.contiguous()) {
    view.sizes = *sizes;
    view.strides.clear();
    return {{view}};
  }
  // Of a strided view only dimensions of 1 may come and go.
  Ints strides(sizes->size(), 1);
  size_t from = 0;
  for (size_t i = 0; i < sizes->size(); ++i) {
    if ((*sizes)[i] == 1) continue;
    while (from < data.sizes.size() && data.sizes[from] == 1) ++from;
    if (from == data.sizes.size() || data.sizes[from] != (*sizes)[i]) return std::nullopt;
    strides[i] = view.strides[from++];
  }
  while (from < data.sizes.size() && data.sizes[from] == 1) ++from;
  if (from != data.sizes.size()) return std::nullopt;
  view.sizes = *sizes;
  view.strides = std::move(strides);
  return {{view}};
}

// What no view shows is gathered, if it is little.
Views ReshapedOrPacked(const Editor& editor, NodeId node, const TensorData& data) {
  if (auto view = Reshaped(editor, node, data)) return view;
  auto bytes = data.ReadAll(kLargeBytes);
  if (!bytes) return std::nullopt;
  return Reshaped(editor, node,
                  {.source = MakeBufferSource(*std::move(bytes)), .dtype = data.dtype, .sizes = data.sizes});
}

Views Sliced(const Editor& editor, NodeId node, const TensorData& data) {
  const auto starts = editor.KnownInts(editor.Operand(node, 1)), ends = editor.KnownInts(editor.Operand(node, 2));
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  Ints axes(starts->size()), steps(starts->size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  for (const auto& [list, operand] : {std::pair(&axes, 3U), std::pair(&steps, 4U)}) {
    if (!editor.Operand(node, operand)) continue;
    const auto given = editor.KnownInts(editor.Operand(node, operand));
    if (!given || given->size() != starts->size()) return std::nullopt;
    *list = *given;
  }
  TensorData view = WithStrides(data);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = onnx::NormalizeAxis(axes[i], view.sizes.size());
    // Bytes can't be seen backwards.
    if (!axis || steps[i] <= 0) return std::nullopt;
    const int64_t size = view.sizes[*axis];
    auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
    const int64_t start = bound((*starts)[i]), count = std::max<int64_t>(bound((*ends)[i]) - start, 0);
    view.sizes[*axis] = count / steps[i] + (count % steps[i] != 0);
    if (view.sizes[*axis] == 0) continue;
    view.offset += static_cast<uint64_t>(start * view.strides[*axis]) * static_cast<uint64_t>(ByteSize(view.dtype));
    // One element has no stride; the product could overflow.
    if (view.sizes[*axis] > 1) view.strides[*axis] *= steps[i];
  }
  return {{view}};
}

Views Parts(const Editor& editor, NodeId node, const TensorData& data) {
  const Graph& graph = editor.graph();
  const auto axis = onnx::NormalizeAxis(editor.Int(node, "axis", 0), data.sizes.size());
  if (!axis) return std::nullopt;
  TensorData view = WithStrides(data);
  std::vector<TensorData> parts;
  int64_t start = 0;
  for (uint32_t i = 0; i < graph[node].result_count; ++i) {
    const auto sizes = editor.ConstantSizes(graph.result(node, i));
    if (!sizes || sizes->size() != data.sizes.size() || (*sizes)[*axis] > data.sizes[*axis] - start)
      return std::nullopt;
    view.sizes = *sizes;
    view.offset = data.offset + static_cast<uint64_t>(start * view.strides[*axis] * ByteSize(view.dtype));
    parts.push_back(view);
    start += (*sizes)[*axis];
  }
  return parts;
}

Views Expanded(const Editor& editor, NodeId node, const TensorData& data) {
  const auto sizes = editor.ConstantSizes(editor.graph().result(node));
  if (!sizes || sizes->size() < data.sizes.size()) return std::nullopt;
  const TensorData from = WithStrides(data);
  TensorData view = from;
  view.sizes = *sizes;
  view.strides.assign(sizes->size(), 0);
  const size_t leading = sizes->size() - data.sizes.size();
  for (size_t i = 0; i < data.sizes.size(); ++i)
    if (from.sizes[i] == (*sizes)[leading + i]) view.strides[leading + i] = from.strides[i];
  return {{view}};
}

// Gather of one index, `weight[0]`, or of some in a row: the positions 0 to n.
Views Selected(const Editor& editor, NodeId node, const TensorData& data) {
  const auto indices = editor.KnownInts(editor.Operand(node, 1));
  const auto index_sizes = editor.ConstantSizes(editor.Operand(node, 1));
  const auto axis = onnx::NormalizeAxis(editor.Int(node, "axis", 0), data.sizes.size());
  if (!indices || indices->empty() || !index_sizes || !axis) return std::nullopt;
  // All dimensions of the indices but one are 1, so that they lie on a line.
  if (std::ranges::count_if(*index_sizes, [](int64_t size) { return size != 1; }) > 1) return std::nullopt;
  const int64_t size = data.sizes[*axis];
  const int64_t first = indices->front() < 0 ? indices->front() + size : indices->front();
  const auto count = static_cast<int64_t>(indices->size());
  if (first < 0 || count > size || first > size - count) return std::nullopt;
  for (int64_t i = 0; i < count; ++i)
    if (const int64_t index = (*indices)[static_cast<size_t>(i)]; (index < 0 ? index + size : index) != first + i)
      return std::nullopt;
  TensorData view = WithStrides(data);
  const int64_t stride = view.strides[*axis];
  view.offset += static_cast<uint64_t>(first * stride * ByteSize(view.dtype));
  const auto at = static_cast<ptrdiff_t>(*axis);
  view.sizes.erase(view.sizes.begin() + at);
  view.strides.erase(view.strides.begin() + at);
  view.sizes.insert(view.sizes.begin() + at, index_sizes->begin(), index_sizes->end());
  view.strides.insert(view.strides.begin() + at, index_sizes->size(), stride);
  return {{view}};
}

struct ViewRow {
  std::string_view op;
  Views (*evaluate)(const Editor&, NodeId, const TensorData&);
};
constexpr ViewRow kViews[] = {
    {"Expand", &Expanded},
    {"Flatten", &ReshapedOrPacked},
    {"Gather", &Selected},
    {"Reshape", &ReshapedOrPacked},
    {"Slice", &Sliced},
    {"Split", &Parts},
    {"Squeeze", &ReshapedOrPacked},
    {"Transpose", &Transposed},
    {"Unsqueeze", &ReshapedOrPacked},
};

}  // namespace

std::optional<std::vector<TensorData>> EvaluateView(const Editor& editor, NodeId node) {
  const TensorData* data = editor.Data(editor.Operand(node, 0));
  // Elements of less than a byte, and strings, have no addresses.
  if (data == nullptr || ByteSize(data->dtype) == 0 || !data->source->available()) return std::nullopt;
  const std::string_view op = editor.graph().op(node);
  for (const ViewRow& row : kViews)
    if (row.op == op) {
      auto views = row.evaluate(editor, node, *data);
      if (!views) return std::nullopt;
      for (const TensorData& view : *views)
        if (!FitsInSource(view.dtype, view.sizes, view.strides, view.offset, view.source->size())) return std::nullopt;
      return views;
    }
  return std::nullopt;
}

}  // namespace flambeau
