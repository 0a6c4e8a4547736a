// What a value looks like where paths of a program meet: which parts are the
// same on each path, and which are tensors and numbers that a nested graph
// must give out.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "script/emitter.h"
#include "script/value.h"

namespace flambeau::script {

// Whether `nothing` is a torch.zeros(0) that torch.cat would leave out beside `rows`.
bool TakesForRowsOf(const Type& nothing, const Type& rows, const ExprPool& exprs);

class Skeleton {
 public:
  // Of the value on the first path. With `known`, a tensor or number that all
  // paths name alike need not be given out, nor a list or dict that is one of so
  // many first cells: those that were there before the paths parted.
  static Skeleton Of(const Val& value, Emitter& emit, const Heap& heap, std::optional<uint32_t> known = {});
  // Of a list or dict that the paths change, one of so many first cells: what it holds that none of them changes need not be given
  // out.
  static Skeleton OfContents(const Val& container, Emitter& emit, const Heap& heap, uint32_t known);
  static Skeleton OfTensor(Type type);

  // Takes in the value of another path; `heap` is that of the path. Whether
  // that changed anything.
  bool Unify(const Val& value, Emitter& emit, const Heap& heap);
  // Whether the paths differ in more than a skeleton can say: in kind, dtype or rank.
  bool lossy() const { return lossy_ || std::ranges::any_of(children_, &Skeleton::lossy); }
  // Whether it is or holds a number that is another constant on each path, or a list that has another length on
  // each.
  bool chooses() const { return chooses_ || std::ranges::any_of(children_, &Skeleton::chooses); }
  // The tensors and numbers to be given out, read at the end of the current
  // block, where `value` is the value of this path.
  Status AppendLeaves(const Val& value, Emitter& emit, const Heap& heap, std::vector<ValueId>& leaves) const;
  void AppendTypes(std::vector<Type>& types) const;
  // The tensors, lists and dicts of `value` that Build makes anew, in Build's order.
  void AppendParts(const Val& value, const Emitter& emit, const Heap& heap, Vals& parts) const;
  // The value with these leaves, from `next` on.
  Val Build(std::span<const ValueId> leaves, size_t& next, Heap& heap) const;

  // Of a list of run-time length that holds what all of these do; nullopt where no list can.
  static std::optional<Skeleton> OfLists(std::span<const Cell> lists, Emitter& emit, const Heap& heap);
  // The lists one after another, which are such as this.
  Result<Cell> Joined(std::span<const Cell> lists, Emitter& emit) const;

 private:
  static Skeleton OfBounded(const Val& value, Emitter& emit, const Heap& heap, std::optional<uint32_t> known);
  // What the list or dict is to others.
  void NoteMarks(const Val& value, const Heap& heap);
  // Of a container, an optional or a quantized tensor: its children.
  void TakeParts(const Val& value, Emitter& emit, const Heap& heap, std::optional<uint32_t> known);
  enum class Kind { kFixed, kTensor, kNumber, kList, kTable, kTuple, kDict, kQuantized, kOptional, kConflict, kUndefined };

  bool Conflict(std::string reason);
  void MakeOptional(Skeleton value);
  bool UnifyAbsent(const Undefined& undefined, Emitter& emit, const Heap& heap);
  bool Release(const Val& value);
  // Of values of the kind that this is.
  bool UnifyKind(const Val& value, Emitter& emit, const Heap& heap);
  bool UnifyElements(const Val& value, Emitter& emit, const Heap& heap);
  bool UnifyEntries(const Cell& dict, Emitter& emit, const Heap& heap);
  bool UnifyType(const Type& other, Emitter& emit);
  bool ForgetSymbols(Emitter& emit);
  // Becomes a list of run-time length, with what this holds and `list`, of which another path has another number.
  bool OpenLength(const Cell& list, Emitter& emit, const Heap& heap);
  // Of a list of run-time length: takes in an element, the elements of another list. A list of which nothing is known yet becomes
  // a sequence, a table with a list for each field of tuples and dicts, or one of the elements and bounds of lists.
  bool AddElement(const Skeleton& element, Emitter& emit);
  bool AddList(const Skeleton& list, Emitter& emit);
  bool AddList(const Cell& list, Emitter& emit, const Heap& heap);
  bool AddSequence(Type type, bool of_numbers, Emitter& emit);
  // Becomes a table of so many columns, or one of rows.
  bool BeTable(size_t columns, const Vals& keys, bool has_rows);
  // A list of which nothing is known but that it is one.
  static Skeleton OfNothing();
  bool IsNothing() const { return kind_ == Kind::kList && children_.empty(); }
  bool IsList() const;
  // Whether it is a tuple or dict.
  bool HasFields() const;
  // As such an element.
  bool HasFewFields() const;
  // Lists and dicts that the list holds, and has as its own once its length is known at run time only. Whether that, or whether no
  // two of them are one, was news.
  bool NoteRows(const Cell& list, const Heap& heap);
  Kind KindOfFixed() const;
  bool ReleaseContainer();
  Result<ValueId> AsRows(ValueId tensor, Emitter& emit) const;
  Status AppendList(const Cell& list, Emitter& emit, std::vector<ValueId>& leaves) const;
  Cell BuildList(std::span<const ValueId> leaves, size_t& next) const;
  Status AppendPlaceholder(Emitter& emit, std::vector<ValueId>& leaves) const;

  Kind kind_ = Kind::kUndefined;
  Val fixed_;                       // kFixed
  Type type_;                       // kTensor, kNumber
  std::vector<Skeleton> children_;  // of a list, tuple or dict; of an optional, the value; of a table, its columns
  Vals keys_;                       // of a dict; of a table, those of the dicts in it
  std::shared_ptr<const std::string> because_;  // kConflict
  std::vector<Expr> fresh_;         // sizes that were made here
  bool lossy_ = false;
  bool chooses_ = false;
  std::vector<uint32_t> rows_;      // cells that the list holds
  bool has_rows_ = false;           // a table that is a list of lists
  bool is_table_ = false;           // a list of tuples, dicts or lists of run-time length: its children are its columns
  bool of_numbers_ = false;         // the elements of the list of run-time length
  bool held_ = false;               // on some path it is an element of a list of run-time length (Cell::is_row)
  bool lost_ = false;               // on some path the contents of the fixed list or dict are unknown (Cell::lost)
  bool apart_ = false;              // of a list: Cell::apart
  bool sole_ = false;               // of a list: Cell::sole
  bool joined_ = false;             // the integer is a symbol that was made here
};

}  // namespace flambeau::script
