// SPDX-License-Identifier: MIT
// Runs a schedule on a simulated memory in which every cache line records its owner. It shares no code with the plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/plan/chain.hpp>
#include <cairn/plan/memory_plan.hpp>
#include <cairn/plan/op.hpp>

namespace cairn::testing {

using namespace plan;

using namespace detail;

// The content of a line: the kind of its owner, and the owner's number.
enum class owner : int { nobody, value, gradient, tape, workspace, leftover, window };
using content = std::pair<owner, std::size_t>;

struct slices {
  std::size_t tape = 0, forward_workspace = 0, backward_workspace = 0;
};

class simulator {
public:
  simulator(const chain& along, std::span<const op> ops, const operands* at, slices lent, const place* windows = nullptr)
      : chain_(along), ops_(ops), at_(at), windows_(windows), slices_(lent), n_(along.size()) {
    fill(region::input, along.value_bytes(0), {owner::value, 0});
    memory_[region::output].resize(lines(along.value_bytes(n_)));
    memory_[region::output_gradient].resize(lines(along.value_bytes(n_)));
    memory_[region::input_gradient].resize(lines(along.value_bytes(0)));
    memory_[region::tape].resize(lines(lent.tape));
    memory_[region::workspace].resize(lines(lent.forward_workspace));
  }

  // Runs the schedule. Of the forward pass it runs only the first `until` ops; the last of these makes its output only if
  // `whole`. Returns the fault, or "".
  std::string run(std::size_t until, bool whole) {
    bool up = true;
    for (std::size_t t = 0; t < ops_.size() && wrong_.empty(); ++t) {
      now_ = t;
      const op& o = ops_[t];
      if (o.kind == op_kind::loss) {
        up = false;
        loss(until > t);
      } else if (!up || t < until) {
        step(o, !up || whole || t + 1 != until);
      }
    }
    now_ = ops_.size();
    if (wrong_.empty()) end();
    return wrong_;
  }

  std::size_t touched() const { return touched_ * 64; } // bytes of the workspace

private:
  static std::size_t lines(std::size_t bytes) { return (bytes + 63) / 64; }

  void fault(const std::string& text) {
    if (wrong_.empty()) wrong_ = "op " + std::to_string(now_) + ": " + text;
  }
  void fill(region r, std::size_t bytes, content c) { memory_[r].assign(lines(bytes), c); }

  void write(const place& p, std::size_t bytes, content c) {
    if (bytes == 0) return;
    if (p.where == region::none) return fault("nowhere to write to");
    if (p.where == region::input) return fault("writes to the input");
    auto& lane = memory_[p.where];
    if (p.line + lines(bytes) > lane.size()) return fault("writes beyond the end of a slice");
    for (std::size_t k = 0; k < lines(bytes); ++k) lane[p.line + k] = c;
    if (p.where == region::workspace && p.line + lines(bytes) > touched_) touched_ = p.line + lines(bytes);
  }
  void read(const char* what, const place& p, std::size_t bytes, content c) {
    if (bytes == 0) return;
    if (p.where == region::none) return fault(std::string(what) + " is nowhere");
    const auto& lane = memory_[p.where];
    if (p.line + lines(bytes) > lane.size()) return fault(std::string(what) + " is beyond the end of a slice");
    for (std::size_t k = 0; k < lines(bytes); ++k)
      if (lane[p.line + k] != c) return fault(std::string(what) + " is not there");
  }

  std::size_t value_bytes(std::size_t k) const { return chain_.value_bytes(k); }
  void read_value(const char* what, const place& p, std::size_t k) {
    // A reshaped input is the input itself.
    read(what, p, value_bytes(k), {owner::value, p.where == region::input && k <= chain_.reshaped_inputs() ? 0 : k});
  }
  void read_gradient(const char* what, const place& p, std::size_t k) { read(what, p, value_bytes(k), {owner::gradient, k}); }

  void step(const op& o, bool with_output) {
    switch (o.kind) {
    case op_kind::forward: return o.absorbed ? absorbed_forward(o) : forward(o, with_output);
    case op_kind::backward:
      open_windows(o.position);
      o.absorbed ? absorbed_backward(o) : backward(o);
      return close_windows(o.position);
    case op_kind::loss: return;
    case op_kind::discard_value: return discard(value_bytes(o.position));
    case op_kind::discard_gradient: return discard(value_bytes(o.position));
    case op_kind::discard_tape: return discard(chain_.tape_bytes(o.position));
    }
  }

  std::size_t next_work() const {
    std::size_t u = now_ + 1;
    while (u < ops_.size() && ops_[u].kind >= op_kind::discard_value) ++u;
    return u;
  }

  void absorbed_forward(const op& o) { read_value("what the op before made", at_[now_].output, o.position + 1); }
  void absorbed_backward(const op& o) { read_gradient("what the op before made", at_[now_].input_gradient, o.position); }

  void forward(const op& o, bool with_output) {
    const std::size_t i = o.position;
    const stage& s = chain_[i];
    const operands& at = at_[now_];
    const std::size_t workspace = (o.wants_tape ? s.forward_workspace : s.evaluation_workspace).at(chain_.batch);
    read_value("the input", at.input, i);
    write(at.workspace, workspace, {owner::workspace, now_});
    if (o.wants_tape) write(at.tape, chain_.tape_bytes(i), {owner::tape, i});
    const bool wants = o.wants_output && with_output;
    const content result{wants ? owner::value : owner::leftover, i + 1};
    if (at.output.where == region::input && s.reshapes && at.output == at.input) return;
    const bool writes = wants || !s.tape_without_output;
    if (writes) {
      if (!(at.output == at.input)) read_value("the input, by now,", at.input, i);
      else if (!chain_[i].in_place_forward || value_bytes(i) != value_bytes(i + 1)) fault("is not in place");
      write(at.output, value_bytes(i + 1), result);
    }
    if (!writes || !(at.output == at.input)) read_value("the input, after all,", at.input, i);
    read("the workspace", at.workspace, workspace, {owner::workspace, now_});
    if (o.wants_tape) read("the new tape", at.tape, chain_.tape_bytes(i), {owner::tape, i});
    if (writes) read("the new value", at.output, value_bytes(i + 1), result);
    if (!o.takes_next || !wants) return;
    const std::size_t u = next_work();
    if (u == ops_.size() || !ops_[u].absorbed) return fault("takes what nobody leaves");
    if (!(at_[u].output == at.output)) return fault("takes the next op, which is not in place");
    write(at.output, value_bytes(i + 2), {owner::value, i + 2});
  }

  void loss(bool with_output) {
    const bool back = next_work() < ops_.size();
    if (with_output) read_value("the output", at_[now_].input, n_);
    if (!chain_.lent) {
      if (back) write(at_[now_].output_gradient, value_bytes(n_), {owner::gradient, n_});
      return;
    }
    bool reads_output = false, reads_input = false; // whether the chain around it keeps these values for it
    for (std::size_t t = now_ + 1; t < ops_.size(); ++t) {
      const op& o = ops_[t];
      const std::size_t reshaped = chain_.reshaped_inputs();
      if (o.kind == op_kind::forward && o.position <= reshaped) reads_input = true;
      if (o.kind == op_kind::backward && o.position <= reshaped && chain_[o.position].reads_input) reads_input = true;
      if (o.kind == op_kind::backward && o.position < reshaped && chain_[o.position].reads_output) reads_input = true;
      if (o.kind == op_kind::backward && o.position + 1 == n_ && chain_[n_ - 1].reads_output) reads_output = true;
    }
    const bool output = chain_.lent_output && reads_output;
    fill(region::output, value_bytes(n_), output ? content{owner::value, n_} : content{});
    if (!reads_input) fill(region::input, value_bytes(0), {});
    fill(region::output_gradient, value_bytes(n_), {owner::gradient, n_});
    fill(region::workspace, slices_.backward_workspace, {});
  }

  void backward(const op& o) {
    const std::size_t i = o.position;
    const stage& s = chain_[i];
    const operands& at = at_[now_];
    const std::size_t workspace = s.backward_workspace.at(chain_.batch);
    const auto read_all = [&](bool gradient_too, bool input_too = true) {
      if (gradient_too) read_gradient("the output's gradient", at.output_gradient, i + 1);
      if (s.reads_input && input_too) read_value("the input", at.input, i);
      if (s.reads_output) read_value("the output", at.output, i + 1);
      if (s.keeps_tape()) read("the tape", at.tape, chain_.tape_bytes(i), {owner::tape, i});
    };
    read_all(true);
    write(at.workspace, workspace, {owner::workspace, now_});
    if (!o.wants_input_gradient) return read_all(true);
    const bool in_place = at.input_gradient == at.output_gradient;
    if (in_place && (!s.in_place_backward || value_bytes(i) != value_bytes(i + 1))) fault("is not in place");
    const bool on_input = s.reads_input && at.input_gradient == at.input;
    if (on_input && (!s.input_gradient_on_input || o.takes_next)) fault("is not on its input");
    write(at.input_gradient, value_bytes(i), {owner::gradient, i});
    read_all(!in_place, !on_input);
    read("the workspace", at.workspace, workspace, {owner::workspace, now_});
    read_gradient("the new gradient", at.input_gradient, i);
    if (i == 0) first_gradient_ = at.input_gradient;
    if (!o.takes_next) return;
    const std::size_t u = next_work();
    if (u == ops_.size() || !ops_[u].absorbed) return fault("takes what nobody leaves");
    if (!(at_[u].input_gradient == at.input_gradient)) return fault("takes the next op, which is not in place");
    write(at.input_gradient, value_bytes(i - 1), {owner::gradient, i - 1});
    if (i == 1) first_gradient_ = at.input_gradient;
  }

  // Gradients are written into a window at any time during the backward that opens it, and are kept until the end of the
  // backward that closes it.
  void open_windows(std::size_t i) {
    for (std::size_t w = 0; w < chain_.windows.size(); ++w)
      if (chain_.windows[w].from == i) write(windows_[w], chain_.windows[w].bytes, {owner::window, w});
  }
  void close_windows(std::size_t i) {
    for (std::size_t w = 0; w < chain_.windows.size(); ++w) {
      const gradient_window& window = chain_.windows[w];
      if (window.from < i || window.to > i) continue;
      read("a window", windows_[w], window.bytes, {owner::window, w});
      if (window.to == i) write(windows_[w], window.bytes, {owner::nobody, 0});
    }
  }

  // Overwrites what is discarded at once.
  void discard(std::size_t bytes) {
    const place& p = at_[now_].input;
    if (p.where == region::none) return;
    if (p.where != region::tape && p.where != region::workspace) return fault("discards what is lent");
    if (p.line + lines(bytes) > memory_[p.where].size()) return fault("discards beyond the end of a slice");
    for (std::size_t k = 0; k < lines(bytes); ++k) memory_[p.where][p.line + k] = {owner::nobody, 0};
  }

  void end() {
    if (chain_.lent && ops_.back().kind != op_kind::loss && first_gradient_.where != region::none)
      read_gradient("the gradient of the input", first_gradient_, 0);
    if (chain_.lent && chain_.keeps_output_gradient) read_gradient("the output's gradient", {region::output_gradient, 0}, n_);
    for (const region r : {region::tape, region::workspace})
      for (const content& c : memory_[r]) {
        const bool is_result = c == content{owner::gradient, 0};
        if (c.first == owner::tape || c.first == owner::value || (c.first == owner::gradient && !is_result))
          fault("something is left over");
      }
  }

  const chain& chain_;
  std::span<const op> ops_;
  const operands* at_;
  const place* windows_;
  slices slices_;
  std::size_t n_;
  std::size_t now_ = 0;
  std::size_t touched_ = 0;
  place first_gradient_{};
  std::map<region, std::vector<content>> memory_;
  std::string wrong_;
};

} // namespace cairn::testing
