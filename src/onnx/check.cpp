#include "onnx/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "onnx/location.h"
#include "onnx/operator_table.h"

namespace flambeau::onnx {
namespace {

// nullopt for what is no ONNX attribute.
std::optional<AttributeType> TypeOf(const Attribute& attribute) {
  using enum AttributeType;
  struct Visitor {
    using Result = std::optional<AttributeType>;
    Result operator()(bool) const { return kInt; }
    Result operator()(int64_t) const { return kInt; }
    Result operator()(DType) const { return kInt; }
    Result operator()(double) const { return kFloat; }
    Result operator()(const std::string&) const { return kString; }
    Result operator()(const Ints&) const { return kInts; }
    Result operator()(const Bools&) const { return kInts; }
    Result operator()(const Floats&) const { return kFloats; }
    Result operator()(const Strings&) const { return kStrings; }
    Result operator()(BlockId) const { return kGraph; }
    Result operator()(DataId) const { return kTensor; }
    Result operator()(TypeId) const { return kTypeProto; }
    Result operator()(const None&) const { return std::nullopt; }
    Result operator()(const std::complex<double>&) const { return std::nullopt; }
    Result operator()(Layout) const { return std::nullopt; }
    Result operator()(MemoryFormat) const { return std::nullopt; }
    Result operator()(const Device&) const { return std::nullopt; }
    Result operator()(Operand) const { return std::nullopt; }
    Result operator()(const OperandList&) const { return std::nullopt; }
  };
  return std::visit(Visitor(), attribute);
}

class Checker {
 public:
  Checker(const ModelData& model, Sink& sink)
      : model_(model), graph_(model.graph), context_(graph_.context()), sink_(sink), defined_(graph_.value_capacity()) {
    for (const OpsetImport& import : model.opset_imports)
      if (import.domain.empty()) opset_ = import.version;
  }

  Status Run() {
    for (ValueId id : Initializers(graph_)) Define(id, {});
    Interface();
    Blocks();
    return reports_ == 0 ? Status() : kFailure;
  }

 private:
  void Report(std::string message, NodeId node = {}) {
    if (reports_++ >= kMaxReports) return;
    (void)sink_.Error(DiagnosticKind::kInvalidModel, std::move(message), node ? LocationOf(graph_, node) : Location{});
  }

  // --- names and definitions --------------------------------------------------
  void TakeName(Symbol name, std::vector<bool>* taken, std::string_view what, NodeId node) {
    if (!name || context_.Text(name).empty()) return Report(fmt::format("a {} has no name", what), node);
    if (name.index >= taken->size()) taken->resize(name.index * 2 + 64);
    if ((*taken)[name.index]) Report(fmt::format("two {}s are named '{}'", what, context_.Text(name)), node);
    (*taken)[name.index] = true;
  }
  void Define(ValueId value, NodeId node) {
    defined_[value.index] = true;
    TakeName(graph_[value].name, &value_names_, "value", node);
  }
  bool IsVisible(ValueId value) const {
    return defined_[value.index] && (graph_[value].kind == ValueKind::kConstant || open_[graph_.BlockOf(value).index]);
  }

  void Interface() {
    if (opset_ == 0) Report("the opset of ai.onnx is not imported");
    const auto typed = [&](ValueId value, std::string_view what) {
      if (value && Info(graph_.type(value).dtype).onnx_code == 0)
        Report(fmt::format("{} '{}' has no type that ONNX has", what, context_.Text(graph_[value].name)));
    };
    for (ValueId input : graph_[graph_.main()].inputs) typed(input, "input");
    for (ValueId output : graph_.outputs(graph_.main())) typed(output, "output");
  }

  // Depth first, with a stack of our own: nesting is as deep as the input has it.
  void Blocks() {
    open_.resize(graph_.block_capacity());
    // A block that is walked, from `node` on; without a block, a node whose
    // bodies lie above on the stack, and whose results exist only after them.
    struct Frame {
      BlockId block;
      NodeId node;
      bool entered = false;
    };
    std::vector<Frame> stack{{graph_.main(), {}}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (!frame.block) {
        DefineResults(frame.node);
        stack.pop_back();
        continue;
      }
      if (!frame.entered) {
        frame = {frame.block, graph_[frame.block].first, true};
        open_[frame.block.index] = true;
        for (ValueId input : graph_[frame.block].inputs) Define(input, graph_[frame.block].owner);
      }
      if (!frame.node) {
        Outputs(frame.block);
        open_[frame.block.index] = false;
        stack.pop_back();
        continue;
      }
      const NodeId node = std::exchange(frame.node, graph_[frame.node].next);
      Node(node);
      stack.push_back({{}, node});
      graph_.ForEachBody(node, [&](BlockId body) { stack.push_back({body, {}}); });
    }
  }

  void Outputs(BlockId block) {
    std::vector<ValueId> outputs = graph_.outputs(block);
    for (ValueId output : outputs) {
      const bool own = output && graph_[output].kind == ValueKind::kResult && graph_.BlockOf(output) == block;
      if (!own || !defined_[output.index]) Report("an output is not made in its graph", graph_[block].owner);
    }
    std::ranges::sort(outputs);
    if (std::ranges::adjacent_find(outputs) != outputs.end())
      Report("a value is two outputs of a graph", graph_[block].owner);
  }

  void Node(NodeId id) {
    const flambeau::Node& node = graph_[id];
    TakeName(node.name, &node_names_, "node", id);
    for (uint32_t i = 0; i < node.operand_count; ++i) {
      const ValueId operand = graph_.operand(id, i);
      if (operand && !IsVisible(operand))
        Report(fmt::format("input {} ('{}') is not defined before it", i, context_.Text(graph_[operand].name)), id);
    }
    if (const OperatorVersion* version = Version(id)) {
      Attributes(id, *version);
      Operands(id, *version);
    }
  }

  void DefineResults(NodeId id) {
    const flambeau::Node& node = graph_[id];
    for (uint32_t i = 0; i < node.result_count; ++i)
      if (graph_.type(node.result(i)).kind != TypeKind::kNone) Define(node.result(i), id);
  }

  // --- against the operator table ---------------------------------------------
  // nullptr where the table says nothing of the domain, or after a report.
  const OperatorVersion* Version(NodeId id) {
    const auto [domain, name] = SplitOperator(graph_.op(id));
    if (!domain.empty()) {
      if (std::ranges::find(model_.opset_imports, domain, &OpsetImport::domain) == model_.opset_imports.end())
        Report(fmt::format("the opset of domain '{}' is not imported", domain), id);
      return nullptr;
    }
    if (name != graph_.op(id) && FindOperator(name, NewestOpset()) == nullptr) return nullptr;  // InOnnxsDomain
    const Symbol op = graph_[id].op;
    if (op.index >= versions_.size()) versions_.resize(op.index + 1);
    auto& version = versions_[op.index];
    if (!version) version = FindOperator(name, opset_);
    if (*version == nullptr || (*version)->deprecated) {
      Report(fmt::format("ONNX has no operator {} at opset {}", name, opset_), id);
      return nullptr;
    }
    return *version;
  }

  void Attributes(NodeId id, const OperatorVersion& version) {
    for (const NamedAttribute& attribute : graph_[id].attributes) {
      if (std::holds_alternative<None>(attribute.value)) continue;
      const std::string_view name = context_.Text(attribute.name);
      const AttributeSchema* schema = version.FindAttribute(name);
      if (schema == nullptr) {
        Report(fmt::format("{} has no attribute '{}' at opset {}", version.name, name, opset_), id);
      } else if (TypeOf(attribute.value) != schema->type) {
        Report(fmt::format("attribute '{}' has the wrong type", name), id);
      }
    }
    for (const AttributeSchema& schema : version.attributes()) {
      const Attribute* given = schema.required ? graph_.FindAttribute(id, schema.name) : nullptr;
      if (schema.required && (given == nullptr || std::holds_alternative<None>(*given)))
        Report(fmt::format("attribute '{}' is missing", schema.name), id);
    }
  }

  void Operands(NodeId id, const OperatorVersion& version) {
    bound_.assign(version.types().size(), nullptr);
    const flambeau::Node& node = graph_[id];
    Count(id, "inputs", static_cast<int>(node.operand_count), version.min_inputs, version.max_inputs);
    Count(id, "outputs", static_cast<int>(node.result_count), version.min_outputs, version.max_outputs);
    for (uint32_t i = 0; i < node.operand_count; ++i) {
      const FormalParameter* formal = version.input(static_cast<int>(i));
      const ValueId operand = graph_.operand(id, i);
      if (formal == nullptr) continue;
      if (operand) {
        CheckType(id, version, *formal, graph_.type(operand));
      } else if (formal->option != FormalOption::kOptional) {
        Report(fmt::format("input '{}' is absent", formal->name), id);
      }
    }
    for (uint32_t i = 0; i < node.result_count; ++i) {
      const FormalParameter* formal = version.output(static_cast<int>(i));
      if (formal != nullptr) CheckType(id, version, *formal, graph_.type(node.result(i)));
    }
  }

  void Count(NodeId id, std::string_view what, int count, int least, int most) {
    if (count < least || count > most)
      Report(fmt::format("{} {} where {} to {} are allowed", count, what, least, most), id);
  }

  void CheckType(NodeId id, const OperatorVersion& version, const FormalParameter& formal, const Type& type) {
    if (type.kind != TypeKind::kTensor && type.kind != TypeKind::kSequence && !type.is_optional()) return;
    const TypeConstraint& constraint = version.type_of(formal);
    const DTypeSet& allowed = type.is_tensor() ? constraint.tensors : constraint.sequences;
    if (type.is_optional() && !constraint.optionals)
      return Report(fmt::format("'{}' may be none, which {} does not take at opset {}", formal.name, version.name, opset_), id);
    // What an optional holds is checked where it is made.
    if (!type.is_optional() && !allowed.contains(type.dtype)) {
      return Report(fmt::format("'{}' has dtype {}, which {} does not take at opset {}", formal.name,
                                Info(type.dtype).text, version.name, opset_),
                    id);
    }
    if (!formal.homogeneous) return;
    const Type*& bound = bound_[formal.type];
    if (bound == nullptr) bound = &type;
    if (bound->dtype != type.dtype || bound->kind != type.kind) {
      Report(fmt::format("'{}' has dtype {}, but {} is {} elsewhere", formal.name, Info(type.dtype).text,
                         constraint.name, Info(bound->dtype).text),
             id);
    }
  }

  const ModelData& model_;
  const Graph& graph_;
  const Context& context_;
  Sink& sink_;
  int opset_ = 0;
  int reports_ = 0;
  std::vector<bool> defined_;                                    // by value
  std::vector<bool> open_;                                       // by block: it is being walked
  std::vector<bool> value_names_, node_names_;                   // by symbol
  std::vector<std::optional<const OperatorVersion*>> versions_;  // by symbol
  std::vector<const Type*> bound_;                               // by type parameter of the node at hand
};

}  // namespace

Status CheckModel(const ModelData& model, Sink& sink) { return Checker(model, sink).Run(); }

}  // namespace flambeau::onnx
