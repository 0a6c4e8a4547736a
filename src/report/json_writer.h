// Writes JSON: commas and quotes in one place.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

namespace flambeau {

class JsonWriter {
 public:
  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginList() { Open('['); }
  void EndList() { Close(']'); }
  void Key(std::string_view key) {
    Comma();
    Quote(key);
    text_ += ':';
    fresh_ = true;
  }

  void Value(std::string_view text) {
    Comma();
    Quote(text);
  }
  void Value(const char* text) { Value(std::string_view(text)); }
  void Value(const std::string& text) { Value(std::string_view(text)); }
  void Value(bool value) { Raw(value ? "true" : "false"); }
  template <std::integral T>
  void Value(T value) {
    Raw(fmt::format("{}", value));
  }
  // JSON has no infinity and no NaN: they are texts.
  void Value(double value) {
    if (std::isfinite(value)) return Raw(fmt::format("{}", value));
    Value(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }
  void Null() { Raw("null"); }
  template <class T>
  void Field(std::string_view key, const T& value) {
    Key(key);
    Value(value);
  }
  template <class List, class F>
  void Each(std::string_view key, const List& list, F write) {
    Key(key);
    BeginList();
    for (const auto& item : list) write(item);
    EndList();
  }
  // A list of objects, one a line.
  template <class List, class F>
  void Objects(std::string_view key, const List& list, F write) {
    Each(key, list, [&](const auto& item) {
      Comma();
      text_ += '\n';
      fresh_ = true;
      BeginObject();
      write(item);
      EndObject();
    });
  }

  std::string Take() { return std::move(text_); }

 private:
  void Open(char c) {
    Comma();
    text_ += c;
    fresh_ = true;
  }
  void Close(char c) {
    text_ += c;
    fresh_ = false;
  }
  void Comma() {
    if (!fresh_) text_ += ',';
    fresh_ = false;
  }
  void Raw(std::string_view token) {
    Comma();
    text_ += token;
  }
  // How many bytes the first character has in UTF-8; 0 if they are none.
  static size_t CharacterLength(std::string_view text) {
    const auto is_within = [&](size_t i, int low, int high) {
      const int byte = i < text.size() ? static_cast<unsigned char>(text[i]) : -1;
      return low <= byte && byte <= high;
    };
    const auto follow = [&](size_t count) {
      for (size_t i = 2; i <= count; ++i)
        if (!is_within(i, 0x80, 0xbf)) return false;
      return true;
    };
    if (is_within(0, 0, 0x7f)) return 1;
    if (is_within(0, 0xc2, 0xdf)) return is_within(1, 0x80, 0xbf) ? 2 : 0;
    // What fewer bytes say, and surrogates, are no characters.
    if (is_within(0, 0xe0, 0xef)) {
      const bool fits = is_within(1, is_within(0, 0xe0, 0xe0) ? 0xa0 : 0x80, is_within(0, 0xed, 0xed) ? 0x9f : 0xbf);
      return fits && follow(2) ? 3 : 0;
    }
    const bool fits = is_within(0, 0xf0, 0xf4) && is_within(1, is_within(0, 0xf0, 0xf0) ? 0x90 : 0x80, is_within(0, 0xf4, 0xf4) ? 0x8f : 0xbf);
    return fits && follow(3) ? 4 : 0;
  }

  // '<' is escaped, so that the text may stand in a page's script. Bytes that are no text, as a file's name may have them,
  // become the character for that.
  void Quote(std::string_view text) {
    text_ += '"';
    for (size_t i = 0, length; i < text.size(); i += std::max<size_t>(length, 1)) {
      length = CharacterLength(text.substr(i));
      if (length != 1) {
        text_ += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(i, length);
        continue;
      }
      const char c = text[i];
      switch (c) {
        case '"': text_ += "\\\""; break;
        case '\\': text_ += "\\\\"; break;
        case '\n': text_ += "\\n"; break;
        case '\t': text_ += "\\t"; break;
        case '\r': text_ += "\\r"; break;
        case '<': text_ += "\\u003c"; break;
        default:
          if (static_cast<unsigned char>(c) < 0x20) {
            text_ += fmt::format("\\u{:04x}", c);
          } else {
            text_ += c;
          }
      }
    }
    text_ += '"';
  }

  std::string text_;
  bool fresh_ = true;
};

}  // namespace flambeau
