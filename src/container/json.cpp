#include "container/json.h"

#include <simdjson.h>

#include <bit>
#include <cstring>
#include <limits>

#include "container/quote.h"
#include "support/hash_table.h"

namespace flambeau {

// simdjson's document: one word a value in document order, numbers and containers
// two. A container is followed by what is in it, a member is its key (a string)
// followed by its value. A word is a letter, and 56 bits that mean
//   [ {  how many elements or members (24 bits), the index behind its end (32)
//   "    an offset in `string_buf`, of a 32-bit length and the text
//   l u d  nothing: the number is the next word
struct JsonTape {
  simdjson::dom::document words;
  Location origin;

  char letter(uint32_t index) const { return static_cast<char>(words.tape[index] >> 56); }
  uint64_t payload(uint32_t index) const { return words.tape[index] & ((uint64_t{1} << 56) - 1); }
  template <class T>
  T number(uint32_t index) const {
    return std::bit_cast<T>(words.tape[index + 1]);
  }
  std::string_view text(uint32_t index) const {
    const uint8_t* at = words.string_buf.get() + payload(index);
    uint32_t length;
    std::memcpy(&length, at, sizeof length);
    return {reinterpret_cast<const char*>(at) + sizeof length, length};
  }
  // Behind the value and all that is in it.
  uint32_t next(uint32_t index) const {
    switch (letter(index)) {
      case '[':
      case '{': return static_cast<uint32_t>(payload(index));
      case 'l':
      case 'u':
      case 'd': return index + 2;
      default: return index + 1;
    }
  }
};

namespace {

constexpr uint32_t kRoot = 1;  // word 0 is simdjson's own

// PyTorch nests a few levels for every region of control flow.
constexpr size_t kDeepest = 1024;

// A key that the object has twice; simdjson does not look.
std::optional<std::string_view> DuplicateKey(const JsonTape& tape, uint32_t object) {
  const uint32_t first = object + 1, end = tape.next(object) - 1;
  constexpr uint32_t kFew = 8;
  const bool few = tape.payload(object) >> 32 <= kFew;
  NameSet seen;
  for (uint32_t key = first; key != end; key = tape.next(key + 1)) {
    const std::string_view text = tape.text(key);
    if (!few && !seen.insert(text).second) return text;
    for (uint32_t other = first; few && other != key; other = tape.next(other + 1)) {
      if (tape.text(other) == text) return text;
    }
  }
  return std::nullopt;
}

// The same in any object.
std::optional<std::string_view> DuplicateKey(const JsonTape& tape) {
  const auto end = static_cast<uint32_t>(tape.payload(0)) - 1;
  for (uint32_t index = kRoot; index != end;) {
    const char letter = tape.letter(index);
    if (letter == '{') {
      if (const auto key = DuplicateKey(tape, index)) return key;
    }
    index = letter == '{' || letter == '[' ? index + 1 : tape.next(index);
  }
  return std::nullopt;
}

void AppendPointerToken(std::string_view token, std::string& pointer) {
  pointer += '/';
  for (const char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

// Python's json writes infinities and NaN bare, which is no JSON; as strings they are understood (AsDouble).
std::string QuoteBareNumbers(std::string_view text) {
  std::string quoted;
  bool inside = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') inside = !inside;
    if (!inside) {
      for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
        if (!text.substr(at).starts_with(word)) continue;
        quoted += '"' + std::string(word) + '"';
        at += word.size();
        break;
      }
      if (at == text.size()) break;
    } else if (text[at] == '\\' && at + 1 < text.size()) {
      quoted += text[at++];
    }
    quoted += text[at];
  }
  return quoted;
}

}  // namespace

std::string_view Describe(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull: return "null";
    case JsonKind::kBool: return "a boolean";
    case JsonKind::kInt:
    case JsonKind::kUint: return "an integer";
    case JsonKind::kDouble: return "a number";
    case JsonKind::kString: return "a string";
    case JsonKind::kArray: return "an array";
    case JsonKind::kObject: break;
  }
  return "an object";
}

JsonDocument::JsonDocument(std::unique_ptr<JsonTape> tape) : tape_(std::move(tape)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

Result<JsonDocument> JsonDocument::Parse(std::string text, Location origin, Sink& sink) {
  auto tape = std::make_unique<JsonTape>();
  tape->origin = std::move(origin);
  const auto fail = [&](std::string message) {
    return sink.Error(DiagnosticKind::kBadJson, std::move(message), tape->origin);
  };
  // simdjson addresses with 32 bits.
  if (text.size() > simdjson::SIMDJSON_MAXSIZE_BYTES) return fail("the JSON text is larger than 4 GiB");
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);  // it reads beyond the end
  simdjson::dom::parser parser;
  auto error = parser.allocate(text.size(), kDeepest);
  const auto parse = [&] {
    constexpr bool kCopyText = false;
    return parser.parse_into_document(tape->words, text.data(), text.size(), kCopyText).error();
  };
  if (!error) error = parse();
  const bool malformed = error == simdjson::TAPE_ERROR || error == simdjson::NUMBER_ERROR;
  const bool bare = malformed && (text.find("Infinity") != text.npos || text.find("NaN") != text.npos);
  if (bare) {
    text = QuoteBareNumbers(text);
    text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    if (error = parser.allocate(text.size(), kDeepest); !error) error = parse();
  }
  if (error == simdjson::DEPTH_ERROR) return fail("values are nested deeper than " + std::to_string(kDeepest));
  if (error) return fail(std::string("malformed JSON: ") + simdjson::error_message(error));
  if (const auto key = DuplicateKey(*tape)) return fail("an object has two members " + Quote(*key));
  return JsonDocument(std::move(tape));
}

JsonValue JsonDocument::root() const { return JsonValue(tape_.get(), kRoot); }

JsonKind JsonValue::kind() const {
  switch (tape_->letter(index_)) {
    case 't':
    case 'f': return JsonKind::kBool;
    case 'l': return JsonKind::kInt;
    case 'u': return JsonKind::kUint;
    case 'd': return JsonKind::kDouble;
    case '"': return JsonKind::kString;
    case '[': return JsonKind::kArray;
    case '{': return JsonKind::kObject;
    default: return JsonKind::kNull;
  }
}
uint32_t JsonValue::Next() const { return tape_->next(index_); }
std::string_view JsonValue::Text() const { return tape_->text(index_); }

std::optional<bool> JsonValue::AsBool() const {
  if (kind() != JsonKind::kBool) return std::nullopt;
  return tape_->letter(index_) == 't';
}

std::optional<int64_t> JsonValue::AsInt() const {
  if (kind() != JsonKind::kInt) return std::nullopt;  // kUint only holds what int64 cannot
  return tape_->number<int64_t>(index_);
}

std::optional<double> JsonValue::AsDouble() const {
  switch (kind()) {
    case JsonKind::kDouble: return tape_->number<double>(index_);
    case JsonKind::kInt: return static_cast<double>(tape_->number<int64_t>(index_));
    case JsonKind::kUint: return static_cast<double>(tape_->number<uint64_t>(index_));
    case JsonKind::kString: break;
    default: return std::nullopt;
  }
  using Limits = std::numeric_limits<double>;
  if (Text() == "NaN") return Limits::quiet_NaN();
  if (Text() == "Infinity") return Limits::infinity();
  if (Text() == "-Infinity") return -Limits::infinity();
  return std::nullopt;
}

std::optional<std::string_view> JsonValue::AsString() const {
  if (kind() != JsonKind::kString) return std::nullopt;
  return Text();
}

uint32_t JsonValue::size() const {
  const JsonKind kind = this->kind();
  if (kind != JsonKind::kArray && kind != JsonKind::kObject) return 0;
  constexpr uint32_t kMany = 0xFFFFFF;  // simdjson counts no further
  auto count = static_cast<uint32_t>(tape_->payload(index_) >> 32);
  if (count < kMany) return count;
  count = 0;
  for (uint32_t at = index_ + 1, end = Next() - 1; at != end; ++count)
    at = tape_->next(kind == JsonKind::kObject ? at + 1 : at);
  return count;
}

JsonValue::Elements JsonValue::elements() const {
  return {tape_, index_ + 1, kind() == JsonKind::kArray ? Next() - 1 : index_ + 1};
}

JsonValue::Members JsonValue::members() const {
  return {tape_, index_ + 1, kind() == JsonKind::kObject ? Next() - 1 : index_ + 1};
}

std::optional<JsonValue> JsonValue::Get(std::string_view key) const {
  for (const auto& [name, value] : members()) {
    if (name == key) return value;
  }
  return std::nullopt;
}

std::string JsonValue::Pointer() const {
  std::string pointer;
  for (JsonValue at(tape_, kRoot); at.index_ != index_;) {
    JsonValue inside = at;
    if (at.kind() == JsonKind::kArray) {
      uint32_t i = 0;
      for (const JsonValue child : at.elements()) {
        inside = child;
        if (index_ < child.Next()) break;
        ++i;
      }
      AppendPointerToken(std::to_string(i), pointer);
    } else {
      std::string_view name;
      for (const auto& [key, child] : at.members()) {
        name = key;
        inside = child;
        if (index_ < child.Next()) break;
      }
      AppendPointerToken(name, pointer);
    }
    at = inside;
  }
  return pointer;
}

Location JsonReader::Where() const {
  Location location = value_.tape_->origin;
  if (const std::string pointer = value_.Pointer(); !pointer.empty()) location.entry += "#" + pointer;
  return location;
}

Failure JsonReader::Error(DiagnosticKind kind, std::string message, std::string hint) const {
  return sink_->Error(kind, std::move(message), Where(), std::move(hint));
}

template <class T>
Result<T> JsonReader::Expect(std::optional<T> value, std::string_view wanted) const {
  if (value) return *std::move(value);
  std::string message = "expected " + std::string(wanted) + ", found " + std::string(Describe(value_.kind()));
  if (value_.kind() == JsonKind::kString) message += " " + Quote(value_.Text());
  if (value_.kind() == JsonKind::kUint) message += " beyond 64 bits";
  return Error(std::move(message));
}

Result<bool> JsonReader::AsBool() const { return Expect(value_.AsBool(), "a boolean"); }
Result<int64_t> JsonReader::AsInt() const { return Expect(value_.AsInt(), "an integer"); }
Result<double> JsonReader::AsDouble() const { return Expect(value_.AsDouble(), "a number"); }
Result<std::string_view> JsonReader::AsString() const { return Expect(value_.AsString(), "a string"); }
Result<JsonReader> JsonReader::AsArray() const {
  return Expect(value_.kind() == JsonKind::kArray ? std::optional(*this) : std::nullopt, "an array");
}
Result<JsonReader> JsonReader::AsObject() const {
  return Expect(value_.kind() == JsonKind::kObject ? std::optional(*this) : std::nullopt, "an object");
}

Result<JsonReader> JsonReader::Member(std::string_view key) const {
  FLAMBEAU_CHECK_OK(AsObject());
  if (const auto member = value_.Get(key)) return JsonReader(*member, *sink_);
  return Error("the member " + Quote(key) + " is missing");
}

JsonReader::Maybe<JsonReader> JsonReader::OptionalMember(std::string_view key) const {
  FLAMBEAU_CHECK_OK(AsObject());
  const auto member = value_.Get(key);
  if (!member || member->IsNull()) return std::optional<JsonReader>();
  return std::optional(JsonReader(*member, *sink_));
}

}  // namespace flambeau
