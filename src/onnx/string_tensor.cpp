#include "onnx/string_tensor.h"

namespace flambeau::onnx {

TensorData MakeStringTensor(std::span<const std::string> elements, std::vector<int64_t> sizes) {
  std::vector<std::byte> bytes;
  for (const std::string& element : elements) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::byte>(element.size() >> shift));
    const auto* characters = reinterpret_cast<const std::byte*>(element.data());
    bytes.insert(bytes.end(), characters, characters + element.size());
  }
  return {MakeBufferSource(std::move(bytes)), 0, DType::kString, std::move(sizes), {}};
}

std::optional<std::vector<std::string>> ReadStrings(const TensorData& data) {
  std::vector<std::string> strings;
  const uint64_t count = data.element_count();
  uint64_t at = data.offset;
  for (uint64_t i = 0; i < count; ++i) {
    std::byte head[4];
    if (!data.source->Read(at, head)) return std::nullopt;
    at += sizeof(head);
    uint32_t length = 0;
    for (size_t b = 0; b < sizeof(head); ++b) length |= static_cast<uint32_t>(head[b]) << 8 * b;
    if (length > data.source->size() - at) return std::nullopt;
    std::string text(length, '\0');
    if (!data.source->Read(at, std::as_writable_bytes(std::span(text)))) return std::nullopt;
    at += length;
    strings.push_back(std::move(text));
  }
  return strings;
}

}  // namespace flambeau::onnx
