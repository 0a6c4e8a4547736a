// Operators on lists of tensors: those whose length is known at run time only are joined as they are, or a tensor at a time.
#include <fmt/format.h>

#include "script/builtins/builtins.h"
#include "script/lists/sequences.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

bool IsOpen(Evaluator& evaluator, const Val& value) {
  const auto* list = value.As<ListVal>();
  return list != nullptr && evaluator.heap()[list->cell].sequence;
}

// Of a list without tensors PyTorch makes none.
Result<Vals> JoinTensors(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* list = arguments[0].As<ListVal>();
  const Cell* cell = list != nullptr ? &evaluator.heap()[list->cell] : nullptr;
  if (cell != nullptr && !cell->sequence && cell->columns.empty() && cell->elements.empty())
    return evaluator.Raise(node, "joins the tensors of a list that is empty for these inputs");
  const bool stacked = node.kind == "aten::stack";
  const auto dim = arguments.size() > 1 ? arguments[1].AsInt() : std::optional<int64_t>(0);
  if (dim && (stacked || node.kind == "aten::cat" || node.kind == "aten::concat" || node.kind == "aten::concatenate")) {
    FLAMBEAU_TRY(auto whole, Rejoined(evaluator, arguments[0], stacked, *dim));
    if (whole) return Vals{*std::move(whole)};
  }
  return evaluator.CallOperator(node, arguments);
}

// On lists of a length that is known at run time only.
constexpr std::string_view kCode = R"py(def pad_sequence(sequences: List[Tensor], dim: int, value: float, left: bool) -> Tensor:
  longest = 0
  for i in range(torch.len(sequences)):
    longest = ops.prim.max(longest, torch.size(sequences[i], 0))
  padded = annotate(List[Tensor], [])
  for i in range(torch.len(sequences)):
    sequence = sequences[i]
    sizes = torch.size(sequence)
    sizes[0] = torch.sub(longest, sizes[0])
    padding = torch.new_full(sequence, sizes, value)
    if left:
      whole = torch.cat([padding, sequence])
    else:
      whole = torch.cat([sequence, padding])
    _0 = torch.append(padded, whole)
  return torch.stack(padded, dim)
def broadcast_tensors(tensors: List[Tensor]) -> List[Tensor]:
  widest = tensors[0]
  for i in range(torch.len(tensors)):
    both = torch.broadcast_tensors([widest, tensors[i]])
    widest = both[0]
  made = annotate(List[Tensor], [])
  for i in range(torch.len(tensors)):
    _0 = torch.append(made, torch.expand_as(tensors[i], widest))
  return made
def block_diag(tensors: List[Tensor]) -> Tensor:
  dtype = ops.prim.dtype(tensors[0])
  whole = torch.zeros([0, 0], dtype=dtype)
  for i in range(torch.len(tensors)):
    block = torch.atleast_2d(tensors[i])
    right = torch.new_zeros(block, [torch.size(whole, 0), torch.size(block, 1)])
    left = torch.new_zeros(block, [torch.size(block, 0), torch.size(whole, 1)])
    whole = torch.cat([torch.cat([whole, right], 1), torch.cat([left, block], 1)])
  if torch.eq(dtype, 6):
    added = torch.sub(1, ops.prim.min(torch.len(tensors), 1))
    whole0 = torch.cat([whole, torch.zeros([added, torch.size(whole, 1)], dtype=dtype)])
  else:
    whole0 = whole
  return whole0
)py";

// The function of that name in `kCode`.
Result<Vals> OneByOne(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Cell* cell = ListOf(arguments[0], evaluator.heap());
  if (node.kind == "aten::block_diag" && cell != nullptr && !cell->sequence && cell->elements.empty()) {
    FLAMBEAU_TRY(Val none, evaluator.emit().Call1("aten::zeros", {evaluator.List({int64_t{1}, int64_t{0}})}));
    return Vals{std::move(none)};
  }
  if (!IsOpen(evaluator, arguments[0])) return evaluator.CallOperator(node, arguments);
  return evaluator.CallLibrary(kCode, std::string_view(node.kind).substr(std::string_view("aten::").size()), arguments.first(1));
}

// The form of atleast_1d and its like that takes one tensor, of each.
template <int kDims>
Result<Vals> AtLeast(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (!IsOpen(evaluator, arguments[0])) return evaluator.CallOperator(node, arguments);
  static const std::string code = fmt::format(R"py(def each(tensors: List[Tensor]) -> List[Tensor]:
  made = annotate(List[Tensor], [])
  for i in range(torch.len(tensors)):
    _0 = torch.append(made, torch.atleast_{}d(tensors[i]))
  return made
)py", kDims);
  return evaluator.CallLibrary(code, "each", arguments.first(1));
}

// Of tensors whose number is known at run time only.
Result<Vals> PadSequence(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (!IsOpen(evaluator, arguments[0]) || arguments.size() < 4) return evaluator.CallOperator(node, arguments);
  const auto batch_first = evaluator.KnownBool(arguments[1]);
  const auto* side = arguments[3].As<std::string>();
  if (!batch_first || side == nullptr) return evaluator.CallOperator(node, arguments);
  const Val operands[] = {arguments[0], int64_t{*batch_first ? 0 : 1}, arguments[2], *side == "left"};
  return evaluator.CallLibrary(kCode, "pad_sequence", operands);
}

constexpr BuiltinRow kRows[] = {
    {"aten::atleast_1d", &AtLeast<1>},    {"aten::atleast_2d", &AtLeast<2>},     {"aten::atleast_3d", &AtLeast<3>},
    {"aten::block_diag", &OneByOne},      {"aten::broadcast_tensors", &OneByOne}, {"aten::cat", &JoinTensors},
    {"aten::column_stack", &JoinTensors}, {"aten::concat", &JoinTensors},        {"aten::concatenate", &JoinTensors},
    {"aten::dstack", &JoinTensors},       {"aten::hstack", &JoinTensors},        {"aten::pad_sequence", &PadSequence},
    {"aten::row_stack", &JoinTensors},    {"aten::stack", &JoinTensors},         {"aten::vstack", &JoinTensors},
};

}  // namespace

std::span<const BuiltinRow> JoiningBuiltins() { return kRows; }

}  // namespace flambeau::script
