// Memory at the end of a run, as the simulator leaves it: raw bytes, cells and registers, each with "was it written".
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ir/buffer.hpp"

namespace tmemsim {

struct Bytes {
  std::vector<std::uint8_t> data;
  std::vector<std::uint8_t> written;   // one a byte: 0 or 1
};

struct Cells {                         // one SM; index column * 128 + lane
  std::vector<std::uint32_t> value;    // 512 * 128, or empty when the SM's tensor memory was never touched
  std::vector<std::uint8_t> written;   // bit 0: low half, bit 1: high half
};

struct RegisterRow {
  std::array<std::uint32_t, 32> value{};
  std::uint32_t written = 0;           // mask of lanes
};

struct CtaImage {
  std::uint32_t sm = 0;
  Bytes shared;                                     // the whole window; buffers stand at Buffer::offset
  std::vector<std::vector<RegisterRow>> registers;  // [warp][row]; buffers start at Program::first_row
};

struct Image {
  std::vector<Bytes> global;           // by BufferId; empty for buffers of other spaces
  std::vector<CtaImage> ctas;          // by index in the grid
  std::vector<Cells> sms;
};

}  // namespace tmemsim
