# SPDX-License-Identifier: MIT
# Makes cairn::precompiled: each target that links it reads cairn/cairn.hpp as a precompiled header.
if(NOT TARGET cairn::precompiled)
  add_library(cairn_precompiled INTERFACE)
  add_library(cairn::precompiled ALIAS cairn_precompiled)
  target_link_libraries(cairn_precompiled INTERFACE cairn::cairn)
  target_precompile_headers(cairn_precompiled INTERFACE <cairn/cairn.hpp>)
endif()
