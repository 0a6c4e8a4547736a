#include "onnx/tensor_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <vector>

#include "onnx/protobuf.h"
#include "onnx/protozero.h"
#include "onnx/string_tensor.h"

namespace flambeau::onnx {
namespace {

using protozero::pbf_wire_type;

std::string_view View(protozero::data_view view) { return {view.data(), view.size()}; }

template <class T>
void AppendBytes(T value, size_t width, std::vector<std::byte>* bytes) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes->insert(bytes->end(), begin, begin + width);  // little-endian, as we are
}

// Calls f(value) for one value, or for each of a packed run.
template <class F>
void ForEachVarint(protozero::pbf_reader& message, F f) {
  if (message.wire_type() != pbf_wire_type::length_delimited) return f(message.get_int64());
  for (int64_t value : message.get_packed_int64()) f(value);
}
template <class T, class F>
void ForEachFixed(protozero::pbf_reader& message, F f) {
  if constexpr (sizeof(T) == 4) {
    if (message.wire_type() != pbf_wire_type::length_delimited) return f(message.get_float());
    for (float value : message.get_packed_float()) f(value);
  } else {
    if (message.wire_type() != pbf_wire_type::length_delimited) return f(message.get_double());
    for (double value : message.get_packed_double()) f(value);
  }
}

}  // namespace

struct TensorReader::Fields {
  std::string_view name;
  std::vector<int64_t> dims;
  DType dtype = DType::kNone;
  std::optional<std::string_view> raw;
  std::vector<std::byte> typed;  // float_data and its kin, as raw_data has them
  std::vector<std::string> strings;
  bool is_external = false;
  std::string location;
  std::optional<uint64_t> offset, length;
};

namespace {

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<TensorReader::Named> TensorReader::Read(std::string_view bytes) {
  Fields fields;
  int64_t code = 0;
  // What int32_data and its kin hold; an element's width is known with
  // data_type, which may come later.
  std::vector<int64_t> integers;
  protozero::pbf_reader message(bytes.data(), bytes.size());
  while (message.next()) {
    switch (message.tag()) {
      case field::kTensorDims: ForEachVarint(message, [&](int64_t dim) { fields.dims.push_back(dim); }); break;
      case field::kTensorDataType: code = message.get_int32(); break;
      case field::kTensorFloatData:
        ForEachFixed<float>(message, [&](float value) { AppendBytes(value, 4, &fields.typed); });
        break;
      case field::kTensorDoubleData:
        ForEachFixed<double>(message, [&](double value) { AppendBytes(value, 8, &fields.typed); });
        break;
      case field::kTensorInt32Data:
      case field::kTensorInt64Data:
      case field::kTensorUint64Data: ForEachVarint(message, [&](int64_t value) { integers.push_back(value); }); break;
      case field::kTensorStringData: fields.strings.emplace_back(View(message.get_view())); break;
      case field::kTensorName: fields.name = View(message.get_view()); break;
      case field::kTensorRawData: fields.raw = View(message.get_view()); break;
      case field::kTensorDataLocation: fields.is_external = message.get_int32() == kExternalLocation; break;
      case field::kTensorExternalData: {
        std::string_view key, value;
        for (protozero::pbf_reader entry = message.get_message(); entry.next();) {
          if (entry.tag() == field::kEntryKey) {
            key = View(entry.get_view());
          } else if (entry.tag() == field::kEntryValue) {
            value = View(entry.get_view());
          } else {
            entry.skip();
          }
        }
        if (key == "location") fields.location = value;
        if (key == "offset") fields.offset = Number(value);
        if (key == "length") fields.length = Number(value);
        break;
      }
      default: message.skip();
    }
  }
  const auto dtype = DTypeFromOnnxCode(code);
  const Location location{.entry = std::string(fields.name)};
  if (!dtype || code == 0) {
    return sink_.Error(DiagnosticKind::kUnsupportedDtype, fmt::format("a tensor has the unknown data type {}", code),
                       location);
  }
  fields.dtype = *dtype;
  // Of types of less than a byte, an element holds a byte.
  const size_t width = std::clamp<size_t>(static_cast<size_t>(ByteSize(*dtype)), 1, sizeof(int64_t));
  for (int64_t value : integers) AppendBytes(value, width, &fields.typed);
  FLAMBEAU_TRY(std::shared_ptr<const DataSource> source, Source(fields));
  const uint64_t size = source->size();
  TensorData data{std::move(source), 0, *dtype, std::move(fields.dims), {}};
  if (!FitsInSource(data.dtype, data.sizes, {}, 0, size) || (*dtype == DType::kString && !ReadStrings(data))) {
    return sink_.Error(
        DiagnosticKind::kBadTensor,
        fmt::format("a tensor of [{}] {} has only {} bytes", fmt::join(data.sizes, ", "), Info(*dtype).text, size),
        location);
  }
  return Named{fields.name, std::move(data)};
}

Result<std::shared_ptr<const DataSource>> TensorReader::Source(const Fields& fields) {
  if (fields.is_external) return External(fields);
  if (fields.dtype == DType::kString) return MakeStringTensor(fields.strings, {}).source;
  if (fields.raw) {
    const auto* begin = reinterpret_cast<const std::byte*>(fields.raw->data());
    return MakeMemorySource({begin, fields.raw->size()}, owner_);
  }
  return MakeBufferSource(fields.typed);
}

Result<std::shared_ptr<const DataSource>> TensorReader::External(const Fields& fields) {
  const Location location{.entry = std::string(fields.name)};
  const std::filesystem::path relative = std::filesystem::path(fields.location).lexically_normal();
  if (relative.empty() || relative.is_absolute() || *relative.begin() == "..") {
    return sink_.Error(DiagnosticKind::kBadTensor,
                       fmt::format("external data '{}' are not in the model's folder or below", fields.location),
                       location);
  }
  auto& file = files_[relative.string()];
  if (file == nullptr) {
    std::string error;
    file = File::Open((std::filesystem::path(folder_) / relative).string(), &error);
    if (file == nullptr) {
      return sink_.Error(DiagnosticKind::kCannotOpen,
                         fmt::format("cannot open the external data '{}': {}", fields.location, error), location);
    }
  }
  const uint64_t offset = fields.offset.value_or(0);
  if (offset > file->size() || fields.length.value_or(0) > file->size() - offset) {
    return sink_.Error(DiagnosticKind::kBadTensor,
                       fmt::format("external data reach beyond the {} bytes of '{}'", file->size(), fields.location),
                       location);
  }
  return MakeFileSource(file, offset, fields.length.value_or(file->size() - offset));
}

}  // namespace flambeau::onnx
