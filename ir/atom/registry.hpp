// All atoms: the families' tables, and the atom that a name stands for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/atom/atom.hpp"

namespace tmemsim::atom {

// A family: the rows that are listed, and the row of any legal name. `find` answers nothing for names of other families, and a
// Reason for names of its own that no row allows.
struct Family {
  std::string name;
  std::string meaning;
  std::vector<Payload> (*rows)();
  std::optional<Result<Payload>> (*find)(std::string_view name);
};

const std::vector<Family>& families();

// Every listed atom, in the order of the families. In debug builds each row passes check_structure here.
std::vector<PayloadRef> all_atoms();

// By name, as the list prints it or in the notation of FlyDSL: !fly_rocdl.cdna3.mfma<16x16x16, (f16, f16) -> f32>.
// Reason: refused, with the rule that is broken, or unknown, with the nearest name.
Result<PayloadRef> atom_named(std::string_view name);

}  // namespace tmemsim::atom
