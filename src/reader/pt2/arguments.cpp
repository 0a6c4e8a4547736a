// GraphReader's arguments: one handler for each alternative of schema.py's
// Argument.
#include <fmt/format.h>

#include "container/quote.h"
#include "ir/torch_names.h"
#include "reader/pt2/graph_reader.h"

namespace flambeau::pt2 {

template <GraphReader::ArgumentHandler Element>
Result<Argument> GraphReader::UseList(const JsonReader& json) {
  FLAMBEAU_TRY(const JsonReader array, json.AsArray());
  Argument::List list;
  list.reserve(array.size());
  for (const JsonReader element : array.elements()) {
    FLAMBEAU_TRY(Argument value, (this->*Element)(element));
    list.push_back(std::move(value));
  }
  return Argument(std::move(list));
}

const std::unordered_map<std::string_view, GraphReader::ArgumentHandler>& GraphReader::ArgumentHandlers() {
  using R = GraphReader;
  static const std::unordered_map<std::string_view, ArgumentHandler> kHandlers = {
      {"as_none", &R::UseNone},
      {"as_tensor", &R::UseNamed},
      {"as_tensors", &R::UseList<&R::UseNamed>},
      {"as_nested_tensors", &R::UseList<&R::UseList<&R::UseNamed>>},
      {"as_optional_tensor", &R::UseOptional},
      {"as_optional_tensors", &R::UseList<&R::UseOptional>},
      {"as_int", &R::UseInt},
      {"as_ints", &R::UseList<&R::UseInt>},
      {"as_int_lists", &R::UseList<&R::UseList<&R::UseInt>>},
      {"as_float", &R::UseFloat},
      {"as_floats", &R::UseList<&R::UseFloat>},
      {"as_float_lists", &R::UseList<&R::UseList<&R::UseFloat>>},
      {"as_bool", &R::UseBool},
      {"as_bools", &R::UseList<&R::UseBool>},
      {"as_string", &R::UseString},
      {"as_strings", &R::UseList<&R::UseString>},
      {"as_complex", &R::UseComplex},
      {"as_sym_int", &R::UseSymbol},
      {"as_sym_ints", &R::UseList<&R::UseSymbol>},
      {"as_sym_float", &R::UseSymbol},
      {"as_sym_floats", &R::UseList<&R::UseSymbol>},
      {"as_sym_bool", &R::UseSymbol},
      {"as_sym_bools", &R::UseList<&R::UseSymbol>},
      {"as_scalar_type", &R::UseScalarType},
      {"as_memory_format", &R::UseMemoryFormat},
      {"as_layout", &R::UseLayout},
      {"as_device", &R::UseDevice},
      {"as_graph", &R::UseGraph},
      {"as_custom_obj", &R::UseNamed},
      {"as_operator", &R::UseString},
  };
  return kHandlers;
}

Result<Argument> GraphReader::ReadArgument(const JsonReader& json) {
  FLAMBEAU_TRY(const Tagged argument, ReadTagged(json));
  return ReadArgument(argument);
}

Result<Argument> GraphReader::ReadArgument(const Tagged& argument) {
  const auto& handlers = ArgumentHandlers();
  const auto handler = handlers.find(argument.tag);
  if (handler == handlers.end()) return argument.Unknown("argument");
  return (this->*handler->second)(argument.value);
}

// What a graph returns is flat: values and Python constants.
Result<Argument> GraphReader::ReadOutputValue(const JsonReader& json) {
  FLAMBEAU_TRY(const Tagged argument, ReadTagged(json));
  const bool flat = argument.tag != "as_graph" && argument.tag != "as_operator" && !argument.tag.ends_with('s');
  if (!flat) return argument.Unknown("output");
  return ReadArgument(argument);
}

Result<Argument> GraphReader::UseName(const JsonReader& json) {
  FLAMBEAU_TRY(const std::string_view name, json.AsString());
  const auto& values = scopes_.back().values;
  const auto value = values.find(name);
  if (const auto wrapper = wrappers_.find(name); value == values.end() && scopes_.size() == 1 && wrapper != wrappers_.end())
    return json.Error(DiagnosticKind::kUnsupportedForm,
                      fmt::format("{} wraps other tensors, and an operator takes it as a whole", Quote(wrapper->second.target)),
                      "torch.export asks such a tensor for what it wraps: capture the model as torch.export.export(model, inputs), "
                      "or unwrap its weights with torchao.utils.unwrap_tensor_subclass(model) before");
  if (value == values.end())
    return json.Error(DiagnosticKind::kBadProgram, fmt::format("{} is used before it is defined", Quote(name)));
  return Argument(value->second);
}

Result<Argument> GraphReader::UseNamed(const JsonReader& json) {
  FLAMBEAU_TRY(const JsonReader name, json.Member("name"));
  return UseName(name);
}

Result<Argument> GraphReader::UseSymbol(const JsonReader& json) {
  FLAMBEAU_TRY(const Tagged symbol, ReadTagged(json));
  if (symbol.tag == "as_name") return UseName(symbol.value);
  if (symbol.tag == "as_int") return UseInt(symbol.value);
  if (symbol.tag == "as_float") return UseFloat(symbol.value);
  if (symbol.tag == "as_bool") return UseBool(symbol.value);
  return symbol.Unknown("symbolic number");
}

Result<Argument> GraphReader::UseOptional(const JsonReader& json) {
  FLAMBEAU_TRY(const Tagged optional, ReadTagged(json));
  if (optional.tag == "as_tensor" && optional.value.value().kind() == JsonKind::kString) return UseName(optional.value);  // before 2.4
  if (optional.tag == "as_tensor") return UseNamed(optional.value);
  if (optional.tag == "as_none") return Argument();
  return optional.Unknown("optional tensor");
}

Result<Argument> GraphReader::UseNone(const JsonReader&) { return Argument(); }

Result<Argument> GraphReader::UseInt(const JsonReader& json) {
  FLAMBEAU_TRY(const int64_t value, json.AsInt());
  return Argument(value);
}

Result<Argument> GraphReader::UseFloat(const JsonReader& json) {
  FLAMBEAU_TRY(const double value, json.AsDouble());
  return Argument(value);
}

Result<Argument> GraphReader::UseBool(const JsonReader& json) {
  FLAMBEAU_TRY(const bool value, json.AsBool());
  return Argument(value);
}

Result<Argument> GraphReader::UseString(const JsonReader& json) {
  FLAMBEAU_TRY(const std::string_view value, json.AsString());
  return Argument(value);
}

Result<Argument> GraphReader::UseComplex(const JsonReader& json) {
  FLAMBEAU_TRY(const double real, json.Double("real"));
  FLAMBEAU_TRY(const double imaginary, json.Double("imag"));
  return Argument(std::complex<double>(real, imaginary));
}

Result<Argument> GraphReader::UseScalarType(const JsonReader& json) {
  FLAMBEAU_TRY(const ScalarTypeCode code, ReadScalarType(json));
  return Argument(DtypeArgument{code});
}

Result<Argument> GraphReader::UseMemoryFormat(const JsonReader& json) {
  FLAMBEAU_TRY(const int64_t code, json.AsInt());
  switch (code) {
    case 1: return Argument(MemoryFormatArgument{TorchName(MemoryFormat::kContiguous)});
    case 2: return Argument(MemoryFormatArgument{TorchName(MemoryFormat::kChannelsLast)});
    case 3: return Argument(MemoryFormatArgument{TorchName(MemoryFormat::kChannelsLast3d)});
    case 4: return Argument(MemoryFormatArgument{TorchName(MemoryFormat::kPreserve)});
    default: return json.Error(fmt::format("{} is no memory format that this version of Flambeau knows", code));
  }
}

Result<Argument> GraphReader::UseLayout(const JsonReader& json) {
  FLAMBEAU_TRY(const int64_t code, json.AsInt());
  switch (code) {
    case 1: return Argument(LayoutArgument{"sparse_coo"});
    case 2: return Argument(LayoutArgument{"sparse_csr"});
    case 3: return Argument(LayoutArgument{"sparse_csc"});
    case 4: return Argument(LayoutArgument{"sparse_bsr"});
    case 5: return Argument(LayoutArgument{"sparse_bsc"});
    case 6: return Argument(LayoutArgument{"_mkldnn"});
    case 7: return Argument(LayoutArgument{"strided"});
    default: return json.Error(fmt::format("{} is no layout that this version of Flambeau knows", code));
  }
}

Result<Argument> GraphReader::UseDevice(const JsonReader& json) {
  FLAMBEAU_TRY(const std::string_view type, json.String("type"));
  FLAMBEAU_TRY(const std::optional<int64_t> index, json.OptionalInt("index"));
  if (!index) return Argument(DeviceArgument{type});
  return Argument(DeviceArgument{texts_.emplace_back(fmt::format("{}:{}", type, *index))});
}

Result<Argument> GraphReader::UseGraph(const JsonReader& json) {
  FLAMBEAU_TRY(const JsonReader graph, json.Object("graph"));
  FLAMBEAU_TRY(const BodyHandle body, ReadBody(graph));
  return Argument(body);
}

}  // namespace flambeau::pt2
