// NEON with the dot-product extension: signed 8-bit digits, sdot multiplies four with four weights for each of 4 outputs.
#pragma once
#include "../neon_bytes.hpp"

namespace pllm {

struct Isa : NeonBytes {
  using Digit = std::int8_t;

  static Sums dot(Sums sums, const Digit* digits, Weights weights) {
    return (Sums)vdotq_s32((int32x4_t)sums, (int8x16_t)weights, vreinterpretq_s8_s32(spread(digits)));
  }
};

}  // namespace pllm
