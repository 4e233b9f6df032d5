// SPDX-License-Identifier: MIT
#include <cairn/train/fit/fit_arguments.hpp>

#include <cstddef>

#include <cairn/data/distributed_sampler.hpp>
#include <cairn/data/loader.hpp>
#include <cairn/data/tensor_dataset.hpp>
#include <cairn/train/fit/early_stopping.hpp>
#include <cairn/train/fit/metrics.hpp>
#include <cairn/train/fit/validation.hpp>
#include <doctest/doctest.h>

namespace fit_arguments_tests {

using namespace cairn;

namespace {

struct any_run {};
struct steps_only {
  void on_step(auto&) {}
};
struct notes_only {
  void write_notes(types::state_notes&) const {}
};
struct by_another_name {
  void on_begin(auto&) {}
  void on_train_end(auto&) {}
};
struct planned {
  struct plan {
    static constexpr std::size_t batch = 32;
    using elements = detail::pack<int>;
  };
};
template <std::size_t Rows>
using reading = loader<tensor_dataset<float, int>, distributed_sampler, Rows>;

} // namespace

// Programs that cause these errors are in tests/compile_fail/.
TEST_CASE("fit_arguments: a callback has one of fit's members, and none by another name") {
  static_assert(detail::is_callback<steps_only, any_run> && detail::is_callback<notes_only, any_run>);
  static_assert(!detail::is_callback<metrics::Accuracy, any_run>);
  static_assert(!detail::has_foreign_names<steps_only, any_run> && detail::has_foreign_names<by_another_name, any_run>);
}

TEST_CASE("fit_arguments: batches fit into a trainer that was planned for them") {
  static_assert(detail::fits_in<reading<32>, planned>() && detail::fits_in<reading<7>&, planned>());
  static_assert(detail::fits_in<validation<reading<32>, metrics::Accuracy>, planned>());
  static_assert(validation<reading<9>&, metrics::Accuracy>::most_rows == 9);
}

} // namespace fit_arguments_tests
