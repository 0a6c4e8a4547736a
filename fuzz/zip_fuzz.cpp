// Zip archives: the directory, each entry's data, archives inside of archives,
// and the state dict if there is one.
#include <cstdlib>

#include "container/memory_file.h"
#include "container/torch_tensors.h"
#include "container/zip.h"

namespace {

using namespace flambeau;

constexpr uint64_t kLimit = 1 << 20;

void Check(bool holds) {
  if (!holds) std::abort();
}

void ReadAll(const ZipArchive& archive, Sink& sink) {
  for (const ZipEntry& entry : archive.entries()) {
    Check(archive.Find(entry.name) == &entry && entry.name.starts_with(archive.root()));
    if (const auto bytes = archive.Read(entry, kLimit, sink)) Check(bytes->size() == entry.size);
    if (!entry.IsStored()) continue;
    if (const auto offset = archive.DataOffset(entry, sink)) {
      Check(*offset <= archive.file()->size() && entry.size <= archive.file()->size() - *offset);
    }
  }
  if (const auto tensors = ReadStateDict(archive, sink)) {
    for (const StoredTensor& tensor : *tensors) {
      Check(tensor.storage_begin + tensor.storage_bytes <= archive.file()->size());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Sink sink;
  const auto archive = ZipArchive::Open(MemoryFile({reinterpret_cast<const char*>(data), size}), sink);
  Check(!archive == sink.HasErrors());
  if (!archive) return 0;
  ReadAll(*archive, sink);
  for (const ZipEntry& entry : archive->entries()) {
    if (const auto nested = archive->OpenNested(entry, sink)) ReadAll(*nested, sink);
  }
  return 0;
}
