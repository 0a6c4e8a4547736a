// What the engine's own readers may ask of a ProgramBuilder beyond its public
// face.
#pragma once

#include <memory>

#include "diag/sink.h"
#include "flambeau/program.h"
#include "support/file.h"

namespace flambeau {

struct BuilderAccess {
  // Tensors whose `file` is this file's path are read from this file; it is not
  // opened again, so what was checked is what is read.
  static void UseFile(ProgramBuilder& builder, std::shared_ptr<const File> file);
  // Where the builder reports; for scopes that say where in an archive it is.
  static Sink& SinkOf(ProgramBuilder& builder);
};

}  // namespace flambeau
