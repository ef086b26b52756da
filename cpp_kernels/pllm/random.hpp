// Uniform residues: words from the operating system, those above the greatest multiple of q thrown away, the rest mod q.
//
// Every residue is the remainder of equally many of the words that are kept, so the result is exactly uniform if the
// words are. The only branch on random data is whether a word is kept, which tells nothing about those that are.
#pragma once
#include "system.hpp"

#include "api.hpp"
#include "memory.hpp"

namespace pllm {

// The only source of the product: getrandom, which waits until the system has enough entropy, once, after boot.
struct SystemSource {
  bool fill(std::uint8_t* bytes, std::size_t count) {
    while (count > 0) {
      const ssize_t got = getrandom(bytes, count, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      bytes += got;
      count -= std::size_t(got);
    }
    return true;
  }
};

// The fewest bytes whose words reach every residue of q; q = 0 is 2^64.
int word_bytes(std::uint64_t q) {
  int bytes = 1;
  while (bytes < 8 && (q - 1) >> (8 * bytes) != 0) ++bytes;
  return bytes;
}

// `count` residues of q (2 <= q, or 0 for 2^64). False when the source fails; results are then not to be used.
template <class Word, class Source>
bool draw_residues(Source& source, std::uint64_t q, long count, Word* results) {
  constexpr long words_a_time = 512;
  const int bytes = word_bytes(q);
  const std::uint64_t last = bytes == 8 ? ~std::uint64_t(0) : (std::uint64_t(1) << (8 * bytes)) - 1;
  const std::uint64_t spare = q == 0 ? 0 : (last % q + 1) % q;  // words above the greatest multiple of q
  std::uint8_t buffer[words_a_time * 8];
  while (count > 0) {
    const long words = count < words_a_time ? count : words_a_time;
    if (!source.fill(buffer, std::size_t(words * bytes))) return false;
    for (long i = 0; i < words; ++i) {
      std::uint64_t word = 0;
      for (int b = 0; b < bytes; ++b) word |= std::uint64_t(buffer[i * bytes + b]) << (8 * b);
      if (word > last - spare) continue;
      *results++ = Word(q == 0 ? word : word % q);
      --count;
    }
  }
  for (auto& byte : buffer) *const_cast<volatile std::uint8_t*>(&byte) = 0;
  return true;
}

}  // namespace pllm

extern "C" int pllm_uniform(uint64_t q, long count, int word_bits, void* results) {
  using namespace pllm;
  SystemSource source;
  return word_bits == 32 ? draw_residues(source, q, count, as<uint32_t>(results))
                         : draw_residues(source, q, count, as<uint64_t>(results));
}
