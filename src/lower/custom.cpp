#include "lower/custom.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "aten/pure_form.h"
#include "ir/torch_names.h"
#include "lower/registry.h"
#include "lower/splice.h"
#include "onnx/reader.h"

namespace flambeau::lower {
namespace {

// "mylib::foo.out" -> "mylib", "foo_out".
std::pair<std::string_view, std::string> SplitName(std::string_view op) {
  op = aten::WithoutFunctionalized(op);
  const size_t colons = op.find("::");
  if (colons == op.npos) return {{}, std::string(op)};
  std::string name(op.substr(colons + 2));
  std::ranges::replace(name, '.', '_');
  return {op.substr(0, colons), std::move(name)};
}

OperatorCall::Value Describe(const Lowering& to, const Type& type, std::string name) {
  OperatorCall::Value value{std::move(name), std::string(Info(type.dtype).torch_name), type.ranked, {}};
  const ExprPool& exprs = const_cast<Lowering&>(to).exprs();
  for (Expr size : type.sizes) value.sizes.push_back(exprs.HasAnonymous(size) ? "?" : exprs.Text(size));
  return value;
}

// The arguments of a call as the public API has them.
class CallArguments {
 public:
  CallArguments(Lowering& to, NodeId node) : to_(to), node_(node), positions_(to.aten().operand_count(node), UINT32_MAX) {}

  // nullopt: of a kind that no translator can take.
  std::optional<Argument> Convert(const Attribute& attribute) {
    return std::visit([&](const auto& value) { return Take(value); }, attribute);
  }
  const std::vector<Tensor>& operands() const { return operands_; }

 private:
  using Converted = std::optional<Argument>;
  Converted Take(None) { return Argument(); }
  Converted Take(bool value) { return Argument(value); }
  Converted Take(int64_t value) { return Argument(value); }
  Converted Take(double value) { return Argument(value); }
  Converted Take(std::complex<double> value) { return Argument(value); }
  Converted Take(const std::string& value) { return Argument(std::string_view(value)); }
  Converted Take(DType value) { return Argument(DtypeArgument{static_cast<ScalarTypeCode>(Info(value).torch_code)}); }
  Converted Take(Layout value) { return Argument(LayoutArgument{value == Layout::kStrided ? "strided" : "sparse"}); }
  Converted Take(MemoryFormat value) { return Argument(MemoryFormatArgument{TorchName(value)}); }
  Converted Take(const Device& value) { return Argument(DeviceArgument{value.text}); }
  template <class T>
  Converted List(const std::vector<T>& values) {
    Argument::List list;
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, std::string>) {
        list.emplace_back(std::string_view(value));
      } else {
        list.emplace_back(static_cast<T>(value));
      }
    }
    return Argument(std::move(list));
  }
  Converted Take(const Ints& values) { return List(values); }
  Converted Take(const Floats& values) { return List(values); }
  Converted Take(const Strings& values) { return List(values); }
  Converted Take(const Bools& values) {
    Argument::List list;
    for (const bool value : values) list.emplace_back(value);
    return Argument(std::move(list));
  }
  Converted Take(Operand operand) {
    const Tensor tensor = to_.ValueOf(to_.aten().operand(node_, operand.index));
    if (!tensor) return Argument();  // None
    // Numbers that are known are constants for a translator, too.
    if (tensor.is_number()) {
      const Scalar& number = tensor.number();
      switch (number.kind()) {
        case Scalar::Kind::kBool: return Argument(number.AsInt() != 0);
        case Scalar::Kind::kInt: return Argument(number.AsInt());
        case Scalar::Kind::kFloat: return Argument(number.AsDouble());
        case Scalar::Kind::kComplex: return Argument(number.AsComplex());
        default: break;
      }
    }
    uint32_t& position = positions_[operand.index];
    if (position == UINT32_MAX) {
      position = static_cast<uint32_t>(operands_.size());
      operands_.push_back(to_.Value(tensor));
    }
    return Argument(ValueHandle{position});
  }
  Converted Take(const OperandList& elements) {
    Argument::List list;
    for (const ListElement& element : elements) {
      auto converted = std::visit([&](const auto& value) { return Take(value); }, element);
      if (!converted) return std::nullopt;
      list.push_back(std::move(*converted));
    }
    return Argument(std::move(list));
  }
  Converted Take(BlockId) { return std::nullopt; }
  Converted Take(DataId) { return std::nullopt; }
  Converted Take(TypeId) { return std::nullopt; }

  Lowering& to_;
  NodeId node_;
  std::vector<uint32_t> positions_;  // of the ATen operands
  std::vector<Tensor> operands_;
};

// What a node gives that has results of unknown types: what the capture recorded.
void TakeRecordedTypes(Lowering& to, NodeId node, std::vector<Tensor>* results) {
  const flambeau::Node& n = to.aten()[node];
  for (uint32_t i = 0; i < n.result_count && i < results->size(); ++i) {
    Tensor& result = (*results)[i];
    if (!result || result.is_number() || (result.type().is_tensor() && result.dtype() != DType::kNone)) continue;
    const Type recorded = to.OnnxType(to.aten().type(n.result(i)));
    to.graph().SetType(result.id(), to.context().Intern(recorded));
    result = to.Wrap(result.id());
  }
}

// Puts the model's outputs where the translation says.
bool Arrange(Lowering& to, std::span<const uint32_t> places, std::vector<Tensor>* outputs) {
  constexpr uint32_t kMostResults = 1 << 16;
  const bool fits = places.size() == outputs->size() && std::ranges::all_of(places, [](uint32_t place) { return place < kMostResults; });
  if (!fits) {
    to.Report(DiagnosticKind::kUnsupportedForm, fmt::format("the translation given for it has {} outputs, and places for {}", outputs->size(), places.size()));
    return false;
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] >= results.size()) results.resize(places[i] + 1);
    results[places[i]] = (*outputs)[i];
  }
  *outputs = std::move(results);
  return true;
}

}  // namespace

CustomOperators::CustomOperators(std::span<const std::pair<std::string, Translator>> translations,
                                 std::span<const std::pair<std::string, int>> domains) {
  for (const auto& [op, translator] : translations) translators_.insert_or_assign(op, translator);
  for (const auto& [domain, version] : domains) domains_.insert_or_assign(domain, version);
}

const Translator* CustomOperators::FindNamed(std::string_view op) const {
  if (translators_.empty()) return nullptr;
  op = aten::WithoutFunctionalized(op);
  const size_t colons = op.find("::");
  const std::string_view base = op.substr(0, op.find('.', colons == op.npos ? 0 : colons));
  for (const std::string& key : {std::string(op), fmt::format("{}.*", base)})
    if (const auto found = translators_.find(key); found != translators_.end()) return &found->second;
  return nullptr;
}

const Translator* CustomOperators::FindTranslator(std::string_view op) const {
  if (const Translator* named = FindNamed(op)) return named;
  const size_t colons = op.find("::");
  if (translators_.empty() || colons == op.npos) return nullptr;
  const auto found = translators_.find(fmt::format("{}::*", op.substr(0, colons)));
  return found == translators_.end() ? nullptr : &found->second;
}

bool CustomOperators::Overrides(std::string_view op) const { return FindNamed(op) != nullptr; }

bool CustomOperators::Handles(std::string_view op) const {
  if (FindTranslator(op) != nullptr) return true;
  return FindOp(op) == nullptr && FindDomain(op);
}

std::optional<int> CustomOperators::FindDomain(std::string_view op) const {
  const auto found = domains_.find(op.substr(0, op.find("::")));
  if (found == domains_.end()) return std::nullopt;
  return found->second;
}

Location PlaceOf(Lowering& to, NodeId node) {
  Location place;
  place.operation = aten::WithoutFunctionalized(to.aten().op(node));
  if (const OriginId id = to.aten()[node].origin) {
    const Origin& origin = to.context()[id];
    place.module = to.context().Text(origin.module_path());
    place.source = SourceLine(to.context().Text(origin.stack_trace));
  }
  return place;
}

Lowered LowerByTranslator(Lowering& to, NodeId node, const Translator& translator, bool* declined) {
  *declined = false;
  const flambeau::Node& n = to.aten()[node];
  OperatorCall call;
  call.location = PlaceOf(to, node);
  if (n.origin) call.node = to.context().Text(to.context()[n.origin].node_name);
  call.op = aten::WithoutFunctionalized(to.aten().op(node));
  call.opset = to.opset();
  CallArguments arguments(to, node);
  for (const NamedAttribute& attribute : n.attributes) {
    const std::string_view name = to.context().Text(attribute.name);
    auto argument = arguments.Convert(attribute.value);
    if (!argument) {
      to.Report(DiagnosticKind::kUnsupportedForm, fmt::format("argument '{}' is a nested graph, which no translation can take", name));
      return std::nullopt;
    }
    call.arguments.emplace_back(name, std::move(*argument));
  }
  for (size_t i = 0; i < arguments.operands().size(); ++i)
    call.operands.push_back(Describe(to, arguments.operands()[i].type(), fmt::format("operand_{}", i)));
  for (uint32_t i = 0; i < n.result_count; ++i)
    call.results.push_back(Describe(to, to.OnnxType(to.aten().type(n.result(i))), std::string(to.context().Text(to.aten()[n.result(i)].name))));
  Translation translation = translator(call);
  *declined = translation.declined;
  if (translation.declined) return std::nullopt;
  if (!translation.error.empty()) {
    to.Report(DiagnosticKind::kUnsupportedForm, fmt::format("the translation given for it failed: {}", translation.error));
    return std::nullopt;
  }
  const auto bytes = std::make_shared<const std::string>(std::move(translation.model));
  const auto model = onnx::ReadModel(*bytes, bytes, "", &to.context(), to.sink());
  if (!model) {
    to.Report(DiagnosticKind::kUnsupportedForm, "the translation given for it is no ONNX model that can be read");
    return std::nullopt;
  }
  auto results = Splice(to, *model, arguments.operands());
  if (!results) return std::nullopt;
  if (!translation.results.empty() && !Arrange(to, translation.results, &*results)) return std::nullopt;
  if (results->size() < n.result_count) {
    to.Report(DiagnosticKind::kUnsupportedForm, fmt::format("the translation given for it has {} outputs, not {}", results->size(), n.result_count));
    return std::nullopt;
  }
  TakeRecordedTypes(to, node, &*results);
  return results;
}

Lowered LowerAsCustomNode(Lowering& to, NodeId node, int version) {
  const flambeau::Node& n = to.aten()[node];
  const auto [domain, name] = SplitName(to.aten().op(node));
  const aten::Schema* schema = aten::FindSchema(to.aten().op(node));
  if (schema == nullptr)
    to.sink().Warning(DiagnosticKind::kUnknownAliasing,
                      fmt::format("whether {} writes to its arguments is not known: it is taken to give new tensors only", to.aten().op(node)), {},
                      "flambeau.save writes the schemas of operators into an archive; an option gives them, too: operator_schemas, --operator-schema");
  std::vector<Tensor> operands;
  onnx::AttributeList attributes;
  auto add_operand = [&](Operand operand) { operands.push_back(to.Value(to.ValueOf(to.aten().operand(node, operand.index)))); };
  for (size_t i = 0; i < n.attributes.size(); ++i) {
    const NamedAttribute& attribute = n.attributes[i];
    const std::string_view key = to.context().Text(attribute.name);
    const Attribute& value = attribute.value;
    if (std::holds_alternative<None>(value)) {
      // The inputs after a tensor that is not given stay where they are.
      if (schema != nullptr && schema->arguments[i].type.base == aten::BaseType::kTensor) operands.emplace_back();
      continue;
    }
    if (const auto* operand = std::get_if<Operand>(&value)) {
      add_operand(*operand);
    } else if (const auto* list = std::get_if<OperandList>(&value)) {
      for (const ListElement& element : *list) {
        if (const auto* one = std::get_if<Operand>(&element)) {
          add_operand(*one);
        } else if (const auto* integer = std::get_if<int64_t>(&element)) {
          operands.push_back(to.ConstantInt(*integer));
        } else if (std::holds_alternative<None>(element)) {
          operands.emplace_back();
        } else {
          to.Report(DiagnosticKind::kUnsupportedForm, fmt::format("argument '{}' mixes values and constants that are no integers", key));
          return std::nullopt;
        }
      }
    } else if (const auto* flag = std::get_if<bool>(&value)) {
      attributes.Add(key, Attribute(int64_t{*flag}));
    } else if (const auto* flags = std::get_if<Bools>(&value)) {
      attributes.Add(key, Attribute(Ints(flags->begin(), flags->end())));
    } else if (const auto* dtype = std::get_if<DType>(&value)) {
      attributes.Add(key, Attribute(static_cast<int64_t>(Info(*dtype).onnx_code)));
    } else if (std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value) ||
               std::holds_alternative<std::string>(value) || std::holds_alternative<Ints>(value) ||
               std::holds_alternative<Floats>(value) || std::holds_alternative<Strings>(value)) {
      attributes.Add(key, value);
    } else if (!std::holds_alternative<Device>(value) && !std::holds_alternative<Layout>(value) && !std::holds_alternative<MemoryFormat>(value)) {
      to.Report(DiagnosticKind::kUnsupportedForm, fmt::format("argument '{}' is of a kind that no attribute of a custom node has", key));
      return std::nullopt;
    }
  }
  while (!operands.empty() && !operands.back()) operands.pop_back();
  std::vector<Type> types;
  for (uint32_t i = 0; i < n.result_count; ++i) types.push_back(to.OnnxType(to.aten().type(n.result(i))));
  to.additions().domains.insert_or_assign(std::string(domain), version);
  return to.EmitCustom(fmt::format("{}::{}", domain, name), operands, attributes, types);
}

}  // namespace flambeau::lower
