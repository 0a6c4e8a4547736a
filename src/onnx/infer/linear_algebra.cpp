// Matrix products, attention and Einsum.
#include <array>

#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

std::optional<Sizes> ProductSizes(ExprPool& exprs, const Sizes& a, const Sizes& b) {
  if (a.empty() || b.empty()) return std::nullopt;
  const size_t batch_a = a.size() > 2 ? a.size() - 2 : 0, batch_b = b.size() > 2 ? b.size() - 2 : 0;
  Sizes sizes = BroadcastSizes(exprs, Sizes(a.begin(), a.begin() + static_cast<ptrdiff_t>(batch_a)), std::span(b).first(batch_b));
  if (a.size() > 1) sizes.push_back(a[a.size() - 2]);
  if (b.size() > 1) sizes.push_back(b.back());
  return sizes;
}

// MatMul and MatMulInteger; QLinearMatMul has its second matrix at 3.
template <size_t kSecond>
void MatMul(InferContext& context) {
  const Sizes *a = context.sizes(0), *b = context.sizes(kSecond);
  if (!a || !b) return;
  if (auto sizes = ProductSizes(context.exprs(), *a, *b)) context.SetSizes(0, std::move(*sizes));
}

void Gemm(InferContext& context) {
  const Sizes *a = context.sizes(0), *b = context.sizes(1);
  if (!a || !b || a->size() != 2 || b->size() != 2) return;
  const bool flip_a = context.Int("transA", 0) != 0, flip_b = context.Int("transB", 0) != 0;
  context.SetSizes(0, {(*a)[flip_a ? 1 : 0], (*b)[flip_b ? 0 : 1]});
}

// Batches of square matrices.
void Det(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (input && input->size() >= 2) context.SetSizes(0, Sizes(input->begin(), input->end() - 2));
}

// One subscript list of an equation, "ij" or "b...k".
struct Subscripts {
  std::string before, after;  // letters on both sides of the ellipsis
  bool ellipsis = false;
};

std::optional<Subscripts> ParseSubscripts(std::string_view text) {
  Subscripts subscripts;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (text.substr(i).starts_with("...") && !subscripts.ellipsis) {
      subscripts.ellipsis = true;
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      (subscripts.ellipsis ? subscripts.after : subscripts.before).push_back(c);
    } else {
      return std::nullopt;
    }
  }
  return subscripts;
}

// What the letters, and the ellipsis, of an Einsum equation stand for.
class EinsumSizes {
 public:
  explicit EinsumSizes(ExprPool& exprs) : exprs_(exprs) {}

  bool Bind(const Subscripts& subscripts, std::span<const Expr> sizes) {
    const size_t letters = subscripts.before.size() + subscripts.after.size();
    if (letters > sizes.size() || (letters != sizes.size() && !subscripts.ellipsis)) return false;
    BindLetters(subscripts.before, sizes.first(subscripts.before.size()));
    BindLetters(subscripts.after, sizes.last(subscripts.after.size()));
    const auto middle = sizes.subspan(subscripts.before.size(), sizes.size() - letters);
    ellipsis_ = BroadcastSizes(exprs_, std::move(ellipsis_), middle);
    return true;
  }

  Sizes Result(const Subscripts& subscripts) const {
    Sizes sizes;
    for (char c : subscripts.before) sizes.push_back(At(c));
    if (subscripts.ellipsis) sizes.insert(sizes.end(), ellipsis_.begin(), ellipsis_.end());
    for (char c : subscripts.after) sizes.push_back(At(c));
    return sizes;
  }

  // The result of an equation without an arrow: letters that occur once, sorted.
  Sizes ImplicitResult() const {
    Sizes sizes = ellipsis_;
    for (size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] == 1) sizes.push_back(letters_[i]);
    return sizes;
  }

 private:
  void BindLetters(std::string_view letters, std::span<const Expr> sizes) {
    for (size_t i = 0; i < letters.size(); ++i) {
      Expr& bound = letters_[static_cast<unsigned char>(letters[i])];
      const bool first = counts_[static_cast<unsigned char>(letters[i])]++ == 0;
      bound = first ? sizes[i] : BroadcastSizes(exprs_, {bound}, sizes.subspan(i, 1))[0];
    }
  }
  Expr At(char c) const {
    const auto i = static_cast<unsigned char>(c);
    return counts_[i] > 0 ? letters_[i] : exprs_.Anonymous();
  }

  ExprPool& exprs_;
  std::array<Expr, 128> letters_;
  std::array<int, 128> counts_ = {};
  Sizes ellipsis_;
};

void Einsum(InferContext& context) {
  std::string_view equation = context.String("equation", "");
  const size_t arrow = equation.find("->");
  std::string_view terms = equation.substr(0, arrow);
  EinsumSizes bound(context.exprs());
  for (size_t i = 0; i < context.operand_count(); ++i) {
    const size_t comma = terms.find(',');
    const auto subscripts = ParseSubscripts(terms.substr(0, comma));
    if (!subscripts || !context.sizes(i) || !bound.Bind(*subscripts, *context.sizes(i))) return;
    terms = comma == std::string_view::npos ? std::string_view() : terms.substr(comma + 1);
  }
  if (arrow == std::string_view::npos) return context.SetSizes(0, bound.ImplicitResult());
  if (const auto result = ParseSubscripts(equation.substr(arrow + 2))) context.SetSizes(0, bound.Result(*result));
}

// [batch, heads, length, head size] of a query, key or value, which may also be
// given as [batch, length, heads * head size].
std::optional<Sizes> Heads(InferContext& context, size_t i, std::string_view count) {
  const Sizes* sizes = context.sizes(i);
  if (sizes && sizes->size() == 4) return *sizes;
  const int64_t heads = context.Int(count, 0);
  if (!sizes || sizes->size() != 3 || heads <= 0) return std::nullopt;
  const Expr number = context.exprs().Constant(heads);
  return Sizes{(*sizes)[0], number, (*sizes)[1], context.exprs().FloorDiv((*sizes)[2], number)};
}

// Results: the attention, present keys and values, the scores.
void Attention(InferContext& context) {
  ExprPool& exprs = context.exprs();
  const auto query = Heads(context, 0, "q_num_heads"), key = Heads(context, 1, "kv_num_heads"),
             value = Heads(context, 2, "kv_num_heads");
  if (!query || !key || !value) return;
  if (context.sizes(0)->size() == 4) {
    context.SetSizes(0, {(*query)[0], (*query)[1], (*query)[2], (*value)[3]});
  } else {
    context.SetSizes(0, {(*query)[0], (*query)[2], exprs.Mul((*query)[1], (*value)[3])});
  }
  Expr total = (*key)[2];
  if (context.operand(4)) {
    const Sizes* past = context.sizes(4);
    total = past && past->size() == 4 ? exprs.Add((*past)[2], total) : exprs.Anonymous();
  }
  context.SetSizes(1, {(*key)[0], (*key)[1], total, (*key)[3]});
  context.SetSizes(2, {(*value)[0], (*value)[1], total, (*value)[3]});
  context.SetSizes(3, {(*query)[0], (*query)[1], (*query)[2], total});
}

constexpr InferRule kLinearAlgebra[] = {
    {"Attention", Attention},     {"Det", Det},
    {"Einsum", Einsum},           {"Gemm", Gemm},
    {"MatMul", MatMul<1>},        {"MatMulInteger", MatMul<1>},
    {"QLinearMatMul", MatMul<3>}, {"RotaryEmbedding", SameAsFirst},
};

}  // namespace

std::span<const InferRule> LinearAlgebraRules() { return kLinearAlgebra; }

}  // namespace flambeau::onnx
