#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/scenario/init_values.hpp"
#include "ir/scenario/read_buffers.hpp"
#include "ir/scenario/read_expect.hpp"
#include "ir/scenario/read_program.hpp"
#include "ir/scenario/safe_path.hpp"
#include "ir/scenario/scenario.hpp"

namespace tmemsim {
namespace {

using namespace scenario;

constexpr std::int64_t format_version = 1;
constexpr std::int64_t most_ctas = 1024;
constexpr std::int64_t most_cluster_ctas = 16;
constexpr std::int64_t most_ctas_per_sm = 32;
constexpr std::int64_t most_held_columns = 480;
constexpr std::int64_t most_text_of_sweep = std::int64_t{1} << 26;  // bytes of the file times instances

const std::vector<std::string_view> top_keys{"tmemsim", "scenario", "doc",     "target",  "ptx",   "profile",
                                             "launch",  "params",   "buffers", "program", "expect"};

void check_version(const Document& document, const Mapping& top) {
  const Node& node = top.need("tmemsim", "tmemsim: 1");
  if (text_of(document, node, "'tmemsim'") != std::to_string(format_version))
    document.fail(node, fmt::format("format version {} is not known", describe(node)),
                  fmt::format("tmemsim: {}", format_version));
}

std::string read_name(const Document& document, const Mapping& top) {
  const Node& node = top.need("scenario", "scenario: my_first");
  const std::string& text = text_of(document, node, "'scenario'");
  if (!is_scenario_name(text))
    document.fail(node, fmt::format("{} is no name of a scenario", describe(node)), "letters, digits, _ and -");
  return text;
}

Target read_target(const Reader& reader, const Node& node) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < target_count; ++i) names.push_back(name(static_cast<Target>(i)));
  return static_cast<Target>(reader.keyword(node, "'target'", names));
}

// "9.0": two numbers, as .version in a PTX file.
PtxVersion read_ptx(const Reader& reader, const Node& node) {
  const std::string text = reader.word(node, "'ptx'");
  const std::size_t dot = text.find('.');
  const auto number = [&](std::string_view digits) {
    const bool fits = !digits.empty() && digits.size() <= 2 && digits.find_first_not_of("0123456789") == std::string_view::npos;
    if (!fits) reader.document().fail(node, fmt::format("{} is no PTX version", describe(node)), "ptx: 9.0");
    return static_cast<std::uint8_t>(std::stoi(std::string(digits)));
  };
  if (dot == std::string::npos) return {number(text), 0};
  return {number(std::string_view(text).substr(0, dot)), number(std::string_view(text).substr(dot + 1))};
}

std::int64_t product(const std::array<std::uint32_t, 3>& extents) {
  return saturating_mul(saturating_mul(extents[0], extents[1]), extents[2]);
}

Launch read_launch(const Reader& reader, const Node& node) {
  const Document& document = reader.document();
  const Mapping mapping(document, node, "launch");
  mapping.only({"warps", "cluster", "grid", "ctas_per_sm", "held_columns"});
  Launch launch;
  if (const Node* warps = mapping.find("warps"))
    launch.warps = static_cast<std::uint32_t>(reader.integer(*warps, "'warps'", 1, 32));
  if (const Node* cluster = mapping.find("cluster")) launch.cluster = reader.extents(*cluster, "'cluster'", most_cluster_ctas);
  if (product(launch.cluster) > most_cluster_ctas)
    document.fail(*mapping.find("cluster"),
                  fmt::format("a cluster of {} CTAs; at most {}", product(launch.cluster), most_cluster_ctas));
  launch.grid = launch.cluster;
  if (const Node* grid = mapping.find("grid")) {
    launch.grid = reader.extents(*grid, "'grid'", most_ctas);
    if (product(launch.grid) > most_ctas)
      document.fail(*grid, fmt::format("a grid of {} CTAs; at most {} are simulated", product(launch.grid), most_ctas));
    for (std::size_t i = 0; i < 3; ++i)
      if (launch.grid[i] % launch.cluster[i] != 0)
        document.fail(*grid, fmt::format("the grid ({}) is no multiple of the cluster ({}) in {}", launch.grid[i],
                                         launch.cluster[i], "xyz"[i]));
  }
  if (const Node* shared = mapping.find("ctas_per_sm"))
    launch.ctas_per_sm = static_cast<std::uint32_t>(reader.integer(*shared, "'ctas_per_sm'", 1, most_ctas_per_sm));
  if (const Node* held = mapping.find("held_columns")) {
    launch.held_columns = static_cast<std::uint32_t>(reader.integer(*held, "'held_columns'", 0, most_held_columns));
    if (launch.held_columns % 32 != 0)
      document.fail(*held, fmt::format("'held_columns' is {}; it must be a multiple of 32", launch.held_columns));
  }
  return launch;
}

Scenario read_instance(const Document& document, const Mapping& top, const Binding& binding, const std::string& folder,
                       NpyChecks& checked) {
  Scenario made;
  Kernel& kernel = made.kernel;
  kernel.files = {document.file()};
  kernel.folder = folder;
  kernel.name = read_name(document, top);
  made.instance = kernel.name + binding.suffix;
  Reader reader(document, binding, kernel.buffers);
  if (const Node* doc = top.find("doc")) kernel.doc = text_of(document, *doc, "'doc'");
  if (const Node* target = top.find("target")) kernel.target = read_target(reader, *target);
  if (const Node* ptx = top.find("ptx")) kernel.ptx = read_ptx(reader, *ptx);
  if (const Node* profile = top.find("profile"))
    made.profile = reader.keyword(*profile, "'profile'", {"strict", "lenient"}) == 0 ? "strict" : "lenient";
  if (const Node* launch = top.find("launch")) kernel.launch = read_launch(reader, *launch);
  read_buffers(reader, top.find("buffers"), folder, kernel.buffers, checked);
  kernel.body = read_body(reader, top.need("program"), "program");
  number_statements(kernel);
  verify(kernel, Level::tile);
  if (const Node* expect = top.find("expect")) made.expect = read_expect(reader, *expect, kernel);
  return made;
}

// The same message, with the instance of the sweep it belongs to.
[[noreturn]] void fail_in_instance(const InputError& error, const std::string& suffix) {
  Diagnostic diagnostic = error.diagnostic();
  diagnostic.message += fmt::format(" {}", suffix);
  throw InputError(std::move(diagnostic));
}

std::vector<Scenario> load_yaml(std::string text, const std::string& file_name, const std::string& folder,
                                const LoadOptions& options) {
  const auto size = static_cast<std::int64_t>(text.size());
  const Document document(std::move(text), file_name);
  const Mapping top(document, document.root(), "a scenario");
  top.only(top_keys);
  check_version(document, top);
  check_labels(document, top.need("program"));
  const Node* params = top.find("params");
  const std::vector<Binding> all = bindings(document, params, read_params(document, params), options);
  if (saturating_mul(size, static_cast<std::int64_t>(all.size())) > most_text_of_sweep)
    document.fail(params ? *params : document.root(),
                  fmt::format("{} instances of a file of {} bytes are too much", all.size(), size),
                  "choose with --only, or put arrays into .npy files");
  std::vector<Scenario> scenarios;
  NpyChecks checked;
  for (const Binding& binding : all) {
    try {
      scenarios.push_back(read_instance(document, top, binding, folder, checked));
    } catch (const InputError& error) {
      if (binding.suffix.empty()) throw;
      fail_in_instance(error, binding.suffix);
    }
  }
  return scenarios;
}

std::vector<Scenario> load_kernel(std::string_view text, const std::string& file_name, const std::string& folder,
                                  const LoadOptions& options) {
  for (const auto* texts : {&options.define, &options.only})
    if (!texts->empty())
      throw InputError(fmt::format("{}: a kernel in text form has no parameters", file_name), "leave --define and --only away");
  if (text.size() > largest_file)
    throw InputError(fmt::format("{}: the file has {} bytes; at most {} are read", file_name, text.size(), largest_file));
  Scenario made;
  made.kernel = parse_kernel(text, file_name);
  made.kernel.folder = folder;
  made.instance = made.kernel.name;
  number_statements(made.kernel);
  verify(made.kernel, Level::tile);
  for (const Buffer& buffer : made.kernel.buffers) {
    if (const auto problem = problem_with_init(buffer, folder))
      input_error(made.kernel.files, buffer.at, fmt::format("buffer {}: {}", buffer.name, *problem));
    if (buffer.out.empty()) continue;
    if (const auto path = npy_inside(folder, buffer.out); !path)
      input_error(made.kernel.files, buffer.at, fmt::format("buffer {}: {}", buffer.name, path.reason().text));
  }
  std::vector<Scenario> one;
  one.push_back(std::move(made));
  return one;
}

std::string read_stream(std::istream& stream, const std::string& path) {
  std::string text;
  std::array<char, 65536> block{};
  while (stream.read(block.data(), block.size()) || stream.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > largest_file)
      throw InputError(fmt::format("{}: the file has more than {} bytes", path, largest_file),
                       "put large arrays into .npy files");
  }
  if (stream.bad()) throw InputError(fmt::format("{}: the file cannot be read", path));
  return text;
}

std::string read_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw InputError(fmt::format("{}: there is no such file", path));
  if (std::filesystem::is_directory(status)) throw InputError(fmt::format("{}: this is a folder; a scenario is a file", path));
  // Opening a named pipe would wait for a writer, maybe for ever; the shell's <(command) has one.
  const bool of_the_shell = path.rfind("/dev/fd/", 0) == 0 || path.rfind("/proc/", 0) == 0;
  if (std::filesystem::is_fifo(status) && !of_the_shell)
    throw InputError(fmt::format("{}: this is a named pipe; a scenario is a file", path), "give it as standard input: - < PIPE");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError(fmt::format("{}: the file cannot be opened", path));
  return read_stream(stream, path);
}

}  // namespace

std::vector<Scenario> load_scenario_text(std::string_view text, const std::string& file_name, const std::string& folder,
                                         const LoadOptions& options) {
  if (std::filesystem::path(file_name).extension() == ".kernel") return load_kernel(text, file_name, folder, options);
  return load_yaml(std::string(text), file_name, folder, options);
}

std::vector<Scenario> load_scenarios(const std::string& path, const LoadOptions& options) {
  if (path == "-") return load_scenario_text(read_stream(std::cin, "<stdin>"), "<stdin>", ".", options);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return load_scenario_text(read_file(path), path, folder.empty() ? "." : folder, options);
}

}  // namespace tmemsim
