// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <cairn/layer/gradient_check/guarded_tensors.hpp>

namespace cairn::detail {

// Checks that a call writes only where it may, and keeps the first fault.
template <class T>
class write_watch {
public:
  using values = guarded_tensors<T>;

  // Tensors that a call may only read, and a copy of them.
  struct only_read {
    const values* now;
    const char* name;
    values before;
  };
  static std::vector<only_read> keep(std::initializer_list<std::pair<const values*, const char*>> list) {
    std::vector<only_read> out;
    for (const auto& [now, name] : list) out.push_back({now, name, *now});
    return out;
  }

  // To be called after the call; `all` is all memory that the call was given.
  void check(const std::string& call, const std::vector<only_read>& kept, std::initializer_list<const values*> all) {
    for (const values* const memory : all) expect(memory->intact(), call + " writes behind a tensor");
    for (const only_read& k : kept) expect(k.now->same_bits(k.before), call + " writes on " + k.name);
  }
  void expect(bool right, const std::string& fault) {
    if (!right && fault_.empty()) fault_ = fault;
  }
  const std::string& fault() const { return fault_; }

private:
  std::string fault_;
};

} // namespace cairn::detail
