# SPDX-License-Identifier: MIT
# Cairn from the clone that this file lies in: vcpkg install cairn --overlay-ports=tests/package/vcpkg
# A feature brings the library that a component needs. The package is the same with and without it: components are made in
# the project that asks for them.
set(VCPKG_BUILD_TYPE release) # there are headers only
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH clone)
foreach(level IN ITEMS package tests clone)
  cmake_path(GET clone PARENT_PATH clone)
endforeach()

vcpkg_cmake_configure(
  SOURCE_PATH "${clone}"
  OPTIONS
    -DCAIRN_BUILD_TESTS=OFF
    -DCAIRN_BUILD_EXAMPLES=OFF
    -DCMAKE_DISABLE_FIND_PACKAGE_BLAS=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_JPEG=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_PNG=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_dnnl=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
    -DCMAKE_DISABLE_FIND_PACKAGE_xtensor=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/cairn)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib")

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${clone}/LICENSE")
