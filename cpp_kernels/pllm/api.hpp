// Everything that Python calls: declarations only, with C linkage, so that a compiled library and any binding can use it.
//
// A `pool` belongs to one engine, a `matrix` to one layer. Arrays are contiguous, in native byte order, not empty,
// and never written unless named `results` or `scales`. Products answer 0, 1 (an input is out of range, results are
// not to be used), 2 (no memory), or 8 and more: this kernel was not compiled yet, and which (`missing_kernel`).
// Element operations answer 1, or 0 when an argument is out of range; pllm_quantize has answers of its own.
#pragma once
#include <stdint.h>

typedef intptr_t pllm_handle;  // of a pool or a matrix; 0 when there is no memory

extern "C" {
pllm_handle pllm_pool(int threads);
void pllm_pool_release(pllm_handle pool);
pllm_handle pllm_matrix(const void* weights, long outputs, long inputs, int bits);
void pllm_matrix_release(pllm_handle matrix);
long pllm_matrix_bytes(pllm_handle matrix);

int pllm_clear(pllm_handle pool, pllm_handle matrix, const int8_t* inputs, long rows, int32_t* results);
int pllm_ring32(pllm_handle pool, pllm_handle matrix, int bits, const uint32_t* inputs, long rows, uint32_t* results);
int pllm_ring64(pllm_handle pool, pllm_handle matrix, int bits, const uint64_t* inputs, long rows, uint64_t* results);
int pllm_residues32(pllm_handle pool, pllm_handle matrix, uint64_t q, const uint32_t* inputs, long rows, uint32_t* results);
int pllm_residues64(pllm_handle pool, pllm_handle matrix, uint64_t q, int columns, const uint64_t* inputs, long rows,
                    uint64_t* results);

int pllm_mask(const void* values, const void* masks, long count, uint64_t q, int word_bits, void* results);
int pllm_unmask(const void* values, const void* masks, long count, uint64_t q, int word_bits, void* results);
int pllm_quantize(const void* values, long rows, long columns, int bits, int given, void* scales, void* results);
void pllm_dequantize(const void* values, const void* scales, long rows, long columns, void* results);
int pllm_pack(const void* values, long count, int width, void* results);
void pllm_unpack(const void* bytes, long count, int width, void* results);
void pllm_rescale(const void* values, long count, int64_t divisor, void* results);
void pllm_project(const void* rows, long row_count, const void* checks, long check_count, long width, uint64_t p, void* results);
int pllm_uniform(uint64_t q, long count, int word_bits, void* results);

long pllm_multiply_limit(long rounds);
long pllm_read_limit(const void* memory, long bytes);
}
