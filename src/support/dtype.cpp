#include "support/dtype.h"

#include <array>

namespace flambeau {
namespace {

using enum DTypeCategory;
constexpr std::array kInfos = {
#define FLAMBEAU_DTYPE(name, text, torch_name, torch_code, serde_code, onnx_code, bytes, category) \
  DTypeInfo{text, torch_name, torch_code, serde_code, onnx_code, bytes, category},
#include "support/dtype.def"
#undef FLAMBEAU_DTYPE
};

template <class Match>
std::optional<DType> Find(Match match) {
  for (size_t i = 1; i < kInfos.size(); ++i)
    if (match(kInfos[i])) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace

const DTypeInfo& Info(DType dtype) { return kInfos[static_cast<size_t>(dtype)]; }

bool IsSigned(DType dtype) {
  const std::string_view text = Info(dtype).text;
  return IsFloating(dtype) || (IsInteger(dtype) && text[0] == 'i');
}

uint64_t PackedBytes(DType dtype, uint64_t count) {
  if (Info(dtype).category != kString && Info(dtype).bytes == 0) return count / 2 + count % 2;
  return count * Info(dtype).bytes;
}

std::optional<DType> DTypeFromText(std::string_view text) {
  return Find([&](const DTypeInfo& info) { return info.text == text; });
}
std::optional<DType> DTypeFromTorchName(std::string_view name) {
  return Find([&](const DTypeInfo& info) { return !name.empty() && info.torch_name == name; });
}
std::optional<DType> DTypeFromTorchCode(int64_t code) {
  return Find([&](const DTypeInfo& info) { return code >= 0 && info.torch_code == code; });
}
std::optional<DType> DTypeFromSerdeCode(int64_t code) {
  return Find([&](const DTypeInfo& info) { return code > 0 && info.serde_code == code; });
}
std::optional<DType> DTypeFromOnnxCode(int64_t code) {
  return Find([&](const DTypeInfo& info) { return code > 0 && info.onnx_code == code; });
}

}  // namespace flambeau
