// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/tensor.hpp>
#include <cairn/data/safetensors.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/replica.hpp>

namespace cairn {

// What a file and a network do not share, by name. Where `missing` and `of_another_shape` are empty, every parameter and
// buffer has come from the file.
struct loaded_weights {
  std::vector<std::string> missing;          // the network has them, the file has not
  std::vector<std::string> unexpected;       // the file has them, the network has not
  std::vector<std::string> of_another_shape; // "0.weight (10, 784), found (784, 10)"

  bool is_all() const { return missing.empty() && unexpected.empty() && of_another_shape.empty(); }
  std::string text() const {
    std::string out;
    const auto add = [&out](const char* what, const std::vector<std::string>& names) {
      if (names.empty()) return;
      out += std::string(out.empty() ? "" : "; ") + what;
      for (const std::string& name : names) out += (&name == names.data() ? " " : ", ") + name;
    };
    add("missing:", missing);
    add("unexpected:", unexpected);
    add("of another shape:", of_another_shape);
    return out;
  }
};

namespace detail {

// A parameter that has its channels last, as the weight of a convolution, (out, height, width, in), lies in files as torch has
// it: (out, in, height, width). It is turned where it is written and read, and nowhere else.
inline bool is_turned(const tensor& facts) { return facts.has_channels_last && facts.rank() > 2; }

// The extents of a tensor in a file.
inline std::vector<std::uint64_t> extents_in_files(const tensor& facts) {
  std::vector<std::uint64_t> out;
  for (std::size_t a = 0; a < facts.rank(); ++a) out.push_back(facts[a]);
  if (is_turned(facts)) {
    out.insert(out.begin() + 1, out.back());
    out.pop_back();
  }
  return out;
}

// The elements of such a parameter, each of so many bytes, in the order of files; or those of a file in the order of memory.
enum class order : unsigned char { of_files, of_memory };
inline std::vector<std::byte> turned(std::span<const std::byte> from, std::size_t bytes, const tensor& facts, order to) {
  std::vector<std::byte> out(from.size());
  const std::size_t channels = facts.last(), pixels = facts.size() / (facts[0] * channels);
  for (std::size_t o = 0; o < facts[0]; ++o)
    for (std::size_t p = 0; p < pixels; ++p)
      for (std::size_t c = 0; c < channels; ++c) {
        std::size_t in_memory = (o * pixels + p) * channels + c, in_file = (o * channels + c) * pixels + p;
        if (to == order::of_memory) std::swap(in_memory, in_file);
        std::memcpy(out.data() + in_file * bytes, from.data() + in_memory * bytes, bytes);
      }
  return out;
}

// The bytes of parameters as files have them: where they lie, or a copy that is turned and is here.
class file_bytes {
public:
  template <class T>
  std::span<const std::byte> of(std::span<T> numbers, const tensor& facts) {
    if (!is_turned(facts)) return std::as_bytes(numbers);
    copies_.push_back(
        {turned(std::as_bytes(numbers), sizeof(T), facts, order::of_files), std::as_writable_bytes(numbers), &facts, sizeof(T)});
    return copies_.back().bytes;
  }
  // Copies in which a file was read go to the parameters.
  void give_back() {
    for (const copy& c : copies_) {
      const std::vector<std::byte> own = turned(c.bytes, c.element, *c.facts, order::of_memory);
      std::memcpy(c.to.data(), own.data(), own.size());
    }
  }

private:
  struct copy {
    std::vector<std::byte> bytes; // stays where it is when the copy moves
    std::span<std::byte> to;
    const tensor* facts = nullptr;
    std::size_t element = 0;
  };
  std::vector<copy> copies_;
};

// Calls f with every parameter, then with every buffer.
template <class Weights, class F>
void for_all_weights(Weights& all, F f) {
  all.for_each_parameter(f);
  all.for_each_buffer(f);
}

inline std::string in_brackets(const std::vector<std::uint64_t>& extents) {
  std::string out = "(";
  for (const std::uint64_t e : extents) out += (out.size() > 1 ? ", " : "") + std::to_string(e);
  return out + ")";
}
// What a state of a job has besides (state_file.hpp).
inline constexpr std::string_view optimizer_prefix = "optimizer/";
// No weights, and not unexpected either: torch counts the batches that a BatchNorm has seen, and never reads the number at a
// given momentum.
inline bool is_no_weight(std::string_view name) {
  return name.ends_with(".num_batches_tracked") || name.starts_with(optimizer_prefix);
}

} // namespace detail

// Writes all parameters and buffers of a model or a trainer by their names, as torch's state_dict has them:
//
//   save_weights(train, "digits.safetensors");
//   # Python: net.load_state_dict(safetensors.torch.load_file("digits.safetensors"))
//
// The names are those that for_each shows: the place in the Sequential, in a block the places one after another ("3.1.weight"),
// and the name in the layer. An element without parameters has a place too, as in torch, and so has Input. The weight of a
// Conv2d is turned to torch's order; that of a Linear behind a Flatten of several pixels is not, and meets them in another
// order there. A file that is there is replaced as a whole; throws file_error if that fails. With ddp one rank writes.
template <class Owner>
void save_weights(Owner& owner, const std::string& path, const std::map<std::string, std::string>& metadata = {}) {
  auto weights = detail::replica_access::weights(owner);
  std::vector<safetensors_source> all;
  detail::file_bytes bytes;
  detail::for_all_weights(weights, [&](const auto& q) {
    using number = typename decltype(q.numbers)::value_type;
    all.push_back(
        {q.name, detail::safetensors_type_of<number>, detail::extents_in_files(*q.facts), bytes.of(q.numbers, *q.facts)});
  });
  write_safetensors(path, std::move(all), metadata);
}

// Takes parameters and buffers from a file by their names; numbers of another floating-point type are converted. Either all fit
// and all are taken, or nothing is changed and a file_error says which are missing, unexpected or of another shape. With
// `partly` those that fit are taken, and the rest is reported: fine-tuning with another last layer. With ddp every rank loads,
// or one does and all call synchronize().
enum class weights { all, partly };
template <class Owner>
loaded_weights load_weights(Owner& owner, const std::string& path, weights how = weights::all) {
  safetensors_file file(path);
  loaded_weights out;
  std::map<std::string_view, bool> known; // is it in the network?
  for (const safetensors_entry& e : file.entries()) known[e.name] = detail::is_no_weight(e.name);
  using number = typename Owner::number;
  auto weights_of_owner = detail::replica_access::weights(owner);
  struct fitting {
    const safetensors_entry* entry;
    std::span<number> numbers;
    const tensor* facts;
  };
  std::vector<fitting> fits;
  detail::for_all_weights(weights_of_owner, [&](const auto& q) {
    const safetensors_entry* const e = file.find(q.name);
    if (e == nullptr) return out.missing.push_back(q.name);
    known[e->name] = true;
    const std::vector<std::uint64_t> expected = detail::extents_in_files(*q.facts);
    if (e->extents == expected) fits.push_back({e, q.numbers, q.facts});
    else
      out.of_another_shape.push_back(q.name + " " + detail::in_brackets(expected) + ", found " + detail::in_brackets(e->extents));
  });
  for (const auto& [name, in_network] : known)
    if (!in_network) out.unexpected.emplace_back(name);
  if (how == weights::all && !out.is_all())
    throw file_error("load_weights: '" + path + "' does not fit this network, and nothing was taken from it; " + out.text() +
                     "; see weights::partly");
  for (const fitting& f : fits) {
    file.read(*f.entry, f.numbers);
    if (!detail::is_turned(*f.facts)) continue;
    const auto own = detail::turned(std::as_bytes(f.numbers), sizeof(number), *f.facts, detail::order::of_memory);
    std::memcpy(f.numbers.data(), own.data(), own.size());
  }
  weights_of_owner.give_back();
  return out;
}

} // namespace cairn
