#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "container/archive_builder_test.h"
#include "flambeau/convert.h"

namespace flambeau {
namespace {

using testing::Pack;
using testing::Stored;

// What reading a file with these bytes reports first.
std::string Fault(const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "flambeau_read_test";
  std::ofstream(path, std::ios::binary) << bytes;
  std::vector<Diagnostic> diagnostics;
  EXPECT_FALSE(ReadProgram(path, diagnostics));
  std::remove(path.c_str());
  if (diagnostics.empty()) return {};
  EXPECT_EQ(diagnostics[0].location.file, path);
  return std::string(Slug(diagnostics[0].kind)) + ": " + diagnostics[0].message;
}

TEST(ReadTest, SaysWhatAFileIsInstead) {
  EXPECT_EQ(Fault(""), "unknown-format: the file is empty");
  EXPECT_EQ(Fault("hello"), "unknown-format: the file is no zip archive");
  EXPECT_EQ(Fault("\x80\x02}q"), "unknown-format: the file is a pickle, perhaps of PyTorch's format before 1.6");
  EXPECT_EQ(Fault("....PTMF...."), "unknown-format: the file is a flatbuffer of PyTorch Mobile, which holds bytecode and no code");
  EXPECT_EQ(Fault("\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M"),
            "unknown-format: the file holds pickled objects in torch.save's format before 1.6");
  EXPECT_EQ(Fault(std::string(257, 'x') + "ustar"), "unknown-format: the file is a tar archive, as torch.save wrote them before 0.1.10");
  EXPECT_EQ(Fault(std::string("\x40\0\0\0\0\0\0\0{\"w\"", 12)), "unknown-format: the file looks like safetensors");
  EXPECT_EQ(Fault(Pack({Stored("a/b", "c")})), "unknown-format: the file is a zip archive, but not one of PyTorch's");
  EXPECT_EQ(Fault(Pack({Stored("m/m/net.pkl", "x"), Stored("m/.data/extern_modules", "torch")})),
            "unknown-format: the file is one of torch.package, which holds Python code and pickled objects");
  EXPECT_EQ(Fault(Pack({Stored("m/data.pkl", "x"), Stored("m/version", "3")})),
            "unknown-format: the file holds pickled objects, as torch.save writes them, and no program");
  EXPECT_EQ(Fault(Pack({Stored("m/data.pkl", "\x80\2}(U\5epochK\1U\5modelNu.")})),
            "unknown-format: the file holds pickled objects, as torch.save writes them, and no program: "
            "a dictionary with the keys 'epoch', 'model'");
  EXPECT_EQ(Fault(Pack({Stored("m/data.pkl", "\x80\2cmine.net\nNet\n)R.")})),
            "unknown-format: the file holds pickled objects, as torch.save writes them, and no program: "
            "an object of the class 'mine.net.Net'");
  // A TorchScript archive, read as one.
  EXPECT_EQ(Fault(Pack({Stored("m/data.pkl", "x"), Stored("m/constants.pkl", "x")})),
            "bad-pickle: this opcode is not supported (at byte 0, opcode 'x')");
  EXPECT_EQ(Fault("PK\x03\x04"), "bad-archive: there is no zip end record; the file is truncated, or no zip archive: copy or save it again");
}

TEST(ReadTest, ReportsAFileThatIsNotThere) {
  std::vector<Diagnostic> diagnostics;
  EXPECT_FALSE(ReadProgram("/nowhere/model.pt2", diagnostics));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].kind, DiagnosticKind::kCannotOpen);
}

}  // namespace
}  // namespace flambeau
