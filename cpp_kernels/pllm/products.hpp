// The products by name. Which kernel serves one is a matter of ring, digits and bits of a weight; a compiled library has
// them all, a just-in-time compiler makes each when it is first asked for (`PLLM_KERNEL` in kernel.hpp).
#pragma once
#include "system.hpp"

#include PLLM_ISA_HEADER

#include "api.hpp"
#include "multiply.hpp"

namespace pllm {

using Kernel = Status (*)(Pool& pool, Product& product);

enum Ring : int { ring_clear, ring_32, ring_64, residue_32, residue_64, rings };

Kernel kernels[rings][9][2] = {};  // by ring, digits of an input, and whether weights have 4 bits

std::uint64_t ring_mask(int bits) { return bits == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << bits) - 1; }

Pool& pool_at(pllm_handle pool) { return *reinterpret_cast<Pool*>(pool); }

Matrix& matrix_at(pllm_handle matrix) { return *reinterpret_cast<Matrix*>(matrix); }

int missing_kernel(Ring ring, int digits, int bits) { return 8 + (ring * 9 + digits) * 2 + (bits == 4); }

int run_kernel(Ring ring, int digits, pllm_handle pool, Product& product) {
  const Kernel kernel = kernels[ring][digits][product.matrix->bits == 4];
  return kernel == nullptr ? missing_kernel(ring, digits, product.matrix->bits) : kernel(pool_at(pool), product);
}

Product product_of(pllm_handle matrix, const void* inputs, long rows, void* results) {
  const Matrix& weights = matrix_at(matrix);
  return {&weights, {inputs, rows, weights.inputs, false, 0, 0, 0}, {}, results, nullptr, 0, 0, 0, 0, {true}};
}

int run_ring(Ring ring, int bits, pllm_handle pool, Product& product) {
  product.inputs.largest = product.finish.mask = ring_mask(bits);
  return run_kernel(ring, ring_digits(bits), pool, product);
}

int run_residues(Ring ring, std::uint64_t q, pllm_handle pool, Product& product) {
  product.inputs.largest = q - 1;
  product.inputs.modulus = product.finish.modulus = q;
  product.finish.scale = 1.0 / double(q);
  return run_kernel(ring, residue_digits(q), pool, product);
}

}  // namespace pllm

extern "C" {

pllm_handle pllm_pool(int threads) { return pllm_handle(new (std::nothrow) pllm::Pool(threads)); }

void pllm_pool_release(pllm_handle pool) { delete &pllm::pool_at(pool); }

pllm_handle pllm_matrix(const void* weights, long outputs, long inputs, int bits) {
  return pllm_handle(pllm::compile_matrix(pllm::as<std::int8_t>(weights), outputs, inputs, bits));
}

void pllm_matrix_release(pllm_handle matrix) { pllm::release_matrix(&pllm::matrix_at(matrix)); }

long pllm_matrix_bytes(pllm_handle matrix) { return long(pllm::matrix_at(matrix).bytes); }

int pllm_clear(pllm_handle pool, pllm_handle matrix, const int8_t* inputs, long rows, int32_t* results) {
  pllm::Product product = pllm::product_of(matrix, inputs, rows, results);
  return pllm::run_kernel(pllm::ring_clear, 1, pool, product);
}

int pllm_ring32(pllm_handle pool, pllm_handle matrix, int bits, const uint32_t* inputs, long rows, uint32_t* results) {
  pllm::Product product = pllm::product_of(matrix, inputs, rows, results);
  return pllm::run_ring(pllm::ring_32, bits, pool, product);
}

int pllm_ring64(pllm_handle pool, pllm_handle matrix, int bits, const uint64_t* inputs, long rows, uint64_t* results) {
  pllm::Product product = pllm::product_of(matrix, inputs, rows, results);
  return pllm::run_ring(pllm::ring_64, bits, pool, product);
}

int pllm_residues32(pllm_handle pool, pllm_handle matrix, uint64_t q, const uint32_t* inputs, long rows, uint32_t* results) {
  pllm::Product product = pllm::product_of(matrix, inputs, rows, results);
  return pllm::run_residues(pllm::residue_32, q, pool, product);
}

int pllm_residues64(pllm_handle pool, pllm_handle matrix, uint64_t q, int columns, const uint64_t* inputs, long rows,
                    uint64_t* results) {
  pllm::Product product = pllm::product_of(matrix, inputs, rows, results);
  product.inputs.columns = columns != 0;
  return pllm::run_residues(pllm::residue_64, q, pool, product);
}
}
