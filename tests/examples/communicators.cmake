# SPDX-License-Identifier: MIT
# examples/mnist ends with the same weights over threads and over COMMUNICATOR: loopback with two micro-batches, or mpi with two
# processes of MPIEXEC. Of several processes one speaks. What contradicts a launcher, or fails on one rank, is told by each process
# once and with its rank, and the job ends with an error.
#
#   cmake -DPROGRAM=build/examples/mnist -DCOMMUNICATOR=mpi -DMPIEXEC=/usr/bin/mpiexec -P communicators.cmake
cmake_minimum_required(VERSION 3.24)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{OMPI_MCA_hwloc_base_binding_policy} none)
set(small --epochs 1 --samples 256 --picture mnist_over_${COMMUNICATOR}.svg --curve mnist_curve_over_${COMMUNICATOR}.svg)

# call(STATUS COMMAND...): sets `said`, the lines of both streams. STATUS is what it has to end with, 0 or another number.
function(call right)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE status)
  list(JOIN ARGN " " words)
  if((right EQUAL 0 AND NOT status EQUAL 0) OR (NOT right EQUAL 0 AND status EQUAL 0))
    message(FATAL_ERROR "${words}: ended with ${status}:\n${out}\n${err}")
  endif()
  set(said "${out}\n${err}" PARENT_SCOPE)
endfunction()

# expect(TIMES REGEX): how often the last call said it.
function(expect times regex)
  string(REGEX MATCHALL "${regex}" found "${said}")
  list(LENGTH found count)
  if(NOT count EQUAL times)
    message(FATAL_ERROR "expected ${times} times '${regex}', found ${count} times in:\n${said}")
  endif()
endfunction()

# The last column of the table's only row: a checksum of the weights.
function(read_weights result)
  expect(1 "\nsqrt_n  [^\n]*")
  string(REGEX MATCH "\nsqrt_n  [^\n]* ([0-9a-f]+)\n" row "${said}")
  if(NOT row)
    message(FATAL_ERROR "found no weights in:\n${said}")
  endif()
  set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

call(0 ${PROGRAM} ${small} --communicator threads --ranks 2)
expect(1 "2 ranks by threads")
read_weights(of_threads)

if(COMMUNICATOR STREQUAL "loopback")
  call(0 ${PROGRAM} ${small} --communicator loopback --accumulate 2)
  expect(1 "1 rank by loopback")
  read_weights(weights)
  call(1 ${PROGRAM} ${small} --communicator loopback --ranks 2)
  expect(1 "loopback is one rank alone")
  call(1 ${CMAKE_COMMAND} -E env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 ${PROGRAM} ${small} --ranks 2)
  expect(1 "mnist: rank 1 of 4: launch: the program was told to train with 2 ranks, but Open MPI")
  set(ENV{CUDA_VISIBLE_DEVICES} "") # where nvcc has compiled it, there is no GPU
  call(1 ${PROGRAM} ${small} --device cuda)
  expect(1 "mnist: [^\n]*(built without it: configure with -DCAIRN_CUDA_EXAMPLES=ON|expected a GPU, found none)")
  call(1 ${PROGRAM} ${small} --device gpu)
  expect(1 "mnist: --device is cpu or cuda, not gpu")
else()
  set(two ${MPIEXEC} -n 2 ${PROGRAM} ${small})
  call(0 ${two}) # the launcher chooses
  expect(1 "2 ranks by mpi")
  expect(1 "the schedule is drawn in")
  read_weights(weights)
  call(0 ${two} --communicator mpi --ranks 2 --policy sqrt_n,store_all --budget 1MiB --costs measured)
  expect(3 "${weights}")
  call(1 ${PROGRAM} --communicator mpi --ranks 2)
  expect(1 "start the program with mpirun -np 2")
  # The first process that ends with an error has mpirun stop the others, which may then have said nothing.
  foreach(wrong IN ITEMS "--communicator threads" "--ranks 3" "--data nowhere" ": --data nowhere" ": --accumulate 2")
    separate_arguments(words UNIX_COMMAND "${wrong}")
    if(wrong MATCHES "^: ") # on the second rank only
      list(REMOVE_AT words 0)
      call(1 ${MPIEXEC} -n 1 ${PROGRAM} ${small} : -n 1 ${PROGRAM} ${small} ${words})
    else()
      call(1 ${two} ${words})
    endif()
    string(REGEX MATCHALL "mnist: (mpi: )?rank [01] of 2[^\n]*" sentences "${said}")
    string(REGEX MATCHALL "mnist: (mpi: )?rank [01] of 2" ranks "${sentences}")
    set(distinct ${ranks})
    list(REMOVE_DUPLICATES distinct)
    if(NOT ranks OR NOT ranks STREQUAL distinct)
      message(FATAL_ERROR "${wrong}: expected a sentence of each rank, once, found:\n${said}")
    endif()
  endforeach()
endif()
if(NOT weights STREQUAL of_threads)
  message(FATAL_ERROR "the weights over ${COMMUNICATOR} are ${weights}, over threads ${of_threads}")
endif()
message(STATUS "the weights are ${weights}, over ${COMMUNICATOR} and over threads")
