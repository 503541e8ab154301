// The __global__ function: declarations of what it uses, initial values of shared buffers, body, register dump.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "emit/cuda/identifier.hpp"
#include "emit/cuda/program.hpp"
#include "ir/scenario/scenario.hpp"

namespace tmemsim::emit {
namespace {

std::string shape_text(const Buffer& buffer) { return fmt::format("[{}]", fmt::join(buffer.shape, ", ")); }

std::string description(const Buffer& buffer) {
  const std::string layout = buffer.layout ? " " + to_string(*buffer.layout) : "";
  return comment_text(fmt::format("{} {}{}", name(buffer.dtype), shape_text(buffer), layout));
}

std::int64_t shared_offset(const Buffer& buffer) {
  if (!buffer.offset) throw std::logic_error("the shared buffer " + buffer.name + " has no place: verify the kernel first");
  return *buffer.offset;
}

std::uint32_t shared_bytes(const Kernel& kernel) {
  std::int64_t most = 0;
  for (const Buffer& buffer : kernel.buffers) {
    if (buffer.space == Space::shared) most = std::max(most, shared_offset(buffer) + byte_size(buffer));
  }
  return static_cast<std::uint32_t>(most);
}

std::vector<BufferId> initialised_shared(const Kernel& kernel) {
  std::vector<BufferId> ids;
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].space == Space::shared && kernel.buffers[i].init) ids.push_back(static_cast<BufferId>(i));
  }
  return ids;
}

// The initial values of a shared buffer, as the units that a thread stores: elements, or the bytes of a packed array.
struct Initial {
  std::vector<std::uint64_t> units;
  int bytes = 0;  // of one unit
};

Initial initial_units(const Kernel& kernel, const Buffer& buffer) {
  const std::vector<std::uint64_t> elements = initial_bits(kernel, buffer);
  const int width = bits(buffer.dtype);
  if (width % 8 == 0) return {elements, width / 8};
  if (!is_row_major(buffer)) {
    throw Unsupported(
        fmt::format("initial values of {}: elements of {} bits in shared memory are placed row-major only", buffer.name, width),
        buffer.at);
  }
  Initial packed{std::vector<std::uint64_t>((elements.size() * static_cast<std::size_t>(width) + 7) / 8), 1};
  for (std::size_t bit = 0; bit < elements.size() * static_cast<std::size_t>(width); ++bit) {
    const std::uint64_t value = elements[bit / static_cast<std::size_t>(width)] >> (bit % static_cast<std::size_t>(width)) & 1;
    packed.units[bit / 8] |= value << (bit % 8);
  }
  return packed;
}

bool all_equal(const std::vector<std::uint64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

std::string initial_name(const Buffer& buffer) { return "initial_" + identifier(buffer); }

std::string initial_array(const Buffer& buffer, const Initial& initial) {
  std::string text =
      fmt::format("\n// Initial values of the shared buffer {}, row-major.\n__device__ const uint{}_t {}[{}] = {{", buffer.name,
                  8 * initial.bytes, initial_name(buffer), initial.units.size());
  for (std::size_t i = 0; i < initial.units.size(); ++i) {
    text += i % 8 == 0 ? "\n    " : " ";
    text += fmt::format("{:#x},", initial.units[i]);
  }
  return text + "\n};\n";
}

// Writes the text of one kernel around the body that Cuda prints.
class KernelWriter {
 public:
  KernelWriter(const Kernel& kernel, const Options& options, DeviceFunctions& functions)
      : kernel_(kernel), options_(options), functions_(functions), cuda_(kernel, options, functions) {}

  KernelText write() {
    initial_values();
    if (!setup_.empty()) setup_ += "\n";
    cuda_.print(kernel_.body);
    KernelText result;
    result.shared_bytes = shared_bytes(kernel_);
    result.uses_tmem = cuda_.body().find("tcgen05_") != std::string::npos;
    for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) add_buffer(static_cast<BufferId>(i), result);
    if (options_.dump && result.uses_tmem) dump_tensor_memory(result);
    peers();
    const std::string start = coordinates() + declarations_;
    result.least = cuda_.facilities().least();
    result.text = constants_ + signature(result) + start + (start.empty() ? "" : "\n") + setup_ + cuda_.body() + dump_ + "}\n";
    return result;
  }

 private:
  std::string call(std::string_view function, std::string_view arguments) {
    functions_.need(function);
    return fmt::format("{}({})", function, arguments);
  }

  bool used(BufferId id) const { return cuda_.buffers_used().contains(id) || initialised_.contains(id); }

  void add_buffer(BufferId id, KernelText& result) {
    const Buffer& buffer = kernel_.buffers[id];
    const bool through_slot = buffer.space == Space::tmem && buffer.slot && used(*buffer.slot);
    if (!used(id) && !through_slot) return;
    switch (buffer.space) {
      case Space::global:
        result.parameters.push_back(id);
        break;
      case Space::shared:
        add_shared(buffer);
        break;
      case Space::local:
        add_local(id, buffer, result);
        break;
      case Space::tmem:
        add_tmem(buffer);
        break;
    }
  }

  void add_shared(const Buffer& buffer) {
    const std::int64_t offset = shared_offset(buffer);
    declarations_ += fmt::format("  const uint32_t {} = {}{};  // {}\n", identifier(buffer), call("shared_window", ""),
                                 offset == 0 ? "" : fmt::format(" + {}", offset), description(buffer));
  }

  void add_local(BufferId id, const Buffer& buffer, KernelText& result) {
    const std::string name = identifier(buffer);
    declarations_ += fmt::format("  uint32_t {}[{}];  // {}\n  {};\n", name, register_count(buffer), description(buffer),
                                 call("leave_undefined", name));
    if (!options_.dump) return;
    result.dumped.push_back(id);
    needed_.insert({ExprOp::tid, ExprOp::cta});
    if (dump_.empty()) dump_ = "\n  // Every thread writes out its registers.\n";
    dump_ += fmt::format("  dump_registers({0}, dump_{0}, cta * {1} + tid);\n", name, 32 * kernel_.launch.warps);
    functions_.need("dump_registers");
  }

  void dump_tensor_memory(KernelText& result) {
    result.dumps_tmem = true;
    needed_.insert(ExprOp::cta);
    dump_ += "\n  " + call("dump_tensor_memory", "dump_tensor_memory_to, cta") + ";\n";
  }

  void add_tmem(const Buffer& buffer) {
    const std::string base = buffer.slot ? "the address in " + identifier(kernel_.buffers[*buffer.slot])
                                         : fmt::format("column {}", buffer.base.value_or(0));
    declarations_ += fmt::format("  // {}: tensor memory from {}{} on, {}\n", buffer.name, base,
                                 buffer.column == 0 ? "" : fmt::format(" + {}", buffer.column), description(buffer));
  }

  void initial_values() {
    for (const BufferId id : initialised_shared(kernel_)) {
      initialised_.insert(id);
      initial_value(kernel_.buffers[id]);
    }
  }

  void initial_value(const Buffer& buffer) {
    const Initial initial = initial_units(kernel_, buffer);
    const std::string slots = initial.bytes * 8 == bits(buffer.dtype) ? slot_function(buffer, "__device__ inline") : "";
    constants_ += slots;
    const std::string slot = slots.empty() ? "i" : slot_function_name(buffer) + "(i)";
    std::string value = fmt::format("{:#x}", initial.units.at(0));
    if (!all_equal(initial.units)) {
      constants_ += initial_array(buffer, initial);
      value = initial_name(buffer) + "[i]";
    }
    if (initial.bytes == 8) value = fmt::format("uint32_t({0}), uint32_t(uint64_t({0}) >> 32)", value);
    needed_.insert(ExprOp::tid);
    setup_ +=
        fmt::format("  // Initial values of {}.\n  for (int i = tid; i < {}; i += {}) {}({} + {}, {});\n  __syncthreads();\n",
                    buffer.name, initial.units.size(), 32 * kernel_.launch.warps,
                    functions_.need_store(Window::shared, Sem::weak, MemScope::cta, initial.bytes), identifier(buffer),
                    initial.bytes == 1 ? slot : fmt::format("{} * {}", initial.bytes, slot), value);
  }

  // The shared memory of a peer exists, with its initial values, from its start to its end. A program with cluster barriers of its
  // own takes care of the end itself (the simulator reports accesses to a CTA that may have exited), and it may have arrived
  // without waiting: another arrival would be wrong.
  void peers() {
    if (!cuda_.uses_peers()) return;
    functions_.need("cluster_sync");
    setup_ += "  cluster_sync();  // the other CTAs of the cluster have started\n\n";
    if (cuda_.syncs_cluster_itself()) return;
    dump_ += "\n  cluster_sync();  // nobody leaves while its shared memory may be in use\n";
  }

  std::string coordinates() {
    std::set<ExprOp> all = cuda_.coordinates();
    all.insert(needed_.begin(), needed_.end());
    std::string text;
    for (const ExprOp op : all) text += fmt::format("  const int {} = {};\n", spelling(op), coordinate(op));
    return text;
  }

  std::string coordinate(ExprOp op) {
    switch (op) {
      case ExprOp::tid:
        return "threadIdx.x";
      case ExprOp::lane:
        return "threadIdx.x % 32";
      case ExprOp::warp:
        return "threadIdx.x / 32";
      case ExprOp::wg:
        return "threadIdx.x / 128";
      case ExprOp::cta:
        return "blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)";
      case ExprOp::rank:
        return cluster_size(kernel_.launch) == 1 ? "0" : call("cluster_rank", "");
      default:
        throw std::logic_error("no coordinate of a thread");
    }
  }

  std::string signature(const KernelText& result) const {
    std::vector<std::string> parameters;
    for (const BufferId id : result.parameters) parameters.push_back("uint8_t* " + identifier(kernel_.buffers[id]));
    for (const BufferId id : result.dumped) parameters.push_back("uint32_t* dump_" + identifier(kernel_.buffers[id]));
    if (result.dumps_tmem) parameters.push_back("uint32_t* dump_tensor_memory_to");
    std::string text;
    for (const BufferId id : result.parameters) {
      text += fmt::format("// {}: {}\n", identifier(kernel_.buffers[id]), description(kernel_.buffers[id]));
    }
    return fmt::format("\n{}__global__ void __launch_bounds__({}) {}({}) {{\n", text, 32 * kernel_.launch.warps,
                       kernel_identifier(kernel_.name), fmt::join(parameters, ", "));
  }

  const Kernel& kernel_;
  const Options& options_;
  DeviceFunctions& functions_;
  Cuda cuda_;
  std::string constants_, declarations_, setup_, dump_;
  std::set<ExprOp> needed_;
  std::set<BufferId> initialised_;
};

}  // namespace

std::string slot_function_name(const Buffer& buffer) { return "slot_" + identifier(buffer); }

bool is_row_major(const Buffer& buffer) {
  const Expr index = Expr::loop("x");
  return slot_of_index(buffer, index) == index;
}

std::string slot_function(const Buffer& buffer, std::string_view qualifiers) {
  if (is_row_major(buffer)) return "";
  const Expr slot = slot_of_index(buffer, Expr::loop("x"));
  const ExpressionContext context{
      [&](const Expr&) {
        return Leaf{"x", {0, element_count(buffer) - 1}};
      },
      [&](std::string_view) { throw Unsupported("slots of " + buffer.name + " leave 32 bits", buffer.at); }};
  return fmt::format(
      "\n// Where the element of {} with row-major index x stands, in elements: {}\n{} int {}(int{}) {{ return {}; }}\n",
      buffer.name, comment_text(to_string(layout_of(buffer))), qualifiers, slot_function_name(buffer),
      slot.as_constant() ? "" : " x", expression_text(slot, context));
}

KernelText kernel_text(const Kernel& kernel, const Options& options, DeviceFunctions& functions) {
  for (const Buffer& buffer : kernel.buffers) {
    if (!is_plain_name(buffer.name)) {
      throw Unsupported(
          fmt::format("a buffer is called '{}': only letters, digits and _ can be emitted", comment_text(buffer.name)),
          buffer.at);
    }
  }
  return KernelWriter(kernel, options, functions).write();
}

}  // namespace tmemsim::emit
