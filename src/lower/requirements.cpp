#include "lower/requirements.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "aten/schema.h"
#include "lower/needs.h"
#include "support/static_index.h"

namespace flambeau::lower {
namespace {

using aten::BaseType;
using aten::Schema;
using aten::SchemaArgument;

constexpr std::string_view kAten = "aten::";

struct Row {
  Need need;
  std::string_view other = {};
  int64_t least = 0, most = 0;
};
constexpr Row Rank(int64_t least, int64_t most) { return {Need::kRank, {}, least, most}; }
constexpr Row Floating() { return {Need::kFloating}; }
constexpr Row NoBool() { return {Need::kNoBool}; }
constexpr Row Integer(std::string_view other = {}) { return {Need::kInteger, other}; }
constexpr Row Bits() { return {Need::kBits}; }
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

const StaticIndex<std::vector<const Requirement*>>& ByOperator() {
  static const auto* rows = [] {
    auto* made = new StaticIndex<std::vector<const Requirement*>>;
    for (const Requirement& requirement : kRequirements)
      ForEachWord(requirement.operators, [&](std::string_view name) { (*made)[name].push_back(&requirement); });
    return made;
  }();
  return *rows;
}

// Operators whose results have one dimension more than what they take, which their argument counts.
bool AddsDimension(std::string_view base) {
  static constexpr std::string_view kAdding[] = {"unsqueeze", "unsqueeze_copy", "diag_embed"};
  return std::ranges::find(kAdding, base) != std::end(kAdding);
}

// Arguments that name dimensions of the operator's first one.
Lack LacksDimension(const Arguments& arguments, const Schema& schema, std::string_view base) {
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
Lack LacksFormat(const Lowering& to, NodeId node, const Arguments& arguments, const Schema& schema) {
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

std::span<const Requirement* const> RequirementsOf(const Schema& schema) {
  const std::vector<const Requirement*>* rows = schema.base.starts_with(kAten) ? ByOperator().Find(schema.base.substr(kAten.size())) : nullptr;
  return rows != nullptr ? std::span(*rows) : std::span<const Requirement* const>();
}

std::optional<std::string> Unmet(const Lowering& to, NodeId node, const Callee& callee) {
  const Schema* schema = callee.schema;
  if (schema == nullptr || !schema->base.starts_with(kAten)) return std::nullopt;
  // Python's lists and strings have operators of these names, too.
  if (!schema->arguments.empty())
    if (const BaseType first = schema->arguments[0].type.base; first == BaseType::kOther || first == BaseType::kString) return std::nullopt;
  const Arguments arguments(to, node);
  if (auto lacks = LacksDimension(arguments, *schema, schema->base.substr(kAten.size()))) return lacks;
  if (auto lacks = LacksFormat(to, node, arguments, *schema)) return lacks;
  Lack lacks;
  for (const Requirement* requirement : callee.requirements)
    ForEachWord(requirement->argument, [&](std::string_view name) {
      if (lacks) return;
      const Type* type = arguments.TensorType(name);
      const auto listed = arguments.TensorTypes(name);
      for (const Type* each : listed) {
        if (lacks) return;
        const bool differs = requirement->need == Need::kOneDtype && each->dtype != listed.front()->dtype;
        lacks = differs ? fmt::format("takes '{}' of one dtype", name) : LackOfTensor({arguments, *requirement, name}, *each);
      }
      if (!listed.empty()) return;
      const Asked asked{arguments, *requirement, name};
      lacks = type ? LackOfTensor(asked, *type) : LackOfNumbers(asked);
    });
  return lacks;
}

}  // namespace flambeau::lower
