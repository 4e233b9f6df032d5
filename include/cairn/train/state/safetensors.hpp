// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
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
#include <cairn/train/state/feature_order.hpp>
#include <cairn/train/state/weight_names.hpp>
#include <cairn/train/state/weights_in_files.hpp>

namespace cairn::detail {

// A weight of a network: the memory for its elements, and their layout in a file.
template <class T>
struct wanted_weight {
  std::string name;
  std::span<T> numbers;
  const tensor* facts = nullptr;
  const turned_features* features = nullptr;
};

// The tensors of a file by the names of a network, compared with those that the network has. Nothing is changed before take().
template <class T>
class weights_to_load {
public:
  weights_to_load(safetensors_file& file, const weights_options& options) : file_(&file), options_(&options) {
    check_renames(options);
    for (const safetensors_entry& e : file.entries()) {
      if (!e.name.starts_with(options.from) || is_no_weight(e.name)) continue;
      const auto [there, is_new] = entries_.emplace(options.to + renamed(e.name.substr(options.from.size()), options), &e);
      if (!is_new)
        throw file_error("load_weights: '" + file.path() + "': '" + e.name + "' and '" + there->second->name + "' are both '" +
                         there->first + "' by the names that were asked for");
    }
  }

  // Adds a parameter or a buffer of the network.
  void want(wanted_weight<T> w) {
    if (w.name.starts_with(options_->to)) wanted_.push_back(std::move(w));
  }
  // Adds a second name of a tied weight, as torch has both. A file may have the one, the other, or both if they are equal.
  void want_also(const std::string& second, const std::string& first) {
    const auto found = entries_.find(second);
    if (found == entries_.end()) return;
    const auto owner = entries_.find(first);
    if (owner == entries_.end()) entries_.emplace(first, found->second);
    else if (!are_equal(*found->second, *owner->second))
      return out_.unexpected.push_back(second + " (tied to " + first + ", and has other numbers)");
    entries_.erase(found);
  }

  void compare() {
    for (const wanted_weight<T>& w : wanted_) {
      const auto found = entries_.find(w.name);
      if (found == entries_.end()) {
        out_.missing.push_back(w.name);
        continue;
      }
      const safetensors_entry& e = *found->second;
      std::vector<std::uint64_t> expected = extents_in_files(*w.facts);
      const bool other_way = expected.size() == 2 && is_transposed(w.name, *options_);
      if (other_way) std::swap(expected[0], expected[1]);
      if (e.extents != expected)
        out_.of_another_shape.push_back(w.name + " " + in_brackets(expected) + ", found " + in_brackets(e.extents));
      else if (e.type != "F32" && e.type != "F64" && e.type != "F16" && e.type != "BF16")
        out_.of_another_type.push_back(w.name + " is of " + e.type);
      else {
        fits_.push_back({&w, &e, other_way});
        out_.taken.push_back(w.name);
      }
      entries_.erase(found);
    }
    for (const auto& [name, entry] : entries_) out_.unexpected.push_back(name);
  }

  loaded_weights& report() { return out_; }
  std::size_t fits() const { return fits_.size(); }
  bool wants_none() const { return wanted_.empty(); }

  // Reads everything before the first element is changed, so that neither a damaged disk nor lack of memory leaves a part.
  void take() {
    std::size_t all = 0, most = 0;
    for (const fit& f : fits_) {
      all += f.weight->numbers.size();
      most = std::max(most, f.weight->numbers.size());
    }
    std::vector<T> ready(all), some(most), other(most);
    std::size_t at = 0;
    for (const fit& f : fits_) {
      const std::size_t count = f.weight->numbers.size();
      const std::span<T> found(some.data(), count);
      file_->read(*f.entry, found);
      const T* from = found.data();
      if (f.other_way) {
        const std::size_t rows = (*f.weight->facts)[0], columns = (*f.weight->facts)[1];
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t c = 0; c < columns; ++c) other[r * columns + c] = found[c * rows + r];
        from = other.data();
      }
      turn_weight(std::as_bytes(std::span<const T>(from, count)),
                  std::as_writable_bytes(std::span<T>(ready.data() + at, count)).data(), sizeof(T), *f.weight->facts,
                  f.weight->features, order::of_memory);
      at += count;
    }
    at = 0;
    for (const fit& f : fits_) {
      std::copy_n(ready.data() + at, f.weight->numbers.size(), f.weight->numbers.data());
      at += f.weight->numbers.size();
    }
  }

private:
  struct fit {
    const wanted_weight<T>* weight = nullptr;
    const safetensors_entry* entry = nullptr;
    bool other_way = false; // (in, out) in the file
  };

  bool are_equal(const safetensors_entry& a, const safetensors_entry& b) {
    if (a.type != b.type || a.extents != b.extents) return false;
    std::vector<std::byte> of_a(static_cast<std::size_t>(a.end - a.begin)), of_b(of_a.size());
    file_->read_bytes(a, of_a);
    file_->read_bytes(b, of_b);
    return of_a == of_b;
  }

  safetensors_file* file_;
  const weights_options* options_;
  std::map<std::string, const safetensors_entry*, std::less<>> entries_;
  std::vector<wanted_weight<T>> wanted_;
  std::vector<fit> fits_;
  loaded_weights out_;
};

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

// Loads parameters and buffers from a file by their names; other floating-point types are converted. Either all fit and all are
// loaded, or nothing is changed and a file_error lists those that are missing, unexpected, of another shape or of another type.
// With `partly` those that fit are loaded and the rest is reported, for example to fine-tune with another last layer; it is an
// error if nothing fits. The options rename tensors that have other names in the file. Files of earlier versions are loaded by
// their old names, and the report says so. With ddp every rank loads, or one does and all call synchronize().
template <class Owner>
types::loaded_weights load_weights(Owner& owner, const std::string& path, const types::weights_options& options) {
  using number = typename Owner::number;
  files::safetensors_file file(path);
  auto weights_of_owner = detail::on_host(owner);
  const detail::feature_orders orders = weights_of_owner.orders();
  const auto compared = [&](detail::naming how) {
    detail::weights_to_load<number> all(file, options);
    const auto want = [&](const auto& q) {
      const bool turns = how == detail::naming::as_torch; // as_before: nothing was permuted after a Flatten
      all.want({q.name, q.numbers, q.facts, turns ? orders.of(q.leaf, q.facts) : nullptr});
    };
    detail::for_all_weights(weights_of_owner, want, how);
    weights_of_owner.for_each_second_name([&](const auto& second, const auto& first) { all.want_also(second, first); }, how);
    all.compare();
    return all;
  };
  auto chosen = compared(detail::naming::as_torch);
  const bool has_own_names = options.from.empty() && options.to.empty() && options.rename.empty();
  if (has_own_names && !chosen.report().is_all()) {
    auto before = compared(detail::naming::as_before);
    before.report().has_old_names = true;
    const bool is_better = options.how == weights::partly && before.fits() > chosen.fits();
    if (before.report().is_all() || is_better) chosen = std::move(before);
  }
  types::loaded_weights& out = chosen.report();
  if (options.how == weights::all && !out.is_all())
    throw file_error("load_weights: '" + path + "' does not fit this network, and nothing was taken from it; " + out.text() +
                     "; see weights::partly, and weights_options for other names");
  if (chosen.fits() == 0 && !chosen.wants_none())
    throw file_error("load_weights: '" + path + "' has nothing that fits this network; " + out.text() +
                     "; see weights_options for other names");
  chosen.take();
  weights_of_owner.give_back();
  return std::move(out);
}
template <class Owner>
types::loaded_weights load_weights(Owner& owner, const std::string& path, weights how = weights::all) {
  return load_weights(owner, path, types::weights_options{.how = how});
}

} // namespace cairn
