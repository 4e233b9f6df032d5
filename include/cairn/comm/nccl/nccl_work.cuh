// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

#if !CAIRN_WITH_NCCL
#error "nccl_work.cuh needs NCCL: link the CMake target cairn::nccl, or compile with -DCAIRN_WITH_NCCL=1 -lnccl"
#else

#include <cstddef>
#include <type_traits>

#include <nccl.h>

#include <cairn/comm/nccl/nccl_handle.cuh>
#include <cairn/comm/nccl/nccl_stream.cuh>
#include <cairn/comm/nccl/ordered_sum.cuh>
#include <cairn/device/cuda/in_use.cuh>

namespace cairn::detail {

// The calls of NCCL that the calls of a rank are made of. Each puts work on the stream, and returns what NCCL returns; settle it
// before the next one. All memory is the GPU's.
class nccl_work {
public:
  nccl_work(const nccl_handle& handle, const nccl_stream& stream, int rank, int size)
      : handle_(handle), stream_(stream), rank_(static_cast<std::size_t>(rank)), size_(static_cast<std::size_t>(size)) {}

  ncclResult_t broadcast(std::byte* bytes, std::size_t count, int root) const {
    return in_use([&] { return ncclBroadcast(bytes, bytes, count, ncclUint8, root, handle_.get(), stream_.get()); });
  }
  // Gives all ranks the part of each, in place: part r lies at all + r * each.
  template <class T>
  ncclResult_t gather(T* all, std::size_t each) const {
    return in_use([&] { return ncclAllGather(all + rank_ * each, all, each, type_of<T>, handle_.get(), stream_.get()); });
  }
  // The sum in NCCL's order, in place.
  template <class T>
  ncclResult_t sum(T* span, std::size_t count) const {
    return in_use([&] { return ncclAllReduce(span, span, count, type_of<T>, ncclSum, handle_.get(), stream_.get()); });
  }

  // The sum in the order of the ranks is three steps: swap() gives every rank its part, and the rest, of all other ranks; add()
  // sums them; gather() gives all ranks the parts.
  template <class T>
  ncclResult_t swap(T* span, T* received, const equal_parts& parts) const {
    return in_use([&] {
      ncclResult_t code = ncclGroupStart();
      const auto with = [&](T* sent, T* got, std::size_t elements, std::size_t other) {
        if (elements == 0) return;
        const int peer = static_cast<int>(other);
        if (code == ncclSuccess) code = begun(ncclSend(sent, elements, type_of<T>, peer, handle_.get(), stream_.get()));
        if (code == ncclSuccess) code = begun(ncclRecv(got, elements, type_of<T>, peer, handle_.get(), stream_.get()));
      };
      for (std::size_t step = 1; step < size_; ++step) { // each rank begins with the next one, so that no link is crowded
        const std::size_t other = (rank_ + step) % size_;
        T* const slot = received + (other < rank_ ? other : other - 1) * parts.stride;
        with(span + other * parts.each, slot, parts.each, other);
        with(span + size_ * parts.each, slot + parts.each, parts.rest, other);
      }
      const ncclResult_t end = ncclGroupEnd();
      return code == ncclSuccess ? end : code;
    });
  }
  template <class T>
  void add(T* span, const T* received, const equal_parts& parts) const {
    stream_.launch(parts.each + parts.rest,
                   ordered_sum<T>{span + rank_ * parts.each, span + size_ * parts.each, received, parts.each, parts.stride,
                                  static_cast<int>(rank_), static_cast<int>(size_)});
  }

private:
  template <class T>
  static constexpr ncclDataType_t type_of = std::is_same_v<T, float>    ? ncclFloat32
                                            : std::is_same_v<T, double> ? ncclFloat64
                                                                        : ncclUint8;
  // A call of a group is not on its stream before the group ends.
  static ncclResult_t begun(ncclResult_t code) { return code == ncclInProgress ? ncclSuccess : code; }
  template <class Call>
  ncclResult_t in_use(const Call& call) const {
    const gpu_in_use now = stream_.use();
    return call();
  }

  const nccl_handle& handle_;
  const nccl_stream& stream_;
  std::size_t rank_, size_;
};

} // namespace cairn::detail

#endif
