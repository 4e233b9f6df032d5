# SPDX-License-Identifier: MIT
# Makes cairn::xtensor, for <cairn/data/xtensor.hpp>.
#
# Sets cairn_xtensor_found or cairn_xtensor_missing, the second half of a sentence for people.
if(TARGET cairn::xtensor)
  return()
endif()

# A package does not prove that its headers are there, nor those of xtl, which they include.
set(cairn_xtensor_source "install libxtensor-dev (Debian), or xtensor by conan or vcpkg")
find_package(xtensor CONFIG QUIET)
if(xtensor_FOUND)
  get_target_property(cairn_xtensor_folders xtensor INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(cairn_xtl_folders xtl INTERFACE_INCLUDE_DIRECTORIES)
  find_path(CAIRN_XTENSOR_INCLUDE_DIR NAMES xtensor/xtensor.hpp xtensor/containers/xtensor.hpp HINTS ${cairn_xtensor_folders})
  find_path(CAIRN_XTL_INCLUDE_DIR xtl/xtl_config.hpp HINTS ${cairn_xtl_folders})
  mark_as_advanced(CAIRN_XTENSOR_INCLUDE_DIR CAIRN_XTL_INCLUDE_DIR)
endif()
if(xtensor_FOUND AND NOT (CAIRN_XTENSOR_INCLUDE_DIR AND CAIRN_XTL_INCLUDE_DIR))
  set(cairn_xtensor_missing "as the headers of xtensor or of xtl were not found: ${cairn_xtensor_source}")
elseif(TARGET xtensor)
  add_library(cairn::xtensor INTERFACE IMPORTED)
  target_link_libraries(cairn::xtensor INTERFACE cairn::cairn xtensor)
  set(cairn_xtensor_found "xtensor ${xtensor_VERSION}")
else()
  set(cairn_xtensor_missing "as xtensor was not found: ${cairn_xtensor_source}")
endif()
