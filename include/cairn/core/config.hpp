// SPDX-License-Identifier: MIT
// The only macros of the library: its version, and what the compiler and the machine can do.
#pragma once

// A compiler that is too old, or is set to an old standard, stops here with one diagnostic. The text is in the place of a
// header's name: after an #error compilers go on and add a thousand errors of their own, but none goes on without a header.
// Every header includes this one, directly or through others, before anything that C++17 cannot read.
#if defined(__clang__) && __clang_major__ < 14
#include "Cairn needs clang 14 or g++ 11, or newer ones: found an older clang"
#elif !defined(__clang__) && defined(__GNUC__) && __GNUC__ < 11
#include "Cairn needs g++ 11 or clang 14, or newer ones: found an older g++"
#elif __cplusplus < 201703L
#include "Cairn needs C++20, found C++14 or older: compile with -std=c++20, or set CMAKE_CXX_STANDARD to 20"
#elif __cplusplus < 202002L
#include "Cairn needs C++20, found C++17: compile with -std=c++20, or set CMAKE_CXX_STANDARD or CMAKE_CUDA_STANDARD to 20"
#endif

// Kernels rely on IEEE 754 arithmetic, which flags can take away: e^x rounds by an addition that -fassociative-math removes,
// and a test for NaN has no effect under -ffinite-math-only. g++ reports every part of -ffast-math by a macro, clang only the
// one about NaN; CAIRN_KERNELS_BEGIN takes care of the rest.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||                                         \
    (!defined(__clang__) && defined(__GCC_IEC_559) && !__GCC_IEC_559)
#include "Cairn needs IEEE 754 arithmetic, found -ffast-math, -Ofast or a part: in files with Cairn add -fno-fast-math behind it"
#endif

// The one header of single_include/ defines everything that is here, and so does another copy of Cairn.
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

// Code between these two is optimised even if the program around it is not: it would be ten to two hundred times slower. A g++
// that optimises anyway is left alone, except g++ 11, which vectorises loops with -O3 only. g++ never inlines functions that
// are not optimised themselves, such as those of the standard library in such a program, so inner loops call none of them.
// clang has no such pragma: there a BLAS, if one is linked, computes the products. But clang has one that keeps to the
// arithmetic as written, whatever parts of -ffast-math are on.
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

// Marks a function of a header that C++ compilers read as well, and that device code calls too: the formula for one element is
// written once, and both a kernel and a loop of the host call it.
#if defined(__CUDACC__)
#define CAIRN_HOST_DEVICE __host__ __device__
#else
#define CAIRN_HOST_DEVICE
#endif

// Set by tests that compile kernels as loops of the host with a C++ compiler, for a CUDA emulator that needs no GPU
// (tests/cuda).
#ifndef CAIRN_KERNELS_ON_HOST
#define CAIRN_KERNELS_ON_HOST 0
#endif

// Marks a function that kernels call and the host does not. To a C++ compiler it is a function like any other.
#if defined(__CUDACC__)
#define CAIRN_DEVICE __device__
#else
#define CAIRN_DEVICE
#endif

// Unrolls the next loop, which has four iterations, so that arrays of registers stay in registers. With nvcc, g++ compiles the
// host code and gets the pragma too; nvcc's own front end, which runs first, would warn about it.
#if defined(__NVCC__)
#define CAIRN_UNROLL_4 _Pragma("nv_diag_suppress 1675") _Pragma("GCC unroll 4") _Pragma("nv_diag_default 1675")
#else
#define CAIRN_UNROLL_4 _Pragma("GCC unroll 4")
#endif

// Unrolls the next loop of a kernel completely, so that arrays of registers stay in registers.
#if defined(__CUDACC__)
#define CAIRN_UNROLL_DEVICE _Pragma("unroll")
#else
#define CAIRN_UNROLL_DEVICE
#endif

// Set by the CMake component cairn::blas, which also links a CBLAS.
#ifndef CAIRN_WITH_BLAS
#define CAIRN_WITH_BLAS 0
#endif

// Set by the CMake component cairn::images, which also links libpng and libjpeg.
#ifndef CAIRN_WITH_IMAGES
#define CAIRN_WITH_IMAGES 0
#endif

// Set by the CMake component cairn::mpi, which also links an MPI.
#ifndef CAIRN_WITH_MPI
#define CAIRN_WITH_MPI 0
#endif

// Set by the CMake component cairn::nccl, which also links NCCL.
#ifndef CAIRN_WITH_NCCL
#define CAIRN_WITH_NCCL 0
#endif

// Set by the CMake component cairn::onednn, which also links oneDNN.
#ifndef CAIRN_WITH_ONEDNN
#define CAIRN_WITH_ONEDNN 0
#endif

// Set by the CMake component cairn::compiled, which also links a library of the ops and the executor. A BLAS and oneDNN change
// the code of ops, so the library must have the same ones as the program; CAIRN_COMPILED_WITH says which it has: 1 for a BLAS
// plus 2 for oneDNN.
#ifndef CAIRN_WITH_COMPILED
#define CAIRN_WITH_COMPILED 0
#elif CAIRN_WITH_COMPILED && CAIRN_COMPILED_WITH != CAIRN_WITH_BLAS + 2 * CAIRN_WITH_ONEDNN
#include "cairn::compiled was made with other components than this program: cairn_compiled(NAME blas) makes one with a BLAS"
#endif

// Marks an explicit instantiation in the library of something that is neither an op nor the executor: programs declare it, and
// the library's source that defines CAIRN_COMPILES_REST defines it.
#ifdef CAIRN_COMPILES_REST
#define CAIRN_COMPILED
#else
#define CAIRN_COMPILED extern
#endif
