// From the log of issues, warp by warp, to whole instances in an order that every warp agrees with.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ir/issued.hpp"
#include "ir/kernel/kernel.hpp"

namespace tmemsim::reference {

// One instance of a statement in one CTA: all warps that issued it.
struct Instance {
  const Stmt* stmt = nullptr;
  std::map<std::string, std::int64_t> loop;
  std::uint32_t cta = 0;
  bool complete = false;                          // every thread that the statement names has issued it
  std::map<std::uint32_t, std::uint32_t> lanes;   // by warp: lanes that issued it
};

// The statement's own `where` narrowed by everything around it.
using WhereOf = std::map<const Stmt*, Where>;
WhereOf narrowed_everywhere(const Kernel& kernel);

// Machine instructions are instances of their own warp unless they carry `means`. The order keeps the order in which each warp
// issued; among instances that no warp orders, the one that was completed first comes first. Two warps whose orders
// contradict each other (impossible in structured code) fall back to the order of completion.
std::vector<Instance> instances_in_order(const Kernel& kernel, const WhereOf& where, std::span<const Issued> issued);

}  // namespace tmemsim::reference
