#include "reader/pt2/tagged.h"

#include <fmt/format.h>

#include "container/quote.h"

namespace flambeau::pt2 {

Failure Tagged::Unknown(std::string_view what) const {
  return whole.Error(fmt::format("{} is no kind of {} that this version of Flambeau knows", Quote(tag), what),
                     "the archive may have been written by a newer PyTorch");
}

Result<Tagged> ReadTagged(const JsonReader& json) {
  FLAMBEAU_TRY(const JsonReader object, json.AsObject());
  if (object.size() != 1)
    return object.Error(fmt::format("expected an object with one member, found {} members", object.size()));
  const auto [tag, value] = *object.members().begin();
  return Tagged{tag, value, object};
}

}  // namespace flambeau::pt2
