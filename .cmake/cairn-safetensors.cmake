# SPDX-License-Identifier: MIT
# Makes cairn::safetensors, for <cairn/train/safetensors.hpp> and <cairn/data/safetensors.hpp>, which read and write JSON.
#
# Sets cairn_safetensors_found or cairn_safetensors_missing, the second half of a sentence for people.
if(TARGET cairn::safetensors)
  return()
endif()

find_package(nlohmann_json CONFIG QUIET)
if(TARGET nlohmann_json::nlohmann_json)
  add_library(cairn::safetensors INTERFACE IMPORTED)
  target_link_libraries(cairn::safetensors INTERFACE cairn::cairn nlohmann_json::nlohmann_json)
  set(cairn_safetensors_found "by nlohmann-json ${nlohmann_json_VERSION}")
else()
  set(cairn_safetensors_missing "as nlohmann-json was not found: install nlohmann-json3-dev (Debian), or nlohmann_json by conan or vcpkg")
endif()
