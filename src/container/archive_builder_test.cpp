#include "container/archive_builder_test.h"

#include <zlib.h>

#include <cstdlib>

namespace flambeau::testing {
namespace {

void Put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

uint32_t Crc(std::string_view data) {
  return static_cast<uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
}

// What local headers and directory entries have in common.
void PutCommon(std::string& out, const ZipItem& item, bool local) {
  Put(out, 20, 2);
  Put(out, local ? 8 : 0, 2);  // sizes follow in a data descriptor, as torch has it
  Put(out, item.method, 2);
  Put(out, 0, 4);
  Put(out, local ? 0 : item.crc32, 4);
  Put(out, local ? 0 : item.zip64 ? 0xffffffff : item.data.size(), 4);
  Put(out, local ? 0 : item.zip64 ? 0xffffffff : item.size, 4);
  Put(out, item.name.size(), 2);
}

}  // namespace

std::string Deflate(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string FirstError(const Sink& sink) {
  if (sink.diagnostics().empty()) return {};
  const Diagnostic& first = sink.diagnostics().front();
  std::string text = std::string(Slug(first.kind)) + ": " + first.message;
  if (!first.location.entry.empty()) text += " [" + first.location.entry + "]";
  return text;
}

ZipItem Stored(std::string name, std::string data) {
  const auto size = data.size();
  const auto crc = Crc(data);
  return {.name = std::move(name), .data = std::move(data), .size = size, .crc32 = crc};
}

ZipItem Deflated(std::string name, std::string_view data) {
  return {.name = std::move(name), .data = Deflate(data), .size = data.size(), .crc32 = Crc(data), .method = 8};
}

std::string Pack(std::vector<ZipItem> items, const ZipLayout& layout) {
  std::string out;
  for (ZipItem& item : items) {
    if (!item.fixed_offset) item.offset = out.size();
    out += "PK\3\4";
    PutCommon(out, item, true);
    Put(out, item.padding.size(), 2);
    out += item.name + item.padding + item.data;
  }
  const uint64_t begin = out.size();
  for (const ZipItem& item : items) {
    std::string extra;
    if (item.zip64) {
      Put(extra, 1, 2);
      Put(extra, 24, 2);
      Put(extra, item.size, 8);
      Put(extra, item.data.size(), 8);
      Put(extra, item.offset, 8);
    }
    out += "PK\1\2";
    Put(out, 20, 2);
    PutCommon(out, item, false);
    Put(out, extra.size(), 2);
    Put(out, 0, 8);  // comment, disk, attributes
    Put(out, 0, 2);
    Put(out, item.zip64 ? 0xffffffff : item.offset, 4);
    out += item.name + extra;
  }
  const uint64_t size = layout.directory_size < 0 ? out.size() - begin : static_cast<uint64_t>(layout.directory_size);
  const uint64_t count = layout.count < 0 ? items.size() : static_cast<uint64_t>(layout.count);
  const uint64_t offset = layout.directory_offset < 0 ? begin : static_cast<uint64_t>(layout.directory_offset);
  if (layout.zip64) {
    const uint64_t end = out.size();
    out += "PK\6\6";
    Put(out, 44, 8);
    Put(out, 45, 2);
    Put(out, 45, 2);
    Put(out, 0, 8);
    Put(out, count, 8);
    Put(out, count, 8);
    Put(out, size, 8);
    Put(out, offset, 8);
    out += "PK\6\7";
    Put(out, 0, 4);
    Put(out, end, 8);
    Put(out, 1, 4);
  }
  out += "PK\5\6";
  Put(out, 0, 4);
  Put(out, layout.zip64 ? 0xffff : count, 2);
  Put(out, layout.zip64 ? 0xffff : count, 2);
  Put(out, layout.zip64 ? 0xffffffff : size, 4);
  Put(out, layout.zip64 ? 0xffffffff : offset, 4);
  Put(out, layout.comment.size(), 2);
  return out + layout.comment;
}

}  // namespace flambeau::testing
