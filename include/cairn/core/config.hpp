// SPDX-License-Identifier: MIT
// The only macros of the library: its version, and what the compiler and the machine can do.
#pragma once

// A compiler that is too old, or is told to be, stops here with one sentence. It stands where the name of a header
// should: after an #error compilers go on and add a thousand errors of their own, but none goes on without a header.
// Every header comes by here, through those that it includes, before anything that C++17 cannot read.
#if defined(__clang__) && __clang_major__ < 14
#include "Cairn needs clang 14 or g++ 11, or newer ones: found an older clang"
#elif !defined(__clang__) && defined(__GNUC__) && __GNUC__ < 11
#include "Cairn needs g++ 11 or clang 14, or newer ones: found an older g++"
#elif __cplusplus < 201703L
#include "Cairn needs C++20, found C++14 or older: compile with -std=c++20, or set CMAKE_CXX_STANDARD to 20"
#elif __cplusplus < 202002L
#include "Cairn needs C++20, found C++17: compile with -std=c++20, or set CMAKE_CXX_STANDARD or CMAKE_CUDA_STANDARD to 20"
#endif

// Arithmetic that a flag lets the compiler change is not the one that kernels were written for: e^x rounds by an addition that
// -fassociative-math takes away, and a test for NaN is no test under -ffinite-math-only. g++ says of each part of -ffast-math
// that arithmetic is no longer IEEE 754's, clang of NaN only; of the rest CAIRN_KERNELS_BEGIN takes care.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||                                         \
    (!defined(__clang__) && defined(__GCC_IEC_559) && !__GCC_IEC_559)
#include "Cairn needs IEEE 754 arithmetic, found -ffast-math, -Ofast or a part: in files with Cairn add -fno-fast-math behind it"
#endif

// The one header of single_include/ has everything that is here, and another copy of Cairn too.
#ifdef CAIRN_VERSION_MAJOR
#include "Cairn is there twice, from two files: include from include/ or from single_include/, of one version, and not from both"
#endif

#define CAIRN_VERSION_MAJOR 0
#define CAIRN_VERSION_MINOR 1
#define CAIRN_VERSION_PATCH 0

// Kernels for wider instruction sets are compiled by attribute, not by flag, and chosen at run time: a user
// needs no -march, and one binary serves every x86-64 machine.
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__)) && !defined(__CUDA_ARCH__)
#define CAIRN_X86 1
#define CAIRN_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define CAIRN_TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")))
#else
#define CAIRN_X86 0
#define CAIRN_TARGET_AVX2
#define CAIRN_TARGET_AVX512
#endif

// What stands between these two is optimised where the program around it is not: it would be ten to two hundred times slower.
// A g++ that optimises anyway is left alone, but for g++ 11, which makes vector code of loops with -O3 only. g++ never
// inlines what is not optimised itself, the standard library in such a program, so that inner loops call none of it. clang
// has nothing of the kind: there a BLAS, where one is linked, makes the products. It can keep to the arithmetic that is
// written, whatever parts of -ffast-math it was given.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && __GNUC__ < 12
#define CAIRN_KERNELS_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"O3\")")
#define CAIRN_KERNELS_END _Pragma("GCC pop_options")
#elif defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && !defined(__OPTIMIZE__)
#define CAIRN_KERNELS_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"O2\")")
#define CAIRN_KERNELS_END _Pragma("GCC pop_options")
#elif defined(__clang__) && !defined(__CUDACC__) && (defined(__x86_64__) || defined(__aarch64__))
#define CAIRN_KERNELS_BEGIN _Pragma("float_control(precise, on, push)")
#define CAIRN_KERNELS_END _Pragma("float_control(pop)")
#else
#define CAIRN_KERNELS_BEGIN
#define CAIRN_KERNELS_END
#endif
#if defined(__clang__) && !defined(__OPTIMIZE__)
#define CAIRN_KERNELS_OPTIMIZED 0
#else
#define CAIRN_KERNELS_OPTIMIZED 1
#endif

// Before a function that device code calls too, of a header that a C++ compiler reads as well: what one element becomes is
// written once, and a kernel and a loop of the host call it.
#if defined(__CUDACC__)
#define CAIRN_HOST_DEVICE __host__ __device__
#else
#define CAIRN_HOST_DEVICE
#endif

// Set by tests that have a C++ compiler make kernels as loops of the host, for a runtime of CUDA that needs no GPU (tests/cuda).
#ifndef CAIRN_KERNELS_ON_HOST
#define CAIRN_KERNELS_ON_HOST 0
#endif

// Before a function that kernels call and the host does not. To a C++ compiler it is a function like any other.
#if defined(__CUDACC__)
#define CAIRN_DEVICE __device__
#else
#define CAIRN_DEVICE
#endif

// The loop after it, of four turns, becomes four copies, so that arrays of registers are registers. Where nvcc is the compiler
// g++ makes the code of the host, and gets the pragma too; nvcc's own front end, which comes first, would warn of it.
#if defined(__NVCC__)
#define CAIRN_UNROLL_4 _Pragma("nv_diag_suppress 1675") _Pragma("GCC unroll 4") _Pragma("nv_diag_default 1675")
#else
#define CAIRN_UNROLL_4 _Pragma("GCC unroll 4")
#endif

// Set by the CMake component cairn::blas, which also links a CBLAS.
#ifndef CAIRN_WITH_BLAS
#define CAIRN_WITH_BLAS 0
#endif

// Set by the CMake component cairn::mpi, which also links an MPI.
#ifndef CAIRN_WITH_MPI
#define CAIRN_WITH_MPI 0
#endif

// Set by the CMake component cairn::onednn, which also links oneDNN.
#ifndef CAIRN_WITH_ONEDNN
#define CAIRN_WITH_ONEDNN 0
#endif

// Set by the CMake component cairn::compiled, which also links a library of the ops and the executor. A BLAS and oneDNN change
// what ops compute, so the library has those that the program has; CAIRN_COMPILED_WITH says which: 1 a BLAS, 2 oneDNN.
#ifndef CAIRN_WITH_COMPILED
#define CAIRN_WITH_COMPILED 0
#elif CAIRN_WITH_COMPILED && CAIRN_COMPILED_WITH != CAIRN_WITH_BLAS + 2 * CAIRN_WITH_ONEDNN
#include "cairn::compiled was made with other components than this program: cairn_compiled(NAME blas) makes one with a BLAS"
#endif
#if CAIRN_WITH_COMPILED && !defined(__CUDACC__) // programs of nvcc's compile all of it themselves
#define CAIRN_HAS_COMPILED 1
#else
#define CAIRN_HAS_COMPILED 0
#endif

// Before an explicit instantiation that the library has, of what is neither an op nor the executor: programs declare it, and the
// source of the library that defines CAIRN_COMPILES_REST defines it.
#ifdef CAIRN_COMPILES_REST
#define CAIRN_COMPILED
#else
#define CAIRN_COMPILED extern
#endif
