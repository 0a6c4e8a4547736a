// Einsum as a product of matrices where it is one, else as a sum of products.
#include <algorithm>
#include <functional>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

constexpr int kFirstOpset = 12;

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

// nullopt where the ranks are not known.
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

Groups GroupsOf(const Equation& equation) {
  const Labels &a = equation.operands[0], &b = equation.operands[1];
  Groups groups;
  for (int label : a) {
    const bool kept = Has(equation.result, label), shared = Has(b, label);
    (!kept ? groups.summed : shared ? groups.batch : groups.rows).push_back(label);
  }
  for (int label : b) {
    if (!Has(a, label)) groups.columns.push_back(label);
  }
  return groups;
}

// Batches, one axis of rows, one of columns, one that both sum over.
std::optional<Tensor> AsMatMul(Builder& to, const Groups& groups, const Equation& equation, std::span<const Tensor> tensors) {
  const auto& [batch, rows, columns, summed] = groups;
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

Labels Joined(std::initializer_list<Labels> parts) {
  Labels all;
  for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// The axes of a product of two as kernels of matrices take them, and what it gives.
struct Orders {
  Labels a, b, product;
};

Orders OrdersOf(const Groups& groups) {
  return {Joined({groups.batch, groups.rows, groups.summed}), Joined({groups.batch, groups.summed, groups.columns}),
          Joined({groups.batch, groups.rows, groups.columns})};
}

// Multiplied with all axes, then summed.
Tensor SumOfProduct(Builder& to, const Orders& orders, const Labels& summed, const Equation& equation, std::span<const Tensor> tensors) {
  const Labels order = Joined({orders.product, summed});
  Ints axes;
  for (size_t i = orders.product.size(); i < order.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  const Tensor product = to.Mul(Arranged(to, tensors[0], equation.operands[0], order), Arranged(to, tensors[1], equation.operands[1], order));
  return axes.empty() ? product : to.ReduceSum(product, to.ConstantInts(axes), {.keepdims = 0});
}

// One of ONNX's Einsum that turns nothing.
std::optional<Tensor> EinsumInOrder(Builder& to, const Orders& orders, const Labels& summed, const Equation& equation,
                                    std::span<const Tensor> tensors) {
  const Labels letters = Joined({orders.product, summed});
  if (to.opset() < kFirstOpset || letters.size() > 26) return std::nullopt;
  const auto term = [&](const Labels& labels) {
    std::string text;
    for (int label : labels) text += static_cast<char>('a' + (std::ranges::find(letters, label) - letters.begin()));
    return text;
  };
  const Tensor operands[] = {Arranged(to, tensors[0], equation.operands[0], orders.a),
                             Arranged(to, tensors[1], equation.operands[1], orders.b)};
  AttributeList attributes;
  attributes.Add("equation", term(orders.a) + "," + term(orders.b) + "->" + term(orders.product));
  return EmitAsIs(to, "Einsum", operands, attributes, 1).front();
}

// Of letters that both factors or the result have.
Tensor ProductOfTwo(Builder& to, const Equation& equation, std::span<const Tensor> tensors) {
  const auto groups = GroupsOf(equation);
  const auto is_same_size = [&](int label) {  // in both; else one is 1 and broadcasts
    const auto size = [&](size_t i) {
      const Labels& labels = equation.operands[i];
      return tensors[i].size(std::ranges::find(labels, label) - labels.begin()).expr;
    };
    return size(0) == size(1);
  };
  if (to.opset() < kFirstOpset && std::ranges::all_of(groups.summed, is_same_size))
    if (const auto product = AsMatMul(to, groups, equation, tensors)) return *product;
  const Orders orders = OrdersOf(groups);
  const auto product = EinsumInOrder(to, orders, groups.summed, equation, tensors);
  return Arranged(to, product ? *product : SumOfProduct(to, orders, groups.summed, equation, tensors), orders.product, equation.result);
}

// What has equal indices along both axes; the later one is gone.
Tensor DiagonalOf(Builder& to, const Tensor& x, int64_t axis, int64_t later) {
  std::vector<Tensor> sizes;
  Ints others;
  for (int64_t i = 0; i < x.rank(); ++i) {
    sizes.push_back(i == later ? to.ConstantInts({1}) : SizeAlong(to, x, i));
    if (i != axis) others.push_back(i);
  }
  const Tensor index = to.UnsqueezeAt(Iota(to, SizeNumber(to, x, axis)), others);
  return to.SqueezeAt(to.GatherElements(x, to.Expand(index, to.Concat(sizes, {.axis = 0})), {.axis = later}), {later});
}

// An operand with each letter once, and without the letters that nothing else has.
Tensor Reduced(Builder& to, Tensor x, Labels* labels, const std::function<bool(int)>& needed) {
  for (size_t i = 0; i < labels->size(); ++i)
    for (size_t later = labels->size(); --later > i;) {
      if ((*labels)[later] != (*labels)[i]) continue;
      x = DiagonalOf(to, x, static_cast<int64_t>(i), static_cast<int64_t>(later));
      labels->erase(labels->begin() + static_cast<ptrdiff_t>(later));
    }
  Ints own;
  for (size_t i = 0; i < labels->size(); ++i)
    if (!needed((*labels)[i])) own.push_back(static_cast<int64_t>(i));
  std::erase_if(*labels, [&](int label) { return !needed(label); });
  return own.empty() ? x : to.ReduceSum(x, to.ConstantInts(own), {.keepdims = 0});
}

// Diagonals and sums of each operand by itself, then a product after the other, each of two.
Tensor Stepwise(Builder& to, const Equation& equation, std::span<const Tensor> tensors) {
  std::vector<Tensor> factors(tensors.begin(), tensors.end());
  std::vector<Labels> labels = equation.operands;
  for (size_t i = 0; i < factors.size(); ++i)
    factors[i] = Reduced(to, factors[i], &labels[i], [&](int label) {
      for (size_t other = 0; other < labels.size(); ++other)
        if (other != i && Has(labels[other], label)) return true;
      return Has(equation.result, label);
    });
  for (size_t i = 1; i < factors.size(); ++i) {
    Labels kept;
    for (int label : Joined({labels[i - 1], labels[i]})) {
      const auto asks = [&](const Labels& other) { return Has(other, label); };
      const bool later = asks(equation.result) || std::any_of(labels.begin() + static_cast<ptrdiff_t>(i) + 1, labels.end(), asks);
      if (later && !Has(kept, label)) kept.push_back(label);
    }
    if (i + 1 == factors.size()) kept = equation.result;
    factors[i] = ProductOfTwo(to, {{labels[i - 1], labels[i]}, kept}, std::span(factors).subspan(i - 1, 2));
    labels[i] = kept;
  }
  return Arranged(to, factors.back(), labels.back(), equation.result);
}

bool MayBeEmpty(Builder& to, const Tensor& x) {
  return std::ranges::any_of(x.type().sizes, [&](Expr size) { return to.exprs().RangeOf(size).min < 1; });
}

// onnxruntime divides by 0, and with it ends the process, where it has to turn operands without elements itself, for
// diagonals, too: then nothing is left to it but products of operands that were turned before.
Results LegalizeEinsum(Builder& to, const Request& request) {
  const bool exists = to.opset() >= kFirstOpset;
  if (exists && !to.widens_for_runtime()) return std::nullopt;
  if (exists && std::ranges::none_of(request.operands, [&](const Tensor& x) { return MayBeEmpty(to, x); })) return std::nullopt;
  const auto equation = Parse(request.Text("equation", ""), request.operands);
  if (!equation) return exists ? std::nullopt : Refuse(to, request, "does not exist");
  const Tensor y = Stepwise(to, *equation, request.operands);
  return {{y.id() == request.operands[0].id() ? to.Identity(y) : y}};
}

constexpr LegalizeRule kRules[] = {
    {"Einsum", kNever, &LegalizeEinsum},
};

}  // namespace

std::span<const LegalizeRule> EinsumForms() { return kRules; }

}  // namespace flambeau::onnx
