#include "reader/pt2/tensor_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "container/quote.h"
#include "ir/encoded_source.h"
#include "ir/tensor_data.h"
#include "reader/pt2/tagged.h"
#include "support/dtype.h"
#include "support/expansion.h"

namespace flambeau::pt2 {
namespace {

Result<int64_t> ReadConcreteInt(const JsonReader& json) {
  FLAMBEAU_TRY(const Tagged number, ReadTagged(json));
  if (number.tag == "as_int") return number.value.AsInt();
  if (number.tag == "as_expr")
    return json.Error(DiagnosticKind::kBadTensor, "the sizes of a stored tensor must be numbers");
  return number.Unknown("size");
}

Result<std::vector<int64_t>> ReadConcreteInts(const JsonReader& json) {
  if (json.size() > kMostDimensions) return json.Error(fmt::format("a tensor has no more than {} dimensions", kMostDimensions));
  std::vector<int64_t> numbers;
  numbers.reserve(json.size());
  for (const JsonReader element : json.elements()) {
    FLAMBEAU_TRY(const int64_t number, ReadConcreteInt(element));
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

Result<ScalarTypeCode> ReadScalarType(const JsonReader& json) {
  FLAMBEAU_TRY(const int64_t code, json.AsInt());
  const auto dtype = DTypeFromSerdeCode(code);
  if (!dtype || *dtype == DType::kNone)
    return json.Error(fmt::format("{} is no scalar type that this version of Flambeau knows", code));
  return Info(*dtype).torch_code;
}

Result<JsonDocument> ReadJson(const ZipArchive& archive, const ZipEntry& entry, Sink& sink) {
  FLAMBEAU_TRY(std::string text, archive.Read(entry, kMaxJsonBytes, sink));
  return JsonDocument::Parse(std::move(text), archive.Where(&entry), sink);
}

Status TensorTable::AddConfig(const ZipEntry& config) {
  FLAMBEAU_TRY(JsonDocument document, ReadJson(archive_, config, sink_));
  documents_.push_back(std::move(document));
  const std::string_view path = config.name;
  const std::string_view folder = path.substr(0, path.rfind('/') + 1);
  FLAMBEAU_TRY(const JsonReader payloads, JsonReader(documents_.back().root(), sink_).Object("config"));
  for (const auto [name, payload] : payloads.members())
    tensors_.try_emplace(std::string(name), Payload{payload, folder});
  return {};
}

Status TensorTable::AddStateDict(const ZipEntry& entry) {
  if (entry.size == 0) return {};
  FLAMBEAU_TRY(const ZipArchive nested, archive_.OpenNested(entry, sink_));
  FLAMBEAU_TRY(std::vector<StoredTensor> tensors, ReadStateDict(nested, sink_));
  for (StoredTensor& tensor : tensors) {
    std::string name = tensor.name;
    tensors_.try_emplace(std::move(name), std::move(tensor));
  }
  return {};
}

Result<TensorSource> TensorTable::Find(std::string_view name, const JsonReader& user) const {
  const auto found = tensors_.find(std::string(name));
  if (found == tensors_.end())
    return user.Error(DiagnosticKind::kMissingEntry, fmt::format("the archive holds no tensor named {}", Quote(name)));
  if (const auto* stored = std::get_if<StoredTensor>(&found->second)) return FromStored(*stored);
  return ReadPayload(name, std::get<Payload>(found->second));
}

Result<std::optional<TensorTable::Wrapped>> TensorTable::FindWrapped(std::string_view name) const {
  const auto found = tensors_.find(std::string(name));
  const Payload* payload = found != tensors_.end() ? std::get_if<Payload>(&found->second) : nullptr;
  if (payload == nullptr) return std::optional<Wrapped>();
  FLAMBEAU_TRY(const std::optional<bool> pickled, payload->meta.OptionalBool("use_pickle"));
  if (!pickled.value_or(false)) return std::optional<Wrapped>();
  FLAMBEAU_TRY(const ZipEntry* entry, EntryOf(*payload));
  FLAMBEAU_TRY(const Pickled* opened, Open(*entry));
  const auto& [nested, pickle] = *opened;
  if (!TensorReader::IsWrapper(pickle.root())) return std::optional<Wrapped>();
  FLAMBEAU_TRY(TensorReader reader, TensorReader::Create(nested, std::string(nested.root()) + "data/", sink_));
  FLAMBEAU_TRY(const std::vector<StoredTensor> tensors, reader.ReadWrapped(pickle.root(), std::string(name)));
  Wrapped wrapped;
  for (const StoredTensor& tensor : tensors) wrapped.try_emplace(tensor.name, FromStored(tensor));
  return std::optional(std::move(wrapped));
}

Result<const TensorTable::Pickled*> TensorTable::Open(const ZipEntry& entry) const {
  std::unique_ptr<const Pickled>& opened = opened_[&entry];
  if (!opened) {
    FLAMBEAU_TRY(ZipArchive archive, archive_.OpenNested(entry, sink_));
    FLAMBEAU_TRY(Pickle pickle, ReadPickleEntry(archive, "data.pkl", sink_));
    opened = std::make_unique<const Pickled>(std::move(archive), std::move(pickle));
  }
  return opened.get();
}

Result<const ZipEntry*> TensorTable::EntryOf(const Payload& payload) const {
  FLAMBEAU_TRY(const std::string_view file, payload.meta.String("path_name"));
  const std::string path = std::string(payload.folder) + std::string(file);
  const ZipEntry* entry = archive_.Find(path);
  if (entry == nullptr)
    return payload.meta.Error(DiagnosticKind::kMissingEntry, fmt::format("the archive has no entry {}", Quote(path)));
  return entry;
}

Result<TensorSource> TensorTable::ReadPayload(std::string_view name, const Payload& payload) const {
  FLAMBEAU_TRY(const ZipEntry* entry, EntryOf(payload));
  FLAMBEAU_TRY(const std::optional<bool> pickled, payload.meta.OptionalBool("use_pickle"));
  if (pickled.value_or(false)) return ReadPickled(name, payload.meta, *entry);
  FLAMBEAU_TRY(const JsonReader meta, payload.meta.Object("tensor_meta"));
  return ReadRaw(meta, *entry);
}

Result<TensorSource> TensorTable::ReadRaw(const JsonReader& meta, const ZipEntry& entry) const {
  TensorSource tensor;
  FLAMBEAU_TRY(const JsonReader dtype_code, meta.Member("dtype"));
  FLAMBEAU_TRY(tensor.dtype, ReadScalarType(dtype_code));
  FLAMBEAU_TRY(const JsonReader sizes, meta.Array("sizes"));
  FLAMBEAU_TRY(tensor.sizes, ReadConcreteInts(sizes));
  FLAMBEAU_TRY(const JsonReader strides, meta.Array("strides"));
  FLAMBEAU_TRY(tensor.strides, ReadConcreteInts(strides));
  FLAMBEAU_TRY(const JsonReader offset_json, meta.Member("storage_offset"));
  FLAMBEAU_TRY(const int64_t offset, ReadConcreteInt(offset_json));
  FLAMBEAU_TRY(const std::optional<int64_t> layout, meta.OptionalInt("layout"));
  constexpr int64_t kStrided = 7;
  if (layout.value_or(kStrided) != kStrided)
    return meta.Error(DiagnosticKind::kBadTensor, "a sparse tensor cannot be read", "make it dense before the export");

  const DType dtype = *DTypeFromTorchCode(tensor.dtype);
  const bool is_empty = std::any_of(tensor.sizes.begin(), tensor.sizes.end(), [](int64_t size) { return size == 0; });
  if (entry.size == 0 && !is_empty)
    return meta.Error(DiagnosticKind::kBadTensor, "the tensor was saved without its bytes",
                      "export the model with real weights, not under FakeTensorMode");
  uint64_t offset_bytes;
  if (offset < 0 || tensor.strides.size() != tensor.sizes.size() ||
      __builtin_mul_overflow(static_cast<uint64_t>(offset), static_cast<uint64_t>(ByteSize(dtype)), &offset_bytes) ||
      !FitsInSource(dtype, tensor.sizes, tensor.strides, offset_bytes, entry.size))
    return meta.Error(DiagnosticKind::kBadTensor, fmt::format("the tensor does not fit its payload of {} bytes, {}",
                                                              entry.size, Quote(entry.name)));
  uint64_t count = 1;  // FitsInSource has excluded an overflow
  for (const int64_t size : tensor.sizes) count *= static_cast<uint64_t>(size);
  if (const uint64_t bytes = PackedBytes(dtype, count); !IsCredibleExpansion(bytes, entry.size))
    return meta.Error(DiagnosticKind::kBadTensor, fmt::format("the tensor claims {} bytes, its payload {} holds {}",
                                                              bytes, Quote(entry.name), entry.size));
  FLAMBEAU_TRY(const uint64_t begin, archive_.DataOffset(entry, sink_));
  tensor.storage_offset = is_empty ? 0 : offset_bytes;
  SetStorage(begin, entry.size, big_endian_ ? static_cast<int>(ByteSize(dtype)) / (IsComplex(dtype) ? 2 : 1) : 0, &tensor);
  return tensor;
}

void TensorTable::SetStorage(uint64_t begin, uint64_t bytes, int swapped_width, TensorSource* tensor) const {
  tensor->storage_size = bytes;
  if (swapped_width > 1) {
    tensor->fetch = [source = MakeEncodedSource(MakeFileSource(archive_.file(), begin, bytes), {.swapped_width = swapped_width})](
                        uint64_t offset, std::span<std::byte> out) { return source->Read(offset, out); };
    return;
  }
  tensor->file = archive_.file()->path();
  tensor->file_offset = begin;
}

Result<TensorSource> TensorTable::ReadPickled(std::string_view name, const JsonReader& payload,
                                              const ZipEntry& entry) const {
  FLAMBEAU_TRY(const Pickled* opened, Open(entry));
  const auto& [nested, pickle] = *opened;
  if (!TensorReader::IsTensor(pickle.root()))
    return payload.Error(DiagnosticKind::kBadTensor, fmt::format("{} is no plain tensor", Quote(name)),
                         "tensor subclasses are pickled by PyTorch; unwrap them before the export");
  FLAMBEAU_TRY(TensorReader reader, TensorReader::Create(nested, std::string(nested.root()) + "data/", sink_));
  FLAMBEAU_TRY(const StoredTensor stored, reader.Read(pickle.root(), std::string(name)));
  return FromStored(stored);
}

TensorSource TensorTable::FromStored(const StoredTensor& stored) const {
  TensorSource tensor;
  tensor.dtype = Info(stored.dtype).torch_code;
  tensor.sizes = stored.sizes;
  tensor.strides = stored.strides;
  tensor.storage_offset = static_cast<uint64_t>(stored.storage_offset * ByteSize(stored.dtype));
  SetStorage(stored.storage_begin, stored.storage_bytes, stored.swapped_width, &tensor);
  return tensor;
}

}  // namespace flambeau::pt2
