// What makes an atom's contract right: the shape rules, and the instruction itself on indexed inputs.
#pragma once

#include <string>
#include <vector>

#include "ir/atom/atom.hpp"

namespace tmemsim::atom {

struct Problem {
  std::string rule;     // form, threads, tile, registers, coverage, reference, state, ground truth
  std::string operand;  // "" where none applies
  std::string text;
};

// Rank-2 top level; the same thread count everywhere; |thread| * |value| against the tile, its declared replication and the
// register bits; every element exactly as often as declared; the reference side of a copy is one of its sides; state fields
// named once. Asked of every row when the table is built in debug builds.
std::vector<Problem> check_structure(const Payload& payload);

// Executes the per-lane definition on tagged inputs that are handed out through the layouts, and compares what comes back
// through them. Empty also when the atom has no definition ("ground truth: none").
std::vector<Problem> check_against_instruction(const Payload& payload);

// Both. What the structure breaks is not executed.
std::vector<Problem> verify(const Payload& payload);

}  // namespace tmemsim::atom
