// SPDX-License-Identifier: MIT
// CTest runs these with one process, and under mpirun with several.
#include <cairn/comm/mpi/mpi_transport.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <cairn/comm/launch/launch.hpp>
#include <cairn/core/error.hpp>
#include <doctest/doctest.h>

#include "started_mpi.hpp"

namespace mpi_transport_tests {

using namespace cairn;
using detail::finished_request;
using detail::mpi_transport;

static_assert(detail::message_transport<mpi_transport> && detail::sums_itself<mpi_transport>);

namespace {

launch told(int size) {
  launch here;
  here.size = size;
  here.by = types::launcher::torchrun;
  return here;
}
int ranks_of_mpi() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// Polls until a request is over, and returns it.
finished_request one_that_is_over(mpi_transport& t, std::span<mpi_transport::request> requests) {
  std::vector<finished_request> over(requests.size());
  while (t.finished(requests, over) == 0) continue;
  return over[0];
}

} // namespace

TEST_CASE("mpi_transport: a message to the next rank, one that is too long, and one that is not taken") {
  testing::start_mpi();
  mpi_transport t(1000, told(ranks_of_mpi()));
  const int next = (t.rank() + 1) % t.size(), before = (t.rank() + t.size() - 1) % t.size();
  CHECK(t.most_bytes() == 1000);
  CHECK(t.most_tag() >= 32767);
  const std::vector<std::byte> sent(100, static_cast<std::byte>(t.rank()));
  std::vector<std::byte> got(100);
  mpi_transport::request out, in;
  CHECK_FALSE(t.is_open(in));
  for (const std::size_t room : {100U, 60U}) {
    t.send(out, next, 40, sent.data(), sent.size());
    while (!t.probe(before, 40)) continue;
    const auto there = t.probe(detail::any_rank_sends, 40);
    CHECK((there && there->from == before && there->bytes == 100));
    CHECK_FALSE(t.probe(before, 41).has_value());
    t.receive(in, before, 40, got.data(), room);
    CHECK(t.is_open(in));
    CHECK(one_that_is_over(t, {&in, 1}).bytes == (room == 100 ? 100 : finished_request::too_many));
    CHECK_FALSE(t.is_open(in));
    static_cast<void>(one_that_is_over(t, {&out, 1}));
    CHECK(got[59] == static_cast<std::byte>(before));
  }
  t.receive(in, before, 42, got.data(), 100);
  t.cancel(in);
  CHECK_FALSE(t.is_open(in));
  t.cancel(in);
  t.forget(out);
}

TEST_CASE("mpi_transport: processes that another launcher has started are strangers to MPI") {
  testing::start_mpi();
  const std::string size = std::to_string(ranks_of_mpi());
  CHECK_THROWS_WITH_AS(mpi_transport(1000, told(ranks_of_mpi() + 1)),
                       doctest::Contains(("torchrun has started, found " + size).c_str()), input_error);
}

} // namespace mpi_transport_tests
