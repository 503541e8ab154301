#include "ir/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/diagnostic.hpp"

namespace tmemsim {

std::string_view name(Severity severity) {
  constexpr std::array<std::string_view, 4> names{"none", "note", "warning", "error"};
  return names[static_cast<std::size_t>(severity)];
}

const std::array<SwitchFacts, switch_count>& switch_table() {
  static const std::array<SwitchFacts, switch_count> table{{
      {Switch::tensor_issue_order, "tensor-issue-order", {"off", "on"}, "off", "on",
       "mma, cp and shift of one thread and one cta_group execute in issue order"},
      {Switch::fence_at_acquire, "fence-at-acquire", {"off", "on"}, "off", "off",
       "tcgen05 fences are demanded over release/acquire edges too"},
      {Switch::fence_at_barrier, "fence-at-barrier", {"off", "N", "W", "E"}, "E", "W",
       "tcgen05 fences are demanded around plain thread barriers"},
      {Switch::reg_before_wait, "reg-before-wait", {"off", "N", "W", "E"}, "E", "N",
       "reading a register of a load before wait::ld"},
      {Switch::quadrant_bits, "quadrant-bits", {"ignored-when-0", "checked"}, "checked", "ignored-when-0",
       "address bits 22:21 of ld and st must name the warp's own quadrant"},
      {Switch::unpack_high_half, "unpack-high-half", {"zero", "undefined"}, "undefined", "zero",
       "what st.unpack::16b leaves in the upper halves of its cells"},
      {Switch::observe_each_phase, "observe-each-phase", {"off", "N", "W", "E"}, "E", "N",
       "a phase of an mbarrier must be observed before anybody arrives on the next one"},
      {Switch::proxy_fence_war, "proxy-fence-war", {"off", "on"}, "off", "off",
       "reusing shared memory after an observed mma or cp needs fence.proxy.async"},
      {Switch::consumed_load, "consumed-load", {"off", "W"}, "off", "W",
       "a load whose registers were all read before the signal is only a warning"},
      {Switch::scope_check, "scope-check", {"off", "N", "W", "E"}, "W", "off",
       "a release or acquire of cta scope between CTAs of a cluster"},
      {Switch::alloc_growth, "alloc-growth", {"off", "N", "W", "E"}, "E", "W",
       "an allocation larger than an earlier one of the same CTA"},
      {Switch::permit_held, "permit-held", {"off", "N", "W", "E"}, "W", "N",
       "a CTA keeps its permit to the end while a neighbour on the SM allocates"},
      {Switch::permit_blocks, "permit-blocks", {"off", "on"}, "off", "off",
       "alloc of a second CTA waits until the first one relinquished or exited"},
  }};
  return table;
}

namespace {
Severity severity_of(std::string_view value) {
  if (value == "E") return Severity::error;
  if (value == "W") return Severity::warning;
  if (value == "N") return Severity::note;
  return Severity::none;
}
}  // namespace

Profile Profile::strict() {
  Profile profile;
  for (const SwitchFacts& facts : switch_table()) profile.values_[static_cast<std::size_t>(facts.which)] = facts.strict;
  return profile;
}

Profile Profile::lenient() {
  Profile profile;
  profile.strict_ = false;
  for (const SwitchFacts& facts : switch_table()) profile.values_[static_cast<std::size_t>(facts.which)] = facts.lenient;
  return profile;
}

std::optional<Profile> Profile::named(std::string_view name) {
  if (name == "strict") return strict();
  if (name == "lenient") return lenient();
  return std::nullopt;
}

Severity Profile::severity(Switch which) const { return severity_of(value(which)); }

void Profile::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view wanted = assignment.substr(0, equals);
  std::vector<std::string_view> known;
  for (const SwitchFacts& facts : switch_table()) {
    known.push_back(facts.name);
    if (facts.name != wanted) continue;
    const std::string_view value = equals == std::string_view::npos ? std::string_view{} : assignment.substr(equals + 1);
    for (std::string_view allowed : facts.values) {
      if (allowed == value) {
        values_[static_cast<std::size_t>(facts.which)] = allowed;
        return;
      }
    }
    throw InputError(fmt::format("switch {} has no value '{}'", wanted, value), fmt::format("one of {}", fmt::join(facts.values, ", ")));
  }
  const std::string near = closest(wanted, known);
  throw InputError(fmt::format("there is no switch '{}'", wanted),
                   near.empty() ? fmt::format("switches: {}", fmt::join(known, ", ")) : fmt::format("did you mean {}?", near));
}

}  // namespace tmemsim
