// SPDX-License-Identifier: MIT
// Captures of streams, for the functions of a runtime that behave otherwise during one: see graphs.cpp.
#pragma once

#include <cstddef>
#include <optional>

#include <cuda_runtime_api.h>

namespace fake {

// Puts a kernel on a stream, or into the graph that the stream is captured into. False if its argument is too large.
bool start(cudaStream_t stream, const void* kernel, std::size_t blocks, std::size_t threads, const void* argument);
// If the stream is captured: records the event in the capture, and returns true.
bool captured_record(cudaStream_t stream, cudaEvent_t e);
// If the stream or the event belongs to a capture: lets the stream wait there, and returns the code of the call.
std::optional<cudaError_t> captured_wait(cudaStream_t stream, cudaEvent_t e);
// Whether the stream, or the event, belongs to a capture. If so, that one fails at its end.
bool spoil_capture_of(cudaStream_t stream);
bool spoil_capture_of(cudaEvent_t e);
// Whether the calling thread captures. If so, its capture fails at its end.
bool refused_in_capture();

} // namespace fake
