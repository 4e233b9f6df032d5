// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx.hpp"

namespace emulator {

namespace {

template <class T>
using words = std::map<std::string_view, T>;

const words<type> types{{"pred", type::pred}, {"b8", type::b8},     {"b16", type::b16},    {"b32", type::b32}, {"b64", type::b64},
                        {"u8", type::u8},     {"u16", type::u16},   {"u32", type::u32},    {"u64", type::u64}, {"s8", type::s8},
                        {"s16", type::s16},   {"s32", type::s32},   {"s64", type::s64},    {"f32", type::f32}, {"f64", type::f64},
                        {"f16", type::f16},   {"bf16", type::bf16}, {"f16x2", type::f16x2}};
const words<opcode> opcodes{{"add", opcode::add},    {"sub", opcode::sub},     {"mul", opcode::mul},
                            {"mad", opcode::mad},    {"fma", opcode::fma},     {"div", opcode::div},
                            {"rem", opcode::rem},    {"neg", opcode::neg},     {"abs", opcode::abs_},
                            {"min", opcode::min_},   {"max", opcode::max_},    {"and", opcode::and_},
                            {"or", opcode::or_},     {"xor", opcode::xor_},    {"not", opcode::not_},
                            {"shl", opcode::shl},    {"shr", opcode::shr},     {"setp", opcode::setp},
                            {"selp", opcode::selp},  {"mov", opcode::mov},     {"cvt", opcode::cvt},
                            {"cvta", opcode::cvta},  {"ld", opcode::ld},       {"st", opcode::st},
                            {"ex2", opcode::ex2},    {"lg2", opcode::lg2},     {"rcp", opcode::rcp},
                            {"sqrt", opcode::sqrt_}, {"rsqrt", opcode::rsqrt}, {"copysign", opcode::copysign_},
                            {"popc", opcode::popc},  {"prmt", opcode::prmt},   {"clz", opcode::clz},
                            {"brev", opcode::brev},  {"bfi", opcode::bfi},     {"bfind", opcode::bfind},
                            {"bra", opcode::bra},    {"ret", opcode::ret},     {"exit", opcode::ret},
                            {"bar", opcode::bar},    {"barrier", opcode::bar}, {"shfl", opcode::shfl},
                            {"vote", opcode::vote},  {"mma", opcode::mma},     {"trap", opcode::trap}};
const words<comparison> comparisons{{"eq", comparison::eq},   {"ne", comparison::ne},   {"lt", comparison::lt},
                                    {"le", comparison::le},   {"gt", comparison::gt},   {"ge", comparison::ge},
                                    {"lo", comparison::lt},   {"ls", comparison::le},   {"hi", comparison::gt},
                                    {"hs", comparison::ge},   {"equ", comparison::equ}, {"neu", comparison::neu},
                                    {"ltu", comparison::ltu}, {"leu", comparison::leu}, {"gtu", comparison::gtu},
                                    {"geu", comparison::geu}, {"num", comparison::num}, {"nan", comparison::nan}};
const words<space> spaces{{"param", space::param}, {"shared", space::shared}, {"global", space::global}};
const words<special> specials{{"%tid.x", special::thread},    {"%ntid.x", special::threads}, {"%ctaid.x", special::block},
                              {"%nctaid.x", special::blocks}, {"%laneid", special::lane},    {"%tid.y", special::zero},
                              {"%tid.z", special::zero},      {"%ctaid.y", special::zero},   {"%ctaid.z", special::zero},
                              {"%ntid.y", special::one},      {"%ntid.z", special::one},     {"%nctaid.y", special::one},
                              {"%nctaid.z", special::one}};
// Modifiers that change nothing here: rounding to nearest, which every operation does; caches; .sync, as it always is.
const std::set<std::string_view> without_effect{"rn", "sync", "aligned", "uni", "nc", "wb", "ca",
                                                "cg", "cs",   "lu",      "cta", "L1", "L2"};

[[noreturn]] void refuse(const std::string& what) { throw std::runtime_error("emulator, PTX: " + what); }

std::string trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return std::string(s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1));
}
// The parts between separators that are in no bracket.
std::vector<std::string> parts_of(std::string_view s, char separator) {
  std::vector<std::string> parts;
  std::size_t first = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size() && (s[i] == '{' || s[i] == '[' || s[i] == '(')) ++depth;
    if (i < s.size() && (s[i] == '}' || s[i] == ']' || s[i] == ')')) --depth;
    if (i < s.size() && (s[i] != separator || depth > 0)) continue;
    parts.push_back(trimmed(s.substr(first, i - first)));
    first = i + 1;
  }
  return parts;
}
std::string without_comments(const std::string& s) {
  std::string kept;
  kept.reserve(s.size());
  for (std::size_t i = 0; i < s.size();) {
    if (s.compare(i, 2, "//") == 0) i = std::min(s.find('\n', i), s.size());
    else if (s.compare(i, 2, "/*") == 0) i = std::min(s.find("*/", i), s.size() - 2) + 2;
    else kept += s[i++];
  }
  return kept;
}
// 12, -3, 0xFF, 0f3F800000, 0d3FF0000000000000
std::uint64_t number(const std::string& s, type as) {
  if (s.size() > 2 && s[0] == '0' && std::tolower(s[1]) == 'd') return std::strtoull(s.c_str() + 2, nullptr, 16);
  if (s.size() > 2 && s[0] == '0' && std::tolower(s[1]) == 'f') {
    const auto bits = static_cast<std::uint32_t>(std::strtoul(s.c_str() + 2, nullptr, 16));
    return as == type::f64 ? std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(bits))) : bits;
  }
  return s[0] == '-' ? static_cast<std::uint64_t>(std::strtoll(s.c_str(), nullptr, 0)) : std::strtoull(s.c_str(), nullptr, 0);
}

struct declared { // .param .align 8 .b8 NAME[48]
  std::string name;
  std::size_t alignment = 1, bytes = 0;
};
declared declaration(const std::string& s) {
  declared d;
  std::size_t count = 1;
  const std::vector<std::string> found = parts_of(s, ' ');
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == ".align") d.alignment = std::strtoull(found[i + 1].c_str(), nullptr, 0);
    if (found[i].empty() || found[i][0] != '.') continue;
    if (const auto t = types.find(std::string_view(found[i]).substr(1)); t != types.end()) d.bytes = size_of(t->second);
  }
  d.name = found.back();
  if (const auto bracket = d.name.find('['); bracket != std::string::npos) {
    count = std::strtoull(d.name.c_str() + bracket + 1, nullptr, 0);
    d.name.resize(bracket);
  }
  d.alignment = std::max(d.alignment, d.bytes);
  d.bytes *= count;
  return d;
}
std::size_t placed(const declared& d, std::size_t& end) {
  const std::size_t first = (end + d.alignment - 1) / d.alignment * d.alignment;
  end = first + d.bytes;
  return first;
}

struct cannot {}; // the emulator does not know this instruction

class kernel_reader {
public:
  kernel_reader(kernel& into, const std::string& parameters) : k_(into) {
    if (!trimmed(parameters).empty())
      for (const std::string& one : parts_of(parameters, ',')) {
        const declared d = declaration(one);
        addresses_[d.name] = placed(d, k_.parameter_bytes);
      }
  }
  void label(const std::string& name) { labels_[name] = k_.code.size(); }
  void statement(const std::string& s) {
    if (s[0] == '.') return directive(s);
    std::string text = s;
    std::replace(text.begin(), text.end(), '\t', ' ');
    instruction i;
    try {
      i = read(text);
      i.run = step_of(i);
    } catch (const cannot&) {
      i = {};
    }
    k_.code.push_back(i);
    k_.text.push_back(text);
  }
  void end() {
    k_.code.emplace_back().op = opcode::ret;
    k_.text.push_back("ret");
    for (const auto& [at, name] : jumps_) {
      const auto found = labels_.find(name);
      if (found == labels_.end()) refuse(k_.name + " has no label " + name);
      k_.code[at].target = static_cast<std::uint32_t>(found->second);
    }
    k_.registers = places_.size();
  }

private:
  void directive(std::string s) {
    std::replace(s.begin(), s.end(), '\t', ' ');
    if (s.starts_with(".shared")) {
      const declared d = declaration(s);
      addresses_[d.name] = placed(d, k_.shared_bytes);
    }
    // Registers need no declaration: each gets its place where it is first named. Instructions that name a variable in local
    // memory are not known.
  }

  instruction read(const std::string& s) {
    instruction i;
    std::size_t at = 0;
    if (s[0] == '@') {
      i.guard_negated = s[1] == '!';
      at = s.find(' ');
      i.guard = place(s.substr(i.guard_negated ? 2 : 1, at - (i.guard_negated ? 2 : 1)));
      at = s.find_first_not_of(' ', at);
    }
    const std::size_t end = std::min(s.find(' ', at), s.size());
    modifiers(i, parts_of(s.substr(at, end - at), '.'));
    const std::string rest = trimmed(s.substr(end));
    if (i.op == opcode::bra) {
      jumps_.emplace_back(k_.code.size(), rest);
      return i;
    }
    operands(i, rest.empty() ? std::vector<std::string>{} : parts_of(rest, ','));
    return i;
  }

  static void modifiers(instruction& i, const std::vector<std::string>& found) {
    const auto op = opcodes.find(found[0]);
    if (op == opcodes.end()) throw cannot{};
    i.op = op->second;
    for (std::size_t n = 1; n < found.size(); ++n)
      if (!modifier(i, found[n])) throw cannot{};
    if (i.op == opcode::bar && i.as == type::b32) throw cannot{}; // bar.red
  }
  static bool modifier(instruction& i, const std::string& word) {
    if (const auto t = types.find(word); t != types.end()) {
      if (i.as == type::none) i.as = t->second;
      else if (i.op != opcode::mma || i.from == type::none) i.from = t->second; // A's, which is B's; C's is D's
      return true;
    }
    if (word == "m16n8k8" || word == "row" || word == "col") return i.op == opcode::mma;
    if (i.op == opcode::setp) {
      if (const auto c = comparisons.find(word); c != comparisons.end()) return i.compares = c->second, true;
      static const words<junction> junctions{
          {"and", junction::conjunction}, {"or", junction::disjunction}, {"xor", junction::parity}};
      if (const auto j = junctions.find(word); j != junctions.end()) return i.joins = j->second, true;
      return false;
    }
    if (const auto s = spaces.find(word); s != spaces.end()) return i.in = s->second, true;
    static const words<half> halves{{"lo", half::low}, {"hi", half::high}, {"wide", half::wide}};
    if (const auto h = halves.find(word); h != halves.end()) return i.part = h->second, true;
    static const words<rounding> roundings{
        {"rni", rounding::nearest}, {"rzi", rounding::zero}, {"rmi", rounding::down}, {"rpi", rounding::up}};
    if (const auto r = roundings.find(word); r != roundings.end()) return i.to = r->second, i.op == opcode::cvt;
    static const words<rounding> directed{{"rz", rounding::zero}, {"rm", rounding::down}, {"rp", rounding::up}};
    if (const auto r = directed.find(word); r != directed.end()) return i.to = r->second, i.op == opcode::fma;
    if (word == "sat") return i.saturates = true, i.op == opcode::cvt || i.op == opcode::fma;
    static const words<exchange> ways{
        {"up", exchange::up}, {"down", exchange::down}, {"bfly", exchange::butterfly}, {"idx", exchange::index}};
    if (const auto w = ways.find(word); w != ways.end()) return i.way = w->second, true;
    static const words<ballot> ballots{{"all", ballot::all}, {"any", ballot::any}, {"ballot", ballot::bits}};
    if (const auto b = ballots.find(word); b != ballots.end()) return i.votes = b->second, true;
    if (word == "v2" || word == "v4") return i.width = word == "v2" ? 2 : 4, true;
    if (word == "approx") return i.is_approximate = true;
    if (word == "ftz") return i.flushes = true, i.op == opcode::ex2 || i.op == opcode::rcp || i.op == opcode::lg2;
    if (word == "shiftamt") return i.counts_shift = true;
    if (word == "to") return i.op == opcode::cvta;
    if (word == "warp") return i.op = opcode::bar_warp, true;
    return without_effect.contains(word);
  }

  void operands(instruction& i, std::vector<std::string> found) {
    if (i.op == opcode::mma) return product(i, found);
    if (i.op == opcode::mov && found.size() == 2 && (found[0][0] == '{' || found[1][0] == '{'))
      i.op = found[0][0] == '{' ? opcode::unpack : opcode::pack;
    if (i.op == opcode::st && found.size() == 2) std::swap(found[0], found[1]); // the address comes last, as in a load
    const bool has_address = (i.op == opcode::ld || i.op == opcode::st || i.op == opcode::unpack) && found.size() == 2;
    if (has_address) {
      const type as = i.op == opcode::unpack ? i.as : type::u64;
      i.address = i.op == opcode::unpack ? one(found[1], as) : address(found[1]);
      found.pop_back();
    }
    std::size_t next = 0;
    for (std::string& s : found) {
      std::vector<std::string> elements{s};
      if (s[0] == '{') {
        elements = parts_of(std::string_view(s).substr(1, s.size() - 2), ',');
        i.width = static_cast<std::uint8_t>(elements.size());
      }
      for (std::string& element : elements) {
        if (next == i.args.size()) throw cannot{};
        if (const auto bar = element.find('|'); bar != std::string::npos) {
          i.also = one(trimmed(element.substr(bar + 1)), type::pred);
          element = trimmed(element.substr(0, bar));
        }
        const bool reads_second = i.op == opcode::cvt && next == 1;
        i.args[next++] = one(element, reads_second ? i.from : i.as);
      }
    }
  }
  void product(instruction& i, const std::vector<std::string>& found) {
    matrices of;
    std::size_t next = 0;
    for (const std::string& s : found) {
      if (s.size() < 2 || s[0] != '{') throw cannot{};
      for (const std::string& element : parts_of(std::string_view(s).substr(1, s.size() - 2), ',')) {
        if (next == of.size()) throw cannot{};
        of[next++] = one(element, type::b32);
      }
    }
    if (next != of.size() || i.as != type::f32 || (i.from != type::f16 && i.from != type::bf16)) throw cannot{};
    i.target = static_cast<std::uint32_t>(k_.products.size());
    k_.products.push_back(of);
  }
  operand address(const std::string& s) { // [%rd1+16], [NAME+4], [NAME]
    if (s[0] != '[') throw cannot{};
    const std::string inner = trimmed(std::string_view(s).substr(1, s.size() - 2));
    const auto plus = inner.find('+');
    operand o = one(trimmed(inner.substr(0, plus)), type::u64);
    if (plus != std::string::npos) o.number += static_cast<std::uint64_t>(std::strtoll(inner.c_str() + plus + 1, nullptr, 0));
    return o;
  }
  operand one(const std::string& s, type as) {
    operand o;
    if (s.empty()) throw cannot{};
    if (s[0] == '!') {
      o = one(trimmed(s.substr(1)), as);
      o.negated = true;
    } else if (const auto special = specials.find(s); special != specials.end()) {
      o.is = operand::kind::special;
      o.place = static_cast<std::int32_t>(special->second);
    } else if (s[0] == '%') {
      o.is = operand::kind::place;
      o.place = place(s);
    } else if (std::isdigit(static_cast<unsigned char>(s[0])) || s[0] == '-') {
      o.is = operand::kind::number;
      o.number = number(s, as);
    } else if (s != "_") {
      o.is = operand::kind::number;
      const auto found = addresses_.find(s);
      if (found != addresses_.end()) o.number = found->second;
      else o.is = operand::kind::place, o.place = place(s); // a register that inline assembly has named
    }
    return o;
  }
  std::int32_t place(const std::string& name) {
    return places_.try_emplace(name, static_cast<std::int32_t>(places_.size())).first->second;
  }

  kernel& k_;
  std::unordered_map<std::string, std::int32_t> places_;
  std::unordered_map<std::string, std::uint64_t> addresses_; // of parameters and of shared variables
  std::unordered_map<std::string, std::size_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;
};

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }

// Reads the body of a kernel, from behind its '{', and returns the position behind its '}'.
std::size_t read_body(kernel_reader& to, const std::string& s, std::size_t at) {
  for (int depth = 1; depth > 0;) {
    at = s.find_first_not_of(" \t\r\n;", at);
    if (at == std::string::npos) refuse("a kernel has no end");
    if (s[at] == '{' || s[at] == '}') {
      depth += s[at++] == '{' ? 1 : -1;
      continue;
    }
    std::size_t end = at;
    while (end < s.size() && is_of_name(s[end])) ++end;
    if (end > at && end < s.size() && s[end] == ':') {
      to.label(s.substr(at, end - at));
      at = end + 1;
      continue;
    }
    end = std::min(s.find(';', at), s.size());
    to.statement(trimmed(std::string_view(s).substr(at, end - at)));
    at = end;
  }
  return at;
}

} // namespace

void read_ptx(kernels& into, const std::string& text) {
  const std::string s = without_comments(text);
  std::size_t at = 0;
  while ((at = s.find(".entry", at)) != std::string::npos) {
    const std::size_t opens = s.find('(', at), closes = s.find(')', opens), begins = s.find('{', closes);
    if (begins == std::string::npos) refuse("a kernel has no body");
    kernel k;
    k.name = trimmed(std::string_view(s).substr(at + 6, opens - at - 6));
    std::string parameters = s.substr(opens + 1, closes - opens - 1);
    std::replace(parameters.begin(), parameters.end(), '\t', ' ');
    const std::string between = s.substr(closes, begins - closes);
    if (const auto most = between.find(".maxntid"); most != std::string::npos)
      k.most_threads = std::strtoull(between.c_str() + most + 8, nullptr, 10);
    kernel_reader reader(k, parameters);
    at = read_body(reader, s, begins + 1);
    reader.end();
    into.insert_or_assign(k.name, std::move(k));
  }
}

} // namespace emulator
