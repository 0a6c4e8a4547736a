// A pickle machine that only makes data.
//
// It reads protocols 2 to 5 as torch.save and torch.jit.save write them and
// never runs anything: a call is a node that says what would have been called
// with what. Readers decide which calls they know the meaning of. Nodes live in
// one arena and are shared as the pickle shares them, so a value may contain
// itself; whoever walks values must be prepared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "diag/sink.h"
#include "support/result.h"

namespace flambeau {

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kBytes,
  kList,
  kTuple,
  kDict,
  kSet,         // and frozenset
  kGlobal,      // module.name, not looked up
  kCall,        // callee(*args), perhaps built up by state, items and entries
  kPersistent,  // an object that lives outside of the pickle, by its id
};
std::string_view Describe(PickleKind kind);

struct PickleArena;

class PickleValue {
 public:
  PickleKind kind() const;
  bool IsNone() const { return kind() == PickleKind::kNone; }
  std::optional<bool> AsBool() const;
  std::optional<int64_t> AsInt() const;
  std::optional<double> AsFloat() const;  // an int too
  std::optional<std::string_view> AsString() const;
  std::optional<std::string_view> AsBytes() const;

  // Elements of a list, tuple or set; what was appended to a call's result.
  uint32_t size() const;
  PickleValue operator[](uint32_t i) const;
  // Key and value pairs of a dict, or set on a call's result, in order.
  // The pickle may set a key twice.
  uint32_t entry_count() const;
  std::pair<PickleValue, PickleValue> entry(uint32_t i) const;
  // The last value of a string key. Linear.
  std::optional<PickleValue> Get(std::string_view key) const;

  bool IsGlobal(std::string_view module, std::string_view name) const;
  std::string_view module() const;  // of a global; else empty
  std::string_view name() const;
  // Of a call; must not be asked of other kinds.
  PickleValue callee() const;
  PickleValue args() const;  // a tuple
  std::optional<PickleValue> state() const;
  bool IsCallOf(std::string_view module, std::string_view name) const;
  // Of a persistent object.
  PickleValue id() const;

  uint64_t offset() const;  // of the opcode that made the value
  // Reports about this value, with the entry and the offset.
  Failure Error(DiagnosticKind kind, std::string message, Sink& sink) const;
  // The value as text, in the manner of Python's repr. What occurs more than
  // once is printed once, marked "&N", and "*N" from then on; so the text is
  // linear in the pickle, for cycles too.
  std::string ToText() const;

  friend bool operator==(PickleValue a, PickleValue b) { return a.arena_ == b.arena_ && a.index_ == b.index_; }

 private:
  friend class Pickle;
  PickleValue(const PickleArena* arena, uint32_t index) : arena_(arena), index_(index) {}

  const PickleArena* arena_;
  uint32_t index_;
};

// One pickle; its values live as long as it does.
class Pickle {
 public:
  static Result<Pickle> Parse(std::string_view bytes, Location origin, Sink& sink);
  Pickle(Pickle&&) noexcept;
  Pickle& operator=(Pickle&&) noexcept;
  ~Pickle();

  PickleValue root() const;

 private:
  explicit Pickle(std::unique_ptr<PickleArena> arena);
  std::unique_ptr<PickleArena> arena_;
};

}  // namespace flambeau
