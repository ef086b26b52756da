// One product: inputs become digits, block by block; threads take panels; each result is written once.
#pragma once
#include "finish.hpp"
#include "pool.hpp"
#include "tile.hpp"
#ifdef PLLM_AMX
#include "amx_tile.hpp"
#endif

namespace pllm {

// Matrices that stay in the second cache between calls: beside the digits and results of one tile, or of many.
constexpr std::size_t near_single = std::size_t(1) << 20, near_many = std::size_t(256) << 10;
constexpr long fewest_digits = 128;                          // digit rows that are worth a pass over the weights
constexpr long small_work = 2000000;                         // products that are not worth waking a thread for
constexpr long task_outputs = 64;                            // outputs that a thread takes at a time

enum Status : int { done = 0, out_of_range = 1, out_of_memory = 2 };

// Inputs of the next block, fetched line by line while the results of this one are written: splitting never waits for them.
struct Coming {
  const char* inputs;
  long lines;  // for each row of a panel

  void fetch(long first, long last) const {
    for (long line = first * lines; line < last * lines; ++line) __builtin_prefetch(inputs + line * long(cache_line), 0, 2);
  }
};

struct Product {
  const Matrix* matrix;
  Inputs inputs;
  Finish finish;
  void* results;
  Digit* digits;
  std::size_t stride;      // of digit rows, in digits
  long first, last;        // rows of this block
  long rows_a_part;        // rows that a thread splits at a time
  std::atomic<bool> valid;
  Coming coming = {nullptr, 0};
  bool backwards = false;  // from the last panel to the first

  // What is read after these k's of a panel: the first weights of a panel, unless there are more of this one.
  const std::int8_t* after(long panel_index, long k) const {
    if (k < matrix->padded) return step_of(*matrix, panel_index, k);
    const long following = backwards ? panel_index - 1 : panel_index + 1;
    return step_of(*matrix, following < 0 || following == matrix->panels ? panel_index : following, 0);
  }
};

// Rows of digits lie an odd number of cache lines apart, and some more than a whole number of pages: those of a chunk would
// fall into few sets of the first cache.
std::size_t digit_stride(const Matrix& matrix) {
  constexpr std::size_t page_lines = 4096 / cache_line, apart = 4;
  std::size_t lines = round_up(matrix.padded * sizeof(Digit), cache_line) / cache_line | 1;
  while (lines > page_lines && (lines + apart) % page_lines < 2 * apart) lines += 2;
  return lines * cache_line / sizeof(Digit);
}

// Every second walk over the panels is backwards: the last ones of the walk before are still in the second cache.
bool turn_back(const Matrix& matrix) { return matrix.walks.fetch_add(1, std::memory_order_relaxed) % 2 == 1; }

template <class Operation>
void split_task(void* job, long part) {
  Product& product = *static_cast<Product*>(job);
  const long from = product.first + part * product.rows_a_part;
  const long to = from + product.rows_a_part < product.last ? from + product.rows_a_part : product.last;
  Digit* digits = product.digits + (from - product.first) * Operation::digits * product.stride;
  if (!split_part<Operation>(product.inputs, from, to, digits, product.stride)) product.valid.store(false);
}

constexpr long held_rows = 8;  // rows of columns that are written together, a cache line of each output

// Hears from the tiles which digit rows have their sums. Adds the sums of a fold to the totals of their row and, after
// the last fold, writes its results while the next tile is at work.
template <class Operation>
struct Sink {
  using Totals = typename Operation::Totals;
  using Result = typename Operation::Result;
  static constexpr bool in_place = Tiles::direct && Operation::direct_sums;  // whether tiles may write results

  const Product& product;
  const long first_output, first_row, rows;
  const long rows_before;  // of the panels before, as many each
  const std::int32_t* sums;
  Totals* totals;        // of every row; null when one fold is all
  bool written = false;  // results, by the tiles
  bool last = true;      // fold
  long next = 0;         // row that is not done
  alignas(cache_line) Result held[Operation::columns ? held_rows : 1][panel] = {};

  void operator()(long digit_rows) {
    const long first = next, end = digit_rows / Operation::digits;
    if (end == first) return;
    for (; next < end && !written; ++next) take_row(sums + next * Operation::digits * panel);
    next = end;
    if (last && product.coming.lines > 0) product.coming.fetch(rows_before + first, rows_before + end);
  }

  void take_row(const std::int32_t* row_sums) {
    if (totals != nullptr) Operation::absorb(row_sums, product.finish, totals[next]);
    if (last) write_row(row_sums);
  }

  void write_row(const std::int32_t* row_sums) {
    const long left = product.matrix->outputs - first_output, count = left < panel ? left : panel;
    if constexpr (Operation::columns)
      if (product.inputs.columns) {
        finish(row_sums, held[next % held_rows]);
        if (next % held_rows == held_rows - 1 || next == rows - 1) write_columns(count);
        return;
      }
    Result* target = static_cast<Result*>(product.results) + (first_row + next) * product.matrix->outputs + first_output;
    if (count == panel) return finish(row_sums, target);
    finish(row_sums, held[0]);
    std::memcpy(target, held[0], count * sizeof(Result));
  }

  void finish(const std::int32_t* row_sums, Result* results) {
    const std::int32_t* offsets = product.matrix->offsets + first_output;
    if (totals == nullptr) return Operation::direct(row_sums, product.finish, offsets, results);
    Operation::finish(totals[next], product.finish, offsets, results);
  }

  void write_columns(long count) {
    const long first = next / held_rows * held_rows, stride = product.inputs.rows, width = next + 1 - first;
    Result* target = static_cast<Result*>(product.results) + first_output * stride + first_row + first;
    if (width == held_rows)
      for (long j = 0; j < count; ++j, target += stride)
        for (long r = 0; r < held_rows; ++r) target[r] = held[r][j];
    else
      for (long j = 0; j < count; ++j, target += stride)
        for (long r = 0; r < width; ++r) target[r] = held[r][j];
  }
};

template <int Bits, class Done>
void multiply_part(const Product& product, long panel_index, long row, long digit_rows, long k, long width, std::int32_t* sums,
                   const Direct& direct, Done& done) {
  const Matrix& matrix = *product.matrix;
  const bool near = matrix.bytes < (digit_rows <= Tiles::single ? near_single : near_many);
  const Strip strip{step_of(matrix, panel_index, k), product.digits + row * product.stride + k, product.stride, width,
                    false, near, sums, direct, product.after(panel_index, k + width), nullptr, 1};
  Tiles::multiply<Bits>(strip, digit_rows, done);
}

// Sums of int8 products are results as they are, but for the last panel where it has fewer outputs.
template <class Operation>
Direct direct_results(const Product& product, long panel_index, long row) {
  const Matrix& matrix = *product.matrix;
  const long output = panel_index * panel;
  if (!Sink<Operation>::in_place || matrix.outputs - output < panel) return {nullptr, nullptr, 0};
  return {signed_digits ? nullptr : matrix.offsets + output, as<std::int32_t>(product.results) + row * matrix.outputs + output,
          matrix.outputs};
}

// One panel and the rows of a block. K is cut into folds of equal length, short enough for 32-bit sums.
template <class Operation, int Bits>
void multiply_rows(const Product& product, long panel_index, long row, long rows) {
  constexpr long digits = Operation::digits;
  alignas(cache_line) std::int32_t sums[strip_digits * panel];
  const long first_digits = (row - product.first) * digits, padded = product.matrix->padded;
  Sink<Operation> sink{product, panel_index * panel, row, rows, panel_index * rows, sums, nullptr};
  if (padded <= Operation::fold) {
    const Direct direct = direct_results<Operation>(product, panel_index, row);
    sink.written = direct.results != nullptr;
    return multiply_part<Bits>(product, panel_index, first_digits, rows * digits, 0, padded, sums, direct, sink);
  }
  alignas(cache_line) typename Operation::Totals totals[strip_digits / digits];
  for (long i = 0; i < rows; ++i) totals[i] = {};  // only of these rows: a few are a small part of the most there can be
  const long folds = (padded + Operation::fold - 1) / Operation::fold;
  const long width = long(round_up((padded + folds - 1) / folds, Isa::padding));
  sink.totals = totals;
  for (long k = 0; k < padded; k += width) {
    sink.next = 0;
    sink.last = k + width >= padded;
    multiply_part<Bits>(product, panel_index, first_digits, rows * digits, k, sink.last ? padded - k : width, sums, {}, sink);
  }
}

template <class Operation, int Bits>
void panels_task(void* job, long task) {
  const Product& product = *static_cast<Product*>(job);
  constexpr long panels = panel < task_outputs ? task_outputs / panel : 1;
  const long first = task * panels, end = first + panels < product.matrix->panels ? first + panels : product.matrix->panels;
  for (long i = first; i < end; ++i) {
    const long index = product.backwards ? first + end - 1 - i : i;
    multiply_rows<Operation, Bits>(product, index, product.first, product.last - product.first);
  }
}

void run(Pool& pool, bool small, Pool::Task task, Product& product, long count) {
  if (!small) return pool.run(task, &product, count, product.backwards);
  Pool::run_alone(task, &product, count, product.backwards);
}

// Rows whose digits are multiplied at a time: about Isa::block_bytes of digits, in blocks of equal length, because a short
// last block would read all weights for little work.
long block_rows(long rows, long digits, long digit_row_bytes) {
  constexpr long most = strip_digits;
  const long near = Isa::block_bytes / (digits * digit_row_bytes), worth = fewest_digits / digits;
  const long about = (near < worth ? worth : near) * 5 / 4, limit = about < most / digits ? about : most / digits;
  const long blocks = (rows + limit - 1) / limit;
  return blocks == 0 ? 0 : (rows + blocks - 1) / blocks;
}

// After this block, whose rows are `now`, come up to `block` more.
template <class Operation>
Coming coming_inputs(const Product& product, long now, long block) {
  const Inputs& inputs = product.inputs;
  const long after = product.last + block < inputs.rows ? block : inputs.rows - product.last;
  if (inputs.columns || after == 0) return {nullptr, 0};
  const long row = inputs.width * long(sizeof(typename Operation::Value)), shares = product.matrix->panels * now;
  return {as<char>(inputs.data) + product.last * row, (after * row / long(cache_line) + shares - 1) / shares};
}

template <class Operation, int Bits>
Status multiply(Pool& pool, Product& product) {
  constexpr long digits = Operation::digits;
  constexpr long panels = panel < task_outputs ? task_outputs / panel : 1;
  const Matrix& matrix = *product.matrix;
  const long rows = product.inputs.rows;
  product.inputs.digits = digits;
  product.stride = digit_stride(matrix);
  product.valid.store(true);
  const long block = block_rows(rows, digits, long(product.stride * sizeof(Digit)));
  Scratch* scratch = pool.borrow((block * digits + Isa::spare_rows) * product.stride * sizeof(Digit));
  if (scratch == nullptr) return out_of_memory;
  product.digits = static_cast<Digit*>(scratch->memory);
  for (product.first = 0; product.first < rows && product.valid.load(); product.first = product.last) {
    product.last = product.first + block < rows ? product.first + block : rows;
    const long now = product.last - product.first;
    product.backwards = now * digits > Tiles::single && turn_back(matrix);
    product.coming = coming_inputs<Operation>(product, now, block);
    const bool small = matrix.outputs * matrix.padded * now * digits < small_work;
    product.rows_a_part = small ? now : (now + 4 * pool.threads - 1) / (4 * pool.threads);
    run(pool, small || now * matrix.padded < 20000, split_task<Operation>, product, (now + product.rows_a_part - 1) / product.rows_a_part);
    if (product.valid.load()) run(pool, small, panels_task<Operation, Bits>, product, (matrix.panels + panels - 1) / panels);
  }
  pool.give_back(scratch);
  return product.valid.load() ? done : out_of_range;
}

}  // namespace pllm
