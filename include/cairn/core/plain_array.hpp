// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/config.hpp>

namespace cairn::detail {

// The capacity of an array whose size is known only when the program runs.
inline constexpr std::size_t at_run_time = static_cast<std::size_t>(-1);

// A capacity plus `more` items; the capacity may be known only at run time.
constexpr std::size_t plus(std::size_t capacity, std::size_t more) {
  return capacity == at_run_time ? at_run_time : capacity + more;
}

// An array of items, zeros at first, that a constant expression walks quickly. Planning a thousand stages takes millions of
// steps, and for a compiler that evaluates them every call is work, even of an operator[] of one line. So the items are public:
// a loop of the plan writes a.items[i], without a call. A plan made by the compiler has an array of `Capacity` items, so that
// it can be a constant; a plan made at run time allocates as many as it asks for. The same code works on both.
template <class T, std::size_t Capacity>
class plain_array {
public:
  T items[Capacity == 0 ? 1 : Capacity]{};

  constexpr plain_array() = default;
  constexpr explicit plain_array(std::size_t) {}
  constexpr void make_room(std::size_t) {}

  constexpr T* data() { return items; }
  constexpr const T* data() const { return items; }
  constexpr std::size_t size() const { return Capacity; }
  constexpr T* begin() { return items; }
  constexpr T* end() { return items + Capacity; }
  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + Capacity; }
  constexpr T& operator[](std::size_t i) { return items[i]; }
  constexpr const T& operator[](std::size_t i) const { return items[i]; }
};

// Owns its items; not a std::vector, as that header would cost every file that plans a network more than the plan.
template <class T>
class plain_array<T, at_run_time> {
public:
  T* items = nullptr;

  constexpr plain_array() = default;
  explicit plain_array(std::size_t size) : items(new T[size]{}), size_(size) {}
  plain_array(const plain_array& other) : plain_array(other.size_) {
    for (std::size_t i = 0; i < size_; ++i) items[i] = other.items[i];
  }
  plain_array(plain_array&& other) noexcept { swap(other); }
  plain_array& operator=(plain_array other) noexcept {
    swap(other);
    return *this;
  }
  ~plain_array() { delete[] items; }
  void make_room(std::size_t size) { *this = plain_array(size); }

  T* data() { return items; }
  const T* data() const { return items; }
  std::size_t size() const { return size_; }
  T* begin() { return items; }
  T* end() { return items + size_; }
  const T* begin() const { return items; }
  const T* end() const { return items + size_; }
  T& operator[](std::size_t i) { return items[i]; }
  const T& operator[](std::size_t i) const { return items[i]; }

private:
  void swap(plain_array& other) noexcept {
    T* const own = items;
    const std::size_t size = size_;
    items = other.items;
    size_ = other.size_;
    other.items = own;
    other.size_ = size;
  }

  std::size_t size_ = 0;
};

} // namespace cairn::detail
