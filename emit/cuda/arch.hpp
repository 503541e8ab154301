// What the program being written may use, and what it has used.
#pragma once

#include <optional>
#include <string>

#include "emit/emit.hpp"
#include "ir/target.hpp"

namespace tmemsim::emit {

class Facilities {
 public:
  Facilities(const Kernel& kernel, const Options& options);

  // Notes that the program uses it. A sentence when what it is compiled for lacks it.
  std::optional<std::string> use(Needs needs);
  // Whether it could be used; notes nothing.
  bool has(Needs needs) const { return !why_not_here(needs); }
  Arch least() const { return least_; }

 private:
  bool emulates(Needs needs) const;
  std::optional<std::string> why_not_here(Needs needs) const;

  const Kernel& kernel_;
  Backend backend_;
  std::optional<Arch> arch_;
  Arch least_{75, 0};
};

}  // namespace tmemsim::emit
