// All kernels of one instruction set as a shared library.
#include "elements.hpp"
#include "limits.hpp"
#include "products.hpp"
#include "random.hpp"

namespace pllm {

template <int Bits, int Digits>
void make_kernels() {
  constexpr int bits = Bits == 4;
  if constexpr (Digits * digit_bits <= 32) {
    kernels[ring_32][Digits][bits] = &multiply<Ring32<Digits>, Bits>;
    kernels[residue_32][Digits][bits] = &multiply<Residue<Digits, std::uint32_t>, Bits>;
  } else {
    kernels[ring_64][Digits][bits] = &multiply<Ring64<Digits>, Bits>;
  }
  kernels[residue_64][Digits][bits] = &multiply<Residue<Digits, std::uint64_t>, Bits>;
  if constexpr (Digits > 1) make_kernels<Bits, Digits - 1>();
}

const bool made = [] {
  kernels[ring_clear][1][0] = &multiply<Clear, 8>;
  kernels[ring_clear][1][1] = &multiply<Clear, 4>;
  make_kernels<8, 64 / digit_bits>();
  make_kernels<4, 64 / digit_bits>();
  return true;
}();

}  // namespace pllm
