# SPDX-License-Identifier: MIT
# An example with CUDA starts where there is no GPU or no driver, and says so in one sentence; and it still trains on a cpu.
#
#   cmake -DPROGRAM=build/examples/mnist -DNAME=mnist -P no_gpu.cmake
cmake_minimum_required(VERSION 3.24)
set(ENV{CUDA_VISIBLE_DEVICES} "") # hides those that there may be
execute_process(COMMAND ${PROGRAM} --device cuda OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
if(NOT status STREQUAL "1" OR NOT out STREQUAL "" OR
   NOT err MATCHES "^${NAME}: cuda: expected a GPU, found none that this program can use [(][^\n]*[)]; [^\n]*, or train on cpu\n$")
  message(FATAL_ERROR "expected the exit status 1 and one sentence, found ${status} and:\n${out}${err}")
endif()
