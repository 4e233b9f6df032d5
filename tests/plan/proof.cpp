// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <cairn/plan/policies.hpp>
#include <cairn/plan/proof.hpp>
#include <cairn/plan/schedule.hpp>

#include "chains.hpp"

namespace proof_tests {

using namespace cairn;
using namespace cairn::detail;
using namespace cairn::testing;

namespace {

constexpr std::size_t most = 16;

struct sample {
  chain along;
  std::vector<op> ops;
};

std::vector<network> networks() {
  std::vector<network> list;
  list.push_back({"mlp", {dense(8, 16), relu(16), dense(16, 16), relu(16), dense(16, 4)}, {.batch = 2, .input = {32, 0}}});
  list.push_back({"gelu", {dense(16, 16), gelu(16), dropout(16), dense(16, 16), gelu(16)}, {.input = {64, 0}}});
  list.push_back({"blocks", {block(16, 2), block(16, 1), relu(16), block(16, 3)}, {.input = {64, 0}}});
  list.push_back({"no parameters below", {relu(8), dropout(8), dense(8, 8), dense(8, 8)}, {.input = {32, 0}}});
  list.push_back({"lent", {dense(8, 8), relu(8), dense(8, 8), relu(8)}, {.input = {32, 0}, .lent = true}});
  list.push_back({"lent everywhere",
                  {relu(8), dense(8, 8), dropout(8), dense(8, 8), relu(8)},
                  {.input = {32, 0}, .lent = true, .lent_output = true, .lent_input_gradient = true}});
  return list;
}

template <class Policy>
void add(std::vector<sample>& out, const chain& c) {
  const auto made = complete<most, 100>(c, moves_of<Policy>(c));
  out.push_back({c, {made.ops().begin(), made.ops().end()}});
}

std::vector<sample> samples(const std::vector<network>& list) {
  std::vector<sample> out;
  for (const network& n : list) {
    add<store_all>(out, n.look());
    add<recompute_all>(out, n.look());
    add<every<2>>(out, n.look());
    add<sqrt_n>(out, n.look());
  }
  return out;
}

bool accepts(const chain& c, const std::vector<op>& ops) { return bool(prove<most>(c, ops)); }

// The state that an op reads and the state that it writes, including the order of the ops.
struct traces {
  std::set<std::pair<char, std::size_t>> reads, writes;
};

traces traces_of(const chain& c, const op& o) {
  traces out;
  const std::size_t i = o.position;
  const stage* s = i < c.size() ? &c[i] : nullptr;
  const bool paired = o.takes_next || o.absorbed;
  if (o.kind < op_kind::discard_value) (paired ? out.writes : out.reads).insert({'p', 0}); // must be next to its pair
  switch (o.kind) {
  case op_kind::forward:
    (o.absorbed ? out.writes : out.reads).insert({'v', i});
    if (!o.recomputes) out.reads.insert({'u', 0}); // before the loss
    if (o.wants_output) out.writes.insert({'v', i + 1});
    if (o.wants_tape) out.writes.insert({'t', i});
    out.writes.insert({'r', i}); // has run
    break;
  case op_kind::loss:
    out.reads.insert({'v', i});
    out.writes.insert({'g', i});
    out.writes.insert({'u', 0});
    break;
  case op_kind::backward:
    out.reads.insert({'g', i + 1});
    if (s->reads_input) out.reads.insert({'v', i});
    if (s->reads_output) out.reads.insert({'v', i + 1});
    if (s->keeps_tape()) out.reads.insert({'t', i});
    out.writes.insert({'g', i});
    break;
  case op_kind::discard_value: out.writes.insert({'v', i}); break;
  case op_kind::discard_tape: out.writes.insert({'t', i}); break;
  case op_kind::discard_gradient: out.writes.insert({'g', i}); break;
  }
  return out;
}

bool independent(const chain& c, const op& a, const op& b) {
  const traces x = traces_of(c, a);
  const traces y = traces_of(c, b);
  for (const auto& w : x.writes)
    if (y.reads.contains(w) || y.writes.contains(w)) return false;
  for (const auto& w : y.writes)
    if (x.reads.contains(w)) return false;
  return true;
}

} // namespace

TEST_CASE("proof: what is right is accepted") {
  const auto list = networks();
  for (const sample& s : samples(list)) CHECK(accepts(s.along, s.ops));
}

TEST_CASE("proof: an op dropped or done twice is found") {
  const auto list = networks();
  for (const sample& s : samples(list))
    for (std::size_t t = 0; t < s.ops.size(); ++t) {
      auto dropped = s.ops;
      dropped.erase(dropped.begin() + static_cast<std::ptrdiff_t>(t));
      CHECK_FALSE(accepts(s.along, dropped));
      auto twice = s.ops;
      twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(t), s.ops[t]);
      CHECK_FALSE(accepts(s.along, twice));
    }
}

TEST_CASE("proof: a changed mark, kind or position is found") {
  const auto list = networks();
  for (const sample& s : samples(list))
    for (std::size_t t = 0; t < s.ops.size(); ++t) {
      auto other = s.ops;
      const auto try_one = [&](const std::string& what) {
        const bool accepted = accepts(s.along, other);
        CHECK_MESSAGE(!accepted, what, " of op ", t);
        other[t] = s.ops[t];
      };
      const std::array<bool op::*, 6> marks{&op::recomputes,           &op::wants_output, &op::wants_tape,
                                            &op::wants_input_gradient, &op::takes_next,   &op::absorbed};
      for (std::size_t m = 0; m < marks.size(); ++m) {
        other[t].*marks[m] = !(other[t].*marks[m]);
        try_one("mark " + std::to_string(m));
      }
      for (unsigned char kind = 0; kind < 6; ++kind) {
        other[t].kind = static_cast<op_kind>(kind);
        if (other[t].kind != s.ops[t].kind) try_one("kind " + std::to_string(kind));
      }
      for (std::uint32_t position = 0; position <= s.along.size() + 1; ++position) {
        other[t].position = position;
        if (position != s.ops[t].position) try_one("position " + std::to_string(position));
      }
    }
}

// Two neighbours may be swapped exactly if neither reads or writes what the other writes. Most of those that may are
// discards: a later discard costs memory, but is not a fault.
TEST_CASE("proof: of neighbours changed round, exactly the dependent ones are found") {
  std::size_t found = 0;
  std::size_t harmless = 0;
  const auto list = networks();
  for (const sample& s : samples(list))
    for (std::size_t t = 0; t + 1 < s.ops.size(); ++t) {
      auto other = s.ops;
      std::swap(other[t], other[t + 1]);
      const bool accepted = accepts(s.along, other);
      CHECK_MESSAGE(accepted == independent(s.along, s.ops[t], s.ops[t + 1]), "ops ", t, " and ", t + 1);
      ++(accepted ? harmless : found);
    }
  MESSAGE(found << " changes found, " << harmless << " harmless");
  CHECK(found > harmless);
}

TEST_CASE("proof: says what is wrong and where") {
  const auto list = networks();
  auto s = samples(list).front();
  s.ops[2].wants_output = !s.ops[2].wants_output;
  const verdict v = prove<most>(s.along, s.ops);
  CHECK_FALSE(bool(v));
  CHECK(v.at <= s.ops.size());
  CHECK(std::string(v.fault).size() > 10);
  CHECK(bool(verdict{}));
}

TEST_CASE("proof: a forward of a stage whose backward is done is found, whatever becomes of its value") {
  const auto list = networks();
  const chain c = list[0].look();
  const auto made = complete<most, 100>(c, moves_of<store_all>(c));
  for (std::uint32_t i = 0; i < 2; ++i) {
    std::vector<op> ops(made.ops().begin(), made.ops().end());
    for (std::uint32_t k = 0; k <= i; ++k) ops.push_back({.recomputes = true, .wants_output = true, .position = k});
    const verdict v = prove<most>(c, ops);
    CHECK(std::string(v.fault).find("whose backward is done") != std::string::npos);
    CHECK(v.at == made.count);
  }
}

TEST_CASE("proof: an evaluation has no backward") {
  const auto list = networks();
  const chain c = list[0].look();
  const auto up = complete<most, 100>(c, moves_of<forward_pass>(c));
  CHECK(bool(prove<most>(c, up.ops(), journey::evaluation)));
  CHECK_FALSE(bool(prove<most>(c, up.ops(), journey::training)));
  const auto both = complete<most, 100>(c, moves_of<store_all>(c));
  CHECK_FALSE(bool(prove<most>(c, both.ops(), journey::evaluation)));
}

} // namespace proof_tests
