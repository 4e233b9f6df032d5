# SPDX-License-Identifier: MIT
"""Builds ../../components with the package, for the components that its options ask for, and runs what was built."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout

COMPONENTS = ("blas", "images", "mpi", "onednn", "safetensors", "xtensor")


class TestPackage(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        options = self.dependencies["cairn"].options
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["COMPONENTS"] = ";".join(c for c in COMPONENTS if getattr(options, f"with_{c}"))
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=os.path.join("..", "..", "components"))
        cmake.build()

    def test(self):
        if can_run(self):
            for program in ("train", "components"):
                self.run(os.path.join(self.cpp.build.bindir, program), env="conanrun")
