// SPDX-License-Identifier: MIT
// long to compile
#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/net/fused_update.hpp>
#include <cairn/net/memory_curve.hpp>
#include <cairn/report/draw_schedule.hpp>
#include <cairn/report/step_trace.hpp>
#include <doctest/doctest.h>

#include "../data/folder.hpp"
#include "../train/training.hpp"
#include "drawings.hpp"
#include "json.hpp"

namespace step_trace_tests {

using namespace cairn;
using namespace testing;

namespace {

using Deep = Sequential<Linear<10, 16>, ReLU, Repeat<4, Residual<Linear<16, 16>, ReLU>>, Linear<16, 4>>;
using Recomputed = checkpoint<sqrt_n, Deep>;

template <class Model>
using trained = trainer<Model, CrossEntropyLoss, SGD, batch<8>>;

// The ops of a picture from left to right, as in "forward of 0 Linear<10, 16>". An op without operations of its own has no width,
// but a place.
std::vector<std::string> drawn_ops(const std::string& svg) {
  std::vector<std::tuple<double, std::string>> found;
  for (const char* const kind : {"forward", "recompute", "backward"}) {
    const std::size_t group = svg.find("<g class=\"" + std::string(kind) + "\"");
    if (group == svg.npos) continue;
    const std::size_t end = svg.find("</g>", group);
    for (std::size_t at = svg.find("<rect", group); at < end; at = svg.find("<rect", at + 1)) {
      const auto number = [&](const char* key) {
        return std::strtod(svg.c_str() + svg.find(key, at) + std::string(key).size(), nullptr);
      };
      const std::size_t title = svg.find("<title>", at) + 7;
      found.emplace_back(number(" x=\"") + number(" width=\"") / 2, svg.substr(title, svg.find('<', title) - title));
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (const auto& [x, name] : found) out.push_back(name);
  return out;
}

// The ops of a trace, in the same words.
std::vector<std::string> traced_ops(const report::rank_trace& trace) {
  std::vector<std::string> out;
  std::int64_t before = 0;
  for (const report::trace_slice& s : trace.slices) {
    if (s.kind != "forward" && s.kind != "recompute" && s.kind != "backward") continue;
    CHECK(s.begin >= before);
    before = s.end;
    const std::string name = detail::svg_writer::escape(s.name.substr(0, s.name.size() - s.kind.size() - 1));
    out.push_back(s.kind + " of " + name);
  }
  return out;
}

// Checks that slices of a row are apart or nested.
void check_rows(const report::rank_trace& trace) {
  for (std::size_t a = 0; a < trace.slices.size(); ++a)
    for (std::size_t b = a + 1; b < trace.slices.size(); ++b) {
      const report::trace_slice &s = trace.slices[a], &t = trace.slices[b];
      const bool apart = s.row != t.row || s.end <= t.begin || t.end <= s.begin;
      const bool inside = (s.begin <= t.begin && t.end <= s.end) || (t.begin <= s.begin && s.end <= t.end);
      CHECK((apart || inside));
    }
  for (const report::trace_slice& s : trace.slices) CHECK(s.row < trace.rows.size());
}

std::size_t count_named(const report::rank_trace& trace, const std::string& begin) {
  return static_cast<std::size_t>(std::count_if(trace.slices.begin(), trace.slices.end(),
                                                [&](const report::trace_slice& s) { return s.name.rfind(begin, 0) == 0; }));
}

} // namespace

TEST_CASE("step_trace: in a block's op stands each call of its layers") {
  trained<Deep> train{SGD{}};
  const samples<> s(8, 0);
  const report::rank_trace trace = report::trace_step(train, s.x, s.y);
  check_rows(trace);
  std::vector<std::string> forward;
  std::size_t layers = 0;
  for (const report::trace_slice& inner : trace.slices) {
    if (inner.kind != "layer") continue;
    ++layers;
    if (inner.name.ends_with(" forward")) forward.push_back(inner.name);
    // The op of the block is around the layer's slice, and is named by the block's place.
    const bool is_inside = std::any_of(trace.slices.begin(), trace.slices.end(), [&](const report::trace_slice& s2) {
      return (s2.kind == "forward" || s2.kind == "backward") && s2.begin <= inner.begin && inner.end <= s2.end;
    });
    CHECK(is_inside);
  }
  // An activation that the product applies to its result has no call of its own.
  REQUIRE(forward.size() >= 4);
  CHECK(forward.front() == "2.0 Linear<16, 16> forward");
  CHECK(layers > forward.size());
}

TEST_CASE("step_trace: the ops that were measured are those of the picture, in its order") {
  const folder here;
  const std::string file = here.path / "schedule.svg";
  draw_schedule<Recomputed, batch<8>>(file);
  trained<Recomputed> train{SGD{}};
  const samples<> s(8, 0);
  const report::rank_trace trace = report::trace_step(train, s.x, s.y);
  const auto planned = drawn_ops(contents(file)), measured = traced_ops(trace);
  CHECK(planned.size() > 2 * trained<Recomputed>::plan::size);
  CHECK(std::count(planned.begin(), planned.end(), "recompute of 2 Residual&lt;Linear&lt;16, 16&gt;, ReLU&gt;") == 1);
  CHECK(measured == planned);
  check_rows(trace);

  CHECK(trace.rows == std::vector<std::string>{"compute"});
  CHECK(trace.slices[0].name == "training step");
  CHECK(count_named(trace, "loss") == 1);
  CHECK(count_named(trace, "update") == 1);
  CHECK(count_named(trace, "wait") == 0);
  // The live bytes rise to the peak of the plan, and end at 0.
  double peak = 0;
  for (const report::trace_count& c : trace.counts) peak = std::max(peak, c.value);
  CHECK(peak == static_cast<double>(trained<Recomputed>::plan::trained::memory.bound));
  CHECK(trace.counts.back().value == 0);
  CHECK(train.steps() == 1);
}

TEST_CASE("step_trace: rank 0 writes what all ranks did, with the buckets on their way") {
  const folder here;
  const std::string file = here.path / "traces/step.json";
  threads{2}.run([&](threads::rank& rank) {
    trained<ddp<Recomputed, threads::rank, bucket_bytes<1024>>> train{rank, SGD{}}, same{rank, SGD{}};
    const samples<> s(8, static_cast<std::uint32_t>(rank.rank()));
    CHECK(report::trace_step(train, s.x, s.y, file) == same.step(s.x, s.y));
    const report::rank_trace own = report::trace_step(train, s.x, s.y);
    same.step(s.x, s.y);
    CHECK(train.checksum() == same.checksum());
    CHECK(own.rank == rank.rank());
    check_rows(own);
    const std::size_t buckets = train.buckets.size();
    CHECK(buckets > 2);
    CHECK(count_named(own, "bucket") == buckets);
    CHECK(count_named(own, "send bucket") == buckets);
    CHECK(count_named(own, "wait for bucket") == buckets);
    CHECK(count_named(own, "wait for gradients") == 1);
    CHECK(own.rows.at(1) == "communication");
  });
  const std::string json = contents(file);
  CHECK(is_json(json));
  for (const char* part : {"\"rank 0\"", "\"rank 1\"", "0 Linear<10, 16> recompute", "\"bucket 0\"", "\"ph\":\"C\""})
    CHECK(json.find(part) != json.npos);
}

TEST_CASE("step_trace: an update inside the backward pass is seen where it is, and who listened to discards goes on") {
  trained<fused_update<Deep>> train{SGD{}};
  std::size_t heard = 0;
  train.on_discard({[](void* self, std::byte*, std::size_t) { ++*static_cast<std::size_t*>(self); }, &heard});
  const samples<> s(8, 0);
  train.step(s.x, s.y);
  const std::size_t each = heard;
  CHECK(each > 0);
  const report::rank_trace trace = report::trace_step(train, s.x, s.y);
  CHECK(heard == 2 * each);
  train.step(s.x, s.y);
  CHECK(heard == 3 * each);
  check_rows(trace);
  CHECK(count_named(trace, "use bucket") == train.buckets.size());
  CHECK(count_named(trace, "send") == 0);
}

TEST_CASE("step_trace: a schedule that was solved when the program ran") {
  const memory_curve<Deep, 8> curve;
  const auto step = curve.within(curve[0].bytes);
  trained<Deep> train{SGD{}, {.schedule = step}};
  const samples<> s(8, 0);
  const report::rank_trace trace = report::trace_step(train, s.x, s.y);
  std::size_t works = 0;
  for (const detail::op& o : step.plan.training.ops()) works += o.is_discard() || o.kind == detail::op_kind::loss ? 0 : 1;
  CHECK(traced_ops(trace).size() == works);
  double peak = 0;
  for (const report::trace_count& c : trace.counts) peak = std::max(peak, c.value);
  CHECK(peak == static_cast<double>(step.plan.memory.bound));
}

TEST_CASE("step_trace: a file that cannot be written is said, and the step is made") {
  trained<Deep> train{SGD{}};
  const samples<> s(8, 0);
  CHECK_THROWS_WITH_AS(report::trace_step(train, s.x, s.y, "/proc/cairn/step.json"), doctest::Contains("/proc/cairn"),
                       file_error);
  CHECK(train.steps() == 1);
}

} // namespace step_trace_tests
