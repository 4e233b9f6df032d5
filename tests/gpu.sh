#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests on a machine with an NVIDIA GPU: builds the GPU tests, the examples that can train on a GPU and the benchmark with nvcc,
# all at once; runs the tests, the examples, and the tests under compute-sanitizer; then measures (tests/bench/gpu). A failure
# does not stop the other steps; the end lists the failures.
#
#   tests/gpu.sh [--build] [FOLDER]
#
# Everything that it writes is in FOLDER, by default build-gpu: the programs, and the output of each run. --build is for a
# machine without a GPU: nothing is run.
#
# To build, it needs only nvcc, cuBLASLt and the headers of doctest (Debian's doctest-dev, or a folder DOCTEST that has doctest/doctest.h);
# it does not need CMake or xtensor. If python3, or the program PYTHON, has torch, PyTorch is measured too. With CAIRN_DATA, a
# folder with mnist/, the examples read MNIST, otherwise generated digits. Other environment variables: NVCC; ARCH, nvcc's -arch,
# by default native, or sm_90 with --build; JOBS; STEPS, some of "build tests examples sanitizers bench", for a machine that is
# available for a short time: without build, the programs in FOLDER are used; SANITIZER_SECONDS, after which a tool of
# compute-sanitizer is stopped.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=yes
if [[ ${1:-} == --build ]]; then runs=no; shift; fi
if [[ ${1:-} == -* || $# -gt 1 ]]; then echo "gpu.sh: expected [--build] [FOLDER]"; exit 2; fi
folder=${1:-build-gpu}
steps=${STEPS:-build tests examples sanitizers bench}
for step in $steps; do
  if [[ " build tests examples sanitizers bench " != *" $step "* ]]; then
    echo "gpu.sh: expected STEPS of build, tests, examples, sanitizers and bench, found $step"; exit 2
  fi
done
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
arch=${ARCH:-$([[ $runs == yes ]] && echo native || echo sm_90)}
jobs=${JOBS:-$(nproc)}
say() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

builds=no
if [[ " $steps " == *" build "* ]]; then builds=yes; fi
if [[ $builds == yes ]] && ! [[ -x $nvcc ]]; then echo "gpu.sh: expected nvcc, found none; put it on the path, or set NVCC"; exit 2; fi
if [[ $builds == yes && -z ${DOCTEST:-} ]] && ! echo '#include <doctest/doctest.h>' | c++ -fsyntax-only -x c++ - 2>/dev/null; then
  echo "gpu.sh: expected doctest/doctest.h, found none; install doctest-dev (Debian), or set DOCTEST to a folder that has it"
  exit 2
fi
if [[ $runs == yes ]] && ! nvidia-smi -L; then
  echo "gpu.sh: left out, as there is no GPU on this machine"
  exit 77
fi
mkdir -p "$folder"

object() { echo "$folder/$(tr / _ <<<"$1").o"; }
build() {
  say "nvcc builds all for $arch, $jobs sources at a time"
  export nvcc flags="-std=c++20 -O2 -arch=$arch -Iinclude -Itests ${DOCTEST:+-isystem $DOCTEST} -Werror all-warnings -Xcompiler -Wall,-Wextra,-Wshadow"
  local examples=(depth ffnet mnist) programs=(tests gpu_bench) program source
  local -A sources=()
  for program in "${examples[@]}"; do # first, as they take longest
    sources[$program]="$(echo examples/"$program"/*.cpp) examples/ranks_of_program/ranks_of_program.cpp"
  done
  sources[gpu_bench]=$(echo tests/bench/gpu/*.cu)
  sources[tests]="$(find tests/device tests/ops tests/cuda -name '*.cu' | sort | tr '\n' ' ')tests/main.cpp"
  # shellcheck disable=SC2016
  for source in $(tr ' ' '\n' <<<"${sources[mnist]} ${sources[ffnet]} ${sources[depth]} ${sources[gpu_bench]} ${sources[tests]}" | awk '!seen[$0]++'); do
    printf '%s\0%s\0' "$source" "$(object "$source")"
  done | xargs -0 -n 2 -P "$jobs" bash -c '
    language=; if [[ $1 == examples/* ]]; then language="-x cu"; fi
    "$nvcc" $flags $language -c "$1" -o "$2" || { echo "$1: not built"; exit 1; }' _ 2>&1 | tee "$folder/build.log" || return
  say "nvcc links"
  local libraries # the toolkit's, which programs do not always search
  libraries=$(dirname "$(readlink -f "$nvcc")")/../lib64
  for program in "${programs[@]}" "${examples[@]}"; do
    local objects=()
    for source in ${sources[$program]}; do objects+=("$(object "$source")"); done
    "$nvcc" "-arch=$arch" "${objects[@]}" -o "$folder/$program" -lcublasLt -Xlinker "-rpath=$libraries" || return
  done
}
if [[ $builds == yes ]]; then build || { echo "gpu.sh: it does not build; see $folder/build.log"; exit 1; }; fi
if [[ $runs == no ]]; then say "built, and not run"; exit 0; fi

failed=()
run() { # STEP WHAT COMMAND...: runs the command if the step was asked for
  if [[ " $steps " != *" $1 "* ]]; then return; fi
  say "$2"
  "${@:3}" || { failed+=("$2"); echo "gpu.sh: $2: failed"; }
}

tests() { CAIRN_FOUND="$folder/bounds.md" "$folder/tests" | tee "$folder/tests.log"; }

example() { # NAME ARGUMENTS...: runs it, and shows the table that it prints
  echo "$*"
  (cd "$folder" && program=./$1 && shift && "$program" "$@") >"$folder/example.out" 2>"$folder/example.err" || { cat "$folder/example.err"; return 1; }
  tee -a "$folder/examples.log" <"$folder/example.out" | awk '/^---/ && !table { table = 1; print before } table; { before = $0 } /^$/ { table = 0 }'
}
examples() {
  local weights
  rm -f "$folder/examples.log"
  example depth --device cuda --depths 10,100,300 --steps 5 && example ffnet --device cuda --epochs 2 &&
    example mnist --device cuda --epochs 1 --samples 2048 --policy all --ranks 2 &&
    example mnist --device cuda --epochs 1 --samples 2048 --ranks 1 --accumulate 2 --policy sqrt_n --budget 700KiB,1.2MiB --costs measured || return
  weights=$(awk '/^policy  / { table = 1 } /^$/ { table = 0 } table && $NF ~ /^[0-9a-f]+$/ && length($NF) == 16 { print $NF }' "$folder/examples.log" | sort -u | wc -l)
  if [[ $weights != 1 ]]; then echo "expected mnist to end with the same weights each time, found $weights different ones"; return 1; fi
}
accuracies() {
  local device
  for device in cpu cuda; do example mnist --device "$device" --epochs 3 --ranks 1 || return; done
  tail -n 100 "$folder/examples.log" | awk '$1 == "sqrt_n" { at[n++] = $(NF - 2) } END { apart = at[n - 1] - at[n - 2]; exit !(n >= 2 && apart <= 0.3 && apart >= -0.3) }' ||
    { echo "expected accuracies within 0.3 points of each other"; return 1; }
}

sanitizers() {
  local sanitizer tool process wrong=0
  local -A running=()
  sanitizer=$(command -v compute-sanitizer || echo "$(dirname "$nvcc")/compute-sanitizer")
  if ! [[ -x $sanitizer ]]; then echo "expected compute-sanitizer beside nvcc, found none"; return 1; fi
  for tool in memcheck racecheck initcheck synccheck; do
    timeout "${SANITIZER_SECONDS:-300}" "$sanitizer" --tool "$tool" --error-exitcode 1 "$folder/tests" >"$folder/$tool.log" 2>&1 &
    running[$!]=$tool
  done
  for process in "${!running[@]}"; do
    tool=${running[$process]}
    wait "$process" || { wrong=1; echo "$tool found something, or was stopped; see $folder/$tool.log"; }
    printf '%s: %s\n' "$tool" "$(tail -n 1 "$folder/$tool.log")"
  done
  return "$wrong"
}

bench() { # peer.py's exit status is 77 without torch, bash's is 127 without python3
  "$folder/gpu_bench" | tee "$folder/RESULTS.md" || return
  "${PYTHON:-python3}" tests/bench/gpu/peer.py --bench "$folder/gpu_bench" | tee "$folder/peer.md" || [[ ${PIPESTATUS[0]} =~ ^(77|127)$ ]] || return
  cat "$folder/peer.md" >>"$folder/RESULTS.md"
  if ! [[ -f $folder/bounds.md ]]; then return; fi # the tests write it
  { printf '\n### How far ops are from the cpu in double\n\n'; cat "$folder/bounds.md"; } >>"$folder/RESULTS.md"
}

run tests "the tests" tests
run examples "the examples" examples
run examples "the accuracy of mnist on the processor and on the GPU, which may be 0.3 points apart" accuracies
run sanitizers "memcheck, racecheck, initcheck and synccheck, side by side" sanitizers
run bench "what it reaches" bench

say "the end: see $folder, RESULTS.md there for tables"
if [[ ${#failed[@]} != 0 ]]; then printf 'gpu.sh: failed: %s\n' "${failed[@]}"; exit 1; fi
