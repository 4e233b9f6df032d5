// SPDX-License-Identifier: MIT
// The run that a callback of fit is shown, without any training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace testing {

struct fake_run {
  std::uint64_t at_step = 0;
  std::size_t at_epoch = 0;
  int own_rank = 0;
  std::vector<std::pair<std::string, double>> measured{};
  double last_loss = 0;
  double rate = 0.1;
  std::size_t samples = 100;
  std::size_t step_samples = 10;
  std::size_t made = 0;   // steps of this epoch
  std::uint64_t last = 0; // step of the run, if it ends before its last epoch does

  int rank() const { return own_rank; }
  std::size_t epoch() const { return at_epoch; }
  std::size_t epochs() const { return 2; }
  std::uint64_t last_step() const { return last; }
  std::uint64_t step() const { return at_step; }
  std::size_t step_of_epoch() const { return made; }
  std::size_t steps_in_epoch() const { return samples / step_samples; }
  double loss() const { return last_loss; }
  double known_loss() const { return last_loss; }
  double learning_rate() const { return rate; }
  double last_rate() const { return rate; }
  std::size_t rows() const { return step_samples; }
  std::size_t samples_of_epoch() const { return samples; }
  std::span<const std::pair<std::string, double>> metrics() const { return measured; }
};

} // namespace testing
