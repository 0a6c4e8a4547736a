// Reads the archives of torch.export.save (`.pt2`) into the canonical ATen
// graph: those of PyTorch 2.8 and newer, and those of 2.5 to 2.7.
//
// Of several models in one archive the one named "model" is read, else the
// first. Weights stay in the file.
#pragma once

#include <memory>

#include "container/zip.h"
#include "diag/sink.h"
#include "flambeau/program.h"
#include "support/file.h"

namespace flambeau {

bool LooksLikePt2(const ZipArchive& archive);
Result<Program> ReadPt2(const ZipArchive& archive, Sink& sink);
Result<Program> ReadPt2(std::shared_ptr<const File> file, Sink& sink);

}  // namespace flambeau
