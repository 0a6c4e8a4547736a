// What a file is that holds no program.
#pragma once

#include <string>

#include "container/zip.h"
#include "support/file.h"

namespace flambeau {

struct FileKind {
  std::string what, hint;
};

// By its first bytes; the file is no zip archive.
FileKind DescribeBytes(const File& file);
// An archive that is neither of torch.export nor of torch.jit.
FileKind DescribeArchive(const ZipArchive& archive);

}  // namespace flambeau
