// Builds zip archives for tests, byte by byte, so that a test can lie in any
// field; and shows what was reported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diag/sink.h"

namespace flambeau::testing {

std::string Deflate(std::string_view bytes);
// "bad-archive: message [entry]" for the first diagnostic; empty if there is none.
std::string FirstError(const Sink& sink);

struct ZipItem {
  std::string name;
  std::string data;    // as it is stored
  uint64_t size = 0;   // inflated; data.size() for stored items
  uint32_t crc32 = 0;  // of the inflated data
  uint16_t method = 0;
  uint64_t offset = 0;  // of the local header; set by Pack unless fixed
  bool fixed_offset = false;
  bool zip64 = false;   // put sizes and offset into the extra field
  std::string padding;  // extra field of the local header
};
ZipItem Stored(std::string name, std::string data);
ZipItem Deflated(std::string name, std::string_view data);

struct ZipLayout {
  std::string comment;
  bool zip64 = false;  // write a zip64 end record, and saturate the other
  int64_t count = -1;  // claimed; -1: the truth
  int64_t directory_offset = -1;
  int64_t directory_size = -1;
};
std::string Pack(std::vector<ZipItem> items, const ZipLayout& layout = {});

}  // namespace flambeau::testing
