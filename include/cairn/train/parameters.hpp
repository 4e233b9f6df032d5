// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/random.hpp>
#include <cairn/core/random_normal.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/net/program.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/train/samples.hpp>

namespace cairn::types {

// One parameter or buffer of a network: its name as in PyTorch ("2.weight"; in the Sequential or the block at place 2
// "2.0.weight"), its metadata from the layer, the layer's index among all layers, and its elements.
template <class T>
struct named_parameter {
  std::string name;
  const tensor* facts = nullptr;
  std::uint32_t leaf = 0;
  std::size_t index = 0; // among the parameters, or the buffers, of its layer
  std::span<T> numbers;
  bool is_frozen = false; // a parameter that is not learnt: it lies among the buffers
  std::size_t place = 0;  // of its first number in the flat buffer of the parameters, or of the buffers
};

} // namespace cairn::types

namespace cairn::detail {

// The same with read-only elements.
template <class T>
named_parameter<const T> read_only(const named_parameter<T>& q) {
  return {q.name, q.facts, q.leaf, q.index, q.numbers, q.is_frozen, q.place};
}

// The flat buffers of a network: its parameters, and its buffers (with frozen parameters among them).
template <class T>
struct flat_buffers {
  std::span<T> parameters;
  std::span<T> buffers;
};

// How names follow from places: as in the same nn.Sequential of PyTorch, or as in earlier versions of Cairn. There, nested
// Sequentials counted as one, Inputs had a place, and frozen<> and checkpoint<> were blocks like others.
enum class naming : unsigned char { as_torch, as_before };

// The beginning of the names in a chain, such as "2.0.", and the place of its first stage if it is a part of another chain.
struct chain_names {
  std::string prefix{};
  std::size_t first = 0;
  bool is_inside = false; // it is inside a block that is left out of names
  bool is_part = false;   // its stages have no names of their own
  naming how = naming::as_torch;
};

// Names the stages of a chain one after another. A stage's name is the beginning of the names of its parameters.
template <class T, class Queue>
class stage_names {
public:
  using code_type = program<T, Queue>;

  stage_names(const code_type& code, const chain_names& at) : code_(code), at_(at) {
    if (at.is_inside && code.is_sequential) levels_.push_back({text(at.prefix, at.first), 0});
    else levels_.push_back({at.prefix, at.first});
  }

  // The name of stage i. Must be called for the stages in order.
  std::string next(std::size_t i) {
    if (at_.is_part) return at_.prefix;
    if (at_.how == naming::as_before) return text(at_.prefix, i);
    for (; next_ < code_.nesting.size() && code_.nesting[next_] != '.'; ++next_) {
      if (const char mark = code_.nesting[next_]; mark == '(' || mark == '[') {
        levels_.push_back({text(levels_.back().prefix, levels_.back().place), 0, mark == '['});
      } else {
        levels_.pop_back();
        ++levels_.back().place;
      }
    }
    ++next_;
    here_ = levels_.back();
    levels_.back().place += code_.at(i).places;
    if (const std::string_view own = code_.at(i).own_name; !own.empty()) return here_.prefix + std::string(own) + ".";
    return here_.is_one_place ? here_.prefix : text(here_.prefix, here_.place);
  }
  // The beginning of the names in chain c of a block, whose own name next() has just returned.
  chain_names inside(const typename code_type::element& block, const std::string& name, std::size_t c) const {
    if (!block.names_parts) return {name, 0, false, true, at_.how};
    if (!block.part_name.empty())
      return {name + std::string(block.part_name) + std::to_string(c + 1) + ".", 0, false, true, at_.how};
    if (block.is_transparent && !at_.is_part && at_.how == naming::as_torch)
      return {here_.prefix, here_.place, at_.is_inside || !code_.is_transparent, false, at_.how};
    return {block.chains.size() == 1 ? name : text(name, c), 0, false, false, at_.how};
  }

private:
  struct level {
    std::string prefix;
    std::size_t place = 0;
    bool is_one_place = false; // its stages have its name
  };
  static std::string text(const std::string& prefix, std::size_t place) { return prefix + std::to_string(place) + "."; }

  const code_type& code_;
  const chain_names& at_;
  std::vector<level> levels_; // what is around the next stage
  std::size_t next_ = 0;      // index of the next mark in code_.nesting
  level here_;
};

// Where a chain begins among all layers, and in the flat buffers.
struct chain_begin {
  std::uint32_t leaf = 0;
  std::size_t parameter = 0;
  std::size_t buffer = 0;
};

// Calls f with every parameter of a chain, or with every buffer, from the first layer to the last. The elements themselves are
// not read here.
template <bool Buffers, class T, class Queue, class F>
void walk_parameters(const program<T, Queue>& p, const flat_buffers<accumulated<T>>& all, F& f, const chain_names& called = {},
                     const chain_begin& begin = {}) {
  stage_names<T, Queue> names(p, called);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto& e = p.at(i);
    const std::string name = names.next(i);
    const chain_begin own{begin.leaf + p.leaf_begin[i], begin.parameter + p.parameter_begin[i], begin.buffer + p.state_begin[i]};
    for (std::size_t c = 0; c < e.chains.size(); ++c) {
      const auto& chain = e.chains[c];
      walk_parameters<Buffers>(
          *chain.code, all, f, names.inside(e, name, c),
          {own.leaf + chain.leaf_begin, own.parameter + chain.parameter_begin, own.buffer + chain.state_begin});
    }
    const tensor_list& list = Buffers ? e.buffers : e.parameters;
    const tensor_layout& layout = Buffers ? e.buffer_layout : e.parameter_layout;
    const bool among_buffers = Buffers || p.is_frozen;
    const std::size_t first =
        !among_buffers ? own.parameter : own.buffer + (Buffers && p.is_frozen ? e.parameter_layout.size / sizeof(T) : 0);
    for (std::size_t k = 0; k < list.count; ++k) {
      const std::size_t place = first + layout.offsets[k] / sizeof(T);
      const std::span<accumulated<T>> numbers = (among_buffers ? all.buffers : all.parameters).subspan(place, list[k].size());
      f(named_parameter<accumulated<T>>{name + std::string(list[k].name), &list[k], own.leaf, k, numbers, !Buffers && p.is_frozen,
                                        place});
    }
  }
}

// Calls f(second, first) with both names of every parameter that a tied layer shares with its owner.
template <class T, class Queue, class F>
void for_each_second_name(const program<T, Queue>& p, F&& f, naming how = naming::as_torch) {
  if (p.ties.empty()) return;
  const chain_names called{.how = how};
  stage_names<T, Queue> names(p, called);
  std::vector<std::string> all;
  for (std::size_t i = 0; i < p.size(); ++i) all.push_back(names.next(i));
  for (const tie& t : p.ties) {
    const std::string shared(p.at(t.owner).parameters[0].name);
    f(all[t.user] + shared, all[t.owner] + shared);
  }
}

// The initial value of element j: a function of the seed and of the tensor's place in the network. It does not depend on the
// policy, the number of ranks or the batch.
template <class T>
T initial_value(const initial& start, const random_key& key, std::uint64_t j) {
  const auto scale = static_cast<T>(start.scale);
  const auto mean = static_cast<T>(start.mean);
  switch (start.how) {
  case initial::law::uniform: return (2 * random_uniform<T>(key, j) - 1) * scale;
  case initial::law::normal: return mean + scale * random_normal<T>(key, j);
  case initial::law::truncated_normal: return mean + scale * random_truncated_normal<T>(key, j);
  default: return scale;
  }
}

// Call f with every parameter, or with every buffer, of a network, from the first layer to the last. `parameters` and
// `buffers` are the flat buffers of both.
template <class T, class Queue, class F>
void for_each_parameter(const program<T, Queue>& p, std::span<accumulated<T>> parameters, std::span<accumulated<T>> buffers,
                        F&& f, naming how = naming::as_torch) {
  walk_parameters<false>(p, {parameters, buffers}, f, {.how = how});
}
template <class T, class Queue, class F>
void for_each_buffer(const program<T, Queue>& p, std::span<accumulated<T>> parameters, std::span<accumulated<T>> buffers, F&& f,
                     naming how = naming::as_torch) {
  walk_parameters<true>(p, {parameters, buffers}, f, {.how = how});
}

// The initial values of all parameters and buffers.
template <class T, class Queue>
void initialize(const program<T, Queue>& p, std::span<accumulated<T>> parameters, std::span<accumulated<T>> buffers, seed s) {
  using sum = accumulated<T>;
  // Each tensor of a layer draws from a stream of its own, buffers after parameters.
  const auto set_behind = [s](std::size_t streams) {
    return [s, streams](const named_parameter<sum>& q) {
      const random_key key{.seed = s.value, .step = 0xFFFFFFFFFFFFU, .position = q.leaf}; // no training step has this number
      const initial& start = q.facts->start;
      for (std::size_t j = 0; j < q.numbers.size(); ++j)
        q.numbers[j] = initial_value<sum>(start, key, (std::uint64_t{streams + q.index} << 40) + j);
      for (std::size_t j = start.zeros_begin; j < start.zeros_end; ++j) q.numbers[j] = 0;
    };
  };
  for_each_parameter(p, parameters, buffers, set_behind(0));
  for_each_buffer(p, parameters, buffers, set_behind(tensor_list::most));
}

// Throws input_error unless a parameter or buffer `own` can be taken from that of the same layer in a network for sequences of
// another length: its extents are equal, or it has a row for each position and is the first rows of the other.
template <class T>
void expect_rows_of(const named_parameter<T>& own, const named_parameter<T>& other) {
  const shape &to = own.facts->extents, &from = other.facts->extents;
  if (to == from) return;
  shape first = from;
  if (from.rank == 2 && to.rank == 2) first.extents[0] = to[0];
  if (first == to && to[0] <= from[0]) return;
  throw input_error("copy_parameters: expected " + own.name + " of the shape " + extents_text(to) +
                    ", or with more rows, found the shape " + extents_text(from) +
                    "; take parameters from a network with at least as many positions");
}

// A 64-bit hash of the bits of a buffer: equal buffers have equal hashes, and in practice different ones do not. The size is a
// multiple of the alignment, as that of every buffer of parameters.
inline std::uint64_t checksum(std::span<const std::byte> bits) {
  hash64 h;
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= bits.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bits.data() + i, sizeof word);
    h.add(word);
  }
  return h.value();
}

#if CAIRN_WITH_COMPILED
CAIRN_COMPILED template void initialize(const program<float, cpu::queue>&, std::span<float>, std::span<float>, seed);
CAIRN_COMPILED template void initialize(const program<double, cpu::queue>&, std::span<double>, std::span<double>, seed);
CAIRN_COMPILED template class stage_names<float, cpu::queue>;
CAIRN_COMPILED template class stage_names<double, cpu::queue>;
#endif

} // namespace cairn::detail
