// Files of the repository that the tool carries along, put in when it is built (cmake/TmemsimEmbed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace tmemsim::report {

struct EmbeddedFile {
  std::string_view name;  // "raw-st.yaml"
  std::string_view text;
};

// scenarios/verdicts: for each verdict ID a wrong program ID.yaml and a right one ID.fixed.yaml.
std::span<const EmbeddedFile> verdict_programs();

}  // namespace tmemsim::report
