// What a TorchScript value is while a program is specialised: known now, or
// computed by the ATen program that comes out.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/ids.h"
#include "reader/torchscript/graph.h"
#include "support/named_list.h"
#include "support/shared_store.h"

namespace flambeau::script {

struct Val;
using Vals = std::vector<Val>;

// prim::Uninitialized, or what a failed node would have made.
struct Undefined {
  std::shared_ptr<const std::string> because;  // how paths made different things of it, if they did
  bool unknown = false;                        // because names what nobody knows
};
struct Nothing {};    // Python's None
struct TensorVal {
  ValueId id;  // as the program names it; Emitter::Read gives its value of now
};
// A Python number that is known at run time only; the type of the value says
// whether it is an int, a float or a bool.
struct NumberVal {
  ValueId id;
};
struct DeviceVal {
  std::string text;
};
// Lists, dicts and objects are mutable, and shared by reference: a cell each.
struct ListVal {
  uint32_t cell;
};
struct DictVal {
  uint32_t cell;
};
struct ObjectVal {
  uint32_t cell;
};
struct TupleVal {
  std::shared_ptr<const Vals> elements;
};
// None on some paths through the program, and a value on others.
struct OptionalVal {
  ValueId present;                   // a bool
  std::shared_ptr<const Val> value;  // where it is present
};
struct EnumVal {
  std::shared_ptr<const torchscript::EnumConstant> constant;
};

struct Quantized;
// Integers on a grid: what torch calls a quantized tensor.
struct QuantizedVal {
  std::shared_ptr<const Quantized> value;
};

struct Val {
  using Storage = std::variant<Undefined, Nothing, bool, int64_t, double, std::complex<double>, std::string, DeviceVal,
                               EnumVal, TensorVal, NumberVal, ListVal, DictVal, TupleVal, ObjectVal, QuantizedVal,
                               OptionalVal>;
  Storage storage;

  Val() = default;
  template <class T>
    requires std::is_constructible_v<Storage, T&&> && (!std::is_same_v<std::remove_cvref_t<T>, Val>)
  Val(T&& value) : storage(std::forward<T>(value)) {}

  template <class T>
  const T* As() const {
    return std::get_if<T>(&storage);
  }
  template <class T>
  bool Is() const {
    return std::holds_alternative<T>(storage);
  }
  bool IsConstantNumber() const { return Is<bool>() || Is<int64_t>() || Is<double>() || Is<std::complex<double>>(); }
  bool IsNumber() const { return IsConstantNumber() || Is<NumberVal>(); }
  // A constant int (or bool, which is one).
  std::optional<int64_t> AsInt() const {
    if (const auto* i = As<int64_t>()) return *i;
    if (const auto* b = As<bool>()) return *b;
    return std::nullopt;
  }
};

// Stand for (data - zero point) * scale.
struct Quantized {
  TensorVal data;         // int8, uint8 or int32; views of the tensor share its memory
  Val scale, zero_point;  // numbers, or tensors: of one element, or one for each index of `axis`
  std::optional<int64_t> axis;
};

// What unbind, split, chunk or tensor_split cut a tensor into, as a list of run-time length.
struct Pieces {
  ValueId sequence;  // valid while the list is this sequence
  Val tensor;
  Val size;    // of each piece, along `dim`; None where a piece lacks that dimension, and with `bounds`
  Val bounds;  // a tensor: where each piece begins, and the next one, where that one ends; None where all begin at multiples of `size`
  Val count;   // of the pieces; None with `size` and `bounds`: as many as there are elements
  int64_t dim = 0;
};

// Where a tensor was taken out of a list of run-time length.
struct TakenElement {
  ValueId sequence;  // the list's value at that time
  Val place;
};

struct Cell;

// Where a list or dict was taken out of a list of these.
struct TakenRow {
  uint32_t list;
  Val place;
  std::shared_ptr<const Cell> contents;  // of the list: while it has these, the row is its element at the place
  bool apart;                            // no other element of the list is the same row (Cell::apart)
  bool sole;                             // nor an element of another list (Cell::sole)
};

using NamedVal = std::pair<std::string, Val>;
using Attributes = NamedList<NamedVal, &NamedVal::first>;

// The contents of a mutable value.
struct Cell {
  Vals elements;                               // of a list
  std::optional<ValueId> sequence;             // a list of which the length is known at run time only
  bool of_numbers = false;                     // the sequence's tensors stand for Python's numbers
  std::vector<Cell> columns;                   // of a list of tuples or dicts of run-time length: a list for each field
  Vals keys;                                   // of such a list of dicts: the key of each column
  bool has_rows = false;                       // a list of lists: its columns are the elements and bounds (rows.h)
  bool apart = false;                          // it has columns, and no two of its elements are the same list or dict (held.h)
  bool sole = false;                           // no list with columns has an element of this one, unless it may be the same list
  bool is_row = false;                         // an element of a list with columns, which owns the contents: writes must reach it
  std::shared_ptr<const TakenRow> taken;       // the list with columns that it was taken out of
  std::shared_ptr<const Pieces> pieces;        // what the sequence was cut from: its elements are views of that
  std::vector<std::pair<Val, Val>> entries;    // of a dict, in insertion order
  Attributes attributes;                       // of an object, as far as they were read or written
  std::string class_name;                      // of an object
  torchscript::ObjectId object;                // what the archive has of an object; invalid for one made by the program
  bool shared = false;         // it may be the same as any other shared cell
  std::vector<uint32_t> kin;   // cells that it may be the same as, shared or not
  bool lost = false;           // its contents are unknown: it must not be read
  std::shared_ptr<const std::string> lost_because = {};  // how paths or rounds made different things of it, if they did

  // Makes this the cell of a copy, which nothing else refers to.
  void Unshare() {
    shared = is_row = false;
    taken.reset();
    kin.clear();
  }
};

// All mutable values. A copy is a snapshot; cells are shared until written.
class Heap {
 public:
  uint32_t Add(Cell cell) {
    const uint32_t added = cells_.Add(std::make_shared<Cell>(std::move(cell))).index;
    Watch(added);
    return added;
  }
  const Cell& operator[](uint32_t cell) const { return *cells_[CellId{cell}]; }
  // As it is now, whatever will be written.
  std::shared_ptr<const Cell> Contents(uint32_t cell) const { return cells_[CellId{cell}]; }
  // For writing: a copy, if a snapshot has the cell too.
  Cell& Edit(uint32_t cell) {
    std::shared_ptr<Cell>& own = cells_.Edit(CellId{cell});
    if (own.use_count() > 1) own = std::make_shared<Cell>(*own);
    Watch(cell);
    return *own;
  }
  uint32_t size() const { return cells_.size(); }
  // In order, with others: the cells that have columns, are rows that are not lost, or were taken out of a list that is still
  // the same (held.h). Those of a program that writes rows one after another are few, however many it wrote.
  const std::vector<uint32_t>& watched() const { return watched_; }
  // The cells of a snapshot that have been edited since, in order.
  std::vector<uint32_t> EditedSince(const Heap& before) const {
    std::vector<uint32_t> edited;
    cells_.ForEachTouched(before.cells_, [&](CellId cell) {
      if (cells_[cell] != before.cells_[cell]) edited.push_back(cell.index);
    });
    return edited;
  }

 private:
  using CellId = Id<struct CellTag>;

  bool MustBeWatched(uint32_t cell) const;
  void Watch(uint32_t cell);

  SharedStore<CellId, std::shared_ptr<Cell>> cells_;
  std::vector<uint32_t> watched_;  // all that were edited since it was last looked through, too
  size_t kept_ = 0;                // of these, at that time
};

// Whether the two cells may be the same list, dict or object.
bool MayBeSame(const Heap& heap, uint32_t a, uint32_t b);

// A list of known length of which an element was taken at a place that only a run knows. If that is written, the list
// becomes the sequence, as the element is a view of it.
struct OpenedList {
  uint32_t cell;
  std::shared_ptr<const Cell> contents;
  ValueId sequence;
};

// What an optional is where it is not None; of others, the value itself.
const Val& Present(const Val& value);
// Of a list whose length is known, or a tuple; null of others.
const Vals* ElementsOf(const Val& value, const Heap& heap);
// The list; null of another value.
const Cell* ListOf(const Val& value, const Heap& heap);
// The values of a dict, in the order of its keys.
Vals EntryValues(const Cell& dict);
// Whether two values are known to be the same: equal constants, or one value of the program.
bool SameConstant(const Val& a, const Val& b);
// The cell of a list or dict.
std::optional<uint32_t> CellOf(const Val& value);

// Whether a recursive walk over what the value holds is short. Lists of Any may
// nest without end, hold one list many times, or themselves.
bool IsBounded(const Val& value, const Heap& heap);

// A list of run-time length has at most so many lists for the fields of its elements: tuples may share parts.
constexpr size_t kMaxFields = 2048;
// Whether the value, as such an element, has no more fields, with those of tuples, dicts and lists in it.
bool HasFewFields(const Val& value, const Heap& heap);

}  // namespace flambeau::script
