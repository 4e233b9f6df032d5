// SPDX-License-Identifier: MIT
#include "networks.hpp"

using namespace cairn;

bool bench_mlp(const request& asked) {
  measure<mlp::net, CrossEntropyLoss, mlp::rows>(asked, "naive", 8, mlp::optimizer, [](auto&) {});
  return true;
}
