// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/explain.hpp>
#include <cairn/core/pack.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/net/block_ways.hpp>
#include <cairn/report/format.hpp>

namespace cairn::detail {

// The length of a fraction at the start of a name, as compilers show it: {10, 100} or {-1, 2}. 0 if there is none.
inline std::size_t fraction_length(std::string_view name) {
  constexpr std::string_view digits = "0123456789";
  if (name.substr(0, 1) != "{") return 0;
  const std::size_t first = name.substr(1, 1) == "-" ? 2 : 1;
  const std::size_t comma = std::min(name.find_first_not_of(digits, first), name.size());
  if (comma == first || name.substr(comma, 2) != ", ") return 0;
  const std::size_t end = std::min(name.find_first_not_of(digits, comma + 2), name.size());
  return end > comma + 2 && name.substr(end, 1) == "}" ? end + 1 : 0;
}

// Shortens options whose second number is the first by default: stride<2, 2> was typed stride<2>.
inline void shorten_squares(std::string& name) {
  for (const std::string_view option : {"stride<", "padding<", "dilation<"})
    for (std::size_t at = 0; (at = name.find(option, at)) != std::string::npos;) {
      const bool is_whole = at == 0 || name[at - 1] == ' ' || name[at - 1] == '<';
      at += option.size();
      const std::size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
      const std::string twice = ", " + name.substr(at, end - at);
      if (is_whole && name.compare(end, twice.size() + 1, twice + ">") == 0) name.erase(end, twice.size());
    }
}

// The place behind the bracket that closes a list of template arguments, which begins at `at`.
inline std::size_t end_of_arguments(std::string_view name, std::size_t at) {
  for (int depth = 1; at < name.size() && depth > 0; ++at) depth += name[at] == '<' ? 1 : name[at] == '>' ? -1 : 0;
  return at;
}

// A layer with a start is typed initialized<layer, start>, and normal_weights<deviation, 1> without the 1.
inline void shorten_starts(std::string& name) {
  constexpr std::string_view inside = "detail::", started = "started<", start = "normal_weights<", one = ", 1>";
  for (std::size_t at = 0; (at = name.find(inside, at)) != std::string::npos;)
    if (name.compare(at + inside.size(), started.size(), started) == 0) name.erase(at, inside.size());
    else at += inside.size();
  for (std::size_t at = 0; (at = name.find(started, at)) != std::string::npos; at += started.size())
    if (at == 0 || name[at - 1] == ' ' || name[at - 1] == '<') name.replace(at, started.size(), "initialized<");
  for (std::size_t at = 0; (at = name.find(start, at)) != std::string::npos; at += start.size()) {
    const std::size_t end = end_of_arguments(name, at + start.size());
    if (name.compare(end - one.size(), one.size(), one) == 0) name.erase(end - one.size(), one.size() - 1);
  }
}

// The part of a composite with a name of its own (net/named_part.hpp) is shown as "norm1: LayerNorm<8>". Some compilers show its
// namespace, and some do not.
inline void show_parts(std::string& name) {
  constexpr std::string_view inside = "detail::", part = "named_part<";
  for (std::size_t at = 0; (at = name.find(part, at)) != std::string::npos;) {
    const bool has_inside = at >= inside.size() && name.compare(at - inside.size(), inside.size(), inside) == 0;
    const std::size_t begin = at - (has_inside ? inside.size() : 0);
    const std::size_t comma = name.find(", ", at);
    if ((begin > 0 && name[begin - 1] != ' ' && name[begin - 1] != '<') || comma == std::string::npos) {
      at += part.size();
      continue;
    }
    name.erase(end_of_arguments(name, comma) - 1, 1);
    name.replace(comma, 1, ":");
    name.erase(begin, at + part.size() - begin);
    if (name.compare(begin, inside.size(), inside) == 0) name.erase(begin, inside.size());
    at = begin;
  }
}

// The type as its user typed it: without the namespace, and without what compilers add to numbers.
inline std::string typed_name(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i, 7) == "cairn::") {
      i += 6;
      continue;
    }
    if (name.substr(i, 9) == "fraction{") i += 8; // g++ names the type, clang does not
    if (const std::size_t length = fraction_length(name.substr(i)); length > 0) {
      constexpr std::string_view hundredths = ", 100}"; // a percentage, as a user types it
      const std::string_view shown = name.substr(i, length);
      if (shown.ends_with(hundredths)) out += "percent<" + std::string(shown.substr(1, length - 1 - hundredths.size())) + ">";
      else out += "fraction" + std::string(shown);
      i += length - 1;
      continue;
    }
    const bool after_digit = !out.empty() && out.back() >= '0' && out.back() <= '9';
    if (after_digit && (name[i] == 'u' || name[i] == 'l' || name[i] == 'U' || name[i] == 'L')) continue;
    if (name[i] == ' ' && !out.empty() && out.back() == '>') continue; // "> >"
    out += name[i];
  }
  // Defaults that a user does not type and that only some compilers show.
  constexpr std::array<std::array<std::string_view, 2>, 6> defaults{{{", true>", ">"},
                                                                     {", fraction{1, 100000}, fraction{1, 10}>", ">"},
                                                                     {", fraction{1, 100000}>", ">"},
                                                                     {"Dropout<percent<50>>", "Dropout<>"},
                                                                     {"LeakyReLU<percent<1>>", "LeakyReLU<>"},
                                                                     {"ELU<fraction{1, 1}>", "ELU<>"}}};
  for (const auto& [shown, typed] : defaults)
    for (std::size_t at = 0; (at = out.find(shown, at)) != std::string::npos;) out.replace(at, shown.size(), typed);
  shorten_squares(out);
  show_parts(out);
  shorten_starts(out);
  return out;
}

// How many times the FLOPs of the cheapest schedule known a plan needs: 1, unless it keeps a budget.
template <class Plan>
constexpr double over_best_of() {
  if constexpr (requires { Plan::over_best; }) return Plan::over_best;
  else return 1;
}

// What a reader is told where that is above 1; nothing where it is not.
inline std::string remark_on_cost(double over_best) {
  if (over_best < 1.0005) return "";
  return " (" + format_fixed(over_best, 3) +
         " x the FLOPs of the cheapest schedule known for these bytes, which cannot be packed)";
}

// The number of blocks that a budget moved from the way in which they were typed to another (net/ways.hpp).
template <class Ways>
std::string remark_on_ways() {
  if constexpr (!Ways::moved) {
    return "";
  } else {
    std::size_t in[way_count]{};
    for (const std::uint8_t way : Ways::way) ++in[way];
    std::string out;
    const auto add = [&out](std::size_t count, const char* what) {
      if (count == 0) return;
      out += (out.empty() ? "" : ", ") + std::to_string(count) + (count == 1 ? " block recomputes " : " blocks recompute ");
      out += what;
    };
    add(in[1] + in[2], "a part");
    add(in[3], "all");
    return " (" + out + ")";
  }
}

template <class Elements>
struct names_of;
template <class... Elements>
struct names_of<pack<Elements...>> {
  static constexpr std::array<std::string_view, sizeof...(Elements)> value{type_name<Elements>()...};
};

} // namespace cairn::detail

namespace cairn::report {

// The name of a type (a layer, a policy, a network) as its user typed it: name_of<every<2>>() is "every<2>".
template <class T>
std::string name_of() {
  return detail::typed_name(detail::type_name<T>());
}

// The name of a blueprint's policy, with its own remark if it has one, and with what a budget costs more than the cheapest
// schedule known for its bytes.
template <class Blueprint, class Policy>
std::string name_of_policy() {
  std::string out = name_of<Policy>();
  if constexpr (requires { Policy::remark; }) out += std::string(" (") + Policy::remark + ")";
  return out + detail::remark_on_ways<typename Blueprint::ways>() +
         detail::remark_on_cost(detail::over_best_of<typename Blueprint::trained>());
}

// The name of every stage of a blueprint, for pictures and tables.
template <class Blueprint>
std::vector<std::string> stage_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < Blueprint::size; ++i)
    names.push_back(detail::typed_name(detail::names_of<typename Blueprint::elements>::value[Blueprint::order[i]]));
  return names;
}

} // namespace cairn::report
