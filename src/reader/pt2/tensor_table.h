// The tensors of an archive by name: where their bytes lie, checked against the
// archive, and never read.
//
// Today's archives describe them in JSON beside raw payloads; archives of
// PyTorch 2.7 and older hold what torch.save wrote. Tensors that share storage
// share the bytes of the file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "container/json.h"
#include "container/torch_tensors.h"
#include "container/zip.h"
#include "flambeau/program.h"

namespace flambeau::pt2 {

class TensorTable {
 public:
  TensorTable(const ZipArchive& archive, bool big_endian, Sink& sink)
      : archive_(archive), big_endian_(big_endian), sink_(sink) {}

  // A `…_config.json`; its payloads lie in the same folder.
  Status AddConfig(const ZipEntry& config);
  // A stored torch.save archive of a dictionary; an empty entry is an empty one.
  Status AddStateDict(const ZipEntry& entry);

  // `user` is what needs the tensor. A name that occurs twice means its first
  // occurrence.
  Result<TensorSource> Find(std::string_view name, const JsonReader& user) const;
  // The tensors that this one wraps, by the names of its attributes; nullopt if it wraps none.
  using Wrapped = std::unordered_map<std::string, TensorSource>;
  Result<std::optional<Wrapped>> FindWrapped(std::string_view name) const;

 private:
  struct Payload {
    JsonReader meta;
    std::string_view folder;  // of the entry's name; entries outlive the table
  };
  Result<const ZipEntry*> EntryOf(const Payload& payload) const;
  Result<TensorSource> ReadPayload(std::string_view name, const Payload& payload) const;
  Result<TensorSource> ReadRaw(const JsonReader& meta, const ZipEntry& entry) const;
  Result<TensorSource> ReadPickled(std::string_view name, const JsonReader& payload, const ZipEntry& entry) const;
  // An archive in the archive that holds one pickled tensor; many names may lead to it.
  struct Pickled {
    ZipArchive archive;
    Pickle pickle;
  };
  Result<const Pickled*> Open(const ZipEntry& entry) const;
  TensorSource FromStored(const StoredTensor& stored) const;
  // Where the tensor's storage begins and how long it is; `swapped_width`: of numbers in the other byte order, else 0.
  void SetStorage(uint64_t begin, uint64_t bytes, int swapped_width, TensorSource* tensor) const;

  const ZipArchive& archive_;
  const bool big_endian_;  // the raw payloads
  Sink& sink_;
  std::vector<JsonDocument> documents_;
  std::unordered_map<std::string, std::variant<Payload, StoredTensor>> tensors_;
  mutable std::unordered_map<const ZipEntry*, std::unique_ptr<const Pickled>> opened_;
};

// The scalar type at `json`, in PyTorch's numbering.
Result<ScalarTypeCode> ReadScalarType(const JsonReader& json);

// Documents larger than this are refused.
inline constexpr uint64_t kMaxJsonBytes = uint64_t{1} << 30;
// `entry` read and parsed.
Result<JsonDocument> ReadJson(const ZipArchive& archive, const ZipEntry& entry, Sink& sink);

}  // namespace flambeau::pt2
