// Loops of ONNX around steps that are written as functions.
#pragma once

#include <functional>
#include <vector>

#include "lower/op.h"

namespace flambeau::lower {

// The states after step 0, 1, …, count - 1 (0-d int64). States keep their types.
using Step = std::function<std::vector<Tensor>(const Tensor& k, const std::vector<Tensor>& states)>;
std::vector<Tensor> Repeat(Lowering& to, Tensor count, std::vector<Tensor> states, const Step& step);

// The same while the first state, a 0-d bool, is true, `limit` times at most.
std::vector<Tensor> RepeatWhile(Lowering& to, Tensor limit, std::vector<Tensor> states, const Step& step);

}  // namespace flambeau::lower
