# SPDX-License-Identifier: MIT
# Makes cairn::safetensors, for <cairn/train/state/safetensors.hpp> and <cairn/data/safetensors.hpp>, which read and write JSON.
#
# Sets cairn_safetensors_found or cairn_safetensors_missing, the second half of a sentence for people.
if(TARGET cairn::safetensors)
  return()
endif()

# A package does not prove that its headers are there. If the target is that of a project's own nlohmann-json, so are they.
set(cairn_safetensors_source "install nlohmann-json3-dev (Debian), or nlohmann_json by conan or vcpkg")
find_package(nlohmann_json CONFIG QUIET)
if(nlohmann_json_FOUND)
  get_target_property(cairn_safetensors_folders nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
  find_path(CAIRN_JSON_INCLUDE_DIR nlohmann/json.hpp HINTS ${cairn_safetensors_folders})
  mark_as_advanced(CAIRN_JSON_INCLUDE_DIR)
endif()
if(nlohmann_json_FOUND AND NOT CAIRN_JSON_INCLUDE_DIR)
  set(cairn_safetensors_missing "as nlohmann/json.hpp was not found: ${cairn_safetensors_source}")
elseif(TARGET nlohmann_json::nlohmann_json)
  add_library(cairn::safetensors INTERFACE IMPORTED)
  target_link_libraries(cairn::safetensors INTERFACE cairn::cairn nlohmann_json::nlohmann_json)
  set(cairn_safetensors_found "by nlohmann-json ${nlohmann_json_VERSION}")
else()
  set(cairn_safetensors_missing "as nlohmann-json was not found: ${cairn_safetensors_source}")
endif()
