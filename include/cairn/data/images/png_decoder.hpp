// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_IMAGES
#error "png_decoder.hpp needs libpng: link the CMake target cairn::images, or compile with -DCAIRN_WITH_IMAGES=1 -lpng -ljpeg"
#else

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>

#include <csetjmp>
#include <png.h>

namespace cairn::detail {

// Decodes one PNG in memory by libpng: begin() reads its extents, finish() its pixels. A failure of libpng jumps back into the
// function that called it; those two therefore have no objects with destructors, and report failures by false and fault().
// Pixels have 8 bits; of 16 the upper 8 are taken. Opacity is dropped, and no gamma or colour profile is applied.
class png_decoder {
public:
  // The bytes must stay until the last call.
  explicit png_decoder(std::span<const std::uint8_t> bytes) : left_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &fail, &ignore);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ != nullptr) return;
    png_destroy_read_struct(&png_, nullptr, nullptr);
    throw std::bad_alloc();
  }
  png_decoder(const png_decoder&) = delete;
  png_decoder& operator=(const png_decoder&) = delete;
  ~png_decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }

  bool begin() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, &give);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX); // the caller has a limit of its own
    // Texts, profiles and other parts that change no pixel are passed over: unpacked, they could be gigabytes.
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(png_, info_);
    return true;
  }

  // After begin().
  std::size_t height() const { return png_get_image_height(png_, info_); }
  std::size_t width() const { return png_get_image_width(png_, info_); }
  std::size_t channels() const { return (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1; }

  // Writes height() x width() x channels() bytes, and reads the file to its end.
  bool finish(std::uint8_t* to) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_palette_to_rgb(png_);
    png_set_expand_gray_1_2_4_to_8(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    const std::size_t row = width() * channels();
    if (png_get_rowbytes(png_, info_) != row) png_error(png_, "rows have another length than their pixels");
    for (int pass = 0; pass < passes; ++pass)
      for (std::size_t y = 0; y < height(); ++y) png_read_row(png_, to + y * row, nullptr);
    png_read_end(png_, nullptr);
    return true;
  }

  const char* fault() const { return fault_.data(); }

private:
  static void fail(png_structp png, png_const_charp text) {
    auto* const self = static_cast<png_decoder*>(png_get_error_ptr(png));
    std::snprintf(self->fault_.data(), self->fault_.size(), "%s", text);
    png_longjmp(png, 1);
  }
  static void ignore(png_structp, png_const_charp) {}
  static void give(png_structp png, png_bytep to, std::size_t count) {
    auto* const self = static_cast<png_decoder*>(png_get_io_ptr(png));
    if (count > self->left_.size()) png_error(png, "the file ends too early");
    std::memcpy(to, self->left_.data(), count);
    self->left_ = self->left_.subspan(count);
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::span<const std::uint8_t> left_;
  std::array<char, 200> fault_{};
};

} // namespace cairn::detail

#endif // CAIRN_WITH_IMAGES
