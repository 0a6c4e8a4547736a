// One step from a tensor to a view of it: how the step is taken again from a
// new value of the tensor, and how a new value of the view is put back into it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "pass/aten/call.h"

namespace flambeau {

struct ViewStep {
  Call call;  // its operand `slot` is the viewed tensor
  uint32_t slot = 0;
  bool identity = false;  // the view is the tensor itself, or an exact alias
  TypeId type;            // of the view
};

// Where the pieces end that were asked for of a node that cuts a tensor apart; a new one for each node.
struct CutEnd {
  using Number = std::variant<int64_t, ValueId>;  // a constant, or a value that exists at run time

  uint32_t results = 0;  // up to which it is
  Number end = int64_t{0};
  NodeId before;  // in front of which it is added up, behind the node that cuts
};

// The steps from the tensor to a result of the view node `node`, one or two.
// `argument`: the schema argument that result `result` is a view of. Sizes that
// only exist at run time become nodes behind `node`. The results of a node are
// asked for in order, with one `cut`: where a piece begins, the one before ends.
std::vector<ViewStep> StepsOf(Graph& graph, NodeId node, uint32_t result, uint32_t argument, CutEnd& cut);

// The same of a sequence that the node cuts the tensor into, and of a tensor that it takes out of a sequence.
ViewStep StepOfSequence(const Graph& graph, NodeId node);
// Whether the node cuts its argument into pieces.
bool IsCut(const Graph& graph, NodeId node);
// The same where none of the pieces has elements of another.
bool CutsApart(const Graph& graph, NodeId node);

// The view of another value of the tensor.
ValueId Replay(Graph& graph, const ViewStep& step, ValueId tensor, NodeId before, OriginId origin);

// Whether the view has all elements of the tensor where that has them.
bool IsWhole(const Graph& graph, const ViewStep& step);
// One position along a dimension, if only a run knows which.
struct OpenPosition {
  ValueId number;
  int64_t dim;
};
std::optional<OpenPosition> OpenPositionOf(const Graph& graph, const ViewStep& step, TypeId viewed);

// What the inverse of a step needs of the viewed tensor.
struct Viewed {
  TypeId type;
  ValueId like;  // any value of its sizes, old ones too
};

// Whether several elements of the view may be one element of the tensor. Then
// a part of the view does not say what the rest of it is, and there is no
// inverse step by step, only PutBack.
bool MayOverlap(const Graph& graph, const ViewStep& step, TypeId viewed);
// Whether the inverse needs the other elements of the tensor.
bool InverseReadsTensor(const Graph& graph, const ViewStep& step);
// The tensor after `view` became the view's new value. `tensor`: its current
// value; may be invalid if InverseReadsTensor says no.
ValueId Invert(Graph& graph, const ViewStep& step, Viewed viewed, ValueId tensor, ValueId view, NodeId before,
               OriginId origin);
// The same over several steps, from the tensor to the view, by the positions of
// the elements: right for each view, fast for none.
ValueId PutBack(Graph& graph, std::span<const ViewStep* const> steps, Viewed viewed, ValueId tensor, ValueId view,
                NodeId before, OriginId origin);

// How far into its tensor's memory the view starts, in elements; nullopt if
// that is not known.
std::optional<Expr> OffsetOf(const Graph& graph, const ViewStep& step, TypeId viewed);

}  // namespace flambeau
