// The product of tile.hpp on AMX. Digit rows are the rows of its first factor as they lie, a panel is its second.
#pragma once
#include "tile.hpp"

namespace pllm {

constexpr long tile_rows = 16;           // digit rows, outputs and groups of k's of a tile
constexpr long tile_width = 64;          // k's of a tile
constexpr long panel_step = panel * 4L;  // bytes between groups of k's
constexpr long few_rows = 4;             // up to which tiles do not pay; up to 16 where weights come from afar
constexpr long small_strip = 4096;       // digits, below which setting the tiles up costs more than it saves

struct TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Tiles 0 to 3 hold sums, 4 and 5 digits, 6 and 7 weights.
#define PLLM_TILE_LOAD(tile, from, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"(long(stride)) : "memory")
#define PLLM_TILE_STORE(tile, to, stride) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"(long(stride)) : "memory")
#define PLLM_TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile ::)
#define PLLM_TILE_DOT(sums, digits, weights) asm volatile("tdpbusd %%tmm" #weights ", %%tmm" #digits ", %%tmm" #sums ::)

// Where the four tiles of sums are, for 32 rows by 32 outputs or 16 rows by 64.
struct SumTiles {
  std::int32_t* at[4];
};

void load_sums(const SumTiles& sums, bool resume) {
  if (!resume) {
    PLLM_TILE_ZERO(0);
    PLLM_TILE_ZERO(1);
    PLLM_TILE_ZERO(2);
    PLLM_TILE_ZERO(3);
    return;
  }
  PLLM_TILE_LOAD(0, sums.at[0], panel_step);
  PLLM_TILE_LOAD(1, sums.at[1], panel_step);
  PLLM_TILE_LOAD(2, sums.at[2], panel_step);
  PLLM_TILE_LOAD(3, sums.at[3], panel_step);
}

void store_sums(const SumTiles& sums) {
  PLLM_TILE_STORE(0, sums.at[0], panel_step);
  PLLM_TILE_STORE(1, sums.at[1], panel_step);
  PLLM_TILE_STORE(2, sums.at[2], panel_step);
  PLLM_TILE_STORE(3, sums.at[3], panel_step);
}

// A share of the next chunk, in some turns with each tile of weights.
struct Fetching {
  Ahead ahead;
  long turns;

  void take_turns() {
    for (long turn = 0; turn < turns; ++turn) ahead.take_turn();
  }
};

// 32 digit rows and half the panel: every tile that is loaded is used twice.
void square(const Strip& strip, long row, long output, Fetching& fetching) {
  std::int32_t* target = strip.sums + row * panel + output;
  const SumTiles sums{{target, target + 16, target + 16 * panel, target + 16 * panel + 16}};
  const Digit* digits = strip.digits + row * strip.stride;
  const Digit* below = digits + tile_rows * strip.stride;
  const std::int8_t* weights = strip.weights + output * 4;
  const long stride = long(strip.stride);
  load_sums(sums, strip.resume);
  for (long k = 0; k < strip.width; k += tile_width, weights += tile_rows * panel_step) {
    PLLM_TILE_LOAD(4, digits + k, stride);
    PLLM_TILE_LOAD(6, weights, panel_step);
    PLLM_TILE_LOAD(7, weights + 64, panel_step);
    PLLM_TILE_DOT(0, 4, 6);
    PLLM_TILE_LOAD(5, below + k, stride);
    PLLM_TILE_DOT(1, 4, 7);
    PLLM_TILE_DOT(2, 5, 6);
    PLLM_TILE_DOT(3, 5, 7);
    fetching.take_turns();
  }
  store_sums(sums);
}

// 16 digit rows and the whole panel.
void flat(const Strip& strip, long row, Fetching& fetching) {
  std::int32_t* target = strip.sums + row * panel;
  const SumTiles sums{{target, target + 16, target + 32, target + 48}};
  const Digit* digits = strip.digits + row * strip.stride;
  const std::int8_t* weights = strip.weights;
  const long stride = long(strip.stride);
  load_sums(sums, strip.resume);
  for (long k = 0; k < strip.width; k += tile_width, weights += tile_rows * panel_step) {
    PLLM_TILE_LOAD(4, digits + k, stride);
    PLLM_TILE_LOAD(6, weights, panel_step);
    PLLM_TILE_DOT(0, 4, 6);
    PLLM_TILE_LOAD(7, weights + 64, panel_step);
    PLLM_TILE_DOT(1, 4, 7);
    PLLM_TILE_LOAD(6, weights + 128, panel_step);
    PLLM_TILE_DOT(2, 4, 6);
    PLLM_TILE_LOAD(7, weights + 192, panel_step);
    PLLM_TILE_DOT(3, 4, 7);
    fetching.take_turns();
  }
  store_sums(sums);
}

// Times that `rows` digit rows walk through a chunk: 32 of them twice, once for each half of the panel, 16 of them once.
long halves_of(long rows) {
  const long rest = rows % (2 * tile_rows);
  return rows / (2 * tile_rows) * 2 + (rest > tile_rows ? 2 : rest > 0);
}

template <class Done>
void multiply_tiles(const Strip& strip, long rows, long bits, bool final, Done& done) {
  // Each of its steps takes as many turns of fetching, enough for all lines of the next chunk.
  const long steps = halves_of(rows) * (strip.width / tile_width), lines = strip.width * panel * bits / 8 / long(cache_line);
  const long turns = strip.near ? 0 : (lines / (Ahead::runs / 2) + steps - 1) / steps;
  Fetching fetching{Ahead::share(strip.next, lines * long(cache_line), 0, 1, turns * steps), turns};
  long row = 0;
  for (; row + tile_rows < rows; row += 2 * tile_rows) {
    for (long output = 0; output < panel; output += panel / 2) square(strip, row, output, fetching);
    if (final) done(row + 2 * tile_rows < rows ? row + 2 * tile_rows : rows);
  }
  if (row < rows) flat(strip, row, fetching);
  if (final) done(rows);
}

// 4-bit weights of a chunk, as bytes.
void widen_chunk(const std::int8_t* pairs, long width, std::int8_t* weights) {
  for (long step = 0; step < width / Isa::group; ++step, pairs += panel_step / 2, weights += panel_step) {
    Isa::Weights loaded[Isa::columns];
    load_weights<4, Isa::columns>(pairs, loaded);
    for (int c = 0; c < Isa::columns; ++c) *(Stored*)(weights + c * vector_bytes) = loaded[c];
  }
}

struct Tiles {
  static constexpr bool direct = false;      // 16 rows are stored, however few there are
  static constexpr long single = tile_rows;  // digit rows that read weights once

  template <int Bits, class Done>
  static void multiply(Strip strip, long rows, Done& done) {
    const bool few = rows <= (strip.near ? few_rows : tile_rows);
    if (few || rows * strip.width < small_strip) return multiply_strip<Bits>(strip, rows, done);
    const TileShapes shapes;
    asm volatile("ldtilecfg %0" ::"m"(shapes));
    alignas(cache_line) std::int8_t bytes[Bits == 8 ? 1 : chunk * panel];
    const std::int8_t* following = strip.weights;
    const long length = chunk_length(strip.width, chunk);
    for (long left = strip.width; left > 0; left -= length) {
      strip.width = left < length ? left : length;
      strip.weights = following;
      following += strip.width * panel * Bits / 8;
      strip.next = left > length ? following : strip.after;
      if (Bits == 4) {
        widen_chunk(strip.weights, strip.width, bytes);
        strip.weights = bytes;
      }
      multiply_tiles(strip, rows, Bits, left <= length, done);
      strip.digits += length;
      strip.resume = true;
    }
    asm volatile("tilerelease" ::);
  }
};

#undef PLLM_TILE_LOAD
#undef PLLM_TILE_STORE
#undef PLLM_TILE_ZERO
#undef PLLM_TILE_DOT

}  // namespace pllm
