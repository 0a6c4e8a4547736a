// The one list of what happens to a program, in order.
#pragma once

#include <span>

#include "pass/pass.h"

namespace flambeau {

// On the captured ATen program, before lowering.
std::span<const AtenPass> AtenPipeline();
// On the ONNX graph; `optimize` false leaves what correctness needs.
std::span<const OnnxPass> OnnxPipeline(bool optimize);
// After it, where the model is for onnxruntime alone: what keeps that from faults of its own.
std::span<const OnnxPass> OnnxRuntimePipeline();
// Last, where draws get a seed.
std::span<const OnnxPass> SeedPipeline();

}  // namespace flambeau
