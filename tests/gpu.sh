#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests on a machine with an NVIDIA GPU, made for the ten minutes that such a machine may be there: what tells most comes first. A
# failure does not stop the later steps; after each step a line says how it went, and the end lists the failures.
#
#   tests/gpu.sh [--build] [--logs LOGS] [FOLDER]
#
#   build       nvcc builds the tests, the examples that can train on a GPU, and the benchmark (tests/bench/gpu), all at once
#   facts       the GPU, its driver, its clocks, and what its memory reaches
#   smoke       20 steps of a small network beside the processor's
#   algorithms  what cuBLASLt takes for each product, and what it refuses
#   ops         tests of the device and of ops
#   trainers    tests of steps and files, and the examples
#   ranks       tests of several ranks
#   bench       what calls cost the host; ops, products, steps and ranks; PyTorch's steps beside them
#   sanitizers  the tests of ops under compute-sanitizer, with Cairn's own kernels only
#
# FOLDER, by default build-gpu, has the programs. They may be built elsewhere, with --build, which needs no GPU and runs nothing,
# and brought here; then neither nvcc nor doctest is needed. LOGS, by default FOLDER, gets the output of each run while it is
# written: summary.txt, one file for each program, and RESULTS.md with all tables.
#
# To build, it needs only nvcc, cuBLASLt and the headers of doctest (Debian's doctest-dev, or a folder DOCTEST that has
# doctest/doctest.h); it does not need CMake or xtensor. If python3, or the program PYTHON, has torch, PyTorch is measured too, and
# its cuBLASLt is used where the toolkit's is absent. With CAIRN_DATA, a folder with mnist/, the examples read MNIST, otherwise
# generated digits. Other environment variables: NVCC; ARCH, nvcc's -arch, by default native, or sm_90 with --build; JOBS; STEPS, some
# of the steps above, by default all (without build, if FOLDER has the programs and there is no nvcc); STEP_SECONDS, after
# which a program is stopped, by default 150; SMALLER, by which the benchmark divides its sizes, to try out this script.
set -euo pipefail
cd "$(dirname "$0")/.."

all="build facts smoke algorithms ops trainers ranks bench sanitizers"
examples=(densenet depth ffnet mnist own_kernel resnet)
programs=(tests gpu_bench)

use() { echo "gpu.sh: expected [--build] [--logs LOGS] [FOLDER]"; exit 2; }
runs=yes logs=
while [[ ${1:-} == -* ]]; do
  case $1 in
    --build) runs=no ;;
    --logs) if [[ $# -lt 2 ]]; then use; fi; logs=$2; shift ;;
    *) use ;;
  esac
  shift
done
if [[ $# -gt 1 ]]; then use; fi
folder=${1:-build-gpu}
logs=${logs:-$folder}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
arch=${ARCH:-$([[ $runs == yes ]] && echo native || echo sm_90)}
jobs=${JOBS:-$(nproc)}

has_programs() { local program; for program in "${programs[@]}" "${examples[@]}"; do [[ -x $folder/$program ]] || return; done; }
steps=${STEPS:-$all}
if [[ -z ${STEPS:-} ]] && ! [[ -x $nvcc ]] && has_programs; then steps=${all#build }; fi
for step in $steps; do
  if [[ " $all " != *" $step "* ]]; then echo "gpu.sh: expected STEPS of $all, found $step"; exit 2; fi
done
asks_for() { [[ " $steps " == *" $1 "* ]]; }

if asks_for build; then
  if ! [[ -x $nvcc ]]; then
    echo "gpu.sh: expected nvcc, found none; put it on the path, set NVCC, or bring the programs in $folder"
    exit 2
  fi
  if [[ -z ${DOCTEST:-} ]] && ! echo '#include <doctest/doctest.h>' | c++ -fsyntax-only -x c++ - 2>/dev/null; then
    echo "gpu.sh: expected doctest/doctest.h, found none; install doctest-dev (Debian), or set DOCTEST to a folder that has it"
    exit 2
  fi
fi
if [[ $runs == yes ]] && ! nvidia-smi -L; then
  echo "gpu.sh: left out, as there is no GPU on this machine"
  exit 77
fi
mkdir -p "$folder" "$logs"
folder=$(readlink -f "$folder") logs=$(readlink -f "$logs")
: >"$logs/summary.txt"
say() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }
tell() { echo "gpu.sh: $1" | tee -a "$logs/summary.txt"; }

object() { echo "$folder/$(tr / _ <<<"$1").o"; }
build() {
  export nvcc flags="-std=c++20 -O2 -arch=$arch -Iinclude -Itests ${DOCTEST:+-isystem $DOCTEST} -Werror all-warnings -Xcompiler -Wall,-Wextra,-Wshadow"
  local program source
  local -A sources=()
  # NCCL only where it runs, so that programs that are brought to another machine start there without it.
  local nccl=()
  if [[ $runs == yes && $(nvidia-smi -L | wc -l) -gt 1 ]] && echo '#include <nccl.h>' | "$nvcc" -E -x cu - >/dev/null 2>&1; then
    flags+=" -DCAIRN_WITH_NCCL=1"
    nccl=(-lnccl)
  fi
  for program in "${examples[@]}"; do # first, as they take longest
    if [[ -f examples/$program.cu ]]; then sources[$program]=examples/$program.cu; continue; fi
    sources[$program]="$(echo examples/"$program"/*.cpp) examples/ranks_of_program/ranks_of_program.cpp"
    if [[ $program == @(densenet|resnet) ]]; then sources[$program]+=" examples/image_training/image_training.cpp"; fi
  done
  sources[gpu_bench]=$(echo tests/bench/gpu/*.cu)
  sources[tests]="$(find tests/device tests/ops tests/cuda tests/comm/nccl/ordered_sum.cu -name '*.cu' -not -path '*/emulator/*' | sort | tr '\n' ' ')tests/main.cpp"
  # shellcheck disable=SC2016
  for source in $(for program in "${examples[@]}" "${programs[@]}"; do echo "${sources[$program]}"; done | tr ' ' '\n' | awk '!seen[$0]++'); do
    printf '%s\0%s\0' "$source" "$(object "$source")"
  done | xargs -0 -n 2 -P "$jobs" bash -c '
    language=; if [[ $1 == examples/* ]]; then language="-x cu"; fi
    "$nvcc" $flags $language -c "$1" -o "$2" || { echo "$1: not built"; exit 1; }' _ 2>&1 | tee "$logs/build.log" || return
  local libraries # the toolkit's, which programs do not always search
  libraries=$(dirname "$(readlink -f "$nvcc")")/../lib64
  for program in "${programs[@]}" "${examples[@]}"; do
    local objects=()
    for source in ${sources[$program]}; do objects+=("$(object "$source")"); done
    "$nvcc" "-arch=$arch" "${objects[@]}" -o "$folder/$program" -lcublasLt "${nccl[@]}" -Xlinker "-rpath=$libraries" || return
  done
}
if asks_for build; then
  say "nvcc builds all for $arch, $jobs sources at a time"
  if ! build; then tell "it does not build; see $logs/build.log"; exit 1; fi
  tell "build: done ($SECONDS s)"
fi
if [[ $runs == no ]]; then exit 0; fi
if ! has_programs; then tell "expected ${programs[*]} ${examples[*]} in $folder; build them, or bring them"; exit 2; fi

# Programs that were built elsewhere may look for cuBLASLt where it is not.
if ldd "$folder/gpu_bench" | grep -q 'libcublasLt.* not found'; then
  of_python=$("${PYTHON:-python3}" -c 'import nvidia; print(nvidia.__path__[0])' 2>/dev/null || true)
  found=$(find /usr/local/cuda*/lib64 /usr/lib/x86_64-linux-gnu ${of_python:+"$of_python"} -name 'libcublasLt.so*' 2>/dev/null | head -n 1 || true)
  if [[ -n $found ]]; then
    LD_LIBRARY_PATH=$(dirname "$found")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
  fi
fi

failed=()
run() { # STEP WHAT COMMAND...: runs the command if the step was asked for
  if ! asks_for "$1"; then return; fi
  say "$2"
  local start=$SECONDS
  if "${@:3}"; then tell "$2: right ($((SECONDS - start)) s)"; else
    failed+=("$2")
    tell "$2: FAILED ($((SECONDS - start)) s)"
  fi
}
limited() { timeout "${STEP_SECONDS:-150}" "$@"; }
bench() { limited "$folder/gpu_bench" --smaller "${SMALLER:-1}" "$@"; }
table() { bench --only "$1" | tee "$logs/$1.md"; }

facts() {
  nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.sm,clocks.max.sm,clocks.max.memory,power.limit --format=csv |
    tee "$logs/facts.txt"
  table machine
}

tests() { # LOG SOURCES [BUT]: those test cases whose source is one of these
  CAIRN_FOUND="$logs/bounds_$1.md" limited "$folder/tests" "--source-file=$2" ${3:+"--source-file-exclude=$3"} 2>&1 | tee "$logs/$1.log" || return
  grep -q 'test cases: *[1-9]' "$logs/$1.log" || { echo "expected test cases, found none"; return 1; }
}

example() { # NAME ARGUMENTS...: runs it, and shows the table that it prints
  echo "$*"
  (cd "$logs" && limited "$folder/$1" "${@:2}") >"$logs/example.out" 2>"$logs/example.err" || { cat "$logs/example.err"; return 1; }
  tee -a "$logs/$1.log" <"$logs/example.out" | awk '/^---/ && !table { table = 1; print before } table; { before = $0 } /^$/ { table = 0 }'
}
train_examples() {
  local name weights
  rm -f "$logs"/{depth,ffnet,mnist,densenet,resnet}.log
  example depth --device cuda --depths 10,100,300 --steps 5 && example ffnet --device cuda --epochs 2 &&
    example mnist --device cuda --epochs 1 --samples 2048 --policy all --ranks 2 &&
    example mnist --device cuda --epochs 1 --samples 2048 --ranks 1 --accumulate 2 --policy sqrt_n --budget 700KiB,1.2MiB --costs measured || return
  for name in densenet resnet; do
    example "$name" --device cuda --epochs 1 --samples 256 --test 64 --policy all --ranks 1 || return
  done
  for name in mnist densenet resnet; do
    weights=$(awk '/^policy  / { table = 1 } /^$/ { table = 0 } table && $NF ~ /^[0-9a-f]+$/ && length($NF) == 16 { print $NF }' "$logs/$name.log" | sort -u | wc -l)
    if [[ $weights != 1 ]]; then echo "expected $name to end with the same weights under all policies, found $weights different ones"; return 1; fi
  done
}
accuracies() {
  local device
  for device in cpu cuda; do example mnist --device "$device" --epochs 3 --ranks 1 || return; done
  tail -n 100 "$logs/mnist.log" | awk '$1 == "sqrt_n" { at[n++] = $(NF - 2) } END { apart = at[n - 1] - at[n - 2]; exit !(n >= 2 && apart <= 0.3 && apart >= -0.3) }' ||
    { echo "expected accuracies within 0.3 points of each other"; return 1; }
}

peers() { # its exit status is 77 without torch, bash's is 127 without python3
  limited "${PYTHON:-python3}" tests/bench/gpu/peer.py --bench "$folder/gpu_bench" | tee "$logs/peer.md" || [[ ${PIPESTATUS[0]} =~ ^(77|127)$ ]]
}

sanitizers() {
  local sanitizer tool process wrong=0 own=()
  local -A running=()
  sanitizer=$(command -v compute-sanitizer || echo "$(dirname "$nvcc")/compute-sanitizer")
  if ! [[ -x $sanitizer ]]; then echo "expected compute-sanitizer beside nvcc, found none"; return 1; fi
  if "$sanitizer" --help | grep -q -e --kernel-regex; then own=(--kernel-regex kns=cairn); fi # part of a kernel's name
  for tool in memcheck racecheck initcheck synccheck; do
    limited "$sanitizer" --tool "$tool" "${own[@]}" --error-exitcode 1 "$folder/tests" "--source-file=*tests/ops/*" >"$logs/$tool.log" 2>&1 &
    running[$!]=$tool
  done
  for process in "${!running[@]}"; do
    tool=${running[$process]}
    wait "$process" || { wrong=1; echo "$tool found something, or was stopped; see $logs/$tool.log"; }
    printf '%s: %s\n' "$tool" "$(tail -n 1 "$logs/$tool.log")"
  done
  return "$wrong"
}

run facts "facts" facts
run smoke "20 steps beside the processor's" table smoke
run algorithms "algorithms of products" table algorithms
run ops "tests of the device and of ops" tests ops '*tests/device/*,*tests/ops/*'
run trainers "tests of trainers" tests trainers '*tests/cuda/*' '*cuda/ranks*'
run trainers "the examples" train_examples
run trainers "kernels of one's own" limited "$folder/own_kernel"
run trainers "the accuracy of mnist on the processor and on the GPU, which may be 0.3 points apart" accuracies
run ranks "tests of ranks" tests ranks '*tests/cuda/ranks*,*tests/comm/*'
run bench "what calls cost the host" table constants
for part in steps products ops ranks; do run bench "what it reaches: $part" table "$part"; done
run bench "PyTorch's steps" peers
run sanitizers "memcheck, racecheck, initcheck and synccheck, side by side" sanitizers

for part in machine smoke algorithms constants ops products steps ranks peer; do
  if [[ -f $logs/$part.md ]]; then cat "$logs/$part.md"; fi
done >"$logs/RESULTS.md"
if [[ -f $logs/bounds_ops.md ]]; then # the tests write it
  { printf '\n### How far ops are from the cpu in double\n\n'; cat "$logs/bounds_ops.md"; } >>"$logs/RESULTS.md"
fi
say "the end: see $logs, RESULTS.md there for tables"
cat "$logs/summary.txt"
if [[ ${#failed[@]} != 0 ]]; then printf 'gpu.sh: failed: %s\n' "${failed[@]}"; exit 1; fi
