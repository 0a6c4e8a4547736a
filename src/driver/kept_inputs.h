// Which of a program's inputs its model has.
#pragma once

#include <span>
#include <vector>

#include "aten/program.h"

namespace flambeau {

// Removes the inputs of the model's graph that no operator of the program reads, unless `keep_unused`: what the optimizer
// alone left without use stays. `of_program`: the values of the program that are the graph's inputs. Gives the places of
// those that stay.
std::vector<size_t> KeepInputs(const Program::Impl& program, bool keep_unused, std::span<const ValueId> of_program, Graph& graph);

}  // namespace flambeau
