// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/core/rooms.hpp>
#include <cairn/data/file.hpp>
#include <cairn/data/images/image_options.hpp>
#include <cairn/data/images/jpeg_decoder.hpp>
#include <cairn/data/images/png_decoder.hpp>

namespace cairn::detail {

// The format of a file, from its first bytes.
inline std::string_view image_format(std::span<const std::uint8_t> bytes) {
  using namespace std::string_view_literals;
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> known{{{"\x89PNG\r\n\x1A\n"sv, "PNG"sv},
                                                                                {"\xFF\xD8\xFF"sv, "JPEG"sv},
                                                                                {"GIF8"sv, "GIF"sv},
                                                                                {"RIFF"sv, "WebP"sv},
                                                                                {"BM"sv, "BMP"sv},
                                                                                {"II*\0"sv, "TIFF"sv},
                                                                                {"MM\0*"sv, "TIFF"sv},
                                                                                {"\0\0\0"sv, "AVIF or HEIC"sv}}};
  for (const auto& [begin, name] : known)
    if (bytes.size() >= begin.size() && std::equal(begin.begin(), begin.end(), bytes.begin(),
                                                   [](char c, std::uint8_t b) { return static_cast<std::uint8_t>(c) == b; }))
      return name;
  return {};
}

[[noreturn]] inline void refuse_image(const std::string& name, const std::string& expected, const std::string& found) {
  throw file_error(name + ": expected " + expected + ", found " + found);
}

// Ink of four colours, where 255 is none, as red, green and blue: each is what its ink and the black leave of white, rounded.
inline void ink_to_colour(const std::uint8_t* ink, std::uint8_t* to) {
  for (std::size_t c = 0; c < 3; ++c) {
    const unsigned product = (255U - ink[c]) * ink[3];
    to[c] = static_cast<std::uint8_t>(ink[3] - (product + 127) / 255);
  }
}

// The brightness of a colour by the weights of ITU-R BT.601, 0.299, 0.587 and 0.114, in units of 2^-16, rounded.
inline std::uint8_t grey_of(const std::uint8_t* colour) {
  return static_cast<std::uint8_t>((colour[0] * 19595U + colour[1] * 38470U + colour[2] * 7471U + 0x8000U) >> 16U);
}

// Converts pixels of 1, 3 or 4 channels (grey, colour, ink) to 1 or 3.
inline std::vector<std::uint8_t> pixels_with(std::size_t channels, std::vector<std::uint8_t> from, std::size_t stored) {
  if (stored == channels) return from;
  const std::size_t pixels = from.size() / stored;
  std::vector<std::uint8_t> out(pixels * channels);
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint8_t* const pixel = from.data() + i * stored;
    std::uint8_t* const to = out.data() + i * channels;
    std::array<std::uint8_t, 3> colour{pixel[0], pixel[0], pixel[0]};
    if (stored == 4) ink_to_colour(pixel, colour.data());
    else if (stored == 3) std::copy_n(pixel, 3, colour.begin());
    if (channels == 3) std::copy_n(colour.begin(), 3, to);
    else *to = grey_of(colour.data());
  }
  return out;
}

// Reads an image with a decoder that has begun, or has failed to.
template <class Decoder>
decoded_image finish_image(Decoder& decoder, bool begun, const image_options& how, const std::string& name, const char* format) {
  const auto damaged = [&] {
    refuse_image(name, std::string("a whole and sound ") + format + " file",
                 std::string("a damaged one: ") + decoder.fault() + "; get the file again");
  };
  if (!begun) damaged();
  decoded_image out{decoder.height(), decoder.width(), how.channels, {}};
  if (out.width == 0 || out.height > how.most_pixels / out.width)
    refuse_image(name, "an image of at most " + std::to_string(how.most_pixels) + " pixels",
                 words_of_extents(out.height, out.width) + "; a larger .most_pixels reads it");
  std::vector<std::uint8_t> stored(out.height * out.width * decoder.channels());
  if (!decoder.finish(stored.data())) damaged();
  out.pixels = pixels_with(how.channels, std::move(stored), decoder.channels());
  return out;
}

inline std::vector<std::uint8_t> image_bytes(const std::string& path) {
  open_file file(path, O_RDONLY);
  const std::uint64_t size = file.size();
  if (size == file.no_size) refuse_image(path, "a PNG or JPEG file", file.fault() + "; check the path");
  if (size > std::numeric_limits<std::ptrdiff_t>::max()) throw std::bad_alloc();
  std::vector<std::uint8_t> out(static_cast<std::size_t>(size));
  if (!file.read(out.data(), out.size(), 0))
    refuse_image(path, std::to_string(size) + " readable bytes",
                 "an error of the file system, or a shorter file; check the permissions and the disk");
  return out;
}

// Calls read() and reports a lack of memory as the fault of the file.
template <class Read>
auto in_memory_of_image(const std::string& name, Read&& read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  refuse_image(name, "an image that fits into memory", "a larger one; a smaller .most_pixels refuses it earlier");
}

} // namespace cairn::detail

namespace cairn::vision {

// Decodes a PNG or a JPEG in memory, which its first bytes distinguish; `name` is what errors call it. Any number of threads
// may do so at the same time.
//
// The bytes are those of Pillow's Image.open(path).convert("RGB"), or "L" for one channel: colours become grey by 0.299 red +
// 0.587 green + 0.114 blue, rounded, and grey becomes three equal channels. A palette is looked up. Opacity is dropped, so that
// a transparent pixel has the colour stored for it. Of 16 bits the upper 8 are taken (Pillow cuts grey ones off at 255). JPEGs
// of four inks are converted without a colour profile. The orientation in EXIF is not applied, as torchvision's ImageFolder
// does not.
//
// Throws file_error, which says what was found, for bytes of another format, for files that are damaged or end early, and
// for more pixels than most_pixels, before memory is allocated for them. JPEG scans are at most 1000.
inline types::decoded_image decode_image(std::span<const std::uint8_t> bytes, const types::image_options& how = {},
                                         const std::string& name = "the image") {
  if (how.channels != 1 && how.channels != 3)
    throw input_error("decode_image: expected 1 or 3 channels, found " + std::to_string(how.channels));
  return detail::in_memory_of_image(name, [&] {
    const std::string_view format = detail::image_format(bytes);
    if (format == "PNG") {
      detail::png_decoder decoder(bytes);
      return detail::finish_image(decoder, decoder.begin(), how, name, "PNG");
    }
    if (format == "JPEG") {
      detail::jpeg_decoder decoder;
      return detail::finish_image(decoder, decoder.begin(bytes), how, name, "JPEG");
    }
    const std::string found = bytes.empty()    ? "an empty file"
                              : format.empty() ? "bytes of no known format"
                                               : "what seems to be " + std::string(format);
    detail::refuse_image(name, "a PNG or JPEG image", found + "; convert it, or leave it out");
  });
}

// The same from a file, which is read whole:
//
//   const auto cat = vision::read_image("cat.jpg");              // cat.pixels are (cat.height, cat.width, 3)
//   const auto grey = vision::read_image("cat.jpg", {.channels = 1});
inline types::decoded_image read_image(const std::string& path, const types::image_options& how = {}) {
  const auto bytes = detail::in_memory_of_image(path, [&] { return detail::image_bytes(path); });
  return decode_image(bytes, how, path);
}

} // namespace cairn::vision
