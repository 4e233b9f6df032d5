// SPDX-License-Identifier: MIT
// Runs Cairn on the workloads that PyTorch is measured on. Prints one JSON object a line.
//
//   bench WORKLOAD [--mode M] [--threads N] [--steps N] [--warmup N] [--depth N] [--num-hl N] [--hl-size N]
//         [--rows N] [--world N] [--bucket-mb N] [--communicator threads|mpi]
#include <cstring>
#include <stdexcept>

#include "bench.hpp"

namespace {

int usage(const char* fault) {
  std::fprintf(
      stderr,
      "bench: %s\n"
      "  machine                                  what a core reaches\n"
      "  products                                 every form of a product, on cubes and the layers' sizes\n"
      "  convolutions                             every part of convolutions, of layers that people know\n"
      "  ffnet --num-hl 0 --hl-size 10 | --num-hl 3 --hl-size 100\n"
      "  mlp\n"
      "  chain --mode naive|sqrt|fused|fused_sqrt --depth 10|30|100|300\n"
      "  densenet --mode naive|efficient, also with --world 2 on threads, or first_block|within_140|blocks|efficient_blocks\n"
      "  gpt --mode naive|budget_8|fused_10, also naive with --world 2, or attention_64|attention_256|attention_1024\n"
      "  generate --mode characters|characters_floor|gpt2|gpt2_floor   a text, token by token\n"
      "  answers --mode small|digits|deep|block|1024|2048|4096, also with _bfloat16, _int8 or _floor --rows 1|2|4|8   a trained "
      "network\n"
      "  vgg                                      VGG-11 on images of 32 x 32\n"
      "  ddp --world N --mode overlapped --bucket-mb 0.0625|0.25|1|4|25, or --mode after_backward "
      "--bucket-mb 1|25\n"
      "  ping --world N                           sums of few and of many bytes\n"
      "  predict --world N --mode M --bucket-mb N --step-ms N --update-ms N --latency-us N --gbytes N --taken N\n"
      "  ddp and ping: --communicator threads, or --communicator mpi under mpirun -np N\n"
      "  mlp, chain of 100, gpt: --type float|bfloat16|float16\n"
      "  and with all: --threads N --steps N --warmup N\n",
      fault);
  return 2;
}

} // namespace

int main(int count, char** words) {
  if (count < 2) return usage("which workload?");
  request asked;
  asked.workload = words[1];
  if (asked.workload == "chain") asked.depth = 100;
  if (asked.workload == "ddp" || asked.workload == "ping" || asked.workload == "predict")
    asked.world = 2, asked.mode = "overlapped";
  try {
    for (int i = 2; i < count; i += 2) {
      const std::string word = words[i];
      if (i + 1 == count) return usage((word + " needs a value").c_str());
      const std::string value = words[i + 1];
      if (word == "--mode") asked.mode = value;
      else if (word == "--threads") asked.threads = std::stoul(value);
      else if (word == "--world") asked.world = std::stoul(value);
      else if (word == "--steps") asked.steps = std::max(1UL, std::stoul(value));
      else if (word == "--warmup") asked.warmup = std::stoul(value);
      else if (word == "--depth") asked.depth = std::stoul(value);
      else if (word == "--num-hl") asked.num_hl = std::stoul(value);
      else if (word == "--hl-size") asked.hl_size = std::stoul(value);
      else if (word == "--rows") asked.rows = std::stoul(value);
      else if (word == "--bucket-mb") asked.bucket_mb = std::stod(value);
      else if (word == "--communicator") asked.communicator = value;
      else if (word == "--type") asked.type = value;
      else if (word == "--step-ms") asked.step_ms = std::stod(value);
      else if (word == "--update-ms") asked.update_ms = std::stod(value);
      else if (word == "--latency-us") asked.latency_us = std::stod(value);
      else if (word == "--gbytes") asked.gbytes = std::stod(value);
      else if (word == "--taken") asked.taken = std::stod(value);
      else return usage((word + " is no option").c_str());
    }
    bool known = false;
    if (asked.type != "float") return bench_precision(asked) ? 0 : usage("this workload is not compiled in for this type");
    if (asked.workload == "ffnet") known = bench_ffnet(asked);
    if (asked.workload == "mlp") known = bench_mlp(asked);
    if (asked.workload == "chain") known = bench_chain(asked);
    if (asked.workload == "densenet") known = bench_densenet(asked);
    if (asked.workload == "gpt") known = bench_gpt(asked);
    if (asked.workload == "generate") known = bench_generate(asked);
    if (asked.workload == "answers") known = bench_answers(asked);
    if (asked.workload == "vgg") known = bench_vgg(asked);
    if (asked.workload == "ddp") known = bench_ddp(asked);
    if (asked.workload == "ping") known = bench_ping(asked);
    if (asked.workload == "predict") known = bench_predict(asked);
    if (asked.workload == "machine") known = bench_machine(asked);
    if (asked.workload == "products") known = bench_products(asked);
    if (asked.workload == "convolutions") known = bench_convolutions(asked);
    if (!known) return usage("this workload, or this size of it, is not compiled in");
  } catch (const std::logic_error& fault) { // of stoul and stod
    return usage((std::string("not a number for ") + fault.what()).c_str());
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "bench: %s\n", fault.what());
    return 1;
  }
  return 0;
}
