// NEON with the i8mm extension: unsigned 8-bit digits as on VNNI, usdot multiplies four with four signed weights.
#pragma once
#include "../neon_bytes.hpp"

namespace pllm {

struct Isa : NeonBytes {
  using Digit = std::uint8_t;

  static Sums dot(Sums sums, const Digit* digits, Weights weights) {
    return (Sums)vusdotq_s32((int32x4_t)sums, vreinterpretq_u8_s32(spread(digits)), (int8x16_t)weights);
  }
};

}  // namespace pllm
