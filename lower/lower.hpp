// Lowering: replaces every tile primitive by machine instructions (kept together in a Lowered statement).
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "ir/kernel/kernel.hpp"

namespace tmemsim::lower {

// Why one variant did not take a primitive.
struct Refusal {
  std::string variant, predicate, reason;
};

// How one primitive was lowered, for --explain.
struct Explanation {
  std::string path;                  // of the statement
  std::string primitive;             // its one-line text
  std::string variant;               // the one that took it
  std::vector<Refusal> refusals;     // of variants tried before
  std::vector<std::string> proof;    // lines: atoms, width chosen, what stopped the next wider one, issues by warp, owner, ...
};

// No variant takes a primitive: the table, the offending element, the nearest thing that would work.
class Refused : public std::exception {
 public:
  Refused(SourceLoc at, std::string primitive, std::vector<Refusal> refusals, std::string nearest);
  SourceLoc at() const { return at_; }
  const std::vector<Refusal>& refusals() const { return refusals_; }
  const std::string& text() const { return text_; }   // table of variant, predicate, reason; then the nearest that would work
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  SourceLoc at_;
  std::vector<Refusal> refusals_;
  std::string text_;
};

struct VariantFacts {
  std::string name, operation;
  int priority = 0;
  std::vector<std::string> predicates;
  std::string summary;
};
std::vector<VariantFacts> variants();   // in the order in which they are tried
std::string variants_text();            // the same for `tmemsim ops --variants`, as text and as a markdown table
std::string variants_markdown();

// The kernel must be verified at Level::tile. Throws Refused; an InputError for a forced variant that does not exist.
Kernel lower(const Kernel& kernel, std::vector<Explanation>* explanations = nullptr);

}  // namespace tmemsim::lower
