// Operators that meant something else in older archives, as data: until which
// version, with which schema, and what they are in today's operators.
#pragma once

#include <cstdint>
#include <string_view>

namespace flambeau::torchscript {

struct Upgrader {
  std::string_view name;        // today's: "aten::div.Tensor"
  int64_t version;              // from this version of the archive on there is nothing to upgrade
  std::string_view old_schema;
  std::string_view function;    // in kUpgraderCode
};

// Null if an archive of that version means what we mean.
const Upgrader* FindUpgrader(std::string_view name, std::string_view overload, int64_t version);

// The module in which the functions of the upgraders are found.
inline constexpr std::string_view kUpgraderModule = "flambeau.upgraders";
extern const std::string_view kUpgraderCode;

}  // namespace flambeau::torchscript
