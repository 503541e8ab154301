// Register memories as values, through loops and branches: calls in memory form become calls in value form, and what they load
// from and store to register memory travels as values that loops carry and branches yield.
//
// A memory becomes a value when its layout allows it (not_promotable); the others stay memories, and nothing that is stored to
// them is lost. Source: the atom dialect of FlyDSL.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "lower/atom/call.hpp"

namespace tmemsim::lower {

struct AtomStmt;
using AtomBody = std::vector<AtomStmt>;

struct AtomCallStmt {
  AtomCall call;                      // in memory form
  std::vector<std::string> memories;  // by operand: the name of the memory
};
struct AtomLoop {
  std::string count;  // the name of a number
  AtomBody body;
};
struct AtomBranch {
  std::string condition;
  AtomBody then, otherwise;
};
struct AtomStmt {
  std::variant<AtomCallStmt, AtomLoop, AtomBranch> node;
};

// One operation of the result. Names: %value, @memory.
//   undefined -> %v                               a memory before its first store
//   scf.for count, %initial.. -> %result..        bodies[0], whose `arguments` are carried; its last operation is scf.yield
//   scf.if condition -> %result..                 bodies[0] and [1], each with an scf.yield
//   everything else as in AtomOp
struct ValueOp {
  std::string name;
  std::vector<std::string> operands, results, arguments;
  std::string types;
  std::vector<std::vector<ValueOp>> bodies;
};
std::string to_string(const std::vector<ValueOp>& ops);

// Reason: a call in value form, a number of names other than that of the operands, or one memory with two types.
Result<std::vector<ValueOp>> promote(const AtomBody& body);

}  // namespace tmemsim::lower
