#include "diff/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "diff/compare.hpp"
#include "diff/generate.hpp"
#include "diff/program.hpp"
#include "diff/workplace.hpp"
#include "ir/diagnostic.hpp"
#include "ir/npy.hpp"
#include "ir/profile.hpp"
#include "lower/lower.hpp"

namespace tmemsim::diff {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_cases_a_module = 24;
constexpr std::chrono::minutes compile_limit{10};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

emit::Backend emitted_backend(Backend chosen, const std::optional<Gpu>& gpu, bool uses_tmem) {
  switch (chosen) {
    case Backend::native:
      return emit::Backend::native;
    case Backend::emulated:
      return emit::Backend::emulated;
    case Backend::host:
      return emit::Backend::host;
    case Backend::automatic:
      break;
  }
  return !uses_tmem || (gpu && gpu->has_tmem()) ? emit::Backend::native : emit::Backend::emulated;
}

std::string_view backend_name(emit::Backend backend) {
  return backend == emit::Backend::native ? "native" : backend == emit::Backend::emulated ? "emulated" : "host";
}

void write_inputs(const Kernel& kernel, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError(fmt::format("folder {} cannot be made: {}", folder.string(), error.message()));
  for (const Buffer& buffer : kernel.buffers) {
    if (buffer.space != Space::global || !buffer.init) continue;
    NpyArray array{npy_storage(buffer.dtype), buffer.shape, {}};
    const auto width = static_cast<std::size_t>(bits(array.dtype)) / 8;
    for (const std::uint64_t value : initial_bits(kernel, buffer)) {
      std::byte raw[8];
      std::memcpy(raw, &value, 8);  // little-endian
      array.data.insert(array.data.end(), raw, raw + width);
    }
    write_npy(folder / (buffer.name + ".npy"), array);
  }
}

// ---- what identifies a case ----

class Hash {  // FNV-1a
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
    add_byte(0);
  }
  void add(const std::vector<std::uint64_t>& words) {
    for (const std::uint64_t word : words) {
      for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<std::uint8_t>(word >> shift));
    }
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  void add_byte(std::uint8_t byte) { hash_ = (hash_ ^ byte) * 0x100000001b3u; }
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

template <class Visit>
void for_each_operation(const Body& body, const Visit& visit) {
  for (const Stmt& stmt : body) {
    if (const auto* op = std::get_if<MachineOps::Any>(&stmt.node)) std::visit(visit, *op);
    for_each_body(stmt, [&](const Body& inner) { for_each_operation(inner, visit); });
  }
}

// A case on its way.
struct Item {
  std::size_t index = 0;
  const Case* one = nullptr;
  Record record;
  bool settled = false;                // the record is complete
  bool faulted_before = false;
  std::optional<Simulated> simulated;
  std::shared_ptr<const Kernel> kernel;  // machine level

  void settle(Status status, std::string reason) {
    record.status = status;
    record.reason = std::move(reason);
    settled = true;
  }
};

// What all workers share.
class Work {
 public:
  Work(const Options& options, const Machine& machine, const std::vector<Case>& cases, const std::vector<Record>& before,
       const std::function<void(const Record&)>& done)
      : options_(options), machine_(machine), cases_(cases), done_(done), results_(cases.size()) {
    for (const Record& record : before) {
      known_[record.key] = &record;
      if (record.status == Status::failed) faulted_.insert({record.file, record.instance});
    }
  }

  std::vector<Record> run() {
    take_over_known();
    const std::size_t jobs = options_.jobs > 0 ? options_.jobs : std::max(1u, std::thread::hardware_concurrency());
    cases_a_module_ = options_.cases_a_module > 0
                          ? options_.cases_a_module
                          : std::clamp<std::size_t>((todo_.size() + 2 * jobs - 1) / (2 * jobs), 1, most_cases_a_module);
    const std::size_t modules = (todo_.size() + cases_a_module_ - 1) / cases_a_module_;
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < std::min(jobs, modules); ++i) workers.emplace_back([this] { work(); });
    for (std::thread& worker : workers) worker.join();
    if (problem_) std::rethrow_exception(problem_);
    return std::move(results_);
  }

 private:
  // ---- who does what ----

  void take_over_known() {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      Record fresh = blank(cases_[i]);
      const auto known = known_.find(fresh.key);
      if (known == known_.end() || known->second->file != fresh.file || known->second->instance != fresh.instance) {
        todo_.push_back(i);
      } else {
        results_[i] = *known->second;
      }
    }
  }

  void work() {
    try {
      for (;;) {
        const std::size_t begin = next_.fetch_add(cases_a_module_);
        if (begin >= todo_.size() || stop_) return;
        const std::size_t end = std::min(begin + cases_a_module_, todo_.size());
        run_chunk({todo_.begin() + static_cast<std::ptrdiff_t>(begin), todo_.begin() + static_cast<std::ptrdiff_t>(end)}, begin / cases_a_module_);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
      if (!problem_) problem_ = std::current_exception();
    }
  }

  void finish(Item& item) {
    item.simulated.reset();
    const std::lock_guard<std::mutex> lock(mutex_);
    results_[item.index] = item.record;
    if (done_) done_(item.record);
  }

  // ---- one chunk: prepare, compile what can be compared in a module a backend, run, compare ----

  void run_chunk(const std::vector<std::size_t>& indices, std::size_t number) {
    std::vector<Item> items;
    for (const std::size_t index : indices) {
      Item item;
      item.index = index;
      item.one = &cases_[index];
      item.record = blank(cases_[index]);
      item.faulted_before = faulted_.count({item.record.file, item.record.instance}) > 0;
      prepare(item);
      items.push_back(std::move(item));
    }
    for (const emit::Backend backend : {emit::Backend::native, emit::Backend::emulated, emit::Backend::host}) {
      std::vector<Item*> module;
      for (Item& item : items) {
        if (!item.settled && item.record.ran->backend == backend_name(backend)) module.push_back(&item);
      }
      if (!module.empty()) run_module(module, backend, fmt::format("module{}-{}", number, backend_name(backend)));
    }
    for (Item& item : items) finish(item);
  }

  Record blank(const Case& one) const {
    Record record;
    record.file = one.file;
    Hash key;
    if (one.scenario) {
      const Kernel& kernel = one.scenario->kernel;
      record.scenario = kernel.name;
      record.instance = one.scenario->instance;
      key.add(print(kernel));
      for (const Buffer& buffer : kernel.buffers) {
        if (buffer.init && std::holds_alternative<InitNpy>(*buffer.init)) key.add(initial_bits(kernel, buffer));
      }
      const Profile profile = simulation(one.scenario->profile).profile;  // decides what has errors
      key.add(profile.name());
      for (const SwitchFacts& facts : switch_table()) key.add(profile.value(facts.which));
    }
    key.add(one.error);
    key.add(fmt::format("{} {} {}", static_cast<int>(options_.backend), options_.dump, arch_text()));
    key.add(device());
    record.key = key.text();
    return record;
  }

  sim::Options simulation(const std::optional<std::string>& profile) const {
    return options_.simulation ? options_.simulation(profile) : sim::Options{};
  }

  std::string arch_text() const {
    if (options_.backend == Backend::host) return "";
    return name(arch());
  }
  emit::Arch arch() const { return options_.arch ? *options_.arch : arch_of(*machine_.gpu); }
  std::string device() const {
    if (options_.backend == Backend::host) return "the CPU of this machine";
    return fmt::format("{} (compute capability {})", machine_.gpu->name, capability_text(machine_.gpu->capability()));
  }

  Implementation implementation(emit::Backend backend, bool uses_tmem) const {
    Implementation ran;
    ran.backend = backend_name(backend);
    ran.device = device();
    ran.arch = arch_text();
    ran.uses_tmem = uses_tmem;
    if (backend == emit::Backend::host) {
      ran.toolkit = machine_.host->version;
    } else {
      ran.driver = machine_.gpu->driver;
      ran.toolkit = "CUDA " + machine_.nvcc->version;
    }
    return ran;
  }

  emit::Options emit_options(emit::Backend backend) const {
    emit::Options options;
    options.dump = options_.dump;
    options.backend = backend;
    if (backend != emit::Backend::host) options.arch = arch();
    return options;
  }

  void prepare(Item& item) const {
    if (!item.one->scenario) return item.settle(Status::error, first_line(item.one->error));
    const Scenario& scenario = *item.one->scenario;
    try {
      Kernel kernel = lower::lower(scenario.kernel);
      verify(kernel, Level::machine);
      item.kernel = std::make_shared<const Kernel>(std::move(kernel));
      const bool uses_tmem = uses_tensor_memory(*item.kernel);
      const emit::Backend backend = emitted_backend(options_.backend, machine_.gpu, uses_tmem);
      if (backend == emit::Backend::native && uses_tmem && !machine_.gpu->has_tmem()) {
        return item.settle(Status::incomparable, "the program uses tensor memory, which this GPU does not have: --backend emulated runs it");
      }
      emit::cuda(*item.kernel, emit_options(backend));  // what has no emission says so here
      item.record.ran = implementation(backend, uses_tmem);
      item.simulated = simulate(item.kernel, simulation(scenario.profile));
      judge_simulation(item);
    } catch (const lower::Refused& refused) {
      item.settle(Status::incomparable, "not lowered: " + first_line(refused.text()));
    } catch (const Unsupported& unsupported) {
      item.settle(Status::incomparable, "not emitted: " + first_line(unsupported.reason()));
    } catch (const InputError& error) {
      item.settle(Status::error, first_line(error.what()));
    } catch (const std::bad_alloc&) {
      item.settle(Status::incomparable, "not enough memory for it");
    } catch (const std::exception& error) {
      item.settle(Status::failed, fmt::format("internal error, please report: {}", error.what()));
    }
    if (item.settled) item.record.ran.reset();
  }

  void judge_simulation(Item& item) const {
    for (const sim::Outcome* run : {&item.simulated->run, &item.simulated->again}) {
      for (const Finding& finding : run->findings) {
        if (finding.severity != Severity::error) continue;
        return item.settle(Status::incomparable, fmt::format("the simulator finds {}: what the program leaves is undefined", id(finding.verdict)));
      }
    }
    if (auto difference = unrepeatable_output(*item.simulated)) {
      item.settle(Status::unrepeatable, "the simulator with another seed leaves another result");
      item.record.difference = std::move(difference);
    }
  }

  void run_module(const std::vector<Item*>& module, emit::Backend backend, const std::string& name) const {
    const Workplace place(options_.keep, name);
    std::vector<Kernel> kernels;
    for (const Item* item : module) kernels.push_back(*item->kernel);
    place.write("k.cu", emit::cuda_batch(kernels, emit_options(backend)));
    const Built built = build(toolchain(backend), place.path(), compile_limit);
    if (!built.ok && module.size() > 1) {  // one of them is to blame
      for (std::size_t i = 0; i < module.size(); ++i) run_module({module[i]}, backend, fmt::format("{}-{}", name, i));
      return;
    }
    if (!built.ok) return module.front()->settle(Status::failed, built.reason);
    run_program(module, place.path());
  }

  void run_program(const std::vector<Item*>& module, const fs::path& folder) const {
    std::vector<CaseRuns> cases;
    for (std::size_t i = 0; i < module.size(); ++i) {
      const std::string in = fmt::format("in{}", i);
      write_inputs(*module[i]->kernel, folder / in);
      cases.push_back({{{i, in, fmt::format("out{}", i)}, {i, in, fmt::format("again{}", i)}}, module[i]->faulted_before});
    }
    const std::vector<CaseOutcome> outcomes = run_cases(folder, cases, options_.limit);
    for (std::size_t i = 0; i < module.size(); ++i) {
      if (outcomes[i].ok) compare_outputs(*module[i], folder / cases[i].runs[0].out, folder / cases[i].runs[1].out);
      else module[i]->settle(Status::failed, outcomes[i].reason);
    }
  }

  void compare_outputs(Item& item, const fs::path& first, const fs::path& second) const {
    try {
      const Compared compared = compare(*item.simulated, first, second, options_.dump);
      item.record.elements = compared.elements;
      item.record.registers = compared.registers;
      item.record.cells = compared.cells;
      if (compared.between_runs) {
        item.settle(Status::unrepeatable, "two runs of the program leave different results");
        item.record.difference = compared.between_runs;
      } else if (compared.difference) {
        item.settle(Status::differ, "");
        item.record.difference = compared.difference;
      } else if (compared.elements + compared.registers + compared.cells == 0) {
        item.settle(Status::incomparable, options_.dump ? "the program runs to its end and leaves nothing to compare"
                                                         : "the program runs to its end and leaves no output: --dump compares registers and tensor memory");
      } else {
        item.settle(Status::agree, "");
      }
    } catch (const std::runtime_error& error) {
      item.settle(Status::failed, error.what());
    }
  }

  Toolchain toolchain(emit::Backend backend) const {
    if (backend == emit::Backend::host) return {machine_.host->program, {"-std=c++17", "-O1", "-w", "-pthread", "-x", "c++"}};
    return nvcc_toolchain(machine_.nvcc->program, arch());
  }

  const Options& options_;
  const Machine& machine_;
  const std::vector<Case>& cases_;
  const std::function<void(const Record&)>& done_;
  std::map<std::string, const Record*> known_;
  std::set<std::pair<std::string, std::string>> faulted_;  // file and instance
  std::vector<std::size_t> todo_;
  std::size_t cases_a_module_ = 1;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::exception_ptr problem_;
  std::vector<Record> results_;
};

// ---- what is missing on a machine ----

constexpr std::string_view without_gpu = "`--backend host` compares on the CPU, and `tmemsim emit` writes the program";

void check_host(const Machine& machine) {
  if (!machine.host) throw Unsupported("no C++ compiler (c++, g++ or clang++) is in PATH, and --backend host needs one; `tmemsim run` works without");
}

void check_gpu(const Options& options, const Machine& machine) {
  if (!machine.gpu) throw Unsupported(fmt::format("{}: {}", machine.no_gpu, without_gpu));
  if (!machine.nvcc) throw Unsupported(fmt::format("{}: {}", machine.no_nvcc, without_gpu));
  const Gpu& gpu = *machine.gpu;
  if (gpu.capability() < 75) {
    throw Unsupported(fmt::format("{} has compute capability {}, and emitted programs need 7.5: {}", gpu.name, capability_text(gpu.capability()), without_gpu));
  }
  if (gpu.driver_cuda / 1000 < machine.nvcc->major) {
    throw Unsupported(fmt::format("the driver is made for CUDA {}.{} and does not run programs of CUDA {}; a newer driver or nvcc {} would: {}",
                                  gpu.driver_cuda / 1000, gpu.driver_cuda % 1000 / 10, machine.nvcc->version, gpu.driver_cuda / 1000, without_gpu));
  }
  if (!options.arch) return;
  if (const auto reason = why_not_run(*options.arch, gpu)) throw Unsupported(*reason);
}

}  // namespace

std::optional<Backend> backend_named(std::string_view wanted) {
  if (wanted == "auto") return Backend::automatic;
  if (wanted == "native") return Backend::native;
  if (wanted == "emulated") return Backend::emulated;
  if (wanted == "host") return Backend::host;
  return std::nullopt;
}

std::vector<Case> cases_of(const std::string& file, const LoadOptions& options) {
  std::vector<Case> cases;
  try {
    for (Scenario& scenario : load_scenarios(file, options)) cases.push_back({file, std::move(scenario), {}});
  } catch (const InputError& error) {
    cases = {{file, std::nullopt, error.what()}};
  }
  return cases;
}

std::vector<Case> generated_cases(std::uint64_t seed, std::size_t count) {
  std::vector<Case> cases;
  for (std::size_t number = 0; number < count; ++number) {
    const std::string file = fmt::format("generated-{}-{}.yaml", seed, number);
    for (Scenario& scenario : load_scenario_text(generated_copy(seed, number), file, ".")) cases.push_back({file, std::move(scenario), {}});
  }
  return cases;
}

emit::Arch arch_of(const Gpu& gpu) { return {gpu.capability(), gpu.capability() >= 90 ? 'a' : '\0'}; }

// Code for a plain architecture runs on later ones of the same major number; with features of its own on that one alone, or, of
// a family, on the later ones of its major number.
std::optional<std::string> why_not_run(emit::Arch arch, const Gpu& gpu) {
  const bool same_major = arch.capability / 10 == gpu.major;
  const bool fits = arch.feature == 'a' ? arch.capability == gpu.capability() : same_major && arch.capability <= gpu.capability();
  if (fits) return std::nullopt;
  return fmt::format("code for {} does not run on {} (compute capability {}): without --arch it is built for {}", name(arch), gpu.name,
                     capability_text(gpu.capability()), name(arch_of(gpu)));
}

bool uses_tensor_memory(const Kernel& machine_level) {
  bool uses = false;
  for_each_operation(machine_level.body, [&](const auto& op) { uses |= op.row.name.starts_with("tcgen05."); });
  return uses;
}

Differ::Differ(Options options, Machine machine) : options_(std::move(options)), machine_(std::move(machine)) {
  if (options_.backend == Backend::host) check_host(machine_);
  else check_gpu(options_, machine_);
}

std::vector<Record> Differ::run(const std::vector<Case>& cases, const std::vector<Record>& before, const std::function<void(const Record&)>& done) const {
  return Work(options_, machine_, cases, before, done).run();
}

}  // namespace tmemsim::diff
