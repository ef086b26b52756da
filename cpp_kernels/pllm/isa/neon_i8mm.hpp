// NEON with the i8mm extension: unsigned 8-bit digits as on VNNI, usdot multiplies four with four signed weights.
#pragma once
#include <arm_neon.h>
#include <cstdint>
#include <cstring>


namespace pllm {

struct Isa {
  using Digit = std::uint8_t;
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

  static Sums dot(Sums sums, const Digit* digits, Weights weights) {
    std::int32_t four;
    std::memcpy(&four, digits, 4);
    return (Sums)vusdotq_s32((int32x4_t)sums, vreinterpretq_u8_s32(vdupq_n_s32(four)), (int8x16_t)weights);
  }
};

}  // namespace pllm
