// Which functions of Python and TorchScript are evaluated here: one table.
#include <algorithm>
#include <vector>

#include "script/builtins/builtins.h"
#include "support/static_index.h"

namespace flambeau::script {
namespace {

struct NumberRow {
  std::string_view kind, op;
};
// The rest of what TorchScript does with Python's numbers.
constexpr NumberRow kNumberRows[] = {
    {"aten::Float", "torch::sym_float"},
    {"aten::FloatImplicit", "torch::sym_float"},
    {"aten::Int", "torch::sym_int"},
    {"aten::IntImplicit", "torch::sym_int"},
    {"aten::ScalarImplicit", "_operator::pos"},
    {"aten::__and__", "_operator::and_"},
    {"aten::__lshift__", "_operator::lshift"},
    {"aten::__not__", "_operator::not_"},
    {"aten::__or__", "_operator::or_"},
    {"aten::__rshift__", "_operator::rshift"},
    {"aten::__xor__", "_operator::xor"},
    {"aten::abs", "_operator::abs"},
    {"aten::add", "_operator::add"},
    {"aten::ceil", "math::ceil"},
    {"aten::div", "_operator::truediv"},
    {"aten::eq", "_operator::eq"},
    {"aten::exp", "math::exp"},
    {"aten::floor", "math::floor"},
    {"aten::floordiv", "_operator::floordiv"},
    {"aten::ge", "_operator::ge"},
    {"aten::gt", "_operator::gt"},
    {"aten::le", "_operator::le"},
    {"aten::log", "math::log"},
    {"aten::lt", "_operator::lt"},
    {"aten::mul", "_operator::mul"},
    {"aten::ne", "_operator::ne"},
    {"aten::neg", "_operator::neg"},
    {"aten::pow", "_operator::pow"},
    {"aten::remainder", "_operator::mod"},
    {"aten::round", "builtins::round"},
    {"aten::sqrt", "math::sqrt"},
    {"aten::sub", "_operator::sub"},
    {"prim::abs", "_operator::abs"},
    {"prim::max", "script::max"},
    {"prim::min", "script::min"},
};

// Functions of numbers that only tensors have operators for.
constexpr TensorFunction kTensorFunctions[] = {
    {"aten::acos", "aten::acos", DType::kFloat64},
    {"aten::acosh", "aten::acosh", DType::kFloat64},
    {"aten::angle", "aten::angle", DType::kFloat64},
    {"aten::asin", "aten::asin", DType::kFloat64},
    {"aten::asinh", "aten::asinh", DType::kFloat64},
    {"aten::atan", "aten::atan", DType::kFloat64},
    {"aten::atan2", "aten::atan2", DType::kFloat64},
    {"aten::atanh", "aten::atanh", DType::kFloat64},
    {"aten::copysign", "aten::copysign.Tensor", DType::kFloat64},
    {"aten::cos", "aten::cos", DType::kFloat64},
    {"aten::cosh", "aten::cosh", DType::kFloat64},
    {"aten::degrees", "aten::rad2deg", DType::kFloat64},
    {"aten::erf", "aten::erf", DType::kFloat64},
    {"aten::erfc", "aten::erfc", DType::kFloat64},
    {"aten::expm1", "aten::expm1", DType::kFloat64},
    {"aten::fabs", "aten::abs", DType::kFloat64},
    {"aten::fmod", "aten::fmod.Tensor", DType::kFloat64},
    {"aten::gcd", "aten::gcd", DType::kInt64},
    {"aten::isfinite", "aten::isfinite", DType::kFloat64},
    {"aten::isinf", "aten::isinf", DType::kFloat64},
    {"aten::isnan", "aten::isnan", DType::kFloat64},
    {"aten::ldexp", "aten::ldexp.Tensor", DType::kFloat64},
    {"aten::lgamma", "aten::lgamma", DType::kFloat64},
    {"aten::log10", "aten::log10", DType::kFloat64},
    {"aten::log1p", "aten::log1p", DType::kFloat64},
    {"aten::radians", "aten::deg2rad", DType::kFloat64},
    {"aten::sin", "aten::sin", DType::kFloat64},
    {"aten::sinh", "aten::sinh", DType::kFloat64},
    {"aten::tan", "aten::tan", DType::kFloat64},
    {"aten::tanh", "aten::tanh", DType::kFloat64},
};
static_assert(std::ranges::is_sorted(kTensorFunctions, {}, &TensorFunction::kind));

}  // namespace

std::string_view NumberOperator(std::string_view kind) {
  static const auto* rows = new StaticIndex<std::string_view>(kNumberRows, &NumberRow::kind, &NumberRow::op);
  return rows->ValueOr(kind, {});
}

const TensorFunction* FindTensorFunction(std::string_view kind) {
  const auto* found = std::ranges::lower_bound(kTensorFunctions, kind, {}, &TensorFunction::kind);
  return found != std::end(kTensorFunctions) && found->kind == kind ? found : nullptr;
}

const BuiltinRow* FindBuiltinRow(std::string_view kind) {
  struct Table {
    std::span<const BuiltinRow> rows;
    uint8_t traits = 0;  // of all its rows
  };
  static const auto* index = [] {
    auto* rows = new std::vector<BuiltinRow>;
    for (const Table& table : {Table{ValueBuiltins(), kTakesOptionals}, Table{IdentityBuiltins(), kTakesOptionals}, Table{ContextBuiltins(), kTakesOptionals},
                               Table{InstanceBuiltins(), kTakesOptionals}, Table{ContainerBuiltins(), kTakesOptionals}, Table{TextBuiltins(), kReadsText},
                               Table{LetterBuiltins(), kReadsText}, Table{FormattingBuiltins()}, Table{NumberBuiltins()}, Table{RangeBuiltins()},
                               Table{SearchBuiltins()}, Table{TensorBuiltins()}, Table{JoiningBuiltins()}, Table{SplittingBuiltins()}, Table{ResizingBuiltins()}, Table{WriteBuiltins()}, Table{PlaceBuiltins()},
                               Table{DtypeBuiltins()}, Table{EinsumBuiltins()}, Table{TraceBuiltins()}, Table{QuantizedBuiltins()}, Table{QuantizedTensorBuiltins()},
                               Table{QuantizedRecurrentBuiltins()}, Table{QuantizedEmbeddingBuiltins()}, Table{QuantizedNumberBuiltins()},
                               Table{PrepackedBuiltins()}, Table{OneDnnBuiltins()}, Table{GeneratorBuiltins()}})
      for (BuiltinRow row : table.rows) {
        row.traits |= table.traits;
        rows->push_back(row);
      }
    auto* places = new StaticIndex<const BuiltinRow*>;
    for (const BuiltinRow& row : *rows) places->Add(row.kind, &row);
    return places;
  }();
  return index->ValueOr(kind, nullptr);
}

Builtin FindBuiltin(std::string_view kind) {
  const BuiltinRow* row = FindBuiltinRow(kind);
  return row != nullptr ? row->function : nullptr;
}

}  // namespace flambeau::script
