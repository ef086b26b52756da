// What the two byte instructions of NEON share: vectors of 16 weights, four k's for each of 4 outputs.
#pragma once
#include <arm_neon.h>
#include <cstdint>
#include <cstring>

namespace pllm {

struct NeonBytes {
  using Sums = std::int32_t __attribute__((vector_size(16)));
  using Bytes = std::int8_t __attribute__((vector_size(16)));
  using Weights = Bytes;
  static constexpr int group = 4;
  static constexpr int columns = 4;
  static constexpr int rows = 6;
  static constexpr int tall_rows = 8;
  static constexpr int unrolled = 1;
  static constexpr long fold = 65536;
  static constexpr long padding = 4;
  static constexpr long block_bytes = 128 << 10;
  static constexpr bool converts_words = true;
  static constexpr long spare_rows = 1;

  static Weights widen(Bytes bytes) { return bytes; }

  // Four digits, for every output of a vector.
  static int32x4_t spread(const void* digits) {
    std::int32_t four;
    std::memcpy(&four, digits, 4);
    return vdupq_n_s32(four);
  }
};

}  // namespace pllm
