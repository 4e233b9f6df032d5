// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include <cairn/device/cuda.cuh>

#include "report.hpp"

namespace gpu_bench {

void list_ops(const request&);
void measure_ops(cairn::cuda&, const request&, double floor); // floor: bytes per second
double copied_bytes_per_second(cairn::cuda&, const request&);

void list_algorithms(cairn::cuda&, const request&); // that cuBLASLt takes for each product

void list_products(const request&);
void measure_products(cairn::cuda&, const request&);

void measure_constants(cairn::cuda&, const request&); // what a host pays for a call

bool smokes(); // prints some losses; false if a network does not learn on the GPU as on the processor

void list_steps();
void measure_steps(const request&);
bool measure_step(const request&); // prints a line of JSON; false if there is no such network

void measure_ranks(const request&);

} // namespace gpu_bench
