#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A component of Cairn is there exactly if a program can use it: if all of its library is installed, but not if the library is
# absent or half of it is there (headers without the library, the library without headers). For bare_machine.sh: it installs,
# hides and restores files of the system.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=$(mktemp -d)
faults=0

apt-get install -y -qq g++ make cmake > "$place/apt.log" 2>&1 || { cat "$place/apt.log"; exit 1; }
cmake -S . -B "$place/cairn" -DCAIRN_BUILD_TESTS=OFF -DCAIRN_BUILD_EXAMPLES=OFF > /dev/null
cmake --install "$place/cairn" --prefix "$place/prefix" > /dev/null
# The components, each with its Debian packages.
declare -A packages=([blas]=libopenblas-dev [images]="libpng-dev libjpeg-dev" [mpi]="openmpi-bin libopenmpi-dev" [onednn]=libdnnl-dev
                     [safetensors]=nlohmann-json3-dev [xtensor]=libxtensor-dev [cuda]="" [nccl]="")

# found COMPONENT: whether find_package() finds it. Its output is in $place/said.
found() {
  rm -rf "$place/build"
  cmake -S tests/package/missing -B "$place/build" -DCMAKE_PREFIX_PATH="$place/prefix" "-DCOMPONENTS=$1" > "$place/said" 2>&1 || {
    cat "$place/said"
    return 2
  }
  grep -q -- "-- $1: 1, " "$place/said" && return 0
  # A missing component gives one sentence, which says what to install.
  grep -q -- "-- $1: 0, No cairn::$1, .*as .*: install " "$place/said" && return 1
  cat "$place/said"
  return 2
}

# expect COMPONENT STATE there|missing
expect() {
  local status=0
  found "$1" || status=$?
  if [[ $3 == there && $status == 0 || $3 == missing && $status == 1 ]]; then
    echo "$1, $2: $3"
  else
    echo "$1, $2: expected that it is $3; $(grep -- "-- $1:" "$place/said" || true)"
    faults=$((faults + 1))
  fi
}

# half COMPONENT STATE PATTERN...: the component is missing while the files whose paths match are hidden.
half() {
  local component=$1 state=$2 path
  shift 2
  for pattern in "$@"; do find /usr /etc/alternatives -path "$pattern" -prune; done | sort -u > "$place/hidden"
  [[ -s $place/hidden ]] || { echo "$component, $state: no file matches $*"; faults=$((faults + 1)); return; }
  rm -rf "$place/kept" # folders of an earlier call, into which folders would be moved
  while read -r path; do mkdir -p "$place/kept$(dirname "$path")" && mv "$path" "$place/kept$path"; done < "$place/hidden"
  expect "$component" "$state" missing
  while read -r path; do mv "$place/kept$path" "$path"; done < "$place/hidden"
}

# The check itself comes first: it must report a fault if a missing component is expected to be there.
for component in "${!packages[@]}"; do expect "$component" "nothing installed" missing; done
if (expect mpi "nothing installed, and expected to be there" there; exit $faults) > /dev/null; then
  echo "half_installed.sh: it cannot fail"
  exit 1
fi

apt-get install -y -qq ${packages[@]} > "$place/apt.log" 2>&1 || { cat "$place/apt.log"; exit 1; }
for component in "${!packages[@]}"; do
  [[ $component == @(cuda|nccl) ]] || expect "$component" "installed" there
done
cmake -S tests/package/components -B "$place/use" -DCMAKE_PREFIX_PATH="$place/prefix" \
  "-DCOMPONENTS=blas;images;mpi;onednn;safetensors;xtensor" > /dev/null
cmake --build "$place/use" --target components > "$place/log" 2>&1 && "$place/use/components" || {
  tail -n 20 "$place/log"
  echo "a program with all components does not build and run"
  faults=$((faults + 1))
}

half blas "headers without the library" '*/libopenblas*.so*' '*/libopenblas*.a' '*/lib/*/libblas.*' '*/lib/*/libcblas.*'
half blas "the library without headers" '*/cblas*.h'
half images "libpng's headers without the library" '*/libpng*.so*' '*/libpng*.a'
half images "libpng without headers" '*/include/png.h' '*/include/libpng*'
half images "libjpeg's headers without the library" '*/libjpeg*.so*' '*/libjpeg*.a'
half images "libjpeg without headers" '*/jpeglib.h'
half mpi "headers without the library" '*/libmpi*.so*'
half mpi "the library without headers" '*/mpi.h'
half mpi "the compiler's wrapper alone" '*/libmpi*.so*' '*/mpi.h'
half onednn "headers without the library" '*/libdnnl.so*'
half onednn "the library without headers" '*/include/oneapi' '*/include/dnnl*'
half onednn "the library without some of its headers" '*/dnnl_config.h'
half safetensors "headers without their package" '*/cmake/nlohmann_json'
half safetensors "the package without headers" '*/include/nlohmann'
half xtensor "headers without their package" '*/cmake/xtensor'
half xtensor "the package without headers" '*/include/xtensor'
half xtensor "without xtl, on which it stands" '*/include/xtl'

# A stand-in for a CUDA Toolkit, with the files that CMake looks at; no program is compiled with it.
toolkit=/usr/local/cuda
mkdir -p $toolkit/bin $toolkit/include $toolkit/lib64
printf '#!/bin/sh\necho "#\\$ TOP=%s"\necho "Cuda compilation tools, release 13.0, V13.0.0" >&2\n' $toolkit > $toolkit/bin/nvcc
chmod +x $toolkit/bin/nvcc
echo '{"cuda" : {"version" : "13.0.0"}}' > $toolkit/version.json
touch $toolkit/include/cuda_runtime.h $toolkit/include/cublasLt.h $toolkit/lib64/libcudart.so $toolkit/lib64/libcublasLt.so
expect cuda "a toolkit" there
half cuda "headers without cuBLASLt" '*/cuda/lib64/libcublasLt.so'
half cuda "cuBLASLt without headers" '*/cuda/include/cublasLt.h'
half cuda "the compiler alone" '*/cuda/include' '*/cuda/lib64'
expect nccl "a toolkit without it" missing
printf '#define NCCL_%s\n' "MAJOR 2" "MINOR 28" "PATCH 9" > $toolkit/include/nccl.h
touch $toolkit/lib64/libnccl.so
expect nccl "beside the toolkit" there
half nccl "its header without its library" '*/cuda/lib64/libnccl.so'
half nccl "its library without its header" '*/cuda/include/nccl.h'
half nccl "without the toolkit's cuBLASLt" '*/cuda/lib64/libcublasLt.so'
printf '#define NCCL_%s\n' "MAJOR 2" "MINOR 14" "PATCH 3" > $toolkit/include/nccl.h
expect nccl "too old" missing

rm -rf "$place"
[[ $faults == 0 ]] || { echo "half_installed.sh: $faults faults"; exit 1; }
