// Names of the dynamic dimensions: the user's where there are any, else
// INPUT_dim_N or VALUE_dim_N; never a symbol of the capture's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "aten/program.h"
#include "diag/sink.h"

namespace flambeau {

// Renames the symbols of the program. `given` are the caller's
// ("x.0", "batch") or ("s77", "batch") pairs and win over the program's own;
// `input_names` and `output_names` are the names that these will have. A pair
// that names a dimension of an output is left to NameOutputDimensions.
//
// A dimension that was named, and so declared dynamic, but is a constant in the
// program is reported as a frozen-dimension warning, with the line that the
// capture blames if it says so. Symbols that the program's ranges hold at one
// value become constants.
Status NameDimensions(Program::Impl& program, const std::vector<std::pair<std::string, std::string>>& given,
                      const std::vector<std::string>& input_names, const std::vector<std::string>& output_names, Sink& sink);

// The pairs ("y.0", "anchors") that name dimensions of the model's outputs, if
// these are not constant: there the name stands, whatever the size is made of.
// Those that are, or that the output lacks, are warned of.
void NameOutputDimensions(Graph& graph, const std::vector<std::pair<std::string, std::string>>& given, Sink& sink);

}  // namespace flambeau
