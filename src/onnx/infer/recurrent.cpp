// RNN, GRU and LSTM.
#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

// Results: all hidden states, the last hidden state, the last cell state.
void Recurrent(InferContext& context) {
  const Sizes *input = context.sizes(0), *recurrence = context.sizes(2);
  ExprPool& exprs = context.exprs();
  const bool batch_first = context.Int("layout", 0) != 0;
  const bool known = input && input->size() == 3;
  const Expr length = known ? (*input)[batch_first ? 1 : 0] : exprs.Anonymous();
  const Expr batch = known ? (*input)[batch_first ? 0 : 1] : exprs.Anonymous();
  const Expr directions = exprs.Constant(context.String("direction", "forward") == "bidirectional" ? 2 : 1);
  Expr hidden = exprs.Anonymous();
  if (context.attribute("hidden_size")) {
    hidden = exprs.Constant(context.Int("hidden_size", 0));
  } else if (recurrence && recurrence->size() == 3) {
    hidden = recurrence->back();
  }
  const Sizes state = batch_first ? Sizes{batch, directions, hidden} : Sizes{directions, batch, hidden};
  context.SetSizes(0,
                   batch_first ? Sizes{batch, length, directions, hidden} : Sizes{length, directions, batch, hidden});
  context.SetSizes(1, state);
  context.SetSizes(2, state);
}

constexpr InferRule kRecurrent[] = {{"GRU", Recurrent}, {"LSTM", Recurrent}, {"RNN", Recurrent}};

}  // namespace

std::span<const InferRule> RecurrentRules() { return kRecurrent; }

}  // namespace flambeau::onnx
