#include "reader/torchscript/source_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace flambeau::torchscript {
namespace {

constexpr std::string_view kWithStrings = "FORMAT_WITH_STRING_TABLE";
// Many ranges say the same text; this bounds what all texts of a file come to.
constexpr size_t kMaxTextBytes = size_t{64} << 20;

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
  std::optional<std::string> Text(PickleValue value) const {
    if (value.kind() == PickleKind::kCall && value.args().size() == 1) value = value.args()[0];  // build_intlist(…)
    if (value.kind() != PickleKind::kList) return String(value);
    std::string text;
    for (uint32_t i = 0; i < value.size() && text.size() < kMaxTextBytes; ++i) {
      const auto line = String(value[i]);
      if (!line) return std::nullopt;
      text += *line;
    }
    return text;
  }

 private:
  std::optional<PickleValue> strings_;
};

// Traced nodes have a stack of "file.py(17): function", innermost first.
std::string FromTrace(std::string_view stack) {
  std::string traceback;
  while (!stack.empty()) {
    const size_t newline = stack.find('\n');
    const std::string_view frame = stack.substr(0, newline);
    stack.remove_prefix(newline == stack.npos ? stack.size() : newline + 1);
    const size_t open = frame.rfind('('), close = frame.find("):", open == frame.npos ? 0 : open);
    if (open == frame.npos || close == frame.npos) continue;
    std::string_view function = frame.substr(close + 2);
    while (function.starts_with(' ')) function.remove_prefix(1);
    traceback.insert(0, fmt::format("  File \"{}\", line {}, in {}\n", frame.substr(0, open),
                                    frame.substr(open + 1, close - open - 1), function));
  }
  return traceback;
}

}  // namespace

void SourceRanges::Add(const std::string& path, const Pickle& ranges) {
  PickleValue records = ranges.root();
  std::optional<PickleValue> strings;
  if (records.kind() == PickleKind::kTuple && records.size() == 3 && records[0].AsString() == kWithStrings) {
    strings = records[1];
    records = records[2];
  }
  const TextReader reader(strings);
  File file;
  std::map<std::string, size_t> known;  // texts by what they are made of
  size_t bytes = 0;
  for (uint32_t i = 0; i < records.size(); ++i) {
    const PickleValue record = records[i];
    if (record.size() < 2 || !record[0].AsInt() || record[1].size() != 3) continue;
    const PickleValue source = record[1][0];
    if (source.size() < 3 || !source[2].AsInt() || !record[1][1].AsInt() || *record[1][1].AsInt() < 0) continue;
    const auto key = source.ToText();
    auto text = known.find(key);
    if (text == known.end()) {
      const auto body = reader.Text(source[0]);
      if (!body || bytes + body->size() > kMaxTextBytes) continue;
      bytes += body->size();
      const auto filename = reader.String(source[1]);
      file.texts.push_back({*body, filename.value_or(""), *source[2].AsInt()});
      text = known.emplace(key, file.texts.size() - 1).first;
    }
    file.ranges.push_back({*record[0].AsInt(), text->second, static_cast<uint64_t>(*record[1][1].AsInt())});
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
  const auto line = std::count(text.text.begin(), text.text.begin() + static_cast<ptrdiff_t>(begin), '\n');
  Source& made = file.made[{range->text, static_cast<uint64_t>(line)}];
  if (made) return made;
  if (text.filename.empty()) {
    std::string traceback = FromTrace(text.text);
    if (traceback.empty()) return nullptr;
    return made = std::make_shared<const std::string>(std::move(traceback));
  }
  const size_t before = begin == 0 ? text.text.npos : text.text.rfind('\n', begin - 1);
  const size_t first = before == text.text.npos ? 0 : before + 1;
  std::string_view code = std::string_view(text.text).substr(first, text.text.find('\n', first) - first);
  while (code.starts_with(' ')) code.remove_prefix(1);
  return made = std::make_shared<const std::string>(
             fmt::format("  File \"{}\", line {}\n    {}\n", text.filename, text.first_line + line, code));
}

}  // namespace flambeau::torchscript
