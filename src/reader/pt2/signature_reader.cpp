// GraphReader's inputs and outputs: what the signature says that they are.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "container/quote.h"
#include "reader/pt2/graph_reader.h"

namespace flambeau::pt2 {
namespace {

struct InputForm {
  std::string_view tag;
  InputKind kind;
  std::string_view target;  // the member that names it; may be empty
  std::string_view printed;
};
constexpr InputForm kInputForms[] = {
    {"user_input", InputKind::kUser, "", "USER_INPUT"},
    {"constant_input", InputKind::kConstant, "", "USER_INPUT"},
    {"parameter", InputKind::kParameter, "parameter_name", "PARAMETER"},
    {"buffer", InputKind::kBuffer, "buffer_name", "BUFFER"},
    {"tensor_constant", InputKind::kConstantTensor, "tensor_constant_name", "CONSTANT_TENSOR"},
    {"custom_obj", InputKind::kObject, "custom_obj_name", "CUSTOM_OBJ"},
    {"token", InputKind::kToken, "", "TOKEN"},
};

struct OutputForm {
  std::string_view tag;
  OutputKind kind;
  std::string_view target;
  std::string_view printed;
};
constexpr OutputForm kOutputForms[] = {
    {"user_output", OutputKind::kUser, "", "USER_OUTPUT"},
    {"loss_output", OutputKind::kLoss, "", "LOSS_OUTPUT"},
    {"buffer_mutation", OutputKind::kBufferMutation, "buffer_name", "BUFFER_MUTATION"},
    {"parameter_mutation", OutputKind::kParameterMutation, "parameter_name", "PARAMETER_MUTATION"},
    {"gradient_to_parameter", OutputKind::kGradient, "parameter_name", "GRADIENT_TO_PARAMETER"},
    {"gradient_to_user_input", OutputKind::kGradient, "user_input_name", "GRADIENT_TO_USER_INPUT"},
    {"user_input_mutation", OutputKind::kUserInputMutation, "user_input_name", "USER_INPUT_MUTATION"},
    {"token", OutputKind::kToken, "", "TOKEN"},
};

template <class Form, size_t N>
const Form* FindForm(const Form (&forms)[N], std::string_view tag) {
  const auto it = std::find_if(forms, forms + N, [&](const Form& form) { return form.tag == tag; });
  return it == forms + N ? nullptr : it;
}

Result<std::string_view> ReadTarget(const JsonReader& spec, std::string_view member) {
  if (member.empty()) return std::string_view();
  return spec.String(member);
}

// As torch.export prints a line of its ExportGraphSignature.
void AppendSpec(std::string_view name, std::string_view kind, bool has_target, std::string_view target,
                std::string* out) {
  fmt::format_to(std::back_inserter(*out), "{}: {}", name, kind);
  if (has_target) fmt::format_to(std::back_inserter(*out), " target='{}'", target);
}

// The name of the value that an argument is; empty for constants.
std::string_view NameOf(const Tagged& argument) {
  const JsonValue value = argument.value.value();
  const auto named = value.Get("name"), symbol = value.Get("as_name");
  const auto name = named ? named->AsString() : symbol ? symbol->AsString() : std::nullopt;
  return name.value_or("");
}

// A member of the signature that says by name what values are.
Result<NameTable<std::string_view>> ReadTargets(const JsonReader& signature, std::string_view member) {
  FLAMBEAU_TRY(const JsonReader object, signature.Object(member));
  NameTable<std::string_view> targets;
  targets.reserve(object.size());
  for (const auto [name, json] : object.members()) {
    FLAMBEAU_TRY(const std::string_view target, json.AsString());
    targets.emplace(name, target);
  }
  return targets;
}

}  // namespace

Status GraphReader::ReadInputs(const JsonReader& specs) {
  signature_ = "\n# inputs\n";
  for (const JsonReader json : specs.elements()) {
    current_ = json;
    FLAMBEAU_TRY(const Tagged spec, ReadTagged(json));
    FLAMBEAU_CHECK_OK(ReadInput(spec));
    signature_ += '\n';
  }
  if (specs.size() == 0) signature_ += '\n';
  return {};
}

Status GraphReader::ReadInput(const Tagged& spec) {
  const InputForm* form = FindForm(kInputForms, spec.tag);
  if (form == nullptr) return spec.Unknown("input");
  if (form->kind == InputKind::kConstant) return ReadConstantInput(spec.value);
  FLAMBEAU_TRY(const JsonReader arg, spec.value.Object("arg"));
  FLAMBEAU_TRY(const std::string_view target, ReadTarget(spec.value, form->target));
  bool persistent = form->kind == InputKind::kParameter;
  if (form->kind == InputKind::kBuffer) {
    FLAMBEAU_TRY(const std::optional<bool> given, spec.value.OptionalBool("persistent"));
    persistent = given.value_or(true);
  }
  return AddInput(spec.tag, arg, target, persistent, spec.value);
}

Status GraphReader::AddInput(std::string_view tag, const JsonReader& arg, std::string_view target, bool persistent, const JsonReader& spec) {
  const InputForm& form = *FindForm(kInputForms, tag);
  const InputKind kind = form.kind;
  if (kind == InputKind::kUser) {
    FLAMBEAU_TRY(const Tagged argument, ReadTagged(arg));
    std::vector<Declared> declared;
    FLAMBEAU_CHECK_OK(Declare(argument, &declared));
    if (declared.size() != 1) return argument.Unknown("input");
    const auto& [name, info] = declared.front();
    AppendSpec(name, form.printed, false, {}, &signature_);
    return Define(name, builder_.AddInput(kind, name, info), arg);
  }
  FLAMBEAU_TRY(const std::string_view name, arg.String("name"));
  AppendSpec(name, form.printed, !form.target.empty(), target, &signature_);
  if (kind == InputKind::kObject || kind == InputKind::kToken) {
    const ValueInfo info{.kind = kind == InputKind::kToken ? ValueInfo::Kind::kToken : ValueInfo::Kind::kObject};
    return Define(name, builder_.AddInput(kind, name, info, target), arg);
  }
  if (kind == InputKind::kBuffer) signature_ += persistent ? " persistent=True" : " persistent=False";
  return ReadStoredInput(kind, arg, target, persistent, spec);
}

Status GraphReader::ReadInputsByName(const JsonReader& inputs, const JsonReader& signature) {
  FLAMBEAU_TRY(const NameTable<std::string_view> parameters, ReadTargets(signature, "inputs_to_parameters"));
  FLAMBEAU_TRY(const NameTable<std::string_view> buffers, ReadTargets(signature, "inputs_to_buffers"));
  signature_ = "\n# inputs\n";
  for (const JsonReader input : inputs.elements()) {
    current_ = input;
    FLAMBEAU_TRY(const Tagged argument, ReadTagged(input));
    const std::string_view name = NameOf(argument);
    if (const auto parameter = parameters.find(name); parameter != parameters.end()) {
      FLAMBEAU_CHECK_OK(AddInput("parameter", argument.value, parameter->second, true, input));
    } else if (const auto buffer = buffers.find(name); buffer != buffers.end()) {
      FLAMBEAU_CHECK_OK(AddInput("buffer", argument.value, buffer->second, true, input));
    } else {
      FLAMBEAU_CHECK_OK(AddInput("user_input", input, {}, false, input));
    }
    signature_ += '\n';
  }
  return {};
}

// A Python constant that was an argument of the example call. Uses of it are
// already constants; it stays an input so that positions agree.
Status GraphReader::ReadConstantInput(const JsonReader& spec) {
  FLAMBEAU_TRY(const std::string_view name, spec.String("name"));
  FLAMBEAU_TRY(const JsonReader json, spec.Member("value"));
  FLAMBEAU_TRY(const Tagged value, ReadTagged(json));
  if (value.tag != "as_none" && value.tag != "as_int" && value.tag != "as_float" && value.tag != "as_string" &&
      value.tag != "as_bool")
    return value.Unknown("constant");
  std::vector<Declared> declared;
  FLAMBEAU_CHECK_OK(Declare(value, &declared));
  AppendSpec(name, "USER_INPUT", false, {}, &signature_);
  return Define(name, builder_.AddInput(InputKind::kConstant, name, declared.front().info), spec);
}

Status GraphReader::ReadStoredInput(InputKind kind, const JsonReader& arg, std::string_view target, bool persistent, const JsonReader& spec) {
  FLAMBEAU_TRY(const std::string_view name, arg.String("name"));
  FLAMBEAU_TRY(const ValueInfo info, DescribeTensor(name, arg));
  FLAMBEAU_TRY(std::optional<TensorTable::Wrapped> wrapped, tensors_.FindWrapped(target));
  if (wrapped) {
    wrappers_.insert_or_assign(name, Wrapper{*std::move(wrapped), kind, target, persistent});
    return {};
  }
  FLAMBEAU_TRY(TensorSource tensor, tensors_.Find(target, spec));
  FLAMBEAU_CHECK_OK(CheckStored(info, tensor, target, spec));
  return Define(name, builder_.AddTensor(kind, name, info, std::move(tensor), target, persistent), arg);
}

Status GraphReader::CheckStored(const ValueInfo& info, const TensorSource& tensor, std::string_view target, const JsonReader& where) {
  const auto same = [](const SymbolicInt& a, int64_t b) { return std::holds_alternative<int64_t>(a) && std::get<int64_t>(a) == b; };
  if (info.dtype == tensor.dtype && std::ranges::equal(info.sizes, tensor.sizes, same)) return {};
  return where.Error(DiagnosticKind::kBadTensor,
                     fmt::format("the graph describes {} with another dtype or other sizes than it was saved with", Quote(target)));
}

Status GraphReader::ReadOutputs(const JsonReader& specs) {
  signature_ += "\n# outputs\n";
  for (const JsonReader json : specs.elements()) {
    current_ = json;
    FLAMBEAU_TRY(const Tagged spec, ReadTagged(json));
    FLAMBEAU_CHECK_OK(ReadOutput(spec));
    signature_ += '\n';
  }
  if (specs.size() == 0) signature_ += '\n';
  builder_.SetMetadata("pkg.torch.export.ExportedProgram.graph_signature", signature_);
  return {};
}

Status GraphReader::ReadOutput(const Tagged& spec) {
  const OutputForm* form = FindForm(kOutputForms, spec.tag);
  if (form == nullptr) return spec.Unknown("output");
  FLAMBEAU_TRY(const JsonReader arg, spec.value.Object("arg"));
  FLAMBEAU_TRY(const std::string_view target, ReadTarget(spec.value, form->target));
  return AddOutput(spec.tag, arg, target);
}

Status GraphReader::AddOutput(std::string_view tag, const JsonReader& arg, std::string_view target) {
  const OutputForm& form = *FindForm(kOutputForms, tag);
  std::string_view name;
  Argument value;
  if (form.kind == OutputKind::kUser) {
    FLAMBEAU_TRY(const Tagged argument, ReadTagged(arg));
    name = NameOf(argument);
    FLAMBEAU_TRY(value, ReadOutputValue(arg));
  } else {
    FLAMBEAU_TRY(name, arg.String("name"));
    FLAMBEAU_TRY(value, UseNamed(arg));
  }
  AppendSpec(name, form.printed, !form.target.empty(), target, &signature_);
  builder_.AddOutput(form.kind, value, name, target);
  return {};
}

Status GraphReader::ReadOutputsByName(const JsonReader& outputs, const JsonReader& signature) {
  FLAMBEAU_TRY(const NameTable<std::string_view> mutations, ReadTargets(signature, "buffers_to_mutate"));
  signature_ += "\n# outputs\n";
  size_t position = 0;
  for (const JsonReader output : outputs.elements()) {
    current_ = output;
    FLAMBEAU_TRY(const Tagged argument, ReadTagged(output));
    // What is written to buffers comes first; the user may return the same values after it.
    const auto buffer = position++ < mutations.size() ? mutations.find(NameOf(argument)) : mutations.end();
    FLAMBEAU_CHECK_OK(buffer != mutations.end() ? AddOutput("buffer_mutation", argument.value, buffer->second)
                                                : AddOutput("user_output", output, {}));
    signature_ += '\n';
  }
  builder_.SetMetadata("pkg.torch.export.ExportedProgram.graph_signature", signature_);
  return {};
}

}  // namespace flambeau::pt2
