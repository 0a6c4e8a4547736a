// The types of a program's values, found by lowering it while it is built.
//
// TorchScript records no dtypes and no sizes. What an operator makes of its
// operands is known to one place only, its translator; so each node is lowered
// into a scratch graph as soon as it is there, and the types of its results are
// those that the typed ONNX builder gives them. Sizes and integers that exist at
// run time only get symbols of their own: u0, u1, …
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <variant>
#include <vector>

#include "aten/schema.h"
#include "lower/lowering.h"

namespace flambeau::lower {

class Inference : private Lowering {
 public:
  // `aten` may grow. What translators report goes to `sink`. `custom` may be null;
  // its translators are asked at the opset of the model to be.
  Inference(const Graph& aten, Graph* scratch, Sink* sink, const CustomOperators* custom = nullptr, int opset = 0);

  using Lowering::set_default_dtype;
  using Lowering::set_torch_version;

  // A result of a node: a constant number, or a type.
  using Inferred = std::variant<Type, Scalar>;

  // Lowers a node at the end of the program. Its results need not be there yet,
  // and of a list of unknown length they can't. nullopt after a report.
  // `recorded`: what a trace had as results, in the sizes of its example; only
  // what a user's operator gives may be known by that alone.
  std::optional<std::vector<Inferred>> Infer(NodeId node, std::span<const Type> recorded = {});
  // The results of the node that was inferred last are those of `node`, which
  // have types now.
  void Accept(NodeId node);
  // A value that no node of the program computes (an input, what a loop
  // carries), or one whose node this does not lower.
  void Introduce(ValueId value);
  // A new symbol of a run-time integer.
  Expr FreshSymbol(ExprPool::Range range);

 private:
  Inferred Describe(Tensor& result, const aten::SchemaArgument* returned);
  Expr WithoutAnonymous(Expr expr);
  std::optional<std::vector<Inferred>> InferCustom(NodeId node, std::span<const Type> recorded);
  // By the engine's translator, whatever the user's are.
  std::optional<std::vector<Inferred>> InferOwn(NodeId node);
  Type Recorded(NodeId node, Type type);

  std::vector<Tensor> last_;
  bool last_is_custom_ = false;
  const CustomOperators* custom_;
  int opset_;
  std::unordered_map<Expr, Expr> named_;  // anonymous symbol -> u0, …
  uint32_t next_symbol_ = 0;
};

}  // namespace flambeau::lower
