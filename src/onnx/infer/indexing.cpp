// Operators that address elements: gathers, scatters, losses, and those whose
// result's size depends on the data.
#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

void Gather(InferContext& context) {
  const Sizes *input = context.sizes(0), *indices = context.sizes(1);
  if (!input || !indices) return;
  const auto axis = NormalizeAxis(context.Int("axis", 0), input->size());
  if (!axis) return;
  const auto at = input->begin() + static_cast<ptrdiff_t>(*axis);
  Sizes sizes(input->begin(), at);
  sizes.insert(sizes.end(), indices->begin(), indices->end());
  sizes.insert(sizes.end(), at + 1, input->end());
  context.SetSizes(0, std::move(sizes));
  const auto positions = context.ConstantInts(1);
  const auto* elements = context.contents(0);
  if (!positions || !elements || input->size() != 1) return;
  std::vector<Expr> taken;
  for (int64_t position : *positions) {
    const auto index = NormalizeAxis(position, elements->size());
    if (!index) return;
    taken.push_back((*elements)[*index]);
  }
  context.SetContents(0, std::move(taken));
}

void SameAsIndices(InferContext& context) {
  if (const Sizes* indices = context.sizes(1)) context.SetSizes(0, *indices);
}

// The last dimension of the indices addresses dimensions of the data.
void GatherND(InferContext& context) {
  const Sizes *input = context.sizes(0), *indices = context.sizes(1);
  if (!input || !indices || indices->empty()) return;
  const auto depth = context.exprs().AsConstant(indices->back());
  const int64_t batch = context.Int("batch_dims", 0);
  const auto rank = static_cast<int64_t>(input->size());
  if (!depth || batch < 0 || batch > rank || *depth < 0 || *depth > rank - batch) return;
  Sizes sizes(indices->begin(), indices->end() - 1);
  sizes.insert(sizes.end(), input->begin() + batch + *depth, input->end());
  context.SetSizes(0, std::move(sizes));
}

void NonZero(InferContext& context) {
  const Sizes* input = context.sizes(0);
  ExprPool& exprs = context.exprs();
  const Expr rank = input ? exprs.Constant(static_cast<int64_t>(input->size())) : exprs.Anonymous();
  context.SetSizes(0, {rank, exprs.Anonymous()});
}

// Values, first indices, inverse indices (one an element of the axis), counts.
void Unique(InferContext& context) {
  ExprPool& exprs = context.exprs();
  const Sizes* input = context.sizes(0);
  const Expr count = exprs.Anonymous();
  for (size_t i = 1; i < context.result_count(); ++i) context.SetSizes(i, {count});
  if (!context.attribute("axis")) {
    context.SetSizes(0, {count});
    return context.SetSizes(2, {input ? Product(exprs, *input) : exprs.Anonymous()});
  }
  const auto axis = input ? NormalizeAxis(context.Int("axis", 0), input->size()) : std::nullopt;
  if (!axis) return context.SetSizes(2, {exprs.Anonymous()});
  Sizes sizes = *input;
  context.SetSizes(2, {sizes[*axis]});
  sizes[*axis] = count;
  context.SetSizes(0, std::move(sizes));
}

void Compress(InferContext& context) {
  if (!context.attribute("axis")) return context.SetSizes(0, {context.exprs().Anonymous()});
  const Sizes* input = context.sizes(0);
  const auto axis = input ? NormalizeAxis(context.Int("axis", 0), input->size()) : std::nullopt;
  if (!axis) return;
  Sizes sizes = *input;
  sizes[*axis] = context.exprs().Anonymous();
  context.SetSizes(0, std::move(sizes));
}

// The depth is a new dimension, by default the last.
void OneHot(InferContext& context) {
  const Sizes* indices = context.sizes(0);
  const auto axis = indices ? NormalizeAxis(context.Int("axis", -1), indices->size() + 1) : std::nullopt;
  if (!axis) return;
  Sizes sizes = *indices;
  sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(*axis), SizeFromScalar(context, 1));
  context.SetSizes(0, std::move(sizes));
}

// Losses are scalars, or one an element of the target.
void Loss(InferContext& context) {
  if (context.String("reduction", "mean") != "none") {
    context.SetSizes(0, {});
  } else if (const Sizes* target = context.sizes(1)) {
    context.SetSizes(0, *target);
  }
  if (const Sizes* scores = context.sizes(0)) context.SetSizes(1, *scores);
}

constexpr InferRule kIndexing[] = {
    {"Compress", Compress},
    {"Gather", Gather},
    {"GatherElements", SameAsIndices},
    {"GatherND", GatherND},
    {"NegativeLogLikelihoodLoss", Loss},
    {"NonZero", NonZero},
    {"OneHot", OneHot},
    {"ReverseSequence", SameAsFirst},
    {"Scatter", SameAsFirst},
    {"ScatterElements", SameAsFirst},
    {"ScatterND", SameAsFirst},
    {"SoftmaxCrossEntropyLoss", Loss},
    {"TensorScatter", SameAsFirst},
    {"Unique", Unique},
};

}  // namespace

std::span<const InferRule> IndexingRules() { return kIndexing; }

}  // namespace flambeau::onnx
