// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cairn/core/batch.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/explain.hpp>
#include <cairn/core/random.hpp>
#include <cairn/data/checksum.hpp>
#include <cairn/data/dataset.hpp>
#include <cairn/data/dataset_fingerprint.hpp>
#include <cairn/data/input_types.hpp>
#include <cairn/data/loader_options.hpp>
#include <cairn/data/loader_without_batch.hpp>
#include <cairn/data/minibatch.hpp>
#include <cairn/data/prefetch.hpp>
#include <cairn/data/sample_order.hpp>
#include <cairn/data/step_samples.hpp>
#include <cairn/data/transform.hpp>

namespace cairn {

// Batches of a dataset in the order of a sampler, as torch's DataLoader:
//
//   loader batches{digits.train, sampler{rank}, batch<64>{}};
//   for (int epoch = 0; epoch < 5; ++epoch)
//     for (const auto& [images, labels] : batches) …
//
// images (rows, sample) and labels (rows, targets) are views that are valid until the next batch is requested; rows is 64, or
// less in the last batch. The dataset is not copied and must outlive the loader.
//
// Every begin() starts a pass, and every pass is an epoch: first the sampler's first one, then the next, each shuffled and
// transformed anew. A pass that is left early counts, a begin() that throws does not; ranks agree because they begin the same
// passes. set_epoch() sets the epoch of the next pass; place() and go_to() resume a job in the middle of an epoch. There is
// one pass at a time: an iterator of an earlier pass throws when it is used.
//
// A loader and its views belong to one thread at a time, which calls the functions and reads the batches. A thread of the
// loader's own prepares the next batches while the step runs; where reading a sample takes long, as decoding a picture does,
// several threads prepare one batch each. Neither order nor content depends on how many batches are prepared ahead, or by how
// many threads. Memory is allocated by the constructor, and for the order when a pass begins; not for each batch. An
// exception of the dataset is rethrown where its batch would have come. Leaving the loop early, or destroying the loader,
// stops the threads after the samples that they are reading.
//
// The loader's threads call the dataset's read() and the transform, so several loaders may share a dataset whose read()
// writes only the sample.
template <class Dataset, class Sampler, std::size_t Batch, class Transform = detail::no_transform>
class loader {
  static_assert(detail::checked_dataset<Dataset>::value);
  using input_type = typename Dataset::input_type;
  using target_type = typename Dataset::target_type;
  using buffer = detail::batch_buffer<input_type, target_type>;
  using positions = typename detail::inputs_of<input_type>::positions;
  static constexpr bool changes_targets = detail::sample_and_target_transform<Transform, input_type, target_type>;
  static_assert(detail::sample_transform<Transform, input_type> || changes_targets,
                "loader: a transform is called as  f(std::span<T> sample, const shape&, const random_key&);  of "
                "several inputs with a span for each, and an array of their shapes; one that also changes the targets "
                "has a span for them after the inputs");

public:
  using value_type = types::minibatch<input_type, target_type>;
  static constexpr std::size_t most_rows = batch<Batch>::size; // in a batch

  loader(const Dataset& samples, Sampler order, batch<Batch>, types::loader_options options = {})
      : loader(samples, std::move(order), batch<Batch>{}, Transform{}, options) {}

  loader(const Dataset& samples, Sampler order, batch<Batch>, Transform transform, types::loader_options options = {})
      : dataset_(&samples), order_(std::move(order)), transform_(std::move(transform)), options_(checked(options)),
        shapes_(detail::shapes_of(samples)), targets_(samples.targets_per_sample()), next_epoch_(detail::first_epoch(order_)),
        prefetcher_(options_.prefetch, options_.deadline, filling{this}, options_.threads) {
    if constexpr (!detail::sample_order<Sampler>) detail::refuse<detail::second_argument<Sampler>>();
    buffers_.reserve(prefetcher_.slots());
    for (std::size_t slot = 0; slot < prefetcher_.slots(); ++slot) buffers_.emplace_back(options_.rows, shapes_, targets_);
  }

  // A temporary dataset would be gone before the first batch.
  loader(const Dataset&&, Sampler, batch<Batch>, types::loader_options = {}) = delete;
  loader(const Dataset&&, Sampler, batch<Batch>, Transform, types::loader_options = {}) = delete;
  loader(const loader&) = delete;
  loader& operator=(const loader&) = delete;

  // The number of batches, and of samples, in one pass.
  std::size_t size() const { return batches_of(samples_of_order()); }
  std::size_t samples() const {
    const std::size_t count = samples_of_order();
    return options_.drop_last ? count / options_.rows * options_.rows : count;
  }

  // The epoch of the latest pass; before the first pass, the epoch that it will have.
  std::uint64_t epoch() const { return pass_ == 0 ? next_epoch_ : epoch_; }

  // Sets the epoch of the next begin(); later passes count on from there. Not callable on a temporary loader, so that it can
  // be used in a loop: for (const auto& [images, labels] : batches.set_epoch(7)) …
  template <std::integral Epoch>
  loader& set_epoch(Epoch epoch) & {
    next_epoch_ = detail::not_negative(epoch, "loader::set_epoch", "an epoch");
    next_batch_ = 0;
    return *this;
  }

  // The place of the next batch. During a pass that is the batch after the current one: where to go on after the step on the
  // current batch.
  types::loader_place place() const {
    if (left_ > 1) return {epoch_, first_ + batches_ - left_ + 1};
    return {next_epoch_, next_batch_};
  }
  // Lets the next begin() start at this batch of this epoch: the same batches follow, and those before it are not read.
  // Throws input_error if the epoch has fewer batches.
  loader& go_to(const types::loader_place& next) & {
    if (next.batch > size())
      throw input_error("loader::go_to: expected one of the " + std::to_string(size()) + " batches of an epoch, found batch " +
                        std::to_string(next.batch) + "; have dataset, ranks or batch changed?");
    next_epoch_ = next.epoch;
    next_batch_ = static_cast<std::size_t>(next.batch);
    return *this;
  }
  // A hash of the samples that this rank reads in an epoch, their order, the size of the batches and the seed of the
  // transform: equal if another loader reads the same. It computes the whole order of the epoch.
  std::uint64_t fingerprint(std::uint64_t epoch) const {
    std::vector<std::size_t> facts;
    if constexpr (detail::sample_order<Sampler>) order_.order(dataset_->size(), epoch, facts);
    for (const std::uint64_t fact :
         {std::uint64_t{dataset_->size()}, std::uint64_t{options_.rows}, std::uint64_t{options_.drop_last}, options_.seed})
      facts.push_back(static_cast<std::size_t>(fact));
    return detail::quick_checksum(std::as_bytes(std::span{facts}));
  }
  // A hash that distinguishes the dataset from another one of the same size, without the transform; 0 if it cannot
  // (dataset_fingerprint.hpp). The first call reads some samples.
  std::uint64_t dataset_fingerprint() const {
    if (!known_as_) known_as_ = detail::fingerprint_of(*dataset_);
    return *known_as_;
  }
  // This rank's share of a hash of the samples that the steps of an epoch see, with this number of micro-batches in a step
  // and this number of ranks. The sum over the ranks is the same for another number of ranks that makes the same steps
  // (step_samples.hpp).
  std::uint64_t share_of_steps(std::uint64_t epoch, std::size_t micro_batches, std::size_t ranks) const {
    std::vector<std::size_t> order;
    if constexpr (detail::sample_order<Sampler>) order_.order(dataset_->size(), epoch, order);
    return detail::share_of_steps({order, options_.rows, options_.drop_last, micro_batches, ranks},
                                  dataset_->size() ^ (options_.seed * 0x9E3779B97F4A7C15U));
  }
  // The number of ranks that share the dataset, by this loader's sampler; 0 if the sampler does not say.
  std::size_t readers() const {
    if constexpr (requires { std::size_t{order_.ranks()}; }) return order_.ranks();
    else return 0;
  }

  // Uses this sampler from the next begin() on, which is the sampler's first epoch. Cheaper than a new loader: memory and
  // thread stay.
  void set_sampler(Sampler order) {
    order_ = std::move(order);
    next_epoch_ = detail::first_epoch(order_);
    next_batch_ = 0;
  }

  // All iterators of a pass are at the same batch. An iterator throws an error if it is of an earlier pass, or if it is read
  // or advanced past the last batch.
  class iterator {
  public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = types::minibatch<input_type, target_type>;
    using difference_type = std::ptrdiff_t;

    const value_type& operator*() const {
      owner_->check_batch(pass_);
      return owner_->current_;
    }
    const value_type* operator->() const { return &**this; }
    iterator& operator++() {
      owner_->check_batch(pass_);
      owner_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const {
      owner_->check_pass(pass_);
      return owner_->left_ == 0;
    }

  private:
    friend loader;
    iterator(loader* owner, std::uint64_t pass) : owner_(owner), pass_(pass) {}
    loader* owner_;
    std::uint64_t pass_;
  };

  iterator begin() {
    ++pass_; // before anything can throw: the pass before this one is over
    left_ = 0;
    prefetcher_.cancel();
    epoch_ = next_epoch_;
    choose_samples();
    first_ = next_batch_;
    batches_ = batches_of(indices_.size()) - first_;
    prefetcher_.start(batches_);
    left_ = batches_;
    if (left_ != 0) fetch();
    next_epoch_ = epoch_ + 1;
    next_batch_ = 0;
    return iterator(this, pass_);
  }
  static std::default_sentinel_t end() { return {}; }

private:
  std::size_t samples_of_order() const {
    if constexpr (detail::sample_order<Sampler>) return order_.count(dataset_->size());
    else return 0; // there has been an error
  }
  std::size_t batches_of(std::size_t samples) const {
    return samples / options_.rows + (!options_.drop_last && samples % options_.rows != 0 ? 1 : 0);
  }
  std::size_t rows_of(std::size_t samples, std::size_t index) const {
    return std::min(options_.rows, samples - index * options_.rows);
  }
  static types::loader_options checked(types::loader_options options) {
    if (options.rows > Batch)
      throw input_error("loader: expected at most " + std::to_string(Batch) + " rows, the room that batch<" +
                        std::to_string(Batch) + "> has, found " + std::to_string(options.rows));
    if (options.prefetch > most_ahead)
      throw input_error("loader: expected at most " + std::to_string(most_ahead) +
                        " batches ahead in loader_options::prefetch, found " + std::to_string(options.prefetch));
    if (options.deadline.count() < 0)
      throw input_error("loader: expected a loader_options::deadline of 0 ms or more, found " +
                        std::to_string(options.deadline.count()) + " ms");
    if (const std::size_t most = options.prefetch == 0 ? 1 : most_threads; options.threads == 0 || options.threads > most)
      throw input_error("loader: expected from 1 to " + std::to_string(most) + " in loader_options::threads, found " +
                        std::to_string(options.threads) + (most == 1 ? "; with a prefetch of 0 there is no thread" : ""));
    if (options.prefetch != 0) options.prefetch = std::max(options.prefetch, options.threads);
    if (options.rows == 0) options.rows = batch<Batch>::size;
    return options;
  }

  // Determines the samples that this rank reads in this epoch.
  void choose_samples() {
    if constexpr (detail::sample_order<Sampler>) {
      const std::size_t known = dataset_->size();
      const std::size_t expected = order_.count(known);
      try {
        order_.order(known, epoch_, indices_);
      } catch (const std::bad_alloc&) {
        refuse_order(known);
      } catch (const std::length_error&) { // of a std::vector
        refuse_order(known);
      }
      for (const std::size_t index : indices_)
        if (index >= known)
          throw input_error("loader: expected the sampler to name samples below " + std::to_string(known) + ", found " +
                            std::to_string(index));
      if (indices_.size() != expected)
        throw input_error("loader: expected the sampler to name " + std::to_string(expected) +
                          " samples, as its count() says, found " + std::to_string(indices_.size()));
    }
  }
  [[noreturn]] static void refuse_order(std::size_t known) {
    throw input_error("loader: expected an order of samples that fits into memory, found a dataset of " + std::to_string(known) +
                      " samples, each a number of " + std::to_string(sizeof(std::size_t)) +
                      " bytes; check the dataset's size(), or read a subset of it");
  }

  void check_pass(std::uint64_t pass) const {
    if (pass != pass_)
      throw error("loader: expected an iterator of the pass that was begun last, the loader's pass " + std::to_string(pass_) +
                  ", found one of pass " + std::to_string(pass) +
                  "; begin() ends the pass before, so a loop inside a loop needs a loader of its own");
  }
  void check_batch(std::uint64_t pass) const {
    check_pass(pass);
    if (left_ == 0)
      throw error("loader: expected a batch of this pass, found its end; compare the iterator with end() "
                  "before it is read or advanced, and begin() again after an exception");
  }

  void advance() {
    if (--left_ != 0) fetch();
  }

  void fetch() {
    const std::size_t index = batches_ - left_;
    const std::size_t left = std::exchange(left_, 0); // an exception ends the pass
    const std::size_t slot = prefetcher_.next();
    current_ = buffers_[slot].view(rows_of(indices_.size(), first_ + index));
    left_ = left;
  }

  // The function that the prefetcher calls.
  struct filling {
    const loader* of;
    void operator()(std::size_t slot, std::size_t index, const std::atomic<bool>& cancelled) const {
      of->fill(of->buffers_[slot], of->first_ + index, cancelled);
    }
  };

  // Runs on a thread of the prefetcher's. Reads only what begin() wrote while those threads were at rest.
  void fill(const buffer& into, std::size_t index, const std::atomic<bool>& cancelled) const {
    const std::size_t rows = rows_of(indices_.size(), index);
    for (std::size_t row = 0; row < rows && !cancelled.load(std::memory_order_relaxed); ++row)
      fill_row(into, row, indices_[index * options_.rows + row], positions{});
  }
  template <std::size_t... K>
  void fill_row(const buffer& into, std::size_t row, std::size_t sample, std::index_sequence<K...>) const {
    std::tuple inputs{into.template input<K>(row)...};
    auto targets = into.targets(row);
    dataset_->read(sample, std::get<K>(inputs)..., targets);
    const types::random_key key = detail::sample_key(options_.seed, epoch_, sample);
    const auto& shapes = [this]() -> const auto& {
      if constexpr (detail::are_several<input_type>) return shapes_;
      else return shapes_[0];
    }();
    if constexpr (changes_targets) transform_(std::get<K>(inputs)..., targets, shapes, key);
    else transform_(std::get<K>(inputs)..., shapes, key);
  }

  static constexpr std::size_t most_ahead = 1U << 20, most_threads = 1024;

  const Dataset* dataset_;
  Sampler order_;
  Transform transform_;
  types::loader_options options_; // its rows are those of a batch
  detail::input_shapes<input_type> shapes_;
  std::size_t targets_;
  mutable std::optional<std::uint64_t> known_as_{}; // dataset_fingerprint()
  std::uint64_t next_epoch_ = 0;
  std::size_t next_batch_ = 0; // with which the next pass begins
  std::uint64_t epoch_ = 0;    // of the pass that was begun last
  std::uint64_t pass_ = 0;     // how often begin() was called
  std::vector<std::size_t> indices_;
  std::vector<buffer> buffers_;
  value_type current_{};
  std::size_t first_ = 0;                  // batch of this pass
  std::size_t batches_ = 0;                // in this pass, from that on
  std::size_t left_ = 0;                   // batches of this pass, the current one included
  detail::prefetcher<filling> prefetcher_; // last, so that its threads end before anything they read
};

} // namespace cairn

namespace cairn::detail {

// The members of a loader that a saved state needs; a loader of your own can be resumed if it has them.
template <class L>
concept resumable_loader = requires(L& own, const L& its) {
  { its.place() } -> std::convertible_to<loader_place>;
  { its.fingerprint(std::uint64_t{}) } -> std::convertible_to<std::uint64_t>;
  { its.size() } -> std::convertible_to<std::size_t>;
  own.go_to(loader_place{});
};

} // namespace cairn::detail

namespace cairn {

template <class Dataset, class Sampler, std::size_t Batch>
loader(const Dataset&, Sampler, batch<Batch>) -> loader<Dataset, Sampler, Batch>;
template <class Dataset, class Sampler, std::size_t Batch>
loader(const Dataset&, Sampler, batch<Batch>, types::loader_options) -> loader<Dataset, Sampler, Batch>;

// The loader that is made without a batch<N>, after the error: one of single samples.
template <class Dataset, class Third, class Sampler>
class loader<detail::without_batch<Dataset, Third>, Sampler, 1, detail::no_transform> : public loader<Dataset, Sampler, 1> {
public:
  template <class... Others>
  loader(const Dataset& samples, Sampler order, Others&&...)
      : loader<Dataset, Sampler, 1>(samples, std::move(order), batch<1>{}) {
    detail::refuse<detail::loader_without_batch<Third>>();
  }
  template <class Other>
  loader(const Dataset& samples, Sampler order, const Other&, const types::loader_options&)
      : loader<Dataset, Sampler, 1>(samples, std::move(order), batch<1>{}) {
    detail::refuse<detail::loader_without_batch<Third>>();
  }
  loader(const Dataset& samples, Sampler order, const types::loader_options&)
      : loader<Dataset, Sampler, 1>(samples, std::move(order), batch<1>{}) {
    detail::refuse<detail::loader_without_batch<Third>>();
  }
};
template <class Dataset, class Sampler>
loader(const Dataset&, Sampler) -> loader<detail::without_batch<Dataset, void>, Sampler, 1>;
template <class Dataset, class Sampler>
loader(const Dataset&, Sampler, types::loader_options)
    -> loader<detail::without_batch<Dataset, types::loader_options>, Sampler, 1>;
template <class Dataset, class Sampler, std::integral Third>
loader(const Dataset&, Sampler, Third) -> loader<detail::without_batch<Dataset, Third>, Sampler, 1>;
template <class Dataset, class Sampler, std::integral Third>
loader(const Dataset&, Sampler, Third, types::loader_options) -> loader<detail::without_batch<Dataset, Third>, Sampler, 1>;

} // namespace cairn
