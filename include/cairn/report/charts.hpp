// SPDX-License-Identifier: MIT
#pragma once

// Charts, and steps on machines that are not here. They are apart from cairn.hpp, as most programs draw none: curves of a run, of
// time against memory and of any numbers, and how long a step would take on many machines.
#include <cairn/plan/exposed_time.hpp>
#include <cairn/report/curve_picture.hpp>
#include <cairn/report/line_chart.hpp>
#include <cairn/report/metrics_picture.hpp>
#include <cairn/report/scaling_chart.hpp>
#include <cairn/train/predicted_step.hpp>
