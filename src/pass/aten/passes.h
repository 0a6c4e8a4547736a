// The passes over captured programs, one file each.
#pragma once

#include <optional>
#include <string_view>

#include "pass/pass.h"

namespace flambeau {

// Whether an operator only holds a region, which `InlineRegions` opens.
bool IsWrapper(std::string_view op);

// Replaces the bodies of wrappers (`wrap_with_set_grad_enabled`, `wrap`,
// `wrap_with_autocast`, …) by their nodes, and makes the casts of autocast
// nodes.
Result<Changed> InlineRegions(Program::Impl& program, PassContext& context);

// Calls of users' operators that torch has functionalized (auto_functionalized)
// become calls that write to copies.
Result<Changed> ExpandFunctionalized(Program::Impl& program, PassContext& context);

// Makes each node pure: in-place operators, writes through views and out=
// arguments become values. What the program leaves in its inputs and buffers
// becomes further outputs.
Result<Changed> Functionalize(Program::Impl& program, PassContext& context);

// The operator that `Functionalize` makes of a node's, or itself: "" where nothing is
// left to compute, nullopt where there is no pure one.
std::optional<std::string_view> PureOperator(const Graph& graph, NodeId node);

// Whether an operator asserts what the capture already relied on.
bool IsGuard(std::string_view op);

// Drops assertions and what only they use; forwards aliases of pure values.
Result<Changed> DropGuards(Program::Impl& program, PassContext& context);

// Drops the outputs that carry new values of buffers and inputs, and says so;
// not if the context asks for them.
Result<Changed> DropStateOutputs(Program::Impl& program, PassContext& context);

// Drops nodes whose results nobody uses.
Result<Changed> DropDeadNodes(Program::Impl& program, PassContext& context);

// Whether a node may go when its results are unused.
bool IsPure(const Graph& graph, NodeId node);

}  // namespace flambeau
