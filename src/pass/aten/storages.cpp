#include "pass/aten/storages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace flambeau {

Storages::HandleId Storages::HandleOf(ValueId tensor) const {
  return handle_of_.Contains(tensor) ? handle_of_[tensor] : HandleId();
}

void Storages::SetHandle(ValueId tensor, HandleId handle) {
  if (!handle_of_.Contains(tensor)) handle_of_.Grow(graph_.value_capacity());
  handle_of_.Edit(tensor) = handle;
}

void Storages::SetRoot(ValueId tensor, ViewId root) {
  if (!roots_.Contains(tensor)) roots_.Grow(graph_.value_capacity());
  roots_.Edit(tensor) = root;
}

bool Storages::Knows(ValueId tensor) const { return static_cast<bool>(HandleOf(tensor)); }

ViewId Storages::AddStorage(ValueId tensor, ValueId value) {
  const StorageId storage = storages_.Add({.root = {}, .tensor = tensor, .newest = {}, .written_by = {}});
  const ViewId root = views_.Add({{}, storage, {}, graph_[value].type, value, 0, {}});
  views_.Edit(root).alike = root;
  Storage& added = storages_.Edit(storage);
  added.root = added.newest = root;
  return root;
}

ViewId Storages::ViewOf(ValueId tensor) {
  if (const HandleId handle = HandleOf(tensor)) return handles_[handle].view;
  const ViewId root = AddStorage(tensor, tensor);
  SetHandle(tensor, handles_.Add({root, tensor}));
  SetRoot(tensor, root);
  return root;
}

void Storages::SetSame(ValueId tensor, ValueId other) {
  ViewOf(other);
  SetHandle(tensor, HandleOf(other));
}

ViewId Storages::AddView(ViewId base, std::vector<ViewStep> steps, ValueId value, OriginId origin) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const StorageId storage = views_[base].storage;
    const TypeId type = steps[i].type;
    // Only the last step has a value; the others are derived when one asks.
    const bool last = i + 1 == steps.size();
    const uint32_t generation = storages_[storage].generation, depth = views_[base].depth + 1;
    const bool overlaps = MayOverlap(graph_, steps[i], views_[base].type);
    const ViewId above = views_[base].overlap;
    const ViewId alike = IsWhole(graph_, steps[i]) ? views_[base].alike : ViewId{};
    const auto part = PartOfStep(base, steps[i]);
    base = views_.Add({base, storage, std::move(steps[i]), type, last ? value : ValueId{},
                       last ? generation : UINT32_MAX, origin, depth, above, false, alike, part});
    if (!storages_[storage].has_views) storages_.Edit(storage).has_views = true;
    if (!alike) views_.Edit(base).alike = base;
    if (overlaps && !above) views_.Edit(base).overlap = base;
  }
  return base;
}

void Storages::SetView(ValueId tensor, ViewId base, std::vector<ViewStep> steps, OriginId origin) {
  const ViewId view = AddView(base, std::move(steps), tensor, origin);
  SetHandle(tensor, handles_.Add({view, tensor}));
}

void Storages::SetInputView(ValueId tensor, ViewId base, std::vector<ViewStep> steps) {
  SetView(tensor, base, std::move(steps), {});
  SetRoot(tensor, ViewOf(tensor));
}

void Storages::Rebind(ValueId tensor, ViewId base, std::vector<ViewStep> steps, ValueId value, OriginId origin) {
  ViewOf(tensor);
  SetViewOf(tensor, AddView(base, std::move(steps), value, origin));
}

void Storages::Rebind(ValueId tensor, ValueId other) {
  const ViewId view = ViewOf(other);
  ViewOf(tensor);
  SetViewOf(tensor, view);
}

void Storages::Detach(ValueId tensor, ValueId value) {
  ViewOf(tensor);
  SetViewOf(tensor, AddStorage({}, value));
}

// --- tensor objects that may be the same ---------------------------------------------------

void Storages::SetViewOf(ValueId tensor, ViewId view) {
  const HandleId own = HandleOf(tensor);
  handles_.Edit(own).view = view;
  maybe_one_.ForEachOther(own, [&](HandleId other) { SetDoubtful(other); });
}

Storages::HandleId Storages::ObjectOf(ValueId tensor) {
  ViewOf(tensor);
  return HandleOf(tensor);
}

void Storages::SetDoubtful(HandleId object) {
  if (std::ranges::find(doubtful_objects_, object) == doubtful_objects_.end()) doubtful_objects_.push_back(object);
}

bool Storages::HasDoubtfulShape(ValueId tensor, NodeId reader) {
  if (doubtful_objects_.empty() || std::ranges::find(doubtful_objects_, HandleOf(tensor)) == doubtful_objects_.end()) return false;
  sink_.Error(DiagnosticKind::kUnknownAliasing,
              fmt::format("reads {}, which may be the tensor whose shape was changed in place since, by another name that it has on one path alone",
                          NameOf(tensor)),
              LocationOfRead(tensor, reader), "clone one of the two tensors before the change");
  return true;
}

// --- storages that may be the same --------------------------------------------------------

// Writes to the part that the link is of.
uint32_t Storages::PartWrites(const Link& link) const {
  if (!link.before) return 0;
  const auto& writes = storages_[link.storage].part_writes;
  const auto found = std::ranges::find(writes, *link.part, &std::pair<RoundPart, uint32_t>::first);
  return found == writes.end() ? 0 : found->second;
}

bool Storages::IsStale(const Link& link) const {
  return storages_[link.storage].generation - PartWrites(link) != link.generation;
}

// A link to itself would make a storage stale by its own writes.
void Storages::AddLink(StorageId to, Link link) {
  link.generation = storages_[link.storage].generation - PartWrites(link);
  const std::vector<Link>& links = storages_[to].links;
  if (to == link.storage || std::ranges::find(links, link) != links.end()) return;
  storages_.Edit(link.storage).linked.push_back(to);
  storages_.Edit(to).links.push_back(std::move(link));
}

void Storages::SetAny(StorageId id) {
  Storage& storage = storages_.Edit(id);
  if (MaybeStale(storage)) storage.doubtful = true;
  storage.links = {};
  storage.alone_until = writes_;
  storage.any_of = storages_.size();
  any_.Add(id);
}

void Storages::SetMaybe(ValueId tensor, ValueId other, bool if_one) {
  const StorageId a = StorageOf(tensor), b = StorageOf(other);
  LinkStorages(a, b, views_[ViewOf(other)].part, if_one);
  if (if_one) return;
  const bool holds = graph_.type(tensor).kind == TypeKind::kSequence && MayHoldOverlaps(other);
  if (holds || storages_[b].overlapping) storages_.Edit(a).overlapping = true;
}

bool Storages::MayHoldOverlaps(ValueId tensor) {
  const ViewId view = ViewOf(tensor), overlapping = views_[view].overlap;
  // The pieces that a sequence holds lie apart.
  const bool repeats = overlapping && graph_.context()[views_[overlapping].type].is_tensor();
  return repeats || storages_[views_[view].storage].overlapping;
}

void Storages::SetMaybeBefore(ValueId tensor, StorageId other, const RoundPart& part) {
  const StorageId own = StorageOf(tensor);
  AddLink(own, {other, 0, part, true});
  AddLink(other, {own, 0, {}});
}

void Storages::LinkStorages(StorageId a, StorageId b, const std::optional<RoundPart>& part, bool if_one) {
  LinkStorages(a, b, std::vector<Link>(storages_[b].links), part, if_one);
}

void Storages::LinkStorages(StorageId a, StorageId b, const std::vector<Link>& kin, const std::optional<RoundPart>& part, bool if_one) {
  if (a == b) return;
  AddLink(a, {b, 0, part, false, if_one});
  for (Link link : kin) {
    link.if_one |= if_one;
    AddLink(a, link);
  }
  if (storages_[a].links.size() > kMaxLinks || storages_[b].alone_until) SetAny(a);
  // What else `a` may be is not theirs: a list may hold either of two tensors, which are not one for that.
  for (const Link& link : kin) AddLink(link.storage, {a, 0, {}, false, if_one || link.if_one});
  for (const Link& link : kin)
    if (storages_[link.storage].links.size() > kMaxLinks) SetAny(link.storage);
  AddLink(b, {a, 0, {}, false, if_one});
  if (storages_[b].links.size() > kMaxLinks) SetAny(b);
}

void Storages::SetMaybe(std::span<const std::pair<ValueId, StorageId>> pairs) {
  for (const auto& [tensor, other] : pairs) LinkStorages(StorageOf(tensor), other, {}, {}, false);
}

bool Storages::MayBeOne(ValueId tensor, ValueId other) {
  const StorageId a = StorageOf(tensor), b = StorageOf(other);
  if (a == b || storages_[a].alone_until || storages_[b].alone_until) return true;
  const std::vector<Link>& of_a = storages_[a].links;
  const std::vector<Link>& of_b = storages_[b].links;
  const auto leads_to = [](const std::vector<Link>& links, StorageId storage) {
    return std::ranges::find(links, storage, &Link::storage) != links.end();
  };
  if (leads_to(of_a, b) || leads_to(of_b, a)) return true;
  // What earlier rounds put into a storage is not linked to what others put there.
  const auto is_of_rounds = [](const Link& link) { return link.before; };
  const auto meets = [&](const std::vector<Link>& links, const std::vector<Link>& others) {
    return std::ranges::any_of(links, [&](const Link& link) { return is_of_rounds(link) && leads_to(others, link.storage); });
  };
  return meets(of_a, of_b) || meets(of_b, of_a);
}

bool Storages::AreApart(std::span<const ValueId> tensors) {
  std::unordered_set<uint32_t> memory;
  if (tensors.size() > 1 && std::ranges::any_of(tensors, [&](ValueId tensor) { return MayBeAny(tensor); })) return false;
  return std::ranges::all_of(tensors, [&](ValueId tensor) {
    const std::vector<StorageId> own = MayShare(tensor);
    return std::ranges::all_of(own, [&](StorageId storage) { return memory.insert(storage.index).second; });
  });
}

bool Storages::OwnsElements(ValueId sequence) {
  const ViewId view = ViewOf(sequence);
  return views_[view].distinct && view == Root(view);
}

bool Storages::MaybeStale(const Storage& storage) const {
  if (storage.doubtful) return true;
  if (storage.alone_until && writes_ != *storage.alone_until) return true;
  if (!storage.alone_until && views_[storage.root].storage.index < maybe_written_) return true;
  return std::ranges::any_of(storage.links, [&](const Link& link) { return !link.if_one && IsStale(link); });
}

std::vector<StorageId> Storages::MayShare(ValueId tensor) {
  const StorageId own = StorageOf(tensor);
  std::vector<StorageId> shared = {own};
  for (const Link& link : storages_[own].links) shared.push_back(link.storage);
  std::ranges::sort(shared, {}, &StorageId::index);
  shared.erase(std::ranges::unique(shared).begin(), shared.end());
  return shared;
}

// --- parts of storages, by the rounds of loops ----------------------------------------------

void Storages::AddRoundNumber(ValueId number, ValueId round, uint32_t how) {
  const auto taken = [&](const RoundNumber& known) { return known.round == round && known.how == how; };
  if (std::ranges::none_of(round_numbers_, taken)) round_numbers_.push_back({number, round, how});
}

std::optional<ValueId> Storages::RoundOf(ValueId number) const {
  const auto found = std::ranges::find(round_numbers_, number, &RoundNumber::number);
  return found == round_numbers_.end() ? std::nullopt : std::optional(found->round);
}

// A part of what is such a part, too, or a position along a dimension.
std::optional<RoundPart> Storages::PartOfStep(ViewId viewed, const ViewStep& step) {
  if (views_[viewed].part || round_numbers_.empty()) return views_[viewed].part;
  const auto position = OpenPositionOf(graph_, step, views_[viewed].type);
  return position ? PartOfNumber(viewed, position->number, position->dim, 0) : std::nullopt;
}

std::optional<RoundPart> Storages::PartOfNumber(ViewId view, ValueId number, int64_t dim, uint32_t cut) {
  if (views_[view].overlap) return std::nullopt;
  const auto found = std::ranges::find(round_numbers_, number, &RoundNumber::number);
  if (found == round_numbers_.end()) return std::nullopt;
  positions_->insert(number.index);
  return RoundPart{found->round, found->how, views_[view].alike, dim, cut};
}

void Storages::SetPiece(ValueId tensor, ValueId number, int64_t dim, uint32_t cut) {
  const ViewId piece = ViewOf(tensor);
  const View& view = views_[piece];
  if (!view.part && view.parent) views_.Edit(piece).part = PartOfNumber(view.parent, number, dim, cut);
}

std::optional<RoundPart> Storages::PartOf(ValueId tensor, StorageId storage) {
  const ViewId view = ViewOf(tensor);
  if (views_[view].storage == storage) return views_[view].part;
  const Storage& own = storages_[views_[view].storage];
  std::optional<RoundPart> part;
  if (own.alone_until) return part;
  for (const Link& link : own.links) {
    if (link.storage != storage) continue;
    if (!link.part || (part && *part != *link.part)) return std::nullopt;
    part = link.part;
  }
  return part;
}

bool Storages::MayBePart(ValueId tensor) {
  const Storage& storage = storages_[StorageOf(tensor)];
  if (!storage.tensor || graph_[storage.tensor].kind != ValueKind::kResult) return false;
  // Their results are rows of one tensor.
  const std::string_view op = graph_.op(graph_[storage.tensor].node);
  const bool row = op == "aten::where" || op == "aten::nonzero_numpy";
  return row || storage.alone_until || !std::ranges::all_of(storage.links, &Link::if_one);
}

ValueId Storages::FirstName(ValueId tensor) {
  ViewOf(tensor);
  return handles_[HandleOf(tensor)].first_name;
}

// A program's end is no place in its source; where the tensor was made is.
Location Storages::LocationOfRead(ValueId tensor, NodeId reader) const {
  Location location = LocationOf(graph_, reader);
  if (location.source.empty() && graph_[tensor].kind == ValueKind::kResult) location.source = LocationOf(graph_, graph_[tensor].node).source;
  return location;
}

std::string Storages::NameOf(ValueId tensor) const {
  const std::string_view name = graph_.context().Text(graph_[tensor].name);
  if (!name.empty()) return fmt::format("'{}'", name);
  if (graph_[tensor].kind == ValueKind::kResult) return fmt::format("the result of {}", graph_.op(graph_[tensor].node));
  return "what a round of a loop was given";
}

void Storages::WarnOfOnes(const Storage& storage, ValueId tensor, NodeId reader) {
  const bool stale = std::ranges::any_of(storage.links, [&](const Link& link) { return link.if_one && IsStale(link); });
  if (!stale || !warned_of_ones_->insert(storage.root.index).second) return;
  sink_.Warning(DiagnosticKind::kFrozenDimension,
                fmt::format("takes for granted that {} shares no memory with a tensor that was written since; it does where "
                            "sizes that are known at run time only are 1",
                            NameOf(tensor)),
                LocationOfRead(tensor, reader));
}

ValueId Storages::Read(ValueId tensor, NodeId reader) {
  if (!tensor || !Knows(tensor)) return tensor;
  const ViewId view = ViewOf(tensor);
  const Storage& storage = storages_[views_[view].storage];
  if (HasDoubtfulShape(tensor, reader)) return Read(view, reader);
  if (MaybeStale(storage)) {
    sink_.Error(DiagnosticKind::kUnknownAliasing,
                fmt::format("reads {}, which may share its memory with a tensor that was written since; "
                            "the capture does not say whether it does",
                            NameOf(tensor)),
                LocationOfRead(tensor, reader), "clone one of the two tensors before the write");
  } else {
    WarnOfOnes(storage, tensor, reader);
  }
  return Read(view, reader);
}

ValueId Storages::ReadSizes(ValueId tensor, NodeId reader) {
  if (!Knows(tensor)) return tensor;
  HasDoubtfulShape(tensor, reader);
  return Read(ViewOf(tensor), reader);
}

ValueId Storages::Read(ViewId view, NodeId reader) {
  std::vector<ViewId> stale;
  const StorageId storage = views_[view].storage;
  // What is current is a part of the newest view, or that itself.
  auto climb = [&](ViewId from) {
    stale.clear();
    for (; !IsCurrent(from) && views_[from].depth > views_[storages_[storage].newest].depth; from = views_[from].parent)
      stale.push_back(from);
    return from;
  };
  ViewId current = climb(view);
  if (!IsCurrent(current)) {
    PutBackTo(view, reader);
    current = climb(view);
  }
  const uint32_t generation = views_[current].generation;
  ValueId value = views_[current].value;
  for (size_t i = stale.size(); i-- > 0;) {
    View& derived = views_.Edit(stale[i]);
    value = Replay(graph_, derived.step, value, reader, derived.origin);
    derived.value = value;
    derived.generation = generation;
  }
  return value;
}

void Storages::PutBackTo(ViewId view, NodeId reader) {
  const StorageId id = views_[view].storage;
  while (views_[view].depth > views_[storages_[id].newest].depth) view = views_[view].parent;
  if (storages_[id].newest == view) return;
  Storage& storage = storages_.Edit(id);
  while (storage.newest != view) {
    const View& from = views_[storage.newest];
    View& to = views_.Edit(from.parent);
    to.value = Invert(graph_, from.step, {to.type, to.value}, to.value, from.value, reader, storage.written_by);
    to.generation = storage.generation;
    if (views_[view].depth > to.depth) view = views_[view].parent;
    storage.newest = from.parent;
  }
}

void Storages::Write(ViewId view, ValueId value, NodeId writer) {
  Storage& storage = storages_.Edit(views_[view].storage);
  const OriginId origin = graph_[writer].origin;
  if (const ViewId overlapping = views_[view].overlap) {
    std::vector<const ViewStep*> steps;
    const ViewId tensor = views_[overlapping].parent;
    for (; view != tensor; view = views_[view].parent) steps.push_back(&views_[view].step);
    std::ranges::reverse(steps);
    const ValueId before = Read(tensor, writer);
    value = PutBack(graph_, steps, {views_[tensor].type, before}, before, value, writer, origin);
  }
  PutBackTo(view, writer);
  // What putting back will take from the views between, before this write changes them.
  for (ViewId at = view; at != storage.newest; at = views_[at].parent) {
    const ViewId parent = views_[at].parent;
    if (views_[parent].value && !InverseReadsTensor(graph_, views_[at].step)) continue;
    Read(parent, writer);
    break;
  }
  View& written = views_.Edit(view);
  written.value = value;
  written.generation = ++storage.generation;
  if (const auto& part = written.part) {
    const auto found = std::ranges::find(storage.part_writes, *part, &std::pair<RoundPart, uint32_t>::first);
    if (found != storage.part_writes.end()) ++found->second;
    else storage.part_writes.emplace_back(*part, 1);
  }
  storage.newest = view;
  storage.written_by = origin;
  if (storage.overlapping && view != storage.root) storage.doubtful = true;
  ++writes_;
  // Its own writes do not count against a storage whose kin are too many to list.
  if (!storage.alone_until) return;
  if (*storage.alone_until + 1 == writes_) storage.alone_until = writes_;
  maybe_written_ = std::max(maybe_written_, storage.any_of);
}

void Storages::SetOverwritten(StorageId storage) {
  SetDoubtful(storage);
  for (const StorageId other : std::vector(storages_[storage].linked)) {
    const auto shares = [&](const Link& link) { return link.storage == storage && !link.if_one; };
    if (std::ranges::any_of(storages_[other].links, shares)) SetDoubtful(other);
  }
  ++writes_;
  if (storages_[storage].alone_until) maybe_written_ = std::max(maybe_written_, storages_[storage].any_of);
}

std::optional<Expr> Storages::Offset(ViewId view) const {
  Expr offset = graph_.context().exprs().Constant(0);
  for (; views_[view].parent; view = views_[view].parent) {
    const View& at = views_[view];
    const auto step = OffsetOf(graph_, at.step, views_[at.parent].type);
    if (!step) return std::nullopt;
    offset = graph_.context().exprs().Add(offset, *step);
  }
  return offset;
}

std::optional<ValueId> Storages::Final(ValueId tensor, NodeId end, bool reshaped) {
  if (!roots_.Contains(tensor) || !roots_[tensor]) return std::nullopt;
  const ViewId root = roots_[tensor], now = reshaped ? ViewOf(tensor) : root;
  if (now == root && storages_[views_[root].storage].generation == 0) return std::nullopt;
  return Read(now, end);
}

bool Storages::HasOtherValues(ViewId view) const {
  static constexpr std::string_view kConjugating[] = {"aten::conj", "aten::_conj", "aten::_neg_view", "aten::adjoint", "aten::mH", "aten::matrix_H"};
  for (; views_[view].parent; view = views_[view].parent) {
    const ViewStep& step = views_[view].step;
    if (step.identity || !IsComplex(graph_.context()[views_[views_[view].parent].type].dtype)) continue;
    if (std::ranges::find(kConjugating, graph_.context().Text(step.call.op)) != std::end(kConjugating)) return true;
  }
  return false;
}

bool Storages::IsAlone(ValueId tensor) {
  const ViewId view = ViewOf(tensor);
  const Storage& storage = storages_[views_[view].storage];
  if (view != storage.root || storage.has_views || storage.doubtful || storage.alone_until || !storage.links.empty()) return false;
  uint32_t names = 0;
  for (uint32_t i = 0; i < handles_.size(); ++i) names += handles_[HandleId{i}].view == view;
  return names == 1;
}

bool Storages::MaybeWritten(ValueId tensor) const {
  return roots_.Contains(tensor) && roots_[tensor] && MaybeStale(storages_[views_[roots_[tensor]].storage]);
}

Storages& Storages::operator=(const Storages& other) {
  handle_of_ = other.handle_of_;
  handles_ = other.handles_;
  maybe_one_ = other.maybe_one_;
  roots_ = other.roots_;
  views_ = other.views_;
  storages_ = other.storages_;
  any_ = other.any_;
  round_numbers_ = other.round_numbers_;
  doubtful_objects_ = other.doubtful_objects_;
  writes_ = other.writes_;
  maybe_written_ = other.maybe_written_;
  return *this;
}

Storages::Difference Storages::Since(const Storages& before) const {
  Difference difference;
  storages_.ForEachTouched(before.storages_, [&](StorageId id) {
    if (storages_[id].generation != before.storages_[id].generation) difference.written.push_back(id);
  });
  handles_.ForEachTouched(before.handles_, [&](HandleId id) {
    if (handles_[id].view != before.handles_[id].view) difference.rebound.push_back(handles_[id].first_name);
  });
  // Nobody had asked for the memory of these then.
  for (uint32_t i = before.handles_.size(); i < handles_.size(); ++i) {
    const auto& [view, tensor] = handles_[HandleId{i}];
    if (roots_.Contains(tensor) && roots_[tensor] && roots_[tensor] != view) difference.rebound.push_back(tensor);
  }
  return difference;
}

// Whether one is doubtful follows from itself, and from what it is linked to.
std::vector<StorageId> Storages::DoubtfulSince(const Storages& before) const {
  std::set<StorageId> doubtful;
  const auto consider = [&](StorageId id) {
    if (id.index < before.count() && MaybeStale(storages_[id]) && !before.MaybeStale(before.storages_[id])) doubtful.insert(id);
  };
  storages_.ForEachTouched(before.storages_, [&](StorageId id) {
    consider(id);
    if (storages_[id].generation != before.storages_[id].generation) std::ranges::for_each(storages_[id].linked, consider);
  });
  if (writes_ != before.writes_)
    for (uint32_t i = 0; i < any_.size(); ++i) consider(any_[{i}]);
  if (maybe_written_ != before.maybe_written_)
    for (uint32_t i = 0; i < maybe_written_; ++i) consider({i});
  return {doubtful.begin(), doubtful.end()};
}

}  // namespace flambeau
