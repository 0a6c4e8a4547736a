// A read-only JSON document.
//
// Parsing is strict: UTF-8, no duplicate keys, limited depth. Values are small
// handles that live as long as their document. Every value knows its JSON
// pointer ("/graph/nodes/3"), found only when an error asks for it. Readers use
// JsonReader, whose accessors report what is missing or of the wrong type.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "diag/sink.h"
#include "support/result.h"

namespace flambeau {

enum class JsonKind : uint8_t { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };  // kUint: beyond int64
// "a string", "an array", … for messages.
std::string_view Describe(JsonKind kind);

struct JsonTape;

class JsonValue {
 public:
  JsonKind kind() const;
  bool IsNull() const { return kind() == JsonKind::kNull; }
  std::optional<bool> AsBool() const;
  std::optional<int64_t> AsInt() const;
  // Any number, and what PyTorch writes for the others: "NaN", "Infinity",
  // "-Infinity".
  std::optional<double> AsDouble() const;
  std::optional<std::string_view> AsString() const;

  // Elements of an array, members of an object; nothing for other kinds.
  uint32_t size() const;
  class Elements;
  class Members;
  Elements elements() const;
  Members members() const;
  // Linear in the members. Never finds anything in other kinds.
  std::optional<JsonValue> Get(std::string_view key) const;

  // RFC 6901; empty for the whole document. Walks from the root.
  std::string Pointer() const;

  friend bool operator==(JsonValue a, JsonValue b) { return a.tape_ == b.tape_ && a.index_ == b.index_; }

 private:
  friend class JsonDocument;
  friend class JsonReader;
  JsonValue(const JsonTape* tape, uint32_t index) : tape_(tape), index_(index) {}
  uint32_t Next() const;  // the index behind this value and all that is in it
  std::string_view Text() const;

  const JsonTape* tape_;
  uint32_t index_;
};

class JsonValue::Elements {
 public:
  class Iterator {
   public:
    Iterator(const JsonTape* tape, uint32_t index) : tape_(tape), index_(index) {}
    JsonValue operator*() const { return JsonValue(tape_, index_); }
    Iterator& operator++() {
      index_ = JsonValue(tape_, index_).Next();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const JsonTape* tape_;
    uint32_t index_;
  };
  Elements(const JsonTape* tape, uint32_t first, uint32_t last) : begin_(tape, first), end_(tape, last) {}
  Iterator begin() const { return begin_; }
  Iterator end() const { return end_; }

 private:
  Iterator begin_, end_;
};

class JsonValue::Members {
 public:
  class Iterator {
   public:
    Iterator(const JsonTape* tape, uint32_t index) : tape_(tape), index_(index) {}
    std::pair<std::string_view, JsonValue> operator*() const {
      return {JsonValue(tape_, index_).Text(), JsonValue(tape_, index_ + 1)};
    }
    Iterator& operator++() {
      index_ = JsonValue(tape_, index_ + 1).Next();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const JsonTape* tape_;
    uint32_t index_;
  };
  Members(const JsonTape* tape, uint32_t first, uint32_t last) : begin_(tape, first), end_(tape, last) {}
  Iterator begin() const { return begin_; }
  Iterator end() const { return end_; }

 private:
  Iterator begin_, end_;
};

class JsonDocument {
 public:
  // `origin` says where the text is from; pointers are appended to its entry.
  // The text is freed: the document holds what it needs of it.
  static Result<JsonDocument> Parse(std::string text, Location origin, Sink& sink);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  JsonValue root() const;

 private:
  explicit JsonDocument(std::unique_ptr<JsonTape> tape);
  std::unique_ptr<JsonTape> tape_;
};

// A value that must have a certain shape. The Optional accessors take a missing
// member and null for absent; a value of the wrong type is an error for both.
//
//   FLAMBEAU_TRY(std::string_view target, node.String("target"));
//   FLAMBEAU_TRY(JsonReader inputs, node.Array("inputs"));
//   for (JsonReader input : inputs.elements()) …
class JsonReader {
 public:
  JsonReader(JsonValue value, Sink& sink) : value_(value), sink_(&sink) {}

  JsonValue value() const { return value_; }
  Sink& sink() const { return *sink_; }
  Failure Error(std::string message, std::string hint = {}) const {
    return Error(DiagnosticKind::kBadJson, std::move(message), std::move(hint));
  }
  Failure Error(DiagnosticKind kind, std::string message, std::string hint = {}) const;
  Location Where() const;

  // This value.
  Result<bool> AsBool() const;
  Result<int64_t> AsInt() const;
  Result<double> AsDouble() const;
  Result<std::string_view> AsString() const;
  Result<JsonReader> AsArray() const;
  Result<JsonReader> AsObject() const;

  // Its members; this value must be an object.
  Result<JsonReader> Member(std::string_view key) const;
  Result<bool> Bool(std::string_view key) const { return Required(key, &JsonReader::AsBool); }
  Result<int64_t> Int(std::string_view key) const { return Required(key, &JsonReader::AsInt); }
  Result<double> Double(std::string_view key) const { return Required(key, &JsonReader::AsDouble); }
  Result<std::string_view> String(std::string_view key) const { return Required(key, &JsonReader::AsString); }
  Result<JsonReader> Array(std::string_view key) const { return Required(key, &JsonReader::AsArray); }
  Result<JsonReader> Object(std::string_view key) const { return Required(key, &JsonReader::AsObject); }

  template <class T>
  using Maybe = Result<std::optional<T>>;
  Maybe<JsonReader> OptionalMember(std::string_view key) const;
  Maybe<bool> OptionalBool(std::string_view key) const { return Optional(key, &JsonReader::AsBool); }
  Maybe<int64_t> OptionalInt(std::string_view key) const { return Optional(key, &JsonReader::AsInt); }
  Maybe<std::string_view> OptionalString(std::string_view key) const { return Optional(key, &JsonReader::AsString); }
  Maybe<JsonReader> OptionalArray(std::string_view key) const { return Optional(key, &JsonReader::AsArray); }
  Maybe<JsonReader> OptionalObject(std::string_view key) const { return Optional(key, &JsonReader::AsObject); }

  uint32_t size() const { return value_.size(); }
  // As JsonValue's, with readers in the place of values.
  auto elements() const;
  auto members() const;

 private:
  template <class T>
  Result<T> Required(std::string_view key, Result<T> (JsonReader::*as)() const) const {
    FLAMBEAU_TRY(const JsonReader member, Member(key));
    return (member.*as)();
  }
  template <class T>
  Maybe<T> Optional(std::string_view key, Result<T> (JsonReader::*as)() const) const {
    FLAMBEAU_TRY(const std::optional<JsonReader> member, OptionalMember(key));
    if (!member) return std::optional<T>();
    FLAMBEAU_TRY(T value, ((*member).*as)());
    return std::optional<T>(std::move(value));
  }
  template <class T>
  Result<T> Expect(std::optional<T> value, std::string_view wanted) const;

  JsonValue value_;
  Sink* sink_;
};

namespace json_internal {

template <class Range>
struct ReaderRange {
  using Inner = decltype(std::declval<const Range&>().begin());
  struct Iterator {
    Inner inner;
    Sink* sink;
    auto operator*() const { return Wrap(*inner); }
    Iterator& operator++() { return ++inner, *this; }
    bool operator!=(const Iterator& other) const { return inner != other.inner; }
    JsonReader Wrap(JsonValue value) const { return JsonReader(value, *sink); }
    std::pair<std::string_view, JsonReader> Wrap(std::pair<std::string_view, JsonValue> member) const {
      return {member.first, JsonReader(member.second, *sink)};
    }
  };
  Range range;
  Sink* sink;
  Iterator begin() const { return {range.begin(), sink}; }
  Iterator end() const { return {range.end(), sink}; }
};

}  // namespace json_internal

inline auto JsonReader::elements() const {
  return json_internal::ReaderRange<JsonValue::Elements>{value_.elements(), sink_};
}
inline auto JsonReader::members() const {
  return json_internal::ReaderRange<JsonValue::Members>{value_.members(), sink_};
}

}  // namespace flambeau
