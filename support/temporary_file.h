// Files that must not outlive the process: a temporary file is removed with the object that names
// it, and by the signals that end a command (an interrupt from the keyboard, `kill`, a closed
// terminal). So are the processes that write such files.
#ifndef TARSIA_SUPPORT_TEMPORARY_FILE_H_
#define TARSIA_SUPPORT_TEMPORARY_FILE_H_

#include <sys/types.h>

#include <string>

namespace tarsia {

// The name of a temporary file, which other code creates and writes. Objects are independent: any
// threads may make and destroy them.
class TemporaryFile {
 public:
  TemporaryFile() = default;  // none
  explicit TemporaryFile(std::string path);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  // Removes the file, if it is there.
  ~TemporaryFile();
  // Empty: no file.
  [[nodiscard]] const std::string& path() const { return path_; }
  // Releases the file without removing it, because it has another name now.
  void Release();

 private:
  std::string path_;
  int slot_ = -1;  // in the list of the signal handler; -1: not in it
};

// A child process that writes temporary files: while the object lives, the signal handler kills it
// before it removes files. Thread-safe like temporary files.
class TemporaryProcess {
 public:
  explicit TemporaryProcess(pid_t process);
  TemporaryProcess(const TemporaryProcess&) = delete;
  TemporaryProcess& operator=(const TemporaryProcess&) = delete;
  // Call it when the process has ended or may continue.
  ~TemporaryProcess();

 private:
  int slot_;  // as for a file
};

// From now on SIGINT, SIGTERM and SIGHUP remove the temporary files before they end the process as
// usual. For programs; a library must not change the signals of its process. Ignored signals stay
// ignored. At most 256 files and 64 processes are recorded at a time; a signal ignores further
// ones.
void RemoveTemporaryFilesOnSignals();

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_TEMPORARY_FILE_H_
