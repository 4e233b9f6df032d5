// SPDX-License-Identifier: MIT
// safetensors: every tensor can be read or says why not, and what is written again is read as the same.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <cairn/data/safetensors.hpp>

#include "fuzz.hpp"

using namespace cairn;

namespace {

// The bytes of a tensor, if T is the type of its elements.
template <class T>
std::optional<std::vector<std::byte>> bytes_of(files::safetensors_file& file, const files::safetensors_entry& e) {
  const std::size_t bytes = static_cast<std::size_t>(e.end - e.begin);
  std::vector<T> elements(bytes / sizeof(T));
  const bool is_read = fuzzing::reads(file.path(), [&] { file.read(e, std::span<T>(elements)); });
  if (e.type != detail::safetensors_type_of<T>) return std::nullopt;
  fuzzing::require(is_read, "elements are read as what they are");
  std::vector<std::byte> out(bytes);
  if (bytes > 0) std::memcpy(out.data(), elements.data(), bytes);
  return out;
}

} // namespace

void fuzzing::look_at(const std::string& path, std::span<const std::uint8_t>) {
  std::optional<files::safetensors_file> file;
  if (!reads(path, [&] { file.emplace(path); })) return;
  std::map<std::string, std::vector<std::byte>> contents;
  for (const files::safetensors_entry& e : file->entries()) {
    require(file->find(e.name) == &e, "a tensor is found by its name");
    auto bytes = bytes_of<float>(*file, e);
    if (auto wide = bytes_of<double>(*file, e)) bytes = std::move(wide);
    if (auto whole = bytes_of<std::int32_t>(*file, e)) bytes = std::move(whole);
    if (!bytes) return; // of another type: nothing is compared
    contents[e.name] = std::move(*bytes);
  }
  std::vector<files::safetensors_source> sources;
  for (const files::safetensors_entry& e : file->entries()) sources.push_back({e.name, e.type, e.extents, contents[e.name]});
  files::write_safetensors(scratch_path(), sources, file->metadata());

  files::safetensors_file again(scratch_path());
  require(again.metadata() == file->metadata(), "the metadata come back");
  require(again.entries().size() == file->entries().size(), "all tensors come back");
  for (const files::safetensors_entry& e : file->entries()) {
    const files::safetensors_entry* const found = again.find(e.name);
    require(found != nullptr && found->type == e.type && found->extents == e.extents, "type and shape come back");
    auto bytes = e.type == "F32"   ? bytes_of<float>(again, *found)
                 : e.type == "F64" ? bytes_of<double>(again, *found)
                                   : bytes_of<std::int32_t>(again, *found);
    require(bytes == contents[e.name], "the bytes come back");
  }
}

void fuzzing::write_seeds(const std::string& folder) {
  const std::vector<std::byte> bytes(48, std::byte{0x3f});
  const auto first = [&](std::size_t count) { return std::span<const std::byte>(bytes).first(count); };
  files::write_safetensors(folder + "weights", {{"0.weight", "F32", {2, 3}, first(24)}, {"0.bias", "F32", {2}, first(8)}},
                           {{"format", "pt"}});
  files::write_safetensors(folder + "types", {{"a", "F64", {2}, first(16)},
                                              {"b", "I32", {}, first(4)},
                                              {"c", "BF16", {3}, first(6)},
                                              {"d", "F16", {2}, first(4)},
                                              {"e", "BOOL", {1}, first(1)},
                                              {"f", "F4", {2}, first(1)}});
  files::write_safetensors(folder + "empty", {});
  files::write_safetensors(folder + "nothing", {{"none", "F32", {3, 0}, {}}});
  const auto file = [](const std::string& header, std::size_t data) {
    return static_cast<char>(header.size()) + std::string(7, '\0') + header + std::string(data, 'x');
  };
  write_seed(folder + "escapes", file(R"({"\u00e9\n":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  write_seed(folder + "hole", file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8));
  write_seed(folder + "deep", file(R"({"a":{"dtype":"F32","shape":[[[[1]]]],"data_offsets":[0,4]}})", 4));
}
