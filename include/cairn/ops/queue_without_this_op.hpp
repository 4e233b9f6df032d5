// SPDX-License-Identifier: MIT
#pragma once

#include <cairn/core/config.hpp>

namespace cairn::detail {

// The queue of a device that lacks an op. Every queue converts to it, and every op is declared for it and deleted. A device's own
// overload takes its queue without a conversion, so it is always preferred, whether it is a template or not; its other parameters
// must be those of the declaration. Without such an overload the call is the deleted function, whose first parameter says what is
// wrong.
//
// Rejected: a deleted template over any queue. The compiler would then have to order two templates, which is ambiguous as soon as
// a device is more general in any other parameter.
struct queue_without_this_op {
  template <class Queue>
  queue_without_this_op(Queue&); // never defined, as it is never called
};

} // namespace cairn::detail
