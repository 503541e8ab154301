#include "lower/dispatch.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/variants.hpp"

namespace tmemsim::lower {
namespace {

std::string_view operation_of(const TileOps::Any& primitive) {
  return std::visit([](const auto& op) { return std::remove_cvref_t<decltype(op)>::row.name; }, primitive);
}
const std::optional<std::string>& forced_variant(const TileOps::Any& primitive) {
  return std::visit([](const auto& op) -> const std::optional<std::string>& { return op.variant; }, primitive);
}

std::vector<const Variant*> candidates(const Request& request) {
  std::vector<const Variant*> result;
  for (const Variant& variant : registry()) {
    if (variant.operation == operation_of(request.primitive())) result.push_back(&variant);
  }
  const auto& forced = forced_variant(request.primitive());
  if (!forced) return result;
  std::vector<std::string_view> names;
  for (const Variant* variant : result) names.push_back(variant->name);
  std::erase_if(result, [&](const Variant* variant) { return variant->name != *forced; });
  if (result.empty()) {
    const std::string nearest = closest(*forced, names);
    const std::string hint = nearest.empty() ? fmt::format("the variants of {} are: {}", operation_of(request.primitive()), fmt::join(names, ", "))
                                             : fmt::format("did you mean {}?", nearest);
    input_error(request.kernel.files, request.stmt.at, fmt::format("no variant of {} is named '{}'", operation_of(request.primitive()), *forced), hint);
  }
  return result;
}

std::string table_of(const std::vector<Refusal>& refusals) {
  std::size_t variant_width = std::string_view("variant").size(), predicate_width = std::string_view("predicate").size();
  for (const Refusal& refusal : refusals) {
    variant_width = std::max(variant_width, refusal.variant.size());
    predicate_width = std::max(predicate_width, refusal.predicate.size());
  }
  std::string text = fmt::format("  {:<{}}  {:<{}}  reason\n", "variant", variant_width, "predicate", predicate_width);
  for (const Refusal& refusal : refusals) {
    text += fmt::format("  {:<{}}  {:<{}}  {}\n", refusal.variant, variant_width, refusal.predicate, predicate_width, refusal.reason);
  }
  return text;
}

}  // namespace

Refused::Refused(SourceLoc at, std::string primitive, std::vector<Refusal> refusals, std::string nearest)
    : at_(at), refusals_(std::move(refusals)) {
  text_ = fmt::format("no variant lowers `{}`\n{}", primitive, table_of(refusals_));
  if (!nearest.empty()) text_ += fmt::format("nearest that would work: {}\n", nearest);
}

std::string one_line(const Request& request) {
  Stmt bare;
  bare.where = request.stmt.where;
  bare.node = request.primitive();
  return print(request.kernel, bare);
}

Choice choose(const Request& request) {
  Choice choice;
  std::string nearest;
  for (const Variant* variant : candidates(request)) {
    const std::size_t before = choice.refusals.size();
    for (const Predicate& predicate : variant->predicates) {
      if (auto why = predicate.why_not(request)) choice.refusals.push_back({std::string(variant->name), std::string(predicate.name), std::move(*why)});
    }
    if (choice.refusals.size() != before) continue;
    Outcome outcome = variant->plan(request);
    if (auto* plan = std::get_if<Plan>(&outcome)) {
      choice.variant = variant;
      choice.plan = std::move(*plan);
      return choice;
    }
    auto& declined = std::get<Declined>(outcome);
    choice.refusals.push_back({std::string(variant->name), std::move(declined.predicate), std::move(declined.reason)});
    if (nearest.empty()) nearest = std::move(declined.nearest);
  }
  if (nearest.empty()) nearest = nearest_by_spaces(request);
  throw Refused(request.stmt.at, one_line(request), std::move(choice.refusals), std::move(nearest));
}

std::vector<VariantFacts> variants() {
  std::vector<VariantFacts> result;
  for (const Variant& variant : registry()) {
    VariantFacts facts{std::string(variant.name), std::string(variant.operation), variant.priority, {}, std::string(variant.summary)};
    for (const Predicate& predicate : variant.predicates) facts.predicates.emplace_back(predicate.name);
    for (const std::string_view name : variant.plan_predicates) facts.predicates.emplace_back(name);
    result.push_back(std::move(facts));
  }
  return result;
}

namespace {

std::string predicates_of(const VariantFacts& variant) { return fmt::format("{}", fmt::join(variant.predicates, ", ")); }

}  // namespace

std::string variants_text() {
  std::string text;
  for (const VariantFacts& variant : variants()) {
    text += fmt::format("{} / {}  (priority {})\n  {}\n  predicates: {}\n", variant.operation, variant.name, variant.priority, variant.summary,
                        predicates_of(variant));
  }
  return text;
}

std::string variants_markdown() {
  std::string text = "| operation | variant | priority | predicates | what it does |\n|---|---|---|---|---|\n";
  for (const VariantFacts& variant : variants()) {
    text += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", variant.operation, variant.name, variant.priority, predicates_of(variant), variant.summary);
  }
  return text;
}

}  // namespace tmemsim::lower
