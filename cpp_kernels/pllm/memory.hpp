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

}  // namespace pllm
