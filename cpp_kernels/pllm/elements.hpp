// What is done to one number at a time: masks, quantisation, wire codecs, rescaling, and the dot products of checks.
// Each answers true, or false when an argument breaks the rule that its comment states.
#pragma once
#include "system.hpp"

#include "api.hpp"
#include "memory.hpp"

namespace pllm {

using Wide = unsigned __int128;

std::uint64_t residue_of(std::int64_t value, std::uint64_t q) {
  if (value >= 0) return std::uint64_t(value) % q;
  const std::uint64_t rest = (std::uint64_t(-(value + 1)) + 1) % q;
  return rest == 0 ? 0 : q - rest;
}

// (value + mask) mod q for 2 <= q <= 2^32 (2^32 is given as 0); masks must be below q.
bool mask32(const std::int8_t* __restrict values, const std::uint32_t* __restrict masks, long count, std::uint64_t modulus,
            std::uint32_t* __restrict results) {
  const std::uint32_t q = std::uint32_t(modulus), largest = std::uint32_t(modulus - 1);
  std::uint32_t worst = 0;
  for (long i = 0; i < count; ++i) worst = masks[i] > worst ? masks[i] : worst;
  if (worst > largest) return false;
  if (largest < 256) {
    std::uint32_t table[256];
    for (int v = -128; v < 128; ++v) table[v + 128] = std::uint32_t(residue_of(v, modulus));
    for (long i = 0; i < count; ++i) results[i] = (masks[i] + table[values[i] + 128]) % q;
    return true;
  }
  for (long i = 0; i < count; ++i) {
    const std::uint32_t value = std::uint32_t(std::int32_t(values[i]));
    const std::uint32_t back = values[i] < 0 ? 0 - value : q - value;  // q less the residue
    results[i] = masks[i] - back + (masks[i] < back ? q : 0);
  }
  return true;
}

// (value - mask) mod q, centred: -q/2 <= result < q/2. Both must be below q <= 2^32.
bool unmask32(const std::uint32_t* __restrict values, const std::uint32_t* __restrict masks, long count, std::uint64_t modulus,
              std::int64_t* __restrict results) {
  const std::uint32_t largest = std::uint32_t(modulus - 1);
  std::uint32_t worst = 0;
  for (long i = 0; i < count; ++i) {
    const std::uint32_t greater = values[i] > masks[i] ? values[i] : masks[i];
    worst = greater > worst ? greater : worst;
  }
  if (worst > largest) return false;
  const std::int64_t q = std::int64_t(modulus), half = (q + 1) / 2;
  for (long i = 0; i < count; ++i) {
    std::int64_t rest = std::int64_t(values[i]) - std::int64_t(masks[i]);
    rest += rest < 0 ? q : 0;
    results[i] = rest - (rest >= half ? q : 0);
  }
  return true;
}

// As above for 2 <= q <= 2^64 (2^64 is given as 0) and values of 64 bits.
bool mask64(const std::int64_t* values, const std::uint64_t* masks, long count, std::uint64_t q, std::uint64_t* results) {
  for (long i = 0; i < count; ++i) {
    if (masks[i] > q - 1) return false;
    const std::uint64_t residue = q == 0 ? std::uint64_t(values[i]) : residue_of(values[i], q);
    const std::uint64_t back = q - residue;
    results[i] = residue == 0 ? masks[i] : masks[i] - back + (masks[i] < back ? q : 0);
  }
  return true;
}

bool unmask64(const std::uint64_t* values, const std::uint64_t* masks, long count, std::uint64_t q, std::int64_t* results) {
  const std::uint64_t half = q == 0 ? std::uint64_t(1) << 63 : q / 2 + q % 2;
  for (long i = 0; i < count; ++i) {
    if (values[i] > q - 1 || masks[i] > q - 1) return false;
    const std::uint64_t rest = values[i] - masks[i] + (values[i] < masks[i] ? q : 0);
    results[i] = std::int64_t(rest - (rest >= half ? q : 0));
  }
  return true;
}

enum Quantised : int { quantised = 0, not_finite = 1, bad_scale = 2, wrong_scales = 3 };

float largest_magnitude(const float* row, long columns) {
  std::uint32_t largest = 0;  // of the bits without sign: they order as the magnitudes do, infinity and NaN last
  for (long k = 0; k < columns; ++k) {
    std::uint32_t bits;
    std::memcpy(&bits, row + k, 4);
    bits &= 0x7fffffffu;
    largest = bits > largest ? bits : largest;
  }
  float magnitude;
  std::memcpy(&magnitude, &largest, 4);
  return magnitude;
}

// Nearest integers, ties to even, of x / scale within -qmax..qmax; qmax = 2^(bits-1) - 1. Without given scales a
// row's is max|x| / qmax, and 1 for a row of zeros.
int quantize(const float* values, long rows, long columns, int bits, bool given, float* scales, std::int8_t* results) {
  const float limit = float((1 << (bits - 1)) - 1);
  for (long r = 0; r < rows; ++r)
    if (!(largest_magnitude(values + r * columns, columns) < INFINITY)) return not_finite;
  for (long r = 0; r < rows; ++r) {
    const float* __restrict row = values + r * columns;
    std::int8_t* __restrict target = results + r * columns;
    if (!given) {
      const float magnitude = largest_magnitude(row, columns);
      scales[r] = magnitude == 0.0f ? 1.0f : magnitude / limit;
      if (!(scales[r] > 0.0f) || !(scales[r] < INFINITY)) return bad_scale;
    }
    const float scale = scales[r];
    if (!(scale > 0.0f) || !(scale < INFINITY)) return wrong_scales;
    for (long k = 0; k < columns; ++k) {
      constexpr float rounding = 12582912.0f;  // 1.5 * 2^23: adding and taking it away rounds to an integer, ties to even
      float quotient = row[k] / scale;
      quotient = quotient > limit ? limit : quotient;
      quotient = quotient < -limit ? -limit : quotient;
      target[k] = std::int8_t(std::int32_t(quotient + rounding - rounding));
    }
  }
  return quantised;
}

void dequantize(const std::int8_t* values, const float* scales, long rows, long columns, float* results) {
  for (long r = 0; r < rows; ++r)
    for (long k = 0; k < columns; ++k) results[r * columns + k] = float(values[r * columns + k]) * scales[r];
}

// Little-endian words of 2, 3 or 4 bytes; every value must fit.
bool pack(const std::uint32_t* __restrict values, long count, int width, std::uint8_t* __restrict results) {
  std::uint32_t all = 0;
  for (long i = 0; i < count; ++i) all |= values[i];
  if (width < 4 && all >> (8 * width) != 0) return false;
  if (width == 2)
    for (long i = 0; i < count; ++i) std::memcpy(results + 2 * i, values + i, 2);
  else if (width == 3)
    for (long i = 0; i < count; ++i) std::memcpy(results + 3 * i, values + i, 3);
  else
    std::memcpy(results, values, 4 * count);
  return true;
}

void unpack(const std::uint8_t* __restrict bytes, long count, int width, std::uint32_t* __restrict results) {
  if (width == 2)
    for (long i = 0; i < count; ++i) results[i] = bytes[2 * i] | std::uint32_t(bytes[2 * i + 1]) << 8;
  else if (width == 3)
    for (long i = 0; i < count; ++i)
      results[i] = bytes[3 * i] | std::uint32_t(bytes[3 * i + 1]) << 8 | std::uint32_t(bytes[3 * i + 2]) << 16;
  else
    std::memcpy(results, bytes, 4 * count);
}

// value / divisor, rounded to the nearest integer, ties to even; divisor is positive.
void rescale(const std::int64_t* values, long count, std::int64_t divisor, std::int64_t* results) {
  for (long i = 0; i < count; ++i) {
    std::int64_t quotient = values[i] / divisor, rest = values[i] % divisor;
    if (rest < 0) {
      rest += divisor;
      --quotient;
    }
    const std::int64_t other = divisor - rest;
    results[i] = quotient + (rest > other || (rest == other && quotient % 2 != 0) ? 1 : 0);
  }
}

// results[r][c] = sum over k of rows[r][k] * checks[c][k] mod p, for p <= 2^32 and residues of it: a Freivalds projection.
void project(const std::uint32_t* rows, long row_count, const std::uint32_t* checks, long check_count, long width,
             std::uint64_t p, std::uint32_t* results) {
  for (long r = 0; r < row_count; ++r)
    for (long c = 0; c < check_count; ++c) {
      const std::uint32_t *a = rows + r * width, *b = checks + c * width;
      Wide total = 0;
      for (long k = 0; k < width; ++k) total += std::uint64_t(a[k]) * b[k];
      results[r * check_count + c] = std::uint32_t(total % p);
    }
}

}  // namespace pllm

extern "C" {

int pllm_mask(const void* values, const void* masks, long count, uint64_t q, int word_bits, void* results) {
  using namespace pllm;
  return word_bits == 32 ? mask32(as<std::int8_t>(values), as<uint32_t>(masks), count, q, as<uint32_t>(results))
                         : mask64(as<int64_t>(values), as<uint64_t>(masks), count, q, as<uint64_t>(results));
}

int pllm_unmask(const void* values, const void* masks, long count, uint64_t q, int word_bits, void* results) {
  using namespace pllm;
  return word_bits == 32 ? unmask32(as<uint32_t>(values), as<uint32_t>(masks), count, q, as<int64_t>(results))
                         : unmask64(as<uint64_t>(values), as<uint64_t>(masks), count, q, as<int64_t>(results));
}

int pllm_quantize(const void* values, long rows, long columns, int bits, int given, void* scales, void* results) {
  using namespace pllm;
  return quantize(as<float>(values), rows, columns, bits, given != 0, as<float>(scales), as<std::int8_t>(results));
}

void pllm_dequantize(const void* values, const void* scales, long rows, long columns, void* results) {
  using namespace pllm;
  dequantize(as<std::int8_t>(values), as<float>(scales), rows, columns, as<float>(results));
}

int pllm_pack(const void* values, long count, int width, void* results) {
  return pllm::pack(pllm::as<uint32_t>(values), count, width, pllm::as<uint8_t>(results));
}

void pllm_unpack(const void* bytes, long count, int width, void* results) {
  pllm::unpack(pllm::as<uint8_t>(bytes), count, width, pllm::as<uint32_t>(results));
}

void pllm_rescale(const void* values, long count, int64_t divisor, void* results) {
  pllm::rescale(pllm::as<int64_t>(values), count, divisor, pllm::as<int64_t>(results));
}

void pllm_project(const void* rows, long row_count, const void* checks, long check_count, long width, uint64_t p, void* results) {
  using namespace pllm;
  project(as<uint32_t>(rows), row_count, as<uint32_t>(checks), check_count, width, p, as<uint32_t>(results));
}
}
