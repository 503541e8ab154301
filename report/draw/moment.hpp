// One moment of a run as a picture: tensor memory and the registers of a warp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tmemsim::report {

enum class WordState : std::uint8_t { unallocated, never_written, valid, read_in_flight, write_in_flight, both_in_flight };

// A grid of 32-bit words. Lanes or threads go down, columns or register rows go across.
struct Plane {
  struct Band {                         // a buffer above the columns that it takes; both included
    std::int64_t first = 0, last = 0;
    std::string name;
  };
  struct Mark {                         // what the last event reads or writes; all included
    bool write = false;
    std::int64_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
  };
  std::string title, row_name;
  std::int64_t rows = 0;
  std::int64_t first_column = 0, columns = 0;
  std::vector<WordState> words;         // row-major: row * columns + (column - first_column)
  std::vector<Band> bands;
  std::vector<Mark> marks;
};

struct Moment {
  std::string title, subtitle;
  Plane tmem, registers;                // a plane without columns is left out
};

// A standalone SVG document, readable on light and on dark pages.
std::string svg(const Moment& moment);

}  // namespace tmemsim::report
