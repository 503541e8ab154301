// The registers of one warp: rows of 32 words, one a lane, and what is known of each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tmemsim::sim {

inline constexpr std::uint32_t register_poison = 0xbad1bad1u;

struct RowState {
  std::uint32_t written = 0;         // lanes that hold a defined value in all four bytes
  std::array<std::uint32_t, 4> byte_written{};  // the same byte by byte: narrow loads fill a register in pieces
  std::uint32_t bad = 0;             // lanes about whose value a finding has been made
  std::uint32_t pending = 0;         // number of the last tcgen05.ld into the row (agent ld of the warp); 0: none
  std::uint32_t pending_record = 0;  // its access record
  std::uint32_t unread = 0;          // lanes that have not read what it loads
  std::uint32_t undefined_since = 0; // origin of the undefined lanes (Machine::origins); 0: never written
};

class RegisterFile {
 public:
  explicit RegisterFile(std::size_t rows) : words_(rows * 32, register_poison), state_(rows) {}
  std::size_t rows() const { return state_.size(); }
  std::uint32_t* row(std::size_t index) { return words_.data() + index * 32; }
  const std::uint32_t* row(std::size_t index) const { return words_.data() + index * 32; }
  RowState& state(std::size_t index) { return state_[index]; }
  const RowState& state(std::size_t index) const { return state_[index]; }

 private:
  std::vector<std::uint32_t> words_;
  std::vector<RowState> state_;
};

}  // namespace tmemsim::sim
