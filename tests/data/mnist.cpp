// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <cairn/data/mnist.hpp>

namespace mnist_tests {

using namespace cairn;

namespace {

using bytes = std::vector<std::uint8_t>;
constexpr auto to_byte = [](std::size_t n) { return static_cast<std::uint8_t>(n); };

bytes images(std::size_t count, std::size_t side = 2) {
  bytes file{0, 0, 8, 3, 0, 0, 0, to_byte(count), 0, 0, 0, to_byte(side), 0, 0, 0, to_byte(side)};
  for (std::size_t i = 0; i < count * side * side; ++i) file.push_back(to_byte(i));
  return file;
}
bytes labels(std::size_t count) {
  bytes file{0, 0, 8, 1, 0, 0, 0, to_byte(count)};
  for (std::size_t i = 0; i < count; ++i) file.push_back(to_byte(i % 10));
  return file;
}

// A small MNIST in a folder of its own; each test changes one file.
class small_mnist {
public:
  explicit small_mnist(const std::string& name)
      : folder(std::filesystem::temp_directory_path() / ("cairn_mnist_" + name + std::to_string(std::random_device{}()))) {
    std::filesystem::create_directories(folder);
    write("train-images-idx3-ubyte", images(12));
    write("train-labels-idx1-ubyte", labels(12));
    write("t10k-images-idx3-ubyte", images(3));
    write("t10k-labels-idx1-ubyte", labels(3));
  }
  ~small_mnist() { std::filesystem::remove_all(folder); }
  void write(const std::string& name, const bytes& content) const {
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  }
  std::string fault() const {
    try {
      vision::read_mnist(folder);
    } catch (const error& e) {
      return e.what();
    }
    return "no error";
  }
  std::filesystem::path folder;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("read_mnist reads images (height, width, 1) and labels") {
  const small_mnist small("sound");
  CHECK(vision::has_mnist(small.folder));
  const auto digits = vision::read_mnist(small.folder);
  CHECK(digits.train.size() == 12);
  CHECK(digits.test.size() == 3);
  CHECK(digits.train.sample_shape() == shape{2, 2, 1});
  CHECK(digits.train.labels()[11] == 1);
  std::array<float, 4> input{};
  std::array<std::int32_t, 1> label{};
  digits.train.read(1, input, label);
  CHECK(input[0] == doctest::Approx((4 / 255.0 - 0.1307) / 0.3081));
  CHECK(label[0] == 1);
  std::array<double, 4> unscaled{};
  vision::read_mnist<double>(small.folder, {}).train.read(1, unscaled, label);
  CHECK(unscaled[0] == 4 / 255.0);
}

TEST_CASE("read_mnist takes the names with a dot too") {
  const small_mnist small("dotted");
  std::filesystem::rename(small.folder / "train-images-idx3-ubyte", small.folder / "train-images.idx3-ubyte");
  CHECK(vision::has_mnist(small.folder));
  CHECK(vision::read_mnist(small.folder).train.size() == 12);
}

TEST_CASE("read_mnist says which file is at fault and what to do") {
  const small_mnist small("faults");
  small.write("train-labels-idx1-ubyte", labels(11));
  CHECK(contains(small.fault(), "train-labels-idx1-ubyte, byte 4: expected one label for each of the 12 images of "));
  CHECK(contains(small.fault(), "found 11; take both files from the same data set"));
  small.write("train-labels-idx1-ubyte", images(12));
  CHECK(contains(small.fault(), "train-labels-idx1-ubyte, byte 3: expected 1 extent (labels), found 3"));
  auto wrong = labels(12);
  wrong[8 + 5] = 10;
  small.write("train-labels-idx1-ubyte", wrong);
  CHECK(contains(small.fault(), "train-labels-idx1-ubyte, byte 13: expected a label from 0 to 9, found 10"));
  small.write("train-labels-idx1-ubyte", labels(12));
  small.write("t10k-images-idx3-ubyte", labels(3));
  CHECK(contains(small.fault(), "t10k-images-idx3-ubyte, byte 3: expected 3 extents (images, height, width)"));
  small.write("t10k-images-idx3-ubyte", images(3, 3));
  CHECK(contains(small.fault(), "expected images of one size to train and to test with, found 4 and 9 pixels"));
  small.write("t10k-images-idx3-ubyte", images(3, 0));
  CHECK(contains(small.fault(), "t10k-images-idx3-ubyte, byte 8: expected extents of 1 or more, found extent 1 = 0"));
  std::filesystem::remove(small.folder / "t10k-images-idx3-ubyte");
  small.write("t10k-images-idx3-ubyte.gz", {0x1F, 0x8B});
  CHECK(contains(small.fault(), "t10k-images-idx3-ubyte.gz is there: gunzip it first"));
  small.write("t10k-images-idx3-ubyte", {0x1F, 0x8B, 8, 8});
  CHECK(contains(small.fault(), "found a gzip file; gunzip it first"));
  CHECK_FALSE(vision::has_mnist(small.folder / "nowhere"));
}

TEST_CASE("the real MNIST, where CAIRN_DATA says it is") {
  const char* const data = std::getenv("CAIRN_DATA");
  if (data == nullptr || !vision::has_mnist(std::filesystem::path(data) / "mnist")) return;
  const auto digits = vision::read_mnist(std::filesystem::path(data) / "mnist");
  CHECK(digits.train.sample_shape() == shape{28, 28, 1});
  CHECK(digits.train.size() >= 1000);
  std::array<int, 10> seen{};
  for (const std::uint8_t label : digits.train.labels()) ++seen.at(label);
  for (const int times : seen) CHECK(times > static_cast<int>(digits.train.size()) / 15);
  double sum = 0;
  for (const std::uint8_t pixel : digits.train.pixels()) sum += pixel;
  CHECK(sum / 255 / static_cast<double>(digits.train.pixels().size()) == doctest::Approx(0.1307).epsilon(0.03));
}

} // namespace mnist_tests
