#include "emit/cuda/arch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tmemsim::emit {
namespace {

constexpr int lowest_capability = 75;

// The lowest compute capability that has it; tensor memory aside, a GPU has what its predecessors had.
int first_capability(Needs needs) {
  switch (needs) {
    case Needs::nothing:
      return lowest_capability;
    case Needs::sm_80:
    case Needs::mbarrier:
      return 80;
    default:
      return 90;
  }
}

bool is_tensor_memory(Needs needs) { return needs >= Needs::tcgen05; }

Arch arch_of(Target target) { return arch_named(tmemsim::name(target)).value(); }

}  // namespace

std::optional<Arch> arch_named(std::string_view name) {
  if (!name.starts_with("sm_")) return std::nullopt;
  name.remove_prefix(3);
  Arch arch;
  const char* const end = name.data() + name.size();
  const auto [rest, wrong] = std::from_chars(name.data(), end, arch.capability);
  if (wrong != std::errc() || arch.capability < lowest_capability || arch.capability > 999) return std::nullopt;
  if (rest != end) {
    arch.feature = *rest;
    if (rest + 1 != end || (arch.feature != 'a' && arch.feature != 'f')) return std::nullopt;
  }
  return arch;
}

std::string name(Arch arch) {
  std::string text = fmt::format("sm_{}", arch.capability);
  if (arch.feature != 0) text += arch.feature;
  return text;
}

// The short -arch=sm_100a would also build for plain compute_100, which has no tcgen05.
std::string nvcc_flags(Arch arch) {
  return fmt::format("-std=c++17 -gencode arch=compute_{0},code=sm_{0}", name(arch).substr(3));
}

Facilities::Facilities(const Kernel& kernel, const Options& options)
    : kernel_(kernel), backend_(options.backend), arch_(options.backend == Backend::host ? std::nullopt : options.arch) {}

bool Facilities::emulates(Needs needs) const {
  return backend_ != Backend::native && (is_tensor_memory(needs) || needs == Needs::elect);
}

std::optional<std::string> Facilities::why_not_here(Needs needs) const {
  if (emulates(needs)) return std::nullopt;
  if (!arch_) return why_not(needs, kernel_.target, kernel_.ptx);
  if (is_tensor_memory(needs)) {
    if (const auto target = target_named(name(*arch_))) return why_not(needs, *target, std::max(kernel_.ptx, first_ptx(*target)));
    return fmt::format("tensor memory needs sm_100a or another architecture that has it; the program is for {}", name(*arch_));
  }
  const int first = first_capability(needs);
  if (arch_->capability >= first) return std::nullopt;
  return fmt::format("this needs sm_{} or later; the program is for {}", first, name(*arch_));
}

std::optional<std::string> Facilities::use(Needs needs) {
  if (auto missing = why_not_here(needs)) return missing;
  if (emulates(needs) || backend_ == Backend::host) return std::nullopt;
  if (is_tensor_memory(needs)) {
    least_ = arch_.value_or(arch_of(kernel_.target));
  } else if (const int first = first_capability(needs); first > least_.capability) {
    least_ = {first, 0};
  }
  return std::nullopt;
}

}  // namespace tmemsim::emit
