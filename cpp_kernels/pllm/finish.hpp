// From sums of digits to results: one struct for each ring, all loops over the outputs of a panel, no branch on data.
//
// `Totals` outlive a fold; `absorb` adds the 32-bit sums of one fold to them; `finish` gives the results.
// docs/kernels/bounds.md proves that nothing here overflows or rounds wrongly.
#pragma once
#include "digits.hpp"

namespace pllm {

constexpr long unfolded = long(1) << 40;  // a ring of 32 bits needs no folds: sums may wrap

struct Finish {
  std::uint64_t modulus;  // q
  std::uint64_t mask;     // 2^k - 1
  double scales[8];       // base^l / q
};

// int8 times int8. Unsigned digits carry 128 too much each, which `offsets` takes back.
struct Clear {
  using Value = std::int8_t;
  using Result = std::int32_t;
  static constexpr int digits = 1;
  static constexpr bool columns = false;  // whether inputs may lie column by column
  static constexpr long fold = unfolded;
  struct Totals {
    std::uint32_t low[panel];
  };
  static void absorb(const std::int32_t* __restrict sums, const Finish&, Totals& totals) {
    for (int j = 0; j < panel; ++j) totals.low[j] += std::uint32_t(sums[j]);
  }
  static void finish(const Totals& totals, const Finish&, const std::int32_t* __restrict offsets, Result* __restrict results) {
    for (int j = 0; j < panel; ++j)
      results[j] = std::int32_t(totals.low[j] - (signed_digits ? 0 : std::uint32_t(offsets[j])));
  }
};

// Modulo 2^k, k <= 32.
template <int Digits>
struct Ring32 {
  using Value = std::uint32_t;
  using Result = std::uint32_t;
  static constexpr int digits = Digits;
  static constexpr bool columns = false;
  static constexpr long fold = unfolded;
  struct Totals {
    std::uint32_t low[panel];
  };
  static void absorb(const std::int32_t* __restrict sums, const Finish&, Totals& totals) {
    for (int j = 0; j < panel; ++j) {
      std::uint32_t total = totals.low[j];
      for (int l = 0; l < Digits; ++l) total += std::uint32_t(sums[l * panel + j]) << (digit_bits * l);
      totals.low[j] = total;
    }
  }
  static void finish(const Totals& totals, const Finish& ring, const std::int32_t*, Result* __restrict results) {
    const std::uint32_t mask = std::uint32_t(ring.mask);
    for (int j = 0; j < panel; ++j) results[j] = totals.low[j] & mask;
  }
};

// Modulo 2^k, k <= 64.
template <int Digits>
struct Ring64 {
  using Value = std::uint64_t;
  using Result = std::uint64_t;
  static constexpr int digits = Digits;
  static constexpr bool columns = false;
  static constexpr long fold = Isa::fold;
  struct Totals {
    std::uint64_t low[panel];
  };
  static void absorb(const std::int32_t* __restrict sums, const Finish&, Totals& totals) {
    for (int j = 0; j < panel; ++j) {
      std::uint64_t total = totals.low[j];
      for (int l = 0; l < Digits; ++l) total += std::uint64_t(std::int64_t(sums[l * panel + j])) << (digit_bits * l);
      totals.low[j] = total;
    }
  }
  static void finish(const Totals& totals, const Finish& ring, const std::int32_t*, Result* __restrict results) {
    const std::uint64_t mask = ring.mask;
    for (int j = 0; j < panel; ++j) results[j] = totals.low[j] & mask;
  }
};

// Modulo q < 2^62. `low` is the sum modulo 2^64, `quotient` is the sum divided by q to within far less than a half,
// so that low - round(quotient) * q, modulo 2^64, is the remainder or one q away from it.
template <int Digits, class Word>
struct Residue {
  using Value = Word;
  using Result = Word;
  static constexpr int digits = Digits;
  static constexpr bool columns = sizeof(Word) == 8;
  static constexpr long fold = Isa::fold;
  struct Totals {
    std::uint64_t low[panel];
    double quotient[panel];
  };
  static void absorb(const std::int32_t* __restrict sums, const Finish& ring, Totals& totals) {
    double scales[Digits];
    for (int l = 0; l < Digits; ++l) scales[l] = ring.scales[l];
    for (int j = 0; j < panel; ++j) {
      std::uint64_t low = totals.low[j];
      double quotient = totals.quotient[j];
      for (int l = 0; l < Digits; ++l) {
        const std::int32_t sum = sums[l * panel + j];
        low += std::uint64_t(std::int64_t(sum)) << (digit_bits * l);
        quotient += double(sum) * scales[l];
      }
      totals.low[j] = low;
      totals.quotient[j] = quotient;
    }
  }
  static void finish(const Totals& totals, const Finish& ring, const std::int32_t*, Result* __restrict results) {
    constexpr double rounding = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves the rounded integer in the low bits
    const std::uint64_t q = ring.modulus;
    for (int j = 0; j < panel; ++j) {
      const double shifted = totals.quotient[j] + rounding;
      std::uint64_t bits;
      std::memcpy(&bits, &shifted, 8);
      constexpr std::uint64_t zero = 0x4338000000000000u;  // the bits of `rounding`
      std::uint64_t rest = totals.low[j] - (bits - zero) * q;
      rest += std::int64_t(rest) < 0 ? q : 0;
      rest -= rest >= q ? q : 0;
      results[j] = Result(rest);
    }
  }
};

}  // namespace pllm
