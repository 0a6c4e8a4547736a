// What operators ask of their arguments, as far as it can be known before a program runs: dimensions that exist, ranks,
// dtypes that agree. Programs that torch.export captured keep to it; what an archive says may not, and PyTorch would refuse
// to run it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lower/lowering.h"

namespace flambeau::lower {

enum class Need : uint8_t {
  kRank,       // a tensor of `least` to `most` dimensions
  kFloating,   // of floating point, or complex
  kNoBool,     // of numbers
  kInteger,    // of integers, or of bools of which `other` makes integers
  kBits,       // of integers or bools
  kBools,      // of bools
  kIndex,      // of int32 or int64
  kLong,       // of int64
  kInt,        // of int32
  kSquare,     // its last two dimensions are of one size
  kPairs,      // its last dimension has two elements
  kElements,   // an element at least in each dimension of the list `other`; of all where there is no such list
  kEndsIn,     // its last sizes are those that the list `other` says, and there are some
  kWithin,     // of no size that is larger than that of the tensor `other`
  kOneDtype,   // a list of tensors of one dtype
  kLikeDtype,  // of the dtype of the tensor `other`
  kLikeRank,   // of as many dimensions as the tensor `other`
  kLikeSizes,  // of the sizes of the tensor `other`
  kOfSizes,    // of the sizes that the list `other` says
  kNumber,     // a number, or each of a list: `least` to `most`
  kNonZero,    // a number that is not 0
  kDivides,    // a number that divides the size of the tensor `other` in dimension `least`
  kAddition,   // less than the stride or the dilation
  kPairwise,   // a list of an even count of numbers, two for each dimension of the tensor `other` at most
  kEach,       // a list with a number for each dimension of the tensor `other`
  kPadding,    // at most half of the kernel `other`
  kCovers,     // a list with a number for each dimension of the tensor `other`, or more; or a tensor of as many dimensions
};

struct Requirement {
  std::string_view operators;  // base names without "aten::", separated by blanks
  std::string_view argument;
  Need need;
  std::string_view other = {};
  int64_t least = 0, most = 0;
};

std::span<const Requirement> Requirements();

// Those of the operator of that schema.
std::span<const Requirement* const> RequirementsOf(const aten::Schema& schema);

// What the node's arguments lack, as the rest of a sentence; nullopt where nothing is known to be wrong.
std::optional<std::string> Unmet(const Lowering& to, NodeId node, const Callee& callee);

}  // namespace flambeau::lower
