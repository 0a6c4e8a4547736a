// Loops and choices of ONNX around steps that are written as functions.
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

// What `step` makes at 0, 1, …, count - 1, along a new dimension 0; there may be none.
using ItemStep = std::function<std::vector<Tensor>(const Tensor& k)>;
std::vector<Tensor> Collect(Lowering& to, Dim count, const ItemStep& step);

// States, and what goes in or comes out at each index of dimension 0, of which there is one at least.
struct Rows {
  std::vector<Tensor> states, rows;
};
using RowStep = std::function<Rows(const std::vector<Tensor>& states, const std::vector<Tensor>& rows)>;
Rows ForRows(Lowering& to, Rows given, const RowStep& step);

// What `some` makes where the size is not 0, which may be known only when the model runs; else what `none` makes.
std::vector<Tensor> UnlessNone(Lowering& to, Dim size, const std::function<std::vector<Tensor>()>& some,
                               const std::function<std::vector<Tensor>()>& none);

}  // namespace flambeau::lower
