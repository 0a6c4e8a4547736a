#include "container/zip_directory.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "container/quote.h"

namespace flambeau {
namespace {

constexpr uint64_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46;
constexpr uint32_t kEndSignature = 0x06054b50, kLocatorSignature = 0x07064b50, kEnd64Signature = 0x06064b50,
                   kEntrySignature = 0x02014b50, kLocalSignature = 0x04034b50;
constexpr uint16_t kZip64Extra = 1;
// A few million entries; far more than any model has.
constexpr uint64_t kLargestDirectory = uint64_t{1} << 28;
constexpr size_t kLongestName = 4096;

using Bytes = std::span<const std::byte>;

// Little endian; the caller has checked that the bytes are there.
template <class T>
T Load(Bytes bytes, size_t offset) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= std::to_integer<uint64_t>(bytes[offset + i]) << (8 * i);
  return static_cast<T>(value);
}

std::optional<std::vector<std::byte>> ReadBytes(const File& file, uint64_t offset, uint64_t size) {
  std::vector<std::byte> bytes(size);
  if (!file.Read(offset, bytes)) return std::nullopt;
  return bytes;
}

Failure Fail(std::string* error, std::string what) {
  *error = std::move(what);
  return kFailure;
}

// What the end records say; offsets count from the archive's begin.
struct End {
  uint64_t count, directory_bytes, directory_offset;
  uint64_t offset;  // of the end record itself
};

// The zip64 record takes the place of the end record's fields.
Status ReadEnd64(const File& file, uint64_t begin, Bytes locator, End* end, std::string* error) {
  const uint64_t locator_offset = end->offset - kLocatorBytes;
  const auto offset = Load<uint64_t>(locator, 8);
  if (locator_offset < kEnd64Bytes || offset > locator_offset - kEnd64Bytes) {
    return Fail(error, "the zip64 end record lies outside of the archive");
  }
  const auto record = ReadBytes(file, begin + offset, kEnd64Bytes);
  if (!record || Load<uint32_t>(*record, 0) != kEnd64Signature) {
    return Fail(error, "there is no zip64 end record where the locator says");
  }
  if (Load<uint32_t>(*record, 16) != 0 || Load<uint32_t>(*record, 20) != 0) {
    return Fail(error, "the archive is one part of several");
  }
  // Two answers to one question let two readers see two different archives.
  const auto agrees = [](uint64_t narrow, uint64_t saturated, uint64_t wide) {
    return narrow == saturated || narrow == wide;
  };
  const End wide{Load<uint64_t>(*record, 32), Load<uint64_t>(*record, 40), Load<uint64_t>(*record, 48), offset};
  if (!agrees(end->count, 0xffff, wide.count) || !agrees(end->directory_bytes, 0xffffffff, wide.directory_bytes) ||
      !agrees(end->directory_offset, 0xffffffff, wide.directory_offset)) {
    return Fail(error, "the zip64 end record contradicts the end record");
  }
  *end = wide;
  return {};
}

Result<End> ReadEnd(const File& file, uint64_t begin, uint64_t size, std::string* error) {
  const uint64_t tail_bytes = std::min<uint64_t>(size, kEndBytes + 0xffff);
  const auto tail = ReadBytes(file, begin + size - tail_bytes, tail_bytes);
  if (!tail) return Fail(error, "the end of the file cannot be read");
  // The last record whose comment reaches exactly to the end.
  std::optional<uint64_t> found;
  for (uint64_t at = tail_bytes < kEndBytes ? 0 : tail_bytes - kEndBytes + 1; at-- > 0 && !found;) {
    if (Load<uint32_t>(*tail, at) == kEndSignature && at + kEndBytes + Load<uint16_t>(*tail, at + 20) == tail_bytes) {
      found = at;
    }
  }
  if (!found) return Fail(error, "there is no zip end record; the file is truncated, or no zip archive: copy or save it again");
  const auto record = Bytes(*tail).subspan(*found);
  if (Load<uint16_t>(record, 4) != Load<uint16_t>(record, 6) ||
      Load<uint16_t>(record, 8) != Load<uint16_t>(record, 10)) {
    return Fail(error, "the archive is one part of several");
  }
  End end{Load<uint16_t>(record, 10), Load<uint32_t>(record, 12), Load<uint32_t>(record, 16),
          size - tail_bytes + *found};
  if (end.offset < kLocatorBytes) return end;
  const auto locator = ReadBytes(file, begin + end.offset - kLocatorBytes, kLocatorBytes);
  if (locator && Load<uint32_t>(*locator, 0) == kLocatorSignature) {
    FLAMBEAU_CHECK_OK(ReadEnd64(file, begin, *locator, &end, error));
  }
  return end;
}

// Replaces the saturated fields of `entry` by those of the zip64 extra field.
bool ReadExtra(Bytes extra, ZipEntry* entry, bool* complete) {
  uint64_t* wanted[] = {&entry->size, &entry->compressed_size, &entry->header_offset};
  *complete = std::none_of(std::begin(wanted), std::end(wanted), [](const uint64_t* w) { return *w == 0xffffffff; });
  while (extra.size() >= 4) {
    const auto tag = Load<uint16_t>(extra, 0);
    const size_t bytes = Load<uint16_t>(extra, 2);
    if (bytes > extra.size() - 4) return false;
    if (tag == kZip64Extra && !*complete) {
      Bytes field = extra.subspan(4, bytes);
      for (uint64_t* w : wanted) {
        if (*w != 0xffffffff) continue;
        if (field.size() < 8) return false;
        *w = Load<uint64_t>(field, 0);
        field = field.subspan(8);
      }
      *complete = true;
    }
    extra = extra.subspan(4 + bytes);
  }
  return true;
}

// What is wrong with a name, or null.
const char* NameFault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kLongestName) return "is longer than 4096 bytes";
  if (!IsUtf8(name)) return "is not UTF-8";
  if (std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
    return "has control characters";
  }
  return nullptr;
}

// One record of the directory; moves `rest` past it.
Result<ZipEntry> ReadEntry(Bytes* rest, uint64_t begin, std::string* error) {
  if (rest->size() < kEntryBytes || Load<uint32_t>(*rest, 0) != kEntrySignature) {
    return Fail(error, "the central directory is damaged, or shorter than the end record says");
  }
  const size_t name_bytes = Load<uint16_t>(*rest, 28), extra_bytes = Load<uint16_t>(*rest, 30),
               comment_bytes = Load<uint16_t>(*rest, 32);
  if (rest->size() - kEntryBytes < name_bytes + extra_bytes + comment_bytes) {
    return Fail(error, "the central directory ends in the middle of an entry");
  }
  ZipEntry entry;
  const auto name = rest->subspan(kEntryBytes, name_bytes);
  entry.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  if (const char* fault = NameFault(entry.name)) {
    return Fail(error, "the name of an entry " + std::string(fault) + ": " + Quote(entry.name));
  }
  entry.encrypted = (Load<uint16_t>(*rest, 8) & 1) != 0;
  entry.method = Load<uint16_t>(*rest, 10);
  entry.crc32 = Load<uint32_t>(*rest, 16);
  entry.compressed_size = Load<uint32_t>(*rest, 20);
  entry.size = Load<uint32_t>(*rest, 24);
  entry.header_offset = Load<uint32_t>(*rest, 42);
  bool complete = false;
  if (!ReadExtra(rest->subspan(kEntryBytes + name_bytes, extra_bytes), &entry, &complete) || !complete) {
    return Fail(error, "the extra field of entry " + Quote(entry.name) + " is damaged, or lacks its zip64 sizes");
  }
  // Reports nonsense without wrapping around.
  entry.header_offset = entry.header_offset > UINT64_MAX - begin ? UINT64_MAX : begin + entry.header_offset;
  *rest = rest->subspan(kEntryBytes + name_bytes + extra_bytes + comment_bytes);
  return entry;
}

// Every entry ends before the next one begins, the last before the directory.
Status CheckLayout(std::vector<ZipEntry>& entries, uint64_t directory, std::string* error) {
  std::vector<ZipEntry*> order;
  for (ZipEntry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const ZipEntry* a, const ZipEntry* b) {
    return a->header_offset != b->header_offset ? a->header_offset < b->header_offset : a < b;
  });
  for (size_t i = 0; i < order.size(); ++i) {
    ZipEntry& entry = *order[i];
    const bool last = i + 1 == order.size();
    entry.end = last ? directory : std::min(directory, order[i + 1]->header_offset);
    const uint64_t least = ZipLocalHeader::kBytes + entry.name.size();
    if (entry.header_offset > directory || entry.compressed_size > directory - entry.header_offset ||
        least > directory - entry.header_offset - entry.compressed_size) {
      return Fail(error, "entry " + Quote(entry.name) + " reaches beyond the archive's data");
    }
    if (least + entry.compressed_size > entry.end - entry.header_offset) {
      return Fail(error, "entries " + Quote(entry.name) + " and " + Quote(order[i + 1]->name) + " overlap");
    }
    if (entry.IsStored() && entry.size != entry.compressed_size) {
      return Fail(error, "entry " + Quote(entry.name) + " is stored, but its two sizes differ");
    }
  }
  return {};
}

}  // namespace

Result<ZipDirectory> ReadZipDirectory(const File& file, uint64_t begin, uint64_t size, std::string* error) {
  FLAMBEAU_TRY(const End end, ReadEnd(file, begin, size, error));
  if (end.directory_offset > end.offset || end.directory_bytes > end.offset - end.directory_offset) {
    return Fail(error, "the central directory lies outside of the archive");
  }
  if (end.directory_bytes > kLargestDirectory) return Fail(error, "the central directory is larger than 256 MiB");
  if (end.count > end.directory_bytes / kEntryBytes) {
    return Fail(error, "the archive claims " + std::to_string(end.count) + " entries, but its directory has only " +
                           std::to_string(end.directory_bytes) + " bytes");
  }
  const auto bytes = ReadBytes(file, begin + end.directory_offset, end.directory_bytes);
  if (!bytes) return Fail(error, "the central directory cannot be read");
  ZipDirectory directory{{}, begin + end.directory_offset};
  directory.entries.reserve(end.count);
  Bytes rest(*bytes);
  for (uint64_t i = 0; i < end.count; ++i) {
    FLAMBEAU_TRY(ZipEntry entry, ReadEntry(&rest, begin, error));
    directory.entries.push_back(std::move(entry));
  }
  if (!rest.empty()) return Fail(error, "the central directory has more entries than the end record says");
  FLAMBEAU_CHECK_OK(CheckLayout(directory.entries, directory.offset, error));
  return directory;
}

bool ReadZipLocalHeader(const File& file, uint64_t offset, ZipLocalHeader* header) {
  std::byte bytes[ZipLocalHeader::kBytes];
  if (!file.Read(offset, bytes) || Load<uint32_t>(bytes, 0) != kLocalSignature) return false;
  *header = {Load<uint16_t>(bytes, 6), Load<uint16_t>(bytes, 8), Load<uint16_t>(bytes, 26), Load<uint16_t>(bytes, 28)};
  return true;
}

}  // namespace flambeau
