// SPDX-License-Identifier: MIT
// under the thread sanitizer
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/comm/threads/threads.hpp>
#include <cairn/device/cpu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/train/losses/cross_entropy_loss.hpp>
#include <cairn/train/losses/mse_loss.hpp>
#include <cairn/train/optimizers/adam.hpp>
#include <cairn/train/optimizers/learning_rate.hpp>
#include <cairn/train/optimizers/sgd.hpp>
#include <cairn/train/ranks/handshake.hpp>
#include <doctest/doctest.h>

namespace handshake_tests {

using namespace cairn;
using namespace cairn::detail;

namespace {

// A rank's build, and the arguments that it was given.
struct told {
  fingerprint built{.words = {1, 2, 3, 4, 5}};
  std::uint64_t settings = 7;
  rank_texts texts{};
};

// A rank without exchange().
struct plain_rank {
  threads::rank& inner;
  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  auto broadcast(cpu::queue& queue, std::span<std::byte> bytes, int root) { return inner.broadcast(queue, bytes, root); }
};

// The error text of a job of these ranks. All ranks throw the same one, and none learns it from another.
template <class Communicator = threads::rank&>
std::string meeting(const std::vector<told>& ranks) {
  std::vector<std::string> faults(ranks.size(), "nothing thrown");
  threads{static_cast<int>(ranks.size())}.run([&](threads::rank& rank) {
    cpu device;
    const auto number = static_cast<std::size_t>(rank.rank());
    const told& own = ranks[number];
    std::conditional_t<std::is_reference_v<Communicator>, threads::rank&, plain_rank> comm{rank};
    try {
      compare_builds(comm, device.compute(), own.built, own.settings, own.texts);
      faults[number].clear();
    } catch (const input_error& thrown) {
      faults[number] = thrown.what();
    }
  });
  for (const std::string& fault : faults) CHECK(fault == faults[0]);
  return faults[0];
}

// Ranks whose builds differ in `part`, with these texts.
std::vector<told> built(std::size_t part, const std::vector<std::string>& words) {
  std::vector<told> out(words.size());
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    out[rank].built.words[part] = 100 + words[rank].size();
    out[rank].texts.write(part, words[rank]);
  }
  return out;
}
// Ranks whose arguments differ in `part`, with these texts.
std::vector<told> given(std::size_t part, const std::vector<std::string>& words) {
  std::vector<told> out(words.size());
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    out[rank].settings = words[rank].size();
    out[rank].texts.write(part, words[rank]);
  }
  return out;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("handshake: ranks that were built alike and given the same meet") {
  for (const std::size_t ranks : {1UL, 2UL, 3UL, 5UL}) {
    CHECK(meeting(std::vector<told>(ranks)) == "");
    CHECK(meeting<plain_rank>(std::vector<told>(ranks)) == "");
  }
  // Texts decide nothing: only the numbers do.
  const std::vector<told> words = built(0, {"one", "two"}); // of equal lengths, which give equal numbers
  CHECK(meeting(words) == "");
}

TEST_CASE("handshake: whatever decides over an update changes the settings") {
  const SGD sgd{.learning_rate = 0.1, .momentum = 0.9};
  const std::uint64_t own = settings_of(MSELoss{}, sgd, 0.5, false);
  CHECK(settings_of(MSELoss{}, sgd, 0.5, false) == own);
  CHECK(settings_of(CrossEntropyLoss{}, sgd, 0.5, false) != own);
  CHECK(settings_of(MSELoss{}, Adam{.learning_rate = 0.1}, 0.5, false) != own);
  CHECK(settings_of(MSELoss{}, SGD{.learning_rate = 0.2, .momentum = 0.9}, 0.5, false) != own);
  CHECK(settings_of(MSELoss{}, SGD{.learning_rate = 0.1, .momentum = 0.8}, 0.5, false) != own);
  CHECK(settings_of(MSELoss{}, sgd, 0, false) != own);
  CHECK(settings_of(MSELoss{}, sgd, 0.5, true) != own);
  const step_rate tenth{.learning_rate = 0.1, .step_size = 9};
  const std::uint64_t scheduled = settings_of(MSELoss{}, sgd, 0.5, false, tenth);
  CHECK(scheduled != own);
  CHECK(settings_of(MSELoss{}, sgd, 0.5, false, tenth) == scheduled);
  CHECK(settings_of(MSELoss{}, sgd, 0.5, false, step_rate{.learning_rate = 0.2, .step_size = 9}) != scheduled);
  CHECK(settings_of(MSELoss{}, sgd, 0.5, false, step_rate{.learning_rate = 0.1, .step_size = 8}) != scheduled);
  const std::uint64_t seeded = settings_of(MSELoss{}, sgd, 0.5, false, {}, 7, 100);
  CHECK(settings_of(MSELoss{}, sgd, 0.5, false, {}, 7, 100) == seeded);
  CHECK(settings_of(MSELoss{}, sgd, 0.5, false, {}, 8, 100) != seeded);
  CHECK(settings_of(MSELoss{}, sgd, 0.5, false, {}, 7, 10) != seeded);
}

TEST_CASE("handshake: a schedule is asked for no step that is not taken") {
  struct table {
    std::array<double, 3> rates{0.1, 0.2, 0.3};
    double at(std::uint64_t step) const { return rates.at(step); }
  };
  CHECK_NOTHROW(settings_of(MSELoss{}, SGD{.learning_rate = 0.1}, 0.5, false, table{}));
}

TEST_CASE("handshake: network, policy, numbers and buckets each have a word of the fingerprint") {
  using Net = Sequential<Linear<4, 4>, ReLU, Linear<4, 4>>;
  constexpr std::array<bucket, 2> cut{{{0, 32, 0}, {32, 64, 1}}};
  constexpr std::array<bucket, 1> whole{{{0, 64, 1}}};
  constexpr auto own = fingerprint_of<blueprint_of<Net, 2>, float>(cut);
  static_assert(fingerprint_of<blueprint_of<Net, 3>, float>(cut) == own); // the batch may differ
  static_assert(fingerprint_of<blueprint_of<Sequential<Linear<4, 4>, Linear<4, 4>>, 2>, float>(cut).differs(own) == 0);
  static_assert(fingerprint_of<blueprint_of<checkpoint<recompute_all, Net>, 2>, float>(cut).differs(own) == 1);
  static_assert(fingerprint_of<blueprint_of<Net, 2>, double>(cut).differs(own) == 2);
  static_assert(fingerprint_of<blueprint_of<Net, 2>, float>(whole).differs(own) == 3);
  static_assert(fingerprint_of<blueprint_of<Net, 2>, float>(cut, 1).differs(own) == setting("batch statistics"));
  static_assert(fingerprint_of<blueprint_of<Net, 2>, float>(cut, 0, 1).differs(own) == setting("order of calls"));
  static_assert(fingerprint_of<blueprint_of<fused_update<Net>, 2>, float>(cut) == own);
}

TEST_CASE("handshake: the build is a word of the fingerprint too, when the program runs") {
  const fingerprint own{.words = {1, 2, 3, 4, 5, 6, 7}};
  CHECK(with_build(own).differs(own) == setting("build of the program"));
  CHECK(with_build(own) == with_build(own));
  CHECK(with_build(own).words[setting("build of the program")] == hash_of_build());
  // Products of bfloat16 have other bits on AMX.
  CHECK(with_build(own, instruction_set::amx_bf16).differs(with_build(own, instruction_set::avx512)) ==
        setting("build of the program"));
}

TEST_CASE("handshake: two ranks that were built differently are both named, with what differs and what to do") {
  for (std::size_t part = 0; part < fingerprint::parts; ++part)
    CHECK(meeting(built(part, {"theirs", "our"})) ==
          std::string("ddp: ranks 0 and 1 were built differently: expected the same ") + fingerprint::names[part] +
              " on every rank, found theirs on rank 0 and our on rank 1; start every rank from the same program" +
              (part == setting("build of the program")
                   ? ", and where machines have other instructions, with CAIRN_ISA=avx512, avx2 or plain on all"
                   : ""));
  // Texts that were cut, or do not say everything.
  std::vector<told> alike = built(2, {"alike", "alike"});
  alike[1].built.words[2] = 99;
  CHECK(has(meeting(alike), "the same element type on every rank, found fingerprint 105 of alike on rank 0 and fingerprint 99 of "
                            "alike on rank 1; start"));
}

TEST_CASE("handshake: of several ranks the odd one is named, whichever it is") {
  const std::string end = "; start every rank from the same program";
  const std::string begin = " from the others: expected the same network on every rank, found ";
  CHECK(meeting(built(0, {"one", "three", "three"})) ==
        "ddp: rank 0 was built differently" + begin + "one on rank 0 and three on ranks 1 and 2" + end);
  CHECK(meeting(built(0, {"three", "one", "three"})) ==
        "ddp: rank 1 was built differently" + begin + "one on rank 1 and three on ranks 0 and 2" + end);
  CHECK(meeting(built(0, {"one", "three", "three", "three", "three"})) ==
        "ddp: rank 0 was built differently" + begin + "one on rank 0 and three on ranks 1, 2, 3 and 4" + end);
  CHECK(meeting<plain_rank>(built(0, {"three", "three", "one", "three", "three"})) ==
        "ddp: rank 2 was built differently" + begin + "one on rank 2 and three on ranks 0, 1, 3 and 4" + end);
  CHECK(meeting(built(0, {"three", "one", "three", "eleven", "three"})) ==
        "ddp: ranks 1 and 3 were built differently" + begin + "one on rank 1, eleven on rank 3 and three on ranks 0, 2 and 4" +
            end);
}

TEST_CASE("handshake: where no rank is odd all of them are named") {
  CHECK(
      has(meeting(built(1, {"", "x", "xy", "xyz", "wxyz"})),
          "ddp: ranks 0, 1, 2, 3 and 4 were built differently: expected the same checkpoint policy on every rank, found  on rank "
          "0, x on rank 1, xy on rank 2, xyz on rank 3 and wxyz on rank 4; start"));
  CHECK(has(
      meeting(built(1, {"a", "bc", "a", "bc"})),
      "ddp: ranks 0, 1, 2 and 3 were built differently: expected the same checkpoint policy on every rank, found a on ranks 0 "
      "and 2 and bc on ranks 1 and 3; start"));
}

TEST_CASE("handshake: the refusal says which setting differs, on which rank") {
  for (std::size_t part = fingerprint::parts; part < rank_texts::parts; ++part) {
    const std::string name = rank_texts::name(part);
    CHECK(meeting(given(part, {"theirs", "our"})) ==
          "ddp: ranks 0 and 1 would make different steps: expected the same " + name +
              " on every rank, found theirs on rank 0 and "
              "our on rank 1; start every rank from the same program with the same arguments");
    CHECK(has(meeting(given(part, {"theirs", "our", "theirs"})),
              "ddp: rank 1 would make different steps from the others: expected the same " + name +
                  " on every rank, found our on rank 1 and theirs on ranks 0 and 2; start"));
  }
  std::vector<told> silent(3);
  silent[2].settings = 8;
  CHECK(has(meeting(silent),
            "ddp: rank 2 would make different steps from the others: expected the same loss and optimizer on every "
            "rank, found others; start"));
  // A difference of the builds is reported first.
  std::vector<told> both = built(0, {"three", "three", "one"});
  both[0].settings = 9;
  CHECK(has(meeting(both), "ddp: rank 2 was built differently from the others"));
}

TEST_CASE("handshake: words travel only where the numbers differ") {
  struct counting {
    threads::rank& inner;
    int exchanges = 0;
    int rank() const { return inner.rank(); }
    int size() const { return inner.size(); }
    void exchange(std::span<const std::byte> own, std::span<std::byte> all) {
      ++exchanges;
      inner.exchange(own, all);
    }
  };
  threads{2}.run([](threads::rank& rank) {
    cpu device;
    counting comm{rank};
    const told own;
    compare_builds(comm, device.compute(), own.built, own.settings, own.texts);
    CHECK(comm.exchanges == 1);
    const auto settings = static_cast<std::uint64_t>(rank.rank());
    CHECK_THROWS_AS(compare_builds(comm, device.compute(), own.built, settings, own.texts), input_error);
    CHECK(comm.exchanges == 3);
  });
}

} // namespace handshake_tests
