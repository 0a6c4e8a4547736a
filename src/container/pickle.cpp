#include "container/pickle.h"

#include <cassert>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "container/pickle_arena.h"
#include "container/quote.h"

namespace flambeau {
namespace {

bool HasParts(PickleKind kind) {
  switch (kind) {
    case PickleKind::kList:
    case PickleKind::kTuple:
    case PickleKind::kDict:
    case PickleKind::kSet:
    case PickleKind::kCall: return true;
    default: return false;
  }
}

// Prints with a stack of its own; `plan_` holds what is still to come.
class Printer {
 public:
  explicit Printer(const PickleArena& arena) : arena_(arena), uses_(arena.nodes.size()), label_(arena.nodes.size()) {}

  std::string Print(uint32_t root) {
    CountUses(root);
    Plan(root);
    while (!plan_.empty()) {
      const Piece piece = plan_.back();
      plan_.pop_back();
      if (piece.node == PickleArena::kNothing) {
        out_ += piece.text;
      } else {
        PrintNode(piece.node);
      }
    }
    return std::move(out_);
  }

 private:
  struct Piece {
    uint32_t node;
    std::string_view text;
  };
  void Plan(uint32_t node) { plan_.push_back({node, {}}); }
  void Plan(std::string_view text) { plan_.push_back({PickleArena::kNothing, text}); }

  void CountUses(uint32_t root) {
    std::vector<uint32_t> open = {root};
    while (!open.empty()) {
      const uint32_t index = open.back();
      open.pop_back();
      if (uses_[index]++ > 0) continue;
      const auto& node = arena_.nodes[index];
      if (node.kind == PickleKind::kPersistent) open.push_back(node.first);
      if (node.kind == PickleKind::kCall) open.insert(open.end(), {node.first, node.second});
      if (!HasParts(node.kind)) continue;
      const auto& parts = arena_.parts[node.parts];
      open.insert(open.end(), parts.items.begin(), parts.items.end());
      open.insert(open.end(), parts.entries.begin(), parts.entries.end());
      if (parts.state != PickleArena::kNothing) open.push_back(parts.state);
    }
  }

  void PrintNode(uint32_t index) {
    const auto& node = arena_.nodes[index];
    const bool compound = HasParts(node.kind) || node.kind == PickleKind::kPersistent;
    if (compound && uses_[index] > 1) {
      const bool again = label_[index] != 0;
      if (!again) label_[index] = ++labels_;
      out_ += (again ? "*" : "&") + std::to_string(label_[index]);
      if (again) return;
      out_ += ' ';
    }
    switch (node.kind) {
      case PickleKind::kNone: out_ += "None"; break;
      case PickleKind::kBool: out_ += node.boolean ? "True" : "False"; break;
      case PickleKind::kInt: out_ += std::to_string(node.integer); break;
      case PickleKind::kFloat: PrintFloat(node.real); break;
      case PickleKind::kString: out_ += Quote(arena_.TextOf(index)); break;
      case PickleKind::kBytes: out_ += "b" + Quote(arena_.TextOf(index)); break;
      case PickleKind::kGlobal:
        PrintName(node.first);
        out_ += '.';
        PrintName(node.second);
        break;
      case PickleKind::kPersistent:
        out_ += "persistent ";
        Plan(node.first);
        break;
      case PickleKind::kList: PlanParts(node, "[", "]"); break;
      case PickleKind::kTuple: PlanParts(node, "(", arena_.parts[node.parts].items.size() == 1 ? ",)" : ")"); break;
      case PickleKind::kDict: PlanParts(node, "{", "}"); break;
      case PickleKind::kSet: PlanParts(node, "{", "}"); break;
      case PickleKind::kCall: PlanCall(node); break;
    }
  }

  // The plan is a stack: last comes first.
  void PlanParts(const PickleArena::Node& node, std::string_view open, std::string_view close) {
    const auto& parts = arena_.parts[node.parts];
    Plan(close);
    for (size_t i = parts.entries.size(); i > 0; i -= 2) {
      Plan(parts.entries[i - 1]);
      Plan(": ");
      Plan(parts.entries[i - 2]);
      if (i > 2 || !parts.items.empty()) Plan(", ");
    }
    for (size_t i = parts.items.size(); i > 0; --i) {
      Plan(parts.items[i - 1]);
      if (i > 1) Plan(", ");
    }
    Plan(open);
  }
  void PlanCall(const PickleArena::Node& node) {
    const auto& parts = arena_.parts[node.parts];
    if (parts.state != PickleArena::kNothing) {
      Plan(parts.state);
      Plan(" state ");
    }
    if (!parts.items.empty() || !parts.entries.empty()) PlanParts(node, " with {", "}");
    Plan(node.second);
    Plan(node.first);
  }
  void PrintName(uint32_t text) {
    const std::string_view name = arena_.TextOf(text);
    out_ += name.size() <= 100 ? std::string(name) : Quote(name);
  }
  void PrintFloat(double value) {
    if (std::isnan(value)) {
      out_ += "nan";  // whatever its sign
      return;
    }
    char text[32];
    out_.append(text, std::to_chars(text, text + sizeof(text), value).ptr);
  }

  const PickleArena& arena_;
  std::vector<uint32_t> uses_, label_;
  uint32_t labels_ = 0;
  std::vector<Piece> plan_;
  std::string out_;
};

}  // namespace

std::string_view Describe(PickleKind kind) {
  switch (kind) {
    case PickleKind::kNone: return "None";
    case PickleKind::kBool: return "a bool";
    case PickleKind::kInt: return "an int";
    case PickleKind::kFloat: return "a float";
    case PickleKind::kString: return "a string";
    case PickleKind::kBytes: return "bytes";
    case PickleKind::kList: return "a list";
    case PickleKind::kTuple: return "a tuple";
    case PickleKind::kDict: return "a dict";
    case PickleKind::kSet: return "a set";
    case PickleKind::kGlobal: return "a global";
    case PickleKind::kCall: return "a call";
    case PickleKind::kPersistent: break;
  }
  return "a persistent object";
}

Pickle::Pickle(std::unique_ptr<PickleArena> arena) : arena_(std::move(arena)) {}
Pickle::Pickle(Pickle&&) noexcept = default;
Pickle& Pickle::operator=(Pickle&&) noexcept = default;
Pickle::~Pickle() = default;

Result<Pickle> Pickle::Parse(std::string_view bytes, Location origin, Sink& sink) {
  auto arena = std::make_unique<PickleArena>();
  arena->bytes = bytes;
  arena->origin = std::move(origin);
  std::string error;
  if (!RunPickle(*arena, &error)) return sink.Error(DiagnosticKind::kBadPickle, std::move(error), arena->origin);
  return Pickle(std::move(arena));
}

PickleValue Pickle::root() const { return PickleValue(arena_.get(), arena_->root); }

PickleKind PickleValue::kind() const { return arena_->nodes[index_].kind; }
uint64_t PickleValue::offset() const { return arena_->nodes[index_].offset; }

std::optional<bool> PickleValue::AsBool() const {
  return kind() == PickleKind::kBool ? std::optional(arena_->nodes[index_].boolean) : std::nullopt;
}
std::optional<int64_t> PickleValue::AsInt() const {
  return kind() == PickleKind::kInt ? std::optional(arena_->nodes[index_].integer) : std::nullopt;
}
std::optional<double> PickleValue::AsFloat() const {
  if (const auto integer = AsInt()) return static_cast<double>(*integer);
  return kind() == PickleKind::kFloat ? std::optional(arena_->nodes[index_].real) : std::nullopt;
}
std::optional<std::string_view> PickleValue::AsString() const {
  return kind() == PickleKind::kString ? std::optional(arena_->TextOf(index_)) : std::nullopt;
}
std::optional<std::string_view> PickleValue::AsBytes() const {
  return kind() == PickleKind::kBytes ? std::optional(arena_->TextOf(index_)) : std::nullopt;
}

uint32_t PickleValue::size() const {
  if (!HasParts(kind())) return 0;
  return static_cast<uint32_t>(arena_->parts[arena_->nodes[index_].parts].items.size());
}
PickleValue PickleValue::operator[](uint32_t i) const {
  return {arena_, arena_->parts[arena_->nodes[index_].parts].items[i]};
}
uint32_t PickleValue::entry_count() const {
  if (!HasParts(kind())) return 0;
  return static_cast<uint32_t>(arena_->parts[arena_->nodes[index_].parts].entries.size() / 2);
}
std::pair<PickleValue, PickleValue> PickleValue::entry(uint32_t i) const {
  const auto& entries = arena_->parts[arena_->nodes[index_].parts].entries;
  return {PickleValue(arena_, entries[2 * size_t{i}]), PickleValue(arena_, entries[2 * size_t{i} + 1])};
}
std::optional<PickleValue> PickleValue::Get(std::string_view key) const {
  for (uint32_t i = entry_count(); i > 0; --i) {
    const auto [name, value] = entry(i - 1);
    if (name.AsString() == key) return value;
  }
  return std::nullopt;
}

std::string_view PickleValue::module() const {
  return kind() == PickleKind::kGlobal ? arena_->TextOf(arena_->nodes[index_].first) : std::string_view();
}
std::string_view PickleValue::name() const {
  return kind() == PickleKind::kGlobal ? arena_->TextOf(arena_->nodes[index_].second) : std::string_view();
}
bool PickleValue::IsGlobal(std::string_view wanted_module, std::string_view wanted_name) const {
  return kind() == PickleKind::kGlobal && module() == wanted_module && name() == wanted_name;
}
PickleValue PickleValue::callee() const {
  assert(kind() == PickleKind::kCall);
  return {arena_, arena_->nodes[index_].first};
}
PickleValue PickleValue::args() const {
  assert(kind() == PickleKind::kCall);
  return {arena_, arena_->nodes[index_].second};
}
PickleValue PickleValue::id() const {
  assert(kind() == PickleKind::kPersistent);
  return {arena_, arena_->nodes[index_].first};
}
std::optional<PickleValue> PickleValue::state() const {
  assert(kind() == PickleKind::kCall);
  const uint32_t state = arena_->parts[arena_->nodes[index_].parts].state;
  return state == PickleArena::kNothing ? std::nullopt : std::optional(PickleValue(arena_, state));
}
bool PickleValue::IsCallOf(std::string_view module, std::string_view name) const {
  return kind() == PickleKind::kCall && callee().IsGlobal(module, name);
}

Failure PickleValue::Error(DiagnosticKind kind, std::string message, Sink& sink) const {
  return sink.Error(kind, std::move(message) + " (at byte " + std::to_string(offset()) + ")", arena_->origin);
}

std::string PickleValue::ToText() const { return Printer(*arena_).Print(index_); }

}  // namespace flambeau
