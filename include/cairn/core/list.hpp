// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace cairn {

// The capacity of a list whose size is known only when the program runs.
inline constexpr std::size_t at_run_time = static_cast<std::size_t>(-1);

// A capacity with `more` items of room, of what may be known only at run time.
constexpr std::size_t with(std::size_t capacity, std::size_t more) {
  return capacity == at_run_time ? at_run_time : capacity + more;
}

// Room for items, zeros at first. What is planned by the compiler has an array of `Capacity` items, so that it can be a
// constant; what is planned when the program runs has as many as it asks for. The same code works on both.
template <class T, std::size_t Capacity>
class list {
public:
  constexpr list() = default;
  constexpr explicit list(std::size_t) {}
  constexpr void make_room(std::size_t) {}

  constexpr T* data() { return items_; }
  constexpr const T* data() const { return items_; }
  constexpr std::size_t size() const { return Capacity; }
  constexpr T* begin() { return items_; }
  constexpr T* end() { return items_ + Capacity; }
  constexpr const T* begin() const { return items_; }
  constexpr const T* end() const { return items_ + Capacity; }
  constexpr T& operator[](std::size_t i) { return items_[i]; }
  constexpr const T& operator[](std::size_t i) const { return items_[i]; }

private:
  T items_[Capacity == 0 ? 1
                         : Capacity]{}; // not std::array: each [] of one is a call, which constants pay for
};

template <class T>
class list<T, at_run_time> {
public:
  list() = default;
  explicit list(std::size_t size) : items_(size) {}
  void make_room(std::size_t size) { items_.assign(size, T{}); }

  T* data() { return items_.data(); }
  const T* data() const { return items_.data(); }
  std::size_t size() const { return items_.size(); }
  T* begin() { return items_.data(); }
  T* end() { return items_.data() + items_.size(); }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + items_.size(); }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }

private:
  std::vector<T> items_;
};

} // namespace cairn
