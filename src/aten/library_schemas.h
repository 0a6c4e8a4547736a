#pragma once

#include <string_view>
#include <vector>

namespace flambeau::aten {

// The schemas of libraries' operators (library_schemas.def).
std::vector<std::string_view> LibrarySchemaTexts();

}  // namespace flambeau::aten
