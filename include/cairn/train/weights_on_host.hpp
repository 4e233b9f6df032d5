// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <cairn/core/accumulated.hpp>
#include <cairn/net/program.hpp>
#include <cairn/train/host_copy.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/state/feature_order.hpp>

namespace cairn::detail {

// The parameters, buffers and added states of a model or a trainer by name, where the host can read and write them for as long
// as this object lives. give_back() brings changes to the owner.
template <class T, class Device>
class weights_on_host {
public:
  using sum = accumulated<T>;
  using code_type = program<T, typename Device::queue>;

  weights_on_host(const code_type& code, Device& device, std::span<sum> parameters, std::span<sum> buffers)
      : code_(code), device_(device), parameters_(device, parameters), buffers_(device, buffers) {}
  // Adds a buffer with the layout of the parameters, such as a state of the optimizer.
  void add_state(std::span<sum> there) { states_.emplace_back(device_, there); }

  // f(named_parameter<sum>), from the first layer to the last.
  template <class F>
  void for_each_parameter(F&& f, naming how = naming::as_torch) {
    detail::for_each_parameter(code_, parameters_.numbers(), buffers_.numbers(), std::forward<F>(f), how);
  }
  template <class F>
  void for_each_buffer(F&& f, naming how = naming::as_torch) {
    detail::for_each_buffer(code_, parameters_.numbers(), buffers_.numbers(), std::forward<F>(f), how);
  }
  // f(second, first) with both names of a parameter that layers share.
  template <class F>
  void for_each_second_name(F&& f, naming how = naming::as_torch) {
    detail::for_each_second_name(code_, std::forward<F>(f), how);
  }
  // Calls f with the parts of state i by the names of their parameters. Frozen parameters have none.
  template <class F>
  void for_each_of_state(std::size_t i, F&& f) {
    const std::span<sum> numbers = states_[i].numbers();
    const auto its_own = [&](named_parameter<sum> q) {
      if (q.is_frozen) return;
      q.numbers = numbers.subspan(q.place, q.numbers.size());
      f(q);
    };
    for_each_parameter(its_own);
  }
  // The order in which PyTorch has parameters and buffers after a Flatten of images.
  feature_orders orders() const { return feature_orders(code_); }
  std::span<sum> state(std::size_t i) { return states_[i].numbers(); }
  std::size_t states() const { return states_.size(); }

  void give_back() {
    parameters_.give_back();
    buffers_.give_back();
    for (auto& s : states_) s.give_back();
  }

private:
  const code_type& code_;
  Device& device_;
  host_copy<sum, Device> parameters_, buffers_;
  std::vector<host_copy<sum, Device>> states_;
};

} // namespace cairn::detail
