// Aligned memory that may be missing: every caller checks for null, nothing here throws.
#pragma once
#include "system.hpp"

namespace pllm {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t(2) << 20;

std::size_t round_up(std::size_t value, std::size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// An array of Python, as what it is.
template <class T>
const T* as(const void* data) {
  return static_cast<const T*>(data);
}

template <class T>
T* as(void* data) {
  return static_cast<T*>(data);
}

// At least `bytes`, on huge pages where the system offers them; null when there is no memory.
void* allocate(std::size_t bytes) {
  const bool large = bytes >= huge_page;
  const std::size_t alignment = large ? huge_page : cache_line;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, round_up(bytes, alignment)) != 0) return nullptr;
  if (large) madvise(memory, round_up(bytes, alignment), MADV_HUGEPAGE);
  return memory;
}

// Huge pages that several arrays share, because an array of less than one would waste the rest of it. On small pages the
// lines of one array fall unevenly into the sets of the second cache, and products of it are up to 4 % slower.
struct Region {
  std::atomic<long> users;  // arrays, and one while it takes more
  std::size_t size, used;   // bytes, from the start of this header
};

std::atomic<Region*> open_region{nullptr};        // taken out while somebody carves an array from it: needs no lock
constexpr std::size_t fewest_shared = 64 << 10;   // bytes of an array that is worth it

void leave_region(Region* region) {
  if (region != nullptr && region->users.fetch_sub(1) == 1) std::free(region);
}

Region* new_region(std::size_t bytes) {
  const std::size_t size = round_up(bytes + cache_line, huge_page);
  void* memory = allocate(size);
  return memory == nullptr ? nullptr : new (memory) Region{{1}, size, cache_line};
}

std::size_t room(const Region* region) { return region == nullptr ? 0 : region->size - region->used; }

// An array, and the region that it is a user of; null when there is no memory.
void* allocate_shared(std::size_t bytes, Region*& region) {
  bytes = round_up(bytes, cache_line);
  Region* other = open_region.exchange(nullptr);
  region = room(other) >= bytes ? other : new_region(bytes);
  if (region == nullptr) {
    leave_region(open_region.exchange(other));
    return nullptr;
  }
  region->users.fetch_add(1);
  void* memory = reinterpret_cast<char*>(region) + region->used;
  region->used += bytes;
  Region* kept = room(other) > room(region) ? other : region;
  if (other != region) leave_region(kept == other ? region : other);
  leave_region(open_region.exchange(kept));
  return memory;
}

}  // namespace pllm
