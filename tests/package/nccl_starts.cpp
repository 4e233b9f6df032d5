// SPDX-License-Identifier: MIT
// Linked with the real NCCL and CUDA's runtime: it starts, and where there is no GPU nccl says so in one sentence. (Where there are
// GPUs, it joins them; a C++ compiler has read it, so it launches no kernel of Cairn's.)
#include <cstdio>
#include <string>

#include <nccl.h>

#include <cairn/comm/nccl/nccl.cuh>

int main() {
  int version = 0;
  ncclUniqueId id;
  if (ncclGetVersion(&version) != ncclSuccess || ncclGetUniqueId(&id) != ncclSuccess) return 1;
  std::string said;
  try {
    cairn::nccl{{.sums = cairn::nccl::order::nccl}}.run([](cairn::nccl::rank& rank) { rank.check(); });
    said = "there are " + std::to_string(cairn::cuda::count()) + " GPUs";
    if (cairn::cuda::count() == 0) return 2;
  } catch (const cairn::device_error& none) {
    said = none.what();
    if (cairn::cuda::count() > 0 || said.rfind("cuda: expected a GPU, found none that this program can use (", 0) != 0) return 3;
  }
  std::printf("NCCL %d.%d.%d: %s\n", version / 10'000, version / 100 % 100, version % 100, said.c_str());
}
