// What this machine can do at most, measured with the same instruction and the same loads as the kernels: for benchmarks.
#pragma once
#include "products.hpp"

namespace pllm {

// The same weights, of which the compiler no longer knows that they are the same: no product is saved.
__attribute__((always_inline)) inline Isa::Weights& unknown(Isa::Weights& weights) {
#if defined(__aarch64__)
  asm volatile("" : "+w"(weights));
#elif defined(__x86_64__)
  asm volatile("" : "+x"(weights));
#endif
  return weights;
}

// Runs the innermost instruction on twelve independent sums and gives the number of products made.
long multiply_limit(long rounds) {
  alignas(cache_line) Digit digits[cache_line / sizeof(Digit)] = {};
  alignas(cache_line) std::int8_t bytes[vector_bytes] = {};
  asm volatile("" : : "r"(digits), "r"(bytes) : "memory");  // nor that they are zero
  Isa::Weights w = Isa::widen(*(const Loaded*)bytes);
  Isa::Sums a = {}, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5;
  Isa::Sums g = a + 6, h = a + 7, i = a + 8, j = a + 9, k = a + 10, l = a + 11;
  for (long round = 0; round < rounds; ++round) {
    a = Isa::dot(a, digits, unknown(w)), b = Isa::dot(b, digits, unknown(w)), c = Isa::dot(c, digits, unknown(w));
    d = Isa::dot(d, digits, unknown(w)), e = Isa::dot(e, digits, unknown(w)), f = Isa::dot(f, digits, unknown(w));
    g = Isa::dot(g, digits, unknown(w)), h = Isa::dot(h, digits, unknown(w)), i = Isa::dot(i, digits, unknown(w));
    j = Isa::dot(j, digits, unknown(w)), k = Isa::dot(k, digits, unknown(w)), l = Isa::dot(l, digits, unknown(w));
  }
  const Isa::Sums all = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l;
  return rounds * 12 * vector_bytes + (all[0] == 0x7fffffff);
}

// Reads memory front to back once.
long read_limit(const std::int8_t* memory, long bytes) {
  Isa::Bytes total[4] = {};
  for (long i = 0; i + 4 * vector_bytes <= bytes; i += 4 * vector_bytes)
    for (int j = 0; j < 4; ++j) total[j] ^= *(const Loaded*)(memory + i + j * vector_bytes);
  return (total[0] ^ total[1] ^ total[2] ^ total[3])[0];
}

}  // namespace pllm

extern "C" {

long pllm_multiply_limit(long rounds) { return pllm::multiply_limit(rounds); }

long pllm_read_limit(const void* memory, long bytes) { return pllm::read_limit(pllm::as<std::int8_t>(memory), bytes); }
}
