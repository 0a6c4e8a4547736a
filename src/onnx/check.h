// Our own look at a model before it is written: does it keep ONNX's rules?
//
// What breaks one is a bug of Flambeau (or of a user's translator), and is
// better found here, with the node's origin, than by a runtime. Linear and
// cheap: it runs on every model.
#pragma once

#include "diag/sink.h"
#include "onnx/model.h"

namespace flambeau::onnx {

// Operators of ai.onnx against the operator table: they exist at the opset; the
// number, presence and types of inputs and outputs; attributes. All operators:
// their domain is imported; what they use is defined before, in their graph or
// around it. Names are unique over all graphs. Reports kInvalidModel, at most
// kMaxReports times.
inline constexpr int kMaxReports = 20;
Status CheckModel(const ModelData& model, Sink& sink);

}  // namespace flambeau::onnx
