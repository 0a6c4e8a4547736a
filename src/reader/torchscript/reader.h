// Reads TorchScript archives (torch.jit.save, torch 1.4 and newer) into one
// inlined TorchScript graph. Weights stay in the file.
#pragma once

#include <string>

#include "container/zip.h"
#include "diag/sink.h"
#include "reader/torchscript/graph.h"

namespace flambeau {

bool LooksLikeTorchScript(const ZipArchive& archive);

namespace torchscript {

// `method` of the archive's module, with all that it calls put in its place;
// without a name its forward, or its only method.
Result<Graph> ReadArchive(const ZipArchive& archive, Sink& sink, const std::string& method = {});

// The inlined graph of a function of `code`, a file "__torch__.py", for tests;
// `version` decides which operators are upgraded.
Result<Graph> ReadCode(std::string code, const std::string& function, Sink& sink, int64_t version = INT64_MAX);

}  // namespace torchscript
}  // namespace flambeau
