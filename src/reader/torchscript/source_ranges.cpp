#include "reader/torchscript/source_ranges.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace flambeau::torchscript {
namespace {

constexpr std::string_view kWithStrings = "FORMAT_WITH_STRING_TABLE";
// Texts are lists of lines, which can be few and each be listed often; this bounds what all texts of a file come to.
constexpr size_t kMaxTextBytes = size_t{256} << 20;
constexpr size_t kUnread = static_cast<size_t>(-1);  // a text that makes no sense

// (text, filename, first line): strings, or positions in a table of strings,
// where the text is a list of positions of its lines.
class TextReader {
 public:
  explicit TextReader(std::optional<PickleValue> strings) : strings_(strings) {}

  std::optional<std::string> String(PickleValue value) const {
    if (const auto text = value.AsString()) return std::string(*text);
    const auto index = value.AsInt();
    if (!strings_ || !index || *index < 0 || *index >= strings_->size()) return std::nullopt;
    const auto text = (*strings_)[static_cast<uint32_t>(*index)].AsString();
    return text ? std::optional(std::string(*text)) : std::nullopt;
  }
  std::optional<std::string> Text(PickleValue value) {
    if (value.kind() == PickleKind::kCall && value.args().size() == 1) value = value.args()[0];  // build_intlist(…)
    if (value.kind() != PickleKind::kList) return String(value);
    std::string text;
    for (uint32_t i = 0; i < value.size() && bytes_ < kMaxTextBytes; ++i) {
      const auto line = String(value[i]);
      if (!line) return std::nullopt;
      text += *line;
      bytes_ += line->size() + 1;  // an empty line takes its time, too
    }
    return text;
  }

 private:
  std::optional<PickleValue> strings_;
  size_t bytes_ = 0;  // of texts that were read line by line
};

std::vector<size_t> LineStarts(std::string_view text) {
  std::vector<size_t> starts = {0};
  for (size_t newline = text.find('\n'); newline != text.npos; newline = text.find('\n', newline + 1)) starts.push_back(newline + 1);
  return starts;
}

// Traced nodes have a stack of "file.py(17): function", innermost first.
std::string FromTrace(std::string_view stack) {
  std::vector<std::string> frames;
  while (!stack.empty()) {
    const size_t newline = stack.find('\n');
    const std::string_view frame = stack.substr(0, newline);
    stack.remove_prefix(newline == stack.npos ? stack.size() : newline + 1);
    const size_t open = frame.rfind('('), close = frame.find("):", open == frame.npos ? 0 : open);
    if (open == frame.npos || close == frame.npos) continue;
    std::string_view function = frame.substr(close + 2);
    while (function.starts_with(' ')) function.remove_prefix(1);
    frames.push_back(fmt::format("  File \"{}\", line {}, in {}\n", frame.substr(0, open), frame.substr(open + 1, close - open - 1), function));
  }
  std::ranges::reverse(frames);
  return fmt::format("{}", fmt::join(frames, ""));
}

}  // namespace

void SourceRanges::Add(const std::string& path, const Pickle& ranges) {
  PickleValue records = ranges.root();
  std::optional<PickleValue> strings;
  if (records.kind() == PickleKind::kTuple && records.size() == 3 && records[0].AsString() == kWithStrings) {
    strings = records[1];
    records = records[2];
  }
  TextReader reader(strings);
  File file;
  std::unordered_map<uint64_t, size_t> by_value;     // texts by their place in the pickle, which many ranges share
  std::unordered_map<std::string, size_t> by_words;  // and by all that they say
  size_t bytes = 0;
  for (uint32_t i = 0; i < records.size(); ++i) {
    const PickleValue record = records[i];
    if (record.size() < 2 || !record[0].AsInt() || record[1].size() != 3) continue;
    const PickleValue source = record[1][0];
    if (source.size() < 3 || !source[2].AsInt() || !record[1][1].AsInt() || *record[1][1].AsInt() < 0) continue;
    const auto [known, unseen] = by_value.try_emplace(source.offset(), kUnread);
    if (unseen) {
      const auto body = reader.Text(source[0]);
      if (!body) continue;
      bytes += body->size();
      if (bytes > kMaxTextBytes) break;
      const std::string filename = reader.String(source[1]).value_or("");
      const int64_t first_line = *source[2].AsInt();
      const auto [text, is_new] = by_words.try_emplace(fmt::format("{}\n{}:{}", *body, filename, first_line), file.texts.size());
      if (is_new) file.texts.push_back({*body, filename, first_line, LineStarts(*body)});
      known->second = text->second;
    }
    if (known->second == kUnread) continue;
    file.ranges.push_back({*record[0].AsInt(), known->second, static_cast<uint64_t>(*record[1][1].AsInt())});
  }
  std::ranges::stable_sort(file.ranges, {}, &Range::offset);
  files_[path] = std::move(file);
}

Source SourceRanges::Find(const SourceFile& source, uint32_t offset) {
  const auto found = files_.find(source.path);
  if (found == files_.end()) return nullptr;
  File& file = found->second;
  auto range = std::ranges::upper_bound(file.ranges, int64_t{offset}, {}, &Range::offset);
  if (range == file.ranges.begin()) return nullptr;
  --range;
  const Text& text = file.texts[range->text];
  if (text.text.empty()) return nullptr;
  const size_t begin = std::min<size_t>(range->begin, text.text.size());
  const auto next_line = std::ranges::upper_bound(text.line_starts, begin);
  const auto line = next_line - text.line_starts.begin() - 1;
  // A text without a file is a stack, whatever its lines are.
  Source& made = file.made[{range->text, text.filename.empty() ? 0 : static_cast<uint64_t>(line)}];
  if (made) return made;
  if (text.filename.empty()) {
    std::string traceback = FromTrace(text.text);
    if (traceback.empty()) return nullptr;
    return made = std::make_shared<const std::string>(std::move(traceback));
  }
  const size_t first = *std::prev(next_line);
  std::string_view code = std::string_view(text.text).substr(first, text.text.find('\n', first) - first);
  while (code.starts_with(' ')) code.remove_prefix(1);
  return made = std::make_shared<const std::string>(
             fmt::format("  File \"{}\", line {}\n    {}\n", text.filename, text.first_line + line, code));
}

}  // namespace flambeau::torchscript
