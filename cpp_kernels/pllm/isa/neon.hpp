// NEON of every 64-bit ARM: signed 16-bit digits, smlal multiplies one of them with four widened weights.
#pragma once
#include <arm_neon.h>
#include <cstdint>
#include <cstring>

namespace pllm {

struct Isa {
  using Digit = std::int16_t;
  using Sums = std::int32_t __attribute__((vector_size(16)));
  using Bytes = std::int8_t __attribute__((vector_size(4)));
  using Weights = std::int16_t __attribute__((vector_size(8)));
  static constexpr int group = 1;
  static constexpr int columns = 4;
  static constexpr int rows = 6;
  static constexpr int tall_rows = 8;
  static constexpr int unrolled = 1;
  static constexpr long fold = 508;
  static constexpr long padding = 4;
  static constexpr long block_bytes = 128 << 10;
  static constexpr bool converts_words = true;
  static constexpr long spare_rows = 1;

  static Weights widen(Bytes bytes) { return __builtin_convertvector(bytes, Weights); }

  static Sums dot(Sums sums, const Digit* digits, Weights weights) {
    return (Sums)vmlal_n_s16((int32x4_t)sums, (int16x4_t)weights, *digits);
  }
};

}  // namespace pllm
