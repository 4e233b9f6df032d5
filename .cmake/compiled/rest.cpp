// SPDX-License-Identifier: MIT
#define CAIRN_COMPILES_REST
#include <cairn/cairn.hpp>
#include <cairn/report/charts.hpp>
