// AVX-VNNI: as AVX-512-VNNI with vectors of 8 outputs and 16 registers.
#pragma once
#include <cstdint>
#include <cstring>


namespace pllm {

struct Isa {
  using Digit = std::uint8_t;
  using Sums = std::int32_t __attribute__((vector_size(32)));
  using Bytes = std::int8_t __attribute__((vector_size(32)));
  using Weights = Sums;
  static constexpr int group = 4;
  static constexpr int columns = 2;
  static constexpr int rows = 6;  // 12 sums + 2 weights + 1 digit of 16 registers
  static constexpr int tall_rows = 0;
  static constexpr int unrolled = 1;
  static constexpr long fold = 65536;
  static constexpr long padding = 4;
  static constexpr long block_bytes = 128 << 10;
  static constexpr bool converts_words = false;
  static constexpr long spare_rows = 1;

  static Weights widen(Bytes bytes) { return (Weights)bytes; }

  static Sums dot(Sums sums, const Digit* digits, Weights weights) {
    std::int32_t four;
    std::memcpy(&four, digits, 4);
    const Sums spread = Sums{} + four;
#if defined(__clang__)
    return __builtin_ia32_vpdpbusd256(sums, spread, weights);
#else
    return (Sums)__builtin_ia32_vpdpbusd_v8si(sums, spread, weights);
#endif
  }
};

}  // namespace pllm
