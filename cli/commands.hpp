// The commands. Each adds its options to the application and, when it is the one that was called, sets what is to be done.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace tmemsim::cli {

inline constexpr const char* version = "0.1.0";

using Chosen = std::function<int()>;  // does the work; the result is the exit code

void add_run(CLI::App& app, Chosen& chosen);      // run, check
void add_lower(CLI::App& app, Chosen& chosen);
void add_emit(CLI::App& app, Chosen& chosen);
void add_diff(CLI::App& app, Chosen& chosen);
void add_probe(CLI::App& app, Chosen& chosen);
void add_trace(CLI::App& app, Chosen& chosen);
void add_debug(CLI::App& app, Chosen& chosen);
void add_draw(CLI::App& app, Chosen& chosen);
void add_layout(CLI::App& app, Chosen& chosen);
void add_atom(CLI::App& app, Chosen& chosen);
void add_facts(CLI::App& app, Chosen& chosen);    // explain, ops, schema, new

}  // namespace tmemsim::cli
