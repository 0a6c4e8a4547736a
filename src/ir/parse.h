// Reads the textual form of a graph; ir/print.h describes it.
//
// The text is not trusted: it opens no files, is read without recursion, and
// allocates in proportion to its length. What it says is not checked beyond its
// own grammar and scoping; VerifyGraph does that.
#pragma once

#include <string_view>

#include "diag/sink.h"
#include "ir/graph.h"

namespace flambeau {

// Errors are located as "line:column" in Location::source.
Result<Graph> ParseGraph(std::string_view text, Context& context, Sink& sink);

}  // namespace flambeau
