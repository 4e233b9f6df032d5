# SPDX-License-Identifier: MIT
"""The occupancy of a multiprocessor that a kernel reaches with the resources it takes. A module, not a check.

The limits are those of the CUDA C++ Programming Guide (Compute Capabilities: Technical Specifications), the rounding is that of
NVIDIA's occupancy calculator: a warp gets registers in units of 256, the four schedulers get equally many warps, and a block
gets shared memory in units of 128 bytes, and 1 KiB for the system.
"""
from dataclasses import dataclass

REGISTERS, REGISTER_UNIT, SCHEDULERS, WARP = 65536, 256, 4, 32


@dataclass(frozen=True)
class Limits:
    warps: int
    blocks: int
    shared: int  # bytes of a multiprocessor
    unit: int = 128
    reserved: int = 1024  # bytes of each block


LIMITS = {
    75: Limits(warps=32, blocks=16, shared=64 << 10, unit=256, reserved=0),
    80: Limits(warps=64, blocks=32, shared=164 << 10),
    86: Limits(warps=48, blocks=16, shared=100 << 10),
    89: Limits(warps=48, blocks=24, shared=100 << 10),
    90: Limits(warps=64, blocks=32, shared=228 << 10),
    100: Limits(warps=64, blocks=32, shared=228 << 10),
    120: Limits(warps=48, blocks=24, shared=100 << 10),
}


def up(number, unit):
    return -(-number // unit) * unit


def occupancy(architecture, threads, registers, shared):
    """The most warps that can be resident, in percent of those that the multiprocessor has room for."""
    limits = LIMITS[architecture]
    warps = -(-threads // WARP)
    by_registers = REGISTERS // up(registers * WARP, REGISTER_UNIT) // SCHEDULERS * SCHEDULERS // warps
    by_shared = limits.shared // max(1, up(shared + limits.reserved, limits.unit)) if shared or limits.reserved else limits.blocks
    blocks = min(limits.blocks, limits.warps // warps, by_registers, by_shared)
    return 100 * blocks * warps // limits.warps


if __name__ == "__main__":  # cases that can be looked up in NVIDIA's own tables
    assert occupancy(90, 256, 32, 0) == 100 and occupancy(90, 256, 33, 0) == 75 and occupancy(90, 256, 80, 0) == 37
    assert occupancy(86, 32, 32, 0) == 33 and occupancy(75, 1024, 64, 0) == 100 and occupancy(80, 128, 32, 40 << 10) == 25
    print("right")
