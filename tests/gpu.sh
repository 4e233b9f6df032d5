#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests on a machine with a GPU of NVIDIA's: builds the sources that are for it by nvcc, runs them, and runs them under
# compute-sanitizer; then the examples that can train there. It needs nvcc, cuBLASLt and the headers of doctest, and neither CMake
# nor anything else. With CAIRN_DATA in the environment, a folder with mnist/, the examples read MNIST, else generated digits.
#
#   tests/gpu.sh [--build] [FOLDER]
#
# Everything that it makes is in FOLDER, build-gpu if left out: the programs, and what each run said. --build is for a machine
# without a GPU: nothing is run. In the environment: NVCC, ARCH (as nvcc's -arch, native if left out), DOCTEST (a folder with
# doctest/doctest.h, if it is not among the system's), JOBS.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=yes
if [[ ${1:-} == --build ]]; then runs=no; shift; fi
folder=${1:-build-gpu}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
arch=${ARCH:-$([[ $runs == yes ]] && echo native || echo sm_90)}
jobs=${JOBS:-$(nproc)}
say() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

if ! [[ -x $nvcc ]]; then echo "gpu.sh: expected nvcc, found none; put it on the path, or set NVCC"; exit 2; fi
if [[ -z ${DOCTEST:-} ]] && ! echo '#include <doctest/doctest.h>' | c++ -fsyntax-only -x c++ - 2>/dev/null; then
  echo "gpu.sh: expected doctest/doctest.h, found none; install doctest-dev (Debian), or set DOCTEST to a folder that has it"
  exit 2
fi
if [[ $runs == yes ]] && ! nvidia-smi -L; then
  echo "gpu.sh: left out, as there is no GPU on this machine"
  exit 77
fi
mkdir -p "$folder"

say "nvcc builds the tests for $arch"
export nvcc flags="-std=c++20 -O2 -arch=$arch -Iinclude -Itests ${DOCTEST:+-isystem $DOCTEST} -Werror all-warnings -Xcompiler -Wall,-Wextra,-Wshadow"
mapfile -t sources < <(find tests/device tests/ops tests/cuda -name '*.cu' | sort)
sources+=(tests/main.cpp)
objects=()
for source in "${sources[@]}"; do objects+=("$folder/$(tr / _ <<<"$source").o"); done
# shellcheck disable=SC2016
for i in "${!sources[@]}"; do printf '%s\0%s\0' "${sources[i]}" "${objects[i]}"; done |
  xargs -0 -n 2 -P "$jobs" bash -c '"$nvcc" $flags -c "$1" -o "$2"' _ 2>&1 | tee "$folder/build.log"
"$nvcc" "-arch=$arch" "${objects[@]}" -o "$folder/tests" -lcublasLt
say "nvcc builds the examples"
# shellcheck disable=SC2016
printf '%s\0' depth ffnet mnist | xargs -0 -n 1 -P "$jobs" bash -c '
  "$nvcc" $flags -x cu examples/$1/*.cpp examples/ranks_of_program/*.cpp -lcublasLt -o "$0/$1"' "$folder" 2>&1 | tee "$folder/examples-build.log"

if [[ $runs == no ]]; then say "built, and not run"; exit 0; fi

say "the tests"
"$folder/tests" | tee "$folder/tests.log"

sanitizer=$(command -v compute-sanitizer || echo "$(dirname "$nvcc")/compute-sanitizer")
if ! [[ -x $sanitizer ]]; then echo "gpu.sh: expected compute-sanitizer beside nvcc, found none"; exit 2; fi
for tool in memcheck racecheck initcheck synccheck; do
  say "$tool"
  "$sanitizer" --tool "$tool" --error-exitcode 1 "$folder/tests" 2>&1 | tee "$folder/$tool.log" | tail -n 4
done
say "the examples"
example() { # NAME ARGUMENTS...: shows the table that it prints
  echo "$*"
  (cd "$folder" && "./$@") >"$folder/example.out" 2>"$folder/example.err" || { cat "$folder/example.err"; exit 1; }
  tee -a "$folder/examples.log" <"$folder/example.out" | awk '/^---/ && !table { table = 1; print before } table; { before = $0 } /^$/ { table = 0 }'
}
rm -f "$folder/examples.log"
example depth --device cuda --depths 10,100,300 --steps 5
example ffnet --device cuda --epochs 2
example mnist --device cuda --epochs 1 --samples 2048 --policy all --ranks 2
example mnist --device cuda --epochs 1 --samples 2048 --ranks 1 --accumulate 2
weights=$(awk '/^policy  / { table = 1 } /^$/ { table = 0 } table && $NF ~ /^[0-9a-f]+$/ && length($NF) == 16 { print $NF }' "$folder/examples.log" | sort -u | wc -l)
if [[ $weights != 1 ]]; then echo "gpu.sh: expected mnist to end with the same weights each time, found $weights different ones"; exit 1; fi
say "the accuracy of mnist on the processor and on the GPU, which may be 0.3 points apart"
for device in cpu cuda; do example mnist --device "$device" --epochs 3 --ranks 1; done
tail -n 100 "$folder/examples.log" | awk '$1 == "sqrt_n" { at[n++] = $(NF - 2) } END { apart = at[n - 1] - at[n - 2]; exit !(n >= 2 && apart <= 0.3 && apart >= -0.3) }' ||
  { echo "gpu.sh: expected accuracies within 0.3 points of each other"; exit 1; }

say "all done: see $folder"
