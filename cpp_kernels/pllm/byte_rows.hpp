// Words of 4 or 8 bytes turned into rows of bytes, 64 words at a time: digits on CPUs with 64-byte vectors.
//
// A shuffle within every 16 bytes puts the same bytes of neighbouring words together, interleaving turns vectors into rows,
// and a permutation of the whole vector puts these in order: 40 shuffles for 64 words of 8 bytes, 16 for words of 4. Halving
// words until they are bytes, as digits.hpp does it elsewhere, takes more than 100.
#pragma once
#include "system.hpp"

#if defined(__clang__) || __GNUC__ >= 12
#define PLLM_BYTE_ROWS

namespace pllm {

constexpr long turned_words = 64;  // that are turned at a time

template <class Element>
struct VectorOf {
  typedef Element Type __attribute__((vector_size(64)));
};
template <class Element>
using Line = typename VectorOf<Element>::Type;
using Bytes64 = Line<std::uint8_t>;

template <class Order, class Element, int... I>
Line<Element> in_order(Line<Element> a, Line<Element> b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, Order::at(I)...);
}

// Element i of the result is element Order::at(i) of a and b together.
template <class Order, class Element>
Bytes64 picked(Bytes64 a, Bytes64 b) {
  constexpr int count = 64 / int(sizeof(Element));
  return (Bytes64)in_order<Order, Element>((Line<Element>)a, (Line<Element>)b, std::make_integer_sequence<int, count>());
}

// In every 16 bytes, the first bytes of all words, then the second bytes, and so on.
template <int WordBytes>
struct SameBytes {
  static constexpr int words = 16 / WordBytes;
  static constexpr int at(int i) { return i / 16 * 16 + i % words * WordBytes + i % 16 / words; }
};

// In every 16 bytes, the elements of the lower (Upper = 0) or upper half of a and b by turns.
template <int Elements, int Upper>
struct Turns {
  static constexpr int at(int i) {
    return i % 2 * 4 * Elements + i / Elements * Elements + Upper * (Elements / 2) + i % Elements / 2;
  }
};

// Four lanes of elements become elements of four lanes.
template <int Elements>
struct Lanes {
  static constexpr int at(int i) { return i % 4 * Elements + i / 4; }
};

// Row l of `target`, rows `stride` apart, becomes byte l of 64 words.
template <class Word>
void write_byte_rows(const Word* words, int rows, std::uint8_t* target, std::size_t stride) {
  constexpr int count = int(sizeof(Word)), lane_words = 16 / count;
  using Element = std::conditional_t<lane_words == 2, std::uint16_t, std::uint32_t>;
  Bytes64 lines[count], turned[count];
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i) {
    Bytes64 line;
    std::memcpy(&line, words + i * (64 / count), 64);
    lines[i] = picked<SameBytes<count>, std::uint8_t>(line, line);
  }
#pragma GCC unroll 3
  for (int elements = count; elements > 1; elements /= 2) {
#pragma GCC unroll 4
    for (int i = 0; i < count / 2; ++i) {
      turned[2 * i] = picked<Turns<count, 0>, Element>(lines[i], lines[i + count / 2]);
      turned[2 * i + 1] = picked<Turns<count, 1>, Element>(lines[i], lines[i + count / 2]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) lines[i] = turned[i];
  }
#pragma GCC unroll 8
  for (int l = 0; l < count; ++l) {
    const Bytes64 row = picked<Lanes<count>, Element>(lines[l], lines[l]);
    if (l < rows) std::memcpy(target + l * stride, &row, 64);
  }
}

}  // namespace pllm

#endif
