#include "script/regions/region.h"

#include <algorithm>

#include "script/lists/held.h"

namespace flambeau::script {
namespace {

// A list or dict of the state before, as it is on a path.
Val Reference(const Heap& heap, uint32_t cell) {
  if (!heap[cell].entries.empty()) return DictVal{cell};
  return ListVal{cell};
}

// Of these, the tensors that were there before the block, which is newer than they are.
std::vector<ValueId> FromBefore(const Graph& graph, std::vector<ValueId> tensors, BlockId block) {
  std::erase_if(tensors, [&](ValueId tensor) { return graph.BlockOf(tensor).index >= block.index; });
  return tensors;
}

}  // namespace

// --- what it is made of -------------------------------------------------------------------

bool Evaluator::Region::HasStorage(StorageId id) const {
  return std::ranges::any_of(storages, [&](const auto& each) { return each.first == id; });
}

void Evaluator::Region::AddStorage(StorageId id) {
  const Storages& all = evaluator.emitter_.storages();
  storages.emplace_back(id, Skeleton::OfTensor(evaluator.context()[all.type(all.Root(id))]));
}

Skeleton* Evaluator::Region::FindAttribute(uint32_t cell, std::string_view name) {
  for (auto& [of, known, skeleton] : attributes)
    if (of == cell && known == name) return &skeleton;
  return nullptr;
}

bool Evaluator::Region::types_lossy() const {
  return std::ranges::any_of(values, &Skeleton::lossy) ||
         std::ranges::any_of(cells, [](const auto& each) { return each.second.lossy(); }) ||
         std::ranges::any_of(attributes, [](const auto& each) { return std::get<2>(each).lossy(); });
}

bool Evaluator::Region::Chooses() const {
  return std::ranges::any_of(values, &Skeleton::chooses) ||
         std::ranges::any_of(cells, [](const auto& each) { return each.second.chooses(); }) ||
         std::ranges::any_of(attributes, [](const auto& each) { return std::get<2>(each).chooses(); });
}

// --- the paths of an If -------------------------------------------------------------------

// A tensor that a path makes other memory of, as out= does of one of other sizes, comes out of all paths, as results do.
Status Evaluator::Region::GiveOutRebound(std::span<Path> paths, const Snapshot& before, bool ends) {
  Emitter& emit = evaluator.emitter_;
  std::vector<std::vector<ValueId>> of_paths;
  const BlockId first{std::min(paths[0].block.index, paths[1].block.index)};
  for (const Path& path : paths) of_paths.push_back(FromBefore(emit.graph(), path.after.storages.Since(before.storages).rebound, first));
  for (const std::vector<ValueId>& of_path : of_paths)
    for (const ValueId tensor : of_path) {
      if (std::ranges::find(rebound, tensor) != rebound.end()) continue;
      const auto has = [&](const std::vector<ValueId>& all) { return std::ranges::find(all, tensor) != all.end(); };
      const StorageId storage = emit.storages().StorageOf(tensor);
      const ValueId memory = emit.storages().Tensor(storage);
      const auto is_elsewhere = [&](Path& path) { return path.after.storages.StorageOf(tensor) != storage; };
      const bool is_made = !memory || emit.graph()[memory].kind == ValueKind::kResult;
      // Other names of its memory would have to see what is written afterwards, if the program does not end here: of a path
      // that leaves it as it is, or one that makes the memory itself larger.
      const bool shown = std::ranges::all_of(of_paths, has) && std::ranges::none_of(paths, is_elsewhere);
      if (!ends && (!is_made || !(shown || emit.storages().IsAlone(tensor))))
        return evaluator.Unsupported("changes the shape of a tensor in place, in a branch");
      rebound.push_back(tensor);
    }
  if (rebound.empty()) return {};
  for (Path& path : paths) {
    evaluator.Restore(path.after);
    emit.ReopenBlock(path.block);
    for (const ValueId tensor : rebound) {
      FLAMBEAU_TRY(Val now, emit.Call1("aten::alias", {TensorVal{tensor}}));
      path.outputs.push_back(std::move(now));
    }
    emit.LeaveBlock(path.block);
    path.after = evaluator.Save();
  }
  evaluator.Restore(before);
  return {};
}

// The heap that a skeleton looks into is that of the path.
Status Evaluator::Region::Join(std::span<const Path> paths, const Snapshot& before) {
  const uint32_t known = before.heap.size();
  for (size_t i = 0; i < paths[0].outputs.size(); ++i) {
    evaluator.Restore(paths[0].after);
    values.push_back(Skeleton::Of(paths[0].outputs[i], evaluator.emitter_, evaluator.heap_, known));
    evaluator.Restore(paths[1].after);
    (void)values.back().Unify(paths[1].outputs[i], evaluator.emitter_, evaluator.heap_);
  }
  FLAMBEAU_CHECK_OK(JoinStorages(paths, before));
  std::set<uint32_t> edited;
  for (const Path& path : paths)
    for (const uint32_t cell : path.after.heap.EditedSince(before.heap)) edited.insert(cell);
  for (const uint32_t cell : edited) {
    if (IsObject(before.heap[cell]) || std::ranges::any_of(paths, [&](const Path& path) { return IsObject(path.after.heap[cell]); })) {
      FLAMBEAU_CHECK_OK(JoinAttributes(paths, cell, known));
    } else {
      JoinCell(paths, cell, before);
    }
  }
  return {};
}

Status Evaluator::Region::JoinStorages(std::span<const Path> paths, const Snapshot& before) {
  for (const Path& path : paths) {
    for (const StorageId id : path.after.storages.Since(before.storages).written)
      if (!HasStorage(id)) AddStorage(id);
  }
  return {};
}

void Evaluator::Region::JoinCell(std::span<const Path> paths, uint32_t cell, const Snapshot& before) {
  const uint32_t known = before.heap.size();
  Emitter& emit = evaluator.emitter_;
  const Heap& heap = evaluator.heap_;
  evaluator.Restore(paths[0].after);
  Skeleton skeleton = Skeleton::OfContents(Reference(heap, cell), emit, heap, known);
  evaluator.Restore(paths[1].after);
  (void)skeleton.Unify(Reference(heap, cell), emit, heap);
  cells.emplace_back(cell, std::move(skeleton));
  for (const Path& path : paths) {
    evaluator.Restore(path.after);
    (void)TakeInRow(cell, before);
  }
}

// What a path only read is what it was.
Status Evaluator::Region::JoinAttributes(std::span<const Path> paths, uint32_t cell, uint32_t known) {
  for (size_t p = 0; p < paths.size(); ++p)
    for (const auto& [name, value] : paths[p].after.heap[cell].attributes) {
      if (FindAttribute(cell, name) != nullptr) continue;
      evaluator.Restore(paths[p].after);
      Skeleton skeleton = Skeleton::Of(value, evaluator.emitter_, evaluator.heap_, known);
      evaluator.Restore(paths[1 - p].after);
      FLAMBEAU_TRY(const Val other, evaluator.GetAttribute(cell, name));
      (void)skeleton.Unify(other, evaluator.emitter_, evaluator.heap_);
      attributes.emplace_back(cell, name, std::move(skeleton));
    }
  return {};
}

// --- the rounds of a Loop -------------------------------------------------------------------

Result<bool> Evaluator::Region::TakeIn(std::span<const Val> results, const Snapshot& entered, const Snapshot& before) {
  bool changed = false;
  for (size_t i = 0; i < results.size(); ++i)
    changed = values[i].Unify(results[i], evaluator.emitter_, evaluator.heap_) || changed;
  FLAMBEAU_TRY(const bool written, TakeInStorages(entered, before));
  changed |= written;
  const Heap& heap = evaluator.heap_;
  for (const uint32_t cell : heap.EditedSince(entered.heap)) {
    if (cell >= before.heap.size()) break;
    bool news = false;
    if (IsObject(heap[cell])) {
      FLAMBEAU_TRY(news, TakeInAttributes(cell, entered, before));
    } else {
      news = TakeInCell(cell, before);
    }
    changed |= news;
  }
  return changed;
}

Result<bool> Evaluator::Region::TakeInStorages(const Snapshot& entered, const Snapshot& before) {
  const Storages::Difference difference = evaluator.emitter_.storages().Since(entered.storages);
  if (!FromBefore(evaluator.emitter_.graph(), difference.rebound, evaluator.emitter_.block()).empty())
    return evaluator.Unsupported("changes the shape of a tensor in place, in a loop");
  bool changed = false;
  for (const StorageId id : difference.written) {
    if (id.index >= before.storages.count() || HasStorage(id)) continue;
    AddStorage(id);
    changed = true;
  }
  return changed;
}

namespace {

// Whether the number is the other one and a positive constant.
bool IsMore(const Graph& graph, const Val& number, const Val& than) {
  const auto *sum = number.As<NumberVal>(), *base = than.As<NumberVal>();
  if (sum == nullptr || base == nullptr || graph[sum->id].kind != ValueKind::kResult) return false;
  const NodeId node = graph[sum->id].node;
  if (graph.op(node) != "_operator::add") return false;
  const Attribute *a = graph.FindAttribute(node, "a"), *b = graph.FindAttribute(node, "b");
  const auto* operand = a != nullptr ? std::get_if<Operand>(a) : nullptr;
  const auto* step = b != nullptr ? std::get_if<int64_t>(b) : nullptr;
  return operand != nullptr && graph.operand(node, operand->index) == base->id && step != nullptr && *step > 0;
}

}  // namespace

bool Evaluator::Region::KeepCounters(std::span<const Val> entered, std::span<const Val> results) {
  bool kept = true;
  std::erase_if(counters, [&](size_t i) {
    const auto* number = entered[i].As<NumberVal>();
    if (number == nullptr || IsMore(evaluator.emitter_.graph(), results[i], entered[i])) return false;
    kept = kept && !evaluator.emitter_.storages().IsPosition(number->id);
    return true;
  });
  return kept;
}

bool Evaluator::Region::TakeInCell(uint32_t cell, const Snapshot& before) {
  Emitter& emit = evaluator.emitter_;
  const Heap& heap = evaluator.heap_;
  const bool moved = TakeInRow(cell, before);
  const auto known = std::ranges::find(cells, cell, &std::pair<uint32_t, Skeleton>::first);
  if (known != cells.end()) return known->second.Unify(Reference(heap, cell), emit, heap) || moved;
  Skeleton skeleton = Skeleton::OfContents(Reference(before.heap, cell), emit, before.heap, before.heap.size());
  (void)skeleton.Unify(Reference(heap, cell), emit, heap);
  cells.emplace_back(cell, std::move(skeleton));
  return true;
}

bool Evaluator::Region::TakeInRow(uint32_t cell, const Snapshot& before) {
  if (!OwnerOf(before.heap, cell)) return false;
  const Heap& heap = evaluator.heap_;
  const TakenRow &was = *before.heap[cell].taken, *now = heap[cell].taken.get();
  const bool stands = OwnerOf(heap, cell) == was.list && SameConstant(now->place, was.place);
  if (!stands) return moved.insert(cell).second;
  return was.sole && !now->sole && shared.insert(cell).second;
}

std::vector<std::pair<uint32_t, TakenRow>> Evaluator::Region::StandingRows() const {
  std::vector<std::pair<uint32_t, TakenRow>> rows;
  for (const auto& [cell, skeleton] : cells)
    if (OwnerOf(evaluator.heap_, cell) && !moved.contains(cell)) {
      rows.emplace_back(cell, *evaluator.heap_[cell].taken);
      rows.back().second.sole &= !shared.contains(cell);
    }
  return rows;
}

Result<bool> Evaluator::Region::TakeInAttributes(uint32_t cell, const Snapshot& entered, const Snapshot& before) {
  bool changed = false;
  const Attributes all = evaluator.heap_[cell].attributes;
  for (const auto& [name, value] : all) {
    FLAMBEAU_TRY(const bool news, TakeInAttribute(cell, name, value, entered, before));
    changed |= news;
  }
  return changed;
}

Result<bool> Evaluator::Region::TakeInAttribute(uint32_t cell, const std::string& name, const Val& value,
                                                const Snapshot& entered, const Snapshot& before) {
  Emitter& emit = evaluator.emitter_;
  if (Skeleton* known = FindAttribute(cell, name)) return known->Unify(value, emit, evaluator.heap_);
  const Snapshot here = evaluator.Save();
  evaluator.Restore(entered);
  auto old = evaluator.GetAttribute(cell, name);
  evaluator.Restore(here);
  if (!old) return kFailure;
  Skeleton same = Skeleton::Of(*old, emit, entered.heap, before.heap.size());
  if (!same.Unify(value, emit, evaluator.heap_)) return false;
  Skeleton skeleton = Skeleton::Of(*old, emit, entered.heap);
  (void)skeleton.Unify(value, emit, evaluator.heap_);
  attributes.emplace_back(cell, name, std::move(skeleton));
  return true;
}

// --- what is given out, and what is made of it ------------------------------------------------

std::vector<Type> Evaluator::Region::Types() const {
  std::vector<Type> types;
  for (const Skeleton& skeleton : values) skeleton.AppendTypes(types);
  for (const auto& [id, skeleton] : storages) skeleton.AppendTypes(types);
  for (const auto& [cell, skeleton] : cells) skeleton.AppendTypes(types);
  for (const auto& [cell, name, skeleton] : attributes) skeleton.AppendTypes(types);
  return types;
}

Status Evaluator::Region::AppendLeaves(std::span<const Val> of, std::vector<ValueId>& leaves) const {
  Emitter& emit = evaluator.emitter_;
  const Heap& heap = evaluator.heap_;
  for (size_t i = 0; i < values.size(); ++i) FLAMBEAU_CHECK_OK(values[i].AppendLeaves(of[i], emit, heap, leaves));
  for (const auto& [id, skeleton] : storages) leaves.push_back(emit.Read(emit.storages().Root(id)));
  for (const auto& [cell, skeleton] : cells)
    FLAMBEAU_CHECK_OK(skeleton.AppendLeaves(Reference(heap, cell), emit, heap, leaves));
  for (const auto& [cell, name, skeleton] : attributes) {
    FLAMBEAU_TRY(const Val value, evaluator.GetAttribute(cell, name));
    FLAMBEAU_CHECK_OK(skeleton.AppendLeaves(value, emit, heap, leaves));
  }
  return {};
}

Result<bool> Evaluator::Region::Learn(std::span<const Val> of, const Snapshot& before, ValueId round) {
  std::vector<Kinship::Part> parts;
  for (size_t i = 0; i < values.size(); ++i) AppendParts(values[i], of[i], false, parts);
  for (const auto& [cell, skeleton] : cells) AppendParts(skeleton, Reference(evaluator.heap_, cell), true, parts);
  for (const auto& [cell, name, skeleton] : attributes) {
    FLAMBEAU_TRY(const Val value, evaluator.GetAttribute(cell, name));
    AppendParts(skeleton, value, false, parts);
  }
  return kinship.Learn(parts, evaluator.emitter_, evaluator.heap_, {before.storages, before.heap}, round);
}

Result<Vals> Evaluator::Region::Build(std::span<const ValueId> leaves, ValueId round) const {
  Heap& heap = evaluator.heap_;
  std::vector<Kinship::Part> parts;
  size_t next = 0;
  Vals results;
  for (const Skeleton& skeleton : values) {
    results.push_back(skeleton.Build(leaves, next, heap));
    AppendParts(skeleton, results.back(), false, parts);
  }
  for (const auto& [id, skeleton] : storages) evaluator.emitter_.Write(id, leaves[next++]);
  const auto standing = StandingRows();
  for (const auto& [cell, skeleton] : cells) {
    const Val built = skeleton.Build(leaves, next, heap);
    const auto* list = built.As<ListVal>();
    const auto* dict = built.As<DictVal>();
    if (list == nullptr && dict == nullptr) {
      Cell& lost = heap.Edit(cell);
      lost.lost = true;
      if (const auto* undefined = built.As<Undefined>()) lost.lost_because = undefined->because;
      continue;
    }
    AppendParts(skeleton, built, true, parts);
    const Cell was = heap[cell];
    Cell& now = heap.Edit(cell);
    now = Cell(heap[list != nullptr ? list->cell : dict->cell]);
    now.is_row |= was.is_row;
    now.kin = was.kin;
  }
  for (const auto& [cell, taken] : standing) TakeAgain(heap, cell, taken);
  for (const auto& [cell, name, skeleton] : attributes) {
    Val built = skeleton.Build(leaves, next, heap);
    AppendParts(skeleton, built, false, parts);
    FLAMBEAU_CHECK_OK(evaluator.SetAttribute(cell, name, std::move(built)));
  }
  const size_t own = results.size() - rebound.size();
  for (size_t i = 0; i < rebound.size(); ++i) {
    const auto* tensor = results[own + i].As<TensorVal>();
    if (tensor == nullptr) return evaluator.Unsupported("changes the shape of a tensor in place, in a branch");
    evaluator.emitter_.storages().Rebind(rebound[i], tensor->id);
  }
  kinship.Apply(parts, evaluator.emitter_.storages(), heap, round);  // of objects that have their shapes of now
  results.resize(own);
  return results;
}

void Evaluator::Region::AppendParts(const Skeleton& skeleton, const Val& value, bool contents,
                                    std::vector<Kinship::Part>& parts) const {
  Vals found;
  skeleton.AppendParts(value, evaluator.emitter_, evaluator.heap_, found);
  for (Val& part : found) parts.push_back({std::move(part), std::exchange(contents, false)});
}

}  // namespace flambeau::script
