// What each storage of a program holds as a graph of pure values is built:
// storages, the views of them, and the current value of each.
//
// A write gives a storage a new generation, and a value to the written view
// alone. Views below it are derived from that when somebody reads them, and it
// is put back into those above when somebody reads one of them; so what is
// emitted is bounded by the reads that follow writes, however deep the views are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "diag/sink.h"
#include "ir/graph.h"
#include "pass/aten/views.h"
#include "support/shared_partition.h"
#include "support/shared_store.h"

namespace flambeau {

using ViewId = Id<struct ViewTag>;
using StorageId = Id<struct StorageTag>;

// The part of a view that one round of a loop touches; no earlier round touches the same part.
struct RoundPart {
  ValueId round;     // the number of the round
  uint32_t how = 0;  // which of the numbers that grow with the round selects the part
  ViewId of;         // the view; no two of its elements lie at one place
  int64_t dim = 0;   // the dimension in which that number is a position
  uint32_t cut = 0;  // 0: of single elements; else of the pieces of that cut
  friend auto operator<=>(const RoundPart&, const RoundPart&) = default;
};

class Storages {
 public:
  using HandleId = Id<struct HandleTag>;  // a tensor object: values that are names of one share it

  Storages(Graph& graph, Sink& sink) : graph_(graph), sink_(sink) {}
  // A copy is a snapshot; assigning it goes back to where the program stood.
  Storages(const Storages&) = default;
  Storages& operator=(const Storages& other);

  // The view that a tensor of the captured program is; until something else is
  // set, the whole of a storage of its own.
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
  // The two may share storage.
  // `if_one`: only where a size that the run decides is 1; a read for which that matters warns.
  void SetMaybe(ValueId tensor, ValueId other, bool if_one = false);
  // `tensor` may share what earlier rounds put into `other`: writes to this round's part do not reach it.
  void SetMaybeBefore(ValueId tensor, StorageId other, const RoundPart& part);
  // Whether no two of the tensors may share storage.
  bool AreApart(std::span<const ValueId> tensors);

  // No two tensors that the sequence holds share memory.
  void SetDistinct(ValueId sequence) { views_.Edit(ViewOf(sequence)).distinct = true; }
  bool IsDistinct(ValueId sequence) { return views_[ViewOf(sequence)].distinct; }
  // Whether, besides, the sequence has a storage of its own, of which its elements are views.
  bool OwnsElements(ValueId sequence);

  // Registers a number of 0 or more that differs from round to round; `how` tells apart several such numbers of one round.
  void AddRoundNumber(ValueId number, ValueId round, uint32_t how);
  std::optional<ValueId> RoundOf(ValueId number) const;
  // Whether some part is known to be at that number.
  bool IsPosition(ValueId number) const { return positions_->contains(number.index); }
  // The tensor is the piece number `number` of those that a tensor was cut into along a dimension.
  void SetPiece(ValueId tensor, ValueId number, int64_t dim, uint32_t cut);
  // The part of the storage that the tensor may share; nullopt if it is more than one round's part.
  std::optional<RoundPart> PartOf(ValueId tensor, StorageId storage);

  // The current value. Nodes are inserted before `reader`.
  ValueId Read(ValueId tensor, NodeId reader);
  // The same for a reader of its sizes alone, which no write changes: nothing is reported.
  ValueId ReadSizes(ValueId tensor, NodeId reader);
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

  // Whether several elements of the view lie at one place in memory.
  bool Overlaps(ViewId view) const { return static_cast<bool>(views_[view].overlap); }
  // Whether the view shows the conjugates of what its storage holds.
  bool HasOtherValues(ViewId view) const;

  // What the whole storage held when it was last put together.
  ValueId Whole(ViewId view) const { return views_[Root(view)].value; }

  // The value that an input or constant has in the end, if it was written; `reshaped`: also if it is another part of its memory,
  // or lies in other memory, than it did, and then as it is now. Nodes are inserted before `end`.
  std::optional<ValueId> Final(ValueId tensor, NodeId end, bool reshaped);
  // Whether its storage was written since it came to be.
  bool IsWritten(ValueId tensor) { return storages_[StorageOf(tensor)].generation > 0; }
  // Whether no other tensor may be the same memory, or part of it.
  bool IsAlone(ValueId tensor);
  // Whether a write to another tensor may have changed it.
  bool MaybeWritten(ValueId tensor) const;
  // Whether the tensor, a result of a node, may lie in another tensor's memory, at an unknown place.
  bool MayBePart(ValueId tensor);

  // --- across nested graphs -------------------------------------------------
  // What happened since a snapshot to the storages that it has.
  struct Difference {
    std::vector<StorageId> written;
    std::vector<ValueId> rebound;  // tensors that are other memory now, or have another shape, by their first names
  };
  Difference Since(const Storages& before) const;
  StorageId StorageOf(ValueId tensor) { return views_[ViewOf(tensor)].storage; }
  // The first tensor of the storage; invalid where an operator made it for out=.
  ValueId Tensor(StorageId storage) const { return storages_[storage].tensor; }
  uint32_t count() const { return storages_.size(); }
  uint32_t view_count() const { return views_.size(); }
  ViewId Root(StorageId storage) const { return storages_[storage].root; }
  // A value that came out of a nested graph may share memory with this storage, or that part of it.
  void SetMaybe(ValueId tensor, StorageId other, const std::optional<RoundPart>& part = {}) { LinkStorages(StorageOf(tensor), other, part); }
  // The same of each of these pairs, which say all that a tensor may be: two are not one because a storage may be either.
  void SetMaybe(std::span<const std::pair<ValueId, StorageId>> pairs);
  // Whether the two may share memory: not where some storage may be either of them, but both never are it at once.
  bool MayBeOne(ValueId tensor, ValueId other);
  // The tensor's storage, and those that may be the same memory, unless that may be any.
  std::vector<StorageId> MayShare(ValueId tensor);
  // Whether any storage may be the same memory: of too many that may, none is listed.
  bool MayBeAny(ValueId tensor) { return storages_[StorageOf(tensor)].alone_until.has_value(); }
  // From now on that is so, for all storages that there are.
  void SetAny(ValueId tensor) { SetAny(StorageOf(tensor)); }
  // Whether several elements of the tensor, or of one that a sequence holds, may lie at one place in memory.
  bool MayHoldOverlaps(ValueId tensor);
  // That is so, and nobody knows which: where a part of it was written, all of it may have changed.
  void SetOverlapping(ValueId tensor) { storages_.Edit(StorageOf(tensor)).overlapping = true; }
  // The storages of a snapshot that a write to another one may have changed since.
  std::vector<StorageId> DoubtfulSince(const Storages& before) const;
  // That it may have.
  void SetDoubtful(StorageId storage) { storages_.Edit(storage).doubtful = true; }
  // It was written, and nobody knows where: so may all have been that may share its memory.
  void SetOverwritten(StorageId storage);
  // The first name of the tensor object that `tensor` is a name of.
  ValueId FirstName(ValueId tensor);
  // The tensor object that `tensor` is a name of.
  HandleId ObjectOf(ValueId tensor);
  uint32_t object_count() const { return handles_.size(); }
  // Objects of one group may be one, on a path that has met others: reading one is refused once another's shape was changed.
  const SharedPartition<HandleId>& maybe_one() const { return maybe_one_; }
  void SetMaybeOne(HandleId object, HandleId other) { maybe_one_.Merge(object, other); }
  // Objects whose shape may have been changed by another name.
  std::span<const HandleId> doubtful_objects() const { return doubtful_objects_; }
  void SetDoubtful(HandleId object);

 private:
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
    ViewId alike = {};      // the view nearest to the storage that has the same elements at the same positions
    std::optional<RoundPart> part;
  };
  struct Link {
    StorageId storage;
    uint32_t generation;  // of `storage` then; with `before`, without writes to the part
    std::optional<RoundPart> part;
    bool before = false;
    bool if_one = false;  // only where a size that the run decides is 1, which is assumed not to be
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
    std::vector<Link> links;              // storages that may be this one, with their generations then
    std::vector<StorageId> linked;        // those that have, or had, a link to this one
    std::vector<std::pair<RoundPart, uint32_t>> part_writes;  // how many generations changed a part alone
    std::optional<uint64_t> alone_until;  // it may be any storage: after so many writes in all, any may have changed it
    uint32_t any_of = 0;                  // with that: of so many, the first ones
    bool doubtful = false;                // a write to another storage may have changed it
    bool has_views = false;
    bool overlapping = false;             // several of its elements may lie at one place in memory
  };
  static constexpr size_t kMaxLinks = 64;

  ViewId AddStorage(ValueId tensor, ValueId value);
  ViewId AddView(ViewId base, std::vector<ViewStep> steps, ValueId value, OriginId origin);
  // Invalid if nothing is known of the tensor.
  HandleId HandleOf(ValueId tensor) const;
  void SetHandle(ValueId tensor, HandleId handle);
  void SetRoot(ValueId tensor, ViewId root);
  bool IsCurrent(ViewId view) const { return views_[view].generation == storages_[views_[view].storage].generation; }
  // Puts what was written back into the views above it, up to one of which
  // `view` is a part, or is.
  void PutBackTo(ViewId view, NodeId reader);
  bool MaybeStale(const Storage& storage) const;
  // Warns, once a storage, of the assumption that sizes are not 1, where a link that depends on one is stale.
  void WarnOfOnes(const Storage& storage, ValueId tensor, NodeId reader);
  Location LocationOfRead(ValueId tensor, NodeId reader) const;
  std::string NameOf(ValueId tensor) const;
  bool IsStale(const Link& link) const;
  uint32_t PartWrites(const Link& link) const;
  std::optional<RoundPart> PartOfNumber(ViewId view, ValueId number, int64_t dim, uint32_t cut);
  std::optional<RoundPart> PartOfStep(ViewId viewed, const ViewStep& step);
  void SetAny(StorageId storage);
  void AddLink(StorageId to, Link link);
  void LinkStorages(StorageId a, StorageId b, const std::optional<RoundPart>& part, bool if_one = false);
  // `kin`: the links of `b` of which `a` may be, too.
  void LinkStorages(StorageId a, StorageId b, const std::vector<Link>& kin, const std::optional<RoundPart>& part, bool if_one);

  Graph& graph_;
  Sink& sink_;
  struct Handle {
    ViewId view;
    ValueId first_name;
  };
  // Gives the object another view; what may be the same object has another shape then, too.
  void SetViewOf(ValueId tensor, ViewId view);
  // Whether nothing is known of the tensor's shape, which is reported.
  bool HasDoubtfulShape(ValueId tensor, NodeId reader);
  SharedStore<ValueId, HandleId> handle_of_;
  SharedStore<HandleId, Handle> handles_;
  SharedPartition<HandleId> maybe_one_;
  SharedStore<ValueId, ViewId> roots_;  // of storages that began with that value; of inputs and constants, what they are
  SharedStore<ViewId, View> views_;
  SharedStore<StorageId, Storage> storages_;
  SharedStore<Id<struct AnyTag>, StorageId> any_;  // those that may be any one
  struct RoundNumber {
    ValueId number, round;
    uint32_t how;
  };
  std::vector<RoundNumber> round_numbers_;  // of the loops around the program's place
  // On all paths, of which each has a copy of this:
  std::shared_ptr<std::unordered_set<uint32_t>> positions_ = std::make_shared<std::unordered_set<uint32_t>>();
  std::shared_ptr<std::unordered_set<uint32_t>> warned_of_ones_ = std::make_shared<std::unordered_set<uint32_t>>();  // roots of storages
  std::vector<HandleId> doubtful_objects_;
  uint64_t writes_ = 0;
  uint32_t maybe_written_ = 0;  // so many storages, the first ones, may be one that was written and that may be any
};

}  // namespace flambeau
