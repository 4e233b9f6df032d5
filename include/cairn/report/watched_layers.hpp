// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/explain.hpp>
#include <cairn/net/execute.hpp>
#include <cairn/report/names.hpp>
#include <cairn/train/parameters.hpp>

namespace cairn::detail {

// A layer of a network that runs, at any depth of blocks.
template <class T, class Queue>
struct layer_place {
  std::string path; // the prefix of its parameters' names: "2.0"
  const typename program<T, Queue>::element* code = nullptr;
  const stage* facts = nullptr;
  const value_list* behind = nullptr; // the whole value after the layer, which makes its first tensors
  bool is_frozen = false;
  bool in_block = false;

  // The type as it was typed. The text that compilers add after a type has the same length for every type.
  std::string name() const {
    std::string_view all = facts->type;
    all.remove_suffix(std::min(all.size(), spelled_after));
    return typed_name(all);
  }
};

// All layers of a chain, each at its index among them.
template <class T, class Queue>
void find_layers(const program<T, Queue>& p, std::vector<layer_place<T, Queue>>& out, const chain_names& called = {},
                 std::uint32_t first = 0, bool in_block = false) {
  detail::stage_names<T, Queue> names(p, called);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto& e = p.at(i);
    const std::string name = names.next(i);
    const std::uint32_t leaf = first + p.leaf_begin[i];
    for (std::size_t c = 0; c < e.chains.size(); ++c)
      find_layers(*e.chains[c].code, out, names.inside(e, name, c), leaf + e.chains[c].leaf_begin, true);
    if (!e.chains.empty()) continue;
    if (out.size() <= leaf) out.resize(leaf + std::size_t{1});
    std::string path = e.places == 0 ? std::string() : name; // an Input has no name
    if (path.ends_with('.')) path.pop_back();
    out[leaf] = {std::move(path), &e, &p.stages[i], i + 1 < p.size() ? p.at(i + 1).arrives : p.outputs, p.is_frozen, in_block};
  }
}

enum class layer_pass : unsigned char { forward, recompute, backward };

// One call of a layer. A layer that applies the activation beside it also does the activation's work.
struct layer_run {
  std::uint32_t leaf = 0;
  layer_pass what = layer_pass::forward;
  std::size_t begin = 0, end = 0; // marks
  std::uint64_t flops = 0;        // for one sample
  std::uint32_t beside = 0;       // the activation, if it does its work
  std::uint64_t beside_flops = 0;
};

// Calls the layers of a network, at any depth of blocks, by functions of its own and reports each call. These functions are
// in a copy of the program and call the network's own, so the results are the same.
template <class T, class Queue>
class watched_layers {
public:
  // Watches all layers, or only those in blocks.
  explicit watched_layers(bool in_blocks_only) : in_blocks_only_(in_blocks_only) {}
  watched_layers(const watched_layers&) = delete;
  watched_layers& operator=(const watched_layers&) = delete;

  // The layers of the network, from the first watched step on.
  const std::vector<layer_place<T, Queue>>& layers() const { return layers_; }

  // Makes `w` the watcher of this thread. The calls of layers have no argument for it, and a thread makes one step at a time.
  struct at_work {
    explicit at_work(watched_layers& w) : before(std::exchange(watching(), &w)) {}
    at_work(const at_work&) = delete;
    at_work& operator=(const at_work&) = delete;
    ~at_work() { watching() = before; }
    watched_layers* before;
  };

protected:
  ~watched_layers() = default;
  // Puts a mark into the queue. The two functions after it report a call of a layer, before and after it runs.
  virtual std::size_t mark() = 0;
  virtual void about_to_run(const layer_run&) {}
  virtual void ran(const layer_run&) = 0;

  // The copy of the program that a watched step runs.
  const program<T, Queue>& watched(const program<T, Queue>& own) {
    if (layers_.empty()) {
      find_layers(own, layers_);
      code_ = copy_of(own, !in_blocks_only_);
    }
    code_->training = own.training;
    return *code_;
  }
  // To be called before a step with this frame.
  void begin_layers(const frame<T>& lent) { first_leaf_ = lent.random.position; }

private:
  static watched_layers*& watching() {
    static thread_local watched_layers* now = nullptr;
    return now;
  }
  template <class F>
  void run(layer_run told, const F& f) {
    about_to_run(told);
    told.begin = mark();
    f();
    told.end = mark();
    ran(told);
  }
  static void forward_layer(Queue& queue, const forward_call<T>& call) {
    watched_layers& w = *watching();
    const std::uint32_t leaf = call.random.position - w.first_leaf_;
    const auto& layer = w.layers_[leaf];
    layer_run told{.leaf = leaf,
                   .what = call.why == pass::recompute ? layer_pass::recompute : layer_pass::forward,
                   .flops = layer.facts->forward_flops};
    if (call.then != activation::none) told.beside = leaf + 1, told.beside_flops = w.layers_[leaf + 1].facts->forward_flops;
    w.run(told, [&] { layer.code->forward(queue, call); });
  }
  static void backward_layer(Queue& queue, const backward_call<T>& call) {
    watched_layers& w = *watching();
    const std::uint32_t leaf = call.random.position - w.first_leaf_;
    const auto& layer = w.layers_[leaf];
    layer_run told{.leaf = leaf,
                   .what = layer_pass::backward,
                   .flops = layer.facts->backward_flops - (call.input_gradients ? 0 : layer.facts->input_gradient_flops)};
    if (call.before != activation::none) told.beside = leaf - 1, told.beside_flops = w.layers_[leaf - 1].facts->backward_flops;
    w.run(told, [&] { layer.code->backward(queue, call); });
  }
  // Chains that are one constant share a copy.
  program<T, Queue>* copy_of(const program<T, Queue>& p, bool with_layers) {
    program<T, Queue>*& known = copies_[&p];
    if (known != nullptr) return known;
    program<T, Queue>& out = programs_.emplace_back(p);
    known = &out;
    std::vector<element>& elements = elements_.emplace_back(p.elements.begin(), p.elements.end());
    for (element& e : elements) {
      if (with_layers && e.forward != nullptr) e.forward = &forward_layer, e.backward = &backward_layer;
      if (e.chains.empty()) continue;
      std::vector<chain_of_block<T, Queue>>& chains = chains_.emplace_back(e.chains.begin(), e.chains.end());
      for (auto& chain : chains) chain.code = copy_of(*chain.code, true);
      e.chains = chains;
    }
    out.elements = elements;
    return &out;
  }

  using element = typename program<T, Queue>::element;

  bool in_blocks_only_;
  std::vector<layer_place<T, Queue>> layers_{};
  std::deque<program<T, Queue>> programs_{}; // copies, whose addresses do not change
  std::deque<std::vector<element>> elements_{};
  std::deque<std::vector<chain_of_block<T, Queue>>> chains_{};
  std::map<const program<T, Queue>*, program<T, Queue>*> copies_{};
  program<T, Queue>* code_ = nullptr; // of the network
  std::uint32_t first_leaf_ = 0;
};

} // namespace cairn::detail
