#include "reader/pt2/graph_reader.h"

#include <fmt/format.h>

#include "aten/builder_access.h"
#include "container/quote.h"
#include "ir/origin.h"
#include "reader/pt2/older_programs.h"
#include "reader/pt2/triton_kernels.h"

namespace flambeau::pt2 {
namespace {

// Real programs nest a handful of graphs.
constexpr size_t kMaxNesting = 64;
// That the builder finds. To tell where one is walks the document, and a broken
// one may be so at each node.
constexpr size_t kMostErrors = 20;

Status ReadTable(const JsonReader& graph, std::string_view key,
                 NameTable<JsonReader>* table) {
  FLAMBEAU_TRY(const std::optional<JsonReader> values, graph.OptionalObject(key));
  if (!values) return {};
  table->reserve(values->size());
  for (const auto [name, value] : values->members()) table->emplace(name, value);
  return {};
}

// A SymInt, SymFloat or SymBool: an expression, or a constant.
Result<std::optional<SymbolicInt>> ReadSymbolic(const JsonReader& json) {
  FLAMBEAU_TRY(const Tagged number, ReadTagged(json));
  if (number.tag == "as_expr") {
    if (const auto text = number.value.value().AsString()) return std::optional<SymbolicInt>(*text);  // SymBools before 2.3
    FLAMBEAU_TRY(const std::string_view text, number.value.String("expr_str"));
    return std::optional<SymbolicInt>(text);
  }
  if (number.tag == "as_int") {
    FLAMBEAU_TRY(const int64_t value, number.value.AsInt());
    return std::optional<SymbolicInt>(value);
  }
  if (number.tag == "as_bool") {
    FLAMBEAU_TRY(const bool value, number.value.AsBool());
    return std::optional<SymbolicInt>(int64_t{value});
  }
  if (number.tag == "as_float") return std::optional<SymbolicInt>();
  return number.Unknown("symbolic number");
}

Status ReadSizes(const JsonReader& tensor, std::string_view key, std::vector<SymbolicInt>* sizes) {
  FLAMBEAU_TRY(const JsonReader list, tensor.Array(key));
  if (list.size() > kMostDimensions) return list.Error(fmt::format("a tensor has no more than {} dimensions", kMostDimensions));
  sizes->reserve(list.size());
  for (const JsonReader element : list.elements()) {
    FLAMBEAU_TRY(const std::optional<SymbolicInt> size, ReadSymbolic(element));
    if (!size) return element.Error("a size cannot be a float");
    if (const auto* number = std::get_if<int64_t>(&*size); number != nullptr && *number < 0)
      return element.Error(fmt::format("a size or stride cannot be {}", *number));
    sizes->push_back(*size);
  }
  return {};
}

// How a value is written where it is defined.
struct DeclaredForm {
  enum class Style : uint8_t { kNamed, kSymbol, kOptional, kConstant };
  ValueInfo::Kind kind;
  Style style;
  bool list;
};

const DeclaredForm* FindForm(std::string_view tag) {
  using Kind = ValueInfo::Kind;
  using Style = DeclaredForm::Style;
  static const std::unordered_map<std::string_view, DeclaredForm> kForms = {
      {"as_tensor", {Kind::kTensor, Style::kNamed, false}},
      {"as_tensors", {Kind::kTensor, Style::kNamed, true}},
      {"as_optional_tensor", {Kind::kTensor, Style::kOptional, false}},
      {"as_optional_tensors", {Kind::kTensor, Style::kOptional, true}},
      {"as_sym_int", {Kind::kInt, Style::kSymbol, false}},
      {"as_sym_ints", {Kind::kInt, Style::kSymbol, true}},
      {"as_sym_float", {Kind::kFloat, Style::kSymbol, false}},
      {"as_sym_floats", {Kind::kFloat, Style::kSymbol, true}},
      {"as_sym_bool", {Kind::kBool, Style::kSymbol, false}},
      {"as_sym_bools", {Kind::kBool, Style::kSymbol, true}},
      {"as_custom_obj", {Kind::kObject, Style::kNamed, false}},
      {"as_none", {Kind::kNone, Style::kConstant, false}},
      {"as_int", {Kind::kInt, Style::kConstant, false}},
      {"as_ints", {Kind::kInt, Style::kConstant, true}},
      {"as_float", {Kind::kFloat, Style::kConstant, false}},
      {"as_floats", {Kind::kFloat, Style::kConstant, true}},
      {"as_bool", {Kind::kBool, Style::kConstant, false}},
      {"as_bools", {Kind::kBool, Style::kConstant, true}},
      {"as_string", {Kind::kObject, Style::kConstant, false}},
      {"as_strings", {Kind::kObject, Style::kConstant, true}},
  };
  const auto it = kForms.find(tag);
  return it == kForms.end() ? nullptr : &it->second;
}

Result<ValueInfo> DescribeConstant(ValueInfo::Kind kind, const JsonReader& json) {
  ValueInfo info{.kind = kind};
  if (const auto value = json.value().AsBool(); value && kind == ValueInfo::Kind::kInt) {  // PyTorch 2.4 writes bools so
    info = {.kind = ValueInfo::Kind::kBool, .expression = int64_t{*value}};
  } else if (kind == ValueInfo::Kind::kInt) {
    FLAMBEAU_TRY(info.expression, json.AsInt());
  } else if (kind == ValueInfo::Kind::kBool) {
    FLAMBEAU_TRY(const bool value, json.AsBool());
    info.expression = int64_t{value};
  }
  return info;
}

}  // namespace

GraphReader::GraphReader(ProgramBuilder& builder, const TensorTable& tensors, bool says_version, Sink& sink)
    : builder_(builder),
      tensors_(tensors),
      says_version_(says_version),
      sink_(sink),
      where_(BuilderAccess::SinkOf(builder), [this](Diagnostic& diagnostic) {
        if (!current_) return;
        Location at = current_->Where();
        if (diagnostic.location.file.empty()) diagnostic.location.file = std::move(at.file);
        if (diagnostic.location.entry.empty()) diagnostic.location.entry = std::move(at.entry);
      }) {}

Status GraphReader::Read(const JsonReader& graph_module) {
  FLAMBEAU_TRY(const JsonReader graph, graph_module.Object("graph"));
  FLAMBEAU_TRY(const JsonReader signature, graph_module.Object("signature"));
  FLAMBEAU_TRY(const JsonReader inputs, graph.Array("inputs"));
  FLAMBEAU_TRY(const JsonReader outputs, graph.Array("outputs"));
  scopes_.emplace_back();
  FLAMBEAU_CHECK_OK(ReadTables(graph));
  FLAMBEAU_TRY(const std::optional<JsonReader> parameters, signature.OptionalObject("inputs_to_parameters"));
  if (parameters) {
    FLAMBEAU_CHECK_OK(ReadInputsByName(inputs, signature));
    FLAMBEAU_CHECK_OK(ReadNodes(graph));
    FLAMBEAU_CHECK_OK(ReadOutputsByName(outputs, signature));
    scopes_.pop_back();
    return {};
  }
  FLAMBEAU_TRY(const JsonReader input_specs, signature.Array("input_specs"));
  FLAMBEAU_TRY(const JsonReader output_specs, signature.Array("output_specs"));
  if (inputs.size() != input_specs.size() || outputs.size() != output_specs.size())
    return signature.Error(DiagnosticKind::kBadProgram,
                           fmt::format("the signature has {} inputs and {} outputs, the graph {} and {}",
                                       input_specs.size(), output_specs.size(), inputs.size(), outputs.size()));
  FLAMBEAU_CHECK_OK(ReadInputs(input_specs));
  FLAMBEAU_CHECK_OK(ReadNodes(graph));
  FLAMBEAU_CHECK_OK(ReadOutputs(output_specs));
  scopes_.pop_back();
  return {};
}

Status GraphReader::ReadTables(const JsonReader& graph) {
  Scope& scope = scopes_.back();
  FLAMBEAU_CHECK_OK(ReadTable(graph, "tensor_values", &scope.tensors));
  FLAMBEAU_CHECK_OK(ReadTable(graph, "sym_int_values", &scope.ints));
  FLAMBEAU_CHECK_OK(ReadTable(graph, "sym_float_values", &scope.floats));
  return ReadTable(graph, "sym_bool_values", &scope.bools);
}

Status GraphReader::ReadNodes(const JsonReader& graph) {
  FLAMBEAU_TRY(const JsonReader nodes, graph.Array("nodes"));
  for (const JsonReader node : nodes.elements()) {
    FLAMBEAU_TRY(const bool is_part, ReadWrapped(node));
    if (!is_part) FLAMBEAU_CHECK_OK(ReadNode(node));
  }
  return {};
}

Status GraphReader::ReadNode(const JsonReader& node) {
  FLAMBEAU_TRY(const std::string_view target, node.String("target"));
  FLAMBEAU_TRY(const JsonReader inputs, node.Array("inputs"));
  FLAMBEAU_TRY(const JsonReader outputs, node.Array("outputs"));
  NodeSource source;
  FLAMBEAU_CHECK_OK(ReadSource(node, &source));
  // Whatever is wrong with this node's JSON is told with its place in the model.
  ContextScope context(sink_, [&](Diagnostic& diagnostic) {
    if (diagnostic.location.operation.empty()) diagnostic.location.operation = target;
    if (diagnostic.location.module.empty() && !source.modules.empty())
      diagnostic.location.module = source.modules.back().path;
    if (diagnostic.location.source.empty()) diagnostic.location.source = SourceLine(source.stack_trace);
  });

  Call call = {target, {}, {}, {}};
  auto& [operation, positional, named, results] = call;
  for (const JsonReader input : inputs.elements()) {
    FLAMBEAU_TRY(std::string_view name, input.String("name"));
    FLAMBEAU_TRY(const JsonReader json, input.Member("arg"));
    FLAMBEAU_TRY(const Tagged argument, ReadTagged(json));
    if (argument.tag == "as_string_to_argument") {
      const std::string prefix = name.empty() ? fmt::format("arg{}", positional.size()) : std::string(name);
      FLAMBEAU_CHECK_OK(ReadDictionary(prefix, argument.value, 0, &named));
      if (name.empty()) positional.emplace_back();
      continue;
    }
    FLAMBEAU_TRY(Argument value, ReadArgument(argument));
    if (name.empty()) {
      positional.push_back(std::move(value));
    } else {
      named.emplace_back(name, std::move(value));
    }
  }
  std::vector<Declared> declared;
  for (const JsonReader output : outputs.elements()) {
    FLAMBEAU_TRY(const Tagged result, ReadTagged(output));
    FLAMBEAU_CHECK_OK(Declare(result, &declared));
  }
  results.reserve(declared.size());
  for (Declared& result : declared) results.emplace_back(result.name, std::move(result.info));

  if (source.name.empty() && !results.empty()) source.name = results.front().first;
  current_ = node;
  Modernize(call, says_version_);
  if (LaunchesUnnamedKernel(call))
    return node.Error(DiagnosticKind::kMissingInformation, "the archive does not say which Triton kernel is launched",
                      "torch.export.save names the kernels of functional programs: save exported.run_decompositions({}) on a machine "
                      "that runs the kernel, or give the captured program itself");
  if (const std::optional<KernelLaunch> launch = LaunchOf(call)) {
    call.target = texts_.emplace_back(launch->target);
    builder_.DeclareOperator(launch->schema);
  }
  const std::vector<ValueHandle> handles = builder_.AddCall(operation, positional, named, results, source);
  if (BuilderAccess::SinkOf(builder_).error_count() >= kMostErrors) return kFailure;
  for (size_t i = 0; i < handles.size(); ++i) FLAMBEAU_CHECK_OK(Define(results[i].first, handles[i], outputs));
  if (scopes_.size() == 1) texts_.clear();
  return {};
}

Status GraphReader::ReadSource(const JsonReader& node, NodeSource* source) {
  FLAMBEAU_TRY(const std::optional<std::string_view> name, node.OptionalString("name"));
  source->name = name.value_or("");
  FLAMBEAU_TRY(const std::optional<JsonReader> metadata, node.OptionalObject("metadata"));
  if (!metadata) return {};
  FLAMBEAU_TRY(const std::optional<std::string_view> trace, metadata->OptionalString("stack_trace"));
  source->stack_trace = trace.value_or("");
  FLAMBEAU_TRY(const std::optional<std::string_view> modules, metadata->OptionalString("nn_module_stack"));
  if (modules) source->modules = ParseModuleStack(*modules);
  return {};
}

// Operators take no dictionaries; the entry `key` of the argument `options`
// becomes an argument `options.key`.
Status GraphReader::ReadDictionary(const std::string& prefix, const JsonReader& members, int depth,
                                   std::vector<std::pair<std::string_view, Argument>>* named) {
  constexpr int kMaxDictionaryDepth = 16;
  if (depth == kMaxDictionaryDepth)
    return members.Error(DiagnosticKind::kLimitExceeded, "dictionaries are nested too deeply");
  FLAMBEAU_TRY(const JsonReader object, members.AsObject());
  for (const auto [key, json] : object.members()) {
    FLAMBEAU_TRY(const Tagged argument, ReadTagged(json));
    std::string name = fmt::format("{}.{}", prefix, key);
    if (argument.tag == "as_string_to_argument") {
      FLAMBEAU_CHECK_OK(ReadDictionary(name, argument.value, depth + 1, named));
      continue;
    }
    FLAMBEAU_TRY(Argument value, ReadArgument(argument));
    named->emplace_back(texts_.emplace_back(std::move(name)), std::move(value));
  }
  return {};
}

Result<BodyHandle> GraphReader::ReadBody(const JsonReader& graph) {
  if (scopes_.size() == kMaxNesting)
    return graph.Error(DiagnosticKind::kLimitExceeded, fmt::format("graphs are nested more than {} deep", kMaxNesting));
  const BodyHandle body = builder_.BeginBody();
  scopes_.emplace_back();
  FLAMBEAU_CHECK_OK(ReadTables(graph));
  FLAMBEAU_TRY(const JsonReader inputs, graph.Array("inputs"));
  for (const JsonReader input : inputs.elements()) {
    FLAMBEAU_TRY(const Tagged argument, ReadTagged(input));
    std::vector<Declared> declared;
    FLAMBEAU_CHECK_OK(Declare(argument, &declared));
    current_ = input;
    for (const Declared& value : declared)
      FLAMBEAU_CHECK_OK(Define(value.name, builder_.AddBodyInput(value.name, value.info), input));
  }
  FLAMBEAU_CHECK_OK(ReadNodes(graph));
  FLAMBEAU_TRY(const JsonReader outputs, graph.Array("outputs"));
  std::vector<Argument> values;
  for (const JsonReader output : outputs.elements()) {
    FLAMBEAU_TRY(Argument value, ReadOutputValue(output));
    values.push_back(std::move(value));
  }
  current_ = outputs;
  builder_.EndBody(values);
  scopes_.pop_back();
  return body;
}

Status GraphReader::Declare(const Tagged& argument, std::vector<Declared>* declared) {
  using Style = DeclaredForm::Style;
  const DeclaredForm* form = FindForm(argument.tag);
  if (form == nullptr) return argument.Unknown("value");
  auto declare = [&](const JsonReader& json) -> Status {
    const auto add = [&](std::string_view name, Result<ValueInfo> info) -> Status {
      if (!info) return kFailure;
      declared->push_back({name, *std::move(info)});
      return {};
    };
    switch (form->style) {
      case Style::kConstant: return add({}, DescribeConstant(form->kind, json));
      case Style::kNamed: {
        FLAMBEAU_TRY(const std::string_view name, json.String("name"));
        if (form->kind == ValueInfo::Kind::kTensor) return add(name, DescribeTensor(name, json));
        return add(name, ValueInfo{.kind = form->kind});
      }
      case Style::kSymbol: {
        FLAMBEAU_TRY(const Tagged symbol, ReadTagged(json));
        if (symbol.tag != "as_name") {
          if (symbol.tag != "as_int" && symbol.tag != "as_float" && symbol.tag != "as_bool")
            return symbol.Unknown("symbolic number");
          return add({}, DescribeConstant(form->kind, symbol.value));
        }
        FLAMBEAU_TRY(const std::string_view name, symbol.value.AsString());
        return add(name, DescribeSymbol(form->kind, name, json));
      }
      case Style::kOptional: {
        FLAMBEAU_TRY(const Tagged optional, ReadTagged(json));
        if (optional.tag == "as_none") return add({}, ValueInfo{.kind = ValueInfo::Kind::kNone});
        if (optional.tag != "as_tensor") return optional.Unknown("optional tensor");
        FLAMBEAU_TRY(const std::string_view name, optional.value.String("name"));
        return add(name, DescribeTensor(name, json));
      }
    }
    return {};
  };
  if (!form->list) return declare(argument.value);
  FLAMBEAU_TRY(const JsonReader list, argument.value.AsArray());
  for (const JsonReader element : list.elements()) FLAMBEAU_CHECK_OK(declare(element));
  return {};
}

Result<ValueInfo> GraphReader::DescribeTensor(std::string_view name, const JsonReader& where) {
  const auto& table = scopes_.back().tensors;
  const auto found = table.find(name);
  if (found == table.end())
    return where.Error(DiagnosticKind::kBadProgram,
                       fmt::format("the graph does not describe the tensor {}", Quote(name)));
  FLAMBEAU_TRY(const std::optional<JsonReader> meta, found->second.OptionalObject("meta"));  // PyTorch 2.1
  const JsonReader& json = meta ? *meta : found->second;
  ValueInfo info;
  FLAMBEAU_TRY(const JsonReader dtype, json.Member("dtype"));
  FLAMBEAU_TRY(info.dtype, ReadScalarType(dtype));
  FLAMBEAU_CHECK_OK(ReadSizes(json, "sizes", &info.sizes));
  FLAMBEAU_CHECK_OK(ReadSizes(json, "strides", &info.strides));
  return info;
}

Result<ValueInfo> GraphReader::DescribeSymbol(ValueInfo::Kind kind, std::string_view name, const JsonReader& where) {
  const Scope& scope = scopes_.back();
  const auto& table = kind == ValueInfo::Kind::kInt     ? scope.ints
                      : kind == ValueInfo::Kind::kFloat ? scope.floats
                                                        : scope.bools;
  ValueInfo info{.kind = kind};
  if (const auto found = table.find(name); found != table.end()) {
    FLAMBEAU_TRY(info.expression, ReadSymbolic(found->second));
  } else if (kind == ValueInfo::Kind::kInt) {
    return where.Error(DiagnosticKind::kBadProgram,
                       fmt::format("the graph does not describe the number {}", Quote(name)));
  }
  return info;
}

Status GraphReader::Define(std::string_view name, ValueHandle value, const JsonReader& where) {
  if (BuilderAccess::SinkOf(builder_).error_count() >= kMostErrors) return kFailure;
  if (!name.empty() && !scopes_.back().values.try_emplace(name, value).second)
    return where.Error(DiagnosticKind::kBadProgram, fmt::format("{} is defined twice", Quote(name)));
  return {};
}

}  // namespace flambeau::pt2
