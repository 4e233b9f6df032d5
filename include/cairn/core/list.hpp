// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

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

// Owns its items; not a std::vector, as that header would cost every file that plans a network more than the plan.
template <class T>
class list<T, at_run_time> {
public:
  constexpr list() = default;
  explicit list(std::size_t size) : items_(new T[size]{}), size_(size) {}
  list(const list& other) : list(other.size_) {
    for (std::size_t i = 0; i < size_; ++i) items_[i] = other.items_[i];
  }
  list(list&& other) noexcept { swap(other); }
  list& operator=(list other) noexcept {
    swap(other);
    return *this;
  }
  ~list() { delete[] items_; }
  void make_room(std::size_t size) { *this = list(size); }

  T* data() { return items_; }
  const T* data() const { return items_; }
  std::size_t size() const { return size_; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }

private:
  void swap(list& other) noexcept {
    T* const items = items_;
    const std::size_t size = size_;
    items_ = other.items_;
    size_ = other.size_;
    other.items_ = items;
    other.size_ = size;
  }

  T* items_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace cairn
