// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <cairn/core/error.hpp>

namespace cairn::detail {

// The kind of a failure, which decides the error that is thrown: rank_lost, deadline_error or input_error.
enum class fault_kind : unsigned char { lost, late, different };

// The first failure of a job, and the first exception that a body threw. Its owner's mutex guards it while it changes. A failure
// can be recorded when no memory is left; the reason may then lack its text.
class first_failure {
public:
  static constexpr const char* no_exception = "something that is no std::exception";

  void set(std::string text, fault_kind kind) noexcept {
    text_ = std::move(text);
    kind_ = kind;
  }
  void forget() noexcept { set({}, fault_kind::lost); }
  std::string reason() const { return text_.empty() ? "a rank threw, and no memory was left for its text" : text_; }

  [[noreturn]] void throw_reason(const std::string& what) const {
    if (kind_ == fault_kind::late) throw deadline_error(what + reason());
    if (kind_ == fault_kind::different) throw input_error(what + reason());
    throw rank_lost(what + reason());
  }

  // The text for a body's exception; empty if no memory is left for it.
  static std::string text_of(int rank, const char* what) noexcept {
    try {
      return "rank " + std::to_string(rank) + " threw: " + what;
    } catch (...) {
      return {};
    }
  }
  void keep(int rank, std::exception_ptr thrown) noexcept {
    if (thrown_) return;
    thrown_ = std::move(thrown);
    rank_ = rank;
  }
  bool has_exception() const { return thrown_ != nullptr; }
  // Throws rank_lost with the exception nested in it, if there is one; whose(rank) begins the text.
  template <class Whose>
  void rethrow(const Whose& whose) const {
    if (!thrown_) return;
    const std::string begin = whose(rank_) + " threw: ";
    try {
      std::rethrow_exception(thrown_);
    } catch (const std::exception& thrown) {
      std::throw_with_nested(rank_lost(begin + thrown.what()));
    } catch (...) {
      std::throw_with_nested(rank_lost(begin + no_exception));
    }
  }

private:
  std::string text_;
  fault_kind kind_ = fault_kind::lost;
  std::exception_ptr thrown_;
  int rank_ = 0;
};

} // namespace cairn::detail
