#include "container/quote.h"

#include <simdjson.h>

namespace flambeau {

bool IsUtf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

std::string Quote(std::string_view text) {
  constexpr size_t kLongest = 120;
  constexpr char kDigits[] = "0123456789abcdef";
  const bool cut = text.size() > kLongest;
  text = text.substr(0, kLongest);
  // The cut may have gone through a character of up to four bytes.
  std::string_view whole = text;
  for (int i = 0; cut && i < 3 && !IsUtf8(whole); ++i) whole.remove_suffix(1);
  const bool valid = IsUtf8(whole);
  if (valid) text = whole;
  std::string out = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !valid)) {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out += c;
    }
  }
  return out += cut ? "…'" : "'";
}

}  // namespace flambeau
