#include "onnx/target_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace flambeau::onnx {
namespace {

Failure CannotWrite(Sink& sink, const std::string& path, int error) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (error == ENOENT && !folder.empty())
    return sink.Error(DiagnosticKind::kCannotWrite, fmt::format("cannot write: there is no folder {}", folder.string()), {.file = path},
                      "make it first");
  if (error == EISDIR)
    return sink.Error(DiagnosticKind::kCannotWrite, "cannot write: it is a folder", {.file = path}, "name a file in it");
  return sink.Error(DiagnosticKind::kCannotWrite, fmt::format("cannot write: {}", std::strerror(error)), {.file = path});
}

// The file that `path` means after symbolic links; `path` if there is none yet.
std::string Resolve(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? path : real.string();
}

std::string TemporaryBeside(const std::string& path) {
  static std::atomic<unsigned> counter = 0;
  const size_t name = path.rfind('/') + 1;  // 0 where there is none
  // The name's end may have to go: file names are limited to 255 bytes.
  return fmt::format("{}.{}.tmp-{}-{}", path.substr(0, name), path.substr(name, 200), ::getpid(), counter++);
}

}  // namespace

Result<TargetFile> TargetFile::Create(const std::string& path, Sink& sink) {
  TargetFile target(path);
  target.real_path_ = Resolve(path);
  struct stat info;
  const bool exists = ::stat(target.real_path_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return CannotWrite(sink, path, EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    target.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (target.descriptor_ < 0) return CannotWrite(sink, path, errno);
    return target;
  }
  // A read-only file could be replaced all the same; that isn't what its owner meant.
  if (exists && ::access(target.real_path_.c_str(), W_OK) != 0) return CannotWrite(sink, path, errno);
  const std::string temporary = TemporaryBeside(target.real_path_);
  target.descriptor_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (target.descriptor_ < 0) return CannotWrite(sink, path, errno);
  target.temporary_ = temporary;
  if (exists) (void)!::fchmod(target.descriptor_, info.st_mode & 07777);
  return target;
}

TargetFile::TargetFile(TargetFile&& other) noexcept
    : path_(std::move(other.path_)),
      real_path_(std::move(other.real_path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

TargetFile::~TargetFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void TargetFile::Expect([[maybe_unused]] uint64_t bytes) {
#ifdef __linux__
  // Whether it can or not: what is wrong, writing says.
  if (!is_direct()) (void)::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
#endif
}

Status TargetFile::Close(Sink& sink) {
  // Network file systems tell of a full disk only here.
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 && errno != EINTR) return CannotWrite(sink, path_, errno);
  return {};
}

Status TargetFile::Commit(Sink& sink) {
  if (is_direct()) return {};
  if (std::rename(temporary_.c_str(), real_path_.c_str()) != 0) return CannotWrite(sink, path_, errno);
  temporary_.clear();
  return {};
}

}  // namespace flambeau::onnx
