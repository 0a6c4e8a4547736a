#include "container/zip.h"

#include <gtest/gtest.h>

#include <cstring>

#include "container/archive_builder_test.h"
#include "container/memory_file.h"

namespace flambeau {
namespace {

using testing::Deflated;
using testing::FirstError;
using testing::Pack;
using testing::Stored;
using testing::ZipItem;

constexpr uint64_t kLimit = 1 << 20;

// The first error of opening the archive and reading all of it; "" if there is none.
std::string Fault(const std::string& bytes) {
  Sink sink;
  auto archive = ZipArchive::Open(MemoryFile(bytes), sink);
  EXPECT_EQ(!archive, sink.HasErrors());
  if (!archive) return FirstError(sink);
  for (const ZipEntry& entry : archive->entries()) {
    if (!archive->Read(entry, kLimit, sink)) {
      EXPECT_TRUE(sink.HasErrors());
      break;
    }
  }
  return FirstError(sink);
}

std::string Sample() {
  return Pack(
      {Stored("m/data.pkl", "data"), Deflated("m/code/a.py", std::string(500, 'x')), Stored("m/data/0", "1234")});
}

TEST(ZipTest, ReadsStoredAndDeflatedEntries) {
  Sink sink;
  auto archive = ZipArchive::Open(MemoryFile(Sample()), sink);
  ASSERT_TRUE(archive) << FirstError(sink);
  EXPECT_EQ(archive->root(), "m/");
  ASSERT_EQ(archive->entries().size(), 3u);
  EXPECT_EQ(archive->entries()[1].name, "m/code/a.py");
  const ZipEntry* code = archive->Find("m/code/a.py");
  ASSERT_NE(code, nullptr);
  auto text = archive->Read(*code, kLimit, sink);
  ASSERT_TRUE(text) << FirstError(sink);
  EXPECT_EQ(*text, std::string(500, 'x'));
  EXPECT_EQ(archive->Find("data.pkl"), nullptr);
  EXPECT_FALSE(archive->Require("m/no", sink));
  EXPECT_EQ(FirstError(sink), "missing-entry: the archive has no entry 'm/no'");
}

TEST(ZipTest, GivesTheOffsetOfStoredData) {
  ZipItem padded = Stored("a", "weights");
  padded.padding = std::string(37, 'Z');
  const std::string bytes = Pack({padded});
  Sink sink;
  auto archive = ZipArchive::Open(MemoryFile(bytes), sink);
  ASSERT_TRUE(archive);
  auto offset = archive->DataOffset(archive->entries()[0], sink);
  ASSERT_TRUE(offset);
  EXPECT_EQ(bytes.substr(*offset, 7), "weights");
}

TEST(ZipTest, OpensAnArchiveInsideAnArchive) {
  const std::string bytes =
      Pack({Stored("in.pt", Pack({Stored("x/a", "inside"), Deflated("x/b", "more")})), Stored("v", "1")});
  Sink sink;
  auto outer = ZipArchive::Open(MemoryFile(bytes), sink);
  ASSERT_TRUE(outer);
  EXPECT_EQ(outer->root(), "");
  auto inner = outer->OpenNested(*outer->Find("in.pt"), sink);
  ASSERT_TRUE(inner) << FirstError(sink);
  EXPECT_EQ(inner->root(), "x/");
  auto offset = inner->DataOffset(*inner->Find("x/a"), sink);
  ASSERT_TRUE(offset);
  EXPECT_EQ(bytes.substr(*offset, 6), "inside");
  EXPECT_EQ(inner->Where(inner->Find("x/b")).entry, "in.pt!x/b");
  EXPECT_EQ(inner->Where(nullptr).entry, "in.pt");
}

TEST(ZipTest, ReadsZip64AndComments) {
  ZipItem wide = Stored("a", "wide");
  wide.zip64 = true;
  EXPECT_EQ(Fault(Pack({Stored("b", "first"), wide}, {.comment = "PK\5\6 not the end", .zip64 = true})), "");
  EXPECT_EQ(Fault(Pack({})), "");
}

TEST(ZipTest, RefusesEveryTruncation) {
  const std::string bytes = Sample();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(Fault(bytes.substr(0, size)).starts_with("bad-archive")) << size;
  }
}

TEST(ZipTest, SurvivesEveryBitFlip) {
  const std::string bytes = Sample();
  const size_t data = bytes.find("1234");
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string broken = bytes;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    const std::string fault = Fault(broken);
    const bool in_data = bit / 8 >= data && bit / 8 < data + 4;  // where the checksum sees it
    EXPECT_TRUE(!in_data || !fault.empty()) << bit;
  }
}

TEST(ZipTest, VerifiesChecksumsUnlessThereIsNone) {
  ZipItem item = Stored("a", "data");
  item.crc32 ^= 1;
  EXPECT_EQ(Fault(Pack({item})), "bad-archive: the checksum (CRC-32) is wrong [a]");
  item.crc32 = 0;
  EXPECT_EQ(Fault(Pack({item})), "");
}

TEST(ZipTest, RefusesOverlappingEntries) {
  ZipItem thief = Stored("b", "data");
  thief.fixed_offset = true;
  thief.offset = 0;
  EXPECT_EQ(Fault(Pack({Stored("a", "data"), thief})), "bad-archive: entries 'a' and 'b' overlap");
  thief.offset = 10;
  EXPECT_EQ(Fault(Pack({Stored("a", "data"), thief})), "bad-archive: entries 'a' and 'b' overlap");
}

TEST(ZipTest, RefusesDataThatRunsIntoTheNextEntry) {
  // The directory leaves room for the data, but the local header's extra field moves it.
  std::string bytes = Pack({Stored("a", "data"), Stored("b", "data")});
  bytes[28] = 4;
  EXPECT_EQ(Fault(bytes), "bad-archive: the data runs into what follows it in the archive [a]");
}

TEST(ZipTest, RefusesSizesBeyondTheFile) {
  ZipItem huge = Stored("a", "data");
  huge.zip64 = true;
  huge.offset = UINT64_MAX - 8;
  huge.fixed_offset = true;
  EXPECT_EQ(Fault(Pack({huge})), "bad-archive: entry 'a' reaches beyond the archive's data");
  ZipItem liar = Stored("a", "data");
  liar.size = 5;
  EXPECT_EQ(Fault(Pack({liar})), "bad-archive: entry 'a' is stored, but its two sizes differ");
}

TEST(ZipTest, RefusesDirectoriesThatLie) {
  EXPECT_EQ(Fault(Pack({Stored("a", "x")}, {.zip64 = true, .count = int64_t{1} << 60})),
            "bad-archive: the archive claims 1152921504606846976 entries, but its directory has only 47 bytes");
  EXPECT_EQ(Fault(Pack({Stored("a", "x")}, {.count = 0})),
            "bad-archive: the central directory has more entries than the end record says");
  EXPECT_EQ(Fault(Pack({Stored("a", "x")}, {.zip64 = true, .directory_offset = INT64_MAX})),
            "bad-archive: the central directory lies outside of the archive");
  EXPECT_EQ(Fault(Pack({Stored("a", "x")}, {.directory_size = 46})),
            "bad-archive: the central directory ends in the middle of an entry");
}

TEST(ZipTest, RefusesAbsurdNames) {
  EXPECT_EQ(Fault(Pack({Stored("", "x")})), "bad-archive: the name of an entry is empty: ''");
  EXPECT_EQ(Fault(Pack({Stored("a\n", "x")})), "bad-archive: the name of an entry has control characters: 'a\\x0a'");
  EXPECT_EQ(Fault(Pack({Stored("\xff", "x")})), "bad-archive: the name of an entry is not UTF-8: '\\xff'");
  EXPECT_TRUE(
      Fault(Pack({Stored(std::string(5000, 'n'), "x")})).starts_with("bad-archive: the name of an entry is longer"));
  EXPECT_EQ(Fault(Pack({Stored("a", "x"), Stored("a", "y")})), "bad-archive: two entries are named 'a'");
}

TEST(ZipTest, StopsBombs) {
  ZipItem bomb = Deflated("bomb", std::string(kLimit + 1, '\0'));
  EXPECT_EQ(Fault(Pack({bomb})),
            "limit-exceeded: the entry has 1048577 bytes, of which at most 1048576 are read [bomb]");
  bomb.size = 10;  // the directory plays it down
  EXPECT_EQ(Fault(Pack({bomb})), "bad-archive: the entry inflates to more than the directory says [bomb]");
  ZipItem claim = Deflated("claim", "x");
  claim.size = kLimit;
  EXPECT_EQ(Fault(Pack({claim})), "bad-archive: the entry claims to grow to 1048576 bytes from 3 [claim]");
}

TEST(ZipTest, LocatesDamagedCompressedData) {
  ZipItem cut = Deflated("a", "some text that is long enough");
  cut.data.pop_back();
  EXPECT_EQ(Fault(Pack({cut})), "bad-archive: the compressed data ends too early [a]");
  ZipItem more = Deflated("a", "some text");
  more.data += "tail";
  EXPECT_EQ(Fault(Pack({more})), "bad-archive: the entry inflates to less than the directory says [a]");
  ZipItem odd = Stored("a", "data");
  odd.method = 12;
  EXPECT_EQ(Fault(Pack({odd})), "bad-archive: compression method 12 is not supported [a]");
}

}  // namespace
}  // namespace flambeau
