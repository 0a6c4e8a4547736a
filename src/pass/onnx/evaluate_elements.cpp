#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "onnx/infer/sizes.h"
#include "pass/onnx/evaluate.h"
#include "support/numeric.h"

namespace flambeau {
namespace {

// A tensor of few elements, in memory.
struct Elements {
  DType dtype = DType::kNone;
  Ints sizes;
  std::vector<std::byte> bytes;

  size_t width() const { return static_cast<size_t>(ByteSize(dtype)); }
  size_t count() const { return bytes.size() / width(); }
  const std::byte* at(size_t i) const { return bytes.data() + i * width(); }
  std::byte* at(size_t i) { return bytes.data() + i * width(); }
};
using Operands = std::vector<Elements>;

bool IsReal(DType dtype) {
  const DTypeCategory category = Info(dtype).category;
  return ByteSize(dtype) > 0 && category != DTypeCategory::kComplex && category != DTypeCategory::kString;
}

std::optional<Elements> Make(DType dtype, Ints sizes, uint64_t limit) {
  uint64_t count = 1;
  for (const int64_t size : sizes)
    if (size < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(size), &count)) return std::nullopt;
  const auto width = static_cast<uint64_t>(ByteSize(dtype));
  if (width == 0 || count > limit / width) return std::nullopt;
  return Elements{dtype, std::move(sizes), std::vector<std::byte>(count * width)};
}

std::optional<Ints> Broadcast(std::span<const Elements> operands) {
  Ints sizes;
  for (const Elements& operand : operands) sizes.resize(std::max(sizes.size(), operand.sizes.size()), 1);
  for (const Elements& operand : operands) {
    const size_t leading = sizes.size() - operand.sizes.size();
    for (size_t i = 0; i < operand.sizes.size(); ++i) {
      int64_t& size = sizes[leading + i];
      if (operand.sizes[i] == 1 || operand.sizes[i] == size) continue;
      if (size != 1) return std::nullopt;
      size = operand.sizes[i];
    }
  }
  return sizes;
}

// Calls f(index of the result, indices of the operands) for each element of `sizes`.
template <size_t kCount, class F>
void ForEachElement(const Ints& sizes, std::span<const Elements> operands, F f) {
  std::vector<std::array<size_t, kCount>> strides(sizes.size());
  for (size_t o = 0; o < kCount; ++o) {
    const Ints& own = operands[o].sizes;
    const Ints row_major = onnx::RowMajorStrides(own);
    for (size_t i = 0; i < own.size(); ++i)
      strides[sizes.size() - own.size() + i][o] = own[i] == 1 ? 0 : static_cast<size_t>(row_major[i]);
  }
  size_t total = 1;
  for (const int64_t size : sizes) total *= static_cast<size_t>(size);
  Ints index(sizes.size());
  std::array<size_t, kCount> at = {};
  for (size_t i = 0; i < total; ++i) {
    f(i, at);
    for (size_t d = sizes.size(); d-- > 0;) {
      for (size_t o = 0; o < kCount; ++o) at[o] += strides[d][o];
      if (++index[d] < sizes[d]) break;
      for (size_t o = 0; o < kCount; ++o) at[o] -= strides[d][o] * static_cast<size_t>(sizes[d]);
      index[d] = 0;
    }
  }
}

// --- elementwise ------------------------------------------------------------------

// Either function may be missing. Floats are computed in double and rounded
// once, which for + - * / and square roots is what a narrower type gives.
struct UnaryRow {
  std::string_view op;
  double (*of_float)(double);
  int64_t (*of_int)(int64_t);
};
constexpr UnaryRow kUnary[] = {
    {"Abs", [](double x) { return std::fabs(x); },
     [](int64_t x) { return x < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x; }},
    {"Ceil", [](double x) { return std::ceil(x); }, nullptr},
    {"Cos", [](double x) { return std::cos(x); }, nullptr},
    {"Exp", [](double x) { return std::exp(x); }, nullptr},
    {"Floor", [](double x) { return std::floor(x); }, nullptr},
    {"Log", [](double x) { return std::log(x); }, nullptr},
    {"Neg", [](double x) { return -x; }, [](int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); }},
    {"Not", nullptr, [](int64_t x) { return int64_t{x == 0}; }},
    {"Reciprocal", [](double x) { return 1 / x; }, nullptr},
    {"Round", [](double x) { return std::nearbyint(x); }, nullptr},
    {"Sin", [](double x) { return std::sin(x); }, nullptr},
    {"Sqrt", [](double x) { return std::sqrt(x); }, nullptr},
};

struct BinaryRow {
  std::string_view op;
  double (*of_float)(double, double);
  int64_t (*of_int)(int64_t, int64_t);
  bool gives_bool = false;
};
// Integers wrap.
constexpr auto Wrap = [](uint64_t x) { return static_cast<int64_t>(x); };
constexpr BinaryRow kBinary[] = {
    {"Add", [](double a, double b) { return a + b; },
     [](int64_t a, int64_t b) { return Wrap(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }},
    {"And", nullptr, [](int64_t a, int64_t b) { return int64_t{a != 0 && b != 0}; }, true},
    {"Div", [](double a, double b) { return a / b; }, [](int64_t a, int64_t b) { return a / b; }},
    {"Equal", [](double a, double b) { return static_cast<double>(a == b); },
     [](int64_t a, int64_t b) { return int64_t{a == b}; }, true},
    {"Greater", [](double a, double b) { return static_cast<double>(a > b); },
     [](int64_t a, int64_t b) { return int64_t{a > b}; }, true},
    {"GreaterOrEqual", [](double a, double b) { return static_cast<double>(a >= b); },
     [](int64_t a, int64_t b) { return int64_t{a >= b}; }, true},
    {"Less", [](double a, double b) { return static_cast<double>(a < b); },
     [](int64_t a, int64_t b) { return int64_t{a < b}; }, true},
    {"LessOrEqual", [](double a, double b) { return static_cast<double>(a <= b); },
     [](int64_t a, int64_t b) { return int64_t{a <= b}; }, true},
    {"Max", [](double a, double b) { return std::isnan(a) || a > b ? a : b; },
     [](int64_t a, int64_t b) { return std::max(a, b); }},
    {"Min", [](double a, double b) { return std::isnan(a) || a < b ? a : b; },
     [](int64_t a, int64_t b) { return std::min(a, b); }},
    {"Mod", [](double a, double b) { return std::fmod(a, b); },
     [](int64_t a, int64_t b) {
       const int64_t rest = a % b;
       return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
     }},
    {"Mul", [](double a, double b) { return a * b; },
     [](int64_t a, int64_t b) { return Wrap(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }},
    {"Or", nullptr, [](int64_t a, int64_t b) { return int64_t{a != 0 || b != 0}; }, true},
    {"Pow", [](double a, double b) { return std::pow(a, b); }, nullptr},
    {"Sub", [](double a, double b) { return a - b; },
     [](int64_t a, int64_t b) { return Wrap(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }},
    {"Xor", nullptr, [](int64_t a, int64_t b) { return int64_t{(a != 0) != (b != 0)}; }, true},
};

std::optional<Elements> Unary(const UnaryRow& row, const Operands& operands, uint64_t limit) {
  const Elements& x = operands[0];
  const bool floating = IsFloating(x.dtype);
  if (!IsReal(x.dtype) || (floating ? row.of_float == nullptr : row.of_int == nullptr)) return std::nullopt;
  auto result = Make(x.dtype, x.sizes, limit);
  for (size_t i = 0; result && i < x.count(); ++i) {
    if (floating) {
      StoreDouble(x.dtype, row.of_float(LoadDouble(x.dtype, x.at(i))), result->at(i));
    } else {
      StoreInt(x.dtype, row.of_int(LoadInt(x.dtype, x.at(i))), result->at(i));
    }
  }
  return result;
}

// What integer division can't do.
bool HasBadDivisor(const Elements& divisor) {
  for (size_t i = 0; i < divisor.count(); ++i)
    if (const int64_t value = LoadInt(divisor.dtype, divisor.at(i)); value == 0 || value == -1) return true;
  return false;
}

std::optional<Elements> Binary(const Editor& editor, NodeId node, const BinaryRow& row, const Operands& operands,
                               uint64_t limit) {
  if (operands.size() != 2) return std::nullopt;
  const Elements &a = operands[0], &b = operands[1];
  const bool floating = IsFloating(a.dtype);
  // As signed numbers, the large ones of uint64 are negative.
  if (a.dtype != b.dtype || !IsReal(a.dtype) || a.dtype == DType::kUint64) return std::nullopt;
  if (floating ? row.of_float == nullptr : row.of_int == nullptr) return std::nullopt;
  if (row.op == "Mod" && floating != (editor.Int(node, "fmod", 0) != 0)) return std::nullopt;
  if (!floating && (row.op == "Div" || row.op == "Mod") && HasBadDivisor(b)) return std::nullopt;
  const auto sizes = Broadcast(operands);
  if (!sizes) return std::nullopt;
  const DType dtype = row.gives_bool ? DType::kBool : a.dtype;
  auto result = Make(dtype, *sizes, limit);
  if (!result) return std::nullopt;
  ForEachElement<2>(*sizes, operands, [&](size_t i, const std::array<size_t, 2>& at) {
    if (floating) {
      StoreDouble(dtype, row.of_float(LoadDouble(a.dtype, a.at(at[0])), LoadDouble(b.dtype, b.at(at[1]))),
                  result->at(i));
    } else {
      StoreInt(dtype, row.of_int(LoadInt(a.dtype, a.at(at[0])), LoadInt(b.dtype, b.at(at[1]))), result->at(i));
    }
  });
  return result;
}

// --- others -------------------------------------------------------------------------

std::optional<Elements> Cast(const Editor& editor, NodeId node, const Operands& operands, uint64_t limit) {
  const auto to = DTypeFromOnnxCode(editor.Int(node, "to", 0));
  const Elements& x = operands[0];
  // Runtimes differ in what becomes of floats beyond float8's range.
  if (!to || !IsReal(*to) || !IsReal(x.dtype) || (IsFloating(*to) && ByteSize(*to) == 1)) return std::nullopt;
  auto result = Make(*to, x.sizes, limit);
  for (size_t i = 0; result && i < x.count(); ++i) {
    if (!IsFloating(x.dtype) && !(x.dtype == DType::kUint64 && IsFloating(*to))) {
      StoreInt(*to, LoadInt(x.dtype, x.at(i)), result->at(i));
      continue;
    }
    const double value = LoadDouble(x.dtype, x.at(i));
    if (IsInteger(*to) && !(std::fabs(value) < 9223372036854775808.0)) return std::nullopt;
    StoreDouble(*to, value, result->at(i));
  }
  return result;
}

std::optional<Elements> Where(const Editor&, NodeId, const Operands& operands, uint64_t limit) {
  const Elements &condition = operands[0], &then = operands[1], &otherwise = operands[2];
  const auto sizes = Broadcast(operands);
  if (!sizes || then.dtype != otherwise.dtype || condition.dtype != DType::kBool) return std::nullopt;
  auto result = Make(then.dtype, *sizes, limit);
  if (!result) return std::nullopt;
  ForEachElement<3>(*sizes, operands, [&](size_t i, const std::array<size_t, 3>& at) {
    const bool holds = LoadInt(DType::kBool, condition.at(at[0])) != 0;
    std::memcpy(result->at(i), holds ? then.at(at[1]) : otherwise.at(at[2]), then.width());
  });
  return result;
}

// Bytes before, along and behind an axis.
struct AxisBytes {
  size_t outer = 1, along = 1, inner = 1;
};
AxisBytes SplitAt(const Elements& x, size_t axis) {
  AxisBytes parts{1, static_cast<size_t>(x.sizes[axis]), x.width()};
  for (size_t i = 0; i < axis; ++i) parts.outer *= static_cast<size_t>(x.sizes[i]);
  for (size_t i = axis + 1; i < x.sizes.size(); ++i) parts.inner *= static_cast<size_t>(x.sizes[i]);
  return parts;
}

std::optional<Elements> Gather(const Editor& editor, NodeId node, const Operands& operands, uint64_t limit) {
  const Elements &x = operands[0], &indices = operands[1];
  const auto axis = onnx::NormalizeAxis(editor.Int(node, "axis", 0), x.sizes.size());
  if (!axis) return std::nullopt;
  Ints sizes(x.sizes.begin(), x.sizes.begin() + static_cast<ptrdiff_t>(*axis));
  sizes.insert(sizes.end(), indices.sizes.begin(), indices.sizes.end());
  sizes.insert(sizes.end(), x.sizes.begin() + static_cast<ptrdiff_t>(*axis) + 1, x.sizes.end());
  auto result = Make(x.dtype, std::move(sizes), limit);
  if (!result) return std::nullopt;
  const AxisBytes parts = SplitAt(x, *axis);
  std::byte* to = result->bytes.data();
  for (size_t outer = 0; outer < parts.outer; ++outer)
    for (size_t i = 0; i < indices.count(); ++i, to += parts.inner) {
      int64_t index = LoadInt(indices.dtype, indices.at(i));
      if (index < 0) index += x.sizes[*axis];
      if (index < 0 || index >= x.sizes[*axis]) return std::nullopt;
      std::memcpy(to, x.bytes.data() + (outer * parts.along + static_cast<size_t>(index)) * parts.inner, parts.inner);
    }
  return result;
}

std::optional<Elements> GatherElements(const Editor& editor, NodeId node, const Operands& operands, uint64_t limit) {
  const Elements &x = operands[0], &indices = operands[1];
  const auto axis = onnx::NormalizeAxis(editor.Int(node, "axis", 0), x.sizes.size());
  if (!axis || indices.sizes.size() != x.sizes.size()) return std::nullopt;
  for (size_t i = 0; i < x.sizes.size(); ++i)
    if (i != *axis && indices.sizes[i] > x.sizes[i]) return std::nullopt;
  auto result = Make(x.dtype, indices.sizes, limit);
  if (!result) return std::nullopt;
  const Ints strides = onnx::RowMajorStrides(x.sizes), own = onnx::RowMajorStrides(indices.sizes);
  for (size_t i = 0; i < indices.count(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < x.sizes.size(); ++d) {
      int64_t index = static_cast<int64_t>(i) / own[d] % indices.sizes[d];
      if (d == *axis) {
        index = LoadInt(indices.dtype, indices.at(i));
        if (index < 0) index += x.sizes[d];
        if (index < 0 || index >= x.sizes[d]) return std::nullopt;
      }
      at += index * strides[d];
    }
    std::memcpy(result->at(i), x.at(static_cast<size_t>(at)), x.width());
  }
  return result;
}

std::optional<Elements> GatherNd(const Editor& editor, NodeId node, const Operands& operands, uint64_t limit) {
  const Elements &x = operands[0], &indices = operands[1];
  if (editor.Int(node, "batch_dims", 0) != 0 || indices.sizes.empty()) return std::nullopt;
  const auto depth = static_cast<size_t>(indices.sizes.back());
  if (depth == 0 || depth > x.sizes.size()) return std::nullopt;
  Ints sizes(indices.sizes.begin(), indices.sizes.end() - 1);
  sizes.insert(sizes.end(), x.sizes.begin() + static_cast<ptrdiff_t>(depth), x.sizes.end());
  auto result = Make(x.dtype, std::move(sizes), limit);
  if (!result || result->bytes.empty()) return result;
  const Ints strides = onnx::RowMajorStrides(x.sizes);
  const size_t run = static_cast<size_t>(strides[depth - 1]) * x.width();
  std::byte* to = result->bytes.data();
  for (size_t i = 0; i < indices.count(); i += depth, to += run) {
    int64_t at = 0;
    for (size_t d = 0; d < depth; ++d) {
      int64_t index = LoadInt(indices.dtype, indices.at(i + d));
      if (index < 0) index += x.sizes[d];
      if (index < 0 || index >= x.sizes[d]) return std::nullopt;
      at += index * strides[d];
    }
    std::memcpy(to, x.at(static_cast<size_t>(at)), run);
  }
  return result;
}

// Of integers: in which order floats are added is the runtime's.
std::optional<Elements> CumSum(const Editor& editor, NodeId node, const Operands& operands, uint64_t limit) {
  const Elements &x = operands[0], &axis_operand = operands[1];
  if (!IsInteger(x.dtype) || axis_operand.count() != 1) return std::nullopt;
  const auto axis = onnx::NormalizeAxis(LoadInt(axis_operand.dtype, axis_operand.at(0)), x.sizes.size());
  if (!axis || editor.Int(node, "exclusive", 0) != 0 || editor.Int(node, "reverse", 0) != 0) return std::nullopt;
  auto result = Make(x.dtype, x.sizes, limit);
  if (!result) return std::nullopt;
  const auto stride = static_cast<size_t>(onnx::RowMajorStrides(x.sizes)[*axis]);
  for (size_t i = 0; i < x.count(); ++i) {
    const bool first = i / stride % static_cast<size_t>(x.sizes[*axis]) == 0;
    const int64_t before = first ? 0 : LoadInt(x.dtype, result->at(i - stride));
    StoreInt(x.dtype, Wrap(static_cast<uint64_t>(before) + static_cast<uint64_t>(LoadInt(x.dtype, x.at(i)))),
             result->at(i));
  }
  return result;
}

std::optional<Elements> Concat(const Editor& editor, NodeId node, const Operands& operands, uint64_t limit) {
  const Elements& first = operands[0];
  const auto axis = onnx::NormalizeAxis(editor.Int(node, "axis", 0), first.sizes.size());
  if (!axis) return std::nullopt;
  Ints sizes = first.sizes;
  sizes[*axis] = 0;
  for (const Elements& each : operands) {
    if (each.dtype != first.dtype || each.sizes.size() != sizes.size()) return std::nullopt;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (i != *axis && each.sizes[i] != sizes[i]) return std::nullopt;
    sizes[*axis] += each.sizes[*axis];
  }
  auto result = Make(first.dtype, sizes, limit);
  if (!result || result->bytes.empty()) return result;
  std::byte* to = result->bytes.data();
  const size_t outer_count = SplitAt(first, *axis).outer;
  for (size_t outer = 0; outer < outer_count; ++outer)
    for (const Elements& each : operands) {
      const size_t run = each.bytes.size() / outer_count;
      if (run > 0) std::memcpy(to, each.bytes.data() + outer * run, run);
      to += run;
    }
  return result;
}

// Of integers: how floats accumulate is the runtime's.
std::optional<Elements> Range(const Editor&, NodeId, const Operands& operands, uint64_t limit) {
  if (operands.size() != 3 || !IsInteger(operands[0].dtype) || operands[0].dtype == DType::kUint64) return std::nullopt;
  int64_t bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (operands[i].count() != 1) return std::nullopt;
    bounds[i] = LoadInt(operands[i].dtype, operands[i].at(0));
  }
  const auto [start, end, step] = bounds;
  int64_t distance;
  if (step == 0 || __builtin_sub_overflow(end, start, &distance) || distance == INT64_MIN) return std::nullopt;
  const bool empty = (distance > 0) != (step > 0) || distance == 0;
  const int64_t count = empty ? 0 : distance / step + (distance % step != 0);
  auto result = Make(operands[0].dtype, {count}, limit);
  for (int64_t i = 0; result && i < count; ++i)
    StoreInt(result->dtype, start + i * step, result->at(static_cast<size_t>(i)));
  return result;
}

std::optional<Elements> ConstantOfShape(const Editor& editor, NodeId node, const Operands& operands, uint64_t limit) {
  Ints sizes;
  for (size_t i = 0; i < operands[0].count(); ++i) sizes.push_back(LoadInt(operands[0].dtype, operands[0].at(i)));
  const Attribute* value = editor.graph().FindAttribute(node, "value");
  const auto* id = value != nullptr ? std::get_if<DataId>(value) : nullptr;
  std::vector<std::byte> element(4);
  DType dtype = DType::kFloat32;
  if (id != nullptr) {
    const TensorData& data = editor.context()[*id];
    const auto bytes = data.element_count() == 1 ? data.ReadAll(16) : std::nullopt;
    if (!bytes) return std::nullopt;
    dtype = data.dtype;
    element = *bytes;
  }
  auto result = Make(dtype, std::move(sizes), limit);
  for (size_t i = 0; result && i < result->count(); ++i) std::memcpy(result->at(i), element.data(), element.size());
  return result;
}

struct EvaluationRow {
  std::string_view op;
  size_t operands;  // at least
  std::optional<Elements> (*evaluate)(const Editor&, NodeId, const Operands&, uint64_t limit);
};
constexpr EvaluationRow kOthers[] = {
    {"Cast", 1, &Cast},
    {"Concat", 1, &Concat},
    {"ConstantOfShape", 1, &ConstantOfShape},
    {"CumSum", 2, &CumSum},
    {"GatherElements", 2, &GatherElements},
    {"GatherND", 2, &GatherNd},
    {"Gather", 2, &Gather},
    {"Range", 3, &Range},
    {"Where", 3, &Where},
};

template <class Rows>
auto Find(const Rows& rows, std::string_view op) -> decltype(&rows[0]) {
  const auto found = std::find_if(std::begin(rows), std::end(rows), [&](const auto& row) { return row.op == op; });
  return found == std::end(rows) ? nullptr : &*found;
}

}  // namespace

bool HasEvaluation(std::string_view op) { return Find(kUnary, op) || Find(kBinary, op) || Find(kOthers, op); }

std::optional<TensorData> EvaluateElements(const Editor& editor, NodeId node, uint64_t limit) {
  const Graph& graph = editor.graph();
  Operands operands;
  for (uint32_t i = 0; i < graph.operand_count(node); ++i) {
    const TensorData* data = editor.Data(graph.operand(node, i));
    if (data == nullptr || ByteSize(data->dtype) == 0) return std::nullopt;
    auto bytes = data->ReadAll(limit);
    if (!bytes) return std::nullopt;
    operands.push_back({data->dtype, data->sizes, *std::move(bytes)});
  }
  const std::string_view op = graph.op(node);
  std::optional<Elements> result;
  if (operands.empty()) return std::nullopt;
  if (const auto* unary = Find(kUnary, op)) {
    result = Unary(*unary, operands, limit);
  } else if (const auto* binary = Find(kBinary, op)) {
    result = Binary(editor, node, *binary, operands, limit);
  } else if (const auto* other = Find(kOthers, op); other != nullptr && operands.size() >= other->operands) {
    result = other->evaluate(editor, node, operands, limit);
  }
  if (!result) return std::nullopt;
  return TensorData{
      .source = MakeBufferSource(std::move(result->bytes)), .dtype = result->dtype, .sizes = std::move(result->sizes)};
}

}  // namespace flambeau
