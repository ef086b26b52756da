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
  double scale;           // 1 / q
};

// int8 times int8. Unsigned digits carry 128 too much each, which `offsets` takes back. Sums that begin
// with the offsets are results.
struct Clear {
  using Value = std::int8_t;
  using Result = std::int32_t;
  static constexpr int digits = 1;
  static constexpr bool columns = false;     // whether inputs may lie column by column
  static constexpr bool direct_sums = true;  // whether sums are results, once they began with the offsets
  static constexpr long fold = unfolded;
  struct Totals {
    std::uint32_t low[panel];
  };
  static void absorb(const std::int32_t* __restrict sums, const Finish&, Totals& totals) {
    for (int j = 0; j < panel; ++j) totals.low[j] += std::uint32_t(sums[j]);
  }
  static Result result(std::uint32_t total, std::int32_t offset) {
    return std::int32_t(total + (signed_digits ? 0 : std::uint32_t(offset)));
  }
  static void finish(const Totals& totals, const Finish&, const std::int32_t* __restrict offsets, Result* __restrict results) {
    for (int j = 0; j < panel; ++j) results[j] = result(totals.low[j], offsets[j]);
  }
  static void direct(const std::int32_t* __restrict sums, const Finish&, const std::int32_t* __restrict offsets,
                     Result* __restrict results) {
    for (int j = 0; j < panel; ++j) results[j] = result(std::uint32_t(sums[j]), offsets[j]);
  }
};

// sum of sums_l * base^l modulo 2^32, for digits from First up to Last.
template <int First, int Last>
std::uint32_t joined(const std::int32_t* sums) {
  std::uint32_t total = std::uint32_t(sums[First * panel]);
  for (int l = First + 1; l < Last; ++l) total += std::uint32_t(sums[l * panel]) << (digit_bits * (l - First));
  return total;
}

// The same, exact: at most 32 / digit_bits sums of a fold stay far below 2^63.
template <int First, int Last>
std::int64_t joined_exactly(const std::int32_t* sums) {
  std::int64_t total = sums[First * panel];
  for (int l = First + 1; l < Last; ++l) total += std::int64_t(sums[l * panel]) * (std::int64_t(1) << (digit_bits * (l - First)));
  return total;
}

constexpr int low_digits = 32 / digit_bits;

// What the sums of the low digits of a fold carry over bit 32, all in 32 bits: docs/kernels/bounds.md.
std::int32_t carried(const std::int32_t* sums) {
  std::int32_t carry = 0;
  for (int l = 0; l < low_digits; ++l) carry = (sums[l * panel] + carry) >> digit_bits;
  return carry;
}

// Modulo 2^k, k <= 32.
template <int Digits>
struct Ring32 {
  using Value = std::uint32_t;
  using Result = std::uint32_t;
  static constexpr int digits = Digits;
  static constexpr bool columns = false;
  static constexpr bool direct_sums = false;
  static constexpr long fold = unfolded;
  struct Totals {
    std::uint32_t low[panel];
  };
  static void absorb(const std::int32_t* __restrict sums, const Finish&, Totals& totals) {
    for (int j = 0; j < panel; ++j) totals.low[j] += joined<0, Digits>(sums + j);
  }
  static void finish(const Totals& totals, const Finish& ring, const std::int32_t*, Result* __restrict results) {
    const std::uint32_t mask = std::uint32_t(ring.mask);
    for (int j = 0; j < panel; ++j) results[j] = totals.low[j] & mask;
  }
  static void direct(const std::int32_t* __restrict sums, const Finish& ring, const std::int32_t*, Result* __restrict results) {
    const std::uint32_t mask = std::uint32_t(ring.mask);
    for (int j = 0; j < panel; ++j) results[j] = joined<0, Digits>(sums + j) & mask;
  }
};

// Modulo 2^k, 32 < k <= 64. Both halves are joined in 32 bits: what stands above bit 64 is no part of the ring.
template <int Digits>
struct Ring64 {
  using Value = std::uint64_t;
  using Result = std::uint64_t;
  static constexpr int digits = Digits;
  static constexpr bool columns = false;
  static constexpr bool direct_sums = false;
  static constexpr long fold = Isa::fold;
  struct Totals {
    std::uint64_t low[panel];
  };
  static std::uint64_t whole(const std::int32_t* sums) {
    const std::uint32_t high = joined<low_digits, Digits>(sums) + std::uint32_t(carried(sums));
    return std::uint64_t(joined<0, low_digits>(sums)) | std::uint64_t(high) << 32;
  }
  static void absorb(const std::int32_t* __restrict sums, const Finish&, Totals& totals) {
    for (int j = 0; j < panel; ++j) totals.low[j] += whole(sums + j);
  }
  static void finish(const Totals& totals, const Finish& ring, const std::int32_t*, Result* __restrict results) {
    const std::uint64_t mask = ring.mask;
    for (int j = 0; j < panel; ++j) results[j] = totals.low[j] & mask;
  }
  static void direct(const std::int32_t* __restrict sums, const Finish& ring, const std::int32_t*, Result* __restrict results) {
    const std::uint64_t mask = ring.mask;
    for (int j = 0; j < panel; ++j) results[j] = whole(sums + j) & mask;
  }
};

// A 64-bit integer, rounded once. Where there is no instruction for it, its halves are put into the low bits of 2^52 and
// 2^84, the half above with 2^63 added so that it is not negative.
double as_double(std::int64_t value) {
  if constexpr (Isa::converts_words) return double(value);
  const std::uint64_t low = (std::uint64_t(value) & 0xffffffffu) | 0x4330000000000000u;
  const std::uint64_t high = (std::uint64_t(value) >> 32) ^ 0x4530000080000000u;
  double below, above;
  std::memcpy(&below, &low, 8);
  std::memcpy(&above, &high, 8);
  return (above - 0x1.00000801p84) + below;
}

// Modulo q < 2^62. `low` is the sum modulo 2^64, `quotient` is the sum divided by q to within far less than a half,
// so that low - round(quotient) * q, modulo 2^64, is the remainder or one q away from it.
template <int Digits, class Word>
struct Residue {
  using Value = Word;
  using Result = Word;
  static constexpr int digits = Digits;
  static constexpr bool columns = sizeof(Word) == 8;
  static constexpr bool direct_sums = false;
  static constexpr long fold = Isa::fold;
  struct Totals {
    std::uint64_t low[panel];
    double quotient[panel];
  };
  static void absorb(const std::int32_t* __restrict sums, const Finish& ring, Totals& totals) {
    const double scale = ring.scale;
    for (int j = 0; j < panel; ++j) {
      totals.low[j] += whole(sums + j);
      totals.quotient[j] += quotient(sums + j, scale);
    }
  }
  static void finish(const Totals& totals, const Finish& ring, const std::int32_t*, Result* __restrict results) {
    const std::uint64_t q = ring.modulus;
    for (int j = 0; j < panel; ++j) results[j] = remainder(totals.low[j], totals.quotient[j], q);
  }
  static void direct(const std::int32_t* __restrict sums, const Finish& ring, const std::int32_t*, Result* __restrict results) {
    const std::uint64_t q = ring.modulus;
    const double scale = ring.scale;
    for (int j = 0; j < panel; ++j) results[j] = remainder(whole(sums + j), quotient(sums + j, scale), q);
  }

 private:
  static constexpr int split = Digits < low_digits ? Digits : low_digits;

  static std::uint64_t whole(const std::int32_t* sums) {
    std::uint64_t total = std::uint64_t(joined_exactly<0, split>(sums));
    if constexpr (Digits > split) total += std::uint64_t(joined_exactly<split, Digits>(sums)) << 32;
    return total;
  }
  static double quotient(const std::int32_t* sums, double scale) {
    double total = as_double(joined_exactly<0, split>(sums)) * scale;
    if constexpr (Digits > split) total += as_double(joined_exactly<split, Digits>(sums)) * (scale * 4294967296.0);
    return total;
  }
  static Result remainder(std::uint64_t low, double quotient, std::uint64_t q) {
    constexpr double rounding = 6755399441055744.0;      // 1.5 * 2^52: adding it leaves the rounded integer in the low bits
    constexpr std::uint64_t zero = 0x4338000000000000u;  // the bits of `rounding`
    const double shifted = quotient + rounding;
    std::uint64_t bits;
    std::memcpy(&bits, &shifted, 8);
    std::uint64_t rest = low - (bits - zero) * q;
    rest += std::int64_t(rest) < 0 ? q : 0;
    rest -= rest >= q ? q : 0;
    return Result(rest);
  }
};

}  // namespace pllm
