// Reductions, arg-reductions, cumulative operators and TopK.
#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

void Reduce(InferContext& context) {
  const Sizes* input = context.sizes(0);
  const bool keep = context.Int("keepdims", 1) != 0;
  bool absent;
  const auto axes = context.IntsOf("axes", 1, &absent);
  ExprPool& exprs = context.exprs();
  const bool none = absent || (axes && axes->empty());
  if (none && context.Int("noop_with_empty_axes", 0) != 0) return SameAsFirst(context);
  if (none && !keep) return context.SetSizes(0, {});
  if (!input) return;
  if (!none && !axes) {
    const Sizes* count = context.sizes(1);
    const auto reduced = count && count->size() == 1 ? exprs.AsConstant(count->front()) : std::nullopt;
    if (keep) return context.SetSizes(0, AnonymousSizes(exprs, input->size()));
    if (reduced && *reduced >= 0 && static_cast<size_t>(*reduced) <= input->size())
      context.SetSizes(0, AnonymousSizes(exprs, input->size() - *reduced));
    return;
  }
  const auto mask = none ? std::vector<bool>(input->size(), true) : AxisMask(*axes, input->size());
  if (!mask) return;
  Sizes sizes;
  for (size_t d = 0; d < input->size(); ++d) {
    if (!(*mask)[d]) {
      sizes.push_back((*input)[d]);
    } else if (keep) {
      sizes.push_back(exprs.Constant(1));
    }
  }
  context.SetSizes(0, std::move(sizes));
}

// Of elements the full reduction is followed: the product of a shape, say.
template <Expr (ExprPool::*kCombine)(Expr, Expr)>
void ReduceElements(InferContext& context) {
  Reduce(context);
  const std::vector<Expr>* elements = context.contents(0);
  if (!elements || elements->empty() || !context.sizes(0) || context.sizes(0)->size() > 1) return;
  if (SmallCount(context.exprs(), context.result(0).sizes) != 1) return;
  Expr all = elements->front();
  for (size_t i = 1; i < elements->size(); ++i) all = (context.exprs().*kCombine)(all, (*elements)[i]);
  context.SetContents(0, {all});
}

void ArgReduce(InferContext& context) {
  const Sizes* input = context.sizes(0);
  const auto axis = input ? NormalizeAxis(context.Int("axis", 0), input->size()) : std::nullopt;
  if (!axis) return;
  Sizes sizes = *input;
  if (context.Int("keepdims", 1) != 0) {
    sizes[*axis] = context.exprs().Constant(1);
  } else {
    sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(*axis));
  }
  context.SetSizes(0, std::move(sizes));
}

void CumSum(InferContext& context) {
  SameAsFirst(context);
  const std::vector<Expr>* elements = context.contents(0);
  if (!elements || context.sizes(0)->size() != 1) return;
  const bool exclusive = context.Int("exclusive", 0) != 0, reverse = context.Int("reverse", 0) != 0;
  std::vector<Expr> sums(elements->size());
  Expr sum = context.exprs().Constant(0);
  for (size_t n = 0; n < sums.size(); ++n) {
    const size_t i = reverse ? sums.size() - 1 - n : n;
    const Expr next = context.exprs().Add(sum, (*elements)[i]);
    sums[i] = exclusive ? sum : next;
    sum = next;
  }
  context.SetContents(0, std::move(sums));
}

// K is an attribute before opset 10.
void TopK(InferContext& context) {
  const Sizes* input = context.sizes(0);
  const auto axis = input ? NormalizeAxis(context.Int("axis", -1), input->size()) : std::nullopt;
  if (!axis) return;
  Sizes sizes = *input;
  sizes[*axis] = context.attribute("k") ? context.exprs().Constant(context.Int("k", 0)) : SizeFromScalar(context, 1);
  context.SetSizes(0, sizes);
  context.SetSizes(1, std::move(sizes));
}

constexpr InferRule kReduction[] = {
    {"ArgMax", ArgReduce},
    {"ArgMin", ArgReduce},
    {"CumProd", SameAsFirst},
    {"CumSum", CumSum},
    {"ReduceL1", Reduce},
    {"ReduceL2", Reduce},
    {"ReduceLogSum", Reduce},
    {"ReduceLogSumExp", Reduce},
    {"ReduceMax", ReduceElements<&ExprPool::Max>},
    {"ReduceMean", Reduce},
    {"ReduceMin", ReduceElements<&ExprPool::Min>},
    {"ReduceProd", ReduceElements<&ExprPool::Mul>},
    {"ReduceSum", ReduceElements<&ExprPool::Add>},
    {"ReduceSumSquare", Reduce},
    {"TopK", TopK},
};

}  // namespace

std::span<const InferRule> ReductionRules() { return kReduction; }

}  // namespace flambeau::onnx
