// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/plan/buckets.hpp>
#include <cairn/plan/chain.hpp>
#include <cairn/plan/schedule.hpp>
#include <cairn/plan/step/step_op.hpp>

namespace cairn::report {

// A bucket of gradients that leaves after the backward of the stage at `position`.
struct bucket_departure {
  std::size_t position = 0;
  std::size_t bytes = 0;
};

} // namespace cairn::report

namespace cairn::detail {

// The buckets of a step, each with the stage after whose backward it leaves. `element` is the size of a gradient in bytes.
inline std::vector<bucket_departure> departures_of(std::span<const step_op> step, std::span<const bucket> buckets,
                                                   std::size_t element) {
  std::vector<bucket_departure> out;
  std::size_t position = 0;
  for (const step_op& o : step) {
    if (o.kind == step_op_kind::backward) position = o.stage;
    if (o.kind == step_op_kind::reduce) out.push_back({position, buckets[o.index].size() * element});
  }
  return out;
}

// A span of predicted time.
struct time_span {
  double begin = 0;
  double end = 0;

  constexpr double length() const { return end - begin; }
};

// The predicted times of a schedule, from counts of operations. The unit is one forward of the whole chain: store_all of a
// deep chain of products ends near 3.
struct timeline {
  std::vector<time_span> ops;     // for each op; one that computes nothing takes no time
  std::vector<time_span> buckets; // in flight, one after another, in the order in which they leave
  double work = 0;                // the end of the last op
  double end = 0;                 // of everything
  double work_ratio = 1;          // work relative to a step that recomputes nothing
};

// Operations of one op for one sample, as flops() counts them.
inline double op_flops(const chain& c, const op& o) { return static_cast<double>(flops(c, std::span<const op>{&o, 1})); }

// `flops_per_byte`: how many operations a rank does in the time in which one byte of gradients is reduced.
// In a chain whose stages state no operations every op counts as one.
inline timeline make_timeline(const chain& c, std::span<const op> ops, std::span<const bucket_departure> leaving = {},
                              double flops_per_byte = 0) {
  double forward = 0;
  double once = 0; // a step without recomputation
  for (std::size_t i = 0; i < c.size(); ++i) {
    forward += static_cast<double>(c[i].forward_flops);
    const bool gives = i > c.lowest_backward() || c.gives_input_gradient();
    once += op_flops(c, {.wants_output = true, .position = static_cast<std::uint32_t>(i)});
    if (i >= c.lowest_backward())
      once += op_flops(c, {.kind = op_kind::backward, .wants_input_gradient = gives, .position = static_cast<std::uint32_t>(i)});
  }
  const bool counted = forward > 0;
  if (!counted) {
    forward = static_cast<double>(std::max<std::size_t>(1, c.size()));
    once = forward + static_cast<double>(c.size() - std::min(c.size(), c.lowest_backward()));
  }

  timeline out;
  out.ops.reserve(ops.size());
  std::vector<double> done(c.size(), 0); // when the backward of a stage ends
  for (const op& o : ops) {
    const bool works = o.kind == op_kind::forward || o.kind == op_kind::backward;
    const double work = !works ? 0 : counted ? op_flops(c, o) : 1;
    const double begin = out.work;
    out.work += work / forward;
    out.ops.push_back({begin, out.work});
    if (o.kind == op_kind::backward) done[o.position] = out.work;
  }
  out.end = out.work;
  if (once > 0) out.work_ratio = out.work * forward / once;

  // One communication thread, so one bucket at a time. The bytes of the gradients do not grow with the batch,
  // the operations do.
  const double byte = counted ? flops_per_byte / (forward * static_cast<double>(c.batch)) : 0;
  double free = 0;
  for (const bucket_departure& b : leaving) {
    if (b.position >= c.size())
      throw input_error("make_timeline: expected a bucket to leave after a stage below " + std::to_string(c.size()) +
                        ", found stage " + std::to_string(b.position) + "; make departures and chain from one network");
    const double begin = std::max(free, done[b.position]);
    free = begin + static_cast<double>(b.bytes) * byte;
    out.buckets.push_back({begin, free});
    out.end = std::max(out.end, free);
  }
  return out;
}

} // namespace cairn::detail
