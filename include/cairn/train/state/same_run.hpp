// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <cairn/core/build.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/device/instruction_set.hpp>
#include <cairn/net/function_of.hpp>
#include <cairn/plan/fingerprint.hpp>
#include <cairn/train/settings.hpp>

namespace cairn::detail {

// The requirement of a resume on a setting.
enum class on_resume : unsigned char {
  may_change,        // it changes no bit of the result
  same,              // load_state() refuses another value
  same_unless_meant, // the same, but state_options::other_settings accepts another
  same_unless_other, // the same, but state_options::other_dataset accepts another
  taken,             // the value in the state replaces that of the trainer
};

// A setting that two runs, or two ranks of one run, have in common if they learn the same bits.
struct run_setting {
  const char* name;
  bool ranks_share; // the handshake refuses ranks that differ in it
  on_resume resumed;
};

// All settings that make two runs the same. The handshake compares ranks by this list (rank_texts, fingerprint), a state keeps
// the words of those that a resume compares (training_state), and examples/resuming.md names each.
inline constexpr std::array<run_setting, 20> run_settings{{
    {"network", true, on_resume::same},
    {"checkpoint policy", true, on_resume::may_change},
    {"element type", true, on_resume::same},
    {"gradient buckets", true, on_resume::may_change},
    {"batch statistics", true, on_resume::same},
    {"order of calls", true, on_resume::may_change},       // of a step, to the communicator
    {"version of Cairn", true, on_resume::same},           // a state of a later version is refused
    {"build of the program", true, on_resume::may_change}, // compiler, its flags, instruction set
    {"loss", true, on_resume::same_unless_meant},
    {"learning rate", true, on_resume::same_unless_meant}, // before the optimizer, whose settings include it
    {"optimizer", true, on_resume::same_unless_meant},
    {"fused_update", true, on_resume::may_change}, // it has no clipping
    {"clipping", true, on_resume::same_unless_meant},
    {"loss scaling", true, on_resume::same_unless_meant},
    {"schedule of rates", true, on_resume::same_unless_meant},
    {"seed", true, on_resume::taken},
    {"check_every", true, on_resume::may_change},
    {"ranks x micro-batches", false, on_resume::same},
    {"dataset", false, on_resume::same_unless_other}, // hash of some of its samples, on each rank
    {"order of samples", false, on_resume::same}, // size of the dataset, sampler, rows of a batch, seed of the transform, on each
}};

// The index of a setting by its name.
constexpr std::size_t setting(std::string_view name) {
  std::size_t i = 0;
  while (run_settings[i].name != name) ++i;
  return i;
}

// The settings that ranks share come first, and the first of these are the parts of the fingerprint.
inline constexpr std::size_t shared_settings = setting("ranks x micro-batches");
static_assert([] {
  for (std::size_t i = 0; i < run_settings.size(); ++i)
    if (run_settings[i].ranks_share != (i < shared_settings)) return false;
  for (std::size_t i = 0; i < fingerprint::parts; ++i)
    if (std::string_view(run_settings[i].name) != fingerprint::names[i]) return false;
  return true;
}());

// Whether a state keeps the words of a setting, to compare them in a resume.
constexpr bool is_kept_in_words(const run_setting& s) {
  return s.ranks_share && (s.resumed == on_resume::same || s.resumed == on_resume::same_unless_meant) &&
         std::string_view(s.name) != "version of Cairn"; // which has a word of its own
}
inline constexpr std::size_t settings_in_words =
    static_cast<std::size_t>(std::count_if(run_settings.begin(), run_settings.end(), is_kept_in_words));

// Removes this library's namespace from names of types; type_name() removes only a leading one.
inline std::string without_namespace(std::string text) {
  constexpr std::string_view own = "cairn::";
  for (std::size_t at = 0; (at = text.find(own, at)) != std::string::npos;) text.erase(at, own.size());
  return text;
}

// The words of this program's build: "g++ 12.2.0, optimised, exact arithmetic, for the baseline, kernels of AVX-512". Products
// have the given instruction set: see widest_for().
inline std::string text_of_build(instruction_set products = widest_instruction_set()) {
  std::string out(build_facts::compiler);
  for (const std::string_view part : {build_facts::optimisation, build_facts::arithmetic, build_facts::target})
    out.append(", ").append(part);
  return out.append(", kernels of ").append(text_of(products));
}
inline std::uint64_t hash_of_build(instruction_set products = widest_instruction_set()) {
  return hash64{}.add(text_of_build(products)).value();
}

// The words of a trainer's options, for the settings from `loss` to `check_every`. `by_bytes`: a schedule of rates without
// settings() is identified by its bytes.
template <class Options, class Optimizer>
std::array<std::string, run_settings.size()> words_of_given(const Options& given, const Optimizer& optimizer, bool is_fused,
                                                            bool by_bytes) {
  std::array<std::string, run_settings.size()> out;
  out[setting("loss")] = with_numbers(given.loss);
  out[setting("learning rate")] = shortest_text(optimizer.learning_rate);
  out[setting("optimizer")] = with_numbers(optimizer);
  out[setting("fused_update")] = is_fused ? "one" : "none";
  out[setting("clipping")] = "clip.max_norm 0";
  if constexpr (requires { double{given.clip.max_norm}; })
    out[setting("clipping")] = "clip.max_norm " + shortest_text(given.clip.max_norm);
  out[setting("loss scaling")] = given.loss_scale.text();
  out[setting("schedule of rates")] = given.learning_rate.text(by_bytes);
  if (given.learning_rate) out[setting("schedule of rates")] += ", which begins with " + shortest_text(given.learning_rate.at(0));
  out[setting("seed")] = std::to_string(given.seed);
  out[setting("check_every")] = std::to_string(given.check_every);
  for (std::string& text : out) text = without_namespace(std::move(text));
  return out;
}

// The words for batch statistics, which are over all ranks in `summed` layers.
inline std::string text_of_statistics(std::size_t summed) {
  return summed == 0 ? "of each rank's own rows"
                     : "of all ranks (sync_batch_norm) in " + std::to_string(summed) + (summed == 1 ? " layer" : " layers");
}

} // namespace cairn::detail
