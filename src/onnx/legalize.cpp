#include "onnx/legalize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "onnx/builder.h"

namespace flambeau::onnx {
namespace {

struct Request {
  std::string_view op;
  std::span<const Tensor> operands;
  const AttributeList& attributes;
  size_t results;

  const Attribute* Find(std::string_view name) const {
    for (const auto& [key, value] : attributes.items())
      if (key == name) return &value;
    return nullptr;
  }
  int64_t Int(std::string_view name, int64_t otherwise) const {
    const Attribute* found = Find(name);
    return found ? std::get<int64_t>(*found) : otherwise;
  }
  double Float(std::string_view name, double otherwise) const {
    const Attribute* found = Find(name);
    return found ? std::get<double>(*found) : otherwise;
  }
};
using Results = std::optional<std::vector<Tensor>>;

// Operand `index` as a list of ints; nullopt if it isn't a known constant.
std::optional<Ints> KnownInts(const Tensor& tensor, Builder& to) {
  if (!tensor || !tensor.type().contents) return std::nullopt;
  Ints values;
  for (Expr e : *tensor.type().contents) {
    const auto value = to.exprs().AsConstant(e);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

// The input at `index` was an attribute once.
Results InputToAttribute(Builder& to, const Request& request, size_t index, std::string_view name) {
  if (request.operands.size() <= index || !request.operands[index]) {
    std::vector<Tensor> operands(request.operands.begin(), request.operands.begin() + static_cast<ptrdiff_t>(std::min(index, request.operands.size())));
    if (operands.size() == request.operands.size()) return std::nullopt;
    return to.Emit(request.op, operands, request.attributes, request.results);
  }
  const auto values = KnownInts(request.operands[index], to);
  if (!values) {
    to.Report(DiagnosticKind::kUnsupportedOpset,
              std::string("ONNX's ") + std::string(request.op) + " takes '" + std::string(name) + "' only as a constant at opset " + std::to_string(to.opset()),
              "use a newer opset");
    return std::vector<Tensor>(request.results, to.Poison(request.operands[0].type()));
  }
  AttributeList attributes = request.attributes;
  attributes.Add(name, *values);
  const std::vector<Tensor> operands(request.operands.begin(), request.operands.begin() + static_cast<ptrdiff_t>(index));
  return to.Emit(request.op, operands, attributes, request.results);
}

Results AxesToAttribute(Builder& to, const Request& request) { return InputToAttribute(to, request, 1, "axes"); }
Results SplitToAttribute(Builder& to, const Request& request) { return InputToAttribute(to, request, 1, "split"); }

// gelu(x) = x/2 · (1 + erf(x/√2)), or with tanh.
Results DecomposeGelu(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const Attribute* approximate = request.Find("approximate");
  auto constant = [&](double value) { return to.ConstantOf(value, x.dtype()); };
  Tensor inner;
  if (approximate && std::get<std::string>(*approximate) == "tanh") {
    const Tensor cube = to.Mul(x, to.Mul(x, x));
    inner = to.Tanh(to.Mul(to.Add(x, to.Mul(cube, constant(0.044715))), constant(std::sqrt(2 / M_PI))));
  } else {
    inner = to.Erf(to.Div(x, constant(std::sqrt(2.0))));
  }
  return {{to.Mul(to.Mul(x, to.Add(inner, constant(1))), constant(0.5))}};
}

Results DecomposeSwish(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const double alpha = request.Float("alpha", 1);
  return {{to.Mul(x, to.Sigmoid(alpha == 1 ? x : to.Mul(x, to.ConstantOf(alpha, x.dtype()))))}};
}

Results DecomposeHardSwish(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  return {{to.Mul(x, to.HardSigmoid(x, {.alpha = 1.0 / 6, .beta = 0.5}))}};
}

Results DecomposeMish(Builder& to, const Request& request) {
  return {{to.Mul(request.operands[0], to.Tanh(to.Softplus(request.operands[0])))}};
}

Results RenameGridSampleMode(Builder& to, const Request& request) {
  const Attribute* mode = request.Find("mode");
  if (!mode || std::get<std::string>(*mode) == "nearest" || std::get<std::string>(*mode).starts_with("bi")) return std::nullopt;
  AttributeList attributes;
  for (const auto& [name, value] : request.attributes.items())
    name == "mode" ? attributes.Add("mode", "bi" + std::get<std::string>(value)) : attributes.Add(name, value);
  return to.Emit("GridSample", request.operands, attributes, request.results);
}

Ints TrailingAxes(int64_t rank, int64_t axis) {
  Ints axes;
  for (int64_t i = axis < 0 ? axis + rank : axis; i < rank; ++i) axes.push_back(i);
  return axes;
}

// The dtype in which a normalisation computes.
DType StashDtype(const Request& request, DType dtype) {
  const bool narrow = dtype == DType::kFloat16 || dtype == DType::kBfloat16;
  return narrow && request.Int("stash_type", 1) == 1 ? DType::kFloat32 : dtype;
}

// (x - mean) / sqrt(variance + epsilon) · scale + bias over the trailing axes.
Results DecomposeLayerNormalization(Builder& to, const Request& request) {
  const DType dtype = request.operands[0].dtype();
  const Tensor x = to.CastTo(request.operands[0], StashDtype(request, dtype));
  const Tensor axes = to.ConstantInts(TrailingAxes(x.rank(), request.Int("axis", -1)));
  const Tensor centered = to.Sub(x, to.ReduceMean(x, axes));
  const Tensor variance = to.ReduceMean(to.Mul(centered, centered), axes);
  Tensor y = to.Div(centered, to.Sqrt(to.Add(variance, to.ConstantOf(request.Float("epsilon", 1e-5), x.dtype()))));
  y = to.Mul(to.CastTo(y, dtype), request.operands[1]);
  if (request.operands.size() > 2 && request.operands[2]) y = to.Add(y, request.operands[2]);
  return {{y}};
}

Results DecomposeRmsNormalization(Builder& to, const Request& request) {
  const DType dtype = request.operands[0].dtype();
  const Tensor x = to.CastTo(request.operands[0], StashDtype(request, dtype));
  const Tensor axes = to.ConstantInts(TrailingAxes(x.rank(), request.Int("axis", -1)));
  const Tensor mean = to.ReduceMean(to.Mul(x, x), axes);
  const Tensor y = to.Div(x, to.Sqrt(to.Add(mean, to.ConstantOf(request.Float("epsilon", 1e-5), x.dtype()))));
  return {{to.Mul(to.CastTo(y, dtype), request.operands[1])}};
}

// Until opset 21 GroupNormalization's scale and bias are one a group, not one a
// channel: groups are normalised as instances instead.
Results DecomposeGroupNormalization(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const int64_t groups = request.Int("num_groups", 1);
  Tensor y = to.Reshape(x, to.ConstantInts({0, groups, -1}));
  const Ints channels = TrailingAxes(x.rank() - 1, 1);
  const Tensor axis = to.ConstantInts({2});
  const DType dtype = StashDtype(request, x.dtype());
  y = to.CastTo(y, dtype);
  const Tensor centered = to.Sub(y, to.ReduceMean(y, axis));
  const Tensor variance = to.ReduceMean(to.Mul(centered, centered), axis);
  y = to.Div(centered, to.Sqrt(to.Add(variance, to.ConstantOf(request.Float("epsilon", 1e-5), dtype))));
  y = to.ReshapeTo(y, x.sizes());
  const Tensor scale = to.UnsqueezeAt(request.operands[1], channels), bias = to.UnsqueezeAt(request.operands[2], channels);
  y = to.Add(to.Mul(y, to.CastTo(scale, dtype)), to.CastTo(bias, dtype));
  return {{to.CastTo(y, x.dtype())}};
}

struct LegalizeRule {
  std::string_view op;
  int newest_form_since;  // the opset from which nothing needs to change
  Results (*apply)(Builder&, const Request&);
};

constexpr LegalizeRule kRules[] = {
    {"Gelu", 20, &DecomposeGelu},
    {"GridSample", 20, &RenameGridSampleMode},
    {"GroupNormalization", 21, &DecomposeGroupNormalization},
    {"HardSwish", 14, &DecomposeHardSwish},
    {"LayerNormalization", 17, &DecomposeLayerNormalization},
    {"Mish", 18, &DecomposeMish},
    {"RMSNormalization", 23, &DecomposeRmsNormalization},
    {"ReduceL1", 18, &AxesToAttribute},
    {"ReduceL2", 18, &AxesToAttribute},
    {"ReduceLogSum", 18, &AxesToAttribute},
    {"ReduceLogSumExp", 18, &AxesToAttribute},
    {"ReduceMax", 18, &AxesToAttribute},
    {"ReduceMean", 18, &AxesToAttribute},
    {"ReduceMin", 18, &AxesToAttribute},
    {"ReduceProd", 18, &AxesToAttribute},
    {"ReduceSum", 13, &AxesToAttribute},
    {"ReduceSumSquare", 18, &AxesToAttribute},
    {"Split", 13, &SplitToAttribute},
    {"Squeeze", 13, &AxesToAttribute},
    {"Swish", 24, &DecomposeSwish},
    {"Unsqueeze", 13, &AxesToAttribute},
};

}  // namespace

std::optional<std::vector<Tensor>> Legalize(Builder& to, std::string_view op, std::span<const Tensor> operands,
                                            const AttributeList& attributes, size_t results) {
  const auto* rule = std::lower_bound(std::begin(kRules), std::end(kRules), op,
                                      [](const LegalizeRule& r, std::string_view name) { return r.op < name; });
  if (rule == std::end(kRules) || rule->op != op || to.opset() >= rule->newest_form_since) return std::nullopt;
  return rule->apply(to, {op, operands, attributes, results});
}

}  // namespace flambeau::onnx
