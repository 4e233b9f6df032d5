# SPDX-License-Identifier: MIT
"""launch reads what real launchers pass to processes, and refuses contradictions.

A program that prints what launch found is run alone and under each launcher; each process must find its own rank. Launchers that
this machine lacks are left out; if none is left, the exit status is 77. The self-test has launchers of its own, a right one and
wrong ones.
"""
import argparse
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from house import WARNINGS, report

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT_OUT = 77

PROGRAM = """#include <cstdio>
#include <cstdlib>
#include <string>

#include <cairn/comm/launch/launch.hpp>

int main(int count, char** words) {
  cairn::launch::options given;
  for (int i = 1; i + 1 < count; ++i)
    if (std::string(words[i]) == "--ranks") given.ranks = std::atoi(words[i + 1]);
  const auto text = [](std::optional<int> value) { return value ? std::to_string(*value) : std::string("?"); };
  try {
    const cairn::launch here = cairn::launch::of_process(count, words, given);
    std::printf("%d of %d, %s of %s here, at %s:%s, says %s\\n", here.rank, here.size, text(here.local_rank).c_str(),
                text(here.local_size).c_str(), here.address.c_str(), text(here.port).c_str(),
                std::string(cairn::types::launcher_name(here.by)).c_str());
  } catch (const cairn::input_error& refused) {
    std::printf("%s\\n", refused.what());
    return 1;
  }
}
"""

# A script that replaces itself by the program, for PyTorch's older launcher, which starts Python only.
FORWARD = "import os, sys\nos.execv(os.path.join(os.path.dirname(sys.argv[0]), 'program'), ['program', *sys.argv[1:]])\n"

OF_LAUNCHERS = re.compile(r"RANK$|WORLD_SIZE$|^(MASTER|OMPI|PMI|PMIX|MPI|SLURM|TORCHELASTIC)_")


class Missing(Exception):
    """A launcher that this machine lacks, or something that it needs."""


class Machine:
    def __init__(self, folder, options):
        self.folder = folder
        self.program = str(folder / "program")
        self.path = options.path
        self.env = {name: value for name, value in os.environ.items() if not OF_LAUNCHERS.search(name)}
        (folder / "program.cpp").write_text(PROGRAM)
        (folder / "forward.py").write_text(FORWARD)
        subprocess.run([options.compiler, *WARNINGS, f"-I{ROOT / 'include'}", str(folder / "program.cpp"), "-o", self.program],
                       check=True)

    def tool(self, name):
        found = shutil.which(name, path=self.path)
        if not found:
            raise Missing(name)
        return found

    def lines(self, *command, fails=False):
        """The lines that the processes printed, in order of their ranks."""
        for _ in range(3):
            ran = subprocess.run(command, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=180)
            if ran.returncode != -signal.SIGPIPE:  # Hydra's own, on a busy machine: its proxy ended before all was read
                break
        if (ran.returncode != 0) != fails:
            return [f"ended with status {ran.returncode}: {(ran.stdout + ran.stderr)[-1500:]}"]
        return sorted(line for line in ran.stdout.splitlines() if re.match(r"\d+ of \d+, |launch: ", line))

    def mpirun(self, processes, *command):
        said = subprocess.run([self.tool("mpirun"), "--version"], env=self.env, capture_output=True, text=True).stdout
        if "Open MPI" not in said and "OpenRTE" not in said:
            raise Missing("mpirun of Open MPI")
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [self.tool("mpirun"), *root, "--oversubscribe", "-np", str(processes), *command]


def compared(what, found, expected):
    """One fault if a line does not match its regex, or if there are more or fewer."""
    right = len(found) == len(expected) and all(re.fullmatch(e, f) for e, f in zip(expected, found))
    return [] if right else [f"{what}: expected {expected}, found {found}"]


def ranks(size, local_size, address, by):
    return [f"{r} of {size}, {r % local_size} of {local_size} here, at {address}, says {by}" for r in range(size)]


def alone(machine):
    return (compared("alone", machine.lines(machine.program), [r"0 of 1, \? of \? here, at :\?, says no launcher"])
            + compared("alone, 2 ranks", machine.lines(machine.program, "--ranks", "2"), [r"0 of 1, .* says no launcher"])
            + compared("alone, a local rank", machine.lines(machine.program, "--local-rank=0", fails=True),
                       [r"launch: --local-rank=0, but nothing says which rank this is.* Seen: --local-rank=0"]))


def open_mpi(machine):
    return (compared("mpirun -np 3", machine.lines(*machine.mpirun(3, machine.program)), ranks(3, 3, r":\?", "Open MPI"))
            + compared("mpirun -np 3 --ranks 3", machine.lines(*machine.mpirun(3, machine.program, "--ranks", "3")),
                       ranks(3, 3, r":\?", "Open MPI"))
            # When the first process ends with an error, mpirun stops the others, which may have printed nothing by then.
            + compared("mpirun -np 4 --ranks 2",
                       machine.lines(*machine.mpirun(4, machine.program, "--ranks", "2"), fails=True)[:1],
                       [r"launch: the program was told to train with 2 ranks, but Open MPI says that 4 processes were started.* "
                        r"Seen: ranks=2, OMPI_COMM_WORLD_RANK=\d, OMPI_COMM_WORLD_SIZE=4, .*"]))


def hydra(machine):
    return compared("mpiexec.hydra -n 3", machine.lines(machine.tool("mpiexec.hydra"), "-n", "3", machine.program),
                    ranks(3, 3, r":\?", "PMI"))


def torchrun(machine):
    start = [machine.tool("torchrun"), "--standalone", "--nproc-per-node", "2"]
    python = pathlib.Path(machine.tool("torchrun")).read_text().splitlines()[0].removeprefix("#!").split()
    older = [*python, "-m", "torch.distributed.launch", "--nproc-per-node", "2", "--master-port", str(free_port())]
    return (compared("torchrun", machine.lines(*start, "--no-python", machine.program), ranks(2, 2, r"\S+:\d+", "torchrun"))
            + compared("torch.distributed.launch", machine.lines(*older, str(machine.folder / "forward.py")),
                       ranks(2, 2, r"\S+:\d+", "torchrun")))


def torchrun_in_mpirun(machine):
    agent = [machine.tool("torchrun"), "--nproc-per-node", "2"]
    together = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{free_port()}", "--rdzv-id", "1"]
    program = ["--no-python", machine.program]
    return (compared("a torchrun of 2 in each of 2", machine.lines(*machine.mpirun(2, *agent, *together, *program)),
                     ranks(4, 2, r"\S+:\d+", "torchrun"))
            + compared("a torchrun alone in each of 2",
                       machine.lines(*machine.mpirun(2, *agent, "--standalone", *program), fails=True)[:1],
                       [r"launch: GROUP_WORLD_SIZE=1 of torchrun, but OMPI_COMM_WORLD_SIZE=2 of Open MPI.* Seen: RANK=.*"]))


SLURM = """ClusterName=tried
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
PluginDir={plugins}
ProctrackType=proctrack/linuxproc
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/node.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/node.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus}
PartitionName=all Nodes=ALL Default=YES
"""


@contextlib.contextmanager
def cluster(machine):
    """Starts a Slurm of one node, this machine, without authentication. Yields the environment that its programs need."""
    controller, node, steps = (machine.tool(name) for name in ("slurmctld", "slurmd", "slurmstepd"))
    if os.geteuid() != 0:
        raise Missing("right to start a Slurm, which root has")
    plugins = next((pathlib.Path(node).parents[1] / "lib").glob("*/slurm*/auth_none.so"), None)
    if plugins is None:
        raise Missing("plugin auth_none of Slurm")
    folder = machine.folder / "slurm"
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    (folder / "slurm.conf").write_text(SLURM.format(
        host=socket.gethostname().split(".")[0], port=free_port(), node_port=free_port(), plugins=plugins.parent, folder=folder,
        cpus=os.cpu_count()))
    env = {"SLURM_CONF": str(folder / "slurm.conf")}
    started = []
    try:
        for daemon in ([controller, "-D"], [node, "-D", "-d", steps]):
            started.append(subprocess.Popen(daemon, env={**machine.env, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        until = time.monotonic() + 60
        while "idle" not in subprocess.run([machine.tool("sinfo")], env={**machine.env, **env}, capture_output=True, text=True).stdout:
            if time.monotonic() > until:
                raise Missing("Slurm that starts within a minute")
            time.sleep(0.5)
        yield env
    finally:
        for daemon in reversed(started):
            daemon.terminate()
            daemon.wait()


def slurm(machine):
    srun = [machine.tool("srun"), "--oversubscribe", "--overcommit", "-n"]
    with cluster(machine) as env:
        machine.env.update(env)
        found = compared("srun -n 3", machine.lines(*srun, "3", machine.program), ranks(3, 3, r":\?", "Slurm"))
        found += compared("srun --mpi=pmix -n 2", machine.lines(*srun, "2", "--mpi=pmix", machine.program),
                          ranks(2, 2, r":\?", "(PMI|Slurm)"))
        found += compared("srun -n 2 --ranks 3", machine.lines(*srun, "2", machine.program, "--ranks", "3", fails=True)[:1],
                          [r"launch: the program was told to train with 3 ranks, but Slurm says that 2 processes were started.*"])
        script = machine.folder / "script.sh"
        script.write_text(f"#!/bin/sh\n{machine.program}\n")
        subprocess.run([machine.tool("sbatch"), "--wait", "-n", "2", "-o", str(machine.folder / "said"), str(script)], env=machine.env,
                       capture_output=True, timeout=180)
        found += compared("a script of sbatch", (machine.folder / "said").read_text().splitlines(),
                          [r"0 of 1, .* says no launcher"])
        del machine.env["SLURM_CONF"]
    return found


WAYS = {"alone": alone, "open_mpi": open_mpi, "hydra": hydra, "torchrun": torchrun, "torchrun_in_mpirun": torchrun_in_mpirun,
        "slurm": slurm}


def free_port():
    with socket.socket() as asked:
        asked.bind(("localhost", 0))
        return asked.getsockname()[1]


# For the self-test: an mpirun that starts processes one after another with VARIABLES, and ends with the worst status.
FAKE = """#!/usr/bin/env python3
import os, subprocess, sys
if "--version" in sys.argv:
    sys.exit(print("mpirun (Open MPI)"))
at = sys.argv.index("-np")
size = int(sys.argv[at + 1])
worst = 0
for rank in range(size):
    env = {**os.environ, **VARIABLES}
    worst = max(worst, subprocess.run(sys.argv[at + 2:], env=env).returncode)
sys.exit(worst)
"""
RIGHT = ('{"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size), "OMPI_COMM_WORLD_LOCAL_RANK": str(rank), '
         '"OMPI_COMM_WORLD_LOCAL_SIZE": str(size)}')
WRONG = {
    "tells nothing": ("{}", "mpirun -np 3: expected"),
    "tells each the same rank": (RIGHT.replace("str(rank)", '"0"'), "mpirun -np 3: expected"),
    "tells another size": (RIGHT.replace("str(size)", "str(size + 1)"), "mpirun -np 3: expected"),
    "is another launcher": (RIGHT.replace("OMPI_COMM_WORLD_LOCAL", "LOCAL").replace("OMPI_COMM_WORLD_SIZE", "WORLD_SIZE").replace(
        "OMPI_COMM_WORLD_", ""), "mpirun -np 3: expected"),
    "says two where it starts four": (RIGHT.replace("str(size)", "str(2 if size == 4 else size)").replace(
        "str(rank)", "str(rank % 2 if size == 4 else rank)"), "mpirun -np 4 --ranks 2: expected"),
}


def self_test(options):
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        options.path = str(folder)
        machine = Machine(folder, options)
        for what, (variables, expected) in {"is right": (RIGHT, None), **WRONG}.items():
            (folder / "mpirun").write_text(FAKE.replace("VARIABLES", variables))
            (folder / "mpirun").chmod(0o755)
            found = open_mpi(machine)
            if expected is None and found:
                wrong.append(f"an mpirun that {what}: expected no fault, found {found}")
            if expected is not None and not any(fault.startswith(expected) for fault in found):
                wrong.append(f"an mpirun that {what}: expected a fault like '{expected}', found {found}")
        try:
            torchrun(machine)
            wrong.append("a machine without torchrun: expected that it is left out")
        except Missing:
            pass
    return wrong


def main():
    if sys.argv[1:] == ["--list"]:
        sys.exit(print(";".join(WAYS), end=""))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--way", choices=list(WAYS), help="this one only")
    parser.add_argument("--path", default=os.environ.get("PATH"), help="folders to look for launchers in")
    parser.add_argument("--self-test", action="store_true", help="show that the check can fail")
    options = parser.parse_args()
    if options.self_test:
        report(self_test(options))
    found, missing = [], []
    chosen = [options.way] if options.way else list(WAYS)
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(pathlib.Path(folder), options)
        for name in chosen:
            try:
                found += WAYS[name](machine)
            except Missing as tool:
                print(f"left out: {name}, as there is no {tool}")
                missing.append(name)
    if len(missing) == len(chosen):
        sys.exit(LEFT_OUT)
    report(found)


if __name__ == "__main__":
    main()
