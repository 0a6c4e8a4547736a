#include "reader/torchscript/source_ranges.h"

#include <gtest/gtest.h>

namespace flambeau::torchscript {
namespace {

using namespace std::string_literals;

std::string Text(std::string_view text) { return "X" + std::string(1, static_cast<char>(text.size())) + "\0\0\0"s + std::string(text); }
std::string Number(int value) { return "K" + std::string(1, static_cast<char>(value)); }
// (offset, ((text, filename, first line), begin, end), tag)
std::string Record(int offset, const std::string& text, const std::string& filename, int line, int begin) {
  return "(" + Number(offset) + "((" + text + filename + Number(line) + "t" + Number(begin) + Number(begin) + "t" + Number(0) + "t";
}

// The traceback of each offset, of a file with those ranges.
std::vector<std::string> Found(const std::string& pickle, std::vector<uint32_t> offsets) {
  Sink sink;
  const auto parsed = Pickle::Parse("\x80\x02" + pickle + ".", {}, sink);
  if (!parsed) return {sink.diagnostics().at(0).message};
  SourceRanges ranges;
  ranges.Add("a.py", *parsed);
  const SourceFile file = {"a.py", "", {}};
  std::vector<std::string> found;
  for (const uint32_t offset : offsets) {
    const Source source = ranges.Find(file, offset);
    found.push_back(source ? *source : "");
  }
  return found;
}

TEST(TorchScriptSourceRanges, NamesTheUsersLines) {
  const std::string text = Text("  def f(x):\n    y = x\n    return y\n"), name = Text("model.py");
  const auto found = Found("(" + Record(5, text, name, 7, 12) + Record(9, text, name, 7, 30) + "t", {4, 5, 8, 9, 1000});
  EXPECT_EQ(found, (std::vector<std::string>{"", "  File \"model.py\", line 8\n    y = x\n", "  File \"model.py\", line 8\n    y = x\n",
                                             "  File \"model.py\", line 9\n    return y\n", "  File \"model.py\", line 9\n    return y\n"}));
}

TEST(TorchScriptSourceRanges, ReadsTheTableOfStrings) {
  const std::string table = "(" + Text("") + Text("  a\n") + Text("  b\n") + Text("model.py") + "t";
  const std::string record = Record(0, "](K\x01K\x02""e", Number(3), 20, 4);
  EXPECT_EQ(Found("(" + Text("FORMAT_WITH_STRING_TABLE") + table + "(" + record + "tt", {0})[0], "  File \"model.py\", line 21\n    b\n");
}

TEST(TorchScriptSourceRanges, TurnsTheStacksOfTracesRound) {
  const std::string stack = Text("nn/linear.py(116): forward\nmodel.py(5): forward\ntrain.py(9): <module>\n");
  EXPECT_EQ(Found("(" + Record(0, stack, Text(""), 0, 0) + "t", {3})[0],
            "  File \"train.py\", line 9, in <module>\n  File \"model.py\", line 5, in forward\n  File \"nn/linear.py\", line 116, in forward\n");
}

TEST(TorchScriptSourceRanges, LeavesOutWhatMakesNoSense) {
  EXPECT_EQ(Found("(" + Record(0, Number(9), Text(""), 1, 0) + Text("x") + "(K\x01K\x02K\x03tt", {0, 7}), (std::vector<std::string>{"", ""}));
}

}  // namespace
}  // namespace flambeau::torchscript
