// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/comm/exchange.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/device/wait_on_host.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/plan/step/step_op.hpp>
#include <cairn/report/names.hpp>
#include <cairn/train/parameters.hpp>

namespace cairn::detail {

// A layer of a network that runs, wherever it stands.
template <class T, class Queue>
struct layer_place {
  std::string path; // as the names of its parameters begin: "2.0"
  const typename program<T, Queue>::element* code = nullptr;
  const stage* facts = nullptr;
  const value_list* behind = nullptr; // the whole value, of which the layer makes the first tensors
  bool is_frozen = false;

  // As it was typed. All that compilers add to a spelling is as long behind every type.
  std::string name() const {
    std::string_view all = facts->type;
    all.remove_suffix(std::min(all.size(), spelled_after));
    return typed_name(all);
  }
};

// All layers of a chain, each at its index among them.
template <class T, class Queue>
void find_layers(const program<T, Queue>& p, std::vector<layer_place<T, Queue>>& out, const chain_names& called = {},
                 std::uint32_t first = 0) {
  detail::stage_names<T, Queue> names(p, called);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto& e = p.at(i);
    const std::string name = names.next(i);
    const std::uint32_t leaf = first + p.leaf_begin[i];
    for (std::size_t c = 0; c < e.chains.size(); ++c)
      find_layers(*e.chains[c].code, out, names.inside(e, name, c), leaf + e.chains[c].leaf_begin);
    if (!e.chains.empty()) continue;
    if (out.size() <= leaf) out.resize(leaf + std::size_t{1});
    std::string path = e.places == 0 ? std::string() : name; // an Input has no name
    if (path.ends_with('.')) path.pop_back();
    out[leaf] = {std::move(path), &e, &p.stages[i], i + 1 < p.size() ? p.at(i + 1).arrives : p.outputs, p.is_frozen};
  }
}

// Watches training steps, one after another: looks at the device's clock before and behind every call of a layer, wherever in
// blocks it stands. It takes the place of unwatched_step (train/step/training_step.hpp). What is computed is what an unwatched
// step computes, bit for bit, by the same functions: they are called by a copy of the program whose layers are functions of the
// watch.
template <class T, class Queue>
class layer_watch {
public:
  // What a run is a part of: three passes of a layer, and what belongs to no layer.
  enum part : unsigned char { forward_pass, recompute_pass, backward_pass, loss_part, gradients_part, update_part };
  struct layer_sums {
    std::int64_t nanoseconds[3] = {0, 0, 0}; // of each pass
    std::uint64_t flops = 0;                 // for one sample
  };

  // A step of one rank has no sums over ranks to wait for. With a fused update gradients are summed and used layer by layer.
  layer_watch(bool is_alone, bool is_fused) : waits_(!is_alone && !is_fused), is_fused_(is_fused) {}
  layer_watch(const layer_watch&) = delete;
  layer_watch& operator=(const layer_watch&) = delete;

  // The layers of the network, from the first watched step on; and of the last step what each took, and the other parts.
  const std::vector<layer_place<T, Queue>>& layers() const { return layers_; }
  const std::vector<layer_sums>& sums() const { return sums_; }
  std::int64_t nanoseconds(part p) const { return others_[p - loss_part]; }

  // Layers have no place for the one who watches them: a thread makes one step at a time.
  struct at_work {
    explicit at_work(layer_watch& w) : before(std::exchange(watching(), &w)) {}
    at_work(const at_work&) = delete;
    at_work& operator=(const at_work&) = delete;
    ~at_work() { watching() = before; }
    layer_watch* before;
  };
  const program<T, Queue>& program_of(const program<T, Queue>& own, Queue& queue) {
    if (layers_.empty()) prepare(own, queue);
    code_->training = own.training;
    return *code_;
  }
  template <class Reduction>
  void begin(const program<T, Queue>&, Queue&, const frame<T>& lent, const Reduction&) {
    first_leaf_ = lent.random.position;
    runs_.clear();
    sums_.assign(layers_.size(), {});
    is_behind_ = false;
    clock_->restart();
    clock_->mark(); // times count from here
  }
  void before(const step_op& o) {
    if (is_timed(o)) {
      begin_ = clock_->mark();
    } else if (is_behind(o)) {
      const std::size_t now = is_behind_ && !ends_wait(o) ? 0 : clock_->mark();
      if (is_behind_ && ends_wait(o)) runs_.push_back({0, gradients_part, behind_, now});
      if (!std::exchange(is_behind_, true) || ends_wait(o)) behind_ = now;
    }
  }
  void after(const step_op& o) {
    if (is_timed(o))
      runs_.push_back({0,
                       o.kind == step_op_kind::loss ? loss_part
                       : is_fused_                  ? update_part
                                                    : gradients_part,
                       begin_, clock_->mark()});
  }
  template <class Communicator>
  void end(Communicator& comm, Queue& queue) {
    if (is_behind_) runs_.push_back({0, update_part, behind_, clock_->mark()});
    wait_on_host(queue, queue.record(), longest_wait, [&] { tell_check(comm); });
    add_up();
  }

private:
  struct run {
    std::uint32_t leaf;
    part what;
    std::size_t begin, end; // marks
  };
  static layer_watch*& watching() {
    static thread_local layer_watch* now = nullptr;
    return now;
  }

  // The loss, and inside of backward what belongs to other ranks, or the update.
  bool is_timed(const step_op& o) const {
    return o.kind == step_op_kind::loss || (o.is_inside && o.kind != step_op_kind::statistics && (waits_ || is_fused_));
  }
  // Behind backward all of it is one part, or two: what is waited for, and from the comparison on the update.
  static bool is_behind(const step_op& o) { return o.kind >= step_op_kind::reduce && !o.is_inside; }
  bool ends_wait(const step_op& o) const { return waits_ && o.kind == step_op_kind::compare; }

  template <class F>
  void time(part what, std::uint32_t leaf, const F& f) {
    const std::size_t begin = clock_->mark();
    f();
    const std::size_t end = clock_->mark();
    runs_.push_back({leaf, what, begin, end});
  }
  // The functions of the copy. A layer that applies the activation beside it does that one's work.
  static void forward_layer(Queue& queue, const forward_call<T>& call) {
    layer_watch& w = *watching();
    const std::uint32_t leaf = call.random.position - w.first_leaf_;
    const auto& layer = w.layers_[leaf];
    w.time(call.why == pass::recompute ? recompute_pass : forward_pass, leaf, [&] { layer.code->forward(queue, call); });
    w.sums_[leaf].flops += layer.facts->forward_flops;
    if (call.then != activation::none) w.sums_[leaf + 1].flops += w.layers_[leaf + 1].facts->forward_flops;
  }
  static void backward_layer(Queue& queue, const backward_call<T>& call) {
    layer_watch& w = *watching();
    const std::uint32_t leaf = call.random.position - w.first_leaf_;
    const auto& layer = w.layers_[leaf];
    w.time(backward_pass, leaf, [&] { layer.code->backward(queue, call); });
    w.sums_[leaf].flops += layer.facts->backward_flops - (call.input_gradients ? 0 : layer.facts->input_gradient_flops);
    if (call.before != activation::none) w.sums_[leaf - 1].flops += w.layers_[leaf - 1].facts->backward_flops;
  }
  void prepare(const program<T, Queue>& p, Queue& queue) {
    find_layers(p, layers_);
    code_ = copy_of(p);
    constexpr std::size_t most_runs = 6; // of a layer, usually
    clock_.emplace(queue, 2 * most_runs * (layers_.size() + 1));
    runs_.reserve(most_runs * (layers_.size() + 1));
  }
  // Chains that are one constant share a copy.
  program<T, Queue>* copy_of(const program<T, Queue>& p) {
    program<T, Queue>*& known = copies_[&p];
    if (known != nullptr) return known;
    program<T, Queue>& out = programs_.emplace_back(p);
    known = &out;
    std::vector<element>& elements = elements_.emplace_back(p.elements.begin(), p.elements.end());
    for (element& e : elements) {
      if (e.forward != nullptr) e.forward = &forward_layer, e.backward = &backward_layer;
      if (e.chains.empty()) continue;
      std::vector<chain_of_block<T, Queue>>& chains = chains_.emplace_back(e.chains.begin(), e.chains.end());
      for (auto& chain : chains) chain.code = copy_of(*chain.code);
      e.chains = chains;
    }
    out.elements = elements;
    return &out;
  }
  // When the device is done with the step.
  void add_up() {
    for (std::int64_t& sum : others_) sum = 0;
    for (const run& r : runs_) {
      const std::int64_t took = clock_->nanoseconds(r.end) - clock_->nanoseconds(r.begin);
      if (r.what < loss_part) sums_[r.leaf].nanoseconds[r.what] += took;
      else others_[r.what - loss_part] += took;
    }
  }

  using element = typename program<T, Queue>::element;

  bool waits_;
  bool is_fused_;
  std::vector<layer_place<T, Queue>> layers_{};
  std::deque<program<T, Queue>> programs_{}; // copies: they stay where they are
  std::deque<std::vector<element>> elements_{};
  std::deque<std::vector<chain_of_block<T, Queue>>> chains_{};
  std::map<const program<T, Queue>*, program<T, Queue>*> copies_{};
  program<T, Queue>* code_ = nullptr; // of the network
  std::optional<typename Queue::stopwatch> clock_{};
  std::uint32_t first_leaf_ = 0;
  std::vector<run> runs_{};
  std::vector<layer_sums> sums_{};
  std::int64_t others_[3] = {0, 0, 0};
  std::size_t begin_ = 0, behind_ = 0; // marks
  bool is_behind_ = false;             // backward is over
};

} // namespace cairn::detail
