// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/batch.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/file.hpp>
#include <cairn/train/constant_model.hpp>
#include <cairn/train/model.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/replica.hpp>

namespace cairn::types {

// Options of write_header, by name: write_header(net, "digits.hpp", {.name = "digits"}).
struct header_options {
  std::string name = "network"; // of the namespace in the header
  std::string type{};           // of the network, as C++ writes it [as the compiler does]
  std::string include{};        // a header that declares what `type` names, such as "mine/net.hpp"
  std::string comment{};        // the first line, behind //, such as a licence of the weights
};

} // namespace cairn::types

namespace cairn::detail {

// The network of a model or a trainer, without what only concerns training.
template <class Plan, class Net, class T, class Device, bool Trains>
bare_network<Net> network_in(const weights_of<Plan, Net, T, Device, Trains>&);

inline bool is_identifier(std::string_view name) {
  bool is_right = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  for (const char c : name) is_right = is_right && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_');
  return is_right;
}

// The type of a network as C++ writes it. Throws input_error for a type that only its own source can name.
template <class Net>
std::string written_type(const types::header_options& given) {
  if (!given.type.empty()) return given.type;
  std::string_view text = spelled<Net>();
  text.remove_prefix(spelled_before);
  text.remove_suffix(spelled_after);
  for (const std::string_view local : {"anonymous", "lambda", "unnamed", "(", "`"})
    if (text.find(local) != text.npos)
      throw input_error("write_header: expected a network of types that another source can name, found " + std::string(text) +
                        "; declare it in a header, and write {.type = \"mine::Net\", .include = \"mine/net.hpp\"}");
  return std::string(text);
}

// Appends a number exactly, in hexadecimal, which compilers read quickest.
template <class T>
void append_constant(std::string& out, T x) {
  if (x == 0) {
    out += std::signbit(x) ? "-0" : "0";
    out += std::is_same_v<T, float> ? ".0F" : ".0";
    return;
  }
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), std::abs(x), std::chars_format::hex).ptr;
  if (x < 0) out += '-';
  out.append("0x").append(digits.data(), end);
  if (std::is_same_v<T, float>) out += 'F';
}

// Appends the definition of an array with these numbers.
template <class T>
void append_constants(std::string& out, const char* name, std::span<const T> numbers) {
  out.append("alignas(64) inline constexpr std::array<").append(std::is_same_v<T, float> ? "float" : "double").append(", ");
  out.append(std::to_string(numbers.size())).append("> ").append(name).append("{");
  constexpr std::size_t widest = 100;
  std::size_t begin = 0; // of the line
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool breaks = i == 0 || out.size() - begin > widest;
    out += i == 0 ? "" : ",";
    out += breaks ? "\n    " : " ";
    if (breaks) begin = out.size();
    append_constant(out, numbers[i]);
  }
  out += "};\n";
}

// Breaks a long line after commas.
inline std::string in_lines(std::string_view text, std::string_view indent) {
  constexpr std::size_t widest = 100;
  std::string out;
  for (std::size_t width = 0; !text.empty();) {
    const std::size_t comma = text.find(", ");
    const std::string_view part = text.substr(0, comma == text.npos ? comma : comma + 1);
    if (width > 0 && width + part.size() > widest) out.append("\n").append(indent), width = 0;
    else if (!out.empty()) out += ' ';
    out += part;
    width += part.size() + 1;
    text.remove_prefix(part.size() == text.size() ? part.size() : part.size() + 1);
  }
  return out;
}

inline std::string hex_word(std::uint64_t word) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), word, 16).ptr;
  return "0x" + std::string(digits.data(), end) + "U";
}

} // namespace cairn::detail

namespace cairn {

// Writes a network as a header with its type and its weights as constants, in a namespace `name`:
//
//   write_header(net, "digits.hpp", {.name = "digits"});
//
//   #include "digits.hpp"                           // in another program
//   static fixed_session own{digits::trained<1>};   // trained<N> is a constant_model for batches of up to N samples
//   const auto scores = own.evaluate(image);
//
// `owner` is a model or a trainer of float or double. The type is written as the compiler spells it, unless `type` and `include`
// say where it is declared, which a layer of your own needs. A number takes about 16 characters and some 100 ns of a compiler,
// so a header suits networks of up to a few million weights; larger ones are better read by load_weights(). The header checks
// that the Cairn with which it is compiled has its order of weights. An existing file is replaced as a whole; throws file_error
// if that fails, and input_error for a weight that is not finite. With ddp one rank writes.
template <class Owner>
void write_header(const Owner& owner, const std::string& path, const types::header_options& given = {}) {
  using number = typename Owner::number;
  static_assert(std::is_same_v<number, typename Owner::plan::element> &&
                    (std::is_same_v<number, float> || std::is_same_v<number, double>),
                "write_header: expected a model or a trainer of float or double");
  using network = decltype(detail::network_in(detail::weights_in(owner)));
  using written = constant_model<network, batch<1>, number>;
  if (!detail::is_identifier(given.name))
    throw input_error("write_header: expected a name of C++ for the namespace, found '" + given.name + "'");

  // In the order of a model's weights: a trainer may have another one.
  model<network, batch<1>, number> net{{.threads = 1, .packs_weights = false}};
  std::vector<std::vector<number>> numbers;
  const auto take = [&](const types::named_parameter<const number>& q) {
    for (const number x : q.numbers)
      if (!std::isfinite(x))
        throw input_error("write_header: expected finite weights, found " + std::to_string(x) + " in " + q.name);
    numbers.emplace_back(q.numbers.begin(), q.numbers.end());
  };
  owner.for_each(take);
  owner.for_each_buffer(take);
  std::size_t next = 0;
  const auto put = [&](const types::named_parameter<number>& q) {
    std::copy_n(numbers[next].begin(), q.numbers.size(), q.numbers.begin());
    ++next;
  };
  net.for_each(put);
  net.for_each_buffer(put);
  const auto& kept = std::as_const(net);
  const std::string type = std::is_same_v<number, float> ? "" : ", double";
  std::string out = given.comment.empty() ? "" : "// " + given.comment + "\n";
  out += "// Written by cairn::write_header(): a trained network and its weights.\n// clang-format off\n#pragma once\n\n"
         "#include <array>\n#include <cstddef>\n\n#include <cairn/cairn.hpp>\n";
  if (!given.include.empty()) out += "\n#include \"" + given.include + "\"\n";
  out += "\nnamespace " + given.name + " {\n\nusing network = " + detail::in_lines(detail::written_type<network>(given), "    ") +
         ";\n\n";
  detail::append_constants<number>(out, "parameters", kept.parameters());
  detail::append_constants<number>(out, "buffers", kept.buffers());
  out += "\nstatic_assert(cairn::constant_model<network, cairn::batch<1>" + type +
         ">::layout == " + detail::hex_word(written::layout) +
         ",\n              \"this version of Cairn has another order of weights, or `network` is another type: call "
         "write_header() again\");\n\n"
         "// For batches of up to Rows samples: cairn::fixed_session own{" +
         given.name +
         "::trained<1>};\ntemplate <std::size_t Rows = 1>\ninline constexpr cairn::constant_model<network, cairn::batch<Rows>" +
         type + "> trained{parameters, buffers};\n\n} // namespace " + given.name + "\n";
  files::write_file_atomically(path, out);
}

} // namespace cairn
