// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#endif

#include <cairn/plan/fingerprint.hpp>

namespace cairn::detail {

// Finds out which processes of a job on this machine are missing before MPI has joined them. Each process listens at a name of
// its own, at which the others look for it. The names are Linux's abstract sockets, which leave no file: the system takes them
// back when a process ends, however it ends. Nothing is sent. On other systems no process is known to be missing.
class roll_call {
public:
  // Process `own` of `size` on this machine. `job` is a text that all of them have, and no other job on the machine. `whose`
  // precedes a process's number in errors.
  roll_call(std::string_view job, int own, int size, std::string whose)
      : job_(hash64{}.add(job).value()), own_(own), size_(size), whose_(std::move(whose)), came_(static_cast<std::size_t>(size)),
        socket_(opened()) {
#if defined(__linux__)
    const address here = address_of(own);
    if (socket_ >= 0 && (::bind(socket_, here.get(), here.length) != 0 || ::listen(socket_, 4096) != 0)) close();
#endif
  }
  roll_call(const roll_call&) = delete;
  roll_call& operator=(const roll_call&) = delete;
  ~roll_call() { close(); }

  // Looks for the others, and returns in words which have not come, have gone or are stopped; empty if there are none, or if it
  // is not known. A process that gives up waiting goes too, and is not to blame, so those that never came are reported
  // differently.
  std::string missing() {
    hang_up();
    if (look(own_).what != presence::there) return {}; // abstract sockets do not work here
    constexpr int most = 8;
    std::string out;
    int found = 0;
    for (int one = 0; one < size_; ++one) {
      const answer its = look(one);
      const auto at = static_cast<std::size_t>(one);
      if (its.what != presence::absent) came_[at] = true;
      if (its.what == presence::there || its.what == presence::unknown || ++found > most) continue;
      out += (out.empty() ? "" : ", ") + whose_ + " " + std::to_string(one) +
             (its.what == presence::stopped ? " is stopped (process " + std::to_string(its.process) + ")"
              : came_[at]                   ? " came and is gone"
                                            : " has not come");
    }
    if (found > most) out += " and " + std::to_string(found - most) + " more";
    return out;
  }

  // The text that a launcher gives to all processes of a job, and to no others on this machine; empty if there is none.
  template <class Environment>
  static std::string job_of(const Environment& environment) {
    const auto text = [&](const char* name) { return std::string(environment(name) == nullptr ? "" : environment(name)); };
    for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"})
      if (std::string found = text(name); !found.empty()) return found;
    const std::string job = text("SLURM_JOB_ID"), step = text("SLURM_STEP_ID");
    return job.empty() || step.empty() ? std::string() : job + "." + step;
  }

private:
  enum class presence : unsigned char { there, absent, stopped, unknown };
  struct answer {
    presence what = presence::unknown;
    long process = 0;
  };
#if defined(__linux__)
  struct address {
    sockaddr_un at{};
    socklen_t length = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&at); }
  };

  address address_of(int one) const {
    const std::string name =
        "cairn-" + std::to_string(::getuid()) + "-" + std::to_string(job_) + "-" + std::to_string(one); // at most 60 characters
    address out;
    out.at.sun_family = AF_UNIX;
    std::memcpy(out.at.sun_path + 1, name.data(), name.size()); // after a zero: no file
    out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    return out;
  }
  // A socket that never blocks, and that programs started by this one do not inherit.
  static int opened() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

  // Takes the connections of processes that have looked for this one out of its queue.
  void hang_up() const {
    for (int one = 0; socket_ >= 0 && (one = ::accept(socket_, nullptr, nullptr)) >= 0;) ::close(one);
  }
  answer look(int one) const {
    const int asks = opened();
    if (asks < 0) return {};
    const address there = address_of(one);
    answer out;
    if (::connect(asks, there.get(), there.length) == 0) {
      ucred its{};
      socklen_t bytes = sizeof its;
      if (::getsockopt(asks, SOL_SOCKET, SO_PEERCRED, &its, &bytes) == 0) out.process = its.pid;
      out.what = is_stopped(out.process) ? presence::stopped : presence::there;
    } else if (errno == ECONNREFUSED) {
      out.what = presence::absent;
    } else if (errno == EAGAIN) { // its queue is full: it has not looked for the others for long
      out.what = presence::there;
    }
    ::close(asks);
    return out;
  }
  // Reads the letter after the name in /proc/PID/stat. The name is in parentheses, and may contain some.
  static bool is_stopped(long process) {
    const int file = ::open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    std::array<char, 256> some{};
    const ssize_t count = ::read(file, some.data(), some.size());
    ::close(file);
    const std::string_view text(some.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
    const std::size_t end = text.rfind(')');
    return end != text.npos && end + 2 < text.size() && (text[end + 2] == 'T' || text[end + 2] == 't');
  }
#else
  static int opened() { return -1; }
  static answer look(int) { return {}; }
  static void close() {}
  static void hang_up() {}
#endif

  std::uint64_t job_;
  int own_, size_;
  std::string whose_;
  std::vector<bool> came_; // whether each has come at some time
  int socket_;
};

} // namespace cairn::detail
