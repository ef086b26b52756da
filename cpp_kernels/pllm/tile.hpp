// The inner loop: sums[r][j] = sum over k of digits[r][k] * weights[k][j], for a panel and a strip of digit rows.
//
// Every operation is this product of integers; they differ in how inputs become digits and in what is made of the sums.
#pragma once
#include "digits.hpp"

namespace pllm {

// Clang takes the alignment of a typedef alone; written behind `using` it is that of the vector.
typedef Isa::Bytes Loaded __attribute__((aligned(vector_bytes), may_alias));
typedef Isa::Sums Stored __attribute__((aligned(4), may_alias));  // results may lie anywhere
static_assert(alignof(Loaded) == vector_bytes && alignof(Stored) == 4);
constexpr long strip_digits = 512;     // most digit rows whose sums are held at a time
constexpr long chunk = 32768 / panel;  // k's whose weights stay in the first cache while all digit rows use them
constexpr long many_rows = 48;         // digit rows from which tiles that write their results walk two chunks at once
constexpr long block_bytes = 512;      // of weights that a tile uses between two turns of fetching
constexpr long most_parts = 6;         // tiles that fetch a part of the next chunk each; more would ask for each line often
// Bytes that a single tile fetches ahead of itself, because it reads memory only once; measured.
template <int Bits>
constexpr long own_ahead = Bits == 8 ? 2048 : 3072;

// Sums that are results: those of every row begin with the same, and the last of them go where results belong.
struct Direct {
  const std::int32_t* start;  // of the outputs of the panel; null is zero
  std::int32_t* results;      // of the first digit row; null where sums are not yet results
  long stride;                // of results
};

// Memory that comes next, fetched into the second cache in `runs` runs of lines side by side. The hardware fetches ahead of
// a run, but not over the end of a page, so runs begin at different places of a page: few wait for a new one at a time.
struct Ahead {
  static constexpr long runs = 8, page = 4096;
  const std::int8_t *now, *then;  // where the runs are whose turn it is, the first of half of them, and the other half
  long length;                    // of a run, bytes
  long pace;                      // bytes that each run moves on when all had their turn

  // Number `part` of `parts` equal parts, in as many turns. Beyond two parts, turns have room for runs of more than an eighth.
  static Ahead share(const std::int8_t* memory, long bytes, long part, long parts, long turns) {
    long length = long(round_up((bytes + runs - 1) / runs, cache_line));
    if (parts > 2 && length % (page / 2) == 0) length += page / runs;
    const long own = length / parts;
    const std::int8_t* start = memory + own * part;
    return {start, start + runs / 2 * length, length, turns < 2 ? 0 : own / (turns / 2)};
  }

  __attribute__((always_inline)) inline void take_turn() {
#pragma GCC unroll 4
    for (long run = 0; run < runs / 2; ++run) __builtin_prefetch(now + run * length, 0, 2);
    const std::int8_t* last = now;
    now = then;
    then = last + pace;
  }
};

// What a tile fetches ahead: its own weights, because it alone uses them; or its part of the next chunk, if any.
enum class Fetch { own, part };

// Where a tile reads and writes. Digit rows lie `stride` apart; sums are [rows][panel].
struct Strip {
  const std::int8_t* weights;
  const Digit* digits;
  std::size_t stride;
  long width;  // k's
  bool resume;  // add to the sums that are there
  bool near;    // the weights are in the second cache: nothing to fetch ahead
  std::int32_t* sums;
  Direct direct;
  const std::int8_t* after;  // weights that are read after these
  const std::int8_t* next;   // chunk, as long as this one, fetched while this one is used
  long parts;                // of it that a tile fetches
};

template <int Bits, int Columns>
void load_weights(const std::int8_t* step, Isa::Weights (&weights)[Columns]) {
  if constexpr (Bits == 8) {
    for (int c = 0; c < Columns; ++c) weights[c] = Isa::widen(*(const Loaded*)(step + c * vector_bytes));
  } else {
    using Unsigned = std::uint8_t __attribute__((vector_size(vector_bytes)));
    for (int c = 0; c < Columns; c += 2) {
      const Isa::Bytes pair = *(const Loaded*)(step + c / 2 * vector_bytes);
      weights[c] = Isa::widen((pair & 15) - 8);
      weights[c + 1] = Isa::widen((Isa::Bytes)((Unsigned)pair >> 4) - 8);
    }
  }
}

// Sums of a tile, from rows that lie `stride` apart.
template <int Rows, int Columns>
__attribute__((always_inline)) inline void load_sums(const std::int32_t* from, long stride, Isa::Sums (&sums)[Rows][Columns]) {
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) sums[r][c] = *(const Stored*)(from + r * stride + c * (panel / Isa::columns));
}

template <int Rows, int Columns>
__attribute__((always_inline)) inline void store_sums(const Isa::Sums (&sums)[Rows][Columns], std::int32_t* to, long stride) {
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int c = 0; c < Columns; ++c) *(Stored*)(to + r * stride + c * (panel / Isa::columns)) = sums[r][c];
}

template <int Rows, int Columns>
__attribute__((always_inline)) inline void add_sums(Isa::Sums (&sums)[Rows][Columns], const Isa::Sums (&more)[Rows][Columns]) {
  for (int r = 0; r < Rows; ++r)
    for (int c = 0; c < Columns; ++c) sums[r][c] += more[r][c];
}

// A copy of a tile that GCC makes for one of its callers keeps its sums in memory: three times as slow.
#if defined(__clang__)
#define PLLM_ONE_BODY __attribute__((noinline))
#else
#define PLLM_ONE_BODY __attribute__((noinline, noclone))
#endif

// Rows digit rows from `row`, and the vectors from..from + Columns of the panel; InPlace when sums may be results. `part` of
// the next chunk is -1 where there is none to fetch.
template <int Rows, int Columns, int Bits, bool InPlace, Fetch What>
PLLM_ONE_BODY void tile(const Strip& strip, long row, int from, long part) {
  constexpr long step_bytes = long(panel) * Isa::group * Bits / 8;
  constexpr long block_steps = block_bytes / step_bytes;
  constexpr int width = panel / Isa::columns;
  const std::int8_t* weights = strip.weights + from * vector_bytes * Bits / 8;
  const std::size_t stride = strip.stride;
  const Digit* digits = strip.digits + row * stride;
  std::int32_t* target = strip.sums + row * panel + from * width;
  constexpr int chains = Rows * Columns < 4 ? 2 : 1;  // fewer sums than multiplications under way: each is taken twice, by turns
  constexpr int unrolled = Isa::unrolled < chains ? chains : Isa::unrolled;
  static_assert(block_steps % unrolled == 0);
  Isa::Sums chained[chains][Rows][Columns] = {};
  Isa::Sums(&sums)[Rows][Columns] = chained[0];
  if (strip.resume)
    load_sums<Rows, Columns>(target, panel, sums);
  else if (InPlace && strip.direct.start != nullptr)
    load_sums<Rows, Columns>(strip.direct.start + from * width, 0, sums);
  const auto advance = [&](Isa::Sums(&turn)[Rows][Columns]) {
    Isa::Weights loaded[Columns];
    load_weights<Bits, Columns>(weights, loaded);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) turn[r][c] = Isa::dot(turn[r][c], digits + r * stride, loaded[c]);
    weights += step_bytes;
    digits += Isa::group;
  };
  long steps = strip.width / Isa::group;
  const bool far = !strip.near, has_part = What == Fetch::part && part >= 0;
  Ahead ahead = {};
  if (has_part)
    ahead = Ahead::share(strip.next, steps * step_bytes, part, strip.parts, steps / block_steps);
  for (; steps >= block_steps; steps -= block_steps) {
    if (What == Fetch::own && far)
#pragma GCC unroll 8
      for (long byte = 0; byte < block_bytes; byte += cache_line) __builtin_prefetch(weights + own_ahead<Bits> + byte, 0, 2);
    if (has_part) ahead.take_turn();
    for (int passes = block_steps / unrolled; passes > 0; --passes)
#pragma GCC unroll 4
      for (int step = 0; step < unrolled; ++step) advance(chained[step % chains]);
  }
  if constexpr (Isa::padding % (Isa::group * block_steps) != 0)
    for (; steps > 0; --steps) advance(sums);
  if constexpr (chains == 2) add_sums<Rows, Columns>(sums, chained[1]);
  if (!InPlace || strip.direct.results == nullptr) return store_sums<Rows, Columns>(sums, target, panel);
  const Direct& direct = strip.direct;
  store_sums<Rows, Columns>(sums, direct.results + row * direct.stride + from * width, direct.stride);
}

// Up to Isa::rows digit rows. Few sizes are compiled: 3 rows are done as 4, the last of them for nothing; where it would
// be written over the results of other rows, it goes alone.
template <int Bits, bool InPlace, Fetch What>
void short_tile(const Strip& strip, long row, long rows, long part) {
  if (InPlace && strip.direct.results != nullptr && rows == 3) {
    --rows;
    tile<1, Isa::columns, Bits, InPlace, What>(strip, row + rows, 0, part);
  }
  if (rows == 1) return tile<1, Isa::columns, Bits, InPlace, What>(strip, row, 0, part);
  if (rows == 2) return tile<2, Isa::columns, Bits, InPlace, What>(strip, row, 0, part);
  if constexpr (Isa::rows > 4) {
    if (rows == 5) return tile<5, Isa::columns, Bits, InPlace, What>(strip, row, 0, part);
    if (rows > 5) return tile<Isa::rows, Isa::columns, Bits, InPlace, What>(strip, row, 0, part);
  }
  tile<4, Isa::columns, Bits, InPlace, What>(strip, row, 0, part);
}

// More digit rows than a tile takes, but few enough to read each weight once: half the panel at a time.
template <int Bits, bool InPlace>
bool tall_tile(const Strip& strip, long rows) {
  if (rows <= Isa::rows || rows > Isa::tall_rows) return false;
  if (InPlace && strip.direct.results != nullptr && rows != Isa::tall_rows) return false;
  constexpr int half = Isa::columns / 2;
  if constexpr (Isa::tall_rows > 0)
    for (int from = 0; from < Isa::columns; from += half)
      tile<Isa::tall_rows, half, Bits, InPlace, Fetch::part>(strip, 0, from, strip.near ? -1 : from / half);
  return true;
}

// Digit rows of the next tile. Few rows take nearly as long as 4: where a whole tile of 6 would leave some, there are two
// alike. All but the last have sizes that are compiled: what is done for nothing would be written over the next one's sums.
long tile_rows_of(long left) {
  if (Isa::rows == 6 && left > Isa::rows && left <= Isa::rows + 4) return (left + 1) / 2;
  return left < Isa::rows ? left : Isa::rows;
}

long tiles_of(long rows) { return (rows + Isa::rows - 1) / Isa::rows; }

// All tiles of a chunk; `done` hears how many digit rows have their final sums.
template <int Bits, bool InPlace, class Done>
void multiply_chunk(const Strip& strip, long rows, bool final, Done& done) {
  if (tall_tile<Bits, InPlace>(strip, rows)) {
    if (final) done(rows);
    return;
  }
  const long tiles = tiles_of(rows);
  for (long row = 0, end = 0, index = 0, fetched = 0; row < rows; row = end, ++index) {
    end = row + tile_rows_of(rows - row);
    const bool fetches = !strip.near && fetched <= index * strip.parts / tiles;
    short_tile<Bits, InPlace, Fetch::part>(strip, row, end - row, fetches ? fetched++ : -1);
    if (final) done(end);
  }
}

// K's of a chunk, `most` at most: all but the last have as many, in whole passes of any tile.
long chunk_length(long width, long most) {
  const long chunks = (width + most - 1) / most;
  return long(round_up((width + chunks - 1) / chunks, 64));
}

// `rows` digit rows. One tile reads all its weights at once; more share each chunk of weights while it is near.
template <int Bits, class Done>
void multiply_strip(Strip strip, long rows, Done& done) {
  if (rows <= Isa::rows) {
    short_tile<Bits, Done::in_place, Fetch::own>(strip, 0, rows, -1);
    return done(rows);
  }
  const long tiles = rows <= Isa::tall_rows ? 2 : tiles_of(rows);
  strip.parts = tiles < most_parts ? tiles : most_parts;
  std::int32_t* const results = strip.direct.results;
  const long length = chunk_length(strip.width, results != nullptr && rows >= many_rows ? 2 * chunk : chunk);
  for (long left = strip.width; left > 0; left -= length) {
    strip.direct.results = left <= length ? results : nullptr;
    strip.width = left < length ? left : length;
    const std::int8_t* following = strip.weights + strip.width * panel * Bits / 8;
    strip.next = left > length ? following : strip.after;
    multiply_chunk<Bits, Done::in_place>(strip, rows, left <= length, done);
    strip.weights = following;
    strip.digits += length;
    strip.resume = true;
  }
}

#ifndef PLLM_AMX
struct Tiles {
  static constexpr bool direct = true;  // whether they can write results
  static constexpr long single = Isa::tall_rows > Isa::rows ? Isa::tall_rows : Isa::rows;  // digit rows that read weights once

  template <int Bits, class Done>
  static void multiply(const Strip& strip, long rows, Done& done) {
    multiply_strip<Bits>(strip, rows, done);
  }
};
#endif

}  // namespace pllm
