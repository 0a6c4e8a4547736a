#include "lower/splice.h"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/emission.h"
#include "onnx/operator_table.h"

namespace flambeau::lower {
namespace {

// Whether what is written for one version means the same in another, newer one:
// attributes may have been added, but not changed. Element types may differ.
bool SameForm(const onnx::OperatorVersion& given, const onnx::OperatorVersion& target) {
  if (&given == &target) return true;
  const auto name = [](const auto& item) { return item.name; };
  if (!std::ranges::equal(given.inputs(), target.inputs(), {}, name, name)) return false;
  if (!std::ranges::equal(given.outputs(), target.outputs(), {}, name, name)) return false;
  for (const onnx::AttributeSchema& attribute : given.attributes()) {
    const onnx::AttributeSchema* now = target.FindAttribute(attribute.name);
    if (now == nullptr || now->has_default != attribute.has_default || now->default_int != attribute.default_int ||
        now->default_float != attribute.default_float || now->default_string != attribute.default_string)
      return false;
  }
  return std::ranges::none_of(target.attributes(), [&](const auto& added) { return added.required && given.FindAttribute(added.name) == nullptr; });
}

// One splice. Recursion is over nested graphs, whose depth the reader limits.
class Splicer {
 public:
  Splicer(Lowering& to, const onnx::ModelData& model)
      : to_(to), graph_(model.graph), values_(model.graph.value_capacity()) {
    for (const onnx::OpsetImport& import : model.opset_imports)
      if (import.domain.empty()) {
        opset_ = import.version;
      } else {
        to.additions().domains.emplace(import.domain, import.version);
      }
  }

  void Bind(ValueId value, Tensor tensor) { values_[value.index] = tensor; }

  // False after a report.
  bool Nodes(BlockId block) {
    bool fine = true;
    graph_.ForEachNode(block, [&](NodeId node) { fine = fine && Node(node); });
    return fine;
  }

  Tensor ValueOf(ValueId value) {
    if (!value) return {};
    Tensor& known = values_[value.index];
    if (!known && graph_[value].kind == ValueKind::kConstant) known = to_.Weight(graph_[value].data);
    return known;
  }

  std::vector<Tensor> Outputs(BlockId block) {
    std::vector<Tensor> outputs;
    for (ValueId output : graph_.outputs(block)) outputs.push_back(ValueOf(output));
    return outputs;
  }

 private:
  bool Node(NodeId id) {
    const flambeau::Node& node = graph_[id];
    const std::string_view op = graph_.op(id);
    if (op == "Constant") return Constant(id);
    const bool has_domain = op.find("::") != op.npos, is_onnx = !has_domain && onnx::FindOperator(op, onnx::NewestOpset()) != nullptr;
    if (is_onnx && !HasForm(op)) return false;
    if (!has_domain && !is_onnx) WarnOfNoDomain(op);
    std::vector<Tensor> operands;
    for (ValueId operand : graph_.operands(id)) operands.push_back(ValueOf(operand));
    onnx::AttributeList attributes;
    for (const NamedAttribute& attribute : node.attributes) {
      const auto* body = std::get_if<BlockId>(&attribute.value);
      const std::string_view name = to_.context().Text(attribute.name);
      if (body == nullptr) {
        attributes.Add(name, attribute.value);
        continue;
      }
      const auto copy = Body(*body);
      if (!copy) return false;
      attributes.Add(name, Attribute(*copy));
    }
    std::vector<Tensor> results;
    if (is_onnx) {
      results = onnx::EmitAsIs(to_, op, operands, attributes, node.result_count);
      TakeDtypesOfBody(op, attributes, &results);
      for (uint32_t i = 0; i < node.result_count; ++i) TakeDeclaredRank(graph_.type(node.result(i)), &results[i]);
    } else {
      std::vector<Type> types;
      for (uint32_t i = 0; i < node.result_count; ++i) types.push_back(graph_.type(node.result(i)));
      results = to_.EmitCustom(has_domain ? std::string(op) : onnx::InOnnxsDomain(op), operands, attributes, types);
    }
    for (uint32_t i = 0; i < node.result_count; ++i) Bind(node.result(i), results[i]);
    return true;
  }

  // If, Loop and Scan are typed by what their bodies yield; the shapes are the capture's to say.
  void TakeDtypesOfBody(std::string_view op, const onnx::AttributeList& attributes, std::vector<Tensor>* results) {
    const size_t skipped = op == "Loop" ? 1 : 0;  // the condition
    for (const auto& [name, value] : attributes.items()) {
      const auto* body = std::get_if<BlockId>(&value);
      if (body == nullptr) continue;
      const std::vector<ValueId> yielded = to_.graph().outputs(*body);
      for (size_t i = 0; i < results->size() && i + skipped < yielded.size(); ++i) {
        const ValueId result = (*results)[i].id();
        const DType dtype = to_.graph().type(yielded[i + skipped]).dtype;
        to_.graph().SetType(result, to_.context().Intern(Type::Unranked(dtype)));
        (*results)[i] = to_.Wrap(result);
      }
      return;  // the branches of an If agree
    }
  }

  // What the model says of a result whose rank the operator alone does not tell. Of a script there is no capture that does.
  void TakeDeclaredRank(const Type& declared, Tensor* result) {
    if (!*result || result->is_number() || !result->type().is_tensor() || result->ranked()) return;
    if (!declared.is_tensor() || !declared.ranked || declared.dtype != result->dtype()) return;
    to_.graph().SetType(result->id(), to_.context().Intern(Type(declared)));
    *result = to_.Wrap(result->id());
  }

  // Runtimes that look plugins up by their names alone, as TensorRT does, have models of such nodes.
  void WarnOfNoDomain(std::string_view op) {
    to_.sink().Warning(DiagnosticKind::kUnsupportedForm,
                       fmt::format("the translation uses {}, which is no operator of ONNX: the model is for a runtime that has it", op), {},
                       fmt::format("name its domain, as in mine::{}", op));
  }

  // An operator that changed between the model's opset and the target's would
  // mean something else.
  bool HasForm(std::string_view op) {
    const onnx::OperatorVersion* given = onnx::FindOperator(op, opset_);
    const onnx::OperatorVersion* target = onnx::FindOperator(op, to_.opset());
    if (target != nullptr && (given == nullptr || SameForm(*given, *target))) return true;
    if (target == nullptr) {
      to_.Report(DiagnosticKind::kUnsupportedOpset, fmt::format("the translation uses ONNX's {}, which opset {} does not have", op, to_.opset()));
    } else {
      to_.Report(DiagnosticKind::kUnsupportedOpset,
                 fmt::format("the translation uses {} of opset {}, which opset {} has in another form", op, opset_, to_.opset()),
                 fmt::format("write the translation for opset {}", to_.opset()));
    }
    return false;
  }

  std::optional<BlockId> Body(BlockId body) {
    bool fine = true;
    const BlockId copy = to_.Body([&] {
      for (ValueId input : graph_[body].inputs) Bind(input, to_.AddBlockInput(graph_.type(input), graph_[input].name));
      fine = Nodes(body);
      return fine ? Outputs(body) : std::vector<Tensor>();
    });
    return fine ? std::optional(copy) : std::nullopt;
  }

  bool Constant(NodeId id) {
    const flambeau::Node& node = graph_[id];
    if (node.attributes.size() != 1 || node.result_count != 1) {
      to_.Report(DiagnosticKind::kBadProgram, "a Constant of the translation has not one attribute and one result");
      return false;
    }
    const Attribute& value = node.attributes.front().value;
    Tensor made;
    if (const auto* data = std::get_if<DataId>(&value)) {
      made = to_.Weight(*data);
    } else if (const auto* integer = std::get_if<int64_t>(&value)) {
      made = to_.ConstantInt(*integer);
    } else if (const auto* number = std::get_if<double>(&value)) {
      made = to_.ConstantOf(*number, DType::kFloat32);
    } else if (const auto* integers = std::get_if<Ints>(&value)) {
      made = to_.ConstantInts(*integers);
    } else if (const auto* numbers = std::get_if<Floats>(&value)) {
      made = to_.ConstantFloats(*numbers, DType::kFloat32, Ints{static_cast<int64_t>(numbers->size())});
    } else {
      to_.Report(DiagnosticKind::kBadProgram, "a Constant of the translation holds strings, which no tensor of PyTorch does");
      return false;
    }
    Bind(node.result(), made);
    return true;
  }

  Lowering& to_;
  const Graph& graph_;
  int opset_ = to_.opset();
  std::vector<Tensor> values_;  // by value of the model
};

}  // namespace

std::optional<std::vector<Tensor>> Splice(Lowering& to, const onnx::ModelData& model, std::span<const Tensor> operands) {
  const Graph& graph = model.graph;
  const std::vector<ValueId>& inputs = graph[graph.main()].inputs;
  if (inputs.size() != operands.size()) {
    to.Report(DiagnosticKind::kBadProgram, fmt::format("the translation has {} inputs, the call {} operands", inputs.size(), operands.size()));
    return std::nullopt;
  }
  Splicer splicer(to, model);
  for (size_t i = 0; i < inputs.size(); ++i) splicer.Bind(inputs[i], to.Value(operands[i]));
  if (!splicer.Nodes(graph.main())) return std::nullopt;
  return splicer.Outputs(graph.main());
}

}  // namespace flambeau::lower
