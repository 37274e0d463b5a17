// Files: bounded reads, and atomic writes.
#ifndef TARSIA_RUNTIME_FILES_FILE_H_
#define TARSIA_RUNTIME_FILES_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "support/result.h"
#include "support/temporary_file.h"

namespace tarsia {

// Memory of the host, aligned to a page, initially zero. Pages that are never accessed cost
// nothing.
class HostBuffer {
 public:
  HostBuffer() = default;
  // Errors: no memory, with the number of bytes.
  static Result<HostBuffer> Allocate(uint64_t bytes);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer();
  // Null exactly when size() is 0.
  [[nodiscard]] uint8_t* data() const { return data_; }
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] std::span<uint8_t> bytes() const { return {data_, static_cast<size_t>(size_)}; }

 private:
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
};

// A file open for reading at any offset. A file without seek (a pipe, "-" for standard input) is
// read completely when it is opened. A file that shrinks meanwhile causes an error, never a signal.
class InputFile {
 public:
  // Errors: it cannot be opened or is a folder, or is a stream of more than `stream_limit` bytes.
  static Result<InputFile> Open(const std::string& path, uint64_t stream_limit = uint64_t{1} << 32);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();
  [[nodiscard]] uint64_t size() const { return size_; }
  // "standard input", or the path.
  [[nodiscard]] const std::string& name() const { return name_; }
  // Whether the path is that of this very file, under whatever name. False for streams.
  [[nodiscard]] bool IsAt(const std::string& path) const;
  // Fills `out` with the bytes from `offset` on. Errors: the file is too short.
  [[nodiscard]] Status Read(uint64_t offset, std::span<uint8_t> out) const;

 private:
  InputFile() = default;
  int fd_ = -1;  // -1: the whole file is in stream_
  std::string stream_;
  std::string name_;
  uint64_t size_ = 0;
};

// The contents of a whole file, mapped into memory and read when they are first used; of a file
// without seek ("-" for standard input), read at once. The file must not shrink while it is mapped.
class MappedFile {
 public:
  // Errors: as InputFile, and no memory.
  static Result<MappedFile> Open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  [[nodiscard]] std::span<const uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  MappedFile() = default;
  std::span<const uint8_t> bytes_;
  HostBuffer copy_;  // empty: bytes_ is a mapping
  std::string name_;
};

// The whole of a file ("-": standard input). Errors: as InputFile, or larger than `limit`; no more
// than that is read from a stream.
Result<std::string> ReadFile(const std::string& path, uint64_t limit = uint64_t{256} << 20);

// A file that appears under its name only when all of it is on disk. It has no name until Commit
// has synchronised it, so that nothing remains without Commit, even if the process is killed. On a
// file system that has no files without a name it has a temporary one beside the target, which the
// destructor and signals that can be caught remove. An existing target that is not a regular file
// ("-" for standard output, a pipe, /dev/null) is written to directly. A symbolic link is followed.
class OutputFile {
 public:
  static Result<OutputFile> Create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();
  [[nodiscard]] Status Write(std::span<const uint8_t> bytes);
  [[nodiscard]] Status Write(std::string_view text);
  // Writes at an offset. What is written to directly takes bytes only one behind the other; an
  // error otherwise.
  [[nodiscard]] Status WriteAt(uint64_t offset, std::span<const uint8_t> bytes);
  [[nodiscard]] Status Commit();
  // Whether it is written to directly, as a pipe.
  [[nodiscard]] bool is_stream() const { return target_.empty(); }

 private:
  OutputFile() = default;
  [[nodiscard]] Diagnostic Failure(int error) const;
  [[nodiscard]] Status Name();
  void Abandon();
  int fd_ = -1;
  bool owns_fd_ = false;
  std::string name_;         // for messages
  std::string target_;       // empty: written to directly
  uint64_t written_ = 0;     // by Write, and by WriteAt if directly
  TemporaryFile temporary_;  // none: written to directly, or without a name as yet
};

// Writes a whole file with OutputFile.
Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace tarsia

#endif  // TARSIA_RUNTIME_FILES_FILE_H_
