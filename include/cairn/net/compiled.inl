// SPDX-License-Identifier: MIT
// With cairn::compiled a program has the executor from a library, too: net/execute.hpp ends with this file. See ops/compiled.inl.

namespace cairn::detail {

#ifdef CAIRN_COMPILES
template class executor<CAIRN_COMPILES, cpu::queue>;
#else
extern template class executor<float, cpu::queue>;
extern template class executor<double, cpu::queue>;
extern template class executor<bfloat16, cpu::queue>;
extern template class executor<float16, cpu::queue>;
#endif

} // namespace cairn::detail
