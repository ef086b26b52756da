// AVX-512-VNNI: u8 digits, one vpdpbusd multiplies four of them with four weights for each of 16 outputs.
#pragma once
#include <cstdint>
#include <cstring>

namespace pllm {

struct Avx512Vnni {
  using Digit = std::uint8_t;
  using Sums = std::int32_t __attribute__((vector_size(64)));
  using Bytes = std::int8_t __attribute__((vector_size(64)));
  using Weights = Sums;
  static constexpr int group = 4;      // k's that one instruction takes
  static constexpr int columns = 4;    // vectors across a panel
  static constexpr int rows = 6;       // digit rows of a tile: 24 sums + 4 weights + 1 digit of 32 registers
  static constexpr int tall_rows = 8;  // digit rows of a tile over half a panel
  static constexpr int unrolled = 2;   // steps of a tile that are one pass of its loop
  static constexpr long fold = 65536;  // k's after which 32-bit sums are widened
  static constexpr long padding = 16;  // K is padded to a multiple of this
  static constexpr long block_bytes = 128 << 10;  // of digits that stay near while the weights go by
  static constexpr bool converts_words = true;  // 64-bit integers to double, in whole vectors
  static constexpr long spare_rows = 1;  // digit rows that a tile may read past the last

  static Weights widen(Bytes bytes) { return (Weights)bytes; }

  static Sums dot(Sums sums, const Digit* digits, Weights weights) {
    std::int32_t four;
    std::memcpy(&four, digits, 4);
    const Sums spread = Sums{} + four;
#if defined(__clang__)
    return __builtin_ia32_vpdpbusd512(sums, spread, weights);
#else
    return (Sums)__builtin_ia32_vpdpbusd_v16si(sums, spread, weights);
#endif
  }
};

#ifndef PLLM_AMX
using Isa = Avx512Vnni;
#endif

}  // namespace pllm
