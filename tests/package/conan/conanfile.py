# SPDX-License-Identifier: MIT
"""Cairn for Conan 2, from a clone: `conan create tests/package/conan -s compiler.cppstd=20`.

The package brings Cairn's own CMake files, so that find_package(cairn COMPONENTS ...) works as it does without Conan. An
option adds the library that a component needs, and nothing else: there is one package, whatever the options are.
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.scm import Version

OLDEST = {"gcc": "11", "clang": "14"}  # include/cairn/core/config.hpp refuses older ones


class Cairn(ConanFile):
    name = "cairn"
    description = "Neural networks whose structure is a C++ type"
    license = "MIT"
    topics = ("neural-networks", "training", "checkpointing", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {f"with_{component}": [True, False] for component in ("blas", "images", "mpi", "onednn", "safetensors", "xtensor")}
    default_options = {option: False for option in options}
    no_copy_source = True

    @property
    def _clone(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        config = load(self, os.path.join(self._clone, "include", "cairn", "core", "config.hpp"))
        self.version = ".".join(re.findall(r"^#define CAIRN_VERSION_\w+ (\d+)$", config, re.M))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", ".cmake/*", "include/*"):
            copy(self, pattern, self._clone, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # The component's headers include these, so that they reach the user's compiler. Conan has no oneDNN: with_onednn means
        # the machine's own.
        if self.options.with_blas:
            self.requires("openblas/[>=0.3 <1]", transitive_headers=True, transitive_libs=True)
        if self.options.with_images:
            self.requires("libpng/[>=1.6 <2]", transitive_headers=True, transitive_libs=True)
            self.requires("libjpeg-turbo/[>=2.1 <4]", transitive_headers=True, transitive_libs=True)
        if self.options.with_mpi:
            self.requires("openmpi/[>=4.1 <5]", transitive_headers=True, transitive_libs=True)
        if self.options.with_safetensors:
            self.requires("nlohmann_json/[>=3.9 <4]", transitive_headers=True)
        if self.options.with_xtensor:
            self.requires("xtensor/[>=0.24 <1]", transitive_headers=True)

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        compiler, version = str(self.settings.compiler), str(self.settings.compiler.version)
        if Version(version) < OLDEST.get(compiler, "0"):
            raise ConanInvalidConfiguration(f"Cairn needs {compiler} {OLDEST[compiler]} or newer, found {version}")

    def generate(self):
        toolchain = CMakeToolchain(self)
        for what in ("TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"CAIRN_BUILD_{what}"] = False
        for library in ("BLAS", "JPEG", "MPI", "PNG", "dnnl", "nlohmann_json", "xtensor"):  # components are made where they are asked for
            toolchain.cache_variables[f"CMAKE_DISABLE_FIND_PACKAGE_{library}"] = True
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.builddirs = ["lib/cmake/cairn"]
        self.cpp_info.set_property("cmake_find_mode", "none")  # else Conan makes a file of this name that knows no component
