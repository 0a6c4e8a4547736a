#include "script/outputs.h"

#include <fmt/format.h>

#include <utility>

#include "script/lists/rows.h"
#include "script/lists/sequences.h"
#include "script/quantized.h"

namespace flambeau::script {
namespace {

constexpr int kOptionalOutputs = 16;  // the opset from which an If may give out an optional

std::string Within(const std::string& keys, const std::string& key) { return keys.empty() ? key : fmt::format("{}.{}", keys, key); }

}  // namespace

Status Outputs::Add(const Val& value, std::string_view name) {
  if (IsBounded(value, evaluator_.heap())) return AddBounded(value, name);
  return evaluator_.sink().Error(DiagnosticKind::kLimitExceeded, "an output of the program nests too deep, or holds itself");
}

void Outputs::NameTheNameless() {
  int nameless = 0;
  for (OutputSpec& output : program_.outputs) {
    if (!evaluator_.context().Text(output.name).empty()) continue;
    output.name = evaluator_.context().Intern(nameless == 0 ? "output" : fmt::format("output_{}", nameless));
    ++nameless;
  }
}

Status Outputs::AddAttributes(const torchscript::Graph& graph, Sink& sink) {
  std::string lost;
  for (uint32_t i = 0; i < graph.objects.size(); ++i) {
    const auto attributes = evaluator_.heap()[i].attributes;
    for (const auto& [name, value] : attributes) {
      const torchscript::ObjectAttribute* before = graph.objects[i].Find(name);
      const auto* tensor = value.As<TensorVal>();
      const std::string& owner = graph.objects[i].path;
      if (before != nullptr && evaluator_.attribute_uses().ReadsFirst(i, name) && IsChanged(value, before->value))
        lost += fmt::format("{}'{}{}{}'", lost.empty() ? "" : ", ", owner, owner.empty() ? "" : ".", name);
      if (before == nullptr || tensor == nullptr || !std::holds_alternative<TensorData>(before->value.value)) continue;
      const Symbol target = evaluator_.context().Intern(owner.empty() ? name : owner + "." + name);
      values_.push_back(evaluator_.emit().Read(tensor->id));
      program_.outputs.push_back({OutputKind::kBufferMutation, target, target});
    }
  }
  if (!lost.empty())
    sink.Warning(DiagnosticKind::kIgnoredMutation, fmt::format("the model writes {}, and each run begins with what was there before", lost), {},
                 "keep it in a buffer, and ask for state outputs to get it");
  return {};
}

bool Outputs::IsChanged(const Val& value, const torchscript::Constant& before) const {
  if (const auto* number = value.As<NumberVal>()) return evaluator_.emit().TypeOf(number->id).kind != TypeKind::kBool;
  if (const auto* list = value.As<ListVal>()) {
    const auto* elements = std::get_if<torchscript::ListConstant>(&before.value);
    const Cell& cell = evaluator_.heap()[list->cell];
    return elements != nullptr && (cell.sequence || cell.elements.size() != elements->elements.size());
  }
  return std::visit([&]<class T>(const T& was) {
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
      const T* now = value.As<T>();
      return now != nullptr && *now != was && was == was;
    } else {
      return false;
    }
  }, before.value);
}

Failure Outputs::Lost() {
  return evaluator_.UnsupportedWherePathsMet("an output of the program is a list or dict of which paths through it made different things");
}

Status Outputs::AddBounded(const Val& value, std::string_view name) {
  Emitter& emit = evaluator_.emit();
  const Vals* elements = nullptr;
  if (const auto* tensor = value.As<TensorVal>()) {
    return AddLeaf(emit.Read(tensor->id), name);
  } else if (value.Is<QuantizedVal>()) {  // ONNX has no such tensors: the numbers that they stand for
    FLAMBEAU_TRY(const Val floats, Dequantize(evaluator_, value));
    return AddLeaf(floats.As<TensorVal>()->id, name);
  } else if (const auto* number = value.As<NumberVal>()) {
    return AddLeaf(number->id, name);
  } else if (value.Is<std::complex<double>>()) {  // as a tensor: ONNX has no such numbers
    FLAMBEAU_TRY(const Val tensor, emit.NumberTensor(value));
    return AddLeaf(emit.Read(tensor.As<TensorVal>()->id), name);
  } else if (value.IsConstantNumber()) {
    return AddLeaf(emit.Materialise(value), name);
  } else if (const auto* tuple = value.As<TupleVal>()) {
    elements = tuple->elements.get();
  } else if (const auto* list = value.As<ListVal>()) {
    const Cell& cell = evaluator_.heap()[list->cell];
    if (cell.lost) return Lost();
    if (cell.has_rows) return AddRows(cell, name);
    if (!cell.columns.empty()) return AddColumns(cell, name);
    if (cell.sequence) return AddLeaf(emit.Read(*cell.sequence), name);
    elements = &cell.elements;
  } else if (const auto* dict = value.As<DictVal>()) {
    return AddDict(evaluator_.heap()[dict->cell]);
  } else if (const auto* optional = value.As<OptionalVal>()) {
    return AddOptional(*optional, name);
  } else if (const auto* undefined = value.As<Undefined>()) {
    if (!undefined->because)
      return evaluator_.UnsupportedWherePathsMet("an output of the program is defined on some paths through it only");
    if (undefined->unknown) return evaluator_.Unsupported(fmt::format("an output of the program is {}", *undefined->because));
    return evaluator_.UnsupportedWherePathsMet(
        fmt::format("an output of the program is not the same kind of thing on all paths through it: {}", *undefined->because),
        "an ONNX output has one dtype: convert to it in the model, where the paths meet");
  }
  if (elements == nullptr) return {};
  const Vals copy = *elements;
  for (const Val& element : copy) FLAMBEAU_CHECK_OK(AddBounded(element, keys_));
  return {};
}

Status Outputs::AddRows(const Cell& list, std::string_view name) {
  evaluator_.sink().Warning(DiagnosticKind::kUnsupportedForm,
                            "an output of the program is a list of lists whose length is known at run time only: the model "
                            "gives the elements of all as one sequence", {}, "return the lengths of the lists as well");
  const Cell copy = list;
  return AddSequence(copy, name);
}

Status Outputs::AddColumns(const Cell& list, std::string_view name) {
  const Cell copy = list;
  evaluator_.sink().Warning(DiagnosticKind::kUnsupportedForm,
                            fmt::format("an output of the program is a list of {} whose length is known at run time only: the "
                                        "model gives each field of them as a sequence of its own", copy.keys.empty() ? "tuples" : "dicts"),
                            {}, "return a list for each field");
  return AddFields(copy, name);
}

Status Outputs::AddFields(const Cell& list, std::string_view name) {
  for (size_t k = 0; k < list.columns.size(); ++k) {
    const auto* key = k < list.keys.size() ? list.keys[k].As<std::string>() : nullptr;
    FLAMBEAU_CHECK_OK(AddSequence(list.columns[k], key != nullptr ? Within(keys_, *key) : std::string(name)));
  }
  return {};
}

Status Outputs::AddSequence(const Cell& list, std::string_view name) {
  if (list.has_rows) return AddSequence(list.columns[kRowElements], name);
  if (!list.columns.empty()) return AddFields(list, name);
  const Val elements = ListVal{evaluator_.heap().Add(list)};
  FLAMBEAU_TRY(const Val sequence, AsSequence(evaluator_, elements));
  return AddLeaf(evaluator_.emit().Read(*evaluator_.heap()[sequence.As<ListVal>()->cell].sequence), name);
}

Status Outputs::AddDict(const Cell& cell) {
  if (cell.lost) return Lost();
  const std::string outer = keys_;
  const auto entries = cell.entries;
  for (const auto& [key, entry] : entries) {
    const auto* text = key.As<std::string>();
    keys_ = text == nullptr ? outer : Within(outer, *text);
    FLAMBEAU_CHECK_OK(AddBounded(entry, keys_));
  }
  keys_ = outer;
  return {};
}

Status Outputs::AddOptional(const OptionalVal& optional, std::string_view name) {
  if (evaluator_.opset() < kOptionalOutputs)
    return evaluator_.UnsupportedWherePathsMet("an output of the program is None on some paths through it only",
                                               fmt::format("ONNX has such outputs from opset {} on", kOptionalOutputs));
  const std::optional<Val> outer = std::exchange(present_, NumberVal{optional.present});
  if (outer) {
    FLAMBEAU_TRY(present_, evaluator_.emit().Call1("_operator::and_", {*outer, *present_}));
  }
  const Status added = AddBounded(*optional.value, name);
  present_ = outer;
  return added;
}

Status Outputs::AddLeaf(ValueId value, std::string_view name) {
  const auto* present = present_ ? present_->As<NumberVal>() : nullptr;
  values_.push_back(present != nullptr ? evaluator_.emit().Optional(present->id, value) : value);
  program_.outputs.push_back({OutputKind::kUser, evaluator_.context().Intern(name), {}});
  return {};
}

}  // namespace flambeau::script
