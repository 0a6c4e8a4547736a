// A file that comes into being as a whole or not at all.
//
// What is written goes to a temporary beside the target (`.NAME.tmp-PID-N`);
// Commit renames it. A TargetFile that dies uncommitted removes its temporary.
// Only a kill leaves one behind, and even then the target is as it was.
#pragma once

#include <cstdint>
#include <string>

#include "diag/sink.h"

namespace flambeau::onnx {

class TargetFile {
 public:
  // Symbolic links are followed; an existing target's permissions are kept.
  static Result<TargetFile> Create(const std::string& path, Sink& sink);
  TargetFile(TargetFile&& other) noexcept;
  TargetFile& operator=(TargetFile&&) = delete;
  ~TargetFile();

  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  // Whether the target is a pipe or a device, which can't be replaced.
  bool is_direct() const { return temporary_.empty(); }
  // Says how much will be written, to file systems that are then faster.
  void Expect(uint64_t bytes);
  // Closes the temporary; what is left is the rename.
  Status Close(Sink& sink);
  Status Commit(Sink& sink);

 private:
  TargetFile(std::string path) : path_(std::move(path)) {}

  std::string path_;       // as the caller gave it
  std::string real_path_;  // behind symbolic links
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace flambeau::onnx
