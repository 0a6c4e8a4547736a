// Which version of ONNX's IR a model must declare.
#pragma once

#include "onnx/model.h"

namespace flambeau::onnx {

// The least version that the opsets and the content need: the element types in
// use, and metadata of nodes, values and graphs, which is of IR 10.
int LeastIrVersion(const ModelData& model);

}  // namespace flambeau::onnx
