// Files that must not outlive the process: a temporary file is removed with the object that names
// it, and by the signals that end a command (an interrupt from the keyboard, `kill`, a closed
// terminal). So are the processes that write such files.
#ifndef TARSIA_SUPPORT_TEMPORARY_FILE_H_
#define TARSIA_SUPPORT_TEMPORARY_FILE_H_

#include <sys/types.h>

#include <string>

namespace tarsia {

// The name of a temporary file, which somebody else makes and writes. Objects are independent of
// each other: any threads may make and destroy them.
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
  // "": none.
  [[nodiscard]] const std::string& path() const { return path_; }
  // Gives the file up without removing it: it has another name now.
  void Release();

 private:
  std::string path_;
  int slot_ = -1;  // in the list that the signals go through; -1: it is not there
};

// A child that would write temporary files again: while the object lives, the signals end it by
// force before they remove files. Thread-safe like temporary files.
class TemporaryProcess {
 public:
  explicit TemporaryProcess(pid_t process);
  TemporaryProcess(const TemporaryProcess&) = delete;
  TemporaryProcess& operator=(const TemporaryProcess&) = delete;
  // The process has ended, or may live on.
  ~TemporaryProcess();

 private:
  int slot_;  // as that of a file
};

// From now on SIGINT, SIGTERM and SIGHUP remove the temporary files before they end the process as
// they always do. For programs; a library leaves the signals of its process alone. Signals that
// are ignored stay so. 256 files and 64 processes are remembered at one time; more than those a
// signal leaves.
void RemoveTemporaryFilesOnSignals();

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_TEMPORARY_FILE_H_
