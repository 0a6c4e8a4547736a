#include "reader/pt2/tagged.h"

#include <fmt/format.h>

#include <optional>

#include "container/quote.h"

namespace flambeau::pt2 {

Failure Tagged::Unknown(std::string_view what) const {
  return whole.Error(fmt::format("{} is no kind of {} that this version of Flambeau knows", Quote(tag), what),
                     "the archive may have been written by a newer PyTorch");
}

Result<Tagged> ReadTagged(const JsonReader& json) {
  FLAMBEAU_TRY(const JsonReader object, json.AsObject());
  std::optional<Tagged> only;
  size_t given = 0;
  for (const auto [tag, value] : object.members()) {
    if (value.value().IsNull()) continue;  // PyTorch before 2.3 writes all members
    if (given++ == 0) only = {tag, value, object};
  }
  if (given == 0 && object.size() == 1) {
    const auto [tag, value] = *object.members().begin();
    return Tagged{tag, value, object};
  }
  if (given != 1) return object.Error(fmt::format("expected an object with one member, found {} members", given));
  return *std::move(only);
}

}  // namespace flambeau::pt2
