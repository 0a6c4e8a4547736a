#include "container/zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "container/quote.h"
#include "container/zip_directory.h"

namespace flambeau {
namespace {

constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr size_t kChunk = size_t{1} << 16;
// Text of graphs deflates to a fiftieth at best; deflate's limit is 1032:1, and
// what comes near it is a bomb. Small entries do no harm.
constexpr uint64_t kBestRatio = 256;
constexpr uint64_t kHarmless = uint64_t{1} << 20;
// Parsers of JSON read beyond the end: with room for that, the text of a graph need not be copied.
constexpr size_t kRoomBehind = 64;

// The common leading folder of all names.
std::string CommonRoot(const std::vector<ZipEntry>& entries) {
  if (entries.empty()) return {};
  const std::string& first = entries.front().name;
  const std::string root = first.substr(0, first.find('/') + 1);
  const bool common =
      std::all_of(entries.begin(), entries.end(), [&](const ZipEntry& entry) { return entry.name.starts_with(root); });
  return common ? root : std::string();
}

// Ends the stream on every way out.
struct InflateStream : z_stream {
  InflateStream() : z_stream{} { ready = inflateInit2(this, -MAX_WBITS) == Z_OK; }
  ~InflateStream() {
    if (ready) inflateEnd(this);
  }
  bool ready;
};

uint32_t Crc32(std::string_view bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

Result<ZipArchive> ZipArchive::Open(std::shared_ptr<const File> file, Sink& sink) {
  const uint64_t size = file->size();
  return OpenPart(std::move(file), 0, size, {}, sink);
}

Result<ZipArchive> ZipArchive::OpenNested(const ZipEntry& entry, Sink& sink) const {
  if (!entry.IsStored()) return Bad(&entry, "the nested archive is compressed; it must be stored", sink);
  FLAMBEAU_TRY(const uint64_t offset, DataOffset(entry, sink));
  return OpenPart(file_, offset, entry.size, prefix_ + entry.name + "!", sink);
}

Result<ZipArchive> ZipArchive::OpenPart(std::shared_ptr<const File> file, uint64_t begin, uint64_t size,
                                        std::string prefix, Sink& sink) {
  ZipArchive archive(std::move(file), std::move(prefix));
  std::string error;
  auto directory = ReadZipDirectory(*archive.file_, begin, size, &error);
  if (!directory) return archive.Bad(nullptr, std::move(error), sink);
  archive.entries_ = std::move(directory->entries);
  archive.index_.reserve(archive.entries_.size());
  for (uint32_t i = 0; i < archive.entries_.size(); ++i) {
    if (!archive.index_.emplace(archive.entries_[i].name, i).second) {
      return archive.Bad(nullptr, "two entries are named " + Quote(archive.entries_[i].name), sink);
    }
  }
  archive.root_ = CommonRoot(archive.entries_);
  return archive;
}

const ZipEntry* ZipArchive::Find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

Result<const ZipEntry*> ZipArchive::Require(std::string_view name, Sink& sink) const {
  if (const ZipEntry* entry = Find(name)) return entry;
  return sink.Error(DiagnosticKind::kMissingEntry, "the archive has no entry " + Quote(name), Where(nullptr));
}

Location ZipArchive::Where(const ZipEntry* entry) const {
  Location location{.file = file_->path(), .entry = prefix_};
  if (entry != nullptr) {
    location.entry += entry->name;
  } else if (!prefix_.empty()) {
    location.entry.pop_back();
  }
  return location;
}

Failure ZipArchive::Bad(const ZipEntry* entry, std::string message, Sink& sink) const {
  return sink.Error(DiagnosticKind::kBadArchive, std::move(message), Where(entry));
}

Result<uint64_t> ZipArchive::FindData(const ZipEntry& entry, Sink& sink) const {
  if (entry.encrypted) return Bad(&entry, "the entry is encrypted", sink);
  ZipLocalHeader header;
  if (!ReadZipLocalHeader(*file_, entry.header_offset, &header)) {
    return Bad(&entry, "there is no local header where the central directory says", sink);
  }
  std::string name(header.name_bytes, '\0');
  const uint64_t name_offset = entry.header_offset + ZipLocalHeader::kBytes;
  if (!file_->Read(name_offset, std::as_writable_bytes(std::span(name))) || name != entry.name ||
      header.method != entry.method) {
    return Bad(&entry, "the local header contradicts the central directory", sink);
  }
  const uint64_t offset = name_offset + header.name_bytes + header.extra_bytes;
  if (offset > entry.end || entry.compressed_size > entry.end - offset) {
    return Bad(&entry, "the data runs into what follows it in the archive", sink);
  }
  return offset;
}

Result<uint64_t> ZipArchive::DataOffset(const ZipEntry& entry, Sink& sink) const {
  if (!entry.IsStored())
    return sink.Error(DiagnosticKind::kBadArchive, "the entry is compressed; its data cannot be used in place", Where(&entry),
                      "pack the archive again without compression, as with zip -0, or save it with PyTorch");
  return FindData(entry, sink);
}

Result<std::string> ZipArchive::Read(const ZipEntry& entry, uint64_t limit, Sink& sink) const {
  if (entry.size > limit) {
    return sink.Error(DiagnosticKind::kLimitExceeded,
                      "the entry has " + std::to_string(entry.size) + " bytes, of which at most " +
                          std::to_string(limit) + " are read",
                      Where(&entry));
  }
  if (entry.method != kStored && entry.method != kDeflated) {
    return Bad(&entry, "compression method " + std::to_string(entry.method) + " is not supported", sink);
  }
  FLAMBEAU_TRY(const uint64_t offset, FindData(entry, sink));
  std::string bytes;
  if (entry.method == kStored) {
    bytes.reserve(entry.size + kRoomBehind);  // FindData has seen that the file has them
    bytes.resize(entry.size);
    if (!file_->Read(offset, std::as_writable_bytes(std::span(bytes)))) {
      return sink.Error(DiagnosticKind::kCannotOpen, "the entry cannot be read", Where(&entry));
    }
  } else {
    FLAMBEAU_TRY(bytes, Inflate(entry, offset, sink));
  }
  if (entry.crc32 != 0 && Crc32(bytes) != entry.crc32) return Bad(&entry, "the checksum (CRC-32) is wrong", sink);
  return bytes;
}

Result<std::string> ZipArchive::Inflate(const ZipEntry& entry, uint64_t offset, Sink& sink) const {
  if (entry.size >= kHarmless && entry.size / kBestRatio > entry.compressed_size) {
    return Bad(&entry,
               "the entry claims to grow to " + std::to_string(entry.size) + " bytes from " +
                   std::to_string(entry.compressed_size),
               sink);
  }
  InflateStream stream;
  if (!stream.ready) return sink.Error(DiagnosticKind::kOutOfMemory, "zlib cannot start", Where(&entry));
  std::vector<std::byte> in(std::min<uint64_t>(kChunk, entry.compressed_size));
  std::vector<std::byte> out(std::min<uint64_t>(kChunk, entry.size + 1));  // one more tells of surplus
  std::string data;
  uint64_t left = entry.compressed_size;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (stream.avail_in == 0 && left > 0) {
      const auto part = std::span(in).first(std::min<uint64_t>(in.size(), left));
      if (!file_->Read(offset, part)) {
        return sink.Error(DiagnosticKind::kCannotOpen, "the entry cannot be read", Where(&entry));
      }
      offset += part.size();
      left -= part.size();
      stream.next_in = reinterpret_cast<Bytef*>(part.data());
      stream.avail_in = static_cast<uInt>(part.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    state = inflate(&stream, Z_NO_FLUSH);
    if (state == Z_BUF_ERROR) return Bad(&entry, "the compressed data ends too early", sink);
    if (state != Z_OK && state != Z_STREAM_END) return Bad(&entry, "the compressed data is damaged", sink);
    data.append(reinterpret_cast<const char*>(out.data()), out.size() - stream.avail_out);
    if (data.size() > entry.size) return Bad(&entry, "the entry inflates to more than the directory says", sink);
  }
  if (data.size() != entry.size || left > 0 || stream.avail_in > 0) {
    return Bad(&entry, "the entry inflates to less than the directory says", sink);
  }
  return data;
}

}  // namespace flambeau
