// SPDX-License-Identifier: MIT
// States: what is damaged is refused. What is whole, and says anything, is taken or refused, and what was taken is saved as it is.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cairn/comm/loopback.hpp>
#include <cairn/data/sequential_sampler.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/train/state/saved_state.hpp>

#include "fuzz.hpp"

using namespace cairn;

namespace {

// What a state sees of a trainer. A real one would cost a minute of the compiler for kernels that are not called here.
struct training {
  std::vector<float> numbers = std::vector<float>(40), buffer_numbers = std::vector<float>(8);
  std::array<std::vector<float>, 2> moments{std::vector<float>(40), std::vector<float>(40)};
  detail::training_state now{.words = {"Sequential<Linear<4, 8>, BatchNorm1d<8>>", "float", "of each rank's own rows", "MSELoss",
                                       "0.5", "Adam(0.9)", "clip.max_norm 0", "none"}};
  loopback::rank alone;
  cpu device;
  training& replica = *this; // that has no working copy of its weights

  template <class F>
  static void parts(std::vector<float>& all, F&& f) {
    static const tensor weight("weight", shape{8, 4}), bias("bias", shape{8});
    if (all.size() == 40) f(types::named_parameter<float>{"0.weight", &weight, 0, 0, std::span(all).first(32), false});
    f(types::named_parameter<float>{all.size() == 40 ? "0.bias" : "1.running_mean", &bias, 0, 1, std::span(all).last(8), false});
  }
  struct on_this_host {
    training& own;
    template <class F>
    void for_each_parameter(F&& f, detail::naming = detail::naming::as_torch) {
      parts(own.numbers, f);
    }
    template <class F>
    void for_each_buffer(F&& f, detail::naming = detail::naming::as_torch) {
      parts(own.buffer_numbers, f);
    }
    template <class F>
    void for_each_of_state(std::size_t i, F&& f) {
      parts(own.moments[i], f);
    }
    detail::feature_orders orders() const { return {}; }
    template <class F>
    void for_each_second_name(F&&, detail::naming = detail::naming::as_torch) {}
    std::size_t states() const { return own.moments.size(); }
    void give_back() const {}
  };
  using number = float;
  training& inside() { return *this; }
  void changed() {}
  on_this_host on_host() { return {*this}; }
  on_this_host states_on_host() { return {*this}; }
  detail::training_state state() const { return now; }
  void restore(const detail::training_state& s) {
    const auto words = now.words;
    now = s;
    now.words = words;
    now.ranks = 1;
  }
  double learning_rate_at(std::uint64_t) const { return 0.5; }
  std::size_t micro_batches() const { return 0; }
  std::uint64_t steps() const { return now.steps; }
  void synchronize() {}
  std::uint64_t checksum() const { return 0; } // which is compared with those of other ranks
  loopback::rank& comm() { return alone; }
  auto& compute() { return device.compute(); }
};

struct samples {
  tensor_dataset<float, int> data{shape{2}, {1, 2, 3, 4, 5, 6}, 1, {0, 1, 0}};
  loader<tensor_dataset<float, int>, sequential_sampler, 2> batches{data, sequential_sampler{}, batch<2>{}, {.prefetch = 0}};
};
training& trained() {
  static training train;
  return train;
}

// A number of all bits, as a NaN is not equal to itself.
std::uint64_t bits(const training& t) {
  detail::quick_hash all;
  for (const auto* part : {&t.numbers, &t.buffer_numbers, &t.moments[0], &t.moments[1]}) all.add(std::as_bytes(std::span{*part}));
  return all.value();
}

// The same file with the checksums that belong to it, so that not only those are looked at.
bool with_right_checksums(const std::string& path) {
  std::optional<files::safetensors_file> file;
  if (!fuzzing::reads(path, [&] { file.emplace(path); })) return false;
  detail::state_words words(file->metadata());
  std::map<std::string, std::vector<std::byte>> contents;
  std::vector<files::safetensors_source> sources;
  for (const files::safetensors_entry& e : file->entries()) {
    auto& bytes = contents[e.name];
    bytes.resize(static_cast<std::size_t>(e.end - e.begin));
    file->read_bytes(e, bytes);
    sources.push_back({e.name, e.type, e.extents, bytes});
    words.set(detail::checksum_of + e.name, detail::state_words::hexadecimal(detail::quick_checksum(bytes)));
  }
  words.set(detail::checksum_mark, detail::state_words::hexadecimal(detail::checksum_of_header(words.all(), sources)));
  files::write_safetensors(fuzzing::scratch_path(), sources, words.all());
  return true;
}

} // namespace

void fuzzing::look_at(const std::string& path, std::span<const std::uint8_t>) {
  static samples s;
  reads(path, [&] { load_state(trained(), s.batches, path); });
  if (!with_right_checksums(path)) return;
  const std::string whole = scratch_path();
  std::optional<detail::saved_place> found;
  if (!reads(whole, [&] { found = load_state(trained(), s.batches, whole, {.other_settings = true}); })) return;
  require(trained().steps() == found->trainer.steps, "the steps are taken");
  require(s.batches.place() == found->next, "the place is taken");
  const auto before = bits(trained());
  save_state(trained(), s.batches, whole, found->notes);
  const detail::saved_place again = load_state(trained(), s.batches, whole, {.other_settings = true});
  require(again.next == found->next && again.trainer.steps == found->trainer.steps && before == bits(trained()),
          "what was taken comes back");
}

void fuzzing::write_seeds(const std::string& folder) {
  samples s;
  for (const auto& [x, y] : s.batches) {
    ++trained().now.steps;
    trained().now.learning_rate = 0.5;
    for (std::size_t i = 0; i < 40; ++i) trained().numbers[i] += x.data()[0] * static_cast<float>(i);
    save_state(trained(), s.batches, folder + "step" + std::to_string(trained().steps()), {{"best", 0.5}});
  }
  trained().now.rate_was_set = true;
  save_state(trained(), folder + "no_loader");
  save_weights(trained(), folder + "weights");
}
