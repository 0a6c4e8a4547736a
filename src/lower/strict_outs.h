// Which operators write to an `out` of no other dtype than they compute: their kernels refuse it where others cast.
#pragma once

#include <string_view>

namespace flambeau::lower {

// "aten::gather", "aten::gather.out"
bool WritesItsOwnDtype(std::string_view op);

}  // namespace flambeau::lower
