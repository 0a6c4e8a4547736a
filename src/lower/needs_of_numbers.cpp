#include <fmt/format.h>

#include <algorithm>

#include "lower/needs.h"

namespace flambeau::lower {
namespace {

using Known = std::optional<int64_t>;

// --- of each number -------------------------------------------------------------------

Lack Between(const Asked& asked, double number) {
  const Requirement& need = asked.need;
  const bool exceeds = need.most != kAny && number > static_cast<double>(need.most);
  if (number >= static_cast<double>(need.least) && !exceeds) return std::nullopt;
  return fmt::format("takes no '{}' of {}", asked.name, number);
}

Lack NonZero(const Asked& asked, double number) {
  if (number != 0) return std::nullopt;
  return fmt::format("takes no '{}' of 0", asked.name);
}

Lack Divides(const Asked& asked, double number) {
  const Type* tensor = asked.arguments.TensorType(asked.need.other);
  if (tensor == nullptr || !tensor->ranked || static_cast<int64_t>(tensor->rank()) <= asked.need.least) return std::nullopt;
  const auto size = asked.arguments.exprs().AsConstant(tensor->sizes[static_cast<size_t>(asked.need.least)]);
  const auto count = static_cast<int64_t>(number);
  if (!size || (count > 0 && *size % count == 0)) return std::nullopt;
  return fmt::format("takes no '{}' of {} for {} of them", asked.name, count, *size);
}

template <Lack (*kCheck)(const Asked&, double)>
Lack OfEach(const Asked& asked) {
  if (const auto number = asked.arguments.Real(asked.name)) return kCheck(asked, *number);
  for (const Known& number : asked.arguments.Numbers(asked.name))
    if (number)
      if (Lack lack = kCheck(asked, static_cast<double>(*number))) return lack;
  return std::nullopt;
}

// --- of a list -------------------------------------------------------------------------

// The number for a dimension: one number is that of all of them, and no number is 1.
Known For(const std::vector<Known>& numbers, size_t dimension) {
  return numbers.empty() ? Known(1) : numbers[std::min(dimension, numbers.size() - 1)];
}

Lack Addition(const Asked& asked) {
  const auto numbers = asked.arguments.Numbers(asked.name), strides = asked.arguments.Numbers("stride"), dilations = asked.arguments.Numbers("dilation");
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Known stride = For(strides, i), dilation = For(dilations, i);
    if (numbers[i] && stride && dilation && *numbers[i] >= std::max(*stride, *dilation))
      return fmt::format("takes no '{}' of {}, which neither stride nor dilation exceeds", asked.name, *numbers[i]);
  }
  return std::nullopt;
}

Lack Padding(const Asked& asked) {
  const auto numbers = asked.arguments.Numbers(asked.name), kernel = asked.arguments.Numbers(asked.need.other);
  for (size_t i = 0; i < numbers.size() && !kernel.empty(); ++i) {
    const Known size = For(kernel, i);
    if (numbers[i] && size && *numbers[i] > *size / 2) return fmt::format("pads more than half of its kernel of {}", *size);
  }
  return std::nullopt;
}

// How many dimensions the tensor `other` has, where that is known.
std::optional<size_t> Dimensions(const Asked& asked) {
  const Type* tensor = asked.arguments.TensorType(asked.need.other);
  return tensor && tensor->ranked ? std::optional(tensor->rank()) : std::nullopt;
}

Lack WrongCount(const Asked& asked, size_t count, size_t dimensions) {
  return fmt::format("takes no {} numbers of '{}' for {} dimensions", count, asked.name, dimensions);
}

Lack Pairwise(const Asked& asked) {
  if (!asked.arguments.HasList(asked.name)) return std::nullopt;
  const size_t count = asked.arguments.Numbers(asked.name).size();
  if (count % 2 != 0) return fmt::format("takes two numbers of '{}' for each dimension", asked.name);
  const auto dimensions = Dimensions(asked);
  return !dimensions || count <= 2 * *dimensions ? std::nullopt : WrongCount(asked, count, *dimensions);
}

Lack Each(const Asked& asked) {
  const auto dimensions = Dimensions(asked);
  if (!asked.arguments.HasList(asked.name) || !dimensions) return std::nullopt;
  const size_t count = asked.arguments.Numbers(asked.name).size();
  return count == *dimensions ? std::nullopt : WrongCount(asked, count, *dimensions);
}

Lack Covers(const Asked& asked) {
  const auto dimensions = Dimensions(asked);
  if (asked.arguments.HasOpenList(asked.name) || !dimensions || asked.arguments.Numbers(asked.name).size() >= *dimensions) return std::nullopt;
  return fmt::format("takes a number of '{}' for each of {} dimensions", asked.name, *dimensions);
}

// Needs that are none of numbers have no row.
struct Row {
  Need need;
  Lack (*check)(const Asked& asked);
};
constexpr Row kRows[] = {
    {Need::kAddition, &Addition},
    {Need::kCovers, &Covers},
    {Need::kDivides, &OfEach<&Divides>},
    {Need::kEach, &Each},
    {Need::kNonZero, &OfEach<&NonZero>},
    {Need::kNumber, &OfEach<&Between>},
    {Need::kPadding, &Padding},
    {Need::kPairwise, &Pairwise},
};

}  // namespace

Lack LackOfNumbers(const Asked& asked) {
  const auto row = std::ranges::find(kRows, asked.need.need, &Row::need);
  return row == std::end(kRows) ? std::nullopt : row->check(asked);
}

}  // namespace flambeau::lower
