// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cairn/core/batch.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/shape.hpp>
#include <cairn/data/dataset.hpp>
#include <cairn/data/minibatch.hpp>
#include <cairn/data/prefetch.hpp>
#include <cairn/data/sample_order.hpp>
#include <cairn/data/transform.hpp>

namespace cairn {

struct loader_options {
  std::size_t rows = 0;     // samples in a batch, at most its capacity; 0: its capacity
  bool drop_last = false;   // leave out a last batch that is not full
  std::size_t prefetch = 2; // batches made ahead by a thread; 0: no thread
  std::uint64_t seed = 0;   // of the transform's random numbers
  std::chrono::milliseconds deadline{60000}; // the longest wait for one batch; then deadline_error
};

// Batches of a dataset, in the order of a sampler, as torch's DataLoader:
//
//   for (const auto& [images, labels] : loader{digits.train, sampler{rank, epoch}, batch<64>{}}) …
//
// images (rows, sample) and labels (rows, targets) are views that hold until the next batch is asked for; rows is 64,
// or less in the last batch. The dataset stays with the caller and has to outlive the loader.
//
// One thread makes the next batches while the step runs. Neither the order nor the content depends on how many it
// makes ahead. Memory is allocated here, and for the order when an iteration begins; not for each batch. Each begin()
// starts the same epoch anew; set_sampler() chooses another one. What the dataset throws comes out where the batch
// would have. Leaving the loop early, or destroying the loader, stops the thread after the sample it is reading.
template <class Dataset, class Sampler, std::size_t Batch, class Transform = no_transform>
class loader {
  static_assert(detail::checked_dataset<Dataset>::value);
  static_assert(sample_order<Sampler>, "loader: the second argument has to be a sample order, such as "
                                       "sampler{rank, epoch} or sequential_sampler{}");
  using input_type = typename Dataset::input_type;
  using target_type = typename Dataset::target_type;
  using buffer = detail::batch_buffer<input_type, target_type>;
  static_assert(sample_transform<Transform, input_type>,
                "loader: a transform is called as  f(std::span<T> sample, const shape&, const random_key&)");

public:
  using value_type = minibatch<input_type, target_type>;

  loader(const Dataset& samples, Sampler order, batch<Batch>, loader_options options = {})
      : loader(samples, std::move(order), batch<Batch>{}, Transform{}, options) {}

  loader(const Dataset& samples, Sampler order, batch<Batch>, Transform transform,
         loader_options options = {})
      : dataset_(&samples), order_(std::move(order)), transform_(std::move(transform)), options_(options),
        sample_shape_(samples.sample_shape()), targets_(samples.targets_per_sample()),
        rows_(checked_rows(options.rows)),
        prefetcher_(options.prefetch, options.deadline, filling{this}) {
    buffers_.reserve(prefetcher_.slots());
    for (std::size_t slot = 0; slot < prefetcher_.slots(); ++slot)
      buffers_.emplace_back(Batch, sample_shape_, targets_);
  }

  // A temporary dataset would be gone before the first batch.
  loader(const Dataset&&, Sampler, batch<Batch>, loader_options = {}) = delete;
  loader(const Dataset&&, Sampler, batch<Batch>, Transform, loader_options = {}) = delete;
  loader(const loader&) = delete;
  loader& operator=(const loader&) = delete;

  // How many batches, and how many samples, one iteration gives.
  std::size_t size() const {
    const std::size_t count = order_.count(dataset_->size());
    return count / rows_ + (!options_.drop_last && count % rows_ != 0 ? 1 : 0);
  }
  std::size_t samples() const {
    const std::size_t count = order_.count(dataset_->size());
    return options_.drop_last ? count / rows_ * rows_ : count;
  }

  // From the next begin() on. Cheaper than a new loader: memory and thread stay.
  void set_sampler(Sampler order) { order_ = std::move(order); }

  class iterator {
  public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = minibatch<input_type, target_type>;
    using difference_type = std::ptrdiff_t;

    const value_type& operator*() const { return owner_->current_; }
    const value_type* operator->() const { return &owner_->current_; }
    iterator& operator++() {
      owner_->advance();
      return *this;
    }
    void operator++(int) { owner_->advance(); }
    bool operator==(std::default_sentinel_t) const { return owner_->left_ == 0; }

  private:
    friend loader;
    explicit iterator(loader* owner) : owner_(owner) {}
    loader* owner_;
  };

  iterator begin() {
    prefetcher_.cancel();
    epoch_ = order_.epoch();
    const std::size_t known = dataset_->size();
    order_.order(known, indices_);
    for (const std::size_t index : indices_)
      if (index >= known)
        throw input_error("loader: expected the sampler to name samples below " + std::to_string(known) +
                    ", found " + std::to_string(index));
    if (indices_.size() != order_.count(known))
      throw input_error("loader: expected the sampler to name " + std::to_string(order_.count(known)) +
                  " samples, as its count() says, found " + std::to_string(indices_.size()));
    batches_ = size();
    left_ = batches_;
    prefetcher_.start(batches_);
    if (left_ != 0) fetch();
    return iterator(this);
  }
  static std::default_sentinel_t end() { return {}; }

private:
  std::size_t rows_of(std::size_t samples, std::size_t index) const {
    return std::min(rows_, samples - index * rows_);
  }
  static std::size_t checked_rows(std::size_t rows) {
    if (rows > Batch)
      throw input_error("loader: expected at most " + std::to_string(Batch) + " rows, the room that batch<" +
                  std::to_string(Batch) + "> has, found " + std::to_string(rows));
    return rows == 0 ? Batch : rows;
  }

  void advance() {
    if (--left_ != 0) fetch();
  }

  void fetch() {
    const std::size_t index = batches_ - left_;
    const std::size_t left = std::exchange(left_, 0); // an exception ends the iteration
    const std::size_t slot = prefetcher_.next();
    current_ = buffers_[slot].view(rows_of(indices_.size(), index));
    left_ = left;
  }

  // What the prefetcher calls.
  struct filling {
    const loader* of;
    void operator()(std::size_t slot, std::size_t index, const std::atomic<bool>& cancelled) const {
      of->fill(of->buffers_[slot], index, cancelled);
    }
  };

  // On the prefetcher's thread. Reads only what begin() wrote while that thread was at rest.
  void fill(const buffer& into, std::size_t index, const std::atomic<bool>& cancelled) const {
    const std::size_t rows = rows_of(indices_.size(), index);
    for (std::size_t row = 0; row < rows && !cancelled.load(std::memory_order_relaxed); ++row) {
      const std::size_t sample = indices_[index * rows_ + row];
      const std::span<input_type> input(into.input(row), sample_shape_.size());
      dataset_->read(sample, input, std::span<target_type>(into.targets(row), targets_));
      transform_(input, sample_shape_, detail::sample_key(options_.seed, epoch_, sample));
    }
  }

  const Dataset* dataset_;
  Sampler order_;
  Transform transform_;
  loader_options options_;
  shape sample_shape_;
  std::size_t targets_;
  std::size_t rows_;
  std::uint64_t epoch_ = 0;
  std::vector<std::size_t> indices_;
  std::vector<buffer> buffers_;
  value_type current_{};
  std::size_t batches_ = 0;
  std::size_t left_ = 0;          // batches of this iteration, the current one included
  detail::prefetcher<filling> prefetcher_; // last, so that its thread ends before anything it reads
};

template <class Dataset, class Sampler, std::size_t Batch>
loader(const Dataset&, Sampler, batch<Batch>) -> loader<Dataset, Sampler, Batch>;
template <class Dataset, class Sampler, std::size_t Batch>
loader(const Dataset&, Sampler, batch<Batch>, loader_options) -> loader<Dataset, Sampler, Batch>;

} // namespace cairn
