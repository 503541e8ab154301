#include "tests/emit/samples.hpp"

#include <algorithm>
#include <filesystem>

#include "lower/lower.hpp"
#include "tests/paths.hpp"

namespace tmemsim::tests {

std::vector<Sample> clean_scenarios(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(source_dir) + "/scenarios/" + folder)) {
    if (entry.path().extension() != ".yaml") continue;
    const bool exercise = entry.path().parent_path().filename() == "exercises", solved = entry.path().stem().extension() == ".solution";
    if (!exercise || solved) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Sample> samples;
  for (const std::string& file : files) {
    for (Scenario& scenario : load_scenarios(file)) {
      if (scenario.expect.status || !scenario.expect.findings.empty()) continue;
      Kernel kernel = lower::lower(scenario.kernel);
      verify(kernel, Level::machine);
      samples.push_back({std::filesystem::path(file).filename().string() + " " + scenario.instance, std::move(kernel)});
    }
  }
  return samples;
}

std::vector<Sample> emitted(std::vector<Sample> samples, const emit::Options& options, std::vector<std::string>* refused) {
  std::erase_if(samples, [&](const Sample& sample) {
    try {
      (void)emit::least_arch(sample.kernel, options);
      return false;
    } catch (const Unsupported& reason) {
      if (refused) refused->push_back(sample.name + ": " + reason.reason());
      return true;
    }
  });
  return samples;
}

}  // namespace tmemsim::tests
