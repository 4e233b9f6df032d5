// SPDX-License-Identifier: MIT
// The main function of every test program; compiled once. doctest's declarations may have been precompiled: it needs both.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
