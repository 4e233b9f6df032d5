// SPDX-License-Identifier: MIT
// The only macros of the library: its version, and what the compiler and the machine can do.
#pragma once

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

// Set by the CMake component cairn::blas, which also links a CBLAS.
#ifndef CAIRN_WITH_BLAS
#define CAIRN_WITH_BLAS 0
#endif
