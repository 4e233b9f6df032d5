// SPDX-License-Identifier: MIT
// Both files of this program train the same type, each with code of its own for it, of which one is kept.
#include <cairn/cairn.hpp>

#include "loss_of.hpp"

int main() { return loss_of_first() == loss_of_second() ? 0 : 1; }

double loss_of_first() { return loss_of(1); }
