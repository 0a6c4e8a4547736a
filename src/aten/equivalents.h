// Operators that say what other operators say: the primitives into which PyTorch's references decompose, and those that
// do one thing to each tensor of a list. The graph holds the others, so no later stage meets these.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "aten/canonical.h"
#include "aten/schema.h"
#include "diag/sink.h"
#include "ir/context.h"

namespace flambeau::aten {

struct Equivalent {
  // Where the value of an argument comes from.
  struct Source {
    static constexpr int kConstant = -1;
    int argument;        // of the operator that is replaced, or kConstant
    Attribute constant;  // then; otherwise the default where None is given
  };

  const Schema* schema;
  std::vector<Source> arguments;  // one for each of schema->arguments
  bool each;                      // one call for each element of the lists
};

// The rows of equivalents.def.
struct EquivalentRow {
  std::string_view op, call;
};
std::span<const EquivalentRow> EquivalentRows();

// What `op`, a full name, is replaced by; nullopt if it stands for itself.
std::optional<Equivalent> FindEquivalent(std::string_view op);

// The calls of `equivalent.schema` for a call of the operator that it replaces.
Result<std::vector<CanonicalCall>> Replace(const Equivalent& equivalent, const CanonicalCall& call, std::string_view target,
                                           Context& context, Sink& sink);

}  // namespace flambeau::aten
