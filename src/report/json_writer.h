// Writes JSON: commas and quotes in one place.
#pragma once

#include <fmt/format.h>

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
    if (std::isfinite(value)) return Raw(fmt::format("{:g}", value));
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
  // '<' is escaped, so that the text may stand in a page's script.
  void Quote(std::string_view text) {
    text_ += '"';
    for (const char c : text) {
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
