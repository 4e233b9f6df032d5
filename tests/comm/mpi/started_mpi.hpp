// SPDX-License-Identifier: MIT
// MPI for test programs. The program itself starts it, once, so that several tests may each make an mpi.
#pragma once

#include <cstdlib>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace testing {

inline void start_mpi() {
  static const struct started {
    started() {
      int level = 0;
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
      if (level < MPI_THREAD_SERIALIZED) std::abort();
    }
    ~started() { MPI_Finalize(); }
  } once;
}

} // namespace testing
