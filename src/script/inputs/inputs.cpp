#include "script/inputs/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "script/inputs/input_text.h"

namespace flambeau::script {
namespace {

using torchscript::Type;
using torchscript::TypeKind;

constexpr size_t kMaxElements = 100'000;  // of all inputs: a class of a class twice, of that twice, and so on, has any number

std::optional<size_t> Index(std::string_view text) {
  size_t value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Whether a value of the type may be described so. A constant may stand for a tensor.
bool Fits(const ScriptInput& input, const Type& type) {
  const bool none = input.kind == ScriptInput::Kind::kConstant && std::holds_alternative<std::monostate>(input.constant.value);
  switch (type.kind) {
    case TypeKind::kOptional: return none || type.elements.empty() || Fits(input, *type.elements[0]);
    case TypeKind::kList: return input.kind == ScriptInput::Kind::kList;
    case TypeKind::kTuple: return input.kind == ScriptInput::Kind::kTuple && input.elements.size() == type.elements.size();
    case TypeKind::kDict: return input.kind == ScriptInput::Kind::kDict;
    case TypeKind::kTensor: return input.kind == ScriptInput::Kind::kTensor || (input.kind == ScriptInput::Kind::kConstant && !none);
    case TypeKind::kEnum: return std::holds_alternative<ScriptConstant::Enum>(input.constant.value);
    default: return true;
  }
}

std::string Option(std::string_view name, std::string_view description) { return fmt::format("--input \"{}={}\"", name, description); }

class Describer {
 public:
  Describer(std::span<const std::pair<std::string, std::string>> given, Sink& sink) : given_(given), used_(given.size()), sink_(sink) {}

  // By which the caller knows the input.
  std::string NameOf(const std::string& name) const {
    const std::string_view own = SourceName(name);
    const bool exact = std::ranges::any_of(given_, [&](const auto& each) { return each.first == name; });
    return exact || own.empty() ? name : std::string(own);
  }

  // Whether the caller says nothing of the input, nor of an element of it.
  bool LeftOut(const std::string& name) const { return !HasElements(name); }

  // What is said of the input called `name`; nullopt, noting it as missing, if nothing is.
  std::optional<ScriptInput> Describe(const std::string& name, const Type& type) {
    if (described_ == kMaxElements) return std::nullopt;
    ++described_;
    if (const auto input = Given(name, type)) return input;
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
    missing_.push_back({name, Text(type), ExampleOf(type)});
    return std::nullopt;
  }

  // `inputs`: all that the program has.
  Result<std::vector<MissingInput>> Conclude(std::span<const ScriptInput> inputs) {
    if (described_ == kMaxElements) return sink_.Error(DiagnosticKind::kLimitExceeded, fmt::format("the inputs have more than {} elements", kMaxElements));
    std::vector<std::string_view> names;
    for (const ScriptInput& input : inputs) names.push_back(input.name);
    const std::string hint = names.empty() ? "it takes none: leave the description out" : fmt::format("inputs: {}", fmt::join(names, ", "));
    for (size_t i = 0; i < given_.size(); ++i)
      if (!used_[i]) (void)sink_.Error(DiagnosticKind::kBadOption, fmt::format("the program has no input '{}'", given_[i].first), {}, hint);
    if (sink_.HasErrors()) return kFailure;
    return std::move(missing_);
  }

 private:
  std::optional<ScriptInput> Given(const std::string& name, const Type& type) {
    for (size_t i = 0; i < given_.size(); ++i) {
      if (used_[i] || given_[i].first != name) continue;
      used_[i] = true;
      auto input = ParseInput(given_[i].second);
      if (input && Fits(*input, type)) return input;
      if (input)
        (void)sink_.Error(DiagnosticKind::kBadOption, fmt::format("'{}' describes no {}, which the input '{}' is", given_[i].second, Text(type), name), {},
                          type.kind == TypeKind::kEnum ? "load the script and export it with the member among its arguments" : Option(name, ExampleOf(type)));
      else
        (void)sink_.Error(DiagnosticKind::kBadOption, fmt::format("'{}' describes no input", given_[i].second), {},
                          "write a tensor as float32[batch,3,224,224], a constant as 3, 0.5, True, 'text' or None, several as "
                          "[..., ...], (..., ...) or {'key': ...}");
      return ScriptInput{.kind = ScriptInput::Kind::kConstant};
    }
    return std::nullopt;
  }

  bool HasElements(const std::string& name) const {
    return std::ranges::any_of(given_, [&](const auto& each) { return each.first == name || each.first.starts_with(name + "."); });
  }

  std::span<const std::pair<std::string, std::string>> given_;
  std::vector<bool> used_;
  std::vector<MissingInput> missing_;
  size_t described_ = 0;
  Sink& sink_;
};

}  // namespace

std::string_view SourceName(std::string_view name) {
  if (Index(name)) return {};
  const size_t dot = name.rfind('.');
  return dot != name.npos && dot > 0 && Index(name.substr(dot + 1)) ? name.substr(0, dot) : name;
}

Result<DescribedInputs> DescribeInputs(const torchscript::Graph& graph,
                                       std::span<const std::pair<std::string, std::string>> given, Sink& sink) {
  Describer describer(given, sink);
  std::vector<ScriptInput> inputs;
  const std::vector<torchscript::Value*>& formal = graph.main->inputs;
  for (size_t i = graph.self ? 1 : 0; i < formal.size(); ++i) {
    static const torchscript::TypePtr kUnknown = Type::Of(TypeKind::kAny);
    std::string name = describer.NameOf(formal[i]->name);
    std::optional<ScriptInput> input;
    if (graph.DefaultOf(i) != nullptr && describer.LeftOut(name))
      input = ScriptInput{.kind = ScriptInput::Kind::kDefault};
    else
      input = describer.Describe(name, formal[i]->type ? *formal[i]->type : *kUnknown);
    inputs.push_back(input ? *std::move(input) : ScriptInput());
    inputs.back().name = std::move(name);
  }
  FLAMBEAU_TRY(std::vector<MissingInput> missing, describer.Conclude(inputs));
  return DescribedInputs{std::move(inputs), std::move(missing)};
}

Failure ReportMissing(std::span<const MissingInput> missing, Location at, Sink& sink) {
  std::vector<std::string> names, options;
  for (const MissingInput& input : missing) {
    names.push_back(fmt::format("{} ({})", input.name, input.type));
    options.push_back(Option(input.name, input.example));
  }
  return sink.Error(DiagnosticKind::kMissingInformation,
                    fmt::format("TorchScript records neither dtypes nor sizes; these inputs must be described: {}", fmt::join(names, ", ")), std::move(at),
                    fmt::format("{}", fmt::join(options, " ")));
}

}  // namespace flambeau::script
