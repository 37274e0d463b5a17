// Files that must not outlive the process: a temporary file is removed with the object that names
// it, and by the signals that end a command (an interrupt from the keyboard, `kill`, a closed
// terminal).
#ifndef TARSIA_SUPPORT_TEMPORARY_FILE_H_
#define TARSIA_SUPPORT_TEMPORARY_FILE_H_

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

// From now on SIGINT, SIGTERM and SIGHUP remove the temporary files before they end the process as
// they always do. For programs; a library leaves the signals of its process alone. Signals that
// are ignored stay so. 256 files are remembered at one time; more than those a signal leaves.
void RemoveTemporaryFilesOnSignals();

}  // namespace tarsia

#endif  // TARSIA_SUPPORT_TEMPORARY_FILE_H_
