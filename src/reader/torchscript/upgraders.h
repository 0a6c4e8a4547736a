// Operators that meant something else in older archives, as data: until which
// version, with which schema, and what they are in today's operators.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace flambeau::torchscript {

struct Upgrader {
  std::string_view name;        // today's: "aten::div.Tensor"
  int64_t version;              // from this version of the archive on there is nothing to upgrade
  std::string_view old_schema;
  std::string_view function;    // in kUpgraderCode
};

// Null if an archive of that version means what we mean.
const Upgrader* FindUpgrader(std::string_view name, std::string_view overload, int64_t version);

// An operator, or an overload of one, that newer versions of torch lack.
struct Retired {
  int64_t version;  // archives from this version on have none
  std::string_view schema;
  std::string_view function;  // in kUpgraderCode; empty where nothing but types changed
};
// Those called `name`, "aten::rfft", that an archive of that version may call.
std::vector<const Retired*> FindRetired(std::string_view name, int64_t version);

// The module in which the functions of the upgraders are found.
inline constexpr std::string_view kUpgraderModule = "__torch__.flambeau_upgraders";
extern const std::string_view kUpgraderCode;

}  // namespace flambeau::torchscript
