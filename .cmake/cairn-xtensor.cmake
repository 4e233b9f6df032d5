# SPDX-License-Identifier: MIT
# Makes cairn::xtensor, for <cairn/data/xtensor.hpp>.
#
# Sets cairn_xtensor_found or cairn_xtensor_missing, the second half of a sentence for people.
if(TARGET cairn::xtensor)
  return()
endif()

find_package(xtensor CONFIG QUIET)
if(TARGET xtensor)
  add_library(cairn::xtensor INTERFACE IMPORTED)
  target_link_libraries(cairn::xtensor INTERFACE cairn::cairn xtensor)
  set(cairn_xtensor_found "xtensor ${xtensor_VERSION}")
else()
  set(cairn_xtensor_missing "as xtensor was not found: install libxtensor-dev (Debian), or xtensor by conan or vcpkg")
endif()
