// The central directory of a zip archive, as bytes become entries. Internal to
// zip.cpp, apart because it is all there is to know about the format's records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "container/zip.h"

namespace flambeau {

struct ZipDirectory {
  std::vector<ZipEntry> entries;
  uint64_t offset = 0;  // where the directory begins in the file
};

// Reads the directory of the archive that fills [begin, begin + size) of the
// file. On failure `*error` says what is wrong.
Result<ZipDirectory> ReadZipDirectory(const File& file, uint64_t begin, uint64_t size, std::string* error);

// The fields of a local header that can be compared with the directory's.
struct ZipLocalHeader {
  static constexpr uint64_t kBytes = 30;
  uint16_t flags, method, name_bytes, extra_bytes;
};
// False if the signature is not there, or the file ends.
bool ReadZipLocalHeader(const File& file, uint64_t offset, ZipLocalHeader* header);

}  // namespace flambeau
