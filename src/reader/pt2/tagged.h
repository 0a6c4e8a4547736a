// The unions of torch.export's JSON: objects with one member, whose name tells
// which alternative the value is.
#pragma once

#include <string_view>

#include "container/json.h"

namespace flambeau::pt2 {

struct Tagged {
  std::string_view tag;
  JsonReader value;
  JsonReader whole;  // the object around the value

  // Reports that `tag` is none of the alternatives that a reader knows.
  Failure Unknown(std::string_view what) const;
};

Result<Tagged> ReadTagged(const JsonReader& json);

}  // namespace flambeau::pt2
