// Files that are read in place: opened once, read by offset, mapped in windows.
//
// Offsets and sizes are bytes. No function trusts a size that the file itself
// does not have. Nothing here reports; callers know what the file was for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace flambeau {

class File {
 public:
  // Fails with `*error` set to the system's words.
  static std::shared_ptr<const File> Open(const std::string& path, std::string* error);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  // Reads exactly out.size() bytes; false past the end or on an I/O error.
  bool Read(uint64_t offset, std::span<std::byte> out) const;

 private:
  File(std::string path, int descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}
  std::string path_;
  int descriptor_;
  uint64_t size_;
};

// A read-only view of [offset, offset + size) of a file.
class Window {
 public:
  static std::optional<Window> Map(const File& file, uint64_t offset, uint64_t size);
  ~Window();
  Window(Window&& other) noexcept;
  Window& operator=(Window&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  Window() = default;
  void* base_ = nullptr;
  size_t length_ = 0;
  std::span<const std::byte> bytes_;
};

}  // namespace flambeau
