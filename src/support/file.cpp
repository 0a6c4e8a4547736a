#include "support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace flambeau {

std::shared_ptr<const File> File::Open(const std::string& path, std::string* error) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    *error = std::strerror(errno);
    return nullptr;
  }
  struct stat info;
  const bool known = ::fstat(descriptor, &info) == 0;
  if (!known || !S_ISREG(info.st_mode)) {
    *error = !known ? std::strerror(errno) : S_ISDIR(info.st_mode) ? "is a directory" : "is not a regular file";
    ::close(descriptor);
    return nullptr;
  }
  return std::shared_ptr<const File>(new File(path, descriptor, static_cast<uint64_t>(info.st_size)));
}

File::~File() { ::close(descriptor_); }

bool File::Read(uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset) return false;
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

std::optional<Window> Window::Map(const File& file, uint64_t offset, uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  Window window;
  if (size == 0) return window;
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  window.length_ = static_cast<size_t>(offset - begin + size);
  window.base_ = ::mmap(nullptr, window.length_, PROT_READ, MAP_PRIVATE, file.descriptor(), static_cast<off_t>(begin));
  if (window.base_ == MAP_FAILED) {
    window.base_ = nullptr;
    return std::nullopt;
  }
  window.bytes_ = {static_cast<const std::byte*>(window.base_) + (offset - begin), static_cast<size_t>(size)};
  return window;
}

Window::~Window() {
  if (base_ != nullptr) ::munmap(base_, length_);
}

Window::Window(Window&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), length_(std::exchange(other.length_, 0)), bytes_(std::exchange(other.bytes_, {})) {}

Window& Window::operator=(Window&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(length_, other.length_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace flambeau
