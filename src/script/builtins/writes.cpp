// What writes tensors as a whole: copies, fills, and the functions of torch.nn.init.
#include <algorithm>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;
using torchscript::Value;

namespace {

// Of a value that a node of that kind makes, with a list of numbers known now as its second argument: these; else null.
const Vals* NumbersGiven(Evaluator& evaluator, const Value& value, std::string_view kind) {
  const Node* made_by = value.node;
  if (made_by == nullptr || made_by->kind != kind || made_by->inputs.size() < 2) return nullptr;
  const Vals* numbers = ElementsOf(evaluator.ValueOf(made_by->inputs[1]), evaluator.heap());
  const bool known = numbers != nullptr && std::ranges::all_of(*numbers, [](const Val& each) { return each.AsInt().value_or(-1) >= 0; });
  return known ? numbers : nullptr;
}

// Whether a view to these sizes leaves out sizes of 1 in front, and nothing else: by what the example's sizes were, or because
// there is one size.
bool LeavesOutOnes(const Evaluator& evaluator, const Type& type, const Vals& sizes) {
  const size_t in_front = type.rank() - sizes.size();
  for (size_t i = 0; i < type.rank(); ++i) {
    const auto size = evaluator.CapturedSize(type.sizes[i]);
    if (i < in_front ? size != 1 : size != sizes[i - in_front].AsInt() && (size || sizes.size() > 1)) return false;
  }
  return true;
}

// What `target[...] = value` writes, as torch's tracer records it: a view of the value without the 1s in front, expanded to
// what is written if that is not its size, both of the example's sizes. The value itself fits for the others, too; nullopt
// where nothing says that this is one.
Result<std::optional<Val>> Assigned(Evaluator& evaluator, const Node& copy, const Val& target) {
  constexpr std::optional<Val> kNone;
  if (copy.inputs.size() < 2) return kNone;
  const bool expands = NumbersGiven(evaluator, *copy.inputs[1], "aten::expand") != nullptr;
  const Value& viewed = expands ? *copy.inputs[1]->node->inputs[0] : *copy.inputs[1];
  const Vals* sizes = NumbersGiven(evaluator, viewed, "aten::view");
  if (sizes == nullptr) return kNone;
  const Value& source = *viewed.node->inputs[0];
  const Val value = evaluator.ValueOf(&source);
  const auto *from = value.As<TensorVal>(), *to = target.As<TensorVal>();
  if (from == nullptr || to == nullptr || !evaluator.IsAsViewed(*viewed.node, *from)) return kNone;
  const Type &type = evaluator.TypeOf(*from), &written = evaluator.TypeOf(*to);
  if (!type.ranked || !written.ranked || type.rank() < sizes->size() || !LeavesOutOnes(evaluator, type, *sizes)) return kNone;
  const size_t too_many = type.rank() - std::min(type.rank(), written.rank());
  const auto is_one = [&](Expr size) { return evaluator.emit().context().exprs().AsConstant(size) == 1; };
  if (!std::all_of(type.sizes.begin(), type.sizes.begin() + too_many, is_one)) return kNone;
  Val assigned = value;
  for (size_t i = 0; i < too_many; ++i) {
    FLAMBEAU_TRY(assigned, evaluator.emit().Call1("aten::select.int", {assigned, int64_t{0}, int64_t{0}}));
  }
  return std::optional(std::move(assigned));
}

Result<Vals> View(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (const auto* tensor = arguments[0].As<TensorVal>()) evaluator.NoteViewed(node, *tensor);
  return evaluator.CallOperator(node, arguments);
}

// Also of a number, which only TorchScript knows.
Result<Vals> CopyInPlace(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (const auto* tensor = arguments[0].As<TensorVal>()) evaluator.kept_inputs().NoteWritten(*tensor);
  FLAMBEAU_TRY(const std::optional<Val> value, Assigned(evaluator, node, arguments[0]));
  if (value) {
    const Val operands[] = {arguments[0], *value};
    return evaluator.CallOperator(node, operands);
  }
  if (arguments.size() < 2 || !arguments[1].IsNumber()) return evaluator.CallOperator(node, arguments);
  FLAMBEAU_TRY(const Val number, evaluator.emit().NumberTensor(arguments[1], DType::kFloat64));
  return evaluator.emit().Call("aten::copy_", {arguments[0], number});
}

// torch's exporter adds what is known at run time only to zeros like the tensor.
Result<Vals> Fill(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (arguments.size() > 1 && (arguments[1].Is<TensorVal>() || arguments[1].Is<NumberVal>())) evaluator.kept_inputs().NoteRead(arguments[0]);
  return evaluator.CallOperator(node, arguments);
}

// What torch.nn.init writes with, which gradients do not see.
template <const char* kOp>
Result<Vals> Initialize(Evaluator& evaluator, const Node&, Arguments arguments) {
  return evaluator.emit().Call(kOp, arguments);
}
constexpr char kFill[] = "aten::fill_.Scalar", kNormal[] = "aten::normal_", kUniform[] = "aten::uniform_", kZero[] = "aten::zero_";

constexpr BuiltinRow kRows[] = {
    {"aten::_no_grad_fill_", &Initialize<kFill>},
    {"aten::_no_grad_normal_", &Initialize<kNormal>},
    {"aten::_no_grad_uniform_", &Initialize<kUniform>},
    {"aten::_no_grad_zero_", &Initialize<kZero>},
    {"aten::copy_", &CopyInPlace},
    {"aten::fill", &Fill},
    {"aten::fill_", &Fill},
    {"aten::full_like", &Fill},
    {"aten::view", &View},
};

}  // namespace

std::span<const BuiltinRow> WriteBuiltins() { return kRows; }

}  // namespace flambeau::script
