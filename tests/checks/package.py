# SPDX-License-Identifier: MIT
"""Other people's projects can use Cairn, whichever way they get it, and Cairn changes nothing in them.

The projects are in tests/package/. Each is configured and built from scratch in a temporary folder, and its programs are run. A
way for which this machine lacks the tools is left out: exit status 77.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from house import COMPONENTS, CUDA_HEADER, WARNINGS, nvcc, run

PROJECT = pathlib.Path(__file__).resolve().parents[2]
PROJECTS = "tests/package"
LEFT_OUT = 77

# The environment without its *FLAGS, which a user does not have: any flag that appears comes from Cairn.
QUIET = {name: value for name, value in os.environ.items() if not name.endswith("FLAGS")}

# Cairn without other libraries, even if the machine has them: only the ways with components look for those.
ALONE = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("BLAS", "CUDAToolkit", "JPEG", "MPI", "PNG", "dnnl", "nlohmann_json", "xtensor")]
NO_PROGRAMS = [f"-DCAIRN_BUILD_{what}=OFF" for what in ("TESTS", "EXAMPLES", "BENCH")]


class Fault(Exception):
    pass


class LeftOut(Exception):
    pass


class Machine:
    """A temporary folder, the sources of Cairn, and commands that must succeed."""

    def __init__(self, folder, root, options):
        self.folder, self.root, self.options = folder, root, options
        self.compiler = options.compilers[0]

    def call(self, *command, env=None, fails=False):
        result = subprocess.run([*map(str, command)], cwd=self.folder, env={**QUIET, **(env or {})}, capture_output=True, text=True)
        said = result.stdout + result.stderr
        if bool(result.returncode) != fails:
            lines = (result.stderr.strip() or result.stdout.strip()).splitlines()
            raise Fault(f"{' '.join(map(str, command[:6]))} ...: " + "\n".join(lines[-15:]))
        return said

    def configure(self, source, build, *more):
        return self.call("cmake", "-S", source, "-B", build, f"-DCMAKE_CXX_COMPILER={self.compiler}", *more)

    def use(self, name, *more, programs=("train",)):
        """Builds a project of tests/package/ from scratch, and runs its programs."""
        build = self.folder / f"{name}-build"
        self.configure(self.root / PROJECTS / name, build, *more)
        self.call("cmake", "--build", build, "--parallel", "2")
        for program in programs:
            self.call(build / program)
        return build

    def install(self):
        prefix = self.folder / "prefix"
        self.configure(self.root, "cairn-build", *NO_PROGRAMS, *ALONE)
        self.call("cmake", "--install", "cairn-build", "--prefix", prefix)
        return f"-DCMAKE_PREFIX_PATH={prefix}"

    def installs_own_alone(self, build):
        self.call("cmake", "--install", build, "--prefix", self.folder / "own")
        there = sorted(path.relative_to(self.folder / "own").as_posix() for path in (self.folder / "own").rglob("*") if path.is_file())
        if there != ["bin/train"]:
            raise Fault(f"the project's own install puts there {', '.join(there[:8])}")

    def says_no_build_type(self, cairn, *more):
        """Without a build type one line says so, even if Cairn is found several times; with a build type, none does."""
        source = self.folder / "told"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.24)\nproject(told LANGUAGES CXX)\n{cairn}\n")
        for build_type, lines in (("", 1), ("Release", 0), ("Debug", 0)):
            said = self.configure(source, "told-build", f"-DCMAKE_BUILD_TYPE={build_type}", *ALONE, *more)
            if said.count("there is no CMAKE_BUILD_TYPE") != lines:
                raise Fault(f"with the build type '{build_type}' it does not say {lines} times that there is none:\n{said}")

    def one_line(self, *arguments, compiler=None, link=("-pthread",)):
        """Builds the whole program with one compiler command, and runs it."""
        self.call(compiler or self.compiler, *arguments, f"-I{self.root / 'include'}", "-o", "program", *link)
        self.call(self.folder / "program")

    def source(self, name):
        return self.root / PROJECTS / name


def tool(name, *paths):
    found = shutil.which(name) or next((path for path in paths if shutil.which(path)), None)
    if not found:
        raise LeftOut(f"there is no {name} on this machine")
    return found


def installed(machine):
    prefix = machine.install()
    left_out = [path.relative_to(machine.root).as_posix() for path in sorted((machine.root / "include").rglob("*"))
               if path.is_file() and not (machine.folder / "prefix" / path.relative_to(machine.root)).exists()]
    if left_out:
        raise Fault(f"install leaves out {', '.join(left_out[:8])}")
    machine.installs_own_alone(machine.use("installed", prefix))
    machine.says_no_build_type("find_package(cairn REQUIRED)\nfind_package(cairn)", prefix)


def components(machine):
    prefix = machine.install()
    for wanted in ("", ";".join(machine.options.found)):
        machine.use("components", prefix, f"-DCOMPONENTS={wanted}", programs=("train", "components"))


def compiled(machine):
    """A program that gets its kernels from a library has the same bits, no kernel in its own object file, and compiles quickly."""
    log = machine.folder / "seconds"
    launcher = f"{sys.executable};{machine.source('compiled/user_seconds.py')};{log}"
    build = machine.use("compiled", machine.install(), f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",
                        programs=("headers_of_train", "precompiled"))
    headers, compiled = (machine.call(build / way) for way in ("headers", "compiled"))
    if headers != compiled:
        raise Fault(f"the bits differ: with the headers alone\n{headers}with the library\n{compiled}")
    kernels = [len(re.findall(r"avx512|avx2", machine.call("nm", "-C", build / f"CMakeFiles/{way}.dir/bits.cpp.o")))
               for way in ("headers", "compiled")]
    if kernels[0] == 0 or kernels[1] > 0:
        raise Fault(f"so many names of kernels are in the object with the headers alone, and with the library: {kernels}")
    seconds = {name: float(count) for count, name in re.findall(r"^(\S+) .*?(\w+)\.dir/.*\.o$", log.read_text(), re.M)}
    for quick, slow, most in (("compiled", "headers", 0.45), ("precompiled", "headers_of_train", 0.35)):
        if seconds[quick] > most * seconds[slow]:
            raise Fault(f"{quick} takes {seconds[quick]} s to compile, more than {most} of the {seconds[slow]} s of {slow}")
    print({name: seconds[name] for name in ("headers", "compiled", "headers_of_train", "precompiled")})
    told = machine.call(machine.compiler, "-std=c++20", "-fsyntax-only", f"-I{machine.root / 'include'}", "-DCAIRN_WITH_COMPILED=1",
                        "-DCAIRN_COMPILED_WITH=2", machine.source("train.cpp"), fails=True)
    if "was made with other components than this program" not in told:
        raise Fault(f"another library than the program's is not refused:\n{told}")


def missing(machine):
    """If a component's library is missing, or there is no such component, the message says what to do."""
    expected = {name: "install lib.* by conan or vcpkg" for name in COMPONENTS}
    expected |= {"cuda": "install one from NVIDIA", "nccl": "needs cairn::cuda, .* install one from NVIDIA",
                 "onednn": "install libdnnl-dev.* by vcpkg",
                 "safetensors": "install nlohmann.* by conan or vcpkg"}
    names = sorted([*expected, "compiled", "precompiled"])
    expected["hip"] = "no component of Cairn: those are " + ", ".join(names[:-1]) + f" and {names[-1]}"
    said = machine.configure(machine.source("missing"), "missing-build", machine.install(), *ALONE, f"-DCOMPONENTS={';'.join(expected)}")
    for name, words in expected.items():
        if not re.search(f"{name}: (0|FALSE), No cairn::{name}, .*{words}", said):
            raise Fault(f"without {name} there is no '{words}' in:\n{said}")


def subfolder(machine):
    for machine.compiler in machine.options.compilers:
        build = machine.use("subfolder", f"-DCAIRN={machine.root}", *ALONE)
        machine.installs_own_alone(build)
        shutil.rmtree(build)
    machine.says_no_build_type(f"add_subdirectory({machine.root} cairn)")


def fetched(machine):
    machine.installs_own_alone(machine.use("fetched", f"-DCAIRN={machine.root}", *ALONE))


def two_units(machine):
    machine.one_line(*WARNINGS, machine.source("two_units/first.cpp"), machine.source("two_units/second.cpp"))


def no_rtti(machine):
    machine.one_line(*WARNINGS, "-fno-rtti", machine.source("train.cpp"))


def cxx23(machine):
    for machine.compiler in machine.options.compilers:
        machine.one_line(*WARNINGS, "-std=c++2b", machine.source("train.cpp"))


def clang_and_libstdcxx(machine):
    machine.one_line(*WARNINGS, machine.source("train.cpp"), compiler=tool("clang++"))


def clang_and_libcxx(machine):
    clang = next((name for name in ("clang++-19", "clang++") if shutil.which(name) and subprocess.run(
        [name, "-stdlib=libc++", "-fsyntax-only", "-x", "c++", "-"], input="#include <version>\n", text=True,
        capture_output=True).returncode == 0), None)
    if not clang:
        raise LeftOut("no clang on this machine has libc++")
    machine.one_line(*WARNINGS, "-stdlib=libc++", machine.source("train.cpp"), compiler=clang)


def gcc_14(machine):
    machine.one_line(*WARNINGS, machine.source("train.cpp"), compiler=tool("g++-14"))


def cuda(machine):
    """A CUDA project in C++20, with the CMake that the machine has."""
    compiler = nvcc()
    if compiler is None:
        raise LeftOut("there is no nvcc on this machine")
    build = machine.use("cuda", machine.install(), f"-DCMAKE_CUDA_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release",
                        programs=("train", "gpu"))
    machine.installs_own_alone(build)


PROFILE = """include(default)
[settings]
compiler.cppstd=20
[platform_requires]
openblas/0.3.21
openmpi/4.1.4
nlohmann_json/3.11.2
libpng/1.6.39
libjpeg-turbo/2.1.5
xtensor/0.24.3
"""


def conan(machine):
    """The package is made and used without a network; the libraries of components are the machine's own."""
    program = tool("conan")
    home = {"CONAN_HOME": str(machine.folder / "conan")}
    recipe = machine.source("conan")
    machine.call(program, "profile", "detect", env=home)
    (machine.folder / "system").write_text(PROFILE)
    options = [f"-o=&:with_{name}={name in machine.options.found}" for name in COMPONENTS]
    machine.call(program, "create", recipe, "-pr:a=system", "-nr", *options,
                 f"-c=tools.cmake.cmake_layout:test_folder={machine.folder / 'test_package'}", env=home)
    said = machine.call(program, "list", "cairn/*:*", "--format=json", env=home)
    listed = json.JSONDecoder().raw_decode(said[said.index("{"):])[0]
    package_ids = {name for recipe in listed["Local Cache"].values() for revision in recipe["revisions"].values()
                   for name in revision["packages"]}
    without = machine.call(program, "graph", "info", recipe, "-pr:a=system", "-nr", env=home)
    if len(package_ids) != 1 or f"package_id: {package_ids.pop()}" not in without:
        raise Fault(f"an option changes the package:\n{without}")
    said = machine.call(program, "create", recipe, "-pr:a=system", "-nr", "-s:a=compiler.cppstd=17", "-tf=", env=home, fails=True)
    if "Current cppstd (17) is lower than the required C++ standard (20)" not in said:
        raise Fault(f"C++17 is not refused by the recipe:\n{said}")


def vcpkg(machine):
    """vcpkg's own scripts make a package of the port, without the program vcpkg, which would need a network."""
    port = machine.source("vcpkg/cairn")
    manifest = json.loads((port / "vcpkg.json").read_text())
    config = (machine.root / "include/cairn/core/config.hpp").read_text()
    if manifest["version-semver"] != (version := ".".join(re.findall(r"^#define CAIRN_VERSION_\w+ (\d+)$", config, re.M))):
        raise Fault(f"vcpkg.json: the version is {manifest['version-semver']}, of the headers {version}")
    if sorted(manifest["features"]) != sorted(COMPONENTS):
        raise Fault(f"vcpkg.json: the features are {sorted(manifest['features'])}, the components {COMPONENTS}")
    checkout = pathlib.Path(os.environ.get("VCPKG_ROOT", ""))
    if not (checkout / "scripts/ports.cmake").exists():
        raise LeftOut("VCPKG_ROOT does not name a clone of vcpkg, whose scripts this needs")
    triplet = machine.folder / "x64-linux.cmake"
    triplet.write_text((checkout / "triplets/x64-linux.cmake").read_text() + "\nset(VCPKG_FIXUP_ELF_RPATH OFF)\n")
    folders = {"PACKAGES_DIR": "packages", "BUILDTREES_DIR": "buildtrees", "_VCPKG_INSTALLED_DIR": "installed", "DOWNLOADS": "downloads"}
    ports = ";".join(f"{checkout}/ports/{name}/vcpkg-port-config.cmake" for name in ("vcpkg-cmake", "vcpkg-cmake-config"))
    settings = {
        "CMD": "BUILD", "PORT": "cairn", "VERSION": version, "FEATURES": ";".join(["core", *COMPONENTS]),
        "TARGET_TRIPLET": "x64-linux", "_HOST_TRIPLET": "x64-linux", "TARGET_TRIPLET_FILE": triplet, "VCPKG_ROOT_DIR": checkout,
        "VCPKG_BASE_VERSION": "2026-01-01", "CURRENT_PORT_DIR": port, "VCPKG_CONCURRENCY": 2, "VCPKG_PORT_CONFIGS": ports,
        "GIT": tool("git"), "NINJA": tool("ninja"), **{name: machine.folder / folder for name, folder in folders.items()}}
    machine.call("cmake", *[f"-D{name}={value}" for name, value in settings.items()], "-P", checkout / "scripts/ports.cmake")
    package = machine.folder / "packages/cairn_x64-linux"
    for name in ("share/cairn/cairn-config.cmake", "share/cairn/usage", "share/cairn/copyright", "include/cairn/cairn.hpp"):
        if not (package / name).exists():
            raise Fault(f"the package of vcpkg has no {name}")
    machine.installs_own_alone(machine.use("installed", f"-DCMAKE_PREFIX_PATH={package}"))


WAYS = {way.__name__: way for way in (installed, components, compiled, missing, subfolder, fetched, two_units, no_rtti, cxx23,
                                      clang_and_libstdcxx, clang_and_libcxx, gcc_14, cuda, conan, vcpkg)}


def faults(root, options):
    def attempt(name):
        with tempfile.TemporaryDirectory() as folder:
            try:
                WAYS[name](Machine(pathlib.Path(folder), root, options))
            except Fault as fault:
                return f"{name}: {fault}"
            except LeftOut as why:
                print(f"left out: {name}, as {why}")
                if options.way:
                    sys.exit(LEFT_OUT)
            return None

    ways = [options.way] if options.way else SELF_TESTED if options.self_test else list(WAYS)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [fault for fault in pool.map(attempt, ways) if fault]


def more(parser):
    parser.add_argument("--way", choices=list(WAYS), help="this one only")


# The self-test has Cairn's own build files around the headers of the small house, and the ways that need only those.
SELF_TESTED = ["installed", "missing", "subfolder"]
BUILD_FILES = [PROJECT / "CMakeLists.txt", *(PROJECT / ".cmake").glob("*.cmake"), *(PROJECT / ".cmake").glob("*/*.cpp"),
               *(PROJECT / PROJECTS).glob("*.cmake"), *(PROJECT / PROJECTS).glob("*/CMakeLists.txt")]


def with_build(text, to=None, file="CMakeLists.txt"):
    """The build files for a small house, with one piece of text changed."""
    files = {path.relative_to(PROJECT).as_posix(): path.read_text() for path in BUILD_FILES}
    assert text in files[file], f"{file} no longer has: {text}"
    return {**files, file: files[file].replace(text, text if to is None else to)}


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        sys.exit(print(";".join(WAYS), end=""))
    globbed, target, config = "include/*.hpp include/*.cuh", "add_library(cairn INTERFACE)", "include/cairn/core/config.hpp"
    run(faults, [
        (with_build(globbed, "include/cairn/core/*.hpp"), r"installed: install leaves out include/cairn/cairn.hpp"),
        ({**with_build(" include/*.cuh", ""), "include/cairn/device/stream.cuh": CUDA_HEADER},
         r"installed: install leaves out include/cairn/device/stream.cuh"),
        (with_build(target, target + "\nset(CMAKE_CXX_FLAGS -O0 CACHE STRING x FORCE)"), r"CMAKE_CXX_FLAGS has become"),
        (with_build("include(.cmake/cairn-build-type.cmake)\n", ""), r"subfolder: with the build type '' it does not say 1 times"),
        (with_build("if(CAIRN_INSTALL)", "if(TRUE)"), r"subfolder: [^$]*CMAKE_INSTALL_BINDIR has become bin"),
        (with_build("if(CAIRN_INSTALL)", "install(FILES LICENSE DESTINATION .)\nif(CAIRN_INSTALL)"),
         r"subfolder: the project's own install puts there LICENSE, bin/train"),
        (with_build("which is no component", "is none", ".cmake/cairn-config.cmake"), r"missing: without hip there is no"),
        ({config: (PROJECT / config).read_text() + "inline int size(unsigned n) { return n; }\n"}, r"subfolder: [^$]*sign-conversion"),
    ], more, small={**with_build(target), config: (PROJECT / config).read_text(), "LICENSE": "",
                    f"{PROJECTS}/train.cpp": "#include <cairn/cairn.hpp>\nint main() {}\n"})
