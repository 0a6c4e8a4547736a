#include "lower/ops/families.h"

#include <vector>

namespace flambeau::lower {

#define FLAMBEAU_FAMILY(function, holds) std::span<const OpRow> function();
#include "lower/ops/families.def"
#undef FLAMBEAU_FAMILY

std::span<const std::span<const OpRow>> Families() {
  static const std::vector<std::span<const OpRow>> families = {
#define FLAMBEAU_FAMILY(function, holds) function(),
#include "lower/ops/families.def"
#undef FLAMBEAU_FAMILY
  };
  return families;
}

}  // namespace flambeau::lower
