// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

#include <cairn/core/config.hpp>

namespace cairn {

// Everything that Cairn throws is an error. The text says what was expected, what was found, where, and what to do. The classes
// below are for programs that react; an error to which no program can react has no class of its own.
class error : public std::runtime_error {
public:
  explicit error(const std::string& text) : std::runtime_error(text) {}
};

// An argument does not fit: extents, counts, labels, options, or ranks that were given different work.
class input_error : public error {
public:
  using error::error;
};

// A file is not there, cannot be read or written, or does not hold what it should.
class file_error : public error {
public:
  using error::error;
};

// Another rank of the job threw, or returned before its work was done. The job is over; it may be started again.
class rank_lost : public error {
public:
  using error::error;
};

// Something was not done in time: a rank is late, or a dataset does not answer.
class deadline_error : public error {
public:
  using error::error;
};

// A device failed: a call to it, a computation on it, or its memory. A program may go on with less, or on another device.
class device_error : public error {
public:
  using error::error;
  // The same error with the step in front of its text, unless it names a step already.
  device_error in_step(const std::string& step) const {
    if (names_step_) return *this;
    device_error out(step + ": " + what());
    out.names_step_ = true;
    return out;
  }

private:
  bool names_step_ = false;
};

} // namespace cairn
