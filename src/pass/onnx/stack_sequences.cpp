// Before opset 13 regions take and give tensors only. A list whose elements are
// all of one shape can be a tensor there: its elements, stacked. That they are is
// known by their types, or by who reads the list: one that stacks them says so.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "onnx/infer/sizes.h"
#include "onnx/location.h"
#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

constexpr int kSequencesInRegions = 13;
constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

// A value and its axis that have a size.
struct Source {
  ValueId value;
  int64_t axis;
};

// Values that are one list at different times, and what is known of its elements.
struct List {
  NodeId region;  // one that takes or gives it
  std::optional<std::vector<std::vector<Expr>>> element;  // of each dimension, what its size is called
  bool one_rank = true;
  bool is_stacked = false;    // by one who reads it
  bool is_picked = false;     // read otherwise, or given out, for which its elements may differ
  std::vector<NodeId> beginnings;
  std::map<Expr, Source> sources;  // of sizes that are known before it begins
};

class Stacker {
 public:
  Stacker(Graph& graph, const PassContext& context)
      : graph_(graph), sink_(context.sink), to_(graph, context), parents_(graph.value_capacity()) {
    std::iota(parents_.begin(), parents_.end(), 0u);
  }

  Result<Changed> Run() {
    const std::vector<BlockId> blocks = graph_.AllBlocks();
    for (const BlockId block : blocks) graph_.ForEachNode(block, [&](NodeId node) { Join(node); });
    for (const BlockId block : blocks) graph_.ForEachNode(block, [&](NodeId node) { Learn(node); });
    for (const ValueId output : graph_.outputs(graph_.main()))
      if (IsSequence(output)) ListOf(output).is_picked = true;
    std::erase_if(lists_, [](const auto& each) { return !each.second.region; });
    if (lists_.empty()) return Changed::kNo;
    FindSources();
    for (const auto& [root, list] : lists_)
      if (!IsStackable(list))
        (void)sink_.Error(DiagnosticKind::kUnsupportedOpset,
                          fmt::format("ONNX's {} takes no sequences at opset {}, and the elements are not known to be of one shape",
                                      graph_.op(list.region), to_.opset()),
                          onnx::LocationOf(graph_, list.region));
    if (sink_.HasErrors()) return kFailure;
    const std::vector<TypeId> outputs = OutputTypes();
    Retype();
    for (const BlockId block : blocks) graph_.ForEachNode(block, [&](NodeId node) { Rewrite(node); });
    UnstackOutputs(outputs);
    return Changed::kYes;
  }

 private:
  bool IsSequence(ValueId value) const { return value && graph_.type(value).kind == TypeKind::kSequence; }

  static bool ReadsList(std::string_view op) {
    return op == "SequenceAt" || op == "SequenceLength" || op == "ConcatFromSequence";
  }

  uint32_t RootOf(ValueId value) {
    uint32_t root = value.index;
    while (parents_[root] != root) root = parents_[root] = parents_[parents_[root]];
    return root;
  }
  void Unite(ValueId a, ValueId b) {
    if (IsSequence(a) && IsSequence(b)) parents_[RootOf(a)] = RootOf(b);
  }
  List& ListOf(ValueId value) { return lists_[RootOf(value)]; }
  // What becomes of the value; nullptr if it stays a sequence, or is none.
  const List* Stacked(ValueId value) {
    if (!value || value.index >= parents_.size()) return nullptr;
    const auto found = lists_.find(RootOf(value));
    return found != lists_.end() ? &found->second : nullptr;
  }

  // --- which values are one list ----------------------------------------------------
  template <class F>
  void ForEachPassed(NodeId node, F f) {
    const std::string_view op = graph_.op(node);
    if (op == "If") {
      graph_.ForEachBody(node, [&](BlockId branch) {
        for (uint32_t i = 0; i < graph_.output_count(branch); ++i) f(graph_.output(branch, i), graph_.result(node, i));
      });
    } else if (op == "Loop") {
      graph_.ForEachBody(node, [&](BlockId body) {
        for (uint32_t i = 2; i < graph_.operand_count(node); ++i) {
          f(graph_.operand(node, i), graph_.result(node, i - 2));
          f(graph_[body].inputs[i], graph_.result(node, i - 2));
          f(graph_.output(body, i - 1), graph_.result(node, i - 2));
        }
      });
    }
  }

  void Join(NodeId node) {
    const std::string_view op = graph_.op(node);
    if (op == "SequenceInsert" || op == "SequenceErase" || op == "Identity") Unite(graph_.operand(node, 0), graph_.result(node));
    ForEachPassed(node, [&](ValueId a, ValueId b) { Unite(a, b); });
  }

  // --- what is in it ----------------------------------------------------------------
  void LearnElement(ValueId list, const Type& type) {
    List& known = ListOf(list);
    if (!type.is_tensor() || !type.ranked || (known.element && known.element->size() != type.rank())) {
      known.one_rank = false;
      return;
    }
    if (!known.element) known.element.emplace(type.rank());
    constexpr size_t kMostNames = 16;  // of which one is likely to be known
    for (size_t i = 0; i < type.rank(); ++i)
      if (auto& names = (*known.element)[i]; names.size() < kMostNames && std::ranges::find(names, type.sizes[i]) == names.end())
        names.push_back(type.sizes[i]);
  }

  void Learn(NodeId node) {
    const std::string_view op = graph_.op(node);
    ForEachPassed(node, [&](ValueId, ValueId result) {
      if (IsSequence(result)) ListOf(result).region = node;
    });
    if (op == "SequenceEmpty" || op == "SequenceConstruct" || op == "SplitToSequence")
      ListOf(graph_.result(node)).beginnings.push_back(node);
    if (op == "SequenceInsert") {
      LearnElement(graph_.result(node), graph_.type(graph_.operand(node, 1)));
    } else if (op == "SequenceConstruct") {
      for (const ValueId element : graph_.operands(node)) LearnElement(graph_.result(node), graph_.type(element));
    } else if (op == "SplitToSequence") {
      LearnElement(graph_.result(node), PieceOf(node));
    } else if (op == "ConcatFromSequence" || op == "SequenceAt") {
      List& list = ListOf(graph_.operand(node, 0));
      (op == "ConcatFromSequence" && to_.Int(node, "new_axis", 0) != 0 ? list.is_stacked : list.is_picked) = true;
    } else if (op != "SequenceEmpty" && op != "SequenceErase" && op != "Identity" && op != "If" && op != "Loop") {
      for (const ValueId operand : graph_.operands(node))
        if (IsSequence(operand) && !ReadsList(op)) ListOf(operand).one_rank = false;
      for (uint32_t i = 0; i < graph_[node].result_count; ++i)
        if (IsSequence(graph_.result(node, i))) ListOf(graph_.result(node, i)).one_rank = false;
    }
  }

  // Of a split into pieces of size 1.
  Type PieceOf(NodeId node) const {
    Type piece = graph_.type(graph_.operand(node, 0));
    if (!piece.ranked || to_.Operand(node, 1)) return Type::Unranked(piece.dtype);
    const auto axis = onnx::NormalizeAxis(to_.Int(node, "axis", 0), piece.rank());
    if (!axis) return Type::Unranked(piece.dtype);
    if (to_.Int(node, "keepdims", 1) != 0) {
      piece.sizes[*axis] = to_.exprs().Constant(1);
    } else {
      piece.sizes.erase(piece.sizes.begin() + static_cast<ptrdiff_t>(*axis));
    }
    return piece;
  }

  // A size that is known where the list begins, of those that are one; nullopt if none is. A symbol that is no size of an
  // input, and of no value of the main graph before that, may be another number in each round of a loop.
  std::optional<Expr> KnownSize(const List& list, const std::vector<Expr>& names) const {
    for (const Expr size : names)
      if (to_.exprs().AsConstant(size)) return size;
    const auto found = std::ranges::find_if(names, [&](Expr size) { return list.sources.contains(size); });
    return found != names.end() ? std::optional(*found) : std::nullopt;
  }
  bool IsStackable(const List& list) const {
    return list.one_rank && list.element && std::ranges::all_of(*list.element, [&](const std::vector<Expr>& names) {
             return (list.is_stacked && !list.is_picked) || (names.size() == 1 && KnownSize(list, names));
           });
  }

  NodeId InMain(NodeId node) const {
    while (const NodeId owner = graph_[graph_[node].block].owner) node = owner;
    return node;
  }
  // What the pass replaces is none.
  void FindSources() {
    std::map<Expr, Source> known;
    const auto add = [&](ValueId value) {
      const Type& type = graph_.type(value);
      for (size_t i = 0; type.is_tensor() && i < type.sizes.size(); ++i)
        if (!to_.exprs().HasAnonymous(type.sizes[i])) known.try_emplace(type.sizes[i], Source{value, static_cast<int64_t>(i)});
    };
    const auto learn = [&](List& list) {
      for (const auto& names : list.element.value_or(std::vector<std::vector<Expr>>()))
        for (const Expr size : names)
          if (const auto source = known.find(size); source != known.end()) list.sources.insert(*source);
    };
    for (const ValueId input : graph_[graph_.main()].inputs) add(input);
    std::map<NodeId, std::vector<List*>> begin;
    for (auto& [root, list] : lists_) {
      learn(list);
      for (const NodeId node : list.beginnings) begin[InMain(node)].push_back(&list);
    }
    std::set<List*> begun;
    graph_.ForEachNode(graph_.main(), [&](NodeId node) {
      if (const auto lists = begin.find(node); lists != begin.end())
        for (List* list : lists->second)
          if (begun.insert(list).second) learn(*list);
      for (uint32_t i = 0; graph_.op(node).find("Sequence") == std::string_view::npos && i < graph_[node].result_count; ++i)
        add(graph_.result(node, i));
    });
  }

  // --- tensors instead ----------------------------------------------------------------
  std::vector<TypeId> OutputTypes() const {
    std::vector<TypeId> types;
    for (const ValueId output : graph_.outputs(graph_.main())) types.push_back(graph_[output].type);
    return types;
  }

  void Retype() {
    for (uint32_t i = 0; i < parents_.size(); ++i) {
      const ValueId value{i};
      const List* list = Stacked(value);
      if (list == nullptr || !IsSequence(value)) continue;
      std::vector<Expr> sizes{to_.exprs().Anonymous()};
      for (const auto& names : *list->element) sizes.push_back(KnownSize(*list, names).value_or(to_.exprs().Anonymous()));
      graph_.SetType(value, to_.context().Intern(Type::OfTensor(graph_.type(value).dtype, std::move(sizes))));
    }
  }

  void Rewrite(NodeId node) {
    static constexpr std::pair<std::string_view, ValueId (Stacker::*)(NodeId)> kForms[] = {
        {"ConcatFromSequence", &Stacker::Concatenated}, {"SequenceAt", &Stacker::At},
        {"SequenceConstruct", &Stacker::Constructed},   {"SequenceEmpty", &Stacker::Empty},
        {"SequenceErase", &Stacker::Erased},            {"SequenceInsert", &Stacker::Inserted},
        {"SequenceLength", &Stacker::Length},           {"SplitToSequence", &Stacker::Split}};
    const auto form = std::ranges::find(kForms, graph_.op(node), [](const auto& each) { return each.first; });
    if (form == std::end(kForms)) return;
    const ValueId result = graph_.result(node);
    if (const List* made = Stacked(result)) {
      list_ = made;
    } else if (!ReadsList(graph_.op(node)) || !IsStacked(graph_.operand(node, 0))) {
      return;
    }
    to_.Replace(result, (this->*form->second)(node));
    to_.Erase(node);
  }

  // A list that was rewritten is a tensor, and so is what took its place.
  bool IsStacked(ValueId list) const { return graph_.type(list).is_tensor(); }

  ValueId Row(NodeId at, ValueId element) { return Unsqueezed(at, element, 0); }
  ValueId Unsqueezed(NodeId at, ValueId value, int64_t axis) {
    onnx::AttributeList attributes;
    attributes.Add("axes", Ints{axis});
    return to_.Insert(at, "Unsqueeze", {value}, attributes);
  }
  ValueId Joined(NodeId at, std::initializer_list<ValueId> pieces) {
    onnx::AttributeList attributes;
    attributes.Add("axis", int64_t{0});
    return to_.Insert(at, "Concat", pieces, attributes);
  }
  ValueId Sliced(NodeId at, ValueId list, ValueId begin, ValueId end) {
    return to_.Insert(at, "Slice", {list, begin, end, to_.AddInts(Ints{0})});
  }
  ValueId Permuted(NodeId at, ValueId value, Ints permutation) {
    if (std::ranges::is_sorted(permutation)) return value;
    onnx::AttributeList attributes;
    attributes.Add("perm", std::move(permutation));
    return to_.Insert(at, "Transpose", {value}, attributes);
  }
  ValueId Size1(NodeId at, ValueId value, int64_t axis) {
    return to_.Insert(at, "Gather", {to_.Insert(at, "Shape", {value}), to_.AddInts(Ints{axis})});
  }

  ValueId Empty(NodeId node) {
    const DType dtype = graph_.type(graph_.result(node)).dtype;
    TensorData none{.source = MakeBufferSource({}), .dtype = dtype, .sizes = {0}};
    // To nothing, onnxruntime joins rows of any sizes.
    const Expr unknown = to_.exprs().Constant(0);
    std::vector<Expr> element;
    for (const auto& names : *list_->element) element.push_back(KnownSize(*list_, names).value_or(unknown));
    for (const Expr size : element) none.sizes.push_back(to_.exprs().AsConstant(size).value_or(-1));
    if (std::ranges::find(none.sizes, -1) == none.sizes.end()) return to_.AddConstant(std::move(none));
    ValueId sizes = to_.AddInts(Ints{0});
    for (const Expr size : element) sizes = Joined(node, {sizes, SizeOf(node, size)});
    TensorData zero{.dtype = dtype, .sizes = {1}};
    zero.source = MakeBufferSource(std::vector<std::byte>(zero.byte_size()));
    return to_.Insert(node, "Expand", {to_.AddConstant(std::move(zero)), sizes});
  }
  ValueId SizeOf(NodeId at, Expr size) {
    if (const auto constant = to_.exprs().AsConstant(size)) return to_.AddInts(Ints{*constant});
    const Source& source = list_->sources.at(size);
    return Size1(at, source.value, source.axis);
  }

  ValueId Constructed(NodeId node) {
    std::vector<ValueId> rows;
    for (const ValueId element : graph_.operands(node)) rows.push_back(Row(node, element));
    return graph_.result(to_.InsertNode(node, "Concat", rows, {{to_.context().Intern("axis"), int64_t{0}}}));
  }

  ValueId Inserted(NodeId node) {
    const ValueId list = graph_.operand(node, 0), row = Row(node, graph_.operand(node, 1));
    if (!to_.Operand(node, 2)) return Joined(node, {list, row});
    const ValueId place = Row(node, graph_.operand(node, 2));
    return Joined(node, {Sliced(node, list, to_.AddInts(Ints{0}), place), row,
                         Sliced(node, list, place, to_.AddInts(Ints{kToTheEnd}))});
  }

  ValueId Erased(NodeId node) {
    const ValueId list = graph_.operand(node, 0), zero = to_.AddInts(Ints{0});
    if (!to_.Operand(node, 1)) return Sliced(node, list, zero, to_.AddInts(Ints{-1}));
    const ValueId given = Row(node, graph_.operand(node, 1));
    const ValueId from_end = to_.Insert(node, "Add", {given, Size1(node, list, 0)});
    const ValueId place = to_.Insert(node, "Where", {to_.Insert(node, "Less", {given, zero}), from_end, given});
    const ValueId after = to_.Insert(node, "Add", {place, to_.AddInts(Ints{1})});
    return Joined(node, {Sliced(node, list, zero, place), Sliced(node, list, after, to_.AddInts(Ints{kToTheEnd}))});
  }

  ValueId At(NodeId node) { return to_.Insert(node, "Gather", {graph_.operand(node, 0), graph_.operand(node, 1)}); }

  ValueId Length(NodeId node) {
    onnx::AttributeList attributes;
    attributes.Add("axes", Ints{0});
    return to_.Insert(node, "Squeeze", {Size1(node, graph_.operand(node, 0), 0)}, attributes);
  }

  ValueId Split(NodeId node) {
    const ValueId whole = graph_.operand(node, 0);
    const auto rank = static_cast<int64_t>(graph_.type(whole).rank());
    const auto axis = static_cast<int64_t>(*onnx::NormalizeAxis(to_.Int(node, "axis", 0), graph_.type(whole).rank()));
    Ints permutation{axis};
    for (int64_t i = 0; i < rank; ++i)
      if (i != axis) permutation.push_back(i);
    const ValueId rows = Permuted(node, whole, std::move(permutation));
    return to_.Int(node, "keepdims", 1) != 0 ? Unsqueezed(node, rows, axis + 1) : rows;
  }

  ValueId Concatenated(NodeId node) {
    const ValueId list = graph_.operand(node, 0);
    const auto rank = static_cast<int64_t>(graph_.type(list).rank()) - 1;  // of an element
    const bool stacks = to_.Int(node, "new_axis", 0) != 0;
    const auto axis = static_cast<int64_t>(
        onnx::NormalizeAxis(to_.Int(node, "axis", 0), static_cast<size_t>(rank + stacks)).value_or(0));
    Ints permutation;
    for (int64_t i = 0; i < axis; ++i) permutation.push_back(i + 1);
    permutation.push_back(0);
    for (int64_t i = axis; i < rank; ++i) permutation.push_back(i + 1);
    const ValueId moved = Permuted(node, list, std::move(permutation));
    if (stacks) return moved;
    const ValueId merged = to_.Insert(node, "Mul", {Size1(node, moved, axis), Size1(node, moved, axis + 1)});
    const ValueId shape = to_.Insert(node, "Shape", {moved});
    const ValueId before = Sliced(node, shape, to_.AddInts(Ints{0}), to_.AddInts(Ints{axis}));
    const ValueId after = Sliced(node, shape, to_.AddInts(Ints{axis + 2}), to_.AddInts(Ints{kToTheEnd}));
    return to_.Insert(node, "Reshape", {moved, Joined(node, {before, merged, after})});
  }

  // A list that the model gives out is one again.
  void UnstackOutputs(std::span<const TypeId> types) {
    const BlockId main = graph_.main();
    for (uint32_t i = 0; i < types.size(); ++i) {
      const ValueId output = graph_.output(main, i);
      if (to_.context()[types[i]].kind != TypeKind::kSequence || !IsStacked(output)) continue;
      const NodeId split = graph_.Append(
          main, to_.context().Intern("SplitToSequence"), {&output, 1},
          {{to_.context().Intern("axis"), int64_t{0}}, {to_.context().Intern("keepdims"), int64_t{0}}}, {&types[i], 1});
      if (const Symbol name = graph_[output].name; name && name != Symbol{0}) {
        graph_.SetName(graph_.result(split), name);
        graph_.SetName(output, {});
      }
      graph_.SetOperand(graph_[main].terminator, i, graph_.result(split));
    }
  }

  Graph& graph_;
  Sink& sink_;
  Editor to_;
  std::vector<uint32_t> parents_;  // of values: a forest, a tree a list
  std::map<uint32_t, List> lists_;  // by root
  const List* list_ = nullptr;  // at hand
};

}  // namespace

Result<Changed> StackSequences(Graph& graph, PassContext& context) {
  if (context.opset >= kSequencesInRegions) return Changed::kNo;
  return Stacker(graph, context).Run();
}

}  // namespace flambeau
