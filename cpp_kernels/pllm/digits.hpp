// Inputs, written as rows of digits: x = sum of digit_l * base^l, one row of digits for each l.
//
// Unsigned digits are the bytes of x. Signed digits are the bytes (or 16-bit halves) of x + B, each less half the
// base, where B has half the base in every place: the carries do themselves. A residue modulo q is first moved to
// -q/2..q/2 when digits are signed, so that it needs no more of them.
#pragma once
#include "byte_rows.hpp"
#include "matrix.hpp"

namespace pllm {

using Digit = Isa::Digit;
constexpr int digit_bits = int(sizeof(Digit)) * 8;
constexpr bool signed_digits = Digit(-1) < Digit(0);
constexpr std::uint64_t half_digit = std::uint64_t(1) << (digit_bits - 1);
constexpr std::uint64_t every_half = digit_bits == 8 ? 0x8080808080808080u : 0x8000800080008000u;

// The most that the absolute value of a digit can be, and why Isa::fold 32-bit sums never overflow.
constexpr long largest_digit = signed_digits ? long(half_digit) : (1L << digit_bits) - 1;
constexpr long long sum_limit = 1LL << 31;
static_assert(Isa::fold * 128LL * largest_digit <= sum_limit - (sum_limit >> digit_bits), "sums and carries stay below 2^31");
static_assert(Isa::fold % Isa::group == 0 && Isa::padding % Isa::group == 0, "folds and padding are whole groups");

// What the inputs of one operation are; products.hpp fills it in.
struct Inputs {
  const void* data;
  long rows, width;        // width is K
  bool columns;            // data is [width, rows] instead of [rows, width]
  std::uint64_t largest;   // greater inputs are refused
  std::uint64_t modulus;   // 0, or q when residues are to be centred
  int digits;              // per input
};

int ring_digits(int bits) { return (bits + digit_bits - 1) / digit_bits; }

// How many digits hold every residue of q.
int residue_digits(std::uint64_t q) {
  const std::uint64_t largest = signed_digits ? q / 2 : q - 1;
  const std::uint64_t room = signed_digits ? every_half - (every_half >> (digit_bits - 1)) : ~std::uint64_t(0);
  int digits = 1;
  while (largest > room >> (64 - digit_bits * digits)) ++digits;
  return digits;
}

constexpr long split_block = 256;  // inputs whose words are taken apart at a time, within the first cache

template <class Word>
struct HalfWord {
  using Type = std::uint32_t;
};
template <>
struct HalfWord<std::uint32_t> {
  using Type = std::uint16_t;
};
template <>
struct HalfWord<std::uint16_t> {
  using Type = std::uint8_t;
};

// The lowest digits of up to split_block words: words are halved until they are digits, because that is the only step
// that every instruction set has for whole vectors. Digit row l starts at l * stride.
template <class Word>
void write_digits(const Word* __restrict words, long count, int digits, Digit* __restrict target, std::size_t stride) {
  if constexpr (sizeof(Word) == sizeof(Digit)) {
    constexpr Word flip = signed_digits ? Word(half_digit) : Word(0);
    for (long k = 0; k < count; ++k) target[k] = Digit(words[k] ^ flip);
  } else {
    using Half = typename HalfWord<Word>::Type;
    constexpr int held = int(sizeof(Half) / sizeof(Digit));
    alignas(cache_line) Half part[split_block];
    for (long k = 0; k < count; ++k) part[k] = Half(words[k]);
    write_digits(part, count, digits < held ? digits : held, target, stride);
    if (digits <= held) return;
    for (long k = 0; k < count; ++k) part[k] = Half(words[k] >> (8 * sizeof(Half)));
    write_digits(part, count, digits - held, target + held * stride, stride);
  }
}

// Of all words, whole vectors of them by shuffles where that is faster.
template <class Word>
void write_all_digits(const Word* words, long count, int digits, Digit* target, std::size_t stride) {
#ifdef PLLM_BYTE_ROWS
  if constexpr (vector_bytes == 64 && sizeof(Digit) == 1)
    for (; count >= turned_words; count -= turned_words, words += turned_words, target += turned_words)
      write_byte_rows(words, digits, target, stride);
#endif
  write_digits(words, count, digits, target, stride);
}

template <class Value>
bool within(const Value* __restrict values, long count, Value largest) {
  Value worst = 0;
  for (long k = 0; k < count; ++k) worst = values[k] > worst ? values[k] : worst;
  return worst <= largest;
}

// Signed digits are those of x + B; residues are moved to -q/2..q/2 first.
template <class Value>
void bias_inputs(const Value* __restrict values, long count, Value modulus, Value* __restrict biased) {
  const Value half = modulus == 0 ? Value(-1) : Value(modulus / 2);
  for (long k = 0; k < count; ++k) biased[k] = Value((values[k] > half ? values[k] - modulus : values[k]) + Value(every_half));
}

// Digits of `count` inputs that lie together; false when one is out of range.
template <class Value>
bool split(const Value* values, long count, const Inputs& inputs, Digit* digits, std::size_t stride) {
  const Value largest = Value(inputs.largest), modulus = Value(inputs.modulus);
  for (long k = 0; k < count; k += split_block) {
    const long now = count - k < split_block ? count - k : split_block;
    if (largest != Value(-1) && !within(values + k, now, largest)) return false;
    if constexpr (signed_digits) {
      alignas(cache_line) Value biased[split_block];
      bias_inputs(values + k, now, modulus, biased);
      write_digits(biased, now, inputs.digits, digits + k, stride);
    } else {
      write_all_digits(values + k, now, inputs.digits, digits + k, stride);
    }
  }
  return true;
}

// Signed bytes are one digit: themselves, or plus 128 where digits are unsigned.
bool split(const std::int8_t* __restrict values, long count, const Inputs&, Digit* __restrict digits, std::size_t) {
  for (long k = 0; k < count; ++k) digits[k] = signed_digits ? Digit(values[k]) : Digit(values[k] ^ -128);
  return true;
}

// Rows first..last of inputs that lie row by row.
template <class Value>
bool split_rows(const Inputs& inputs, long first, long last, Digit* digits, std::size_t stride) {
  bool valid = true;
  for (long row = first; row < last; ++row, digits += inputs.digits * stride)
    valid = split(static_cast<const Value*>(inputs.data) + row * inputs.width, inputs.width, inputs, digits, stride) && valid;
  return valid;
}

// The same of inputs that lie column by column: turned over in small blocks first.
template <class Value>
bool split_columns(const Inputs& inputs, long first, long last, Digit* digits, std::size_t stride) {
  constexpr long block_rows = 8, block_width = 256;
  const Value* data = static_cast<const Value*>(inputs.data);
  alignas(cache_line) Value block[block_rows][block_width];
  bool valid = true;
  for (long row = first; row < last; row += block_rows) {
    const long rows = last - row < block_rows ? last - row : block_rows;
    for (long k = 0; k < inputs.width; k += block_width) {
      const long width = inputs.width - k < block_width ? inputs.width - k : block_width;
      for (long i = 0; i < width; ++i)
        for (long r = 0; r < rows; ++r) block[r][i] = data[(k + i) * inputs.rows + row + r];
      for (long r = 0; r < rows; ++r)
        valid = split(block[r], width, inputs, digits + ((row - first + r) * inputs.digits) * stride + k, stride) && valid;
    }
  }
  return valid;
}

template <class Operation>
bool split_part(const Inputs& inputs, long first, long last, Digit* digits, std::size_t stride) {
  using Value = typename Operation::Value;
  if constexpr (Operation::columns)
    if (inputs.columns) return split_columns<Value>(inputs, first, last, digits, stride);
  return split_rows<Value>(inputs, first, last, digits, stride);
}

}  // namespace pllm
