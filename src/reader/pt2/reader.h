// Reads the archives of torch.export.save (`.pt2`) into the canonical ATen
// graph: those of PyTorch 2.8 and newer, and those of 2.5 to 2.7.
//
// Weights stay in the file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "container/zip.h"
#include "diag/sink.h"
#include "flambeau/program.h"
#include "support/file.h"

namespace flambeau {

bool LooksLikePt2(const ZipArchive& archive);
// The models that the archive holds, as it lists them. One of the old layout is "model".
std::vector<std::string> ModelsOfPt2(const ZipArchive& archive);
// Of several models the one of that name; without a name the one named "model". The schemas are of users' operators, where
// the archive has none.
Result<Program> ReadPt2(const ZipArchive& archive, Sink& sink, std::string_view model = {},
                        std::span<const std::string> operator_schemas = {});
Result<Program> ReadPt2(std::shared_ptr<const File> file, Sink& sink);

}  // namespace flambeau
