// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>

#include <cublasLt.h>

#include <cairn/core/accumulated.hpp>
#include <cairn/core/bfloat16.hpp>
#include <cairn/core/config.hpp>
#include <cairn/core/float16.hpp>
#include <cairn/device/cuda.cuh>
#include <cairn/device/cuda/error.cuh>
#include <cairn/device/cuda/noted_run.cuh>
#include <cairn/device/cuda/products.cuh>
#include <cairn/ops/matmul/column_major.cuh>
#include <cairn/ops/matmul/matmul.hpp>

namespace cairn::detail {

// A product_call as cuBLASLt's descriptors, all of them on the stack: a step allocates nothing.
template <class T>
inline constexpr cudaDataType cuda_type = CUDA_R_32F;
template <>
inline constexpr cudaDataType cuda_type<double> = CUDA_R_64F;
template <>
inline constexpr cudaDataType cuda_type<bfloat16> = CUDA_R_16BF;
template <>
inline constexpr cudaDataType cuda_type<float16> = CUDA_R_16F;

template <class T, class C = T>
class cublas_product {
  static constexpr const char* op = "matmul";
  static constexpr bool of_double = std::is_same_v<T, double>;
  using wide = accumulated<T>;

public:
  cublas_product(const product_call<T, C>& call, bool tf32) : call_(call) {
    // Pedantic: no environment variable may choose other arithmetic. Products of 16 bits are exact in float, and tensor cores
    // add them up there.
    const cublasComputeType_t compute = of_double      ? CUBLAS_COMPUTE_64F_PEDANTIC
                                        : is_narrow<T> ? CUBLAS_COMPUTE_32F
                                        : tf32         ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                       : CUBLAS_COMPUTE_32F_PEDANTIC;
    check_cublas(cublasLtMatmulDescInit(&how_, compute, cuda_type<wide>), op);
    set(CUBLASLT_MATMUL_DESC_TRANSA, operation(call.transposes_a));
    set(CUBLASLT_MATMUL_DESC_TRANSB, operation(call.transposes_b));
    lay_out(a_, cuda_type<T>, call.m, call.k, call.transposes_a, call.lda);
    lay_out(b_, cuda_type<T>, call.k, call.n, call.transposes_b, call.ldb);
    lay_out(d_, cuda_type<C>, call.m, call.n, false, call.ldd);
  }

  // The algorithm depends on this call's operands, on `tf32` and on whether there is a bias or row sums. See product_key.
  static product_key key(const product_call<T, C>& call, bool tf32, bool adds_vector) {
    const auto is_aligned = [](std::size_t bytes) { return bytes % 16 == 0; };
    const bool aligned = is_aligned(reinterpret_cast<std::uintptr_t>(call.a)) &&
                         is_aligned(reinterpret_cast<std::uintptr_t>(call.b)) &&
                         is_aligned(reinterpret_cast<std::uintptr_t>(call.d)) && is_aligned(call.lda * sizeof(T)) &&
                         is_aligned(call.ldb * sizeof(T)) && is_aligned(call.ldd * sizeof(C));
    return {call.m,
            call.n,
            call.k,
            call.lda,
            call.ldb,
            call.ldd,
            call.transposes_a,
            call.transposes_b,
            static_cast<std::uint64_t>(cuda_type<T>) << 8 | static_cast<std::uint64_t>(cuda_type<C>),
            tf32,
            aligned,
            adds_vector};
  }

  // Asks for an algorithm with the richest epilogue that a layer of this key may need; it must support the poorer ones too. A
  // ReLU is always among them, as the checkpoint policy decides whether a product does the ReLU after it. If there is none, no
  // call of this key fuses its epilogue.
  product_algorithm choose(cublasLtHandle_t handle, transpose form, const product_key& key) {
    product_algorithm found;
    const bool aligned = key.aligned;
    if constexpr (!of_double) { // as hardly anybody trains in double
      bool is_rich = false;
      if (form == transpose::second && std::is_same_v<T, C>)
        is_rich = key.adds_vector ? serves(handle, aligned, found.how,
                                           {CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_DEFAULT})
                                  : serves(handle, aligned, found.how, {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_DEFAULT});
      else if (!is_narrow<T> && form == transpose::first && key.adds_vector)
        is_rich = serves(handle, aligned, found.how, {CUBLASLT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_DEFAULT});
      if (is_rich) {
        found.fuses = true;
        return found;
      }
    }
    set_epilogue(CUBLASLT_EPILOGUE_DEFAULT, nullptr);
    check_cublas(ask(handle, aligned, found.how), op);
    return found;
  }

  void run(const product_algorithm& by, const cuda_place& on) {
    const bool sums = call_.sums != nullptr;
    set_epilogue(sums                                  ? CUBLASLT_EPILOGUE_BGRADB
                 : call_.relu && call_.bias != nullptr ? CUBLASLT_EPILOGUE_RELU_BIAS
                 : call_.relu                          ? CUBLASLT_EPILOGUE_RELU
                 : call_.bias != nullptr               ? CUBLASLT_EPILOGUE_BIAS
                                                       : CUBLASLT_EPILOGUE_DEFAULT,
                 sums ? static_cast<const void*>(call_.sums) : call_.bias);
    const wide one = 1, beta = call_.addend == nullptr ? wide{0} : wide{1};
    const C* const c = call_.addend == nullptr ? call_.d : call_.addend;
    check_cublas(cublasLtMatmul(on.handle, &how_, &one, call_.a, &a_, call_.b, &b_, &beta, c, &d_, call_.d, &d_, &by.how,
                                on.workspace, cuda_products::workspace_bytes, on.stream),
                 op);
  }

private:
  static std::int32_t operation(bool transposes) { return transposes ? CUBLAS_OP_T : CUBLAS_OP_N; }
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t what, const Value& value) {
    check_cublas(cublasLtMatmulDescSetAttribute(&how_, what, &value, sizeof value), op);
  }
  // The pointer is set first, as some epilogues are refused without one.
  void set_epilogue(cublasLtEpilogue_t which, const void* vector) {
    if (which != CUBLASLT_EPILOGUE_DEFAULT && which != CUBLASLT_EPILOGUE_RELU) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(which));
  }
  // The vector that is given when an algorithm is asked for. Nothing reads it, but the library assumes that later vectors are
  // aligned as it is (cublasLt.h, CUBLASLT_MATMUL_DESC_BIAS_POINTER). So it is a multiple of 16 and not of 32, wherever d is.
  const void* any_vector() const {
    return reinterpret_cast<const void*>((reinterpret_cast<std::uintptr_t>(call_.d) & ~std::uintptr_t{31}) | 16);
  }
  // The layout in memory of a matrix whose op() is (rows, columns).
  static void lay_out(cublasLtMatrixLayoutOpaque_t& as, cudaDataType type, std::size_t rows, std::size_t columns, bool transposed,
                      std::size_t ld) {
    check_cublas(cublasLtMatrixLayoutInit(&as, type, transposed ? columns : rows, transposed ? rows : columns,
                                          static_cast<std::int64_t>(ld)),
                 op);
  }
  cublasStatus_t ask(cublasLtHandle_t handle, bool aligned, cublasLtMatmulAlgo_t& found) {
    cublasLtMatmulPreferenceOpaque_t wish;
    check_cublas(cublasLtMatmulPreferenceInit(&wish), op);
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, auto value) {
      check_cublas(cublasLtMatmulPreferenceSetAttribute(&wish, what, &value, sizeof value), op);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{cuda_products::workspace_bytes});
    // A sum over k that is computed in parts must be complete before anything is added to it. In place, the parts would be added
    // to the addend one after another. That gives other bits than a sum and one addition, and no order is guaranteed.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (const auto what : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(what, aligned ? std::uint32_t{16} : static_cast<std::uint32_t>(sizeof(T)));
    std::array<cublasLtMatmulHeuristicResult_t, 8> results{}; // the best first
    int count = 0;
    const cublasStatus_t code = cublasLtMatmulAlgoGetHeuristic(handle, &how_, &a_, &b_, &d_, &d_, &wish,
                                                               static_cast<int>(results.size()), results.data(), &count);
    if (code != CUBLAS_STATUS_SUCCESS) return code;
    for (const auto& result : std::span(results).first(static_cast<std::size_t>(count)))
      if (result.state == CUBLAS_STATUS_SUCCESS && takes_addend(result.algo)) {
        found = result.algo;
        return CUBLAS_STATUS_SUCCESS;
      }
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  // An addend is in other memory than the result, which not every algorithm allows.
  static bool takes_addend(const cublasLtMatmulAlgo_t& algorithm) {
    std::int32_t takes = 0;
    std::size_t size = 0;
    const cublasStatus_t code =
        cublasLtMatmulAlgoCapGetAttribute(&algorithm, CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT, &takes, sizeof takes, &size);
    return code != CUBLAS_STATUS_SUCCESS || takes != 0;
  }
  // Finds an algorithm for the first epilogue that supports the others too. False if there is none.
  bool serves(cublasLtHandle_t handle, bool aligned, cublasLtMatmulAlgo_t& found,
              std::initializer_list<cublasLtEpilogue_t> epilogues) {
    bool first = true;
    for (const cublasLtEpilogue_t which : epilogues) {
      set_epilogue(which, any_vector());
      cublasLtMatmulHeuristicResult_t result{};
      const cublasStatus_t code =
          first ? ask(handle, aligned, found) : cublasLtMatmulAlgoCheck(handle, &how_, &a_, &b_, &d_, &d_, &found, &result);
      if (code != CUBLAS_STATUS_SUCCESS || result.workspaceSize > cuda_products::workspace_bytes) return false;
      first = false;
    }
    return true;
  }

  product_call<T, C> call_;
  cublasLtMatmulDescOpaque_t how_{};
  cublasLtMatrixLayoutOpaque_t a_{}, b_{}, d_{};
};

// A product as work of a queue. It makes its descriptors when it is put on the GPU, so a run that is played back makes none.
template <class T, class C = T>
struct product_work {
  product_call<T, C> call;
  product_algorithm by;
  bool tf32;

  void operator()(const char*, const cuda_place& on) const { cublas_product<T, C>(call, tf32).run(by, on); }
  bool operator==(const product_work& other) const {
    return call == other.call && tf32 == other.tf32 && std::memcmp(&by.how, &other.by.how, sizeof by.how) == 0;
  }
  touched_memory touched() const {
    const auto bytes = [](std::size_t rows, std::size_t columns, std::size_t ld, std::size_t of_one) {
      return ((columns - 1) * ld + rows) * of_one;
    };
    touched_memory all;
    all.add(call.a, bytes(call.transposes_a ? call.k : call.m, call.transposes_a ? call.m : call.k, call.lda, sizeof(T)), false);
    all.add(call.b, bytes(call.transposes_b ? call.n : call.k, call.transposes_b ? call.k : call.n, call.ldb, sizeof(T)), false);
    all.add(call.addend, bytes(call.m, call.n, call.ldd, sizeof(C)), false);
    all.add(call.bias, call.m * sizeof(T), false);
    all.add(call.d, bytes(call.m, call.n, call.ldd, sizeof(C)), true);
    all.add(call.sums, call.n * sizeof(T), true);
    return all;
  }
};

} // namespace cairn::detail
