// SPDX-License-Identifier: MIT
// A rank of several without a communicator.
#pragma once

namespace testing {

struct spot {
  int rank_;
  int size_;
  int rank() const { return rank_; }
  int size() const { return size_; }
};

} // namespace testing
