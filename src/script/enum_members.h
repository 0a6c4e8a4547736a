// The members of enums that a program can have: those of its constants, defaults and attributes.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "reader/torchscript/graph.h"
#include "script/emitter.h"
#include "script/value.h"

namespace flambeau::script {

class EnumMembers {
 public:
  // Both must outlive this.
  EnumMembers(const torchscript::Graph& source, Emitter& emit) : source_(source), emit_(emit) {}
  // Those of the type that the number, which a run knows, may stand for, by their numbers, in order.
  Vals ThatMayBe(const torchscript::Type* type, NumberVal number);
  bool empty() { return All().empty(); }

 private:
  using Members = std::map<int64_t, EnumVal>;  // by their numbers
  const Members& All();

  const torchscript::Graph& source_;
  Emitter& emit_;
  std::optional<Members> members_;  // once they were asked for
};

}  // namespace flambeau::script
