// AMX: tiles of 16 digit rows by 16 outputs, tdpbusd multiplies 64 k's of both at once; few digit rows go by AVX-512-VNNI.
#pragma once
#define PLLM_AMX
#include "avx512_vnni.hpp"

namespace pllm {

struct Isa : Avx512Vnni {
  static constexpr long padding = 64;     // a tile takes 64 k's
  static constexpr long block_bytes = 512 << 10;
  static constexpr long spare_rows = 15;  // the last tile may have fewer rows, and reads 16
};

}  // namespace pllm
