// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>

#include <cairn/core/config.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/division.cuh>
#include <cairn/device/cuda/launch.cuh>
#include <cairn/device/cuda/quad.cuh>

namespace cairn::detail {

// A sum over many terms is taken in parts, each by a team, and the parts are then added in order. How the terms are cut depends
// on their number alone, and no addition is atomic, so equal operands give equal bits.
struct cut {
  std::size_t count = 0, length = 0, parts = 0;

  cut(std::size_t items, std::size_t grain, std::size_t most_parts) : count(items) {
    const std::size_t grains = (items + grain - 1) / grain;
    length = std::max<std::size_t>(1, (grains + most_parts - 1) / most_parts) * grain;
    parts = (items + length - 1) / length;
  }
  CAIRN_DEVICE std::size_t begin(std::size_t part) const { return part * length; }
  CAIRN_DEVICE std::size_t size(std::size_t part) const {
    const std::size_t left = count - begin(part);
    return left < length ? left : length;
  }
};

// Sums one part of an array of T: term.add(quad, sum) adds the terms of one quad to `sum`, whose type is Kind.
template <class T, class Kind, class Term>
struct sum_of_part {
  Term term;
  cut how;
  double* sums;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t part) const {
    const std::size_t first = how.begin(part) / quad_width<T>;
    const auto add = [&](std::size_t q, Kind(&some)[1]) { term.add(first + q, some[0]); };
    const double sum = team.template sums_over_quads<Kind, 1>(quads_for<T>(how.size(part)), add).at[0];
    team.once([&] { sums[part] = sum; });
  }
};
// Adds up the parts; one thread then calls finish(sum).
template <class Finish>
struct sum_of_parts_then {
  Finish finish;
  std::size_t parts;
  const double* sums;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t) const {
    const double sum = team.sum(parts, [&](std::size_t part) { return sums[part]; });
    team.once([&] { finish(sum); });
  }
};
template <class T, class Kind, class Term, class Finish>
void sum_then(cuda::queue& queue, const char* op, std::size_t count, const Term& term, const Finish& finish) {
  const cut how(count, 4096, 1024);
  double* const sums = queue.partial(op).data();
  launch_teams<256>(queue, op, how.parts, sum_of_part<T, Kind, Term>{term, how, sums});
  launch_teams<256>(queue, op, 1, sum_of_parts_then<Finish>{finish, how.parts, sums});
}

// Two sums over rows for each column. term.add(row, end, column, a, b) adds the share of up to `rows_of_chain` rows, which it
// sums in T first; term.finish(column, a, b) takes the sums. Neighbouring threads have neighbouring columns, so that rows are
// read in memory order.
inline constexpr std::size_t rows_of_chain = 16;
template <class Term>
struct column_sums_of_part {
  Term term;
  cut rows;
  std::size_t first;
  divisor columns;
  double* sums; // (parts, 2, columns)

  CAIRN_DEVICE void operator()(std::size_t i) const {
    const std::size_t part = columns.of(i), column = columns.rest(i, part);
    double a = 0, b = 0;
    const std::size_t begin = rows.begin(part), end = begin + rows.size(part);
    for (std::size_t row = begin; row < end; row += rows_of_chain)
      term.add(row, row + rows_of_chain < end ? row + rows_of_chain : end, first + column, a, b);
    sums[2 * part * columns.by() + column] = a;
    sums[(2 * part + 1) * columns.by() + column] = b;
  }
};
template <class Term>
struct column_sums_then {
  Term term;
  std::size_t parts, first, columns;
  const double* sums;

  template <class Team>
  CAIRN_DEVICE void operator()(const Team& team, std::size_t column) const {
    const double a = team.sum(parts, [&](std::size_t part) { return sums[2 * part * columns + column]; });
    const double b = team.sum(parts, [&](std::size_t part) { return sums[(2 * part + 1) * columns + column]; });
    team.once([&] { term.finish(first + column, a, b); });
  }
};
template <class Term>
void sum_columns_then(cuda::queue& queue, const char* op, std::size_t rows, std::size_t columns, const Term& term) {
  const cut how(rows, rows_of_chain, 1024);
  const auto room = queue.partial(op);
  const std::size_t widest = room.size() / (2 * std::max<std::size_t>(1, how.parts));
  for (std::size_t first = 0; first < columns; first += widest) {
    const std::size_t width = std::min(widest, columns - first);
    launch_each(queue, op, how.parts * width, column_sums_of_part<Term>{term, how, first, width, room.data()});
    launch_teams<32>(queue, op, width, column_sums_then<Term>{term, how.parts, first, width, room.data()});
  }
}

} // namespace cairn::detail
