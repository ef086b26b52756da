// AVX2: signed 16-bit digits, vpmaddwd multiplies two of them with two widened weights for each of 8 outputs.
// vpmaddubsw is no use: it saturates at 16 bits.
#pragma once
#include <cstdint>
#include <cstring>


namespace pllm {

struct Isa {
  using Digit = std::int16_t;
  using Sums = std::int32_t __attribute__((vector_size(32)));
  using Bytes = std::int8_t __attribute__((vector_size(16)));
  using Weights = std::int16_t __attribute__((vector_size(32)));
  static constexpr int group = 2;
  static constexpr int columns = 2;
  static constexpr int rows = 6;  // 12 sums + 2 weights + digit + product of 16 registers
  static constexpr int tall_rows = 0;
  static constexpr int unrolled = 1;
  static constexpr long fold = 508;  // 512 would reach 2^31 when every weight is -128 and every digit -32768
  static constexpr long padding = 4;
  static constexpr long block_bytes = 128 << 10;
  static constexpr bool converts_words = false;
  static constexpr long spare_rows = 1;

  static Weights widen(Bytes bytes) {
#if defined(__clang__)
    return __builtin_convertvector(bytes, Weights);
#else  // which makes eight instructions of it
    using Chars = char __attribute__((vector_size(16)));
    return (Weights)__builtin_ia32_pmovsxbw256((Chars)bytes);
#endif
  }

  static Sums dot(Sums sums, const Digit* digits, Weights weights) {
    std::int32_t two;
    std::memcpy(&two, digits, 4);
    const Sums spread = Sums{} + two;
    return sums + (Sums)__builtin_ia32_pmaddwd256((Weights)spread, weights);
  }
};

}  // namespace pllm
