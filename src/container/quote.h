// Untrusted text inside messages: escaped, and cut where it gets long.
#pragma once

#include <string>
#include <string_view>

namespace flambeau {

// 'text', with control characters and bytes that are not UTF-8 as \xNN.
std::string Quote(std::string_view text);
bool IsUtf8(std::string_view text);

}  // namespace flambeau
