#include "aten/pure_form.h"

#include <algorithm>
#include <string>

#include "aten/declarations.h"
#include "support/static_index.h"

namespace flambeau::aten {
namespace {

// The overloads of an operator by its name without the overload.
std::span<const std::string_view> Overloads(std::string_view base) {
  static const auto* index = [] {
    auto* made = new StaticIndex<std::vector<std::string_view>>;
    for (const std::string_view text : TorchSchemaTexts()) {
      const std::string_view name = text.substr(0, text.find('('));
      (*made)[name.substr(0, name.find('.'))].push_back(name);
    }
    return made;
  }();
  const std::vector<std::string_view>* overloads = index->Find(base);
  if (overloads == nullptr) return {};
  return *overloads;
}

bool SameType(const SchemaType& a, const SchemaType& b) {
  return a.base == b.base && a.optional == b.optional && a.list == b.list;
}

bool IsFactoryArgument(const SchemaArgument& argument) {
  return argument.name == "dtype" || argument.name == "layout" || argument.name == "device" ||
         argument.name == "pin_memory" || argument.name == "memory_format";
}

// How the pure operator's arguments come from the impure one's. `dropped`
// (those of an out form) has no counterpart.
std::optional<PureForm> Match(const Schema& impure, const Schema& pure, bool out_form, uint32_t written) {
  PureForm form{&pure, {}, written};
  size_t used = 0;
  for (size_t i = 0; i < pure.arguments.size(); ++i) {
    const SchemaArgument& wanted = pure.arguments[i];
    const auto given = std::find_if(impure.arguments.begin(), impure.arguments.end(), [&](const SchemaArgument& a) {
      return a.name == wanted.name && SameType(a.type, wanted.type) && !(out_form && a.writes);
    });
    if (given != impure.arguments.end()) {
      form.arguments.push_back(static_cast<int>(given - impure.arguments.begin()));
      ++used;
    } else if (!out_form && i == 0 && SameType(wanted.type, impure.arguments[0].type)) {
      form.arguments.push_back(0);  // dropout_(self, …) and dropout(input, …)
      ++used;
    } else if (IsFactoryArgument(wanted) || wanted.type.base == BaseType::kGenerator || wanted.has_default) {
      form.arguments.push_back(wanted.name == "dtype" ? PureForm::kOutDtype : PureForm::kDefault);
    } else {
      return std::nullopt;
    }
  }
  size_t carried = impure.arguments.size();
  if (out_form)
    carried -= static_cast<size_t>(
        std::count_if(impure.arguments.begin(), impure.arguments.end(), [](const auto& a) { return a.writes; }));
  return used == carried ? std::optional(form) : std::nullopt;
}

// add_ -> add, __iand__ -> __and__, sum (an out form) -> sum.
std::string PureBase(std::string_view base, bool out_form) {
  std::string name(base);
  if (out_form) return name;
  constexpr std::string_view kDunder = "aten::__i";
  if (name.starts_with(kDunder)) return name.erase(kDunder.size() - 1, 1);
  if (name.ends_with('_') && !name.ends_with("__")) name.pop_back();
  return name;
}

constexpr std::string_view kFunctionalized = "functionalized";

// "Tensor(a!) x, Tensor(a!)[] ys" -> "Tensor x, Tensor[] ys"
std::string WithoutAliases(std::string_view arguments) {
  constexpr std::string_view kAnnotated = "Tensor(";
  std::string text;
  for (size_t at = 0; at < arguments.size();) {
    const size_t found = arguments.find(kAnnotated, at);
    const size_t close = found == arguments.npos ? found : arguments.find(')', found);
    const size_t end = close == arguments.npos ? arguments.size() : found + kAnnotated.size() - 1;
    text += arguments.substr(at, end - at);
    at = close == arguments.npos ? end : close + 1;
  }
  return text;
}

// The results that are no written argument come first, as torch's own auto_functionalized has it.
std::optional<PureForm> FunctionalizedForm(const Schema& impure, uint32_t written) {
  const size_t open = impure.text.find('('), arrow = impure.text.rfind("->");
  std::string text(impure.name);
  text += impure.name == impure.base ? "." : "__";
  text += kFunctionalized;
  text += WithoutAliases(impure.text.substr(open, arrow - open));
  text += "-> (";
  const auto fresh = std::ranges::count_if(impure.returns, [](const SchemaArgument& result) { return result.alias.empty(); });
  const auto writing = std::ranges::count_if(impure.arguments, [](const SchemaArgument& argument) { return argument.writes; });
  for (auto i = fresh + writing; i > 0; --i) text += i > 1 ? "Tensor, " : "Tensor";
  text += ')';
  Declarations* declared = DeclarationScope::Current();  // where the user's is
  if (declared == nullptr || !declared->Declare(text)) return std::nullopt;
  PureForm form{declared->Find(std::string_view(text).substr(0, text.find('('))), {}, written};
  for (size_t i = 0; i < impure.arguments.size(); ++i) form.arguments.push_back(static_cast<int>(i));
  return form;
}

}  // namespace

std::string_view WithoutFunctionalized(std::string_view op) {
  if (!op.ends_with(kFunctionalized)) return op;
  for (const std::string_view joint : {".", "__"}) {
    const size_t length = joint.size() + kFunctionalized.size();
    if (op.size() > length && op.substr(op.size() - length).starts_with(joint) && op.find('.') != op.npos)
      return op.substr(0, op.size() - length);
  }
  return op;
}

std::optional<PureForm> FindPureForm(const Schema& impure, std::string_view pure, uint32_t written) {
  if (!pure.empty()) {
    const Schema* schema = FindSchema(pure);
    if (schema == nullptr) return std::nullopt;
    PureForm form{schema, {}, written};
    for (const SchemaArgument& wanted : schema->arguments) {
      const SchemaArgument* given = impure.Find(wanted.name);
      form.arguments.push_back(given ? static_cast<int>(given - impure.arguments.data()) : PureForm::kDefault);
    }
    return form;
  }
  const bool out_form = std::all_of(impure.arguments.begin(), impure.arguments.end(),
                                    [](const SchemaArgument& a) { return !a.writes || a.keyword_only; });
  const std::string base = PureBase(impure.base, out_form);
  std::optional<PureForm> best;
  for (const std::string& candidate : {base, base + "_functional"}) {
    for (const std::string_view name : Overloads(candidate)) {
      const Schema* schema = FindSchema(name);
      if (schema == nullptr || schema->has_writes()) continue;
      auto form = Match(impure, *schema, out_form, written);
      // The fewest arguments that the impure operator lacks.
      if (form && (!best || form->arguments.size() < best->arguments.size())) best = std::move(form);
    }
    if (best) return best;
  }
  return IsDeclared(impure) ? FunctionalizedForm(impure, written) : std::nullopt;
}

ResultDtype ResultDtypeOf(const Schema& schema) {
  std::string_view base = schema.base;
  static constexpr std::string_view kBools[] = {
      "eq", "equal", "ge", "greater", "greater_equal", "gt", "le", "less", "less_equal", "logical_and",
      "logical_not", "logical_or", "logical_xor", "lt", "ne", "not_equal"};
  static constexpr std::string_view kPromoting[] = {
      "__and__", "__lshift__", "__or__", "__rshift__", "__xor__", "abs", "absolute", "acos", "acosh", "add",
      "addcdiv", "addcmul", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin",
      "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
      "bitwise_right_shift", "bitwise_xor", "ceil", "clamp", "clamp_max", "clamp_min", "clip", "copysign", "cos",
      "cosh", "deg2rad", "digamma", "div", "divide", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "fix",
      "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "frac", "gcd", "heaviside", "hypot", "i0",
      "igamma", "igammac", "lcm", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "logit", "maximum", "minimum",
      "mul", "multiply", "mvlgamma", "neg", "negative", "nextafter", "positive", "pow", "rad2deg", "reciprocal", "remainder", "round",
      "rsqrt", "sgn", "sigmoid", "sign", "sin", "sinc", "sinh", "special_bessel_j0", "special_digamma",
      "special_entr", "special_erf", "special_erfc", "special_erfcx", "special_erfinv", "special_exp2",
      "special_expit", "special_expm1", "special_gammaln", "special_i0", "special_i0e", "special_i1", "special_i1e",
      "special_log1p", "special_log_ndtr", "special_logit", "special_ndtr", "special_ndtri", "special_psi",
      "special_sinc", "sqrt", "square", "sub", "subtract", "tan", "tanh", "true_divide", "trunc", "xlogy"};
  static constexpr std::string_view kFloating[] = {
      "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "asin", "asinh",
      "atan", "atan2", "atanh", "copysign", "cos", "cosh", "deg2rad", "digamma", "div", "divide", "erf", "erfc",
      "erfinv", "exp", "exp2", "expm1", "i0", "ldexp", "lgamma", "log", "log10", "log1p", "log2", "logit",
      "mvlgamma", "rad2deg", "reciprocal", "rsqrt", "sigmoid", "sin", "sinc", "sinh", "special_bessel_j0",
      "special_digamma", "special_entr", "special_erf", "special_erfc", "special_erfcx", "special_erfinv",
      "special_exp2", "special_expit", "special_expm1", "special_gammaln", "special_i0", "special_i0e",
      "special_i1", "special_i1e", "special_log1p", "special_log_ndtr", "special_logit", "special_ndtr",
      "special_ndtri", "special_psi", "special_sinc", "sqrt", "tan", "tanh", "true_divide", "xlogy"};
  static_assert(std::ranges::is_sorted(kBools) && std::ranges::is_sorted(kPromoting) && std::ranges::is_sorted(kFloating));
  constexpr std::string_view kNamespace = "aten::";
  if (!base.starts_with(kNamespace)) return ResultDtype::kSame;
  base.remove_prefix(kNamespace.size());
  if (std::ranges::binary_search(kBools, base)) return ResultDtype::kBool;
  if (base == "float_power") return ResultDtype::kDouble;
  // A rounded quotient of integers is an integer.
  if (std::ranges::binary_search(kFloating, base) && schema.Find("rounding_mode") == nullptr) return ResultDtype::kFloat;
  if (std::ranges::binary_search(kPromoting, base)) return ResultDtype::kPromoted;
  return ResultDtype::kSame;
}

DType PromoteTypes(DType a, DType b) {
  if (a == b) return a;
  const DTypeCategory category_a = Info(a).category, category_b = Info(b).category;
  if (category_a != category_b) {
    const DType high = category_a > category_b ? a : b, low = category_a > category_b ? b : a;
    // A complex number that holds the float.
    if (!IsComplex(high) || !IsFloating(low)) return high;
    if (high == DType::kComplex128 || low == DType::kFloat64) return DType::kComplex128;
    return high == DType::kComplex64 || low == DType::kFloat32 ? DType::kComplex64 : high;
  }
  const DType wide = ByteSize(a) >= ByteSize(b) ? a : b, narrow = wide == a ? b : a;
  if (category_a == DTypeCategory::kFloat && ByteSize(a) == ByteSize(b)) return DType::kFloat32;  // f16 and bf16
  if (category_a != DTypeCategory::kInteger || IsSigned(wide) == IsSigned(narrow)) return wide;
  if (IsSigned(wide) && ByteSize(wide) > ByteSize(narrow)) return wide;
  return ByteSize(wide) == 1 ? DType::kInt16 : ByteSize(wide) == 2 ? DType::kInt32 : DType::kInt64;
}

}  // namespace flambeau::aten
