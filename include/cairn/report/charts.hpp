// SPDX-License-Identifier: MIT
#pragma once

// Charts: curves of a run, of time against memory and of any numbers; and predictions of how long a step would take on many
// machines. They are not part of cairn.hpp, as most programs draw none.
#include <cairn/plan/exposed_time.hpp>
#include <cairn/report/curve_picture.hpp>
#include <cairn/report/line_chart.hpp>
#include <cairn/report/metrics_picture.hpp>
#include <cairn/report/scaling_chart.hpp>
#include <cairn/train/predicted_step.hpp>
