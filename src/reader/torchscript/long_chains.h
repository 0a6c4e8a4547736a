// Ifs that stand in each other because the program lists many cases.
#pragma once

#include "reader/torchscript/graph.h"

namespace flambeau::torchscript {

// `if a: ... elif b: ... elif c: ...` is an If in an If in an If, and ONNX files cannot nest that deep. A chain of many is
// cut into some that follow each other: each says whether a case was met, and the next one is walked where none was.
void CutLongChains(Graph& graph);

}  // namespace flambeau::torchscript
