// Zip archives as PyTorch writes them, read in place.
//
// Everything but the data offsets comes from the central directory: PyTorch
// streams its archives, so local headers may leave their sizes open. An archive
// may be a part of a file (a .pt stored inside a .pt2). Offsets that are given
// out are offsets in the file. Knows nothing of what the entries mean.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "diag/sink.h"
#include "support/file.h"
#include "support/result.h"

namespace flambeau {

struct ZipEntry {
  std::string name;
  uint64_t size = 0;  // of the data, inflated
  uint64_t compressed_size = 0;
  uint64_t header_offset = 0;  // of the local header, in the file
  uint64_t end = 0;            // where the next entry or the directory begins
  uint32_t crc32 = 0;          // 0: not computed (torch.serialization.set_crc32_options(False))
  uint16_t method = 0;
  bool encrypted = false;

  bool IsStored() const { return method == 0; }
};

class ZipArchive {
 public:
  static Result<ZipArchive> Open(std::shared_ptr<const File> file, Sink& sink);
  ZipArchive(ZipArchive&&) = default;
  ZipArchive& operator=(ZipArchive&&) = default;
  // `index_` points into `entries_`.
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  // The archive that is stored as an entry of this one.
  Result<ZipArchive> OpenNested(const ZipEntry& entry, Sink& sink) const;

  const std::shared_ptr<const File>& file() const { return file_; }
  // In the order of the central directory.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* Find(std::string_view name) const;
  // As Find, but the absence is reported as missing-entry.
  Result<const ZipEntry*> Require(std::string_view name, Sink& sink) const;
  // The folder that holds all entries, with its slash: "model/"; else empty.
  std::string_view root() const { return root_; }

  // Where the bytes of a stored entry begin in the file; all of them are there.
  Result<uint64_t> DataOffset(const ZipEntry& entry, Sink& sink) const;
  // The whole data, inflated if need be, its checksum verified; more than
  // `limit` bytes are an error, and never allocated.
  Result<std::string> Read(const ZipEntry& entry, uint64_t limit, Sink& sink) const;

  // For diagnostics about the contents of an entry, or (null) of the archive.
  Location Where(const ZipEntry* entry) const;

 private:
  // [begin, begin + size) of `file`; `prefix` leads to it in messages.
  static Result<ZipArchive> OpenPart(std::shared_ptr<const File> file, uint64_t begin, uint64_t size,
                                     std::string prefix, Sink& sink);
  ZipArchive(std::shared_ptr<const File> file, std::string prefix)
      : file_(std::move(file)), prefix_(std::move(prefix)) {}
  Status Index(uint64_t directory, Sink& sink);
  Result<uint64_t> FindData(const ZipEntry& entry, Sink& sink) const;
  Result<std::string> Inflate(const ZipEntry& entry, uint64_t offset, Sink& sink) const;
  Failure Bad(const ZipEntry* entry, std::string message, Sink& sink) const;

  std::shared_ptr<const File> file_;
  std::string prefix_;  // "serialized_state_dict.pt!" for a nested archive
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, uint32_t> index_;
  std::string root_;
};

}  // namespace flambeau
