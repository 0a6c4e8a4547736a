// Operators beyond our table: by the user's own translators, or as nodes of
// custom domains.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "flambeau/translation.h"
#include "lower/op.h"

namespace flambeau::lower {

class CustomOperators {
 public:
  // Later entries replace earlier ones of the same name.
  CustomOperators(std::span<const std::pair<std::string, Translator>> translations,
                  std::span<const std::pair<std::string, int>> domains);

  // By full overload name: that entry, else "ns::op.*", else "ns::*"; nullptr if there is none.
  const Translator* FindTranslator(std::string_view op) const;
  // Whether an entry names that operator, not just its namespace.
  bool Overrides(std::string_view op) const;
  // Whether the operator may be lowered by other means than the table.
  bool Handles(std::string_view op) const;

  // The version of the custom domain that the operator's namespace is.
  std::optional<int> FindDomain(std::string_view op) const;

 private:
  const Translator* FindNamed(std::string_view op) const;

  std::map<std::string, Translator, std::less<>> translators_;
  std::map<std::string, int, std::less<>> domains_;
};

// Where the call is: operator, module, source line.
Location PlaceOf(Lowering& to, NodeId node);

// The nodes of the model that the translator gives for the ATen node; nothing, and no report, where it declines.
Lowered LowerByTranslator(Lowering& to, NodeId node, const Translator& translator, bool* declined);

// `mylib::foo.out` as a node `foo_out` of domain `mylib`: arguments that are
// tensors or run-time sizes are its inputs, constants its attributes.
Lowered LowerAsCustomNode(Lowering& to, NodeId node, int version);

}  // namespace flambeau::lower
