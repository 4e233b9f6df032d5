# SPDX-License-Identifier: MIT
# Makes cairn::mpi, for <cairn/comm/mpi/mpi.hpp>, from the MPI that CMake finds: MPI_HOME or MPI_CXX_COMPILER, if the user sets
# them, decide. The C++ bindings, which MPI gave up long ago and which take the compiler a second, are switched off.
#
# Sets cairn_mpi_found or cairn_mpi_missing, the second half of a sentence for people.
if(TARGET cairn::mpi)
  return()
endif()

set(MPI_CXX_SKIP_MPICXX TRUE)
find_package(MPI QUIET COMPONENTS CXX)
unset(MPI_CXX_SKIP_MPICXX)
# The target does not show whether there is an MPI: FindMPI makes MPI::MPI_CXX even if it finds none. A package manager's MPI may
# have only the C interface, which is enough.
if(MPI_CXX_FOUND OR MPI_C_FOUND)
  add_library(cairn::mpi INTERFACE IMPORTED)
  target_link_libraries(cairn::mpi INTERFACE cairn::cairn MPI::MPI_$<IF:$<BOOL:${MPI_CXX_FOUND}>,CXX,C>)
  target_compile_definitions(cairn::mpi INTERFACE CAIRN_WITH_MPI=1)
  list(JOIN MPI_CXX_LIBRARIES " " cairn_mpi_found)
  string(PREPEND cairn_mpi_found "MPI ${MPI_CXX_VERSION} of ")
else()
  set(cairn_mpi_missing "as no MPI was found: install libopenmpi-dev and openmpi-bin (Debian), or openmpi by conan or vcpkg")
endif()
