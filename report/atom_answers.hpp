// What `tmemsim atom` answers: the list of atoms, who holds what in one of them, and whether its contract is right.
#pragma once

#include <string>
#include <vector>

#include "ir/atom/atom.hpp"
#include "report/draw/grid.hpp"

namespace tmemsim::report {

// One line an atom: name, kind, target, threads, where its ground truth comes from. `family`: "" lists all. Ends with the
// public atoms that are refused. InputError for an unknown family.
std::string atom_list(const std::string& family);

// The contract in words: threads, operands, state, note. InputError for a name that no row allows, with the reason.
std::string atom_text(const std::string& name);

// Rows for machines. tcgen05.ld and st without operand: thread,reg,lane,column,bit_lo,bits,col_bit, one row a 32-bit register,
// two with pack/unpack::16b; lane and column are relative to the address. Otherwise thread,value,row,col of one operand (the
// first in registers unless named): of a matrix atom (m,k), (n,k) or (m,n); of a copy the value is a bit of the thread, row
// and col are the row of the image and the bit in it.
std::string atom_csv(const std::string& name, const std::string& operand);

// The tile of an operand, each element with the thread and value that hold it. At most 65536 elements.
Grid atom_picture(const std::string& name, const std::string& operand);

struct AtomVerdicts {
  std::string text;
  bool all_right = true;
};
// Structure and ground truth of the named atoms, or of all.
AtomVerdicts atom_verify(const std::vector<std::string>& names);

}  // namespace tmemsim::report
