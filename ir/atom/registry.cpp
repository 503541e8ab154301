#include "ir/atom/registry.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "ir/atom/families.hpp"
#include "ir/atom/verify.hpp"
#include "ir/diagnostic.hpp"

namespace tmemsim::atom {
namespace {

void need_structure([[maybe_unused]] const Payload& payload) {
#ifndef NDEBUG
  const auto problems = check_structure(payload);
  if (!problems.empty())
    throw std::logic_error(fmt::format("the row of {} is wrong: {} {}: {}", payload.name, problems[0].operand, problems[0].rule,
                                       problems[0].text));
#endif
}

std::vector<PayloadRef> made() {
  std::vector<PayloadRef> atoms;
  for (const Family& family : families()) {
    for (Payload& payload : family.rows()) {
      need_structure(payload);
      atoms.push_back(std::make_shared<const Payload>(std::move(payload)));
    }
  }
  return atoms;
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> list;
    for (auto* add : {ptx_copy_families, ptx_mma_families, ptx_tcgen05_families, ptx_tcgen05_mma_families, rocdl_mma_families, rocdl_copy_families}) {
      for (Family& family : add()) list.push_back(std::move(family));
    }
    return list;
  }();
  return all;
}

std::vector<PayloadRef> all_atoms() {
  static const std::vector<PayloadRef> atoms = made();
  return atoms;
}

Result<PayloadRef> atom_named(std::string_view name) {
  for (const Family& family : families()) {
    auto found = family.find(name);
    if (!found) continue;
    if (!*found) return found->reason();
    return PayloadRef(std::make_shared<const Payload>(**std::move(found)));
  }
  std::vector<std::string_view> names;
  const std::vector<PayloadRef> atoms = all_atoms();
  for (const PayloadRef& atom : atoms) names.push_back(atom->name);
  const std::string near = closest(name, names);
  return Reason{
      fmt::format("there is no atom '{}'{}", name, near.empty() ? "" : fmt::format("; did you mean {}?", near)), {}, {}, {}};
}

}  // namespace tmemsim::atom
