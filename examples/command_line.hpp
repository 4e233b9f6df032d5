// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/comm/launch/launch.hpp>

// The command line of an example: `--name value` for each option. A wrong option ends the program with a message; one of
// several processes adds its rank to it.
class command_line {
public:
  command_line(std::string program, std::string purpose) : program_(std::move(program)), purpose_(std::move(purpose)) {}

  command_line& add(std::string name, std::string& value, std::string meaning) {
    return add(std::move(name), value, std::move(meaning), [&value](std::string_view text) {
      value = text;
      return true;
    });
  }
  template <class Number>
  command_line& add(std::string name, Number& value, std::string meaning) {
    return add(std::move(name), std::to_string(value), std::move(meaning), [&value](std::string_view text) {
      const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
      return fault == std::errc{} && end == text.data() + text.size();
    });
  }

  void parse(int count, char** words) const {
    for (int i = 1; i < count; ++i) {
      const std::string_view whole = words[i];
      const std::size_t sign = whole.find('='); // --name=value is --name value
      const std::string_view word = whole.substr(0, sign);
      if (word == "--help" || word == "-h") help();
      const option* found = nullptr;
      for (const option& o : options_)
        if (word == "--" + o.name) found = &o;
      if (found == nullptr) fail(std::string(word) + " is no option; --help lists them");
      if (sign == word.npos && i + 1 == count) fail(std::string(word) + " needs a value: " + found->meaning);
      const std::string_view value = sign == word.npos ? words[++i] : whole.substr(sign + 1);
      if (!found->read(value)) fail(std::string(word) + " cannot be " + std::string(value) + ": " + found->meaning);
    }
  }

  [[noreturn]] void fail(const std::string& text) const {
    say(text);
    std::exit(2);
  }

  // Prints an exception's text for the user; returns the exit status of the program that it has ended.
  int failed(const std::exception& fault) const {
    say(fault.what());
    return 1;
  }

private:
  void say(const std::string& text) const {
    std::string speaker;
    try {
      speaker = cairn::launch::of_process(0, nullptr).speaker();
    } catch (const cairn::error&) { // launchers that contradict each other: the text says so
    }
    if (text.find(speaker.substr(0, speaker.find(':'))) != text.npos) speaker.clear(); // the text says it already
    std::fprintf(stderr, "%s: %s%s\n", program_.c_str(), speaker.c_str(), text.c_str());
  }

  struct option {
    std::string name, initial, meaning;
    std::function<bool(std::string_view)> read;
  };

  command_line& add(std::string name, std::string initial, std::string meaning, std::function<bool(std::string_view)> read) {
    options_.push_back({std::move(name), std::move(initial), std::move(meaning), std::move(read)});
    return *this;
  }

  [[noreturn]] void help() const {
    std::printf("%s: %s\n\n", program_.c_str(), purpose_.c_str());
    for (const option& o : options_)
      std::printf("  --%-12s %s%s\n", o.name.c_str(), o.meaning.c_str(),
                  o.initial.empty() ? "" : (" [" + o.initial + "]").c_str());
    std::exit(0);
  }

  std::string program_, purpose_;
  std::vector<option> options_;
};
