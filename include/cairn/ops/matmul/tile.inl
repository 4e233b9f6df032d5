// SPDX-License-Identifier: MIT
// The tile of one instruction set: CAIRN_TILE is its name, CAIRN_TILE_TARGET the attribute of its functions. This file is
// included once for each set, inside namespace cairn::detail. The instructions that a function may use are part of its
// declaration, so one template cannot be compiled for two sets.

// Rows x Columns registers of results, kept in registers over a whole chain of the reduction. Each step multiplies Rows elements
// of a, each filled into a register, with Columns registers of b. `Partial`: the last register is masked.
//
// A multiplication has a latency of 4 cycles and one or two start in each cycle, so at least 8 sums must be in flight; 8 x 3
// leaves time for the 3 loads of b and the 8 of a, which come with the multiplication. A small tile takes 4 steps of the
// reduction per iteration of the loop. With AVX-512 a full tile takes 2, which is 2 % faster, and 10 % where a is read by
// columns; 4 are slower. With AVX2, which has no register left, 2 are slower and only the loop that prefetches takes 2.
//
// Everything is unrolled by index sequences and not by loops over arrays: at -O2 g++ would keep such arrays in memory.
template <class Register, class T, std::size_t Rows, std::size_t Columns, bool Partial>
struct CAIRN_TILE {
  using vector = typename Register::vector;
  using mask = typename Register::mask;
  static constexpr std::size_t width = Register::width;
  static_assert(Rows * Columns * sizeof(vector) <= tile_bytes);

  // Where the J-th register of b begins. Six are those of two slivers, for a single row: three sums would wait for each other.
  template <std::size_t J>
  static constexpr std::size_t place(std::size_t next) {
    return Columns == 6 ? J / 3 * next + J % 3 * width : J * width;
  }

  [[gnu::always_inline]] CAIRN_TILE_TARGET static inline vector load(const T* p, mask lanes) {
    return Partial ? Register::load(p, lanes) : Register::load(p);
  }

  // One step of the reduction: sums(i, j) += a(i) * b(j), fused, I counting the sums row by row.
  template <std::size_t... I, std::size_t... J>
  [[gnu::always_inline]] CAIRN_TILE_TARGET static inline void step(vector* sums, const T* a, std::size_t a_row, const T* b,
                                                                   std::size_t next, mask lanes, std::index_sequence<I...>,
                                                                   std::index_sequence<J...>) {
    const vector right[Columns] = {load(b + place<J>(next), lanes)...};
    ((sums[I] = Register::multiply_add(Register::fill_from(a + I / Columns * a_row), right[I % Columns], sums[I])), ...);
  }

  // Two steps, where a word of b holds both elements; or the first one alone, at the end of an odd reduction.
  template <bool Both, std::size_t... I, std::size_t... J>
  [[gnu::always_inline]] CAIRN_TILE_TARGET static inline void
  step_of_pairs(vector* sums, const T* a, std::size_t a_row, std::size_t a_step, const T* b, std::size_t next, mask lanes,
                std::index_sequence<I...>, std::index_sequence<J...>) {
    const vector pairs[Columns] = {Register::in_a_register(load(b + place<J>(next), lanes))...};
    const vector first[Columns] = {Register::first_of(pairs[J])...};
    ((sums[I] = Register::multiply_add(Register::fill_from(a + I / Columns * a_row), first[I % Columns], sums[I])), ...);
    if constexpr (Both) {
      const vector second[Columns] = {Register::second_of(pairs[J])...};
      const T* const ahead = a + a_step;
      ((sums[I] = Register::multiply_add(Register::fill_from(ahead + I / Columns * a_row), second[I % Columns], sums[I])), ...);
    }
  }

  // The sums over the block. While a chain is computed, the sum of the earlier ones is in memory, in the first-level cache, as no
  // registers are left. That costs 2 more instructions for each result and chain.
  template <std::size_t... I>
  [[gnu::always_inline]] CAIRN_TILE_TARGET static inline void reduce(vector* sums, const sliver<T>& s, std::size_t row,
                                                                     mask lanes, std::index_sequence<I...> all) {
    constexpr std::make_index_sequence<Columns> columns{};
    constexpr std::size_t chain = reduction_chain / Register::reduced;
    const std::size_t a_row = s.a_row;
    const std::size_t a_step = s.a_step;
    const std::size_t next = s.b_next;
    const T* a = s.a + (row - s.row_begin) * a_row;
    const T* b = s.b;
    const T* ahead = s.ahead_lines == 0 ? nullptr : s.ahead + (row - s.row_begin) * a_row;
    for (std::size_t done = 0;;) {
      std::size_t left = s.depth - done < chain ? s.depth - done : chain;
      const bool first = done == 0;
      done += left;
      ((sums[I] = Register::fill(0)), ...);
      if constexpr (Register::in_word == 2) { // chains and blocks are even, but for the last
        for (; left >= 2; left -= 2) {
          step_of_pairs<true>(sums, a, a_row, a_step, b, next, lanes, all, columns);
          a += 2 * a_step;
          b += s.b_step;
        }
        if (left != 0) step_of_pairs<false>(sums, a, a_row, a_step, b, next, lanes, all, columns);
        left = 0;
      }
      if constexpr (Rows * Columns < 8 && Register::in_word == 1) { // a small step costs less than an iteration of the loop
        for (; left >= 4; left -= 4) {
          step(sums, a, a_row, b, next, lanes, all, columns);
          step(sums, a + a_step, a_row, b + s.b_step, next, lanes, all, columns);
          step(sums, a + 2 * a_step, a_row, b + 2 * s.b_step, next, lanes, all, columns);
          step(sums, a + 3 * a_step, a_row, b + 3 * s.b_step, next, lanes, all, columns);
          a += 4 * a_step;
          b += 4 * s.b_step;
        }
      }
      if constexpr (Rows >= 4 && Columns == 3 && Register::in_word == 1) {
        for (; left >= ahead_steps; left -= ahead_steps) {
          for (std::size_t i = 0; i < s.ahead_lines; ++i, ahead += 64 / sizeof(T)) __builtin_prefetch(ahead, 0, 2);
          for (std::size_t i = 0; i < ahead_steps; i += 2) {
            step(sums, a, a_row, b, next, lanes, all, columns);
            step(sums, a + a_step, a_row, b + s.b_step, next, lanes, all, columns);
            a += 2 * a_step;
            b += 2 * s.b_step;
          }
        }
      }
      if constexpr (Rows * Columns >= 8 && sizeof(vector) == 64 && Register::in_word == 1) {
        for (; left >= 2; left -= 2) {
          step(sums, a, a_row, b, next, lanes, all, columns);
          step(sums, a + a_step, a_row, b + s.b_step, next, lanes, all, columns);
          a += 2 * a_step;
          b += 2 * s.b_step;
        }
      }
      for (; left != 0; --left) {
        step(sums, a, a_row, b, next, lanes, all, columns);
        a += a_step;
        b += s.b_step;
      }
      if (!first) ((sums[I] = Register::add(Register::load(s.before + I * width), sums[I])), ...);
      if (done == s.depth) return;
      (Register::store(s.before + I * width, sums[I]), ...);
    }
  }

  [[gnu::always_inline]] CAIRN_TILE_TARGET static inline void store(T* p, vector x, mask lanes) {
    if constexpr (Partial) Register::store(p, x, lanes);
    else Register::store(p, x);
  }

  // The epilogue, each part for all results at once: one test of a pointer serves the tile.
  template <std::size_t... I>
  [[gnu::always_inline]] CAIRN_TILE_TARGET static inline void finish(vector* sums, const sliver<T>& s, std::size_t row,
                                                                     mask lanes, std::index_sequence<I...>) {
    const product<T>& whole = *s.whole;
    const epilogue<T>& then = whole.then;
    if (s.carry != nullptr) {
      T* const carry = s.carry + (row - s.row_begin) * s.carry_row;
      if (s.reads_carry)
        ((sums[I] = Register::add(load(carry + I / Columns * s.carry_row + I % Columns * width, lanes), sums[I])), ...);
      if (s.writes_carry) {
        (store(carry + I / Columns * s.carry_row + I % Columns * width, sums[I], lanes), ...);
        return;
      }
    }
    if (then.bias != nullptr) {
      const T* const bias = then.bias + s.column;
      ((sums[I] = Register::add(sums[I], load(bias + I % Columns * width, lanes))), ...);
    }
    if (then.then == activation::relu) ((sums[I] = Register::max(Register::fill(0), sums[I])), ...); // NaN stays
    if (then.addend.data != nullptr) {
      const std::size_t stride = then.addend.stride;
      const T* const addend = then.addend.data + row * stride + s.column;
      ((sums[I] = Register::add(sums[I], load(addend + I / Columns * stride + I % Columns * width, lanes))), ...);
    }
    if (then.mask.data != nullptr) {
      const std::size_t stride = then.mask.stride;
      const T* const shown = then.mask.data + row * stride + s.column;
      ((sums[I] = Register::masked(load(shown + I / Columns * stride + I % Columns * width, lanes), sums[I])), ...);
    }
    const std::size_t stride = whole.c.stride;
    T* const c = whole.c.data + row * stride + s.column;
    (store(c + I / Columns * stride + I % Columns * width, sums[I], lanes), ...);
  }

  // Prefetches the result and what the epilogue reads, before the reduction begins: they are in other rows, which no processor
  // foresees.
  template <bool Write, class U>
  [[gnu::always_inline]] CAIRN_TILE_TARGET static inline void ask_for(matrix<U> m, const sliver<T>& s, std::size_t row) {
    if (m.data == nullptr) return;
    const T* const first = m.data + row * m.stride + s.column;
    for (std::size_t i = 0; i < Rows; ++i)
      for (std::size_t j = 0; j < Columns; ++j) __builtin_prefetch(first + i * m.stride + j * width, Write, 3);
  }

  [[gnu::always_inline]] CAIRN_TILE_TARGET static inline void run(const sliver<T>& s, std::size_t row, mask lanes) {
    constexpr std::make_index_sequence<Rows * Columns> all{};
    vector sums[Rows * Columns];
    ask_for<true>(s.whole->c, s, row);
    ask_for<false>(s.whole->then.addend, s, row);
    ask_for<false>(s.whole->then.mask, s, row);
    reduce(sums, s, row, lanes, all);
    finish(sums, s, row, lanes, all);
  }
};
