// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <cairn/device/cpu.hpp>
#include <cairn/layer/linear.hpp>
#include <cairn/layer/relu.hpp>
#include <cairn/net/blueprint.hpp>
#include <cairn/train/adam.hpp>
#include <cairn/train/cross_entropy_loss.hpp>
#include <cairn/train/handshake.hpp>
#include <cairn/train/learning_rate.hpp>
#include <cairn/train/mse_loss.hpp>
#include <cairn/train/sgd.hpp>
#include <doctest/doctest.h>

using namespace cairn;
using namespace cairn::detail;

namespace {

// A rank 3 that is sent what rank 0 was built from and given.
struct from_rank_0 {
  fingerprint built{};
  std::uint64_t given = 0;
  rank_texts texts{};
  int calls = 0;

  struct ticket {
    void wait(cpu::queue&) {}
  };
  int rank() const { return 3; }
  ticket broadcast(cpu::queue&, std::span<std::byte> bytes, int root) {
    CHECK(root == 0);
    if (calls++ == 0) {
      REQUIRE(bytes.size() == sizeof built.words + sizeof given);
      std::memcpy(bytes.data(), built.words.data(), sizeof built.words);
      std::memcpy(bytes.data() + sizeof built.words, &given, sizeof given);
    } else {
      REQUIRE(bytes.size() == sizeof texts);
      std::memcpy(bytes.data(), &texts, sizeof texts);
    }
    return {};
  }
};

std::string meeting(const fingerprint& first, const fingerprint& own, std::uint64_t given, std::uint64_t settings,
                    const rank_texts& of_rank_0 = {}, const rank_texts& texts = {}) {
  cpu device;
  from_rank_0 comm{first, given, of_rank_0};
  std::string fault;
  try {
    compare_builds(comm, device.compute(), own, settings, texts);
  } catch (const input_error& thrown) {
    fault = thrown.what();
  }
  CHECK(comm.calls == 2); // whether they agree or not
  return fault;
}
rank_texts saying(std::size_t part, const std::string& text) {
  rank_texts out;
  out.write(part, text);
  return out;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("handshake: ranks that were built alike and given the same meet") {
  const fingerprint any{.words = {1, 2, 3, 4, 5}};
  CHECK(meeting(any, any, 7, 7) == "");
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
  static_assert(fingerprint_of<blueprint_of<fused_update<Net>, 2>, float>(cut) == own);
}

TEST_CASE("handshake: the refusal says which rank, what differs and what to do") {
  const fingerprint own{.words = {1, 2, 3, 4, 5}};
  for (std::size_t part = 0; part < fingerprint::parts; ++part) {
    fingerprint first = own;
    first.words[part] = 99;
    const std::string text = meeting(first, own, 7, 7, saying(part, "theirs"), saying(part, "ours"));
    CHECK(has(text, "rank 3 and rank 0 were built differently"));
    CHECK(has(text, std::string("the same ") + fingerprint::names[part]));
    CHECK(has(text, "found ours on rank 3 and theirs on rank 0"));
    CHECK(has(text, "start every rank from the same program"));
    // Words that are cut, or do not say everything.
    const std::string numbers = meeting(first, own, 7, 7, saying(part, "alike"), saying(part, "alike"));
    CHECK(has(numbers, "found fingerprints " + std::to_string(part + 1) + " and 99, of alike"));
  }
}

TEST_CASE("handshake: the refusal says which setting differs") {
  const fingerprint own{.words = {1, 2, 3, 4, 5}};
  for (std::size_t part = fingerprint::parts; part < rank_texts::parts; ++part) {
    const std::string text = meeting(own, own, 7, 8, saying(part, "theirs"), saying(part, "ours"));
    CHECK(has(text, "rank 3 and rank 0 would make different steps"));
    CHECK(has(text, std::string("the same ") + rank_texts::name(part) + " on every rank, found ours on rank 3 and theirs on"));
    CHECK(has(text, "the same arguments"));
  }
  CHECK(has(meeting(own, own, 7, 8), "expected the same loss and optimizer on every rank, found others"));
  // Words decide nothing.
  CHECK(meeting(own, own, 7, 7, saying(0, "theirs"), saying(0, "ours")) == "");
}
