// A TorchScript program becomes a canonical ATen program for given inputs.
#pragma once

#include <span>

#include "aten/program.h"
#include "diag/sink.h"
#include "flambeau/options.h"
#include "flambeau/script.h"
#include "reader/torchscript/graph.h"

namespace flambeau::script {

// `inputs`: one for each input of the program, without `self`. Of the options,
// those count that say what becomes of users' operators.
Result<Program> Specialize(const torchscript::Graph& graph, std::span<const ScriptInput> inputs, const Options& options,
                           Sink& sink);

// A constant of the public interface as the graph has it.
Result<torchscript::Constant> ImportConstant(ScriptConstant constant, Sink& sink);

}  // namespace flambeau::script
