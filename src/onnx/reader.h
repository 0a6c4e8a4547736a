// ONNX models read back, to splice what users' translations give into our
// graphs; from files, to test what was written. The input is not trusted.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "diag/sink.h"
#include "onnx/model.h"

namespace flambeau::onnx {

// The graph of an ONNX file, over `context`. Weights stay where they are: in
// the file, which stays open, or in the external data that it names.
//
// What the IR cannot hold is an error that names it: local functions, sparse
// tensors, references to attributes of functions. Types that it has no word
// for are unknown; doc strings are lost.
Result<ModelData> ReadModel(const std::string& path, Context* context, Sink& sink);
// The same of bytes in memory, which `owner` keeps alive; external data are
// looked for in `folder`.
Result<ModelData> ReadModel(std::string_view bytes, std::shared_ptr<const void> owner, const std::string& folder,
                            Context* context, Sink& sink);

}  // namespace flambeau::onnx
