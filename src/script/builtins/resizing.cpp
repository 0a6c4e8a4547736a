// Images of other sizes: interpolated, and padded.
#include <fmt/format.h>

#include <algorithm>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// What an image's dimensions are by these factors: torch before 1.6 resized to whole sizes, not by the factors.
Result<Val> SizesByFactors(Evaluator& evaluator, const Val& image, const Vals& factors) {
  Emitter& emit = evaluator.emit();
  Vals sizes;
  for (size_t i = 0; i < factors.size(); ++i) {
    FLAMBEAU_TRY(const Val size, emit.Call1("aten::sym_size.int", {image, static_cast<int64_t>(i + 2)}));
    FLAMBEAU_TRY(const Val product, emit.Call1("_operator::mul", {size, factors[i]}));
    FLAMBEAU_TRY(Val whole, emit.Call1("math::floor", {product}));
    sizes.push_back(std::move(whole));
  }
  return evaluator.List(std::move(sizes));
}

// To sizes, or by factors where one is None.
Result<Vals> ResizeOneWay(Evaluator& evaluator, const std::string& form, const Val& image, Val size, std::optional<bool> aligned, Val factors) {
  Vals operands{image, std::move(size)};
  if (aligned) operands.emplace_back(*aligned);
  operands.push_back(std::move(factors));
  FLAMBEAU_TRY(Val result, evaluator.emit().Call1(fmt::format("aten::{}.vec", form), operands));
  return Vals{std::move(result)};
}

// By factors of which only the run knows some, as `form` does, the operator's name before the number of dimensions.
Result<Vals> ResizeByNumbers(Evaluator& evaluator, std::string_view form, const Val& image, bool aligned, const Vals& factors) {
  constexpr std::string_view kBeforeMode = "upsample_";
  FLAMBEAU_TRY(const Val tensor, evaluator.emit().NumbersTensor(factors, DType::kFloat64));
  std::string mode(form.substr(form.find(kBeforeMode) + kBeforeMode.size()));
  return evaluator.emit().Call("flambeau::resize_by_factors", {image, tensor, std::move(mode), aligned});
}

struct Form {
  std::string_view mode;  // as PyTorch's functions call it
  size_t dims;            // 0: any
  std::string_view name;  // of the operator, before the number of dimensions
  bool aligns;            // takes align_corners
};
constexpr Form kForms[] = {{"nearest", 0, "upsample_nearest", false},   {"nearest-exact", 0, "_upsample_nearest_exact", false},
                           {"linear", 1, "upsample_linear", true},      {"bilinear", 2, "upsample_bilinear", true},
                           {"bicubic", 2, "upsample_bicubic", true},    {"trilinear", 3, "upsample_trilinear", true}};

// (x, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias), or the first three for the nearest pixel. Archives
// before torch 1.5 call it with five; what torch.onnx.export was given calls it from then on. By the number of dimensions and the mode
// it is one of several operators. It resizes to whole sizes unless it is told not to.
Result<Vals> Interpolate(Evaluator& evaluator, const Node&, Arguments arguments) {
  const Type* type = RankedType(evaluator, arguments[0]);
  const Val nearest = std::string("nearest");
  const auto* mode = (arguments.size() > 3 ? arguments[3] : nearest).As<std::string>();
  if (type == nullptr) return kFailure;
  const size_t dims = type->rank() < 2 ? 0 : type->rank() - 2;
  if (mode == nullptr || dims < 1 || dims > 3) return evaluator.Unsupported("interpolates a tensor of so many dimensions, or in a mode that is not known");
  auto each_dim = [&](const Val& value) {  // a number stands for all dimensions
    const auto* list = value.As<ListVal>();
    return list != nullptr ? evaluator.heap()[list->cell].elements : Vals(dims, value);
  };
  auto flag = [&](size_t i) { return i < arguments.size() ? arguments[i].AsInt() : std::nullopt; };
  const bool by_factors = arguments[1].Is<Nothing>(), pools = *mode == "area", antialias = flag(6).value_or(0) != 0;
  const auto* form = std::ranges::find_if(kForms, [&](const Form& each) { return each.mode == *mode && (each.dims == 0 || each.dims == dims); });
  if (!pools && (form == std::end(kForms) || (antialias && dims != 2)))
    return evaluator.Unsupported(fmt::format("interpolates in the mode '{}' over {} dimensions", *mode, dims));
  const Vals given = each_dim(arguments[by_factors ? 2 : 1]);
  if (by_factors && (given.size() != dims || !std::ranges::all_of(given, &Val::IsNumber)))
    return evaluator.Unsupported("interpolates to no known size");
  const bool keeps_factors = by_factors && flag(5) == 0 && !pools;
  Val size = Nothing{};
  if (!by_factors) {
    size = evaluator.List(given);
  } else if (!keeps_factors) {
    FLAMBEAU_TRY(size, SizesByFactors(evaluator, arguments[0], given));
  }
  if (pools) {
    FLAMBEAU_TRY(Val result, evaluator.emit().Call1(fmt::format("aten::adaptive_avg_pool{}d", dims), {arguments[0], size}));
    return Vals{std::move(result)};
  }
  const auto aligned = form->aligns ? std::optional(flag(4).value_or(0) != 0) : std::nullopt;
  if (keeps_factors && !antialias && std::ranges::any_of(given, &Val::Is<NumberVal>))
    return ResizeByNumbers(evaluator, form->name, arguments[0], aligned.value_or(false), given);
  const std::string name = fmt::format("{}{}{}d{}", antialias ? "_" : "", form->name, dims, antialias ? "_aa" : "");
  return ResizeOneWay(evaluator, name, arguments[0], std::move(size), aligned, keeps_factors ? evaluator.List(given) : Val(Nothing{}));
}

// (x, size, scale_factor)
Result<Vals> UpsampleBilinear(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Val named[] = {arguments[0], arguments[1], arguments[2], std::string("bilinear"), int64_t{1}};
  return Interpolate(evaluator, node, named);
}

// upsample_<mode><dimensions>d.vec(x, size, [align_corners], factors): the operators take factors that are known now.
Result<Vals> Upsample(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* list = node.overload == "vec" ? arguments.back().As<ListVal>() : nullptr;
  const Vals factors = list != nullptr ? evaluator.heap()[list->cell].elements : Vals();
  if (!arguments[1].Is<Nothing>() || std::ranges::none_of(factors, &Val::Is<NumberVal>) || !arguments[0].Is<TensorVal>())
    return evaluator.CallOperator(node, arguments);
  const std::string_view form = std::string_view(node.kind).substr(0, node.kind.size() - 2);
  const bool aligned = arguments.size() > 3 && arguments[2].AsInt().value_or(0) != 0;
  return ResizeByNumbers(evaluator, form, arguments[0], aligned, factors);
}

// By a list of which only the run knows how long it is: what it lacks, of the tensor's first dimensions, is 0.
constexpr std::string_view kPad = R"py(def pad(x: Tensor, widths: List[int], value: Optional[float]) -> Tensor:
  all = annotate(List[int], [])
  for i in range(torch.mul(2, torch.dim(x))):
    if torch.lt(i, torch.len(widths)):
      width = widths[i]
    else:
      width = 0
    _0 = torch.append(all, width)
  return torch.pad(x, all, "constant", value)
)py";

Result<Vals> Pad(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Cell* widths = arguments.size() > 1 ? ListOf(arguments[1], evaluator.heap()) : nullptr;
  if (widths == nullptr || !widths->sequence) return evaluator.CallOperator(node, arguments);
  const auto* mode = arguments.size() > 2 ? arguments[2].As<std::string>() : nullptr;
  if (mode != nullptr && *mode != "constant") return evaluator.CallOperator(node, arguments);  // others pad as many dimensions as they are told
  return evaluator.CallLibrary(kPad, "pad", Vals{arguments[0], arguments[1], arguments.size() > 3 ? arguments[3] : Val(Nothing{})});
}

constexpr BuiltinRow kRows[] = {
    {"aten::__interpolate", &OfKnownFlags<&Interpolate>},
    {"aten::__upsample", &OfKnownFlags<&Interpolate>},
    {"aten::__upsample_bilinear", &OfKnownFlags<&UpsampleBilinear>},
    {"aten::__upsample_nearest", &OfKnownFlags<&Interpolate>},
    {"aten::_upsample_nearest_exact1d", &OfKnownFlags<&Upsample>},
    {"aten::_upsample_nearest_exact2d", &OfKnownFlags<&Upsample>},
    {"aten::_upsample_nearest_exact3d", &OfKnownFlags<&Upsample>},
    {"aten::pad", &Pad},
    {"aten::upsample_bicubic2d", &OfKnownFlags<&Upsample>},
    {"aten::upsample_bilinear2d", &OfKnownFlags<&Upsample>},
    {"aten::upsample_linear1d", &OfKnownFlags<&Upsample>},
    {"aten::upsample_nearest1d", &OfKnownFlags<&Upsample>},
    {"aten::upsample_nearest2d", &OfKnownFlags<&Upsample>},
    {"aten::upsample_nearest3d", &OfKnownFlags<&Upsample>},
    {"aten::upsample_trilinear3d", &OfKnownFlags<&Upsample>},
};

}  // namespace

std::span<const BuiltinRow> ResizingBuiltins() { return kRows; }

}  // namespace flambeau::script
