// Products of matrices.
#include "lower/ops/linalg/linear_algebra.h"

#include <algorithm>
#include <cmath>

#include "aten/pure_form.h"
#include "lower/op.h"
#include "lower/ops/activation.h"
#include "lower/ops/complex.h"
#include "lower/ops/reduction.h"
#include "onnx/infer/sizes.h"

namespace flambeau::lower {

// Gemm takes matrices only, so other ranks are a MatMul with the bias added.
Tensor Linear(Lowering& to, Tensor input, Tensor weight, std::optional<Tensor> bias) {
  if (input.ranked() && input.rank() == 2 && weight.ranked() && weight.rank() == 2 && input.is_floating())
    return bias ? to.Gemm(input, weight, *bias, {.transB = 1}) : to.Gemm(input, weight, {.transB = 1});
  // A weight of one dimension gives a dot product.
  const Tensor transposed = weight.rank() == 2 ? to.Transpose(weight, {.perm = {1, 0}}) : weight;
  const Tensor product = to.MatMul(input, transposed);
  return bias ? to.Add(product, *bias) : product;
}

Tensor Matmul(Lowering& to, Tensor self, Tensor other) { return to.MatMul(self, other); }

namespace {

// beta · self + alpha · product; a beta of 0 ignores even NaN in self.
Tensor AddScaled(Lowering& to, Tensor self, Tensor product, const Scalar& beta, const Scalar& alpha) {
  product = to.Scale(product, alpha);
  return beta.Is(0) ? product : to.Add(to.Scale(self, beta), product);
}

}  // namespace

Tensor Addmm(Lowering& to, Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha) {
  // Gemm's factors are floats; integers take the long way. So does what may be a sum of nothing: onnxruntime leaves out beta.
  const Dim inner = mat1.size(1);
  const bool scales = beta.Is(0) || beta.Is(1) ? to.AsConstant(inner) != 0 : !onnx::MayBeZero(to.exprs(), inner.expr);
  if (self.is_floating() && scales && alpha.is_constant() && beta.is_constant()) {
    if (beta.Is(0)) return to.Gemm(mat1, mat2, {.alpha = alpha.AsDouble()});
    return to.Gemm(mat1, mat2, self, {.alpha = alpha.AsDouble(), .beta = beta.AsDouble()});
  }
  return AddScaled(to, self, to.MatMul(mat1, mat2), beta, alpha);
}

namespace {

// gelu is exact, as PyTorch computes it on a CPU.
Tensor AddmmActivation(Lowering& to, Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha, bool use_gelu) {
  const Tensor sum = Addmm(to, self, mat1, mat2, beta, alpha);
  return use_gelu ? to.Gelu(sum) : Relu(to, sum);
}

// int8 matrices give int32. Not by MatMulInteger: 8-bit kernels may saturate sums in int16 on CPUs without VNNI.
Tensor IntMm(Lowering& to, Tensor self, Tensor mat2) {
  return to.MatMul(to.CastTo(self, DType::kInt32), to.CastTo(mat2, DType::kInt32));
}

// Also for vectors: addmv.
Tensor Baddbmm(Lowering& to, Tensor self, Tensor batch1, Tensor batch2, Scalar beta, Scalar alpha) {
  return AddScaled(to, self, to.MatMul(batch1, batch2), beta, alpha);
}

Tensor Addbmm(Lowering& to, Tensor self, Tensor batch1, Tensor batch2, Scalar beta, Scalar alpha) {
  const Tensor sum = Sum(to, to.MatMul(batch1, batch2), Ints{0}, false, batch1.dtype());
  return AddScaled(to, self, sum, beta, alpha);
}

Tensor Outer(Lowering& to, Tensor self, Tensor vec2) {
  const DType dtype = to.PromotedDtype({self, vec2});
  return to.Mul(to.UnsqueezeAt(to.CastTo(self, dtype), {1}), to.CastTo(vec2, dtype));
}

Tensor Addr(Lowering& to, Tensor self, Tensor vec1, Tensor vec2, Scalar beta, Scalar alpha) {
  const Tensor outer = Outer(to, vec1, vec2);
  const DType dtype = to.PromotedDtype({self, outer});
  return AddScaled(to, to.CastTo(self, dtype), to.CastTo(outer, dtype), beta, alpha);
}

Tensor MultiDot(Lowering& to, TensorList tensors) {
  Tensor product = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) product = to.MatMul(product, tensors[i]);
  return product;
}

Tensor Vecdot(Lowering& to, Tensor x, Tensor y, int64_t dim) {
  return Sum(to, to.Mul(Conj(to, x), y), Ints{dim}, false, x.dtype());
}

Tensor Vdot(Lowering& to, Tensor self, Tensor other) { return to.MatMul(Conj(to, self), other); }

// --- sums over indices --------------------------------------------------------------

constexpr std::string_view kEllipsis = "...";

// What an equation gives by default: what occurs once in the operands, in alphabetical order, after the ellipsis.
std::string DefaultOutput(std::string_view operands, std::string_view ellipsis) {
  std::string output(ellipsis);
  for (char first : {'A', 'a'})
    for (char c = first; c < first + 26; ++c)
      if (ellipsis.find(c) == ellipsis.npos && std::ranges::count(operands, c) == 1) output += c;
  return output;
}

// Letters in the place of ellipses, which ONNX has for equal sizes only. An operand loses axes of size 1 that
// another has longer.
std::string WithoutEllipses(Lowering& to, const std::string& equation, TensorList* tensors) {
  const size_t arrow = std::min(equation.find("->"), equation.size());
  std::vector<std::string> terms(1);
  for (char c : equation.substr(0, arrow)) {
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  }
  if (terms.size() != tensors->size()) return equation;
  std::string free;
  for (char first : {'A', 'a'})
    for (char c = first; c < first + 26; ++c)
      if (equation.find(c) == std::string::npos) free += c;
  auto covered = [&](size_t i) -> int64_t {
    return terms[i].find(kEllipsis) == std::string::npos ? 0 : (*tensors)[i].rank() + 3 - static_cast<int64_t>(terms[i].size());
  };
  int64_t longest = 0;
  for (size_t i = 0; i < terms.size(); ++i) longest = std::max(longest, covered(i));
  if (longest < 0 || longest > static_cast<int64_t>(free.size())) return equation;
  const std::string letters = free.substr(0, static_cast<size_t>(longest));
  std::vector<bool> stretched(letters.size());
  auto size_at = [&](size_t i, int64_t k) {  // of the ellipsis
    return (*tensors)[i].size(static_cast<int64_t>(terms[i].find(kEllipsis)) + k);
  };
  for (size_t i = 0; i < terms.size(); ++i)
    for (int64_t k = 0; k < covered(i); ++k)
      if (to.AsConstant(size_at(i, k)) != 1) stretched[static_cast<size_t>(longest - covered(i) + k)] = true;
  std::string result;
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t at = terms[i].find(kEllipsis);
    std::string named;
    Ints dropped;
    for (int64_t k = 0; k < covered(i); ++k) {
      const auto letter = static_cast<size_t>(longest - covered(i) + k);
      if (stretched[letter] && to.AsConstant(size_at(i, k)) == 1) dropped.push_back(static_cast<int64_t>(at) + k);
      else named += letters[letter];
    }
    if (at != std::string::npos) terms[i].replace(at, kEllipsis.size(), named);
    (*tensors)[i] = to.SqueezeAt((*tensors)[i], dropped);
    result += (i == 0 ? "" : ",") + terms[i];
  }
  std::string output;
  if (arrow < equation.size()) {
    output = equation.substr(arrow + 2);
    if (const size_t at = output.find(kEllipsis); at != std::string::npos) output.replace(at, kEllipsis.size(), letters);
  } else {
    output = DefaultOutput(result, letters);
  }
  return result + "->" + output;
}

// A size of 1 broadcasts in PyTorch, but ONNX takes the first size that an index has for all: there it gets one of its own.
std::string WithOnesApart(Lowering& to, std::string equation, const TensorList& tensors) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  struct Place {
    size_t at;  // in the equation
    bool is_one;
  };
  std::vector<Place> places;
  size_t at = 0;
  for (const Tensor& tensor : tensors) {
    const size_t end = std::min(equation.find_first_of(",-", at), equation.size());
    if (!tensor.ranked() || static_cast<int64_t>(end - at) != tensor.rank()) return equation;
    for (int64_t axis = 0; at < end; ++at, ++axis) places.push_back({at, to.exprs().IsConstant(tensor.size(axis).expr, 1)});
    ++at;
  }
  const std::string before = equation;
  for (const Place& one : places) {
    const bool broadcasts = one.is_one && std::ranges::any_of(places, [&](const Place& other) {
      return !other.is_one && before[other.at] == before[one.at];
    });
    if (!broadcasts) continue;
    const size_t unused = letters.find_first_not_of(equation);
    if (unused == letters.npos) return before;
    equation[one.at] = letters[unused];
  }
  return equation;
}

// Whether an index that one operand alone has is not kept: it is summed there, which makes int64 of integers.
bool SumsOneOperand(std::string_view equation) {
  const size_t arrow = equation.find("->");
  const std::string_view kept = arrow == equation.npos ? "" : equation.substr(arrow + 2);
  const std::string_view operands = equation.substr(0, arrow);
  for (size_t begin = 0, end; begin <= operands.size(); begin = end + 1) {
    end = std::min(operands.find(',', begin), operands.size());
    const std::string_view own = operands.substr(begin, end - begin);
    for (const char index : own) {
      const bool elsewhere = std::ranges::count(operands, index) > std::ranges::count(own, index);
      const bool stays = arrow == equation.npos ? std::ranges::count(own, index) == 1 : kept.find(index) != kept.npos;
      if (!elsewhere && !stays) return true;
    }
  }
  return false;
}

Tensor Einsum(Lowering& to, std::string_view equation, TensorList tensors, std::optional<Ints>) {
  std::string compact;
  for (char c : equation)
    if (c != ' ') compact += c;
  if (compact.find(kEllipsis) != std::string::npos) compact = WithoutEllipses(to, compact, &tensors);
  // The runtime refuses capital letters where the output is left out.
  if (compact.find("->") == std::string::npos) compact += "->" + DefaultOutput(compact, "");
  if (std::ranges::all_of(tensors, [](const Tensor& tensor) { return !tensor.is_floating() && !tensor.is_complex(); }) &&
      SumsOneOperand(compact))
    for (Tensor& tensor : tensors) tensor = to.CastTo(tensor, DType::kInt64);
  // A product without a sum promotes its factors, those without dimensions like the others; one with a sum fails in PyTorch.
  if (tensors.size() > 1) {
    DType dtype = tensors[0].dtype();
    for (const Tensor& tensor : tensors) dtype = aten::PromoteTypes(dtype, tensor.dtype());
    for (Tensor& tensor : tensors) tensor = to.CastTo(tensor, dtype);
  }
  return to.Einsum(tensors, {.equation = WithOnesApart(to, compact, tensors)});
}

// Letters for the axes of a tensor.
std::string Letters(char first, int64_t count) {
  std::string letters;
  for (int64_t i = 0; i < count; ++i) letters += static_cast<char>(first + i);
  return letters;
}

constexpr Restriction kManyAxes = {"tensors of more than 20 dimensions",
                                   "torch.tensordot(torch.ones([1] * 21), torch.ones(1), ([0], [0]))",
                                   "ONNX's Einsum has a letter for each dimension"};

Tensor Tensordot(Lowering& to, Tensor self, Tensor other, Ints dims_self, Ints dims_other) {
  if (self.rank() > 20 || other.rank() > 20) return to.Unsupported(kManyAxes);
  if (dims_self.size() != dims_other.size()) throw onnx::BadOperand("contracts as many dimensions of one tensor as of the other");
  std::string a = Letters('a', self.rank()), b = Letters('A', other.rank()), kept;
  std::string contracted;
  for (size_t i = 0; i < dims_self.size(); ++i) {
    const auto in_self = static_cast<size_t>(to.Axis(dims_self[i], self)),
               in_other = static_cast<size_t>(to.Axis(dims_other[i], other));
    b[in_other] = a[in_self];
    contracted += a[in_self];
  }
  for (char c : a + b)
    if (contracted.find(c) == std::string::npos) kept += c;
  return to.Einsum({self, other}, {.equation = a + "," + b + "->" + kept});
}

Tensor Inner(Lowering& to, Tensor self, Tensor other) {
  if (self.rank() == 0 || other.rank() == 0) {
    const DType dtype = to.PromotedDtype({self, other});
    return to.Mul(to.CastTo(self, dtype), to.CastTo(other, dtype));
  }
  return Tensordot(to, self, other, {-1}, {-1});
}

Tensor Bilinear(Lowering& to, Tensor input1, Tensor input2, Tensor weight, std::optional<Tensor> bias) {
  const Tensor product = to.Einsum({input1, weight, input2}, {.equation = "...i,oij,...j->...o"});
  return bias ? to.Add(product, *bias) : product;
}

// The sum over `sumdim` of the product of all three, each with new axes of size 1 at its `expand`.
Tensor Trilinear(Lowering& to, Tensor i1, Tensor i2, Tensor i3, Ints expand1, Ints expand2, Ints expand3, Ints sumdim,
                 int64_t) {
  const int64_t rank = i1.rank() + static_cast<int64_t>(expand1.size());
  if (rank > 20) return to.Unsupported(kManyAxes);
  const std::string letters = Letters('a', rank);
  auto without = [&](std::string text, const Ints& axes) {
    for (const int64_t axis : axes) {
      if (axis < -rank || axis >= rank) throw onnx::BadOperand("has axes that its product lacks");
      std::erase(text, letters[static_cast<size_t>(axis < 0 ? axis + rank : axis)]);
    }
    return text;
  };
  const std::string terms = without(letters, expand1) + "," + without(letters, expand2) + "," + without(letters, expand3);
  const std::string kept = without(letters, sumdim);
  if (kept.find_first_not_of(terms) != kept.npos) throw onnx::BadOperand("keeps axes that no factor has");
  return to.Einsum({i1, i2, i3}, {.equation = terms + "->" + kept});
}

Tensor Kron(Lowering& to, Tensor self, Tensor other) {
  const DType dtype = to.PromotedDtype({self, other});
  const int64_t rank = std::max(self.rank(), other.rank());
  Dims own, others, result;
  for (int64_t i = 0; i < rank; ++i) {
    auto size = [&](const Tensor& tensor) {
      const int64_t axis = i - (rank - tensor.rank());
      return axis < 0 ? to.Of(1) : tensor.size(axis);
    };
    own.insert(own.end(), {size(self), to.Of(1)});
    others.insert(others.end(), {to.Of(1), size(other)});
    result.push_back(to.Times(size(self), size(other)));
  }
  const Tensor product =
      to.Mul(to.ReshapeTo(to.CastTo(self, dtype), own), to.ReshapeTo(to.CastTo(other, dtype), others));
  return to.ReshapeTo(product, result);
}

// a₁b₂ - a₂b₁, …: the axis rolled by one and by two.
Tensor LinalgCross(Lowering& to, Tensor self, Tensor other, int64_t dim) {
  const int64_t axis = to.Axis(dim, self);
  for (const Tensor& tensor : {self, other})
    if (to.AsConstant(tensor.size(axis)).value_or(3) != 3) throw onnx::BadOperand("takes vectors of three elements");
  auto rolled = [&](Tensor tensor, bool once) {
    return to.Gather(tensor, once ? to.ConstantInts({1, 2, 0}) : to.ConstantInts({2, 0, 1}), {.axis = axis});
  };
  return to.Sub(to.Mul(rolled(self, true), rolled(other, false)), to.Mul(rolled(self, false), rolled(other, true)));
}

Tensor Cross(Lowering& to, Tensor self, Tensor other, std::optional<int64_t> dim) {
  if (dim) return LinalgCross(to, self, other, *dim);
  // The first axis of three elements; or the only one that can have them.
  Ints open;
  for (int64_t axis = 0; axis < self.rank(); ++axis) {
    const auto size = to.AsConstant(self.size(axis));
    if (!size) open.push_back(axis);
    if (size != 3) continue;
    if (!open.empty())
      to.sink().Warning(DiagnosticKind::kFrozenDimension,
                        "a cross product without 'dim' is along the first axis of three elements: the model assumes that no dynamic size "
                        "before that axis is 3");
    return LinalgCross(to, self, other, axis);
  }
  if (open.size() == 1) return LinalgCross(to, self, other, open[0]);
  to.Report(DiagnosticKind::kMissingInformation, "which axis has three elements is not known: pass 'dim'");
  return to.Poison(self.type());
}

// --- distances ----------------------------------------------------------------------

Tensor DistanceNorm(Lowering& to, Tensor differences, const Scalar& p) {
  const Tensor norm = VectorNorm(to, differences, p, Ints{-1}, false, std::nullopt);
  const bool may_be_greatest = !p.is_constant() || std::isinf(p.AsDouble());
  if (!may_be_greatest || differences.rank() == 0 || !onnx::MayBeZero(to.exprs(), differences.sizes().back().expr)) return norm;
  return to.Max(Tensors{norm, to.NumberOf(0, norm.dtype())});  // the greatest difference of rows without elements
}

Tensor Cdist(Lowering& to, Tensor x1, Tensor x2, Scalar p, std::optional<int64_t>) {
  return DistanceNorm(to, to.Sub(to.UnsqueezeAt(x1, {-2}), to.UnsqueezeAt(x2, {-3})), p);
}

Tensor EuclideanDist(Lowering& to, Tensor x1, Tensor x2) { return Cdist(to, x1, x2, 2, std::nullopt); }

// Of each pair of rows i < j.
Tensor Pdist(Lowering& to, Tensor self, Scalar p) {
  auto range = [&] { return to.Range(to.ConstantInt(0), to.Number(self.size(0)), to.ConstantInt(1)); };
  const Tensor pairs = to.NonZero(to.Less(to.UnsqueezeAt(range(), {1}), range()));
  auto rows = [&](int64_t end) { return to.Gather(self, to.GatherIndex(pairs, 0, to.Of(end))); };
  return DistanceNorm(to, to.Sub(rows(0), rows(1)), p);
}

// --- mixtures of experts --------------------------------------------------------------

constexpr Restriction kGroupedForm = {"_grouped_mm of a number of groups that is known at run time only",
                                      "torch._grouped_mm(a_2d, b_3d_of_dynamic_size, offs=offs)"};

// A tensor along an axis in consecutive groups; `offs` are their ends.
struct Groups {
  std::vector<Tensor> tensors;  // and what is behind the last end
  Tensor rest;                  // [1]: how long that is
};
Groups SplitAt(Lowering& to, Tensor tensor, int64_t axis, Tensor offs, int64_t count) {
  const Tensor ends = to.CastTo(offs, DType::kInt64);
  const Tensor all = to.Concat({to.ConstantInts({0}), ends, to.Number1(tensor.size(axis))}, {.axis = 0});
  const Tensor sizes = to.Sub(to.SliceAxis(all, 0, to.Of(1), to.Of(count + 2)), to.SliceAxis(all, 0, to.Of(0), to.Of(count + 1)));
  return {to.Split(tensor, sizes, {.axis = axis}, static_cast<size_t>(count + 1)), to.SliceAxis(sizes, 0, to.Of(count), to.Of(count + 1))};
}

// Groups of rows, each times its own matrix; of columns, each of its own; or of both, which are summed over: a matrix for each.
// Rows and columns behind the last end give zeros.
Tensor GroupedMmFallback(Lowering& to, Tensor input, Tensor weight, Tensor offs) {
  const bool sums = input.rank() == 2 && weight.rank() == 2, rows = weight.rank() == 3;
  const auto count = to.AsConstant(sums ? offs.size(0) : rows ? weight.size(0) : input.size(0));
  if (!count || *count == 0) return to.Unsupported(kGroupedForm);
  const auto matrices = [&](Tensor tensor) { return to.SplitSizes(tensor, 0, Dims(static_cast<size_t>(*count), to.Of(1))); };
  const Groups cut = rows ? SplitAt(to, input, 0, offs, *count) : SplitAt(to, weight, sums ? 0 : 1, offs, *count);
  const std::vector<Tensor> others = sums ? SplitAt(to, input, 1, offs, *count).tensors : matrices(rows ? weight : input);
  std::vector<Tensor> products;
  for (size_t i = 0; i < static_cast<size_t>(*count); ++i) {
    const Tensor product = rows ? to.MatMul(cut.tensors[i], others[i]) : to.MatMul(others[i], cut.tensors[i]);
    products.push_back(sums ? to.UnsqueezeAt(product, {0}) : product);
  }
  if (sums) return to.Concat(products, {.axis = 0});
  const Tensor whole = to.Number1(rows ? weight.size(-1) : input.size(1)), one = to.ConstantInts({1});
  const Tensor rest = to.Concat(rows ? std::vector{one, cut.rest, whole} : std::vector{one, whole, cut.rest}, {.axis = 0});
  products.push_back(to.Expand(to.NumberOf(0.0, input.dtype()), rest));
  return to.SqueezeAt(to.Concat(products, {.axis = rows ? 1 : 2}), {0});
}

Tensor GroupedMm(Lowering& to, Tensor self, Tensor mat2, std::optional<Tensor> offs, std::optional<Tensor> bias,
                 std::optional<DType> out_dtype) {
  Tensor product = offs ? GroupedMmFallback(to, self, mat2, *offs) : to.MatMul(self, mat2);
  if (!product) return product;  // which was reported
  if (bias) product = to.Add(product, *bias);
  return to.CastTo(product, out_dtype.value_or(self.dtype()));
}

constexpr OpRow kRows[] = {
    Op<AddmmActivation>("aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar "
                        "alpha=1, bool use_gelu=False) -> Tensor"),
    Op<Cdist>("aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor"),
    Op<EuclideanDist>("aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor"),
    Op<GroupedMm>("aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? "
                  "out_dtype=None) -> Tensor",
                  &kGroupedForm),
    Op<IntMm>("aten::_int_mm(Tensor self, Tensor mat2) -> Tensor"),
    Op<Pdist>("aten::_pdist_forward(Tensor self, float p=2.) -> Tensor"),
    Op<Trilinear>("aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] "
                  "sumdim, int unroll_dim=1) -> Tensor",
                  &kManyAxes),
    Op<Addbmm>("aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    Op<Addmm>("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    Op<Baddbmm>("aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    Op<Addr>("aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    Op<Baddbmm>("aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"),
    Op<Bilinear>("aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor"),
    Op<Matmul>("aten::bmm(Tensor self, Tensor mat2) -> Tensor"),
    Op<Cdist>("aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor"),
    Op<MultiDot>("aten::chain_matmul(Tensor[] matrices) -> Tensor"),
    Op<Cross>("aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor"),
    Op<Matmul>("aten::dot(Tensor self, Tensor tensor) -> Tensor"),
    Op<Einsum>("aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor"),
    Op<Outer>("aten::ger(Tensor self, Tensor vec2) -> Tensor"),
    Op<Inner>("aten::inner(Tensor self, Tensor other) -> Tensor"),
    Op<Kron>("aten::kron(Tensor self, Tensor other) -> Tensor"),
    Op<LinalgCross>("aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor"),
    Op<Matmul>("aten::linalg_matmul(Tensor self, Tensor other) -> Tensor"),
    Op<MultiDot>("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor"),
    Op<Vecdot>("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor"),
    Op<Linear>("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"),
    Op<Matmul>("aten::matmul(Tensor self, Tensor other) -> Tensor"),
    Op<Matmul>("aten::mm(Tensor self, Tensor mat2) -> Tensor"),
    Op<Matmul>("aten::mv(Tensor self, Tensor vec) -> Tensor"),
    Op<Outer>("aten::outer(Tensor self, Tensor vec2) -> Tensor"),
    Op<Pdist>("aten::pdist(Tensor self, float p=2.) -> Tensor"),
    Op<Tensordot>("aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
                  &kManyAxes),
    Op<Vdot>("aten::vdot(Tensor self, Tensor other) -> Tensor"),
    Op<GroupedMmFallback>("transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor",
                          &kGroupedForm),
};

}  // namespace

std::span<const OpRow> LinearAlgebra() { return kRows; }

}  // namespace flambeau::lower
