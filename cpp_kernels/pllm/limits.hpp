// What this machine can do at most, measured with the same instruction and the same loads as the kernels: for benchmarks.
#pragma once
#include "products.hpp"

namespace pllm {

// Runs the innermost instruction on twelve independent sums and gives the number of products made.
long multiply_limit(long rounds) {
  alignas(cache_line) Digit digits[cache_line / sizeof(Digit)] = {};
  alignas(cache_line) std::int8_t bytes[vector_bytes] = {};
  const Isa::Weights weights = Isa::widen(*(const Loaded*)bytes);
  Isa::Sums a = {}, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5;
  Isa::Sums g = a + 6, h = a + 7, i = a + 8, j = a + 9, k = a + 10, l = a + 11;
  for (long round = 0; round < rounds; ++round) {
    a = Isa::dot(a, digits, weights), b = Isa::dot(b, digits, weights), c = Isa::dot(c, digits, weights);
    d = Isa::dot(d, digits, weights), e = Isa::dot(e, digits, weights), f = Isa::dot(f, digits, weights);
    g = Isa::dot(g, digits, weights), h = Isa::dot(h, digits, weights), i = Isa::dot(i, digits, weights);
    j = Isa::dot(j, digits, weights), k = Isa::dot(k, digits, weights), l = Isa::dot(l, digits, weights);
#if !defined(__aarch64__)
    asm volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f));  // so that no round is saved
    asm volatile("" : "+x"(g), "+x"(h), "+x"(i), "+x"(j), "+x"(k), "+x"(l));
#endif
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
