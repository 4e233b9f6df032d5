// SPDX-License-Identifier: MIT
// Inference with a trained network: a model has parameters and the arena of an evaluation, but no loss, optimizer or gradients.
// It reads weights from a file, for example a state of examples/resume, and evaluates images one at a time, many at once, with
// weights of fewer bytes, and one at a time on several threads that share the weights.
//
//   inference --weights resume_run/best.safetensors
//
// long to compile
// needs: safetensors
// test:
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/train/state/safetensors.hpp>

#include "command_line.hpp"
#include "found_digits.hpp"

namespace mine {

using namespace cairn;

namespace {

using Net = Sequential<Linear<784, 128>, ReLU, Dropout<percent<20>>, Linear<128, 10>>; // as examples/resume trains it
constexpr std::size_t many = 256;

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Evaluates the images `rows` at a time into memory that is allocated once: after the first call nothing is allocated.
template <std::size_t Rows>
void answer(const model<Net, batch<Rows>>& net, const char* of, const vision::digit_images<float>& digits,
            report::table& results) {
  std::vector<float> images(Rows * 784), outputs(Rows * 10);
  std::vector<int> labels(Rows);
  std::vector<double> seconds;
  std::size_t right = 0, seen = 0;
  for (const auto& [x, y] : loader{digits.test, sequential_sampler{}, batch<Rows>{}}) {
    seconds.push_back(seconds_of([&, &x = x] { net.evaluate(x, outputs); }));
    const tensor_view<const float> scores{outputs.data(), x.rows(), shape{10}};
    const auto found = argmax(scores);
    for (std::size_t i = 0; i < found.size(); ++i) right += static_cast<int>(found[i]) == static_cast<int>(y.data()[i]) ? 1 : 0;
    seen += found.size();
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2], late = seconds[seconds.size() * 99 / 100];
  char percent[16], rate[32];
  std::snprintf(percent, sizeof percent, "%.2f %%", 100 * static_cast<double>(right) / static_cast<double>(seen));
  std::snprintf(rate, sizeof rate, "%.0f images/s", static_cast<double>(Rows) / median);
  results.row({std::to_string(Rows), of, report::format_duration(median), report::format_duration(late), rate, percent,
               report::format_bytes(model<Net, batch<Rows>>::plan::evaluated::arena)});
}

// Images a second of `threads` threads, one image at a time, each in a session of its own on weights that all share.
double rate_of(const model<Net, batch<1>>& net, const std::vector<float>& images, std::size_t threads) {
  constexpr std::size_t rounds = 5;
  const double seconds = seconds_of([&] {
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t)
      all.emplace_back([&] {
        session own{net};
        for (std::size_t round = 0; round < rounds; ++round)
          for (std::size_t at = 0; at < images.size(); at += 784) own.evaluate(std::span(images).subspan(at, 784));
      });
    for (std::thread& one : all) one.join();
  });
  const std::size_t answers = threads * rounds * (images.size() / 784);
  return static_cast<double>(answers) / seconds;
}

} // namespace

int program(int count, char** words) {
  std::string weights, data;
  command_line given("inference", "evaluates a network that was trained before");
  given.add("weights", weights, "a safetensors file of this network's weights, or a state of examples/resume")
      .add("data", data, "folder with MNIST's four files (else $CAIRN_DATA/mnist, else generated digits)")
      .parse(count, words);
  try {
    if (weights.empty()) {
      weights = "inference_untrained.safetensors";
      model<Net, batch<1>> untrained{{.seed = 1}};
      save_weights(untrained, weights);
      std::printf("no --weights are given: untrained ones are written to %s and read from there\n", weights.c_str());
    }
    const auto digits = found_digits(data, stdout, {.train = 1, .test = 1000});
    model<Net, batch<1>> one{{.threads = 1}};
    model<Net, batch<many>> all;
    load_weights(one, weights);
    all.copy_parameters(one);
    report::table results({"images at once", "weights", "latency, median", "99th percentile", "rate", "right", "arena"});
    answer(one, "float", digits, results);
    for (const auto& [format, name] :
         {std::pair(ops::weight_format::bfloat16, "bfloat16"), std::pair(ops::weight_format::int8, "int8")}) {
      model<Net, batch<1>> narrow{{.threads = 1, .weights = format}};
      narrow.copy_parameters(one);
      answer(narrow, name, digits, results);
    }
    answer(all, "float", digits, results);
    std::printf("%s\n", results.text().c_str());
    std::vector<float> images;
    for (const auto& [x, y] : loader{digits.test, sequential_sampler{}, batch<many>{}})
      images.insert(images.end(), x.begin(), x.end());
    report::table shared({"threads that ask one model", "rate"});
    for (std::size_t threads = 1; threads <= 4; threads *= 2)
      shared.row({std::to_string(threads),
                  report::format_count(static_cast<std::uint64_t>(rate_of(one, images, threads))) + " images/s"});
    std::printf("%s\n", shared.text().c_str());
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "inference: %s\n", fault.what());
    return 1;
  }
}

} // namespace mine

int main(int count, char** words) { return mine::program(count, words); }
