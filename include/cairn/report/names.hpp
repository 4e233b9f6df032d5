// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>

namespace cairn {

namespace detail {

// A type as its user typed it: without the namespace, and without what compilers add to numbers.
inline std::string typed_name(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i, 7) == "cairn::") {
      i += 6;
      continue;
    }
    const bool after_digit = !out.empty() && out.back() >= '0' && out.back() <= '9';
    if (after_digit && (name[i] == 'u' || name[i] == 'l' || name[i] == 'U' || name[i] == 'L')) continue;
    if (name[i] == ' ' && !out.empty() && out.back() == '>') continue; // "> >"
    out += name[i];
  }
  constexpr std::string_view ending = ", true>"; // a default that is not typed
  for (std::size_t at = 0; (at = out.find(ending, at)) != std::string::npos;)
    out.erase(at, ending.size() - 1);
  // percent<20> is an alias, of which the compiler shows what it stands for.
  const std::string_view ratio = "std::ratio<";
  const std::string_view hundredths = ", 100>";
  for (std::size_t at = 0; (at = out.find(ratio, at)) != std::string::npos;) {
    const std::size_t end = out.find_first_not_of("0123456789", at + ratio.size());
    if (end == std::string::npos || out.compare(end, hundredths.size(), hundredths) != 0) break;
    out.erase(end, hundredths.size() - 1);
    out.replace(at, ratio.size(), "percent<");
  }
  return out;
}

template <class Elements>
struct names_of;
template <class... Elements>
struct names_of<pack<Elements...>> {
  static constexpr std::array<std::string_view, sizeof...(Elements)> value{type_name<Elements>()...};
};

} // namespace detail

// The name of a layer, a policy or any other type as it was typed: name_of<revolve<3>>() is "revolve<3>".
template <class T>
std::string name_of() {
  return detail::typed_name(type_name<T>());
}

// The name of every stage of a blueprint, for pictures and tables.
template <class Blueprint>
std::vector<std::string> stage_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < Blueprint::size; ++i)
    names.push_back(
        detail::typed_name(detail::names_of<typename Blueprint::elements>::value[Blueprint::order[i]]));
  return names;
}

} // namespace cairn
