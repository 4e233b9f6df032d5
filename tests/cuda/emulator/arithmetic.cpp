// SPDX-License-Identifier: MIT
// Instructions that only read and write registers.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <cairn/core/float16.hpp>

#include "memory_access.hpp"
#include "ptx.hpp"
#include "thread.hpp"

namespace emulator {

namespace {

template <class T>
constexpr bool is_real = std::is_floating_point_v<T>;
template <class T>
struct unsigned_of {
  using type = std::make_unsigned_t<T>;
};
template <class T>
  requires(is_real<T> || std::same_as<T, bool>)
struct unsigned_of<T> {
  using type = T;
};
template <class T>
using word = typename unsigned_of<T>::type; // in which an overflow wraps around
template <class T>
using wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;
template <class T>
using widest = std::conditional_t<std::is_signed_v<T>, int128, uint128>;

// A function object that has make<T>(), called for the type T that is named.
template <class F>
step for_whole(type t, const F& f) {
  switch (t) {
  case type::b16:
  case type::u16: return f.template operator()<std::uint16_t>();
  case type::b32:
  case type::u32: return f.template operator()<std::uint32_t>();
  case type::b64:
  case type::u64: return f.template operator()<std::uint64_t>();
  case type::s16: return f.template operator()<std::int16_t>();
  case type::s32: return f.template operator()<std::int32_t>();
  case type::s64: return f.template operator()<std::int64_t>();
  default: return nullptr;
  }
}
template <class F>
step for_real(type t, const F& f) {
  return t == type::f32 ? f.template operator()<float>() : t == type::f64 ? f.template operator()<double>() : step { nullptr };
}
template <class F>
step for_any(type t, const F& f) {
  const step real = for_real(t, f);
  return real != nullptr ? real : for_whole(t, f);
}

template <class T, class F>
void unary(thread& x, const instruction& i) {
  x.write(i.args[0], F::of(x.read<T>(i, i.args[1])));
}
template <class T, class F>
void binary(thread& x, const instruction& i) {
  x.write(i.args[0], F::of(x.read<T>(i, i.args[1]), x.read<T>(i, i.args[2])));
}
struct sum {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<word<T>>(a) + static_cast<word<T>>(b));
  }
};
struct difference {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(static_cast<word<T>>(a) - static_cast<word<T>>(b));
  }
};
struct smaller {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_real<T>) return std::fmin(a, b);
    else return std::min(a, b);
  }
};
struct greater {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_real<T>) return std::fmax(a, b);
    else return std::max(a, b);
  }
};
struct in_both {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct in_any {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct in_one {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct opposite {
  template <class T>
  static T of(T a) {
    if constexpr (std::same_as<T, bool>) return !a;
    else return static_cast<T>(~a);
  }
};
struct negative {
  template <class T>
  static T of(T a) {
    if constexpr (is_real<T>) return -a;
    else return static_cast<T>(word<T>{0} - static_cast<word<T>>(a));
  }
};
struct magnitude {
  template <class T>
  static T of(T a) {
    if constexpr (is_real<T>) return std::fabs(a);
    else return a < 0 ? negative::of(a) : a;
  }
};
struct with_sign {
  template <class T>
  static T of(T sign, T a) {
    return std::copysign(a, sign);
  }
};
struct root {
  template <class T>
  static T of(T a) {
    return std::sqrt(a);
  }
};
struct inverse {
  template <class T>
  static T of(T a) {
    return 1 / a;
  }
};
struct inverse_root {
  template <class T>
  static T of(T a) {
    return 1 / std::sqrt(a);
  }
};
struct ones {
  template <class T>
  static std::uint32_t of(T a) {
    return static_cast<std::uint32_t>(std::popcount(a));
  }
};
struct leading_zeros {
  template <class T>
  static std::uint32_t of(T a) {
    return static_cast<std::uint32_t>(std::countl_zero(a));
  }
};
struct reversed {
  template <class T>
  static T of(T a) {
    T r = 0;
    for (int n = 0; n < std::numeric_limits<T>::digits; ++n) r = static_cast<T>(r << 1 | (a >> n & 1));
    return r;
  }
};

float flushed(float v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0F, v) : v; }
// ex2 and lg2 are approximate on a GPU, to about 1 unit in the last place; here they are right.
template <bool Logarithm>
void power_of_two(thread& x, const instruction& i) {
  float v = x.read<float>(i, i.args[1]);
  if (i.flushes) v = flushed(v);
  const auto exact = Logarithm ? std::log2(static_cast<double>(v)) : std::exp2(static_cast<double>(v));
  x.write(i.args[0], i.flushes ? flushed(static_cast<float>(exact)) : static_cast<float>(exact));
}
// rcp.approx.ftz.f64 gives the upper 32 bits of the reciprocal, and 0 for the others.
void rough_inverse(thread& x, const instruction& i) {
  x.write(i.args[0], bits_of(1 / x.read<double>(i, i.args[1])) & 0xFFFFFFFF00000000U);
}
template <class T>
T saturated(const instruction& i, T v) {
  return !i.saturates ? v : v > 1 ? T{1} : v > 0 ? v : T{0}; // 0 for NaN
}
template <class T>
void fused(thread& x, const instruction& i) {
  volatile T a = x.read<T>(i, i.args[1]), b = x.read<T>(i, i.args[2]), c = x.read<T>(i, i.args[3]); // not moved over fesetround
  if (i.to == rounding::none) return x.write(i.args[0], saturated(i, std::fma(T{a}, T{b}, T{c})));
  std::fesetround(i.to == rounding::zero ? FE_TOWARDZERO : i.to == rounding::down ? FE_DOWNWARD : FE_UPWARD);
  volatile T v = std::fma(T{a}, T{b}, T{c});
  std::fesetround(FE_TONEAREST);
  x.write(i.args[0], saturated(i, T{v}));
}

template <class T>
void multiply(thread& x, const instruction& i) {
  const T a = x.read<T>(i, i.args[1]), b = x.read<T>(i, i.args[2]);
  const bool adds = i.op == opcode::mad;
  if constexpr (is_real<T>) {
    x.write(i.args[0], a * b);
  } else if (i.part == half::wide) {
    const auto product =
        static_cast<std::uint64_t>(static_cast<wide<T>>(a)) * static_cast<std::uint64_t>(static_cast<wide<T>>(b));
    constexpr std::uint64_t all = sizeof(T) == 2 ? 0xFFFFFFFFU : ~std::uint64_t{0};
    x.write(i.args[0], (product + (adds ? x.read<std::uint64_t>(i, i.args[3]) : 0)) & all);
  } else {
    const auto product = static_cast<widest<T>>(a) * static_cast<widest<T>>(b);
    const auto part = static_cast<word<T>>(i.part == half::high ? product >> (8 * sizeof(T)) : product);
    x.write(i.args[0],
            static_cast<T>(static_cast<word<T>>(part + (adds ? static_cast<word<T>>(x.read<T>(i, i.args[3])) : word<T>{0}))));
  }
}
template <class T, bool Rest>
void divide(thread& x, const instruction& i) {
  const T a = x.read<T>(i, i.args[1]), b = x.read<T>(i, i.args[2]);
  if constexpr (is_real<T>) {
    x.write(i.args[0], a / b);
  } else {
    if (b == 0) report(where(*x.code, i), "divides by 0");
    const bool overflows = std::is_signed_v<T> && b == static_cast<T>(-1);
    if (b == 0) x.write(i.args[0], static_cast<T>(-1));
    else if (overflows) x.write(i.args[0], Rest ? T{0} : negative::of(a));
    else x.write(i.args[0], static_cast<T>(Rest ? a % b : a / b));
  }
}
template <class T, bool Left>
void shift(thread& x, const instruction& i) {
  const T a = x.read<T>(i, i.args[1]);
  const auto by = x.read<std::uint32_t>(i, i.args[2]);
  constexpr std::uint32_t bits = 8 * sizeof(T);
  if constexpr (Left) x.write(i.args[0], by < bits ? static_cast<T>(static_cast<word<T>>(a) << by) : T{0});
  else x.write(i.args[0], by < bits ? static_cast<T>(a >> by) : std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0});
}
template <class T>
void highest_bit(thread& x, const instruction& i) {
  T a = x.read<T>(i, i.args[1]);
  if constexpr (std::is_signed_v<T>) a = a < 0 ? static_cast<T>(~a) : a;
  const int zeros = std::countl_zero(static_cast<word<T>>(a)), highest = std::numeric_limits<word<T>>::digits - 1 - zeros;
  x.write(i.args[0], a == 0 ? 0xFFFFFFFFU : static_cast<std::uint32_t>(i.counts_shift ? zeros : highest));
}
// Four of the eight bytes of a, which come first, and b, as the four lowest hexadecimal digits of c say; with the highest bit of
// a digit its byte's sign in each bit.
void permute_bytes(thread& x, const instruction& i) {
  const std::uint64_t a = x.read<std::uint32_t>(i, i.args[1]), b = x.read<std::uint32_t>(i, i.args[2]), all = b << 32 | a;
  const std::uint32_t how = x.read<std::uint32_t>(i, i.args[3]);
  std::uint32_t made = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const std::uint32_t digit = how >> 4 * k & 0xFU, byte = static_cast<std::uint32_t>(all >> 8 * (digit & 7U)) & 0xFFU;
    made |= (digit < 8 ? byte : byte < 0x80 ? 0U : 0xFFU) << 8 * k;
  }
  x.write(i.args[0], made);
}

// The lowest bits of a in place of those of b from a position on; position and length are bytes.
template <class T>
void insert_bits(thread& x, const instruction& i) {
  constexpr std::uint32_t bits = std::numeric_limits<T>::digits;
  const T a = x.read<T>(i, i.args[1]), b = x.read<T>(i, i.args[2]);
  const std::uint32_t from = x.read<std::uint32_t>(i, i.args[3]) & 0xFFU, length = x.read<std::uint32_t>(i, i.args[4]) & 0xFFU;
  const T ones_of_length = length >= bits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  const T mask = from >= bits ? T{0} : static_cast<T>(ones_of_length << from);
  x.write(i.args[0], from >= bits ? b : static_cast<T>((b & ~mask) | (static_cast<T>(a << from) & mask)));
}

template <class T>
bool holds(comparison c, T a, T b) {
  bool unordered = false;
  if constexpr (is_real<T>) unordered = std::isnan(a) || std::isnan(b);
  switch (c) {
  case comparison::eq: return !unordered && a == b;
  case comparison::ne: return !unordered && a != b;
  case comparison::lt: return !unordered && a < b;
  case comparison::le: return !unordered && a <= b;
  case comparison::gt: return !unordered && a > b;
  case comparison::ge: return !unordered && a >= b;
  case comparison::equ: return unordered || a == b;
  case comparison::neu: return unordered || a != b;
  case comparison::ltu: return unordered || a < b;
  case comparison::leu: return unordered || a <= b;
  case comparison::gtu: return unordered || a > b;
  case comparison::geu: return unordered || a >= b;
  case comparison::num: return !unordered;
  case comparison::nan: return unordered;
  }
  return false;
}
template <class T>
void compare(thread& x, const instruction& i) {
  bool first = holds(i.compares, x.read<T>(i, i.args[1]), x.read<T>(i, i.args[2])), second = !first;
  if (i.joins != junction::none) {
    const bool other = x.read<bool>(i, i.args[3]);
    for (bool* const v : {&first, &second})
      *v = i.joins == junction::conjunction ? *v && other : i.joins == junction::disjunction ? *v || other : *v != other;
  }
  x.write(i.args[0], first);
  x.write(i.also, second);
}
void select(thread& x, const instruction& i) { x.copy(i.args[0], i.args[x.read<bool>(i, i.args[3]) ? 1 : 2]); }
void move(thread& x, const instruction& i) { x.copy(i.args[0], i.args[1]); }
template <class T>
void pack(thread& x, const instruction& i) {
  const std::size_t bits = 8 * sizeof(T) / i.width;
  std::uint64_t all = 0;
  for (std::size_t j = 0; j < i.width; ++j)
    all |= (x.read<std::uint64_t>(i, i.args[j + 1]) & ((std::uint64_t{1} << bits) - 1)) << (j * bits);
  x.write(i.args[0], all);
}
template <class T>
void unpack(thread& x, const instruction& i) {
  const std::size_t bits = 8 * sizeof(T) / i.width;
  const auto all = x.read<std::uint64_t>(i, i.address);
  for (std::size_t j = 0; j < i.width; ++j) x.write(i.args[j], all >> (j * bits) & ((std::uint64_t{1} << bits) - 1));
}

template <class To, class From>
To converted(rounding to, From v) {
  if constexpr (is_real<From>) {
    switch (to) {
    case rounding::nearest: v = std::nearbyint(v); break;
    case rounding::zero: v = std::trunc(v); break;
    case rounding::down: v = std::floor(v); break;
    case rounding::up: v = std::ceil(v); break;
    case rounding::none: break;
    }
    if constexpr (!is_real<To>) { // the nearest number that there is
      if (std::isnan(v)) return 0;
      const auto end = std::ldexp(From(1), std::numeric_limits<To>::digits);
      if (v >= end) return std::numeric_limits<To>::max();
      if (v < (std::is_signed_v<To> ? -end : From(0))) return std::numeric_limits<To>::min();
    }
  }
  return static_cast<To>(v);
}
template <class To, class From>
void convert(thread& x, const instruction& i) {
  const To v = converted<To>(i.to, x.read<From>(i, i.args[1]));
  if constexpr (is_real<To>) x.write(i.args[0], saturated(i, v));
  else x.write(i.args[0], v);
}
// The second operand goes to the lower half.
void pair_of_halves(thread& x, const instruction& i) {
  const auto half = [&](const operand& o) { return std::uint32_t{cairn::float16(x.read<float>(i, o)).bits}; };
  x.write(i.args[0], half(i.args[1]) << 16 | half(i.args[2]));
}
template <class F>
step for_number(type t, const F& f) { // bytes too, which only cvt, loads and stores know
  if (t == type::u8 || t == type::b8) return f.template operator()<std::uint8_t>();
  if (t == type::s8) return f.template operator()<std::int8_t>();
  return for_any(t, f);
}

step arithmetic_of(const instruction& i) {
  switch (i.op) {
  case opcode::add: return for_any(i.as, []<class T>() -> step { return &binary<T, sum>; });
  case opcode::sub: return for_any(i.as, []<class T>() -> step { return &binary<T, difference>; });
  case opcode::min_: return for_any(i.as, []<class T>() -> step { return &binary<T, smaller>; });
  case opcode::max_: return for_any(i.as, []<class T>() -> step { return &binary<T, greater>; });
  case opcode::mul:
  case opcode::mad: return for_any(i.as, []<class T>() -> step { return &multiply<T>; });
  case opcode::fma: return for_real(i.as, []<class T>() -> step { return &fused<T>; });
  case opcode::div: return for_any(i.as, []<class T>() -> step { return &divide<T, false>; });
  case opcode::rem: return for_whole(i.as, []<class T>() -> step { return &divide<T, true>; });
  case opcode::neg: return for_any(i.as, []<class T>() -> step { return &unary<T, negative>; });
  case opcode::abs_: return for_any(i.as, []<class T>() -> step { return &unary<T, magnitude>; });
  case opcode::sqrt_: return for_real(i.as, []<class T>() -> step { return &unary<T, root>; });
  case opcode::rsqrt: return for_real(i.as, []<class T>() -> step { return &unary<T, inverse_root>; });
  case opcode::rcp:
    if (i.is_approximate && i.as == type::f64) return &rough_inverse;
    return for_real(i.as, []<class T>() -> step { return &unary<T, inverse>; });
  case opcode::copysign_: return for_real(i.as, []<class T>() -> step { return &binary<T, with_sign>; });
  case opcode::ex2: return i.as == type::f32 ? &power_of_two<false> : nullptr;
  case opcode::lg2: return i.as == type::f32 ? &power_of_two<true> : nullptr;
  default: return nullptr;
  }
}
step bits_step_of(const instruction& i) {
  const auto whole_or_pred = [&](const auto& f) {
    return i.as == type::pred ? f.template operator()<bool>() : for_whole(i.as, f);
  };
  const auto without_sign = [&](const auto& f) {
    return i.as == type::b32 || i.as == type::u32   ? f.template operator()<std::uint32_t>()
           : i.as == type::b64 || i.as == type::u64 ? f.template operator()<std::uint64_t>()
                                                    : step {
                                                        nullptr
                                                      };
  };
  switch (i.op) {
  case opcode::and_: return whole_or_pred([]<class T>() -> step { return &binary<T, in_both>; });
  case opcode::or_: return whole_or_pred([]<class T>() -> step { return &binary<T, in_any>; });
  case opcode::xor_: return whole_or_pred([]<class T>() -> step { return &binary<T, in_one>; });
  case opcode::not_: return whole_or_pred([]<class T>() -> step { return &unary<T, opposite>; });
  case opcode::shl: return for_whole(i.as, []<class T>() -> step { return &shift<T, true>; });
  case opcode::shr: return for_whole(i.as, []<class T>() -> step { return &shift<T, false>; });
  case opcode::bfi: return without_sign([]<class T>() -> step { return &insert_bits<T>; });
  case opcode::bfind: return for_whole(i.as, []<class T>() -> step { return &highest_bit<T>; });
  case opcode::popc: return without_sign([]<class T>() -> step { return &unary<T, ones>; });
  case opcode::prmt: return i.as == type::b32 ? &permute_bytes : nullptr;
  case opcode::clz: return without_sign([]<class T>() -> step { return &unary<T, leading_zeros>; });
  case opcode::brev: return without_sign([]<class T>() -> step { return &unary<T, reversed>; });
  default: return nullptr;
  }
}

} // namespace

step step_of(const instruction& i) {
  switch (i.op) {
  case opcode::ld:
  case opcode::st: return i.in == space::generic ? nullptr : i.op == opcode::ld ? &load : &store;
  case opcode::mov: return &move;
  case opcode::cvta: return i.in == space::global ? &move : nullptr; // a global address is its own generic address
  case opcode::selp: return &select;
  case opcode::pack: return for_whole(i.as, []<class T>() -> step { return &pack<T>; });
  case opcode::unpack: return for_whole(i.as, []<class T>() -> step { return &unpack<T>; });
  case opcode::setp: return for_any(i.as, []<class T>() -> step { return &compare<T>; });
  case opcode::cvt:
    if (i.as == type::f16x2) return i.from == type::f32 ? &pair_of_halves : nullptr;
    return for_number(
        i.as, [&]<class To>() -> step { return for_number(i.from, []<class From>() -> step { return &convert<To, From>; }); });
  default: break;
  }
  const step found = arithmetic_of(i);
  return found != nullptr ? found : bits_step_of(i);
}

} // namespace emulator
