#include "script/inputs/input_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "reader/torchscript/types.h"
#include "support/letters.h"

namespace flambeau::script {
namespace {

using torchscript::TypeKind;

template <class T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsName(std::string_view text) {
  return !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_') &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

std::optional<ScriptInput> Tensor(std::string_view text) {
  const size_t open = text.find('[');
  const auto dtype = DTypeFromTorchName(text.substr(0, open));
  if (!dtype || open == text.npos || !text.ends_with(']')) return std::nullopt;
  ScriptInput input{.kind = ScriptInput::Kind::kTensor, .dtype = Info(*dtype).torch_code};
  std::string_view sizes = Trim(text.substr(open + 1, text.size() - open - 2));
  while (!sizes.empty()) {
    const size_t comma = sizes.find(',');
    const std::string_view size = Trim(sizes.substr(0, comma));
    if (const auto number = Number<int64_t>(size); number && *number >= 0)
      input.sizes.emplace_back(*number);
    else if (IsName(size))
      input.sizes.emplace_back(std::string(size));
    else
      return std::nullopt;
    sizes = comma == sizes.npos ? std::string_view() : sizes.substr(comma + 1);
  }
  return input;
}

std::optional<ScriptConstant> Constant(std::string_view text) {
  if (text == "None") return ScriptConstant();
  if (text == "True" || text == "False") return ScriptConstant{text == "True"};
  if (const auto integer = Number<int64_t>(text)) return ScriptConstant{*integer};
  if (const auto number = Number<double>(text)) return ScriptConstant{*number};
  if (text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0])
    return ScriptConstant{std::string(text.substr(1, text.size() - 2))};
  return std::nullopt;
}

struct Bracket {
  char open, close;
  ScriptInput::Kind kind;
};
constexpr Bracket kBrackets[] = {
    {'[', ']', ScriptInput::Kind::kList},
    {'(', ')', ScriptInput::Kind::kTuple},
    {'{', '}', ScriptInput::Kind::kDict},
};

// Containers are written as in Python.
class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(Trim(text)) {}

  std::optional<ScriptInput> Parse() {
    while (true) {
      std::optional<ScriptInput> value;
      if (!open_.empty() && Take(open_.back().close)) {  // an empty one, or behind a trailing comma
        value = Pop();
      } else {
        if (!open_.empty() && open_.back().input.kind == ScriptInput::Kind::kDict && !ReadKey()) return std::nullopt;
        if (Open()) continue;
        value = Leaf();
        if (!value) return std::nullopt;
      }
      while (value && !open_.empty()) {
        open_.back().input.elements.push_back(*std::exchange(value, std::nullopt));
        if (Take(',')) break;
        if (!Take(open_.back().close)) return std::nullopt;
        value = Pop();
      }
      if (value) return rest_.empty() ? value : std::nullopt;
    }
  }

 private:
  struct Container {
    char close;
    ScriptInput input;
  };

  bool Take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_ = Trim(rest_.substr(1));
    return true;
  }

  bool Open() {
    if (open_.size() >= torchscript::kMaxTypeDepth) return false;
    const auto* bracket = std::ranges::find_if(kBrackets, [&](const Bracket& each) { return Take(each.open); });
    if (bracket == std::end(kBrackets)) return false;
    open_.push_back({bracket->close, {.kind = bracket->kind}});
    return true;
  }

  ScriptInput Pop() {
    ScriptInput input = std::move(open_.back().input);
    open_.pop_back();
    return input;
  }

  bool ReadKey() {
    auto key = Constant(Word());
    if (!key || !Take(':')) return false;
    open_.back().input.keys.push_back(*std::move(key));
    return true;
  }

  std::optional<ScriptInput> Leaf() {
    const std::string_view word = Word();
    if (auto tensor = Tensor(word)) return tensor;
    auto constant = Constant(word);
    if (!constant) return std::nullopt;
    return ScriptInput{.kind = ScriptInput::Kind::kConstant, .constant = *std::move(constant)};
  }

  // A tensor with its sizes, or a constant.
  std::string_view Word() {
    size_t end = 0;
    if (rest_.starts_with('"') || rest_.starts_with('\'')) {
      end = rest_.find(rest_[0], 1);
      if (end != rest_.npos) ++end;
    } else {
      end = rest_.find_first_of(",:)]}[");
      if (end != rest_.npos && rest_[end] == '[') end = rest_.find(']', end);
      if (end != rest_.npos && rest_[end] == ']' && rest_.substr(0, end).find('[') != rest_.npos) ++end;
    }
    const std::string_view word = Trim(rest_.substr(0, end));
    rest_ = end == rest_.npos ? std::string_view() : Trim(rest_.substr(end));
    return word;
  }

  std::string_view rest_;
  std::vector<Container> open_;
};

}  // namespace

std::optional<ScriptInput> ParseInput(std::string_view text) { return Parser(text).Parse(); }

std::string ExampleOf(const torchscript::Type& type) {
  std::vector<std::string> elements;
  for (const torchscript::TypePtr& element : type.elements) elements.push_back(ExampleOf(*element));
  switch (type.kind) {
    case TypeKind::kInt: return "3";
    case TypeKind::kFloat: return "0.5";
    case TypeKind::kBool: return "True";
    case TypeKind::kString: return "'text'";
    case TypeKind::kList: return fmt::format("[{}]", fmt::join(elements, ", "));
    case TypeKind::kTuple: return fmt::format("({},)", fmt::join(elements, ", "));
    case TypeKind::kDict: return elements.size() == 2 ? fmt::format("{{{}: {}}}", elements[0], elements[1]) : "{}";
    case TypeKind::kOptional: return elements.empty() ? "None" : elements[0];
    default: return "float32[batch,3,224,224]";
  }
}

}  // namespace flambeau::script
