# SPDX-License-Identifier: MIT
"""A fault on one process of a job ends the whole job, soon and with a message that says what it was.

mpirun runs a program that trains with 2 and with 4 processes, each time with another fault on one of them. Every process must
end with an error within the deadline of the communicator and two seconds, and the job must print the rank, the call, the bucket
and the step, once. Without mpirun there is nothing to run: exit status 77.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from house import report, spread

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT_OUT = 77
DEADLINE, START = 3.0, 3.0  # seconds: the communicator's, and what mpirun and MPI_Init may take on a busy machine
LAUNCHER = 5.0  # seconds that mpirun gets after all its processes have ended; Open MPI 4.1's never ends in 1 of some 200 runs

PROGRAM = r"""#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <cairn/comm/mpi/mpi.hpp>
#include <cairn/cairn.hpp>

using namespace cairn;

// Something goes wrong in this call of this rank, counted from 0.
struct fault {
  std::string what;
  int rank = 1;
  int call = 25;
};

// A communicator around a rank of mpi that carries the fault out.
struct faulty_rank {
  static constexpr std::string_view name = "mpi";
  mpi::rank& inner;
  fault planned;
  int calls = 0;

  int rank() const { return inner.rank(); }
  int size() const { return inner.size(); }
  int local_size() const { return inner.local_size(); }
  template <class Queue, class T>
  auto all_reduce(Queue& queue, std::span<T> span) {
    begin();
    return inner.all_reduce(queue, span);
  }
  template <class Queue>
  auto broadcast(Queue& queue, std::span<std::byte> bytes, int root) {
    begin();
    return inner.broadcast(queue, bytes, root);
  }
  void exchange(std::span<const std::byte> own, std::span<std::byte> all) {
    begin();
    inner.exchange(own, all);
  }
  void check() { inner.check(); }
  void reserve(std::size_t bytes) { inner.reserve(bytes); }

  void begin() {
    if (rank() != planned.rank || calls++ != planned.call) return;
    if (planned.what == "kill") std::raise(SIGKILL);
    if (planned.what == "throw") throw std::runtime_error("the cup is broken");
    if (planned.what == "sleep") std::this_thread::sleep_for(std::chrono::seconds(60));
    if (planned.what == "stop") std::raise(SIGSTOP);
    if (planned.what == "exit") std::exit(7);
    if (planned.what == "leave") ::_exit(0);
  }
};

template <std::size_t Width, std::size_t Bytes>
void train(mpi::rank& rank, const fault& planned, int steps) {
  using Net = Sequential<Linear<16, Width>, ReLU, Linear<Width, Width>, ReLU, Linear<Width, 4>>;
  faulty_rank comm{rank, planned};
  trainer<ddp<checkpoint<sqrt_n, Net>, faulty_rank, bucket_bytes<Bytes>>, CrossEntropyLoss, SGD, batch<8>> t{
      comm, SGD{.learning_rate = 0.01}, {.seed = 3}};
  const std::vector<float> x(8 * 16, 0.5F);
  const std::vector<int> y(8, 1);
  for (int step = 0; step < steps; ++step) t.step(x, y);
  if (rank.rank() == 0) std::printf("trained, %llu\n", static_cast<unsigned long long>(t.checksum()));
}

int main(int, char** words) {
  const fault planned{words[1]};
  int level = 0;
  if (const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK"); rank != nullptr && std::string(rank) == "1") {
    if (planned.what == "gone") return 0;
    if (planned.what == "asleep") std::raise(SIGSTOP);
  }
  // Open MPI's mpirun ends a job itself, and not always with a word, if one process leaves when others have begun.
  if (planned.what == "gone") std::this_thread::sleep_for(std::chrono::milliseconds(500));
  if (planned.what == "funneled") MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  try {
    if (planned.what == "launcher") std::printf("ready\n"), std::fflush(stdout);
    mpi({.deadline = std::chrono::seconds(3), .long_deadline = std::chrono::seconds(3)}).run([&](mpi::rank& rank) {
      const bool is_odd = rank.rank() == planned.rank;
      if (planned.what == "network" && is_odd) train<48, 20'000>(rank, planned, 20);
      else if (planned.what == "buckets" && is_odd) train<64, 10'000>(rank, planned, 20);
      else train<64, 20'000>(rank, planned, planned.what == "batches" && is_odd ? 10 : planned.what == "launcher" ? 1'000'000 : 20);
    });
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "error: %s\n", thrown.what());
    if (planned.what == "funneled") MPI_Finalize();
    return 1;
  }
}
"""

STEP = r"trainer, step \d+: bucket \d+ of \d+: mpi: rank \d of {n}, call \d+, all_reduce of \d+ float: "
NOT_BEGUN = r"the job has not begun within 3000 ms: expected every process that was started to join it, "
# For each fault: what the job prints, and how often; {n} is the number of processes, {last} the last rank.
FAULTS = {
    "throw": [(r"error: mpi: rank 1 of {n} threw: the cup is broken", 1), (r"because rank 1 threw", "others"),
              (r"the cup is broken", 1)],
    # A rank that mpirun stops says so itself, or another rank says it about that one, whichever comes first.
    "kill": [(STEP + r"it (?:was not done|cannot start), because (?:rank \d failed: )?it was told to end \(SIGTERM\) "
              r"while call \d+ still waited for rank 1", "any"),
             (r"process rank 1 .*signal 9", 1)],
    "sleep": [(STEP + r"it (?:was not done|cannot start), because .*call \d+ still waited for rank 1 within 3000 ms", "any")],
    "stop": [(STEP + r"it (?:was not done|cannot start), because .*call \d+ still waited for rank 1 within 3000 ms", "any")],
    "exit": [(r"rank 1|Process name: \[\[\d+,1\],1\]", "any")],
    "leave": [(r"rank 1", "any")],
    "network": [(r"rank \d of {n} threw: ddp: ranks? .*expected the same network on every rank", "all")],
    "buckets": [(r"rank \d of {n} threw: ddp: ranks? .*expected the same gradient buckets on every rank", "all")],
    "batches": [(STEP + r"it (?:was not done|cannot start), because rank 1 returned after \d+ calls", "any")],
    "launcher": [(r"it was told to end \(SIGTERM\)", "any")],
    "funneled": [(r"expected an MPI of MPI_THREAD_SERIALIZED or more, .*ask MPI_Init_thread for MPI_THREAD_SERIALIZED", "all")],
    "absent": [(NOT_BEGUN + r"found that rank {last} has not come; a process", "any"), (r"rank 0 has not come", 0)],
    "gone": [(NOT_BEGUN + r"found that rank 1 has not come; a process", "any"), (r"rank 0 has not come", 0)],
    "asleep": [(NOT_BEGUN + r"found that rank 1 has not come; a process", "any"), (r"rank 0 has not come", 0)],
}


def run(program, fault, processes):
    """(seconds, exit status, all output) of one job."""
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
               OMPI_MCA_hwloc_base_binding_policy="none")
    command = ["mpirun", "-np", str(processes), str(program), fault]
    if fault == "absent":
        command = ["mpirun", "-np", str(processes - 1), str(program), "none", ":", "-np", "1", "sleep", "60"]
    before = time.monotonic()
    job = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if fault == "launcher":
        for _ in range(processes):
            job.stdout.readline()
        time.sleep(1)
        job.send_signal(signal.SIGINT)
        before = time.monotonic()
    said = []
    reader = threading.Thread(target=lambda: said.append(job.stdout.read()))
    reader.start()
    alone_since = None  # since when all processes have ended and mpirun has not
    while job.poll() is None and time.monotonic() < (before + 60 if alone_since is None else alone_since + LAUNCHER):
        time.sleep(0.02)
        if time.monotonic() - before < START or is_at_work(job.pid):
            alone_since = None
        elif alone_since is None:
            alone_since = time.monotonic()
    status, end, remark = job.poll(), time.monotonic(), ""
    if status is None:
        status, remark = 0, "\nit did not end within 60 s"
        if alone_since is not None:
            status, end, remark = max(exit_codes(job.pid), default=0), alone_since, "\nmpirun did not see that all had ended"
        job.kill()
        job.wait()
    reader.join()
    return end - before, status, said[0] + remark


def children(pid):
    """Yields (state, exit code) of each process that `pid` has started and not yet waited for."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it is gone
        if int(words[1]) == pid:
            yield words[0], int(words[-1])


def is_at_work(pid):
    return any(state != "Z" for state, _ in children(pid))


def exit_codes(pid):
    """The exit codes, as a shell reports them, of processes that have ended and that mpirun has not waited for."""
    return [code >> 8 if code & 127 == 0 else 128 + (code & 127) for state, code in children(pid) if state == "Z"]


def faults_of(fault, processes, seconds, status, text):
    """The faults in how a job ended."""
    name = f"{fault} with {processes} processes"
    found = []
    if fault == "none":
        if status != 0 or "trained" not in text:
            found.append(f"{name}: exit status {status}, prints {text[-500:]!r}")
        return found
    if status == 0:
        found.append(f"{name}: exit status 0")
    late = DEADLINE if fault in ("sleep", "stop", "absent", "gone", "asleep") else 0
    if seconds > late + 2 + START:
        found.append(f"{name}: took {seconds:.1f} s")
    for pattern, count in FAULTS[fault]:
        seen = len(re.findall(pattern.replace("{n}", str(processes)).replace("{last}", str(processes - 1)), text))
        expected = {"any": range(1, 99), "all": [processes], "others": [processes - 1]}.get(count, [count])
        if seen not in expected:
            found.append(f"{name}: prints {seen} times {pattern!r}: {text[-1500:]!r}")
    return found


def compiled(folder, options):
    (folder / "faults.cpp").write_text(PROGRAM)
    subprocess.run([options.compiler, "-std=c++20", "-O1", f"-I{ROOT / 'include'}", *options.flag, "faults.cpp", "-o", "faults",
                    *options.link, "-pthread"], cwd=folder, check=True)
    return folder / "faults"


def check(options):
    if not shutil.which("mpirun") or "-DCAIRN_WITH_MPI=1" not in options.flag:
        print("no mpirun here, or no cairn::mpi")
        sys.exit(LEFT_OUT)
    found = []
    with tempfile.TemporaryDirectory() as name:
        program = compiled(pathlib.Path(name), options)

        def job(of):
            fault, processes = of
            seconds, status, text = run(program, fault, processes)
            shown = f"\n{text}" if options.show else ""
            print(f"{fault}, {processes} processes: {seconds:.2f} s, exit status {status}{shown}", flush=True)
            return faults_of(fault, processes, seconds, status, text)

        jobs = [(fault, processes) for fault in options.fault or ["none", *FAULTS] for processes in options.processes or [2, 4]]
        for faults in spread(job, jobs, options.jobs):
            found += faults
    return found


def self_test():
    right = "error: mpi: rank 1 of 2 threw: the cup is broken\nerror: mpi: rank 0 of 2: it was stopped, because rank 1 threw"
    assert not faults_of("throw", 2, 1, 1, right)
    assert faults_of("throw", 2, 1, 0, right), "an exit status of 0"
    assert faults_of("throw", 2, 30, 1, right), "a job that hangs"
    assert faults_of("throw", 2, 1, 1, right + " the cup is broken"), "a text that is told twice"
    assert faults_of("throw", 3, 1, 1, right), "a rank that says nothing"
    assert faults_of("sleep", 2, 4, 1, "error: something"), "no step, no bucket, no call"
    step = "trainer, step 12: bucket 1 of 2: mpi: rank 0 of 4, call 26, all_reduce of 4464 float: it was not done, because "
    told, gone = "it was told to end (SIGTERM) while call 26 still waited for rank 1", "process rank 1 exited on signal 9"
    assert not faults_of("kill", 4, 1, 137, f"{step}{told}\n{gone}")
    assert not faults_of("kill", 4, 1, 137, f"{step}rank 3 failed: {told}\n{gone}"), "another rank says it first"
    assert faults_of("kill", 4, 1, 137, f"{step}rank 3 failed: a disk is full\n{gone}"), "another reason"
    assert faults_of("none", 2, 1, 1, ""), "a job that should train"
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--link", action="append", default=[])
    parser.add_argument("--with", action="append", default=[], dest="components")
    parser.add_argument("--fault", action="append", help="only this one")
    parser.add_argument("--processes", action="append", type=int, help="only so many")
    parser.add_argument("--jobs", type=int, default=3, help="so many jobs at a time; most of their time they wait")
    parser.add_argument("--show", action="store_true", help="what each job prints")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    report(self_test() if options.self_test else check(options))


if __name__ == "__main__":
    main()
