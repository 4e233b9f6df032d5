// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include <cairn/core/bfloat16.hpp>
#include <cairn/core/float16.hpp>

#include "fake.hpp"
#include "graphs.hpp"
#include "services.hpp"

// Our own contents of the library's opaque structures.
namespace {

struct description {
  cublasComputeType_t compute;
  cudaDataType_t type;
  std::int32_t transposes_a, transposes_b;
  std::uint32_t epilogue;
  void* vector; // the bias, or the place for its gradient
};
struct layout {
  cudaDataType type;
  std::uint64_t rows, columns;
  std::int64_t ld;
};
struct wish {
  std::uint64_t workspace;
  std::uint32_t alignment[4];
  std::uint32_t reductions;
};
struct algorithm {
  std::uint64_t mark;
  std::uint64_t workspace;
  // The epilogue that it was chosen for. The order of summation depends on it.
  std::uint64_t epilogue;
  std::uint64_t alignment;
  std::uint64_t of_vector;   // the alignment of the bias in the request
  std::uint64_t is_in_place; // partial sums are added to the result, that is to C, one after the other
  std::uint64_t takes_c;     // C may be other memory than D
};
constexpr std::uint64_t mark = 0xCA1247;
constexpr std::size_t workspace_taken = 1024; // bytes, of those that an algorithm may take

template <class Own, class Opaque>
Own& in(Opaque* opaque) {
  static_assert(sizeof(Own) <= sizeof(Opaque));
  return *reinterpret_cast<Own*>(opaque);
}
template <class Own, class Opaque>
const Own& in(const Opaque* opaque) {
  return *reinterpret_cast<const Own*>(opaque);
}

// All arguments of a call, by value, because it runs later.
struct product {
  description how;
  layout a, b, c, d;
  algorithm by;
};

bool has_vector(const description& how) {
  return how.epilogue != CUBLASLT_EPILOGUE_DEFAULT && how.epilogue != CUBLASLT_EPILOGUE_RELU;
}
// Whether the library can compute this at all.
bool is_known(const description& how) {
  if (how.compute == CUBLAS_COMPUTE_64F_PEDANTIC) return how.type == CUDA_R_64F && how.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  return how.type == CUDA_R_32F && (how.compute == CUBLAS_COMPUTE_32F_PEDANTIC || how.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                                    how.compute == CUBLAS_COMPUTE_32F);
}

bool fits(const product& p) {
  const bool ta = p.how.transposes_a == CUBLAS_OP_T, tb = p.how.transposes_b == CUBLAS_OP_T;
  const std::uint64_t m = p.d.rows, n = p.d.columns, k = ta ? p.a.rows : p.a.columns;
  const auto lies = [](const layout& l) { return l.ld >= static_cast<std::int64_t>(l.rows) && l.rows > 0 && l.columns > 0; };
  return lies(p.a) && lies(p.b) && lies(p.c) && lies(p.d) && (ta ? p.a.columns : p.a.rows) == m &&
         (tb ? p.b.rows : p.b.columns) == n && (tb ? p.b.columns : p.b.rows) == k && p.c.rows == m && p.c.columns == n;
}

// Both arrays are in std::vectors, whose alignment is known. A check of each element would keep this loop from being vectorised.
template <class T>
__attribute__((noinline, no_sanitize("alignment"))) void add_scaled(std::uint64_t count, T* to, const T* from, T factor) {
  for (std::uint64_t i = 0; i < count; ++i) to[i] += from[i] * factor;
}

// Operands T and results C are computed in W.
template <class W, class T, class C>
void multiply(const product& p, const T* a, const T* b, W beta, const C* c, C* d) {
  const bool ta = p.how.transposes_a == CUBLAS_OP_T, tb = p.how.transposes_b == CUBLAS_OP_T;
  const std::uint64_t m = p.d.rows, n = p.d.columns, k = ta ? p.a.rows : p.a.columns;
  const auto at = [](const layout& l, std::uint64_t row, std::uint64_t column) {
    return column * static_cast<std::uint64_t>(l.ld) + row;
  };
  const auto of_b = [&](std::uint64_t i, std::uint64_t column) {
    return static_cast<W>(tb ? b[at(p.b, column, i)] : b[at(p.b, i, column)]);
  };
  const auto* const vector = static_cast<const C*>(fake::contents(p.how.vector));
  const auto which = p.how.epilogue;
  // The sums of a column are made side by side, each in T and in one order, so that tests can see the order. Several columns
  // share what is read of a.
  constexpr std::uint64_t together = 8;
  std::vector<W> columns_of_a(m * k), sums(m * together);
  for (std::uint64_t first = 0; first < m; first += 16)
    for (std::uint64_t i = 0; i < k; ++i)
      for (std::uint64_t row = first; row < std::min(first + 16, m); ++row)
        columns_of_a[i * m + row] = static_cast<W>(ta ? a[at(p.a, i, row)] : a[at(p.a, row, i)]);
  const auto turn = static_cast<std::uint64_t>(std::countr_zero(p.by.alignment) + std::countr_zero(p.by.of_vector));
  const auto add_up = [&](std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t j = 0; j < count; ++j)
      for (std::uint64_t row = 0; row < m; ++row)
        sums[j * m + row] = p.by.is_in_place != 0 && beta != 0 ? static_cast<W>(c[at(p.c, row, first + j)]) : W(0);
    for (std::uint64_t step = 0; step < k; ++step) {
      const std::uint64_t turned = (step + turn) % k;
      const std::uint64_t i = p.by.epilogue == CUBLASLT_EPILOGUE_DEFAULT ? turned : k - 1 - turned;
      const W* const from = columns_of_a.data() + i * m;
      for (std::uint64_t j = 0; j < count; ++j) add_scaled(m, sums.data() + j * m, from, of_b(i, first + j));
    }
  };
  for (std::uint64_t column = 0; column < n; ++column) {
    if (column % together == 0) add_up(column, std::min(together, n - column));
    const W* const sums_of_column = sums.data() + column % together * m;
    for (std::uint64_t row = 0; row < m; ++row) {
      W sum = sums_of_column[row];
      if (p.by.is_in_place == 0 && beta != 0) sum += static_cast<W>(c[at(p.c, row, column)]);
      if (which == CUBLASLT_EPILOGUE_BIAS || which == CUBLASLT_EPILOGUE_RELU_BIAS) sum += static_cast<W>(vector[row]);
      if (which == CUBLASLT_EPILOGUE_RELU || which == CUBLASLT_EPILOGUE_RELU_BIAS) sum = sum < 0 ? 0 : sum;
      d[at(p.d, row, column)] = static_cast<C>(sum);
    }
    if (which != CUBLASLT_EPILOGUE_BGRADB) continue;
    double sum = 0;
    for (std::uint64_t i = 0; i < k; ++i) sum += static_cast<double>(of_b(i, column));
    static_cast<C*>(fake::contents(p.how.vector))[column] = static_cast<C>(sum);
  }
}

// Adds the memory of each column, as what is between columns may be in use by others.
template <class T>
void add_columns(std::vector<fake::range>& touched, const layout& l, const void* at, bool is_written) {
  const auto* const first = static_cast<const T*>(at);
  if (l.ld == static_cast<std::int64_t>(l.rows)) return touched.push_back({first, l.rows * l.columns * sizeof(T), is_written});
  for (std::uint64_t column = 0; column < l.columns; ++column)
    touched.push_back({first + column * static_cast<std::uint64_t>(l.ld), l.rows * sizeof(T), is_written});
}

} // namespace

#define ENTER()                                                                                                                  \
  const fake::one_call call_of_runtime;                                                                                          \
  if (const int code = fake::entered(__func__); code != 0) return static_cast<cublasStatus_t>(code)

extern "C" {

const char* cublasLtGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS"; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  ENTER();
  fake::count(fake::counter::made);
  *handle = reinterpret_cast<cublasLtHandle_t>(std::uintptr_t{mark});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t d, std::size_t, cublasComputeType_t compute,
                                               cudaDataType_t type) {
  ENTER();
  in<description>(d) = {compute, type, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t what, const void* value,
                                              std::size_t size) {
  ENTER();
  description& own = in<description>(d);
  void* const to = what == CUBLASLT_MATMUL_DESC_TRANSA         ? static_cast<void*>(&own.transposes_a)
                   : what == CUBLASLT_MATMUL_DESC_TRANSB       ? static_cast<void*>(&own.transposes_b)
                   : what == CUBLASLT_MATMUL_DESC_EPILOGUE     ? static_cast<void*>(&own.epilogue)
                   : what == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? static_cast<void*>(&own.vector)
                                                               : nullptr;
  if (to == nullptr || size != (what == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? sizeof(void*) : 4))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, value, size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t l, std::size_t, cudaDataType type, std::uint64_t rows,
                                                 std::uint64_t columns, std::int64_t ld) {
  ENTER();
  in<layout>(l) = {type, rows, columns, ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t p, std::size_t) {
  ENTER();
  in<wish>(p) = {0, {256, 256, 256, 256}, CUBLASLT_REDUCTION_SCHEME_MASK};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t what,
                                                    const void* value, std::size_t size) {
  ENTER();
  wish& own = in<wish>(p);
  void* to = nullptr;
  if (what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) to = &own.workspace;
  if (what == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) to = &own.reductions;
  if (what >= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES && what <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
    to = &own.alignment[what - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES];
  if (to == nullptr || size != (to == &own.workspace ? 8 : 4)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t to,
                                              cublasLtMatmulPreference_t p, int most, cublasLtMatmulHeuristicResult_t results[],
                                              int* count) {
  ENTER();
  if (fake::refused_in_capture()) return CUBLAS_STATUS_INTERNAL_ERROR;
  fake::count(fake::counter::asked);
  *count = 0;
  const description& how = in<description>(d);
  if (!fits({how, in<layout>(a), in<layout>(b), in<layout>(c), in<layout>(to), {}})) return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_known(how) || fake::is_refused(static_cast<cublasLtEpilogue_t>(how.epilogue), false))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const wish& own = in<wish>(p);
  const auto vector = reinterpret_cast<std::uintptr_t>(how.vector) | 256;
  // The first algorithm, the quickest, cannot add a C that is not D.
  for (*count = 0; *count < most && *count < 2; ++*count) {
    cublasLtMatmulHeuristicResult_t& result = results[*count];
    in<algorithm>(&result.algo) = {mark,
                                   own.workspace,
                                   how.epilogue,
                                   *std::max_element(own.alignment, own.alignment + 4),
                                   has_vector(how) ? vector & (~vector + 1) : 1, // its lowest bit
                                   own.reductions & CUBLASLT_REDUCTION_SCHEME_INPLACE,
                                   *count > 0};
    result.workspaceSize = workspace_taken;
    result.state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoCapAttributes_t what,
                                                 void* value, std::size_t size, std::size_t* written) {
  ENTER();
  const auto takes = static_cast<std::int32_t>(in<algorithm>(algo).takes_c);
  if (what != CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT || size != sizeof takes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &takes, *written = size);
  return CUBLAS_STATUS_SUCCESS;
}
// There is nothing to configure.
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*, cublasLtMatmulAlgoConfigAttributes_t, void*,
                                                    std::size_t, std::size_t*) {
  ENTER();
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  ENTER();
  const auto epilogue = static_cast<cublasLtEpilogue_t>(in<description>(d).epilogue);
  if (in<algorithm>(algo).mark != mark || !is_known(in<description>(d)) || fake::is_refused(epilogue, true))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  result->workspaceSize = workspace_taken;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t d, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t la, const void* b, cublasLtMatrixLayout_t lb, const void* beta,
                              const void* c, cublasLtMatrixLayout_t lc, void* to, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t* algo, void* workspace, std::size_t workspace_bytes,
                              cudaStream_t stream) {
  ENTER();
  fake::count(fake::counter::products);
  const product p{in<description>(d), in<layout>(la), in<layout>(lb), in<layout>(lc), in<layout>(ld), in<algorithm>(algo)};
  if (p.by.mark != mark || !fits(p) || workspace_bytes < p.by.workspace || !fake::owns(workspace) ||
      reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0 || !fake::may_use(stream))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!is_known(p.how)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto lies = [](const void* at, std::uint64_t alignment) {
    return fake::owns(at) && reinterpret_cast<std::uintptr_t>(at) % alignment == 0;
  };
  for (const void* at : {a, b, c, static_cast<const void*>(to)})
    if (!lies(at, p.by.alignment)) return CUBLAS_STATUS_INVALID_VALUE;
  if (has_vector(p.how) && !lies(p.how.vector, p.by.of_vector)) return CUBLAS_STATUS_INVALID_VALUE;
  if (c == to ? p.c.ld != p.d.ld : p.by.takes_c == 0) return CUBLAS_STATUS_INVALID_VALUE;
  const auto later = [&]<class W, class T, class C>(W, T, C) {
    const W factor = *static_cast<const W*>(beta);
    if (*static_cast<const W*>(alpha) != 1) return CUBLAS_STATUS_INVALID_VALUE;
    const std::uint64_t k = p.how.transposes_a == CUBLAS_OP_T ? p.a.rows : p.a.columns;
    std::vector<fake::range> touched{{workspace, workspace_taken, true}};
    add_columns<T>(touched, p.a, a, false);
    add_columns<T>(touched, p.b, b, false);
    if (factor != 0) add_columns<C>(touched, p.c, c, false);
    add_columns<C>(touched, p.d, to, true);
    if (has_vector(p.how)) {
      const bool is_result = p.how.epilogue == CUBLASLT_EPILOGUE_BGRADB;
      touched.push_back({p.how.vector, (is_result ? p.d.columns : p.d.rows) * sizeof(C), is_result});
    }
    fake::put(
        stream, fake::time_of_product(p.d.rows, p.d.columns, k),
        [=] {
          const auto in_place = []<class E>(E, const void* at) { return static_cast<E*>(fake::contents(at)); };
          multiply<W, T, C>(p, in_place(T{}, a), in_place(T{}, b), factor, in_place(C{}, c), in_place(C{}, to));
        },
        touched);
    return CUBLAS_STATUS_SUCCESS;
  };
  using cairn::bfloat16, cairn::float16;
  const auto of = [&](cudaDataType operands, cudaDataType results) {
    return p.a.type == operands && p.b.type == operands && p.c.type == results && p.d.type == results;
  };
  const bool in_float = p.how.type == CUDA_R_32F, in_sixteen_bits = in_float && p.how.compute == CUBLAS_COMPUTE_32F;
  if (!in_float && of(CUDA_R_64F, CUDA_R_64F)) return later(double{}, double{}, double{});
  if (in_float && !in_sixteen_bits && of(CUDA_R_32F, CUDA_R_32F)) return later(float{}, float{}, float{});
  if (in_sixteen_bits && of(CUDA_R_16BF, CUDA_R_16BF)) return later(float{}, bfloat16{}, bfloat16{});
  if (in_sixteen_bits && of(CUDA_R_16BF, CUDA_R_32F)) return later(float{}, bfloat16{}, float{});
  if (in_sixteen_bits && of(CUDA_R_16F, CUDA_R_16F)) return later(float{}, float16{}, float16{});
  if (in_sixteen_bits && of(CUDA_R_16F, CUDA_R_32F)) return later(float{}, float16{}, float{});
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

} // extern "C"
