// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

// The numbers that make.py wrote, by name.
inline const std::vector<double>& reference_values(const std::string& name) {
  static const std::map<std::string, std::vector<double>> all = [] {
    std::map<std::string, std::vector<double>> read;
    std::ifstream file(CAIRN_TEST_DATA_DIR "/values.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string key, equals;
      words >> key >> equals;
      if (equals != "=") continue;
      for (double number = 0; words >> number;) read[key].push_back(number);
    }
    return read;
  }();
  const auto found = all.find(name);
  if (found == all.end()) throw std::runtime_error("tests/reference/values.txt has no " + name);
  return found->second;
}

// The same numbers rounded to T: every number that a test starts from is a float.
template <class T>
std::vector<T> reference_numbers(const std::string& name) {
  const std::vector<double>& values = reference_values(name);
  std::vector<T> result;
  for (const double value : values) result.push_back(static_cast<T>(value));
  return result;
}
