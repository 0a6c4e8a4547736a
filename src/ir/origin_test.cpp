#include "ir/origin.h"

#include <gtest/gtest.h>

namespace flambeau {
namespace {

std::string Frame(std::string_view path, int line) {
  return "  File \"" + std::string(path) + "\", line " + std::to_string(line) + ", in forward\n    return x\n";
}

TEST(OriginTest, NamesTheInnermostLineOfTheUser) {
  EXPECT_EQ(SourceLine(""), "");
  EXPECT_EQ(SourceLine("no frame here"), "");
  EXPECT_EQ(SourceLine("File \"a.py"), "");
  EXPECT_EQ(SourceLine(Frame("/home/me/", 3)), "");
  EXPECT_EQ(SourceLine("File \"a.py\", line x"), "");
  EXPECT_EQ(SourceLine(Frame("/home/me/net.py", 3) + Frame("/home/me/block.py", 17)), "block.py:17");
  EXPECT_EQ(SourceLine(Frame("C:\\me\\net.py", 3)), "net.py:3");
  EXPECT_EQ(
      SourceLine(Frame("/home/me/net.py", 3) + Frame("/usr/lib/python3/site-packages/torch/nn/modules/linear.py", 134)),
      "net.py:3");
  EXPECT_EQ(SourceLine(Frame("/home/me/torch/net.py", 3) + Frame("<eval_with_key>.7", 5)), "net.py:3");
  EXPECT_EQ(SourceLine(Frame("/v/site-packages/torch/a.py", 1) + Frame("/v/site-packages/torch/b.py", 2)), "b.py:2");
}

}  // namespace
}  // namespace flambeau
