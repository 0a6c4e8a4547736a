#include "pass/onnx/editor.h"

#include <algorithm>

#include "onnx/infer/infer.h"
#include "onnx/infer/sizes.h"
#include "support/numeric.h"

namespace flambeau {

Editor::Editor(Graph& graph, const PassContext& context)
    : graph_(graph), opset_(context.opset), keep_weights_(context.keep_weights) {
  for (const BlockId block : graph_.AllBlocks())
    for (const ValueId output : graph_.outputs(block))
      if (output && CanBeOutput(output, block)) SetOutput(output, true);
}

// --- reading --------------------------------------------------------------------

NodeId Editor::Producer(ValueId value, std::string_view op) const {
  if (!value || graph_[value].kind != ValueKind::kResult) return {};
  const NodeId node = graph_[value].node;
  return graph_.op(node) == op ? node : NodeId{};
}

int64_t Editor::Int(NodeId node, std::string_view attribute, int64_t otherwise) const {
  const Attribute* value = graph_.FindAttribute(node, attribute);
  if (value == nullptr) return otherwise;
  if (const auto* number = std::get_if<int64_t>(value)) return *number;
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  return otherwise;
}

double Editor::Float(NodeId node, std::string_view attribute, double otherwise) const {
  const Attribute* value = graph_.FindAttribute(node, attribute);
  const auto* number = value != nullptr ? std::get_if<double>(value) : nullptr;
  return number != nullptr ? *number : otherwise;
}

const Ints* Editor::IntList(NodeId node, std::string_view attribute) const {
  const Attribute* value = graph_.FindAttribute(node, attribute);
  return value != nullptr ? std::get_if<Ints>(value) : nullptr;
}

const TensorData* Editor::Data(ValueId value) const {
  if (!value || graph_[value].kind != ValueKind::kConstant) return nullptr;
  return &context()[graph_[value].data];
}

std::optional<Ints> Editor::KnownInts(ValueId value) const {
  if (!value) return std::nullopt;
  Ints ints;
  if (const auto& contents = type(value).contents) {
    for (const Expr element : *contents) {
      const auto constant = exprs().AsConstant(element);
      if (!constant) return std::nullopt;
      ints.push_back(*constant);
    }
    return ints;
  }
  const TensorData* data = Data(value);
  if (data == nullptr || (data->dtype != DType::kInt64 && data->dtype != DType::kInt32)) return std::nullopt;
  const auto bytes = data->ReadAll(kLargeBytes);
  if (!bytes) return std::nullopt;
  const auto width = static_cast<size_t>(ByteSize(data->dtype));
  for (size_t at = 0; at < bytes->size(); at += width) ints.push_back(LoadInt(data->dtype, bytes->data() + at));
  return ints;
}

std::optional<Ints> Editor::IntsOf(NodeId node, std::string_view attribute, uint32_t i, bool* absent) const {
  *absent = false;
  if (const Ints* ints = IntList(node, attribute)) return *ints;
  if (const ValueId operand = Operand(node, i)) return KnownInts(operand);
  *absent = true;
  return std::nullopt;
}

std::optional<double> Editor::KnownNumber(ValueId value) const {
  const TensorData* data = Data(value);
  if (data == nullptr || data->element_count() != 1 || ByteSize(data->dtype) == 0 || IsComplex(data->dtype))
    return std::nullopt;
  const auto bytes = data->ReadAll(16);
  return bytes ? std::optional(LoadDouble(data->dtype, bytes->data())) : std::nullopt;
}

bool Editor::SameType(ValueId a, ValueId b) const {
  const Type &x = type(a), &y = type(b);
  return x.is_tensor() && y.is_tensor() && x.dtype == y.dtype && x.ranked && y.ranked && x.sizes == y.sizes;
}

std::optional<Ints> Editor::ConstantSizes(ValueId value) const {
  const Type& known = type(value);
  if (!known.is_tensor() || !known.ranked) return std::nullopt;
  return onnx::ConstantSizes(exprs(), known.sizes);
}

// --- changing -------------------------------------------------------------------

NodeId Editor::InsertNode(NodeId position, std::string_view op, std::span<const ValueId> operands,
                          std::vector<NamedAttribute> attributes, size_t results) {
  std::vector<const Type*> types(operands.size());
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]) types[i] = &graph_.type(operands[i]);
  std::vector<onnx::AttributeList::Item> items;
  for (const auto& [name, value] : attributes) items.emplace_back(context().Text(name), value);
  std::vector<Type> inferred(results);
  onnx::InferContext infer(context(), opset_, types, items, inferred);
  onnx::InferTypes(op, infer);
  std::vector<TypeId> result_types;
  for (Type& each : inferred) result_types.push_back(context().Intern(std::move(each)));
  const NodeId node = graph_.InsertBefore(position, context().Intern(op), operands, std::move(attributes), result_types,
                                          graph_[position].origin);
  touched_.push_back(node);
  changed_ = true;
  return node;
}

ValueId Editor::Insert(NodeId position, std::string_view op, std::initializer_list<ValueId> operands,
                       const onnx::AttributeList& attributes) {
  std::vector<NamedAttribute> named;
  for (const auto& [name, value] : attributes.items()) named.push_back({context().Intern(name), value});
  return graph_.result(InsertNode(position, op, {operands.begin(), operands.size()}, std::move(named)));
}

ValueId Editor::AddConstant(TensorData data, Symbol name) {
  Type type = Type::OfTensor(data.dtype, onnx::ConstantExprs(exprs(), data.sizes));
  if ((data.dtype == DType::kInt64 || data.dtype == DType::kBool) && data.element_count() <= onnx::kMaxContents) {
    if (const auto bytes = data.ReadAll(onnx::kMaxContents * 8)) {
      type.contents.emplace();
      const auto width = static_cast<size_t>(ByteSize(data.dtype));
      for (size_t at = 0; at < bytes->size(); at += width)
        type.contents->push_back(exprs().Constant(LoadInt(data.dtype, bytes->data() + at)));
    }
  }
  return graph_.AddConstant(context().Add(std::move(data)), context().Intern(std::move(type)), name);
}

ValueId Editor::AddInts(std::span<const int64_t> values) {
  const auto bytes = std::as_bytes(values);
  return AddConstant({.source = MakeBufferSource({bytes.begin(), bytes.end()}),
                      .dtype = DType::kInt64,
                      .sizes = {static_cast<int64_t>(values.size())}});
}

void Editor::SetOperand(NodeId node, uint32_t i, ValueId value) {
  const ValueId old = graph_.operand(node, i);
  if (old == value) return;
  graph_.SetOperand(node, i, value);
  touched_.push_back(node);
  if (old && graph_[old].kind == ValueKind::kResult) touched_.push_back(graph_[old].node);
  changed_ = true;
}

bool Editor::Replace(ValueId from, ValueId to) {
  if (from == to || !graph_.HasUses(from)) return false;
  const BlockId block = graph_.BlockOf(from);
  if (IsOutput(from) && (IsOutput(to) || !CanBeOutput(to, block))) {
    const NodeId node = graph_[from].node;
    if (graph_.op(node) == "Identity" && graph_.operand(node, 0) == to) {
      // The node stays for the output; the others need not pass through it.
      std::vector<Use> others;
      graph_.ForEachUse(from, [&](Use use) {
        if (use.node != graph_[block].terminator) others.push_back(use);
      });
      for (const Use use : others) SetOperand(use.node, use.operand, to);
      return !others.empty();
    }
    // At the end of the block, where everything is defined.
    const TypeId type = graph_[from].type;
    const NodeId copy =
        graph_.InsertAfter(block, node, context().Intern("Identity"), {&to, 1}, {}, {&type, 1}, graph_[node].origin);
    touched_.push_back(copy);
    to = graph_.result(copy);
  }
  RefineType(to, from);
  if (IsOutput(from)) {
    SetOutput(from, false);
    SetOutput(to, true);
    if (graph_[from].name && graph_[from].name != Symbol{0}) graph_.SetName(to, graph_[from].name);
  }
  TouchUsers(from);
  graph_.ReplaceAllUses(from, to);
  touched_.push_back(graph_[from].node);
  changed_ = true;
  return true;
}

void Editor::ReplaceConstant(ValueId from, ValueId to) {
  TouchUsers(from);
  graph_.ReplaceAllUses(from, to);
  changed_ = true;
}

void Editor::Erase(NodeId node) {
  // What its bodies use may become dead with it, too.
  std::vector<ValueId> used = graph_.operands(node);
  graph_.ForEachBody(node, [&](BlockId body) {
    for (const BlockId inner : graph_.BlocksWithin(body)) {
      graph_.ForEachNode(inner, [&](NodeId each) {
        for (const ValueId operand : graph_.operands(each)) used.push_back(operand);
      });
      for (const ValueId output : graph_.outputs(inner)) used.push_back(output);
    }
  });
  graph_.Erase(node);
  changed_ = true;
  for (const ValueId value : used) {
    if (!value || graph_[value].kind == ValueKind::kInput) continue;
    if (graph_[value].kind == ValueKind::kResult) touched_.push_back(graph_[value].node);
    // Who has a value for itself may do more with it.
    if (graph_.HasOneUse(value)) TouchUsers(value);
  }
}

bool Editor::CanBeOutput(ValueId value, BlockId block) const {
  return graph_[value].kind == ValueKind::kResult && graph_.BlockOf(value) == block;
}

void Editor::SetOutput(ValueId value, bool is_output) {
  if (value.index >= is_output_.size()) is_output_.resize(graph_.value_capacity());
  is_output_[value.index] = is_output;
}

void Editor::TouchUsers(ValueId value) {
  graph_.ForEachUse(value, [&](Use use) { touched_.push_back(use.node); });
}

void Editor::RefineType(ValueId to, ValueId from) {
  const Type &known = type(to), &other = type(from);
  if (graph_[to].kind != ValueKind::kResult || !known.is_tensor() || !other.is_tensor() || known.dtype != other.dtype ||
      !other.ranked)
    return;
  Type refined = known;
  if (!known.ranked) {
    refined = other;
  } else if (known.rank() == other.rank()) {
    for (size_t i = 0; i < known.rank(); ++i)
      if (exprs().HasAnonymous(known.sizes[i])) refined.sizes[i] = other.sizes[i];
    if (!refined.contents) refined.contents = other.contents;
  }
  if (!(refined == known)) graph_.SetType(to, context().Intern(std::move(refined)));
}

bool IsLossless(DType from, DType to) {
  if (from == to) return true;
  const DTypeInfo &a = Info(from), &b = Info(to);
  if (a.bytes == 0 || b.bytes == 0) return false;
  if (from == DType::kBool)
    return b.category == DTypeCategory::kInteger || to == DType::kFloat16 || to == DType::kBfloat16 ||
           to == DType::kFloat32 || to == DType::kFloat64;
  if (a.category == DTypeCategory::kInteger && b.category == DTypeCategory::kInteger)
    return IsSigned(from) == IsSigned(to) ? a.bytes <= b.bytes : !IsSigned(from) && a.bytes < b.bytes;
  if (a.category == DTypeCategory::kInteger)
    return (to == DType::kFloat64 && a.bytes <= 4) || (to == DType::kFloat32 && a.bytes <= 2) ||
           (to == DType::kFloat16 && a.bytes == 1);
  if (a.category != DTypeCategory::kFloat || b.category != DTypeCategory::kFloat) return false;
  if (to == DType::kFloat64) return true;
  return to == DType::kFloat32 && a.bytes <= 2;
}

}  // namespace flambeau
