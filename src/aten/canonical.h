// Puts the arguments of a call into schema order and form.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/schema.h"
#include "diag/sink.h"
#include "flambeau/program.h"
#include "ir/context.h"

namespace flambeau::aten {

struct CanonicalCall {
  std::vector<ValueId> operands;
  std::vector<NamedAttribute> attributes;
};

// `schema` may be null: then the arguments stay as given, unnamed ones called
// "arg0", "arg1", … Handles are positions in `values` and `bodies`.
Result<CanonicalCall> Canonicalize(const Schema* schema, std::string_view target, std::span<const Argument> positional,
                                   std::span<const std::pair<std::string_view, Argument>> named,
                                   std::span<const ValueId> values, std::span<const BlockId> bodies, Context& context,
                                   Sink& sink);

}  // namespace flambeau::aten
