// Element types, as PyTorch and ONNX have them, in one table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace flambeau {

enum class DType : uint8_t {
#define FLAMBEAU_DTYPE(name, text, torch_name, torch_code, serde_code, onnx_code, bytes, category) name,
#include "support/dtype.def"
#undef FLAMBEAU_DTYPE
};

enum class DTypeCategory : uint8_t { kNone, kBool, kInteger, kFloat, kComplex, kString };

struct DTypeInfo {
  std::string_view text;        // in dumps: "f32"
  std::string_view torch_name;  // "float32", empty where torch has none
  int8_t torch_code;            // c10::ScalarType, -1 where torch has none
  int8_t serde_code;            // torch/_export/serde/schema.py ScalarType, -1 where it has none
  int8_t onnx_code;             // TensorProto.DataType, 0 where ONNX has none
  uint8_t bytes;                // bytes an element; 0 for sub-byte and string types
  DTypeCategory category;
};

const DTypeInfo& Info(DType dtype);
inline int64_t ByteSize(DType dtype) { return Info(dtype).bytes; }
inline bool IsFloating(DType dtype) { return Info(dtype).category == DTypeCategory::kFloat; }
inline bool IsComplex(DType dtype) { return Info(dtype).category == DTypeCategory::kComplex; }
inline bool IsInteger(DType dtype) { return Info(dtype).category == DTypeCategory::kInteger; }
bool IsSigned(DType dtype);
// Bytes of `count` packed elements (int4 and uint4 take half a byte each).
uint64_t PackedBytes(DType dtype, uint64_t count);

std::optional<DType> DTypeFromText(std::string_view text);
std::optional<DType> DTypeFromTorchName(std::string_view name);
std::optional<DType> DTypeFromTorchCode(int64_t code);
std::optional<DType> DTypeFromSerdeCode(int64_t code);
std::optional<DType> DTypeFromOnnxCode(int64_t code);

}  // namespace flambeau
