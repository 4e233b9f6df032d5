# SPDX-License-Identifier: MIT
# Makes cairn::images, for the headers of <cairn/data/images/>, which decode PNG and JPEG files: from the libpng and the libjpeg that
# CMake finds. libjpeg-turbo decodes several times as fast as other libraries of that name.
#
# Sets cairn_images_found or cairn_images_missing, the second half of a sentence for people.
if(TARGET cairn::images)
  return()
endif()

find_package(PNG QUIET)
find_package(JPEG QUIET)
set(cairn_images_source "install libpng-dev and libjpeg-dev (Debian), or libpng and libjpeg-turbo by conan or vcpkg")
if(NOT TARGET PNG::PNG)
  set(cairn_images_missing "as libpng and its headers were not found: ${cairn_images_source}")
elseif(NOT TARGET JPEG::JPEG)
  set(cairn_images_missing "as libjpeg and its headers were not found: ${cairn_images_source}")
else()
  add_library(cairn::images INTERFACE IMPORTED)
  target_link_libraries(cairn::images INTERFACE cairn::cairn PNG::PNG JPEG::JPEG)
  target_compile_definitions(cairn::images INTERFACE CAIRN_WITH_IMAGES=1)
  set(cairn_images_found "by libpng ${PNG_VERSION_STRING} and libjpeg ${JPEG_VERSION}")
endif()
