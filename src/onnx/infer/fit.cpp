#include "onnx/infer/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "onnx/infer/sizes.h"
#include "support/static_index.h"

namespace flambeau::onnx {
namespace {

using Misfit = std::optional<std::string>;

// "[2, ?, 3]"
std::string Text(const ExprPool& exprs, std::span<const Expr> sizes) {
  std::vector<std::string> parts;
  for (const Expr size : sizes) {
    const auto constant = exprs.AsConstant(size);
    parts.push_back(constant ? fmt::to_string(*constant) : "?");
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

Misfit Broadcast(InferContext& context) {
  const ExprPool& exprs = context.exprs();
  for (size_t i = 0; i < context.operand_count(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (context.sizes(i) && context.sizes(j) && NeverBroadcast(exprs, *context.sizes(i), *context.sizes(j)))
        return fmt::format("combines tensors of sizes {} and {}, which do not broadcast", Text(exprs, *context.sizes(j)),
                           Text(exprs, *context.sizes(i)));
  return std::nullopt;
}

Misfit NegativeSize(const ExprPool& exprs, std::span<const Expr> sizes, int64_t least) {
  for (const Expr size : sizes)
    if (exprs.AsConstant(size).value_or(0) < least) return fmt::format("asks for a tensor of sizes {}", Text(exprs, sizes));
  return std::nullopt;
}

Misfit ConstantOfShape(InferContext& context) {
  return context.contents(0) ? NegativeSize(context.exprs(), *context.contents(0), 0) : std::nullopt;
}

Misfit Expand(InferContext& context) {
  const auto* target = context.contents(1);
  if (!target) return std::nullopt;
  if (auto negative = NegativeSize(context.exprs(), *target, 0)) return negative;
  if (!context.sizes(0) || !NeverBroadcast(context.exprs(), *context.sizes(0), *target)) return std::nullopt;
  return fmt::format("expands a tensor of sizes {} to {}", Text(context.exprs(), *context.sizes(0)), Text(context.exprs(), *target));
}

// The product of what is constant, and whether that is all; nullopt where it overflows.
struct Count {
  int64_t constant = 1;
  bool whole = true;
};
std::optional<Count> CountOf(const ExprPool& exprs, std::span<const Expr> sizes) {
  Count count;
  for (const Expr size : sizes) {
    const auto constant = exprs.AsConstant(size);
    count.whole = count.whole && constant;
    if (constant && __builtin_mul_overflow(count.constant, *constant, &count.constant)) return std::nullopt;
  }
  return count;
}

Misfit Reshape(InferContext& context) {
  const ExprPool& exprs = context.exprs();
  const Sizes* input = context.sizes(0);
  const auto* shape = context.contents(1);
  if (!shape) return std::nullopt;
  if (auto negative = NegativeSize(exprs, *shape, -1)) return negative;
  const auto open = [&](Expr size) { return exprs.IsConstant(size, -1); };
  if (std::ranges::count_if(*shape, open) > 1) return fmt::format("leaves open more than one of the sizes {}", Text(exprs, *shape));
  if (!input) return std::nullopt;
  Sizes target;
  bool any_open = false;
  for (size_t d = 0; d < shape->size(); ++d) {
    const bool copied = exprs.IsConstant((*shape)[d], 0) && context.Int("allowzero", 0) == 0;
    if (copied && d >= input->size()) return std::nullopt;
    any_open = any_open || open((*shape)[d]);
    if (!open((*shape)[d])) target.push_back(copied ? (*input)[d] : (*shape)[d]);
  }
  const auto from = CountOf(exprs, *input), to = CountOf(exprs, target);
  if (!from || !to || !from->whole || !to->whole) return std::nullopt;
  const bool divides = to->constant == 0 ? from->constant == 0 : from->constant % to->constant == 0;
  const bool fits = any_open ? divides : from->constant == to->constant;
  if (fits) return std::nullopt;
  return fmt::format("gives a tensor of sizes {} the sizes {}", Text(exprs, *input), Text(exprs, *shape));
}

Misfit Transpose(InferContext& context) {
  const Sizes* input = context.sizes(0);
  auto perm = context.IntList("perm");
  if (!input || !perm) return std::nullopt;
  Ints sorted = *perm;
  std::ranges::sort(sorted);
  bool fits = sorted.size() == input->size();
  for (size_t d = 0; d < sorted.size() && fits; ++d) fits = sorted[d] == static_cast<int64_t>(d);
  if (fits) return std::nullopt;
  return fmt::format("puts the {} dimensions of a tensor into the order [{}]", input->size(), fmt::join(*perm, ", "));
}

Misfit Product(const ExprPool& exprs, const Sizes& a, const Sizes& b) {
  const bool scalar = a.empty() || b.empty();
  const size_t batch_a = a.size() > 2 ? a.size() - 2 : 0, batch_b = b.size() > 2 ? b.size() - 2 : 0;
  if (!scalar && !Differ(exprs, a.back(), b.size() > 1 ? b[b.size() - 2] : b[0]) &&
      !NeverBroadcast(exprs, std::span(a).first(batch_a), std::span(b).first(batch_b)))
    return std::nullopt;
  return fmt::format("multiplies matrices of sizes {} and {}", Text(exprs, a), Text(exprs, b));
}

Misfit MatMul(InferContext& context) {
  const Sizes *a = context.sizes(0), *b = context.sizes(1);
  return a && b ? Product(context.exprs(), *a, *b) : std::nullopt;
}

Misfit Gemm(InferContext& context) {
  const Sizes *a = context.sizes(0), *b = context.sizes(1), *c = context.sizes(2);
  if (!a || !b) return std::nullopt;
  const ExprPool& exprs = context.exprs();
  if (a->size() != 2 || b->size() != 2) return fmt::format("multiplies matrices of sizes {} and {}", Text(exprs, *a), Text(exprs, *b));
  Sizes left = *a, right = *b;
  if (context.Int("transA", 0) != 0) std::swap(left[0], left[1]);
  if (context.Int("transB", 0) != 0) std::swap(right[0], right[1]);
  if (auto misfit = Product(exprs, left, right)) return misfit;
  const Sizes product = {left[0], right[1]};
  if (!c || !NeverBroadcast(exprs, *c, product)) return std::nullopt;
  return fmt::format("adds a tensor of sizes {} to a product of sizes {}", Text(exprs, *c), Text(exprs, product));
}

Misfit Concat(InferContext& context) {
  const ExprPool& exprs = context.exprs();
  const Sizes* first = nullptr;
  for (size_t i = 0; i < context.operand_count(); ++i) {
    const Sizes* part = context.sizes(i);
    if (!part) continue;
    if (!first) first = part;
    const auto axis = NormalizeAxis(context.Int("axis", 1), first->size());
    bool fits = axis && part->size() == first->size();
    for (size_t d = 0; d < part->size() && fits; ++d) fits = d == *axis || !Differ(exprs, (*part)[d], (*first)[d]);
    if (!fits)
      return fmt::format("joins tensors of sizes {} and {} along dimension {}", Text(exprs, *first), Text(exprs, *part),
                         context.Int("axis", 1));
  }
  return std::nullopt;
}

Misfit Split(InferContext& context) {
  const ExprPool& exprs = context.exprs();
  const Sizes* input = context.sizes(0);
  const auto* pieces = context.contents(1);
  const auto axis = input ? NormalizeAxis(context.Int("axis", 0), input->size()) : std::nullopt;
  if (!axis || !pieces) return std::nullopt;
  if (auto negative = NegativeSize(exprs, *pieces, 0)) return negative;
  const auto whole = exprs.AsConstant((*input)[*axis]);
  int64_t sum = 0;
  for (const Expr piece : *pieces) {
    const auto constant = exprs.AsConstant(piece);
    if (!constant || !whole || __builtin_add_overflow(sum, *constant, &sum)) return std::nullopt;
  }
  if (sum == *whole) return std::nullopt;
  return fmt::format("cuts a dimension of {} into pieces of {}", *whole, Text(exprs, *pieces));
}

Misfit Gather(InferContext& context) {
  const ExprPool& exprs = context.exprs();
  const Sizes* input = context.sizes(0);
  const auto* indices = context.contents(1);
  const auto axis = input ? NormalizeAxis(context.Int("axis", 0), input->size()) : std::nullopt;
  const auto size = axis ? exprs.AsConstant((*input)[*axis]) : std::nullopt;
  if (!size || !indices) return std::nullopt;
  for (const Expr index : *indices)
    if (const auto constant = exprs.AsConstant(index); constant && (*constant < -*size || *constant >= *size))
      return fmt::format("takes element {} of a dimension of {}", *constant, *size);
  return std::nullopt;
}

Misfit TopK(InferContext& context) {
  const ExprPool& exprs = context.exprs();
  const Sizes* input = context.sizes(0);
  const auto* k = context.contents(1);
  const auto axis = input ? NormalizeAxis(context.Int("axis", -1), input->size()) : std::nullopt;
  const auto size = axis ? exprs.AsConstant((*input)[*axis]) : std::nullopt;
  const auto taken = k && k->size() == 1 ? exprs.AsConstant(k->front()) : std::nullopt;
  if (!size || !taken || (*taken >= 0 && *taken <= *size)) return std::nullopt;
  return fmt::format("takes {} elements of a dimension of {}", *taken, *size);
}

// The indices reach into each dimension but one no further than the tensor does.
template <size_t kIndices>
Misfit Elements(InferContext& context) {
  const ExprPool& exprs = context.exprs();
  const Sizes *input = context.sizes(0), *indices = context.sizes(kIndices);
  const auto axis = input ? NormalizeAxis(context.Int("axis", 0), input->size()) : std::nullopt;
  if (!axis || !indices) return std::nullopt;
  bool fits = input->size() == indices->size();
  for (size_t d = 0; d < input->size() && fits; ++d) {
    const auto size = exprs.AsConstant((*input)[d]), taken = exprs.AsConstant((*indices)[d]);
    fits = d == *axis || !size || !taken || *taken <= *size;
  }
  if (fits) return std::nullopt;
  return fmt::format("has indices of sizes {} into a tensor of sizes {}", Text(exprs, *indices), Text(exprs, *input));
}

// Letters of one name stand for one size, or for 1. Ellipses are left to the inference.
Misfit Einsum(InferContext& context) {
  const ExprPool& exprs = context.exprs();
  const std::string_view equation = context.String("equation", "");
  std::string_view terms = equation.substr(0, equation.find("->"));
  std::unordered_map<char, Expr> sizes;
  for (size_t i = 0; i < context.operand_count(); ++i) {
    const size_t comma = terms.find(',');
    std::string letters(terms.substr(0, comma));
    terms = comma == terms.npos ? std::string_view() : terms.substr(comma + 1);
    std::erase(letters, ' ');
    const Sizes* own = context.sizes(i);
    if (!own || letters.find('.') != letters.npos) return std::nullopt;
    if (letters.size() != own->size()) return fmt::format("names {} dimensions of a tensor of sizes {}", letters.size(), Text(exprs, *own));
    for (size_t d = 0; d < letters.size(); ++d) {
      Expr& known = sizes.try_emplace(letters[d], (*own)[d]).first->second;
      if (exprs.IsConstant((*own)[d], 1)) continue;
      if (Differ(exprs, known, (*own)[d]) && !exprs.IsConstant(known, 1))
        return fmt::format("sums over '{}' of {} and of {}", letters[d], *exprs.AsConstant(known), *exprs.AsConstant((*own)[d]));
      if (exprs.AsConstant((*own)[d])) known = (*own)[d];
    }
  }
  return std::nullopt;
}

// Whether a kernel is larger than what it moves over, with its padding.
bool KernelTooLarge(InferContext& context, const Sizes& input, const Sizes& weight) {
  const auto pads = context.IntList("pads"), dilations = context.IntList("dilations");
  if (context.String("auto_pad", "NOTSET") != "NOTSET") return false;
  const size_t spatial = input.size() - 2;
  for (size_t d = 0; d < spatial; ++d) {
    const auto size = context.exprs().AsConstant(input[d + 2]), kernel = context.exprs().AsConstant(weight[d + 2]);
    if (!size || !kernel || *kernel < 1) continue;
    const int64_t padding = pads && pads->size() == 2 * spatial ? (*pads)[d] + (*pads)[spatial + d] : 0;
    const int64_t dilation = dilations && dilations->size() == spatial ? (*dilations)[d] : 1;
    int64_t reach;
    if (__builtin_mul_overflow(*kernel - 1, dilation, &reach) || reach >= *size + padding) return true;
  }
  return false;
}

// Weights are (out, in / groups, …), those of transposed convolutions (in, out / groups, …).
template <bool kTransposed>
Misfit Convolution(InferContext& context) {
  const ExprPool& exprs = context.exprs();
  const Sizes *input = context.sizes(0), *weight = context.sizes(1), *bias = context.sizes(2);
  if (!input || !weight) return std::nullopt;
  const int64_t groups = context.Int("group", 1);
  bool fits = input->size() == weight->size() && input->size() > 2 && groups > 0;
  if (fits) {
    const auto channels = exprs.AsConstant((*input)[1]), taken = exprs.AsConstant((*weight)[kTransposed ? 0 : 1]);
    const auto made = exprs.AsConstant((*weight)[kTransposed ? 1 : 0]), added = bias && bias->size() == 1 ? exprs.AsConstant((*bias)[0]) : std::nullopt;
    fits = (!channels || !taken || *channels == (kTransposed ? *taken : *taken * groups)) &&
           (kTransposed || (!KernelTooLarge(context, *input, *weight) && (!made || *made % groups == 0))) &&
           (!made || !added || *added == (kTransposed ? *made * groups : *made));
  }
  if (fits) return std::nullopt;
  return fmt::format("convolves a tensor of sizes {} with weights of sizes {} in {} groups", Text(exprs, *input), Text(exprs, *weight), groups);
}

// One number a channel, or one for all of a normalized part.
template <size_t kFirst, size_t kLast>
Misfit PerChannel(InferContext& context) {
  const ExprPool& exprs = context.exprs();
  const Sizes* input = context.sizes(0);
  if (!input || input->size() < 2) return std::nullopt;
  for (size_t i = kFirst; i <= kLast; ++i) {
    const Sizes* each = context.sizes(i);
    if (!each || (each->size() == 1 && !Differ(exprs, (*each)[0], (*input)[1]))) continue;
    return fmt::format("has parameters of sizes {} for the channels of a tensor of sizes {}", Text(exprs, *each), Text(exprs, *input));
  }
  return std::nullopt;
}

using Rule = Misfit (*)(InferContext&);

constexpr std::pair<std::string_view, Rule> kRules[] = {
    {"Add", Broadcast},
    {"And", Broadcast},
    {"BatchNormalization", PerChannel<1, 4>},
    {"BitShift", Broadcast},
    {"BitwiseAnd", Broadcast},
    {"BitwiseOr", Broadcast},
    {"BitwiseXor", Broadcast},
    {"Concat", Concat},
    {"ConstantOfShape", ConstantOfShape},
    {"Conv", Convolution<false>},
    {"ConvTranspose", Convolution<true>},
    {"Div", Broadcast},
    {"Einsum", Einsum},
    {"Equal", Broadcast},
    {"Expand", Expand},
    {"Gather", Gather},
    {"GatherElements", Elements<1>},
    {"Gemm", Gemm},
    {"Greater", Broadcast},
    {"GreaterOrEqual", Broadcast},
    {"GroupNormalization", PerChannel<1, 2>},
    {"InstanceNormalization", PerChannel<1, 2>},
    {"Less", Broadcast},
    {"LessOrEqual", Broadcast},
    {"MatMul", MatMul},
    {"Max", Broadcast},
    {"Min", Broadcast},
    {"Mod", Broadcast},
    {"Mul", Broadcast},
    {"Or", Broadcast},
    {"Pow", Broadcast},
    {"Reshape", Reshape},
    {"ScatterElements", Elements<1>},
    {"Split", Split},
    {"Sub", Broadcast},
    {"Sum", Broadcast},
    {"TopK", TopK},
    {"Transpose", Transpose},
    {"Where", Broadcast},
    {"Xor", Broadcast},
};

}  // namespace

bool NeverBroadcast(const ExprPool& exprs, std::span<const Expr> a, std::span<const Expr> b) {
  for (size_t d = 1; d <= std::min(a.size(), b.size()); ++d) {
    const Expr x = a[a.size() - d], y = b[b.size() - d];
    if (Differ(exprs, x, y) && !exprs.IsConstant(x, 1) && !exprs.IsConstant(y, 1)) return true;
  }
  return false;
}

std::optional<std::string> MisfitOf(std::string_view op, InferContext& context) {
  using Named = std::pair<std::string_view, Rule>;
  static const auto* rules = new StaticIndex<Rule>(kRules, &Named::first, &Named::second);
  const Rule* rule = rules->Find(op);
  return rule == nullptr ? std::nullopt : (*rule)(context);
}

}  // namespace flambeau::onnx
