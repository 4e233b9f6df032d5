// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_IMAGES
#error "jpeg_decoder.hpp needs libjpeg: link the CMake target cairn::images, or compile with -DCAIRN_WITH_IMAGES=1 -lpng -ljpeg"
#else

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

#include <csetjmp>
#include <jerror.h>
#include <jpeglib.h>

namespace cairn::detail {

// Decodes one JPEG in memory by libjpeg: begin() reads its extents, finish() its pixels. A failure of libjpeg jumps back into
// the function that called it; those two therefore have no objects with destructors, and report failures by false and fault().
// The orientation in a file's EXIF part is not applied.
class jpeg_decoder {
public:
  static constexpr int most_scans = 1000; // a scan may be a few bytes, and takes the time of a whole image

  jpeg_decoder() {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = &fail;
    errors_.emit_message = &judge;
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = &watch;
  }
  jpeg_decoder(const jpeg_decoder&) = delete;
  jpeg_decoder& operator=(const jpeg_decoder&) = delete;
  ~jpeg_decoder() { jpeg_destroy_decompress(&info_); }

  // The bytes must stay until the last call.
  bool begin(std::span<const std::uint8_t> bytes) {
    if (setjmp(place_) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, bytes.data(), static_cast<unsigned long>(bytes.size()));
    jpeg_read_header(&info_, TRUE);
    switch (info_.jpeg_color_space) {
    case JCS_GRAYSCALE: info_.out_color_space = JCS_GRAYSCALE; break;
    case JCS_CMYK:
    case JCS_YCCK: info_.out_color_space = JCS_CMYK; break;
    default: info_.out_color_space = JCS_RGB;
    }
    return true;
  }

  // After begin(). Four channels are cyan, magenta, yellow and black, where 255 is no ink, as Adobe's programs write them.
  std::size_t height() const { return info_.image_height; }
  std::size_t width() const { return info_.image_width; }
  std::size_t channels() const { return info_.out_color_space == JCS_GRAYSCALE ? 1 : info_.out_color_space == JCS_CMYK ? 4 : 3; }

  // Writes height() x width() x channels() bytes, and reads the file to its end.
  bool finish(std::uint8_t* to) {
    if (setjmp(place_) != 0) return false;
    jpeg_start_decompress(&info_);
    const std::size_t row = width() * channels();
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW next = to + info_.output_scanline * row;
      jpeg_read_scanlines(&info_, &next, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  const char* fault() const { return fault_.data(); }

private:
  static jpeg_decoder& self(j_common_ptr info) { return *static_cast<jpeg_decoder*>(info->client_data); }

  [[noreturn]] static void fail(j_common_ptr info) {
    info->err->format_message(info, self(info).fault_.data());
    std::longjmp(self(info).place_, 1);
  }
  // libjpeg only warns of missing or damaged pixels, and goes on with grey ones. Those are errors here; warnings that leave the
  // pixels alone are ignored.
  static void judge(j_common_ptr info, int level) {
    const int code = info->err->msg_code;
    if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR && code != JWRN_ADOBE_XFORM) fail(info);
  }
  static void watch(j_common_ptr info) {
    if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= most_scans) return;
    std::snprintf(self(info).fault_.data(), self(info).fault_.size(), "it has more than %d scans", most_scans);
    std::longjmp(self(info).place_, 1);
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf place_{};
  std::array<char, JMSG_LENGTH_MAX> fault_{};
};

} // namespace cairn::detail

#endif // CAIRN_WITH_IMAGES
