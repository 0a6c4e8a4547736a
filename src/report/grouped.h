// Operators that could not be converted, gathered over a conversion.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flambeau/diagnostic.h"

namespace flambeau {

struct MissingOperator {
  DiagnosticKind kind;
  std::string name;
  std::string message;
  std::string hint;
  std::vector<const Location*> places;  // of the diagnostics given
};

bool IsMissingOperator(const Diagnostic& diagnostic);
// One entry for each operator and message, in order of appearance.
std::vector<MissingOperator> GroupMissingOperators(const std::vector<Diagnostic>& diagnostics);

// Python that translates the operator, or keeps it as one of a custom domain: to be filled in. Empty where neither can be.
std::string Recipe(std::string_view operation);

// Whether operators and functions of that namespace are PyTorch's own: nobody can give them an opset.
bool IsOfPyTorch(std::string_view space);

}  // namespace flambeau
