// Packed sequences: the rows of all sequences that last, step by step. ONNX's
// recurrent operators take them padded, with a length for each.
#pragma once

#include "lower/lowering.h"

namespace flambeau::lower {

struct Packing {
  Tensor inside;   // (steps, batch) of bool: the sequence has that step
  Tensor rows;     // (steps, batch): the packed row of it, 0 where there is none
  Tensor lengths;  // (batch)
};
// `batch` is how many sequences there are, a 0-d number.
Packing PackingOf(Lowering& to, Tensor batch_sizes, Tensor batch);

// (rows, …) to (steps, batch, …); what lies outside is any row.
Tensor Padded(Lowering& to, Tensor data, const Packing& packing);
// The rows that lie inside of (steps, batch, …).
Tensor Packed(Lowering& to, Tensor padded, Tensor inside);

}  // namespace flambeau::lower
