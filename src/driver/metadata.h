// The metadata that torch.onnx documents, for a model and its parts.
#pragma once

#include "aten/program.h"
#include "flambeau/options.h"
#include "lower/additions.h"
#include "onnx/model.h"

namespace flambeau {

// How much is said, where the options leave it open, too.
Metadata MetadataLevel(const Options& options);

// Fills the model's, graph's, nodes' and values' metadata as the options ask.
// `captured` is the ATen graph as it was read: node texts are made from it.
// The program must outlive the model.
void AttachMetadata(const Program::Impl& program, std::shared_ptr<const Graph> captured, lower::Additions additions,
                    const Options& options, onnx::ModelData& model);

}  // namespace flambeau
