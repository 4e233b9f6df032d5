# SPDX-License-Identifier: MIT
"""README.md's program trains over loopback, threads and mpi when one word is changed each time, and its body stays.

The first cpp block of README.md that has a main is built three times: as it is, but for the number of threads, which comes from
outside, with loopback, and with mpi where that component was found, which adds its #include. One thread has to print what loopback
prints, and what the program prints as it is has to be printed once by as many processes of mpirun.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from house import SPDX, SMALL_HOUSE, WARNINGS, run, spread

PROGRAM = re.compile(r"^```cpp\n((?:(?!^```).*\n)*?.*\bint main\((?:(?!^```).*\n)*)^```", re.M)
RANKS = re.compile(r"\bthreads\{(\d+)\}")


def over(program, maker):
    """The program with another word for what makes the ranks: `maker` is `mpi{}`, its ranks are mpi::rank."""
    word = maker.partition("{")[0]
    changed = re.sub(r"\bthreads::", f"{word}::", RANKS.sub(maker, program))
    include = "#include <cairn/cairn.hpp>\n"
    return changed.replace(include, include + "#include <cairn/comm/mpi/mpi.hpp>\n") if word == "mpi" else changed


def mpirun(processes):
    """The command, or None; as root in a container with few cores."""
    program = shutil.which("mpirun")
    return [program, "-n", str(processes)] if program else None


ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


def faults(root, options):
    block = PROGRAM.search((root / "README.md").read_text())
    if not block or not RANKS.search(block[1]):
        return ["README.md: has no cpp block with a main that makes its ranks by threads{N}"]
    program, ranks = block[1], int(RANKS.search(block[1])[1])
    from_outside = "#include <cstdlib>\n" + over(program, 'threads{std::atoi(std::getenv("RANKS"))}')
    wanted = {"threads": from_outside, "loopback": over(program, "loopback{}")}
    starts = {}
    if "mpi" in options.found and mpirun(ranks):
        wanted["mpi"] = over(program, "mpi{}")
        starts["mpi"] = mpirun(ranks)
    else:
        print("left out: mpi, as " + ("there is no mpirun" if "mpi" in options.found else "cairn::mpi was not found"))

    with tempfile.TemporaryDirectory() as folder:
        def built(name):
            source = pathlib.Path(folder) / f"{name}.cpp"
            source.write_text(wanted[name])
            command = [options.compilers[0], *WARNINGS, "-O0", *options.flags, f"-I{root / 'examples'}", str(source), "-pthread",
                       *options.link, "-o", str(source.with_suffix(""))]
            made = subprocess.run(command, capture_output=True, text=True)
            lines = made.stderr.splitlines()[:12]
            return "" if made.returncode == 0 else f"README.md: over {name} the program does not build:\n" + "\n".join(lines)

        wrong = [fault for fault in spread(built, wanted) if fault]
        if wrong:
            return wrong
        said = {}
        for name, built_as, threads in (("one thread", "threads", 1), *((name, name, ranks) for name in wanted)):
            ran = subprocess.run([*starts.get(name, []), f"{folder}/{built_as}"], env={**ENVIRONMENT, "RANKS": str(threads)},
                                 capture_output=True, text=True, timeout=300)
            if ran.returncode != 0 or not ran.stdout.strip():
                wrong.append(f"README.md: over {name} the program ended with {ran.returncode}:\n{(ran.stdout + ran.stderr)[-1000:]}")
            said[name] = ran.stdout
            print(f"over {name}: {ran.stdout.strip()}")
    if wrong:
        return wrong
    for a, b in (("one thread", "loopback"), ("threads", "mpi")):
        if b in said and said[a] != said[b]:
            wrong.append(f"README.md: over {b} the program prints other numbers than over {a}: {said[b]!r}, not {said[a]!r}")
    return wrong


def more(parser):
    parser.add_argument("--link", action="append", default=[], help="a library to link with")


# A small house whose threads and loopback do nothing but call the body; a job of the first has two ranks, if it is so.
RANK = "struct NAME {\n  struct rank {\n    int of;\n  };\n  int size = 1;\n  template <class Body>\n  void run(Body body) {\n" \
       "    rank self{size};\n    body(self);\n  }\n};\n"
LIBRARY = SPDX + "#pragma once\n\nnamespace cairn {\n" + RANK.replace("NAME", "threads") + RANK.replace("NAME", "loopback") + "}\n"
MAIN = ("```cpp\n#include <cstdio>\n#include <cairn/cairn.hpp>\nusing namespace cairn;\n\nint main() {\n"
        "  threads{2}.run([&](threads::rank& rank) { std::printf(\"%d\\n\", rank.of); });\n}\n```\n")

if __name__ == "__main__":
    readme = SMALL_HOUSE["README.md"]
    run(faults, [
        ({"README.md": readme}, r"has no cpp block with a main"),
        ({"include/cairn/cairn.hpp": LIBRARY.replace("struct loopback", "struct other")}, r"over loopback the program does not build"),
        ({"include/cairn/cairn.hpp": LIBRARY.replace("self{size}", "self{size + 1}", 1)}, r"over loopback the program prints other"),
        ({"README.md": readme + MAIN.replace("printf(", "fprintf(stderr, ")}, r"over threads the program ended with 0"),
        ({"README.md": readme + MAIN.replace("int main() {", "int main() {\n  return 3;")}, r"over loopback the program ended with 3"),
    ], more, small={"README.md": readme + MAIN, "include/cairn/cairn.hpp": LIBRARY})
