# SPDX-License-Identifier: MIT
"""Writes the tables of the letters and numbers of Unicode, from Python's unicodedata.

    python3 tests/reference/unicode_kinds.py > include/cairn/data/text/unicode_tables.hpp
"""
import sys
import textwrap
import unicodedata


def runs(kind):
    """The lengths of the runs of code points that are not of this general category and that are, in turn; both begin at 0."""
    lengths, inside, begin = [], False, 0
    for code in range(sys.maxunicode + 1):
        if (unicodedata.category(chr(code))[0] == kind) != inside:
            lengths.append(code - begin)
            inside, begin = not inside, code
    assert not inside and max(lengths) < 1 << 16
    return lengths


def table(name, kind):
    numbers = textwrap.fill(", ".join(map(str, runs(kind))), 120, initial_indent="    ", subsequent_indent="    ")
    return f"inline constexpr std::uint16_t {name}[] = {{\n{numbers}}};\n"


print(f"""// SPDX-License-Identifier: MIT
// Written by tests/reference/unicode_kinds.py.
#pragma once

#include <cstdint>

namespace cairn::detail {{

// The letters (general category L) and the numbers (N) of Unicode {unicodedata.unidata_version}: how many code points from 0 on are none, then how many
// are some, and so on; those after the last are none.
// clang-format off
{table("runs_of_letters", "L")}{table("runs_of_numbers", "N")}// clang-format on

}} // namespace cairn::detail""")
