// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include <cairn/core/shape.hpp>

namespace cairn::detail {

template <class T>
constexpr std::string_view spelled() {
#if defined(__clang__) || defined(__GNUC__)
  return {__PRETTY_FUNCTION__, sizeof(__PRETTY_FUNCTION__) - 1}; // its length is known, and not counted
#else
  return __FUNCSIG__;
#endif
}

// The lengths of the texts around the type's name in that, found once.
inline constexpr std::size_t spelled_before = spelled<double>().find("double");
inline constexpr std::size_t spelled_after = spelled<double>().size() - spelled_before - 6;

// A text that identifies a type: the compiler's spelling from the name on, which costs the compiler least. Never compare it by
// address: that is not a constant expression for g++ under -fsanitize=undefined.
template <class T>
constexpr const char* spelling() {
  return spelled<T>().data() + spelled_before;
}
constexpr bool same_spelling(const char* a, const char* b) {
  for (; *a == *b; ++a, ++b)
    if (*a == 0) return true;
  return false;
}

// The name of a type as the compiler spells it, without this library's namespace in front. Two compilers may spell a
// template argument differently (8 and 8UL).
template <class T>
constexpr std::string_view type_name() {
  std::string_view name = spelled<T>();
  name.remove_prefix(spelled_before);
  // g++ appends its expansion of std::string_view; cut as many characters as follow `double` in its own spelling.
  name.remove_suffix(spelled_after);
  if (name.substr(0, 7) == "cairn::") name.remove_prefix(7);
  return name;
}

// A fault that the compiler finds becomes exactly one error. A diagnostic is a type made to be read: its name and its template
// arguments say what is wrong. It has a message, a base class with right<Diagnostic>(), which asserts and returns false. The
// static_assert is in a function, because for clang a class in which one has failed is not a class any more, and every use of
// it gives another error.

// False for every diagnostic: a compiler that shows the condition of a static_assert shows the diagnostic in its first line.
template <class Diagnostic>
inline constexpr bool is_right = false;

// The diagnostic where nothing is wrong.
struct nothing_wrong {
  template <class>
  static constexpr bool right() {
    return true;
  }
};

// Reports what is wrong, in one error; with nothing_wrong there is no error.
template <class Diagnostic>
constexpr bool refuse() {
  return Diagnostic::template right<Diagnostic>();
}

} // namespace cairn::detail
