// Bytes as a file without a name, for the tests and fuzzers of what reads files.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "support/file.h"

namespace flambeau {

inline std::shared_ptr<const File> MemoryFile(std::string_view bytes) {
  const int descriptor = ::memfd_create("flambeau", MFD_CLOEXEC);
  if (descriptor < 0 || ::write(descriptor, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  std::string error;
  auto file = File::Open("/proc/self/fd/" + std::to_string(descriptor), &error);
  ::close(descriptor);
  return file;
}

}  // namespace flambeau
