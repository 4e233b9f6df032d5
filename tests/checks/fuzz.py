# SPDX-License-Identifier: MIT
"""Each reader of files either reads arbitrary bytes or throws a file_error that names the file, and writing what it has read
gives it back unchanged. launch, which reads an environment and a command line, throws an input_error instead.

Builds every program of tests/fuzz/ with clang's libFuzzer and sanitizers, and runs each from its own seeds. Bytes that show a
fault are kept, and their file is named. A new reader must once pass --runs 1000000.
"""
import argparse
import pathlib
import shutil
import subprocess
import tempfile

from house import SANITIZED, SPDX, WARNINGS, report, spread

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-g1", "-O1", "-fsanitize=fuzzer", *SANITIZED]
OF_FUZZER = {"images": ["-DCAIRN_WITH_IMAGES=1", f'-DCAIRN_TEST_DATA_DIR="{ROOT / "tests/reference"}"', "-lpng", "-ljpeg"]}

# For the self-test: a reader that reads one byte too far if the first two are right.
WRONG = SPDX + """#include <vector>
#include "fuzz.hpp"
void fuzzing::look_at(const std::string&, std::span<const std::uint8_t> bytes) {
  const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  const std::size_t last = copy.size() > 1 && copy[0] == 'C' && copy[1] == 'a' ? copy.size() : 0;
  volatile int read = copy.empty() ? 0 : copy.data()[last];
  require(read < 256, "a byte is less than 256");
}
void fuzzing::write_seeds(const std::string& folder) { write_seed(folder + "one", "Cb"); }
"""


def fault_of(source, options):
    """The fault that one fuzzer finds, or an empty text."""
    with tempfile.TemporaryDirectory() as folder:
        program, seeds = pathlib.Path(folder, source.stem), pathlib.Path(folder, "seeds")
        seeds.mkdir()
        built = subprocess.run([options.compiler, *WARNINGS, *FLAGS, f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests/fuzz'}",
                                str(source), *OF_FUZZER.get(source.stem, []), "-o", str(program)], capture_output=True, text=True)
        if built.returncode:
            return f"{source.name}: does not compile:\n{built.stderr[:3000]}"
        subprocess.run([program, "seeds", seeds], check=True)
        kept = pathlib.Path.cwd() / f"fuzz-{source.stem}-"
        limit = [f"-runs={options.runs}"] if options.runs else [f"-max_total_time={options.seconds}"]
        ran = subprocess.run([program, seeds, *limit, "-max_len=1024", "-print_final_stats=1", f"-artifact_prefix={kept}"],
                             capture_output=True, text=True, errors="replace")
    if ran.returncode == 0:
        done = [line.split()[-1] for line in ran.stderr.splitlines() if "number_of_executed_units" in line]
        print(f"{source.stem}: {done[0] if done else 'no'} files, no fault")
        return "" if done and int(done[0]) > 1000 else f"{source.name}: ran on fewer than 1000 files"
    lines = [line for line in ran.stderr.splitlines() if "ERROR" in line or "expected that" in line or "written to" in line]
    return f"{source.name}: " + "\n".join(lines or ran.stderr.splitlines()[-12:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="fuzzers of tests/fuzz/, all by default")
    parser.add_argument("--compiler", default="clang++")
    parser.add_argument("--seconds", type=int, default=10, help="of each")
    parser.add_argument("--runs", type=int, help="of each, in place of a time")
    parser.add_argument("--self-test", action="store_true", help="show that the check can fail")
    options = parser.parse_args()
    if not shutil.which(options.compiler):
        report([f"{options.compiler}: is not there, and no other compiler has libFuzzer"])
    if options.self_test:
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "wrong.cpp")
            source.write_text(WRONG)
            said = fault_of(source, options)
        for kept in pathlib.Path.cwd().glob("fuzz-wrong-*"):
            kept.unlink()
        report([] if "heap-buffer-overflow" in said else [f"a reader that reads too far: expected a fault, found: {said}"])
    sources = sorted((ROOT / "tests/fuzz").glob("*.cpp"))
    chosen = [source for source in sources if not options.names or source.stem in options.names]
    report([fault for fault in spread(lambda source: fault_of(source, options), chosen) if fault])


if __name__ == "__main__":
    main()
