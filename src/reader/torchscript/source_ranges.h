// Where in the user's Python the serialized code comes from: what PyTorch keeps
// beside each file of code, in "….py.debug_pkl".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "container/pickle.h"
#include "reader/torchscript/graph.h"
#include "reader/torchscript/lexer.h"

namespace flambeau::torchscript {

class SourceRanges {
 public:
  // Takes the ranges of that file over. What is malformed is left out: the code
  // means the same without it.
  void Add(const std::string& path, const Pickle& ranges);
  // Of a byte of the file, as a Python traceback; null where nothing is known.
  Source Find(const SourceFile& file, uint32_t offset);

 private:
  struct Range {
    int64_t offset;  // in the serialized code, from which it holds
    size_t text;     // in `texts`
    uint64_t begin;  // in the text
  };
  struct Text {
    std::string text;
    std::string filename;
    int64_t first_line;
    std::vector<size_t> line_starts;  // positions in `text`
  };
  struct File {
    std::vector<Text> texts;
    std::vector<Range> ranges;
    std::map<std::pair<size_t, uint64_t>, Source> made;  // by text and line
  };
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace flambeau::torchscript
