// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/data/safetensors.hpp>
#include <cairn/train/parameters.hpp>
#include <cairn/train/replica.hpp>
#include <cairn/train/state/feature_order.hpp>
#include <cairn/train/state/weight_names.hpp>
#include <cairn/train/state/weights_in_files.hpp>
#include <cairn/train/state/weights_to_load.hpp>
#include <cairn/train/state/weights_to_save.hpp>

namespace cairn::detail {

// A function from the weights of a network to their names in a file.
template <class Names>
concept map_of_names = std::is_invocable_r_v<weights_options, Names&, const std::vector<weight_shape>&>;

// The names and extents of all weights, then the second names of those that layers share.
template <class Weights>
std::vector<weight_shape> shapes_of(Weights& all) {
  std::vector<weight_shape> out;
  for_all_weights(all, [&](const auto& q) { out.push_back({q.name, extents_in_files(*q.facts)}); });
  all.for_each_second_name([&](const std::string& second, const std::string& first) {
    const auto owner = std::find_if(out.begin(), out.end(), [&](const weight_shape& w) { return w.name == first; });
    std::vector<std::uint64_t> extents = owner->extents;
    out.push_back({second, std::move(extents), first});
  });
  return out;
}

// Compares the weights with a file, and loads them if all is as the options ask.
template <class T, class Weights>
loaded_weights take_weights(Weights& weights, const std::string& path, const weights_options& options) {
  safetensors_file file(path);
  const feature_orders orders = weights.orders();
  const auto compared = [&](naming how) {
    weights_to_load<T> all(file, options);
    const auto want = [&](const auto& q) {
      const bool turns = how == naming::as_torch; // as_before: nothing was permuted after a Flatten
      all.want({q.name, q.numbers, q.facts, turns ? orders.of(q.leaf, q.facts) : nullptr});
    };
    for_all_weights(weights, want, how);
    weights.for_each_second_name([&](const auto& second, const auto& first) { all.want_also(second, first); }, how);
    all.compare();
    return all;
  };
  auto chosen = compared(naming::as_torch);
  const bool has_own_names =
      options.from.empty() && options.to.empty() && options.rename.empty() && options.sources.empty() && options.ignored.empty();
  if (has_own_names && !chosen.report().is_all()) {
    auto before = compared(naming::as_before);
    before.report().has_old_names = true;
    const bool is_better = options.how == cairn::weights::partly && before.fits() > chosen.fits();
    if (before.report().is_all() || is_better) chosen = std::move(before);
  }
  loaded_weights& out = chosen.report();
  if (options.how == cairn::weights::all && !out.is_all())
    throw file_error("load_weights: '" + path + "' does not fit this network, and nothing was taken from it; " + out.text() +
                     "; see weights::partly, and weights_options for other names");
  if (chosen.fits() == 0 && !chosen.wants_none())
    throw file_error("load_weights: '" + path + "' has nothing that fits this network; " + out.text() +
                     "; see weights_options for other names");
  chosen.take();
  weights.give_back();
  return std::move(out);
}

} // namespace cairn::detail

namespace cairn {

// Writes all parameters and buffers of a model or a trainer by the names of torch's state_dict:
//
//   save_weights(train, "digits.safetensors");
//   # Python: net.load_state_dict(safetensors.torch.load_file("digits.safetensors"))
//
// The names are those of for_each: the index in the nn.Sequential of the same layers, then the index in each Sequential or block
// in it ("3.1.weight"), and the name in the layer. An element without parameters has an index too, as in torch; Inputs have
// none, and neither frozen<> nor checkpoint<> changes a name. The weight of a Conv2d is permuted to torch's order, and so are
// parameters of features after a Flatten of images. An existing file is replaced as a whole; throws file_error if that fails.
// With ddp one rank writes.
template <class Owner>
void save_weights(Owner& owner, const std::string& path, const std::map<std::string, std::string>& metadata = {}) {
  auto weights = detail::on_host(owner);
  const detail::feature_orders orders = weights.orders();
  std::vector<files::safetensors_source> all;
  detail::file_bytes bytes;
  detail::for_all_weights(weights, [&](const auto& q) {
    using number = typename decltype(q.numbers)::value_type;
    all.push_back({q.name, detail::safetensors_type_of<number>, detail::extents_in_files(*q.facts),
                   bytes.of(q.numbers, *q.facts, orders.of(q.leaf, q.facts))});
  });
  files::write_safetensors(path, std::move(all), metadata);
}

// Writes the weights under the names of another program, in its layouts: the reverse of load_weights() with the same sources, so
// that it can read the file. `names` is a map of names, or a types::weights_options, of which `from`, `to`, `transposed` and
// `sources` count; the first source that fits a parameter is written. Hugging Face's library asks for {{"format", "pt"}} as
// metadata. Throws input_error if rows of a tensor would be written twice or not at all.
template <class Owner, class Names>
  requires detail::map_of_names<Names> || std::is_same_v<std::remove_cvref_t<Names>, types::weights_options>
void save_weights(Owner& owner, const std::string& path, Names&& names, const std::map<std::string, std::string>& metadata = {}) {
  auto weights = detail::on_host(owner);
  const types::weights_options options = [&] {
    if constexpr (detail::map_of_names<Names>) return names(detail::shapes_of(weights));
    else return names;
  }();
  const detail::feature_orders orders = weights.orders();
  detail::weights_to_save all(options);
  detail::file_bytes bytes;
  detail::for_all_weights(weights, [&](const auto& q) {
    using number = typename decltype(q.numbers)::value_type;
    all.add(q.name, detail::safetensors_type_of<number>, detail::extents_in_files(*q.facts),
            bytes.of(q.numbers, *q.facts, orders.of(q.leaf, q.facts)), sizeof(number));
  });
  files::write_safetensors(path, all.tensors(), metadata);
}

// Loads parameters and buffers from a file by their names; other floating-point types are converted. Either all fit and all are
// loaded, or nothing is changed and a file_error lists those that are missing, unexpected, of another shape or of another type.
// With `partly` those that fit are loaded and the rest is reported, for example to fine-tune with another last layer; it is an
// error if nothing fits. The options rename tensors that have other names in the file. Files of earlier versions are loaded by
// their old names, and the report says so. With ddp every rank loads, or one does and all call synchronize().
template <class Owner>
types::loaded_weights load_weights(Owner& owner, const std::string& path, const types::weights_options& options) {
  auto all = detail::on_host(owner);
  return detail::take_weights<typename Owner::number>(all, path, options);
}
template <class Owner>
types::loaded_weights load_weights(Owner& owner, const std::string& path, weights how = weights::all) {
  return load_weights(owner, path, types::weights_options{.how = how});
}
// Loads from a file of another program by a map of names, which is called with the names and extents of all weights of the
// network, from the first layer to the last, and returns options with their sources:
//
//   load_weights(net, "gpt2.safetensors", transformers::gpt2_names);
template <class Owner, detail::map_of_names Names>
types::loaded_weights load_weights(Owner& owner, const std::string& path, Names&& names) {
  auto all = detail::on_host(owner);
  const types::weights_options options = names(detail::shapes_of(all));
  return detail::take_weights<typename Owner::number>(all, path, options);
}

} // namespace cairn
