// Any CPU: signed 16-bit digits in plain vectors of the compiler, which it maps to what the target has.
#pragma once
#include <cstdint>

namespace pllm {

struct Isa {
  using Digit = std::int16_t;
  using Sums = std::int32_t __attribute__((vector_size(16)));
  using Bytes = std::int8_t __attribute__((vector_size(4)));
  using Weights = Sums;
  static constexpr int group = 1;
  static constexpr int columns = 2;
  static constexpr int rows = 4;
  static constexpr int tall_rows = 0;
  static constexpr int unrolled = 1;
  static constexpr long fold = 508;
  static constexpr long padding = 4;
  static constexpr long block_bytes = 128 << 10;
  static constexpr bool converts_words = true;
  static constexpr long spare_rows = 1;

  static Weights widen(Bytes bytes) { return __builtin_convertvector(bytes, Weights); }

  static Sums dot(Sums sums, const Digit* digits, Weights weights) {
    const std::int32_t one = *digits;
    return sums + weights * one;
  }
};

}  // namespace pllm
