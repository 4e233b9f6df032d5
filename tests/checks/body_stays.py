# SPDX-License-Identifier: MIT
"""README.md's program trains over threads, loopback and mpi with one word changed each time; its body stays the same.

The first cpp block of README.md with a main is built in three ways: with threads, whose number comes from the environment; with
loopback; and, if that component was found, with mpi and its #include. The three are functions of one program, so that the
headers are read once. One thread must print what loopback prints. As many processes of mpirun as the program has threads must
print, once, what the threads print.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from house import SPDX, SMALL_HOUSE, WARNINGS, run

PROGRAM = re.compile(r"^```cpp\n((?:(?!^```).*\n)*?.*\bint main\((?:(?!^```).*\n)*)^```", re.M)
FEWER = ("generated_digits()", "generated_digits({.train = 512, .test = 500})")  # 20 s each time otherwise, as nothing is optimised
RANKS = re.compile(r"\bthreads\{(\d+)\}")


def over(program, maker):
    """The program with `maker`, such as `mpi{}`, in place of threads{N}, and mpi::rank in place of threads::rank."""
    word = maker.partition("{")[0]
    changed = re.sub(r"\bthreads::", f"{word}::", RANKS.sub(maker, program))
    include = "#include <cairn/cairn.hpp>\n"
    return changed.replace(include, include + "#include <cairn/comm/mpi/mpi.hpp>\n") if word == "mpi" else changed


def together(programs):
    """Several programs as one, each in a namespace of its own after all their #includes; the first argument selects one."""
    includes, parts, chosen = {}, "", ""
    for name, program in programs.items():
        includes |= dict.fromkeys(re.findall(r"^#include .*$", program, re.M))
        body = re.sub(r"^#include .*$", "", program, flags=re.M).rstrip()
        body = re.sub(r"\bint main\(", "static int program(", body.removesuffix("}") + "  return 0;\n}\n")
        parts += f"namespace over_{name} {{\n{body}}}\n"
        chosen += f'  if (over == "{name}") return over_{name}::program();\n'
    return ("\n".join(["#include <string_view>", *includes]) + f"\n{parts}int main(int, char** words) {{\n"
            f"  const std::string_view over = words[1];\n{chosen}  return 2;\n}}\n")


def mpirun(processes):
    """The command that starts this many processes, or None without mpirun."""
    program = shutil.which("mpirun")
    return [program, "-n", str(processes)] if program else None


ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}


def faults(root, options):
    block = PROGRAM.search((root / "README.md").read_text())
    if not block or not RANKS.search(block[1]):
        return ["README.md: has no cpp block with a main that makes its ranks by threads{N}"]
    program, ranks = block[1].replace(*FEWER), int(RANKS.search(block[1])[1])
    from_outside = "#include <cstdlib>\n" + over(program, 'threads{std::atoi(std::getenv("RANKS"))}')
    wanted = {"threads": from_outside, "loopback": over(program, "loopback{}")}
    starts = {}
    if "mpi" in options.found and mpirun(ranks):
        wanted["mpi"] = over(program, "mpi{}")
        starts["mpi"] = mpirun(ranks)
    else:
        print("left out: mpi, as " + ("there is no mpirun" if "mpi" in options.found else "cairn::mpi was not found"))

    with tempfile.TemporaryDirectory() as folder:
        def built(programs):
            source = pathlib.Path(folder) / "program.cpp"
            source.write_text(together(programs))
            command = [options.compilers[0], *WARNINGS, "-O0", *options.flags, f"-I{root / 'examples'}", str(source), "-pthread",
                       *options.link, "-o", str(source.with_suffix(""))]
            made = subprocess.run(command, capture_output=True, text=True)
            return made.returncode == 0, "\n".join(made.stderr.splitlines()[:12])

        if not built(wanted)[0]:  # find those that fail
            alone = {name: built({name: program}) for name, program in wanted.items()}
            return [f"README.md: over {name} the program does not build:\n{says}"
                    for name, (builds, says) in alone.items() if not builds] or ["README.md: the programs do not build together"]
        said, wrong = {}, []
        for name, built_as, threads in (("one thread", "threads", 1), *((name, name, ranks) for name in wanted)):
            ran = subprocess.run([*starts.get(name, []), f"{folder}/program", built_as], env={**ENVIRONMENT, "RANKS": str(threads)},
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


# A small house whose threads and loopback only call the body once, with a rank that holds the number of ranks.
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
