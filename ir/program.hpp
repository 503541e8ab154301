// The flat form that runs: one step an instruction, branches instead of bodies. Made by decode(); one to one with the kernel's
// statements, so that what the simulator runs and what the emitter prints are the same instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/kernel/kernel.hpp"

namespace tmemsim {

struct Step {
  enum class Kind : std::uint8_t {
    op,             // stmt holds a machine instruction
    tile_begin,     // stmt holds Lowered; the machine instructions of the primitive follow
    tile_end,
    delay,          // stmt holds Delay
    branch_unless,  // stmt holds If or While: threads for which the condition is 0 go to `target`
    jump,           // to `target`
    loop_enter,     // stmt holds For: loop slot := begin; threads with nothing to do go to `target`
    loop_next,      // loop slot += step; threads that are not done go to `target`
    end,            // the thread exits
  };
  Kind kind = Kind::end;
  const Stmt* stmt = nullptr;      // in Program::kernel
  // Of the statement, narrowed by everything around it. Threads that it leaves out go to the next step, or, at branch_unless
  // and loop_enter, to `after`: so nobody else is inside a loop or an `if`, and what stands in one that is run by an elected
  // lane is narrowed by its lanes and warps only.
  Where where;
  std::uint32_t target = 0;        // branches: index of the next step
  std::uint32_t after = 0;         // branch_unless, loop_enter: the step behind the whole statement
  std::uint16_t loop = 0;          // loop_enter, loop_next: loop slot
  std::vector<std::uint16_t> loops_around;  // slots of the loops around the statement, outermost first
};

struct LoopSlot {
  std::string variable;
};

struct Program {
  std::shared_ptr<const Kernel> kernel;
  std::vector<Step> steps;                       // the last one is `end`
  std::vector<LoopSlot> loops;
  std::vector<std::uint16_t> first_row;          // by BufferId: first register row of a local buffer
  std::uint16_t rows_per_warp = 0;
};

// The kernel must be verified at Level::machine. Bounded: InputError when it needs more than 4096 register rows a thread.
Program decode(std::shared_ptr<const Kernel> kernel);

// The statement tree that the steps stand for (to test that decoding loses nothing).
Body rebuild(const Program& program);

}  // namespace tmemsim
