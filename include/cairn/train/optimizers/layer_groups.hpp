// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/train/optimizers/optimizer.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

// Whether a parameter is at a path or below it. "1.0.weight" lies under "1.0" and "1", not under "1.0.w".
inline bool lies_under(std::string_view name, std::string_view path) {
  return name.starts_with(path) && (name.size() == path.size() || name[path.size()] == '.');
}

} // namespace cairn::detail

namespace cairn {

// An optimizer for each part of a network, by parameter names. A group updates the parameters under its path, unless an earlier
// group does; `others` updates the rest. For example, for a pretrained body that should change less than a new head:
//
//   using Groups = layer_groups<AdamW>;
//   Groups chosen{.others = {.learning_rate = 1e-5}, .groups = {{"4", {.learning_rate = 1e-3}}}};
//   trainer<Net, CrossEntropyLoss, Groups, batch<64>> train{chosen};
//
// A learning rate schedule gives the rate of `others`, or that of the first group with a rate above 0 if the rate of `others` is
// 0. All other rates keep their ratio to it. Parameters with a rate of 0 do not change but cost as much as learning; frozen<>
// saves that cost.
template <optimizer Each>
struct layer_groups {
  struct group {
    std::string path{};
    Each optimizer{};
  };
  Each others{};
  std::vector<group> groups{};
  double learning_rate = base_rate();

  static constexpr bool takes_decision = detail::takes_decision<Each>;

  std::size_t states() const {
    std::size_t most = others.states();
    for (const group& g : groups) most = std::max(most, g.optimizer.states());
    return most;
  }
  // The rates, the paths and all other numbers.
  std::vector<double> settings() const {
    std::vector<double> all{static_cast<double>(groups.size())};
    const auto add = [&](const Each& o) {
      all.push_back(o.learning_rate);
      if constexpr (detail::has_settings<Each>)
        for (const double number : o.settings()) all.push_back(number);
    };
    add(others);
    for (const group& g : groups) {
      for (const char c : g.path) all.push_back(c);
      add(g.optimizer);
    }
    return all;
  }
  void check() const {
    check_one(others);
    for (const group& g : groups) check_one(g.optimizer);
  }

  // The index of a parameter's group in `groups`, or groups.size() for `others`.
  std::size_t group_of(std::string_view name) const {
    std::size_t i = 0;
    while (i < groups.size() && !detail::lies_under(name, groups[i].path)) ++i;
    return i;
  }
  std::size_t group_count() const { return groups.size(); }
  std::string_view group_path(std::size_t i) const { return groups[i].path; }

  // Updates a span whose parameters are all of one group: see update_call.
  template <class Queue, class T>
  void update(Queue& queue, const update_call<T>& call) const {
    const Each& own = call.group < groups.size() ? groups[call.group].optimizer : others;
    update_call<T> its = call;
    if (const double base = base_rate(); base != 0) its.learning_rate *= own.learning_rate / base;
    own.update(queue, its);
  }

  // The rate that a schedule replaces.
  double base_rate() const {
    double found = others.learning_rate;
    for (const group& g : groups)
      if (found == 0) found = g.optimizer.learning_rate;
    return found;
  }

private:
  static void check_one(const Each& o) {
    detail::check_number("layer_groups: expected a learning rate of 0 or more", o.learning_rate);
    if constexpr (requires { o.check(); }) o.check();
  }
};

} // namespace cairn
