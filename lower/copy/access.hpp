// The widest access whose contiguity and alignment are proved on both sides.
//
// Positions and strides are in bits. Side a is the registers of a thread, or the first of two memories; side b is memory.
// A register access is contiguous within each 32-bit register; which registers an access of 8 or 16 bytes fills is free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tmemsim::lower {

struct StepDigit {
  std::int64_t extent = 1;
  std::int64_t a = 0, b = 0;       // strides in bits
};

// What the access must be aligned for, beside the digits that are walked.
struct Surroundings {
  bool a_is_registers = true;
  std::int64_t a_offset = 0, b_offset = 0;     // constant part of the address
  std::vector<std::int64_t> a_strides, b_strides;  // of thread terms, replicas, moving bounds
  std::int64_t a_cap = 0, b_cap = 0;           // widest access that a swizzle leaves in one piece; 0: no swizzle
};

struct Access {
  std::int64_t bytes = 0;          // 16, 8, 4, 2 or 1; 0: not even one byte
  std::vector<std::int64_t> words; // a-side position of each 32-bit word of the access, relative to its start
  std::vector<StepDigit> steps;    // digits of the accesses: extent product = number of accesses
  std::vector<std::string> stopped;  // "16 bytes: ...", for each wider access than the one chosen
};

// Digits that continue each other on both sides become one. Elements of `bits` bits; accesses of at most `most_bytes`.
Access widest_access(std::vector<StepDigit> digits, std::int64_t bits, const Surroundings& around, std::int64_t most_bytes = 16);

struct Position {
  std::int64_t a = 0, b = 0;
};
// All positions that the digits reach, by rising a.
std::vector<Position> positions(const std::vector<StepDigit>& digits);

// Whether two elements of `bits` bits that the strides tell apart lie on each other. Reason when they do, or when there are too
// many to tell.
struct Stretch {
  std::int64_t extent = 1, stride = 0;   // in bits
};
std::optional<std::string> overlap(std::vector<Stretch> stretches, std::int64_t bits);

}  // namespace tmemsim::lower
