#include "lower/requirements.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "aten/pure_form.h"
#include "aten/schema.h"

namespace flambeau::lower {
namespace {

using aten::BaseType;
using aten::Schema;
using aten::SchemaArgument;

struct Row {
  Need need;
  std::string_view other = {};
  int64_t least = 0, most = 0;
};
constexpr Row Rank(int64_t least, int64_t most) { return {Need::kRank, {}, least, most}; }
constexpr Row Floating() { return {Need::kFloating}; }
constexpr Row NoBool() { return {Need::kNoBool}; }
constexpr Row Integer() { return {Need::kInteger}; }
constexpr Row Bools() { return {Need::kBools}; }
constexpr Row Index() { return {Need::kIndex}; }
constexpr Row Long() { return {Need::kLong}; }
constexpr Row Int() { return {Need::kInt}; }
constexpr Row Pairs() { return {Need::kPairs}; }
constexpr Row Elements(std::string_view dims) { return {Need::kElements, dims}; }
constexpr Row EndsIn(std::string_view sizes) { return {Need::kEndsIn, sizes}; }
constexpr Row Within(std::string_view other) { return {Need::kWithin, other}; }
constexpr Row OneDtype() { return {Need::kOneDtype}; }
constexpr Row Square() { return {Need::kSquare}; }
constexpr Row LikeDtype(std::string_view other) { return {Need::kLikeDtype, other}; }
constexpr Row LikeRank(std::string_view other) { return {Need::kLikeRank, other}; }
constexpr Row LikeSizes(std::string_view other) { return {Need::kLikeSizes, other}; }
constexpr Row OfSizes(std::string_view other) { return {Need::kOfSizes, other}; }
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();  // even infinity
constexpr Row AtLeast(int64_t least) { return {Need::kNumber, {}, least, kAny}; }
constexpr Row Between(int64_t least, int64_t most) { return {Need::kNumber, {}, least, most}; }
constexpr Row NonZero() { return {Need::kNonZero}; }
constexpr Row Divides(std::string_view other, int64_t dim) { return {Need::kDivides, other, dim}; }
constexpr Row Addition() { return {Need::kAddition}; }
constexpr Row Pairwise(std::string_view other) { return {Need::kPairwise, other}; }
constexpr Row Each(std::string_view other) { return {Need::kEach, other}; }
constexpr Row Padding(std::string_view other) { return {Need::kPadding, other}; }
constexpr Row Covers(std::string_view other) { return {Need::kCovers, other}; }

constexpr Requirement Make(std::string_view operators, std::string_view argument, Row row) {
  return {operators, argument, row.need, row.other, row.least, row.most};
}

constexpr Requirement kRequirements[] = {
#define FLAMBEAU_REQUIREMENT(operators, argument, row) Make(operators, argument, row),
#include "lower/requirements.def"
#undef FLAMBEAU_REQUIREMENT
};

template <class F>
void ForEachWord(std::string_view text, F visit) {
  while (!text.empty()) {
    const size_t end = text.find(' ');
    visit(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

const std::unordered_map<std::string_view, std::vector<const Requirement*>>& ByOperator() {
  static const auto* rows = [] {
    auto* made = new std::unordered_map<std::string_view, std::vector<const Requirement*>>;
    for (const Requirement& requirement : kRequirements)
      ForEachWord(requirement.operators, [&](std::string_view name) { (*made)[name].push_back(&requirement); });
    return made;
  }();
  return *rows;
}

// A node and what is known of its arguments.
class Arguments {
 public:
  Arguments(const Lowering& to, NodeId node) : to_(to), node_(node) {}

  const Type* TensorType(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    const auto* operand = attribute ? std::get_if<Operand>(attribute) : nullptr;
    if (operand == nullptr) return nullptr;
    return TypeOf(*operand);
  }
  // Those of a list of tensors that are known.
  std::vector<const Type*> TensorTypes(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    const auto* list = attribute ? std::get_if<OperandList>(attribute) : nullptr;
    std::vector<const Type*> types;
    for (size_t i = 0; list && i < list->size(); ++i)
      if (const auto* operand = std::get_if<Operand>(&(*list)[i]))
        if (const Type* type = TypeOf(*operand)) types.push_back(type);
    return types;
  }
  // Whether it is a list, each of whose elements may be known or not.
  bool HasList(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    return attribute && (std::holds_alternative<Ints>(*attribute) || std::holds_alternative<OperandList>(*attribute));
  }
  // A number, if it is known.
  std::optional<double> Real(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    if (const auto* number = attribute ? std::get_if<double>(attribute) : nullptr) return *number;
    const auto numbers = Numbers(name);
    return numbers.size() == 1 && numbers[0] ? std::optional(static_cast<double>(*numbers[0])) : std::nullopt;
  }
  // One number, or the elements of a list; nullopt for each that is not known.
  std::vector<std::optional<int64_t>> Numbers(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    if (attribute == nullptr) return {};
    if (const auto* number = std::get_if<int64_t>(attribute)) return {*number};
    if (const auto* ints = std::get_if<Ints>(attribute)) return {ints->begin(), ints->end()};
    std::vector<std::optional<int64_t>> numbers;
    if (const auto* list = std::get_if<OperandList>(attribute))
      for (const ListElement& element : *list) numbers.push_back(NumberOf(element));
    return numbers;
  }
  const Context& context() const { return to_.aten().context(); }
  const ExprPool& exprs() const { return context().exprs(); }

 private:
  const Type* TypeOf(const Operand& operand) const {
    const ValueId value = to_.aten().operand(node_, operand.index);
    const Type* type = value ? &to_.aten().type(value) : nullptr;
    return type && type->is_tensor() ? type : nullptr;
  }
  std::optional<int64_t> NumberOf(const ListElement& element) const {
    if (const auto* number = std::get_if<int64_t>(&element)) return *number;
    const auto* operand = std::get_if<Operand>(&element);
    const ValueId value = operand ? to_.aten().operand(node_, operand->index) : ValueId{};
    if (!value || !to_.aten().type(value).contents) return std::nullopt;
    return exprs().AsConstant(to_.aten().type(value).contents->front());
  }

  const Lowering& to_;
  NodeId node_;
};

std::optional<std::string> LacksOfTensor(const Arguments& arguments, const Requirement& need, std::string_view name, const Type& type) {
  const ExprPool& exprs = arguments.exprs();
  const auto rank = static_cast<int64_t>(type.rank());
  const Type* other = need.other.empty() ? nullptr : arguments.TensorType(need.other);
  // Of no elements, none is looked at.
  const bool is_empty = std::ranges::any_of(type.sizes, [&](Expr size) { return exprs.IsConstant(size, 0); });
  auto differ = [&](Expr a, Expr b) {
    const auto x = exprs.AsConstant(a), y = exprs.AsConstant(b);
    return x && y && *x != *y;
  };
  switch (need.need) {
    case Need::kRank:
      if (!type.ranked || (rank >= need.least && rank <= need.most)) return std::nullopt;
      return fmt::format("takes no '{}' of {} dimensions", name, rank);
    case Need::kFloating:
      if (IsFloating(type.dtype) || IsComplex(type.dtype)) return std::nullopt;
      return fmt::format("takes no '{}' of {}", name, Info(type.dtype).torch_name);
    case Need::kNoBool:
      if (type.dtype != DType::kBool) return std::nullopt;
      return fmt::format("takes no '{}' of bools", name);
    case Need::kInteger:
      if (IsInteger(type.dtype)) return std::nullopt;
      return fmt::format("takes no '{}' of {}", name, Info(type.dtype).torch_name);
    case Need::kBools:
      if (type.dtype == DType::kBool) return std::nullopt;
      return fmt::format("takes no '{}' of {}", name, Info(type.dtype).torch_name);
    case Need::kInt:
      if (type.dtype == DType::kInt32) return std::nullopt;
      return fmt::format("takes no '{}' of {}", name, Info(type.dtype).torch_name);
    case Need::kPairs: {
      if (!type.ranked) return std::nullopt;
      const auto last = rank > 0 ? exprs.AsConstant(type.sizes.back()) : 0;
      if (!last || *last == 2) return std::nullopt;
      return fmt::format("takes no '{}' whose last dimension is not of two elements", name);
    }
    case Need::kElements: {
      if (!type.ranked) return std::nullopt;
      const auto dims = need.other.empty() ? std::vector<std::optional<int64_t>>() : arguments.Numbers(need.other);
      for (int64_t axis = 0; axis < rank; ++axis) {
        const bool counts = dims.empty() || std::ranges::any_of(dims, [&](const auto& dim) { return dim && (*dim == axis || *dim == axis - rank); });
        if (counts && exprs.IsConstant(type.sizes[static_cast<size_t>(axis)], 0))
          return fmt::format("takes no '{}' without elements in dimension {}", name, axis);
      }
      return std::nullopt;
    }
    case Need::kEndsIn: {
      const auto sizes = arguments.Numbers(need.other);
      if (!arguments.HasList(need.other)) return std::nullopt;
      if (sizes.empty()) return fmt::format("takes a '{}' of one size at least", need.other);
      if (!type.ranked) return std::nullopt;
      bool fits = sizes.size() <= type.rank();
      for (size_t i = 0; i < sizes.size() && fits; ++i) {
        const auto own = exprs.AsConstant(type.sizes[type.rank() - sizes.size() + i]);
        fits = !own || !sizes[i] || *own == *sizes[i];
      }
      if (fits) return std::nullopt;
      return fmt::format("takes no '{}' whose last sizes are not '{}'", name, need.other);
    }
    case Need::kWithin: {
      if (other == nullptr || !other->ranked || !type.ranked || other->rank() != type.rank()) return std::nullopt;
      for (size_t i = 0; i < type.rank(); ++i) {
        const auto own = exprs.AsConstant(type.sizes[i]), most = exprs.AsConstant(other->sizes[i]);
        if (own && most && *own > *most) return fmt::format("takes no '{}' that is larger than '{}'", name, need.other);
      }
      return std::nullopt;
    }
    case Need::kIndex:
      if (type.dtype == DType::kInt64 || type.dtype == DType::kInt32 || is_empty) return std::nullopt;
      return fmt::format("takes no '{}' of {}", name, Info(type.dtype).torch_name);
    case Need::kLong:
      if (type.dtype == DType::kInt64) return std::nullopt;
      return fmt::format("takes no '{}' of {}", name, Info(type.dtype).torch_name);
    case Need::kSquare:
      if (!type.ranked || rank < 2 || !differ(type.sizes[type.rank() - 1], type.sizes[type.rank() - 2])) return std::nullopt;
      return fmt::format("takes no '{}' that is not square", name);
    case Need::kLikeDtype:
      if (other == nullptr || other->dtype == type.dtype) return std::nullopt;
      if ((type.ranked && rank == 0) || (other->ranked && other->rank() == 0)) return std::nullopt;  // a number, to some
      return fmt::format("takes '{}' and '{}' of one dtype, and is given {} and {}", need.other, name, Info(other->dtype).torch_name,
                         Info(type.dtype).torch_name);
    case Need::kLikeRank:
      if (other == nullptr || !other->ranked || !type.ranked || other->rank() == type.rank()) return std::nullopt;
      if ((other->rank() <= 1 && rank <= 1) || is_empty) return std::nullopt;  // a number is a vector of one
      return fmt::format("takes '{}' and '{}' of as many dimensions, and is given {} and {}", need.other, name, other->rank(), rank);
    case Need::kLikeSizes: {
      if (other == nullptr || !other->ranked || !type.ranked) return std::nullopt;
      bool fits = other->rank() == type.rank();
      for (size_t i = 0; i < type.rank() && fits; ++i) fits = !differ(other->sizes[i], type.sizes[i]);
      if (fits) return std::nullopt;
      return fmt::format("takes '{}' and '{}' of the same sizes", need.other, name);
    }
    case Need::kOfSizes: {
      const auto sizes = arguments.Numbers(need.other);
      if (!type.ranked || sizes.empty()) return std::nullopt;
      bool fits = sizes.size() == type.rank();
      for (size_t i = 0; i < type.rank() && fits; ++i) {
        const auto own = exprs.AsConstant(type.sizes[i]);
        fits = !own || !sizes[i] || *own == *sizes[i];
      }
      if (fits) return std::nullopt;
      return fmt::format("takes no '{}' of other sizes than '{}'", name, need.other);
    }
    case Need::kCovers:
      if (other == nullptr || !other->ranked || !type.ranked || other->rank() <= type.rank()) return std::nullopt;
      return fmt::format("takes no '{}' of fewer dimensions than '{}'", name, need.other);
    default: return std::nullopt;
  }
}

std::optional<std::string> LacksOfNumber(const Arguments& arguments, const Requirement& need, std::string_view name, double number) {
  switch (need.need) {
    case Need::kNumber:
      if (number >= static_cast<double>(need.least) && !(number > static_cast<double>(need.most) && need.most != kAny)) return std::nullopt;
      return fmt::format("takes no '{}' of {}", name, number);
    case Need::kNonZero:
      if (number != 0) return std::nullopt;
      return fmt::format("takes no '{}' of 0", name);
    case Need::kDivides: {
      const Type* tensor = arguments.TensorType(need.other);
      if (tensor == nullptr || !tensor->ranked || static_cast<int64_t>(tensor->rank()) <= need.least) return std::nullopt;
      const auto size = arguments.exprs().AsConstant(tensor->sizes[static_cast<size_t>(need.least)]);
      const auto count = static_cast<int64_t>(number);
      if (!size || (count > 0 && *size % count == 0)) return std::nullopt;
      return fmt::format("takes no '{}' of {} for {} of them", name, count, *size);
    }
    default: return std::nullopt;
  }
}

std::optional<std::string> LacksOfNumbers(const Arguments& arguments, const Requirement& need, std::string_view name) {
  const auto numbers = arguments.Numbers(name);
  switch (need.need) {
    case Need::kNumber:
    case Need::kNonZero:
    case Need::kDivides: {
      if (const auto number = arguments.Real(name)) return LacksOfNumber(arguments, need, name, *number);
      for (const auto& number : numbers)
        if (number)
          if (auto lacks = LacksOfNumber(arguments, need, name, static_cast<double>(*number))) return lacks;
      return std::nullopt;
    }
    case Need::kAddition: {
      const auto strides = arguments.Numbers("stride"), dilations = arguments.Numbers("dilation");
      auto at = [](const auto& list, size_t i) { return list.empty() ? std::optional<int64_t>(1) : list[std::min(i, list.size() - 1)]; };
      for (size_t i = 0; i < numbers.size(); ++i) {
        const auto stride = at(strides, i), dilation = at(dilations, i);
        if (numbers[i] && stride && dilation && *numbers[i] >= std::max(*stride, *dilation))
          return fmt::format("takes no '{}' of {}, which neither stride nor dilation exceeds", name, *numbers[i]);
      }
      return std::nullopt;
    }
    case Need::kPairwise:
    case Need::kEach: {
      const Type* tensor = arguments.TensorType(need.other);
      const bool pairs = need.need == Need::kPairwise;
      if (!arguments.HasList(name)) return std::nullopt;
      if (pairs && numbers.size() % 2 != 0) return fmt::format("takes two numbers of '{}' for each dimension", name);
      if (tensor == nullptr || !tensor->ranked) return std::nullopt;
      if (pairs ? numbers.size() <= 2 * tensor->rank() : numbers.size() == tensor->rank()) return std::nullopt;
      return fmt::format("takes no {} numbers of '{}' for {} dimensions", numbers.size(), name, tensor->rank());
    }
    case Need::kPadding: {
      const auto kernel = arguments.Numbers(need.other);
      for (size_t i = 0; i < numbers.size() && !kernel.empty(); ++i) {
        const auto& size = kernel[std::min(i, kernel.size() - 1)];
        if (numbers[i] && size && *numbers[i] > *size / 2) return fmt::format("pads more than half of its kernel of {}", *size);
      }
      return std::nullopt;
    }
    case Need::kCovers: {
      const Type* tensor = arguments.TensorType(need.other);
      if (tensor == nullptr || !tensor->ranked || numbers.size() >= tensor->rank()) return std::nullopt;
      return fmt::format("takes a number of '{}' for each of {} dimensions", name, tensor->rank());
    }
    default: return std::nullopt;
  }
}

// Operators whose results have one dimension more than what they take, which their argument counts.
bool AddsDimension(std::string_view base) {
  static constexpr std::string_view kAdding[] = {"unsqueeze", "unsqueeze_copy", "diag_embed"};
  return std::ranges::find(kAdding, base) != std::end(kAdding);
}

// Arguments that name dimensions of the operator's first one.
std::optional<std::string> LacksDimension(const Arguments& arguments, const Schema& schema, std::string_view base) {
  // Of these, it is a dimension of what several tensors broadcast to, or of another tensor; tile's are counts.
  static constexpr std::string_view kOfOthers[] = {
      "cosine_similarity", "cross",          "linalg_cross", "linalg_vecdot",
      "select_backward",   "take_along_dim", "tile",         "value_selecting_reduction_backward"};
  if (schema.arguments.empty() || schema.arguments[0].type.base != BaseType::kTensor || schema.arguments[0].type.list) return std::nullopt;
  if (std::ranges::find(kOfOthers, base) != std::end(kOfOthers)) return std::nullopt;
  const Type* type = nullptr;
  for (const SchemaArgument& argument : schema.arguments) {
    if (argument.type.base != BaseType::kInt && argument.type.base != BaseType::kSymInt) continue;
    if (!argument.name.starts_with("dim") || argument.name == "dims_other") continue;
    if (type == nullptr) type = arguments.TensorType(schema.arguments[0].name);
    if (type == nullptr || !type->ranked) return std::nullopt;
    const int64_t count = std::max<int64_t>(static_cast<int64_t>(type->rank()) + (AddsDimension(base) ? 1 : 0), 1);
    for (const auto& dim : arguments.Numbers(argument.name))
      if (dim && (*dim < -count || *dim >= count)) return fmt::format("names dimension {} of a tensor of rank {}", *dim, type->rank());
  }
  return std::nullopt;
}

// Formats with the channels last are for images and volumes.
std::optional<std::string> LacksFormat(const Lowering& to, NodeId node, const Arguments& arguments, const Schema& schema) {
  const Attribute* attribute = to.aten().FindAttribute(node, "memory_format");
  const auto* format = attribute ? std::get_if<MemoryFormat>(attribute) : nullptr;
  if (format == nullptr || (*format != MemoryFormat::kChannelsLast && *format != MemoryFormat::kChannelsLast3d)) return std::nullopt;
  const Type* type = arguments.TensorType(schema.arguments[0].name);
  const size_t rank = *format == MemoryFormat::kChannelsLast ? 4 : 5;
  if (type == nullptr || !type->ranked || type->rank() == rank) return std::nullopt;
  return fmt::format("gives a tensor of {} dimensions a memory format for {}", type->rank(), rank);
}

}  // namespace

std::span<const Requirement> Requirements() { return kRequirements; }

std::optional<std::string> Unmet(const Lowering& to, NodeId node) {
  const Schema* schema = aten::FindSchema(aten::WithoutFunctionalized(to.aten().op(node)));
  constexpr std::string_view kAten = "aten::";
  if (schema == nullptr || !schema->base.starts_with(kAten)) return std::nullopt;
  // Python's lists and strings have operators of these names, too.
  if (!schema->arguments.empty())
    if (const BaseType first = schema->arguments[0].type.base; first == BaseType::kOther || first == BaseType::kString) return std::nullopt;
  const std::string_view base = schema->base.substr(kAten.size());
  const Arguments arguments(to, node);
  if (auto lacks = LacksDimension(arguments, *schema, base)) return lacks;
  if (auto lacks = LacksFormat(to, node, arguments, *schema)) return lacks;
  const auto rows = ByOperator().find(base);
  if (rows == ByOperator().end()) return std::nullopt;
  std::optional<std::string> lacks;
  for (const Requirement* requirement : rows->second)
    ForEachWord(requirement->argument, [&](std::string_view name) {
      if (lacks) return;
      const Type* type = arguments.TensorType(name);
      const auto listed = arguments.TensorTypes(name);
      for (const Type* each : listed) {
        if (lacks) return;
        const bool differs = requirement->need == Need::kOneDtype && each->dtype != listed.front()->dtype;
        lacks = differs ? fmt::format("takes '{}' of one dtype", name) : LacksOfTensor(arguments, *requirement, name, *each);
      }
      if (!listed.empty()) return;
      lacks = type ? LacksOfTensor(arguments, *requirement, name, *type) : LacksOfNumbers(arguments, *requirement, name);
    });
  return lacks;
}

}  // namespace flambeau::lower
