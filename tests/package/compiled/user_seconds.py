# SPDX-License-Identifier: MIT
"""user_seconds.py LOG COMMAND...: runs a compiler, and adds a line to the log: user seconds, and the object file."""
import os
import resource
import subprocess
import sys

log, *command = sys.argv[1:]
status = subprocess.run(command, check=False).returncode
if "-o" in command:
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{seconds:.2f} {os.path.normpath(command[command.index('-o') + 1])}\n")
sys.exit(status)
