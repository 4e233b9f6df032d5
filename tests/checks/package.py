# SPDX-License-Identifier: MIT
"""Other projects can use Cairn, installed or as a subfolder, and Cairn changes nothing in them."""
import os
import pathlib
import subprocess
import tempfile

from house import run

PROJECT = pathlib.Path(__file__).resolve().parents[2]

# Flags in the environment are the builder's; a user has none, so that whatever appears comes from Cairn.
QUIET = {name: value for name, value in os.environ.items() if not name.endswith("FLAGS")}

USER = """cmake_minimum_required(VERSION 3.24)
project(user LANGUAGES CXX)
{cairn}
add_executable(user user.cpp)
target_link_libraries(user {targets})
add_executable(bystander bystander.cpp)
install(TARGETS bystander)
get_directory_property(options COMPILE_OPTIONS)
foreach(variable CMAKE_BUILD_TYPE CMAKE_CXX_FLAGS CMAKE_CXX_STANDARD CMAKE_CXX_EXTENSIONS BUILD_TESTING options)
  if(NOT "${{${{variable}}}}" STREQUAL "")
    message(FATAL_ERROR "${{variable}} has become ${{${{variable}}}}")
  endif()
endforeach()
"""

# Every header of the library is there, and C++20 is on without a word from the user.
USER_CPP = """#include <cairn/cairn.hpp>
static_assert(__cplusplus >= 202002L && CAIRN_VERSION_MAJOR >= 0);
int main() {}
"""


def faults(root, options):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def call(what, *command):
            result = subprocess.run([*map(str, command)], cwd=folder, env=QUIET, capture_output=True, text=True)
            said = (result.stderr.strip() or result.stdout.strip()).splitlines()
            return [f"{what}: " + "\n".join(said[-12:])] if result.returncode else []

        def configure(source, *more):
            compiler = f"-DCMAKE_CXX_COMPILER={options.compilers[0]}"
            return ["cmake", "-S", source, "-B", f"{source.name}-build", compiler, *more]

        def use(kind, cairn, targets, *more):
            user = folder / kind
            user.mkdir()
            (user / "CMakeLists.txt").write_text(USER.format(cairn=cairn, targets=targets))
            (user / "bystander.cpp").write_text("int main() {}\n")
            (user / "user.cpp").write_text(USER_CPP)
            at = f"used {kind}"
            return (call(at, *configure(user, *more))
                    or call(at, "cmake", "--build", f"{kind}-build")
                    or call(at, f"{kind}-build/user")
                    or call(at, "cmake", "--install", f"{kind}-build", "--prefix", "users"))

        def told(kind, cairn, *more):
            """Without a build type one line says so, however often Cairn is asked for; with one, none."""
            source = folder / f"{kind}-told"
            source.mkdir()
            (source / "CMakeLists.txt").write_text(
                f"cmake_minimum_required(VERSION 3.24)\nproject(told LANGUAGES CXX)\n{cairn}\n")
            found = []
            for build_type, lines in (("", 1), ("Release", 0), ("Debug", 0)):
                result = subprocess.run(configure(source, f"-DCMAKE_BUILD_TYPE={build_type}", *more), cwd=folder, env=QUIET,
                                        capture_output=True, text=True)
                said = (result.stdout + result.stderr).count("there is no CMAKE_BUILD_TYPE")
                if result.returncode or said != lines:
                    found.append(f"used {kind}: with the build type '{build_type}' it says {said} times that there is none:\n"
                                 + result.stderr)
            return found

        off = [f"-DCAIRN_BUILD_{what}=OFF" for what in ("TESTS", "EXAMPLES", "BENCH")]
        found = call("installed", *configure(root, *off)) or call(
            "installed", "cmake", "--install", f"{root.name}-build", "--prefix", "prefix")
        components = " ".join(options.found)
        targets = " ".join(f"cairn::{name}" for name in ["cairn", *options.found])
        found = found or use("installed", f"find_package(cairn REQUIRED COMPONENTS {components})", targets,
                             f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}")
        found = found or use("inside", f"add_subdirectory({root} cairn)", targets)
        found = found or told("installed", "find_package(cairn REQUIRED)\nfind_package(cairn)",
                              f"-DCMAKE_PREFIX_PATH={folder / 'prefix'}")
        found = found or told("inside", f"add_subdirectory({root} cairn)")
        if not found and (folder / "users/include").exists():
            found = ["used inside: the user's own install puts Cairn's headers there too"]
        return found


def with_build(text, to=None):
    """The project's build files for a small house, with one piece of text changed."""
    files = {path.relative_to(PROJECT).as_posix(): path.read_text()
             for path in [PROJECT / "CMakeLists.txt", *(PROJECT / ".cmake").iterdir()]}
    changed = files["CMakeLists.txt"]
    assert text in changed, f"CMakeLists.txt no longer has: {text}"
    return {**files, "CMakeLists.txt": changed.replace(text, to)}


if __name__ == "__main__":
    globbed, target = "include/*.hpp include/*.cuh", "add_library(cairn INTERFACE)"
    config = "include/cairn/core/config.hpp"
    run(faults, [
        (with_build(globbed, "include/cairn/core/*.hpp"), r"used installed: [^$]*cairn/cairn.hpp"),
        (with_build(target, target + "\nset(CMAKE_CXX_FLAGS -O0 CACHE STRING x FORCE)"), r"CMAKE_CXX_FLAGS has become"),
        (with_build("include(.cmake/cairn-build-type.cmake)\n", ""), r"used inside: with the build type '' it says 0 times"),
    ], small={**with_build(target, target), config: (PROJECT / config).read_text()})
