// Tries to make the cache of compiled code serve a wrong entry:
//   cache_stress kill|race|damage
//   kill    processes that write are killed at any point
//   race    several processes write, find, prune and clear at once
//   damage  files are cut, flipped, renamed and filled with parts of others
// The content of a key follows from the key, so that every answer can be judged. TARSIA_LONG=1
// makes 10,000 tries of each. Exits with 1 if an answer was wrong.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/disk_cache.h"
#include "tests/settings.h"

namespace {

namespace fs = std::filesystem;
using tarsia::runtime::CacheKey;
using tarsia::runtime::DiskCache;

constexpr unsigned kKeys = 8;
constexpr uint64_t kLimit = uint64_t{4} << 20;

struct Outcome {
  int tries = 0;
  int found = 0;
  int wrong = 0;
};

// `build` stands for the compiler: an entry of another one is stale.
CacheKey KeyOf(unsigned number, unsigned build) {
  return {"kernel", {std::to_string(build), std::to_string(number)}};
}

std::string ContentOf(unsigned number, unsigned build) {
  std::minstd_rand random(number * 1000 + build + 1);
  std::string out(1 + random() % 200'000, '\0');
  for (char& c : out) c = static_cast<char>(random() >> 8);
  return out;
}

class Contents {
 public:
  Contents() {
    for (unsigned build = 0; build < 2; ++build) {
      for (unsigned i = 0; i < kKeys; ++i) all_[build].push_back(ContentOf(i, build));
    }
  }
  [[nodiscard]] const std::string& Get(unsigned number, unsigned build) const {
    return all_[build][number];
  }

 private:
  std::vector<std::string> all_[2];
};

// Asks for every key of both builds.
void Judge(DiskCache& cache, const Contents& contents, Outcome* out) {
  for (unsigned build = 0; build < 2; ++build) {
    for (unsigned i = 0; i < kKeys; ++i) {
      const auto found = cache.Find(KeyOf(i, build));
      if (!found) continue;
      ++out->found;
      if (*found != contents.Get(i, build)) ++out->wrong;
    }
  }
}

[[noreturn]] void WriteForEver(const std::string& folder, const Contents& contents, unsigned seed) {
  DiskCache cache({folder, kLimit});
  std::minstd_rand random(seed + 1);
  while (true) {
    const auto i = static_cast<unsigned>(random() % kKeys);
    const auto build = static_cast<unsigned>(random() / 64 % 2);
    cache.Keep(KeyOf(i, build), "stress", contents.Get(i, build));
    if (random() % 16 == 0) cache.Drop(KeyOf(i, build));
    if (random() % 64 == 0) (void)cache.Prune(kLimit / 4);
  }
}

pid_t StartWriter(const std::string& folder, const Contents& contents, unsigned seed) {
  const pid_t child = fork();
  if (child == 0) WriteForEver(folder, contents, seed);
  return child;
}

void End(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

Outcome Kill(const std::string& folder, const Contents& contents, int tries) {
  Outcome out;
  std::minstd_rand random(1);
  DiskCache cache({folder, kLimit});
  for (; out.tries < tries; ++out.tries) {
    const pid_t child = StartWriter(folder, contents, static_cast<unsigned>(out.tries));
    usleep(static_cast<useconds_t>(random() % 3000));
    End(child);
    Judge(cache, contents, &out);
  }
  return out;
}

Outcome Race(const std::string& folder, const Contents& contents, int tries) {
  Outcome out;
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 3; ++i) children.push_back(StartWriter(folder, contents, i));
  DiskCache cache({folder, kLimit});
  for (; out.tries < tries; ++out.tries) {
    Judge(cache, contents, &out);
    if (out.tries % 50 == 49) (void)cache.Prune(0);
  }
  for (const pid_t child : children) End(child);
  return out;
}

std::string ReadBytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Some damage, or none, to the bytes of an entry; `other` are those of another one.
std::string Damaged(std::string bytes, const std::string& other, std::minstd_rand& random) {
  const size_t at = random() % (bytes.size() + 1);
  switch (random() % 6) {
    case 0:
      return bytes.substr(0, at);
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
      return bytes;
    case 2:
      return bytes.substr(0, at) + std::string(bytes.size() - at, '\0');  // a hole
    case 3:
      return other;
    case 4:
      return bytes.substr(0, at) + other.substr(std::min(at, other.size()));
    default:
      return bytes;
  }
}

Outcome Damage(const std::string& folder, const Contents& contents, int tries) {
  Outcome out;
  std::minstd_rand random(1);
  DiskCache cache({folder, kLimit});
  const auto keep = [&](unsigned i, unsigned build) {
    cache.Keep(KeyOf(i, build), "stress", contents.Get(i, build));
    return ReadBytes(fs::path(folder) / KeyOf(i, build).file());
  };
  for (; out.tries < tries; ++out.tries) {
    const auto i = static_cast<unsigned>(random() % kKeys);
    const auto build = static_cast<unsigned>(random() / 64 % 2);
    const std::string whole = keep(i, build);
    // The entry of the same kernel that another compiler made, or of another kernel.
    const std::string other = random() % 2 == 0 ? keep(i, 1 - build) : keep((i + 1) % kKeys, build);
    std::ofstream(fs::path(folder) / KeyOf(i, build).file(), std::ios::binary)
        << Damaged(whole, other, random);
    const auto found = cache.Find(KeyOf(i, build));
    if (!found) continue;
    ++out.found;
    if (*found != contents.Get(i, build)) ++out.wrong;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const fs::path folder =
      fs::temp_directory_path() / ("tarsia_cache_stress_" + std::to_string(getpid()));
  const int tries = tarsia::IsLong() ? 10'000 : 300;
  const Contents contents;
  Outcome out;
  if (mode == "kill") out = Kill(folder, contents, tries);
  if (mode == "race") out = Race(folder, contents, tries);
  if (mode == "damage") out = Damage(folder, contents, tries);
  fs::remove_all(folder);
  std::printf("%d tries, %d answers, %d of them wrong\n", out.tries, out.found, out.wrong);
  // A cache that never answers would pass, too.
  return out.tries == tries && out.wrong == 0 &&
                 out.found >= (mode == "damage" ? tries / 10 : tries)
             ? 0
             : 1;
}
