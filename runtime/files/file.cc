#include "runtime/files/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/diagnostics.h"

namespace tarsia {
namespace {

constexpr size_t kChunk = size_t{1} << 20;

Diagnostic FileError(const DiagInfo& info, const std::string& name, int error) {
  return MakeDiagnostic(info, Location(), name, std::generic_category().message(error));
}

// Reads until `size` bytes or the end; returns the bytes read, or -1 with errno.
ssize_t ReadFully(int fd, uint8_t* out, size_t size, uint64_t offset) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd, out + done, std::min(size - done, size_t{1} << 30),
                            static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

// Reads a stream to its end, at most `limit` bytes.
Status ReadStream(int fd, const std::string& name, uint64_t limit, std::string* out) {
  for (;;) {
    const size_t before = out->size();
    out->resize(before + kChunk);
    const ssize_t n = read(fd, out->data() + before, kChunk);
    const int error = errno;
    out->resize(before + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n < 0 && error == EINTR) continue;
    if (n < 0) return FileError(diag::kFileRead, name, error);
    if (n == 0) return OkStatus();
    if (out->size() > limit) return MakeDiagnostic(diag::kFileTooLarge, Location(), name, limit);
  }
}

}  // namespace

// ---- HostBuffer ----------------------------------------------------------------------------

Result<HostBuffer> HostBuffer::Allocate(uint64_t bytes) {
  HostBuffer out;
  if (bytes == 0) return out;
  void* const data = bytes > static_cast<uint64_t>(PTRDIFF_MAX)
                         ? MAP_FAILED
                         : mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return MakeDiagnostic(diag::kApiOutOfMemoryBytes, Location(), bytes);
  // Large pages need fewer page faults. Where there are none, nothing changes.
  constexpr uint64_t kWorthLargePages = uint64_t{8} << 20;
  if (bytes >= kWorthLargePages) madvise(data, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  out.data_ = static_cast<uint8_t*>(data);
  out.size_ = bytes;
  return out;
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

HostBuffer::~HostBuffer() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(size_));
}

// ---- InputFile -----------------------------------------------------------------------------

Result<InputFile> InputFile::Open(const std::string& path, uint64_t stream_limit) {
  InputFile out;
  const bool standard = path == "-";
  out.name_ = standard ? "standard input" : path;
  const int fd = standard ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(diag::kFileOpen, out.name_, errno);
  if (!standard) out.fd_ = fd;  // closed with `out`
  struct stat info = {};
  if (fstat(fd, &info) != 0) return FileError(diag::kFileRead, out.name_, errno);
  if (S_ISDIR(info.st_mode)) return MakeDiagnostic(diag::kFileIsFolder, Location(), out.name_);
  if (S_ISREG(info.st_mode) && !standard) {
    out.size_ = static_cast<uint64_t>(info.st_size);
    return out;
  }
  TARSIA_CHECK(ReadStream(fd, out.name_, stream_limit, &out.stream_));
  if (out.fd_ >= 0) close(std::exchange(out.fd_, -1));
  out.size_ = out.stream_.size();
  return out;
}

InputFile::InputFile(InputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      stream_(std::move(other.stream_)),
      name_(std::move(other.name_)),
      size_(std::exchange(other.size_, 0)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  stream_ = std::move(other.stream_);
  name_ = std::move(other.name_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

bool InputFile::IsAt(const std::string& path) const {
  struct stat own = {};
  struct stat other = {};
  return fd_ >= 0 && fstat(fd_, &own) == 0 && stat(path.c_str(), &other) == 0 &&
         own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

Status InputFile::Read(uint64_t offset, std::span<uint8_t> out) const {
  if (offset > size_ || out.size() > size_ - offset) {
    return MakeDiagnostic(diag::kFileRead, Location(), name_, "it ends too early");
  }
  if (fd_ < 0) {
    if (!out.empty()) std::memcpy(out.data(), stream_.data() + offset, out.size());
    return OkStatus();
  }
  const ssize_t n = ReadFully(fd_, out.data(), out.size(), offset);
  if (n < 0) return FileError(diag::kFileRead, name_, errno);
  if (static_cast<size_t>(n) != out.size()) {
    return MakeDiagnostic(diag::kFileRead, Location(), name_, "it shrank while it was read");
  }
  return OkStatus();
}

// ---- MappedFile ----------------------------------------------------------------------------

Result<MappedFile> MappedFile::Open(const std::string& path) {
  TARSIA_TRY(const InputFile file, InputFile::Open(path));
  MappedFile out;
  out.name_ = file.name();
  if (file.size() == 0) return out;
  const int fd = path == "-" ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info = {};
  if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
      static_cast<uint64_t>(info.st_size) == file.size()) {
    void* const data =
        mmap(nullptr, static_cast<size_t>(file.size()), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data != MAP_FAILED)
      out.bytes_ = {static_cast<uint8_t*>(data), static_cast<size_t>(file.size())};
  }
  if (fd >= 0) close(fd);
  if (!out.bytes_.empty()) return out;
  TARSIA_TRY(out.copy_, HostBuffer::Allocate(file.size()));
  TARSIA_CHECK(file.Read(0, out.copy_.bytes()));
  out.bytes_ = out.copy_.bytes();
  return out;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      copy_(std::move(other.copy_)),
      name_(std::move(other.name_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(copy_, other.copy_);
  std::swap(name_, other.name_);
  return *this;
}

MappedFile::~MappedFile() {
  if (bytes_.empty() || copy_.data() != nullptr) return;
  munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

Result<std::string> ReadFile(const std::string& path, uint64_t limit) {
  TARSIA_TRY(const InputFile file, InputFile::Open(path, limit));
  if (file.size() > limit) {
    return MakeDiagnostic(diag::kFileTooLarge, Location(), file.name(), limit);
  }
  std::string out(static_cast<size_t>(file.size()), '\0');
  TARSIA_CHECK(file.Read(0, {reinterpret_cast<uint8_t*>(out.data()), out.size()}));
  return out;
}

// ---- OutputFile ----------------------------------------------------------------------------

namespace {

// The file that a chain of symbolic links leads to; the path itself where there is none.
std::string Resolve(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) != nullptr ? buffer : path;
}

// A name in the folder of `target` that no other writer uses.
std::string TemporaryName(const std::string& target) {
  static std::atomic<unsigned> counter{0};
  return target + ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(counter++);
}

std::string FolderOf(const std::string& target) {
  const size_t slash = target.rfind('/');
  return slash == std::string::npos ? "." : target.substr(0, slash + 1);
}

// The name of an open file that linkat takes.
std::string NameOfOpen(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// A file without a name on the file system of `target`, or -1 where there can be none. The system
// removes it when the process ends, however it ends: mpirun, for one, kills a rank a moment after
// it has told it to end.
int OpenNameless(const std::string& target) {
  const int fd = open(FolderOf(target).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd < 0 || access(NameOfOpen(fd).c_str(), F_OK) == 0) return fd;
  close(fd);
  return -1;
}

// A file beside `target` under a name of its own, which signals remove. Returns -1 with errno.
int OpenTemporary(const std::string& target, TemporaryFile* name) {
  *name = TemporaryFile(TemporaryName(target));
  const int fd = open(name->path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) name->Release();  // the file with that name is not ours
  return fd;
}

// Makes the name durable: synchronises the folder. Errors of file systems that cannot are
// ignored.
void SyncFolderOf(const std::string& target) {
  const int fd = open(FolderOf(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

Diagnostic OutputFile::Failure(int error) const {
  return FileError(diag::kFileWrite, name_, error);
}

Result<OutputFile> OutputFile::Create(const std::string& path) {
  OutputFile out;
  out.name_ = path == "-" ? "standard output" : path;
  if (path == "-") {
    out.fd_ = STDOUT_FILENO;
    return out;
  }
  const std::string target = Resolve(path);
  struct stat info = {};
  const bool exists = stat(target.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return out.Failure(EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    out.fd_ = open(target.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    // A file that may not be written must not be replaced either.
    if (exists && access(target.c_str(), W_OK) != 0) return out.Failure(errno);
    out.target_ = target;
    out.fd_ = OpenNameless(target);
    if (out.fd_ < 0) out.fd_ = OpenTemporary(target, &out.temporary_);
  }
  if (out.fd_ < 0) return out.Failure(errno);
  out.owns_fd_ = true;
  if (exists && !out.target_.empty()) fchmod(out.fd_, info.st_mode & 07777);
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      owns_fd_(std::exchange(other.owns_fd_, false)),
      name_(std::move(other.name_)),
      target_(std::move(other.target_)),
      written_(std::exchange(other.written_, 0)),
      temporary_(std::move(other.temporary_)) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(owns_fd_, other.owns_fd_);
  name_.swap(other.name_);
  target_.swap(other.target_);
  std::swap(written_, other.written_);
  std::swap(temporary_, other.temporary_);
  return *this;
}

OutputFile::~OutputFile() { Abandon(); }

void OutputFile::Abandon() {
  if (owns_fd_ && fd_ >= 0) close(fd_);
  fd_ = -1;
  temporary_ = TemporaryFile();
}

Status OutputFile::Write(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd_, bytes.data(), std::min(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failure(errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
    written_ += static_cast<uint64_t>(n);
  }
  return OkStatus();
}

Status OutputFile::WriteAt(uint64_t offset, std::span<const uint8_t> bytes) {
  if (target_.empty()) {
    if (offset != written_) return MakeDiagnostic(diag::kFileOrder, Location(), name_);
    return Write(bytes);
  }
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd_, bytes.data(), std::min(bytes.size(), size_t{1} << 30),
                             static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failure(errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return OkStatus();
}

Status OutputFile::Write(std::string_view text) {
  return Write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

// Gives a file without a name that of the target; beside a file that it replaces, a temporary one.
Status OutputFile::Name() {
  const std::string own = NameOfOpen(fd_);
  if (linkat(AT_FDCWD, own.c_str(), AT_FDCWD, target_.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return OkStatus();
  }
  if (errno != EEXIST) return Failure(errno);
  TemporaryFile name(TemporaryName(target_));
  if (linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.path().c_str(), AT_SYMLINK_FOLLOW) != 0) {
    const int error = errno;
    name.Release();  // the file with that name is not ours
    return Failure(error);
  }
  temporary_ = std::move(name);
  return OkStatus();
}

Status OutputFile::Commit() {
  if (!owns_fd_) return OkStatus();
  if (!target_.empty() && fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) {
    return Failure(errno);
  }
  if (!target_.empty() && temporary_.path().empty()) TARSIA_CHECK(Name());
  const int closed = close(std::exchange(fd_, -1));
  if (closed != 0) return Failure(errno);
  if (target_.empty()) return OkStatus();
  if (!temporary_.path().empty()) {
    if (rename(temporary_.path().c_str(), target_.c_str()) != 0) return Failure(errno);
    temporary_.Release();
  }
  SyncFolderOf(target_);
  return OkStatus();
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  TARSIA_TRY(OutputFile file, OutputFile::Create(path));
  TARSIA_CHECK(file.Write(bytes));
  return file.Commit();
}

}  // namespace tarsia
