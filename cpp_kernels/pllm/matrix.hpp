// The weights of one layer, packed once for the instruction set that will read them, never changed afterwards.
//
// Panels of `panel` outputs; in a panel, for each group of k's, the weights of all outputs lie together, so that
// a product of any batch reads the matrix once, front to back. 4-bit weights put two vectors into one: the low
// halves of its bytes are the first, the high halves the second, each stored as w + 8.
#pragma once
#include "memory.hpp"

namespace pllm {

constexpr int panel = Isa::columns * int(sizeof(Isa::Sums) / sizeof(std::int32_t));
constexpr int vector_bytes = int(sizeof(Isa::Bytes));

struct Matrix {
  long outputs, inputs;     // as given: int8 [outputs, inputs]
  long padded;              // inputs, with zero weights added up to a multiple of Isa::padding
  long panels;              // outputs / panel, rounded up
  int bits;                 // 8 or 4
  std::size_t panel_bytes;  // of weights
  std::size_t bytes;        // of everything that this matrix holds
  Region* region;           // that holds the weights, or null
  std::int8_t* weights;     // [panels][padded / group][panel][group]
  std::int32_t* offsets;    // [panels * panel], -128 times the sum of each output's weights, modulo 2^32
  mutable std::atomic<unsigned> walks;  // over the weights, so far
};

std::int8_t* step_of(const Matrix& matrix, long panel_index, long k) {
  const std::size_t step = std::size_t(panel) * Isa::group * matrix.bits / 8;
  return matrix.weights + panel_index * matrix.panel_bytes + k / Isa::group * step;
}

__attribute__((noinline)) void put_weight(const Matrix& matrix, long output, long k, std::int8_t weight) {
  const int byte = int(output % panel) * Isa::group + int(k % Isa::group);
  std::int8_t* step = step_of(matrix, output / panel, k);
  if (matrix.bits == 8) {
    step[byte] = weight;
    return;
  }
  const int vector = byte / vector_bytes;
  std::int8_t& pair = step[vector / 2 * vector_bytes + byte % vector_bytes];
  pair = std::int8_t(pair | (weight + 8) << (vector % 2 ? 4 : 0));
}

void pack_output(const Matrix& matrix, long output, const std::int8_t* weights) {
  std::uint32_t sum = 0;
  for (long k = 0; k < matrix.inputs; ++k) sum += std::uint32_t(std::int32_t(weights[k]));
  matrix.offsets[output] = std::int32_t(0 - sum * 128);
  const long whole = matrix.bits == 8 ? matrix.inputs / Isa::group * Isa::group : 0;
  std::int8_t* target = step_of(matrix, output / panel, 0) + output % panel * Isa::group;
  for (long k = 0; k < whole; k += Isa::group, target += panel * Isa::group) std::memcpy(target, weights + k, Isa::group);
  for (long k = whole; k < matrix.inputs; ++k) put_weight(matrix, output, k, weights[k]);
  if (matrix.bits == 4)
    for (long k = matrix.inputs; k < matrix.padded; ++k) put_weight(matrix, output, k, 0);
}

void release_matrix(Matrix* matrix) {
  if (matrix == nullptr) return;
  if (matrix->region == nullptr) std::free(matrix->weights);
  leave_region(matrix->region);
  std::free(matrix->offsets);
  std::free(matrix);
}

// weights: [outputs, inputs], both at least 1; values of -8..7 when bits is 4. Null when there is no memory.
Matrix* compile_matrix(const std::int8_t* weights, long outputs, long inputs, int bits) {
  auto* matrix = static_cast<Matrix*>(std::calloc(1, sizeof(Matrix)));
  if (matrix == nullptr) return nullptr;
  matrix->outputs = outputs;
  matrix->inputs = inputs;
  matrix->padded = long(round_up(inputs, Isa::padding));
  matrix->panels = (outputs + panel - 1) / panel;
  matrix->bits = bits;
  matrix->panel_bytes = std::size_t(panel) * matrix->padded * bits / 8;
  const std::size_t all = matrix->panels * matrix->panel_bytes;
  const std::size_t offsets = matrix->panels * panel * sizeof(std::int32_t);
  matrix->bytes = sizeof(Matrix) + all + offsets;
  matrix->weights = static_cast<std::int8_t*>(all < fewest_shared ? allocate(all) : allocate_shared(all, matrix->region));
  matrix->offsets = static_cast<std::int32_t*>(allocate(offsets));
  if (matrix->weights == nullptr || matrix->offsets == nullptr) {
    release_matrix(matrix);
    return nullptr;
  }
  std::memset(matrix->weights, 0, all);
  std::memset(matrix->offsets, 0, offsets);
  for (long output = 0; output < outputs; ++output) pack_output(*matrix, output, weights + output * inputs);
  return matrix;
}

}  // namespace pllm
