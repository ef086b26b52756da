// Runs the kernels of one instruction set on requests from a file and writes what they give to another:
// for machines that Python does not run on, and for sanitizers. tests/runtime/driver.py writes and reads the files.
#include <cstdio>
#include <vector>
#ifdef __x86_64__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "library.cpp"

namespace {

using Bytes = std::vector<std::uint8_t>;

struct Request {
  std::int64_t operation, outputs, inputs, rows, bits, parameter, columns, threads, result_bytes;
};

// On a heap block of its exact size, so that a sanitizer sees a read past its end.
Bytes read_block(std::FILE* file) {
  std::int64_t size = 0;
  if (std::fread(&size, 8, 1, file) != 1) std::exit(3);
  Bytes bytes(size);
  if (size > 0 && std::fread(bytes.data(), 1, size, file) != std::size_t(size)) std::exit(3);
  return bytes;
}

int product(const Request& r, const Bytes& weights, const Bytes& inputs, Bytes& results) {
  const pllm_handle pool = pllm_pool(int(r.threads));
  const pllm_handle matrix = pllm_matrix(weights.data(), r.outputs, r.inputs, int(r.bits));
  const auto q = std::uint64_t(r.parameter);
  const auto* words32 = pllm::as<std::uint32_t>(inputs.data());
  const auto* words64 = pllm::as<std::uint64_t>(inputs.data());
  auto* results32 = pllm::as<std::uint32_t>(results.data());
  auto* results64 = pllm::as<std::uint64_t>(results.data());
  int status = -1;
  if (r.operation == 0)
    status = pllm_clear(pool, matrix, pllm::as<std::int8_t>(inputs.data()), r.rows, pllm::as<std::int32_t>(results.data()));
  if (r.operation == 1) status = pllm_ring32(pool, matrix, int(q), words32, r.rows, results32);
  if (r.operation == 2) status = pllm_ring64(pool, matrix, int(q), words64, r.rows, results64);
  if (r.operation == 3) status = pllm_residues32(pool, matrix, q, words32, r.rows, results32);
  if (r.operation == 4) status = pllm_residues64(pool, matrix, q, int(r.columns), words64, r.rows, results64);
  pllm_matrix_release(matrix);
  pllm_pool_release(pool);
  return status;
}

// `rows` is the number of elements, `bits` the size of a word or a quantisation, `parameter` a modulus or a width.
int element(const Request& r, const Bytes& first, Bytes& second, Bytes& results) {
  const auto q = std::uint64_t(r.parameter);
  switch (r.operation) {
    case 10: return pllm_mask(first.data(), second.data(), r.rows, q, int(r.bits), results.data());
    case 11: return pllm_unmask(first.data(), second.data(), r.rows, q, int(r.bits), results.data());
    case 12: return pllm_quantize(first.data(), r.rows, r.columns, int(r.bits), 1, second.data(), results.data());
    case 13: return pllm_dequantize(first.data(), second.data(), r.rows, r.columns, results.data()), 0;
    case 14: return pllm_pack(first.data(), r.rows, int(q), results.data());
    case 15: return pllm_unpack(first.data(), r.rows, int(q), results.data()), 0;
    case 16: return pllm_rescale(first.data(), r.rows, std::int64_t(q), results.data()), 0;
    case 17: return pllm_project(first.data(), r.rows, second.data(), r.outputs, r.inputs, q, results.data()), 0;
    case 18: return pllm_uniform(q, r.rows, int(r.bits), results.data());
    default: return -1;
  }
}

}  // namespace

int main(int, char** names) {
  std::FILE* requests = std::fopen(names[1], "rb");
  std::FILE* answers = std::fopen(names[2], "wb");
#ifdef PLLM_AMX
  if (syscall(SYS_arch_prctl, 0x1023, 18) != 0) return 5;  // the permission that cpu.py asks for in Python
#endif
  Request request;
  while (std::fread(&request, sizeof request, 1, requests) == 1) {
    const Bytes first = read_block(requests);
    Bytes second = read_block(requests), results(request.result_bytes);
    const std::int64_t status =
        request.operation < 10 ? product(request, first, second, results) : element(request, first, second, results);
    std::fwrite(&status, 8, 1, answers);
    std::fwrite(results.data(), 1, results.size(), answers);
  }
  return std::fclose(answers) == 0 ? 0 : 4;
}
