// What is known on the path at hand: the conditions of the Ifs around it, what
// follows from them, and between which numbers they say that sizes are.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "ir/graph.h"

namespace flambeau::script {

class Facts {
 public:
  void Assume(const Graph& graph, ValueId condition, bool holds);
  // Of a size along which an element was read: a condition on it may follow from that, but none compared it.
  void AssumeMoreThan(Expr size, int64_t place);
  std::optional<bool> Of(const Graph& graph, ValueId condition) const;
  // Whether a condition compared the size with a number, and leaves it open, or says, that it is 1.
  bool MayBeOne(Expr size) const;
  bool IsOneAtMost(Expr size) const;
  // The number that it is on this path, if a condition says so.
  std::optional<int64_t> Only(Expr number) const;
  bool MayBe(Expr number, int64_t value) const;

 private:
  std::map<ValueId, bool> known_;
  std::unordered_map<Expr, ExprPool::Range> ranges_;  // of what was compared
  std::unordered_map<Expr, int64_t> places_;          // the last one that was read
};

}  // namespace flambeau::script
