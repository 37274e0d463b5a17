// A module in a memory: its variables have addresses, its constants are ready for the lanes.
#ifndef TARSIA_PTX_MEMORY_IMAGE_H_
#define TARSIA_PTX_MEMORY_IMAGE_H_

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ptx/memory/memory.h"
#include "ptx/parse/module.h"
#include "support/result.h"

namespace tarsia::ptx {

// Where a block's shared memory begins, as an address within the shared space. What lies below is
// never valid, so that a null pointer is found out.
inline constexpr uint64_t kSharedBase = 1024;

// An address within the shared space is an offset in the memory of a block. The bits from
// kRankShift on say whose: 0 is the own block's, r + 1 that of the block of rank r in the cluster.
inline constexpr int kRankShift = 24;
inline constexpr uint64_t kSharedPeers = uint64_t{1} << kRankShift;  // the first of these
inline constexpr uint64_t kSharedWindowBytes = 32 * kSharedPeers;

// The space that an address of a space is in: of the generic space, the one whose window holds it,
// and the address becomes one within that.
Space ResolveGeneric(Space space, uint64_t* address);

// What an entry needs besides its code; by function number.
struct EntryImage {
  const Function* entry = nullptr;
  std::optional<Diagnostic> refusal;       // why it cannot be launched
  bool grid_workspace = false;             // it asks for the barrier of the grid
  uint64_t reserved = 0;                   // bytes in front of its variables, if it asks for them
  uint64_t static_shared = 0;              // bytes of the variables that it or its callees name
  uint64_t dynamic_offset = 0;             // where extern shared memory begins, after all of these
  std::vector<uint64_t> shared_addresses;  // by variable
  std::vector<std::vector<uint8_t>> constants;  // banks by function; empty if it is never called
  std::vector<std::vector<uint8_t>> zeros;      // as long: no bit of a constant is undefined
};

class Image {
 public:
  struct Global {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };

  // Allocates and initialises the variables. The memory must outlive the image.
  static Result<std::unique_ptr<Image>> Load(std::shared_ptr<const Module> module, Memory* memory);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  [[nodiscard]] const Module& module() const { return *module_; }
  [[nodiscard]] Memory& memory() const { return *memory_; }
  // The .global or .const variable of this name.
  [[nodiscard]] std::optional<Global> FindGlobal(std::string_view name) const;
  // The entry of this name, or null.
  [[nodiscard]] const EntryImage* FindEntry(std::string_view name) const;

 private:
  Image(std::shared_ptr<const Module> module, Memory* memory)
      : module_(std::move(module)), memory_(memory) {}
  Status PlaceVariables();
  Status InitialiseVariable(size_t variable);
  void PrepareEntry(const Function& entry);
  void PlaceShared(const std::vector<uint32_t>& functions, EntryImage* image) const;
  void FindSpecials(const std::vector<uint32_t>& functions, EntryImage* image) const;
  [[nodiscard]] std::optional<Diagnostic> RefusalOf(const Function& entry,
                                                    const std::vector<uint32_t>& functions) const;
  [[nodiscard]] std::vector<bool> UnresolvedVariables() const;
  [[nodiscard]] uint64_t AddressOf(const EntryImage* entry, uint32_t variable, bool generic) const;
  void FillBank(const EntryImage& entry, const Function& function,
                std::vector<uint8_t>* bank) const;

  std::shared_ptr<const Module> module_;
  Memory* memory_;
  std::vector<uint64_t> addresses_;  // by variable; 0 for those that are not global
  std::map<std::string, EntryImage, std::less<>> entries_;
};

}  // namespace tarsia::ptx

#endif  // TARSIA_PTX_MEMORY_IMAGE_H_
