// SPDX-License-Identifier: MIT
// launch: an environment and a command line that may be anything are understood, or refused by an input_error that shows what
// was seen. What is understood holds together, and is what the launchers said.
//
// A line of the bytes is a variable, NAME=value, or a word of the command line. A line of one byte that is no letter and a text
// takes its name from the table of launchers, so that libFuzzer need not find the names.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/comm/launch/launch.hpp>

#include "fuzz.hpp"

using namespace cairn;

namespace {

struct process {
  std::map<std::string, std::string, std::less<>> environment;
  std::vector<std::string> words{"program"};
  launch::options given;

  explicit process(std::string_view text) {
    constexpr std::size_t known = std::size(detail::launch_variables);
    while (!text.empty()) {
      const std::string line(text.substr(0, text.find('\n')));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      const auto first = static_cast<unsigned char>(line.empty() ? 0 : line[0]);
      if (first > 0 && first <= known) environment[detail::launch_variables[first - 1].name] = line.substr(1).c_str();
      else if (first >= 0xf0) give(first, static_cast<std::int8_t>(line.size() > 1 ? line[1] : 0));
      else if (const std::size_t sign = line.find('='); sign != line.npos && first != '-')
        environment[line.substr(0, sign)] = line.substr(sign + 1).c_str();
      else words.push_back(line);
    }
  }

  void give(unsigned char which, int value) {
    if (which == 0xf0) given.ranks = value;
    if (which == 0xf1) given.rank = value;
    if (which == 0xf2) given.size = value;
    if (which == 0xf3) given.local_rank = value;
    if (which == 0xf4) given.local_size = value;
    if (which == 0xf5) given.port = value;
    if (which == 0xf6) given.address.assign(1, static_cast<char>(value));
  }

  launch look() const {
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    const auto value = [&](std::string_view name) {
      const auto found = environment.find(name);
      return found == environment.end() ? nullptr : found->second.c_str();
    };
    return launch::from(value, pointers, given);
  }
};

} // namespace

void fuzzing::look_at(const std::string&, std::span<const std::uint8_t> bytes) {
  const process now{std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
  launch found;
  try {
    found = now.look();
  } catch (const input_error& refused) {
    const std::string_view text = refused.what();
    require(text.substr(0, 8) == "launch: " && text.find(". Seen: ") != text.npos, "an error says what was seen");
    require(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; }), "an error can be printed");
    return;
  }
  require(0 <= found.rank && found.rank < found.size, "a rank is below the size");
  require(!found.local_rank || (*found.local_rank >= 0 && *found.local_rank < found.local_size.value_or(found.size)),
          "a local rank is below the local size");
  require(!found.local_size || (*found.local_size >= 1 && *found.local_size <= found.size), "a machine has some of the ranks");
  require(!found.port || (*found.port >= 1 && *found.port <= 65'535), "a port is one");
  require((found.by == types::launcher::none) <= (found.size == 1), "without a launcher there is one process");
  require(found.size == 1 || !now.given.ranks || *now.given.ranks == found.size, "there are as many ranks as were asked for");
  require(!now.given.rank || found.rank == *now.given.rank, "the rank is the one that the program gave");
}

void fuzzing::write_seeds(const std::string& folder) {
  write_seed(folder + "torchrun", "RANK=1\nWORLD_SIZE=2\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nGROUP_WORLD_SIZE=1\n"
                                  "MASTER_ADDR=localhost\nMASTER_PORT=29500\n");
  write_seed(folder + "older", "RANK=1\nWORLD_SIZE=2\n--local-rank=1\n");
  write_seed(folder + "oldest", "RANK=1\nWORLD_SIZE=2\n--local_rank\n1\n");
  write_seed(folder + "open_mpi", "OMPI_COMM_WORLD_RANK=1\nOMPI_COMM_WORLD_SIZE=2\nOMPI_COMM_WORLD_LOCAL_RANK=1\n"
                                  "OMPI_COMM_WORLD_LOCAL_SIZE=2\nPMIX_RANK=1\n");
  write_seed(folder + "hydra", "PMI_RANK=1\nPMI_SIZE=2\nMPI_LOCALRANKID=1\nMPI_LOCALNRANKS=2\n");
  write_seed(folder + "slurm", "SLURM_PROCID=3\nSLURM_STEP_NUM_TASKS=7\nSLURM_LOCALID=1\nSLURM_NODEID=1\n"
                               "SLURM_STEP_TASKS_PER_NODE=2(x3),1\n");
  write_seed(folder + "given", "\xf1\x01\n\xf2\x02\n\xf0\x02\n\xf6node\n");
  write_seed(folder + "numbered", "\x01"
                                  "1\n\x02"
                                  "2\n\x03"
                                  "1\n");
  write_seed(folder + "script", "SLURM_PROCID=0\nSLURM_NTASKS=4\nWORLD_SIZE=4\n");
}
