// What comes out of a nested graph: of the paths of an If, of the rounds of a Loop.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "script/evaluator.h"
#include "script/regions/kinship.h"

namespace flambeau::script {

// A block that was walked, and the state that it leaves behind.
struct Evaluator::Path {
  BlockId block;
  Snapshot after;
  Vals outputs;
};

// The values of a nested graph, and the parts of the program's state that it
// changes, each described by a skeleton. Leaves, types and parts are in the
// order of the members here.
struct Evaluator::Region {
  Evaluator& evaluator;
  std::vector<Skeleton> values;
  std::vector<std::pair<StorageId, Skeleton>> storages;
  std::vector<std::pair<uint32_t, Skeleton>> cells;                     // lists and dicts
  std::vector<std::tuple<uint32_t, std::string, Skeleton>> attributes;  // of objects
  std::vector<ValueId> rebound;  // tensors that are the last of the values from here on
  Kinship kinship;
  std::set<uint32_t> moved;   // of the cells: rows that are no longer what they were of their lists
  std::set<uint32_t> shared;  // of the cells: rows that other lists may hold, too
  std::set<size_t> counters;  // of a loop's values: integers that grow from 0 or more by a constant in each round

  // Adds to each path's results the tensors that some path makes other memory of.
  Status GiveOutRebound(std::span<Path> paths, const Snapshot& before, bool ends);
  // Describes what the paths of an If have in common, and what differs.
  Status Join(std::span<const Path> paths, const Snapshot& before);
  // Takes in the current state, at the end of a round that began in `entered`, and the round's results. Whether that
  // changed anything.
  Result<bool> TakeIn(std::span<const Val> results, const Snapshot& entered, const Snapshot& before);

  // Drops the counters that the round did not increase by a constant. Whether no part was known by one of these.
  bool KeepCounters(std::span<const Val> entered, std::span<const Val> results);

  // Whether less is known of the results than on each path alone.
  bool lossy() const { return !kinship.empty() || types_lossy(); }
  bool types_lossy() const;
  // Whether it gives out a number that is another constant on each path, or a list of another length.
  bool Chooses() const;
  std::vector<Type> Types() const;
  // The leaves of the values `of`, and of the changed parts, in the current state.
  Status AppendLeaves(std::span<const Val> of, std::vector<ValueId>& leaves) const;
  // Takes in what the current state says of shared memory. Whether that was news.
  Result<bool> Learn(std::span<const Val> of, const Snapshot& before, ValueId round = {});
  // The values made of the leaves; the current state becomes what they say.
  Result<Vals> Build(std::span<const ValueId> leaves, ValueId round = {}) const;

 private:
  // Whether the cell is an object's: its attributes are described one by one.
  static bool IsObject(const Cell& cell) { return cell.object || !cell.attributes.empty(); }
  bool HasStorage(StorageId id) const;
  void AddStorage(StorageId id);
  Skeleton* FindAttribute(uint32_t cell, std::string_view name);
  Status JoinStorages(std::span<const Path> paths, const Snapshot& before);
  void JoinCell(std::span<const Path> paths, uint32_t cell, const Snapshot& before);
  // Takes in whether the row is still the same element of the same list. Whether that it is not was news.
  bool TakeInRow(uint32_t cell, const Snapshot& before);
  // The rows that still are, with what was known of them before.
  std::vector<std::pair<uint32_t, TakenRow>> StandingRows() const;
  Status JoinAttributes(std::span<const Path> paths, uint32_t cell, uint32_t known);
  Result<bool> TakeInStorages(const Snapshot& entered, const Snapshot& before);
  bool TakeInCell(uint32_t cell, const Snapshot& before);
  Result<bool> TakeInAttributes(uint32_t cell, const Snapshot& entered, const Snapshot& before);
  Result<bool> TakeInAttribute(uint32_t cell, const std::string& name, const Val& value, const Snapshot& entered, const Snapshot& before);
  void AppendParts(const Skeleton& skeleton, const Val& value, bool contents, std::vector<Kinship::Part>& parts) const;
};

}  // namespace flambeau::script
