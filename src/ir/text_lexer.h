// What the textual forms have in common: names, quoted strings, numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/letters.h"

namespace flambeau {

// Of a name with dots: "conv1.weight".
inline bool IsNamePartOrDot(char c) { return IsNamePart(c) || c == '.'; }

// In double quotes; control characters and bytes that are no ASCII as \xNN.
std::string Quoted(std::string_view text);
// Reads a string in double or single quotes at the start of `*text`, and
// removes it; nullopt if it is malformed.
std::optional<std::string> TakeQuoted(std::string_view* text);

// The shortest text that reads back as the same number and looks like a float:
// "1.0", "1e-05", "inf", "nan".
std::string FloatText(double value);
std::string FloatText(float value);
// The length of the number at the start of `text`, no sign; 0 if there is none.
// `*is_float` tells whether it has a fraction or an exponent.
size_t NumberLength(std::string_view text, bool* is_float);
std::optional<double> ParseFloat(std::string_view text);

}  // namespace flambeau
