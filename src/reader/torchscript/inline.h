// Puts the bodies of functions and methods in the place of their calls.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reader/torchscript/emitter.h"

namespace flambeau::torchscript {

// The graphs of functions, emitted when they are first called.
class FunctionTable {
 public:
  explicit FunctionTable(Program& program) : program_(program) {}
  Result<const Graph*> Find(const FunctionInfo& function);
  // A graph of a function that no code of the archive is.
  void Add(std::string name, std::unique_ptr<Graph> graph) { graphs_.emplace(std::move(name), std::move(graph)); }
  Library& library() { return program_.library; }

 private:
  Program& program_;
  std::map<std::string, std::unique_ptr<Graph>, std::less<>> graphs_;
};

// One block tree that calls nothing. `self` is the module that `entry` is a
// method of; invalid for a free function. `objects` become the graph's; it begins
// with the __setstate__ of those that are `unrestored`.
Result<Graph> Inline(const FunctionInfo& entry, ObjectId self, std::vector<Object> objects,
                     std::span<const ObjectId> unrestored, FunctionTable& functions);

}  // namespace flambeau::torchscript
