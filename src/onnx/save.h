// Writing a model to disk, atomically: everything goes to temporaries beside
// the target, which are renamed at the end, the data file first. A failure or
// an interruption removes them and leaves the target as it was.
#pragma once

#include <functional>
#include <string>

#include "diag/sink.h"
#include "flambeau/options.h"
#include "onnx/model.h"

namespace flambeau::onnx {

// Writes `path` and, as `external_data` says, `path`.data. A target that is no
// regular file (a pipe, /dev/null) is written to directly, without data file.
// `progress` is called now and then; false interrupts.
Status SaveModel(const ModelData& model, const std::string& path, ExternalData external_data,
                 const std::function<bool(const Progress&)>& progress, Sink& sink);

}  // namespace flambeau::onnx
