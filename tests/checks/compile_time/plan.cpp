// SPDX-License-Identifier: MIT
// The headers that other files are planned with: those of core/ and plan/ that blueprint.hpp brings.
#include <cairn/plan/checked_policy.hpp>
#include <cairn/plan/gradient_windows.hpp>
#include <cairn/plan/policies.hpp>
#include <cairn/plan/revolve.hpp>
#include <cairn/plan/solve/budget.hpp>
