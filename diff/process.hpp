// Starts programs without a shell: an argument is an argument, whatever characters it has.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tmemsim::diff {

struct Command {
  std::vector<std::string> words;   // words[0] is the path of the program; PATH is not searched
  std::filesystem::path folder;     // where it runs; empty: here
  std::chrono::milliseconds limit{60'000};  // it is ended when it has made no progress for that long
};

struct Ended {
  enum class How : std::uint8_t { exited, signalled, timed_out, not_started };
  How how = How::exited;
  int code = 0;        // of the exit, or the signal
  std::string output;  // standard output and error together, the last 64 KiB

  bool ok() const { return how == How::exited && code == 0; }
};

// Called with each whole line of output, without its end; true: this is progress, and the limit starts anew.
using OnLine = std::function<bool(std::string_view)>;

// Runs a program to its end. It gets no standard input, and a process group of its own, which is ended with it when it takes
// too long. It does not outlive the thread that called.
Ended run(const Command& command, const OnLine& on_line = {});

// "exit status 3", "ended by signal 11 (Segmentation fault)", "no end after 20 s", "could not be started: ...".
std::string describe(const Ended& ended, const Command& command);

// The program of that name in PATH, or the path itself when it has a '/'.
std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace tmemsim::diff
