// What TorchScript asks of dtypes: those that operators would promote to.
#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// A tensor that counts as this operand does: of one element, but for tensors without dimensions. Numbers stay.
Result<Val> StandIn(Evaluator& evaluator, const Val& operand) {
  const auto* tensor = operand.As<TensorVal>();
  if (tensor == nullptr) return operand;
  const Type type = evaluator.TypeOf(*tensor);
  if (!type.ranked) return evaluator.Unsupported("asks for the result type of a tensor of unknown rank");
  if (type.rank() == 0) return operand;
  return evaluator.emit().Call1("aten::new_zeros", {operand, evaluator.List({int64_t{1}})});
}

// By an operator that promotes, of which nothing is left.
Result<Vals> DtypeOfProduct(Evaluator& evaluator, Val a, Val b) {
  if (!a.Is<TensorVal>()) std::swap(a, b);
  if (!a.Is<TensorVal>()) {
    FLAMBEAU_TRY(a, evaluator.emit().NumberTensor(a));
    FLAMBEAU_TRY(b, evaluator.emit().NumberTensor(b));
  }
  FLAMBEAU_TRY(const Val product, evaluator.emit().Call1(b.Is<TensorVal>() ? "aten::mul.Tensor" : "aten::mul.Scalar", {a, b}));
  return Vals{int64_t{Info(evaluator.TypeOf(*product.As<TensorVal>()).dtype).torch_code}};
}

Result<Vals> ResultType(Evaluator& evaluator, const Node&, Arguments arguments) {
  for (size_t i = 0; i < 2; ++i)
    if (!arguments[i].Is<TensorVal>() && !arguments[i].IsNumber())
      return evaluator.Unsupported("asks for the result type of something that is neither a tensor nor a number");
  FLAMBEAU_TRY(Val a, StandIn(evaluator, arguments[0]));
  FLAMBEAU_TRY(Val b, StandIn(evaluator, arguments[1]));
  return DtypeOfProduct(evaluator, std::move(a), std::move(b));
}

std::optional<DType> DTypeOf(const Val& code) {
  const auto known = code.AsInt();
  return known ? DTypeFromTorchCode(*known) : std::nullopt;
}

Result<Vals> PromoteTypes(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (!DTypeOf(arguments[0]) || !DTypeOf(arguments[1])) return evaluator.Unsupported("promotes a dtype that is known at run time only");
  const Val sizes = evaluator.List({int64_t{1}});
  FLAMBEAU_TRY(Val a, evaluator.emit().Call1("aten::zeros", {sizes, arguments[0]}));
  FLAMBEAU_TRY(Val b, evaluator.emit().Call1("aten::zeros", {sizes, arguments[1]}));
  return DtypeOfProduct(evaluator, std::move(a), std::move(b));
}

Result<Vals> CanCast(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto from = DTypeOf(arguments[0]), to = DTypeOf(arguments[1]);
  if (!from || !to) return evaluator.Unsupported("asks about a dtype that is known at run time only");
  return Vals{Info(*from).category <= Info(*to).category};
}

constexpr BuiltinRow kRows[] = {
    {"aten::can_cast", &CanCast},
    {"aten::promote_types", &PromoteTypes},
    {"aten::result_type", &ResultType},
};

}  // namespace

std::span<const BuiltinRow> DtypeBuiltins() { return kRows; }

}  // namespace flambeau::script
