// What each storage of a program holds as a graph of pure values is built:
// storages, the views of them, and the values that these have just now.
//
// A write gives a storage a new generation, and a value to the written view
// alone. Views below it are derived from that when somebody reads them, and it
// is put back into those above when somebody reads one of them; so what is
// emitted is bounded by the reads that follow writes, however deep the views are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "diag/sink.h"
#include "ir/graph.h"
#include "pass/aten/views.h"
#include "support/shared_store.h"

namespace flambeau {

using ViewId = Id<struct ViewTag>;
using StorageId = Id<struct StorageTag>;

// Which part of a view a round of a loop looks at: another one than each round before it.
struct RoundPart {
  ValueId round;     // the number of the round
  uint32_t how = 0;  // which of the numbers that grow with it
  ViewId of;         // no two elements of it are one
  int64_t dim = 0;   // where that number is a position
  uint32_t cut = 0;  // into single elements, or else into pieces as somebody cut it
  friend auto operator<=>(const RoundPart&, const RoundPart&) = default;
};

class Storages {
 public:
  Storages(Graph& graph, Sink& sink) : graph_(graph), sink_(sink) {}
  // A copy is a snapshot; assigning it goes back to where the program stood.
  Storages(const Storages&) = default;
  Storages& operator=(const Storages& other);

  // The view that a tensor of the program as captured is; its own storage, as a
  // whole, until something else is said.
  ViewId ViewOf(ValueId tensor);
  bool Knows(ValueId tensor) const;
  // `tensor` is another name of what `other` names: a write by either, even to
  // the shape, is seen by both.
  void SetSame(ValueId tensor, ValueId other);
  // `tensor`, defined by a node that is kept, is a view of `base`.
  void SetView(ValueId tensor, ViewId base, std::vector<ViewStep> steps, OriginId origin);
  // `tensor`, an input or constant, is a part of `base`, another one.
  void SetInputView(ValueId tensor, ViewId base, std::vector<ViewStep> steps);
  // All names of `tensor` become a view, of which `value` is the value; without
  // steps they become `base` itself.
  void Rebind(ValueId tensor, ViewId base, std::vector<ViewStep> steps, ValueId value, OriginId origin);
  // All names of `tensor` become what `other` is.
  void Rebind(ValueId tensor, ValueId other);
  // All names of `tensor` become a storage of their own.
  void Detach(ValueId tensor, ValueId value);
  // The two may share storage, nobody knows.
  // `if_one`: that is so only where a size that is known at run time only is 1, which is warned of if it matters.
  void SetMaybe(ValueId tensor, ValueId other, bool if_one = false);
  // What was put there in rounds before this one: writes to this round's part do not reach it.
  void SetMaybeBefore(ValueId tensor, StorageId other, const RoundPart& part);
  // Whether nothing says that two of them may.
  bool AreApart(std::span<const ValueId> tensors);

  // No two tensors that the sequence holds share memory.
  void SetDistinct(ValueId sequence) { views_[ViewOf(sequence)].distinct = true; }
  bool IsDistinct(ValueId sequence) { return views_[ViewOf(sequence)].distinct; }
  // Whether in addition the sequence is memory of its own, that its elements are views of.
  bool OwnsElements(ValueId sequence);

  // A number of 0 or more that no other round of the loop has: `how` tells apart those of one round, alike in each.
  void AddRoundNumber(ValueId number, ValueId round, uint32_t how);
  std::optional<ValueId> RoundOf(ValueId number) const;
  // Whether something is said of parts at that number.
  bool IsPosition(ValueId number) const { return positions_.contains(number.index); }
  // The tensor is the piece number `number` of those that a tensor was cut into along a dimension.
  void SetPiece(ValueId tensor, ValueId number, int64_t dim, uint32_t cut);
  // Of the storage, what the tensor may share; nullopt if that is more than one round's part.
  std::optional<RoundPart> PartOf(ValueId tensor, StorageId storage);

  // The value now. Nodes are inserted before `reader`.
  ValueId Read(ValueId tensor, NodeId reader);
  // The same for who looks at its sizes alone, which no write changes: nothing is reported.
  ValueId ReadSizes(ValueId tensor, NodeId reader) { return Knows(tensor) ? Read(ViewOf(tensor), reader) : tensor; }
  ValueId Read(ViewId view, NodeId reader);
  // `value` becomes the value of the view. Nodes are inserted before `writer`.
  void Write(ViewId view, ValueId value, NodeId writer);

  // Whether a view was taken of any part of the storage.
  bool HasViews(ViewId view) const { return storages_[views_[view].storage].has_views; }

  // The view that is the whole storage.
  ViewId Root(ViewId view) const { return storages_[views_[view].storage].root; }
  TypeId type(ViewId view) const { return views_[view].type; }
  // Where the view starts in its storage.
  std::optional<Expr> Offset(ViewId view) const;

  // Whether elements of the view are one in memory.
  bool Overlaps(ViewId view) const { return static_cast<bool>(views_[view].overlap); }
  // Whether the view shows other numbers than its storage holds: their conjugates.
  bool HasOtherValues(ViewId view) const;

  // What the whole storage held when it was last put together.
  ValueId Whole(ViewId view) const { return views_[Root(view)].value; }

  // The value that an input or constant has in the end, if it was written.
  // Nodes are inserted before `end`.
  std::optional<ValueId> Final(ValueId tensor, NodeId end);
  // Whether its storage was written since it came to be.
  bool IsWritten(ValueId tensor) { return storages_[StorageOf(tensor)].generation > 0; }
  // Whether no other tensor may be the same memory, or part of it.
  bool IsAlone(ValueId tensor);
  // Whether a write may have gone to it unseen.
  bool MaybeWritten(ValueId tensor) const;
  // Whether the tensor, which a node made, may lie in memory of another: nobody knows where.
  bool MayBePart(ValueId tensor);

  // --- across nested graphs -------------------------------------------------
  // What happened since a snapshot to the storages that it has.
  struct Difference {
    std::vector<StorageId> written;
    std::vector<ValueId> rebound;  // tensors that are other memory now, or have another shape, by their first names
  };
  Difference Since(const Storages& before) const;
  StorageId StorageOf(ValueId tensor) { return views_[ViewOf(tensor)].storage; }
  // What the storage was first the memory of; invalid where an operator made it for out=.
  ValueId Tensor(StorageId storage) const { return storages_[storage].tensor; }
  uint32_t count() const { return storages_.size(); }
  uint32_t view_count() const { return views_.size(); }
  ViewId Root(StorageId storage) const { return storages_[storage].root; }
  // A value that came out of a nested graph may share memory with this storage, or that part of it.
  void SetMaybe(ValueId tensor, StorageId other, const std::optional<RoundPart>& part = {}) { LinkStorages(StorageOf(tensor), other, part); }
  // The tensor's storage, and those that may be the same memory.
  std::vector<StorageId> MayShare(ValueId tensor);
  // Whether a write may have gone to the storage unseen; that one has.
  bool IsDoubtful(StorageId storage) const { return MaybeStale(storages_[storage]); }
  void SetDoubtful(StorageId storage) { storages_[storage].doubtful = true; }
  // The first name of the tensor object that `tensor` is a name of.
  ValueId FirstName(ValueId tensor);

 private:
  using HandleId = Id<struct HandleTag>;  // a tensor object: values that are names of one share it
  struct View {
    ViewId parent;
    StorageId storage;
    ViewStep step;  // from the parent
    TypeId type;
    ValueId value;
    uint32_t generation;
    OriginId origin;
    uint32_t depth = 0;
    ViewId overlap = {};    // the view on the way to the storage, nearest to it, whose elements overlap
    bool distinct = false;  // a sequence, no two tensors of which share memory
    ViewId alike = {};      // of those that have the same elements where it has them, the one nearest to the storage
    std::optional<RoundPart> part;
  };
  struct Link {
    StorageId storage;
    uint32_t generation;  // if put there before: not counting writes to the part
    std::optional<RoundPart> part;
    bool before = false;
    bool if_one = false;  // where a size that is known at run time only is 1, which is taken not to be
    friend bool operator==(const Link&, const Link&) = default;
  };
  struct Storage {
    ViewId root;
    ValueId tensor;  // as captured
    uint32_t generation = 0;
    // The view that was written last. Those above it still have the values of
    // before; all but those above and below it are out of date.
    ViewId newest;
    OriginId written_by;
    std::vector<Link> links;              // storages that may be this one, as they were then
    std::vector<std::pair<RoundPart, uint32_t>> part_writes;  // how many generations were of a part alone
    std::optional<uint64_t> alone_until;  // too many to list: any write counts after that many
    bool doubtful = false;                // a write may have gone to it unseen
    bool has_views = false;
  };
  static constexpr size_t kMaxLinks = 64;

  ViewId AddStorage(ValueId tensor, ValueId value);
  ViewId AddView(ViewId base, std::vector<ViewStep> steps, ValueId value, OriginId origin);
  HandleId& HandleOf(ValueId tensor);
  bool IsCurrent(ViewId view) const { return views_[view].generation == storages_[views_[view].storage].generation; }
  // Puts what was written back into the views above it, up to one of which
  // `view` is a part, or is.
  void PutBackTo(ViewId view, NodeId reader);
  bool MaybeStale(const Storage& storage) const;
  // Says, once a storage, what is taken for granted where links of sizes of 1 are stale.
  void WarnOfOnes(const Storage& storage, ValueId tensor, NodeId reader);
  Location LocationOfRead(ValueId tensor, NodeId reader) const;
  std::string NameOf(ValueId tensor) const;
  bool IsStale(const Link& link) const;
  uint32_t PartWrites(const Link& link) const;
  std::optional<RoundPart> PartOfNumber(ViewId view, ValueId number, int64_t dim, uint32_t cut);
  std::optional<RoundPart> PartOfStep(ViewId viewed, const ViewStep& step);
  void AddLink(StorageId to, Link link);
  void AddLinks(StorageId to, StorageId from, const std::optional<RoundPart>& part, bool if_one);
  void LinkStorages(StorageId a, StorageId b, const std::optional<RoundPart>& part, bool if_one = false);

  Graph& graph_;
  Sink& sink_;
  struct Handle {
    ViewId view;
    ValueId first_name;
  };
  SharedStore<ValueId, HandleId> handle_of_;
  SharedStore<HandleId, Handle> handles_;
  SharedStore<ValueId, ViewId> roots_;  // of storages that began with that value; of inputs and constants, what they are
  SharedStore<ViewId, View> views_;
  SharedStore<StorageId, Storage> storages_;
  struct RoundNumber {
    ValueId number, round;
    uint32_t how;
  };
  std::vector<RoundNumber> round_numbers_;  // of the loops around the program's place
  std::unordered_set<uint32_t> positions_;  // on all paths
  std::unordered_set<uint32_t> warned_of_ones_;  // roots of storages, on all paths
  uint64_t writes_ = 0;
};

}  // namespace flambeau
