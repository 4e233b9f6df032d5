// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/ops/elementwise/cpu.hpp>

CAIRN_KERNELS_BEGIN

namespace cairn::detail {

// f.run() with the instructions of one set.
template <class F>
[[gnu::noinline]] void run_tile_plain(const F& f) {
  f.run();
}
template <class F>
[[gnu::noinline]] CAIRN_TARGET_AVX2 void run_tile_avx2(const F& f) {
  f.run();
}
template <class F>
[[gnu::noinline]] CAIRN_TARGET_AVX512 void run_tile_avx512(const F& f) {
  f.run();
}
template <class F>
void run_tile(const F& f) {
  const instruction_set set = widest_for_elements();
  if (set == instruction_set::avx512) run_tile_avx512(f);
  else if (set == instruction_set::avx2) run_tile_avx2(f);
  else run_tile_plain(f);
}

} // namespace cairn::detail

CAIRN_KERNELS_END
