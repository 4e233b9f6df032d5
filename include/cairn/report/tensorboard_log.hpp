// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <cairn/core/error.hpp>
#include <cairn/data/crc32c.hpp>
#include <cairn/data/file.hpp>
#include <cairn/data/make_folder.hpp>

namespace cairn::detail {

// Fields of Protocol Buffers, as far as an event needs them, one after another: a number and a kind, then the value,
// little-endian on every machine.
class proto_fields {
public:
  proto_fields& number(unsigned field, std::uint64_t value) {
    key(field, 0);
    varint(value);
    return *this;
  }
  proto_fields& real(unsigned field, double value) { return fixed<8>(field, 1, std::bit_cast<std::uint64_t>(value)); }
  proto_fields& real(unsigned field, float value) { return fixed<4>(field, 5, std::bit_cast<std::uint32_t>(value)); }
  proto_fields& bytes(unsigned field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    out_ += value;
    return *this;
  }
  const std::string& str() const { return out_; }

  template <int Bytes>
  static std::string little_endian(std::uint64_t value) {
    std::string out;
    for (int i = 0; i < Bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFFU);
    return out;
  }

private:
  void key(unsigned field, unsigned kind) { varint(field << 3U | kind); }
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7U) out_ += static_cast<char>((value & 127U) | 128U);
    out_ += static_cast<char>(value);
  }
  template <int Bytes>
  proto_fields& fixed(unsigned field, unsigned kind, std::uint64_t value) {
    key(field, kind);
    out_ += little_endian<Bytes>(value);
    return *this;
  }

  std::string out_;
};

// One record of an event file: its length, its bytes, and a checksum of each.
inline std::string event_record(std::string_view payload) {
  const std::string length = proto_fields::little_endian<8>(payload.size());
  std::string out = length + proto_fields::little_endian<4>(masked_crc32c(length));
  out += payload;
  return out + proto_fields::little_endian<4>(masked_crc32c(payload));
}

// tensorflow.Event, by the numbers of its fields: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log.
inline std::string first_event(double time) { return proto_fields().real(1, time).bytes(3, "brain.Event:2").str(); }
// A resumed run: TensorBoard discards what it has of this step and later ones (SessionLog.status = START).
inline std::string start_event(double time, std::uint64_t step) {
  return proto_fields().real(1, time).number(2, step).bytes(7, proto_fields().number(1, 1).str()).str();
}
// Summary.value is a list of {1 tag, 2 simple_value}.
inline std::string scalars_event(double time, std::uint64_t step, std::span<const std::pair<std::string, double>> metrics) {
  proto_fields summary;
  for (const auto& [name, value] : metrics)
    summary.bytes(1, proto_fields().bytes(1, name).real(2, static_cast<float>(value)).str());
  return proto_fields().real(1, time).number(2, step).bytes(5, summary.str()).str();
}

// See tensorboard_log. (A template, so that a program that logs nothing does not compile it.)
template <class File>
class event_log {
public:
  explicit event_log(std::string folder) : folder_(std::move(folder)) {}
  event_log(event_log&&) = default;
  event_log& operator=(event_log&&) = default;
  ~event_log() {
    if (file_ != nullptr) file_->sync(); // errors are dropped here: write() has thrown, or nothing more can be done
  }

  void write(std::uint64_t step, std::span<const std::pair<std::string, double>> metrics) {
    open(step);
    add(scalars_event(now(), step, metrics));
  }
  void write(std::uint64_t step, std::initializer_list<std::pair<std::string, double>> metrics) {
    write(step, std::span<const std::pair<std::string, double>>(metrics.begin(), metrics.size()));
  }

  const std::string& file() const { return path_; } // empty before the first write

  template <class Run>
  void on_begin(const Run& run) {
    if (run.rank() == 0) open(run.step() + 1);
  }
  template <class Run>
  void on_log(const Run& run) {
    if (run.rank() == 0) write(run.step(), run.metrics());
  }
  template <class Run>
  void on_epoch(const Run& run) {
    on_log(run);
  }

private:
  static double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

  void open(std::uint64_t step) {
    if (file_ != nullptr) return;
    make_folder(folder_);
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0 || host[0] == '\0') host = {"localhost"};
    const double time = now();
    const std::string stem = folder_ + "/events.out.tfevents." + std::to_string(static_cast<std::uint64_t>(time)) + "." +
                             host.data() + "." + std::to_string(::getpid()) + ".";
    // The number counts the files that this process opens in a second: an existing file is never overwritten.
    unsigned number = 0;
    do {
      path_ = stem + std::to_string(number++);
      file_ = std::make_unique<File>(path_, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
    } while (!*file_ && errno == EEXIST);
    if (!*file_) {
      file_.reset();
      throw file_error("tensorboard_log: cannot make '" + path_ + "': " + std::strerror(errno) +
                       ". Its folder must be writable and have room.");
    }
    add(first_event(time));
    add(start_event(time, step));
  }

  void add(const std::string& event) {
    if (!file_->write(event_record(event)))
      throw file_error("tensorboard_log: cannot add to '" + path_ + "': " + std::strerror(errno) + ". The disk must have room.");
  }

  std::string folder_;
  std::string path_;
  std::unique_ptr<File> file_;
};

} // namespace cairn::detail

namespace cairn {

// Metrics for TensorBoard: `tensorboard --logdir runs` shows the folders in runs/ as curves side by side.
//
//   tensorboard_log log{"runs/a"};
//   log.write(step, {{"train_loss", loss}});
//
// The first write makes a file events.out.tfevents.<seconds>.<host>.<process>.<number> in the folder, and the folder if
// needed. A resumed run adds a file of its own, which lets TensorBoard discard the steps that come again. Values are floats
// there.
//
// As a callback of fit it writes the metrics of on_log and on_epoch, on rank 0. Every write goes to the file at once: it is
// seen at once and stays if the program is killed. The file is synced (fsync) only when the log is closed. Throws file_error.
using tensorboard_log = detail::event_log<detail::open_file>;

} // namespace cairn
