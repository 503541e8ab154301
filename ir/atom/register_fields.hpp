// Where the registers of tcgen05.ld and st stand in tensor memory, from the atom's layout.
#pragma once

#include <vector>

#include "ir/atom/atom.hpp"
#include "ir/atom/flat_map.hpp"

namespace tmemsim::atom {

struct RegisterField {
  int thread, reg, lane, column;  // lane and column relative to the address
  int bit_lo, bits;               // the field in the register
  int col_bit;                    // its first bit in the 32-bit cell
};

// One a 32-bit register; two of 16 bits with pack/unpack::16b. `payload` is one of tcgen05.ld or st.
std::vector<RegisterField> register_fields(const Payload& payload);

}  // namespace tmemsim::atom
