#include "script/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace flambeau::script {
namespace {

using torchscript::Type;
using torchscript::TypeKind;

template <class T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool IsName(std::string_view text) {
  return !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_') &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// "float32[batch,3]"; nullopt if the text is no tensor.
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

std::optional<ScriptInput> Parse(std::string_view text) {
  text = Trim(text);
  if (auto tensor = Tensor(text)) return tensor;
  ScriptInput input{.kind = ScriptInput::Kind::kConstant};
  if (text == "None") return input;
  if (text == "True" || text == "False") {
    input.constant.value = text == "True";
  } else if (const auto integer = Number<int64_t>(text)) {
    input.constant.value = *integer;
  } else if (const auto number = Number<double>(text)) {
    input.constant.value = *number;
  } else if (text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0]) {
    input.constant.value = std::string(text.substr(1, text.size() - 2));
  } else {
    return std::nullopt;
  }
  return input;
}

class Describer {
 public:
  Describer(std::span<const std::pair<std::string, std::string>> given, Sink& sink) : given_(given), used_(given.size()), sink_(sink) {}

  // By which the caller knows the input: the program's names end in ".1" and so
  // on where torch made them unique.
  std::string NameOf(const std::string& name) const {
    const size_t dot = name.rfind('.');
    const bool numbered = dot != name.npos && dot > 0 && Number<int64_t>(std::string_view(name).substr(dot + 1));
    const bool exact = std::ranges::any_of(given_, [&](const auto& each) { return each.first == name; });
    return numbered && !exact ? name.substr(0, dot) : name;
  }

  // What is said of the input called `name`; nullopt, noting its name, if nothing is.
  std::optional<ScriptInput> Describe(const std::string& name, const Type& type) {
    if (const auto input = Given(name)) return input;
    switch (type.kind) {
      case TypeKind::kOptional:
        if (!HasElements(name)) return ScriptInput{.kind = ScriptInput::Kind::kConstant};
        return type.elements.empty() ? std::nullopt : Describe(name, *type.elements[0]);
      case TypeKind::kNone: return ScriptInput{.kind = ScriptInput::Kind::kConstant};
      case TypeKind::kTuple: {
        ScriptInput tuple{.kind = ScriptInput::Kind::kTuple};
        bool complete = true;
        for (size_t i = 0; i < type.elements.size(); ++i) {
          auto element = Describe(fmt::format("{}.{}", name, i), *type.elements[i]);
          if (element) tuple.elements.push_back(*std::move(element));
          complete &= element.has_value();
        }
        if (!complete) return std::nullopt;
        return tuple;
      }
      case TypeKind::kList: {
        ScriptInput list{.kind = ScriptInput::Kind::kList};
        while (HasElements(fmt::format("{}.{}", name, list.elements.size()))) {
          auto element = Describe(fmt::format("{}.{}", name, list.elements.size()), *type.elements[0]);
          if (!element) return std::nullopt;
          list.elements.push_back(*std::move(element));
        }
        if (!list.elements.empty()) return list;
        break;
      }
      case TypeKind::kTensor: {
        if (!type.dtype || !type.sizes || std::ranges::any_of(*type.sizes, [](int64_t size) { return size < 0; })) break;
        ScriptInput input{.kind = ScriptInput::Kind::kTensor, .dtype = Info(*type.dtype).torch_code};
        for (const int64_t size : *type.sizes) input.sizes.emplace_back(size);
        return input;
      }
      default: break;
    }
    missing_.push_back(fmt::format("{} ({})", name, Text(type)));
    return std::nullopt;
  }

  Status Conclude() {
    for (size_t i = 0; i < given_.size(); ++i)
      if (!used_[i]) (void)sink_.Error(DiagnosticKind::kBadOption, fmt::format("the program has no input '{}'", given_[i].first));
    if (!missing_.empty())
      (void)sink_.Error(DiagnosticKind::kMissingInformation,
                        fmt::format("TorchScript records neither dtypes nor sizes; these inputs must be described: {}", fmt::join(missing_, ", ")),
                        {}, fmt::format("--input {}=float32[batch,3,224,224]", missing_[0].substr(0, missing_[0].find(' '))));
    return sink_.HasErrors() ? Status(kFailure) : Status();
  }

 private:
  std::optional<ScriptInput> Given(const std::string& name) {
    for (size_t i = 0; i < given_.size(); ++i) {
      if (used_[i] || given_[i].first != name) continue;
      used_[i] = true;
      if (auto input = Parse(given_[i].second)) return input;
      (void)sink_.Error(DiagnosticKind::kBadOption, fmt::format("'{}' describes no input", given_[i].second), {},
                        "write a tensor as float32[batch,3,224,224], a constant as 3, 0.5, True, 'text' or None");
      return ScriptInput{.kind = ScriptInput::Kind::kConstant};
    }
    return std::nullopt;
  }

  bool HasElements(const std::string& name) const {
    return std::ranges::any_of(given_, [&](const auto& each) { return each.first == name || each.first.starts_with(name + "."); });
  }

  std::span<const std::pair<std::string, std::string>> given_;
  std::vector<bool> used_;
  std::vector<std::string> missing_;
  Sink& sink_;
};

}  // namespace

Result<std::vector<ScriptInput>> DescribeInputs(const torchscript::Graph& graph,
                                                std::span<const std::pair<std::string, std::string>> given, Sink& sink) {
  Describer describer(given, sink);
  std::vector<ScriptInput> inputs;
  const std::vector<torchscript::Value*>& formal = graph.main->inputs;
  for (size_t i = graph.self ? 1 : 0; i < formal.size(); ++i) {
    static const torchscript::TypePtr kUnknown = Type::Of(TypeKind::kAny);
    auto input = describer.Describe(describer.NameOf(formal[i]->name), formal[i]->type ? *formal[i]->type : *kUnknown);
    inputs.push_back(input ? *std::move(input) : ScriptInput());
  }
  FLAMBEAU_CHECK_OK(describer.Conclude());
  return inputs;
}

}  // namespace flambeau::script
