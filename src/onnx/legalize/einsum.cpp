// Einsum as a product of matrices where it is one, else as a sum of products.
#include <algorithm>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// One letter an axis; the axes of an ellipsis are -1, -2, … from the last.
using Labels = std::vector<int>;

bool Has(const Labels& labels, int label) { return std::ranges::find(labels, label) != labels.end(); }

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

Labels LabelsOf(std::string_view term, int ellipsis) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      labels.push_back(term[i]);
      continue;
    }
    for (int axis = ellipsis; axis > 0; --axis) labels.push_back(-axis);
    i += 2;
  }
  return labels;
}

// nullopt for a diagonal, and where the ranks are not known.
std::optional<Equation> Parse(std::string_view text, std::span<const Tensor> tensors) {
  Equation equation;
  const size_t arrow = text.find("->");
  std::string_view terms = text.substr(0, arrow);
  int widest = 0;
  for (const Tensor& tensor : tensors) {
    const std::string_view term = terms.substr(0, terms.find(','));
    terms.remove_prefix(std::min(terms.size(), term.size() + 1));
    if (!tensor.ranked()) return std::nullopt;
    const bool open = term.find("...") != std::string_view::npos;
    const int ellipsis = open ? static_cast<int>(tensor.rank()) - (static_cast<int>(term.size()) - 3) : 0;
    if (ellipsis < 0) return std::nullopt;
    widest = std::max(widest, ellipsis);
    Labels labels = LabelsOf(term, ellipsis);
    for (int label : labels)
      if (std::ranges::count(labels, label) != 1) return std::nullopt;
    if (static_cast<int64_t>(labels.size()) != tensor.rank()) return std::nullopt;
    equation.operands.push_back(std::move(labels));
  }
  if (arrow != std::string_view::npos) {
    equation.result = LabelsOf(text.substr(arrow + 2), widest);
    return equation;
  }
  // By default the letters that occur once, by the alphabet.
  Labels letters;
  for (const Labels& labels : equation.operands)
    for (int label : labels)
      if (label > 0) letters.push_back(label);
  std::ranges::sort(letters);
  for (int axis = widest; axis > 0; --axis) equation.result.push_back(-axis);
  for (int label : letters)
    if (std::ranges::count(letters, label) == 1) equation.result.push_back(label);
  return equation;
}

// The tensor with axes in that order, of size 1 where it has none.
Tensor Arranged(Builder& to, const Tensor& x, const Labels& labels, const Labels& order) {
  Ints permutation, added;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto at = std::ranges::find(labels, order[i]);
    if (at == labels.end()) {
      added.push_back(static_cast<int64_t>(i));
    } else {
      permutation.push_back(at - labels.begin());
    }
  }
  return to.UnsqueezeAt(to.Permute(x, permutation), added);
}

// Which letters a product of two has in both factors and the result, in one of them, and sums over.
struct Groups {
  Labels batch, rows, columns, summed;
};

std::optional<Groups> GroupsOf(const Equation& equation) {
  if (equation.operands.size() != 2) return std::nullopt;
  const Labels &a = equation.operands[0], &b = equation.operands[1];
  Groups groups;
  for (int label : a) {
    const bool kept = Has(equation.result, label), shared = Has(b, label);
    if (!kept && !shared) return std::nullopt;
    (!kept ? groups.summed : shared ? groups.batch : groups.rows).push_back(label);
  }
  for (int label : b) {
    if (Has(a, label)) continue;
    if (!Has(equation.result, label)) return std::nullopt;
    groups.columns.push_back(label);
  }
  return groups;
}

// Batches, one axis of rows, one of columns, one that both sum over.
std::optional<Tensor> AsMatMul(Builder& to, const Equation& equation, std::span<const Tensor> tensors) {
  const auto groups = GroupsOf(equation);
  if (!groups) return std::nullopt;
  const auto& [batch, rows, columns, summed] = *groups;
  const Labels &a = equation.operands[0], &b = equation.operands[1];
  if (summed.size() != 1 || rows.size() > 1 || columns.size() > 1) return std::nullopt;
  constexpr int kNone = 0;  // no letter: an axis of size 1
  const int row = rows.empty() ? kNone : rows[0], column = columns.empty() ? kNone : columns[0];
  auto order = [&](std::initializer_list<int> last) {
    Labels labels = batch;
    labels.insert(labels.end(), last);
    return labels;
  };
  Tensor y = to.MatMul(Arranged(to, tensors[0], a, order({row, summed[0]})), Arranged(to, tensors[1], b, order({summed[0], column})));
  const auto rank = static_cast<int64_t>(batch.size()) + 2;
  Labels labels = order({});
  if (column == kNone) y = to.SqueezeAt(y, {rank - 1});
  if (row == kNone) y = to.SqueezeAt(y, {rank - 2});
  labels.insert(labels.end(), rows.begin(), rows.end());
  labels.insert(labels.end(), columns.begin(), columns.end());
  return Arranged(to, y, labels, equation.result);
}

Results EinsumByProducts(Builder& to, const Request& request) {
  const auto equation = Parse(request.Text("equation", ""), request.operands);
  if (!equation) return Refuse(to, request, "does not exist");
  if (const auto product = AsMatMul(to, *equation, request.operands)) return {{*product}};
  Labels order = equation->result;
  Ints summed;
  for (const Labels& labels : equation->operands)
    for (int label : labels) {
      if (Has(order, label)) continue;
      summed.push_back(static_cast<int64_t>(order.size()));
      order.push_back(label);
    }
  Tensor product;
  for (size_t i = 0; i < request.operands.size(); ++i) {
    const Tensor factor = Arranged(to, request.operands[i], equation->operands[i], order);
    product = product ? to.Mul(product, factor) : factor;
  }
  if (summed.empty()) return {{to.Identity(product)}};
  return {{to.ReduceSum(product, to.ConstantInts(summed), {.keepdims = 0})}};
}

Labels Joined(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

bool MayBeEmpty(Builder& to, const Tensor& x) {
  return std::ranges::any_of(x.type().sizes, [&](Expr size) { return to.exprs().RangeOf(size).min < 1; });
}

// onnxruntime divides by 0, and with it ends the process, where it has to turn factors without elements itself: they are
// turned before.
Results EinsumOfTurned(Builder& to, const Request& request) {
  if (to.opset() < 12) return EinsumByProducts(to, request);
  if (!to.widens_for_runtime()) return std::nullopt;
  const auto equation = Parse(request.Text("equation", ""), request.operands);
  const auto groups = equation ? GroupsOf(*equation) : std::nullopt;
  if (!groups || std::ranges::none_of(request.operands, [&](const Tensor& x) { return MayBeEmpty(to, x); })) return std::nullopt;
  const Labels orders[] = {Joined({groups->batch, groups->rows, groups->summed}), Joined({groups->batch, groups->summed, groups->columns})};
  const Labels product = Joined({groups->batch, groups->rows, groups->columns});
  if (orders[0] == equation->operands[0] && orders[1] == equation->operands[1]) return std::nullopt;
  const Labels letters = Joined({product, groups->summed});
  if (letters.size() > 26) return std::nullopt;
  const auto term = [&](const Labels& labels) {
    std::string text;
    for (int label : labels) text += static_cast<char>('a' + (std::ranges::find(letters, label) - letters.begin()));
    return text;
  };
  const Tensor operands[] = {Arranged(to, request.operands[0], equation->operands[0], orders[0]),
                             Arranged(to, request.operands[1], equation->operands[1], orders[1])};
  AttributeList attributes;
  attributes.Add("equation", term(orders[0]) + "," + term(orders[1]) + "->" + term(product));
  const std::vector<Tensor> results = EmitAsIs(to, "Einsum", operands, attributes, 1);
  return {{Arranged(to, results[0], product, equation->result)}};
}

constexpr LegalizeRule kRules[] = {
    {"Einsum", kNever, &EinsumOfTurned},
};

}  // namespace

std::span<const LegalizeRule> EinsumForms() { return kRules; }

}  // namespace flambeau::onnx
