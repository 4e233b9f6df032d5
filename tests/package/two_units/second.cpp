// SPDX-License-Identifier: MIT
#include "loss_of.hpp"

double loss_of_second() { return loss_of(1); }
