// SPDX-License-Identifier: MIT
// A device that works like cpu and records every event and every op: its queue, what it reads and what it writes. Its ops are in
// recording.hpp and recording_images.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/view.hpp>
#include <cairn/device/cpu.hpp>

namespace recording {

struct range {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool writes = false;
};

template <class T>
range span_of(T* first, std::size_t count) {
  const auto* const begin = reinterpret_cast<const std::byte*>(first);
  return {begin, first == nullptr ? begin : begin + count * sizeof(T), !std::is_const_v<T>};
}
template <class T>
range span_of(cairn::ops::matrix<T> m) {
  return span_of(m.data, m.rows == 0 ? 0 : (m.rows - 1) * m.stride + m.columns);
}

enum class kind : unsigned char { op, record, wait, discard };

struct entry {
  kind what = kind::op;
  std::size_t queue = 0;
  std::string_view name{};
  std::vector<range> ranges{};
  std::size_t event = 0; // of a record or a wait
};

struct log {
  std::vector<entry> entries{};
  std::size_t events = 0, queues = 0;
};

struct event {
  std::size_t number = 0;
};

class queue {
public:
  static constexpr bool shares_memory = true;

  explicit queue(std::shared_ptr<recording::log> log) : log_(std::move(log)), number_(log_->queues++) {}

  event record() {
    log_->entries.push_back({kind::record, number_, "record", {}, log_->events});
    return {log_->events++};
  }
  bool reached(const event&) const { return true; }
  void finish() const {}
  void wait(const event& e) { log_->entries.push_back({kind::wait, number_, "wait", {}, e.number}); }
  void put(std::string_view name, std::vector<range> ranges) {
    log_->entries.push_back({kind::op, number_, name, std::move(ranges), 0});
  }
  cairn::cpu::queue& real() { return real_; }
  const std::shared_ptr<recording::log>& log() const { return log_; }

private:
  std::shared_ptr<recording::log> log_;
  std::size_t number_;
  cairn::cpu::queue real_{1};
};

class device {
public:
  using memory = cairn::cpu::memory;
  using host_memory = memory;
  using event = recording::event;
  using queue = recording::queue;

  explicit device(cairn::types::device_options) {}
  queue& compute() { return *compute_; }
  queue& transfers() { return *compute_; }
  memory allocate(std::size_t bytes) { return memory(bytes); }
  host_memory staging(std::size_t bytes) { return memory(bytes); }
  recording::log& log() { return *compute_->log(); }

private:
  std::unique_ptr<queue> compute_ = std::make_unique<queue>(std::make_shared<recording::log>());
};

static_assert(cairn::device<device>);

} // namespace recording
