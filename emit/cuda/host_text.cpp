// The host program around a kernel.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "emit/cuda/identifier.hpp"
#include "emit/cuda/program.hpp"
#include "ir/npy.hpp"

namespace tmemsim::emit {
namespace {

// Element type of a .npy file: byte order, kind, bytes.
std::string npy_descr(Dtype dtype) {
  const Dtype stored = npy_storage(dtype);
  const char kind = is_float(stored) ? 'f' : facts(stored).kind == DtypeKind::signed_integer ? 'i' : 'u';
  const int bytes = bits(stored) / 8;
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
}

constexpr std::string_view errors = R"cuda(
[[noreturn]] void fail(int status, const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(status);
}

void check(cudaError_t error, const std::string& what) {
  if (error != cudaSuccess) fail(3, "CUDA error: " + what + ": " + cudaGetErrorString(error));
}
)cuda";

// In a batch the line of an error names the kernel.
constexpr std::string_view batch_errors = R"cuda(
int running = -1;  // the kernel, by number

[[noreturn]] void fail(int status, const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(status);
}

void check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return;
  const std::string kernel = running < 0 ? "" : "kernel " + std::to_string(running) + ": ";
  fail(3, "CUDA error: " + kernel + what + ": " + cudaGetErrorString(error));
}
)cuda";

constexpr std::string_view npy_texts = R"cuda(
// "(32, 8)", "(32,)": a shape as NumPy prints it.
std::string shape_text(const std::vector<long long>& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}
)cuda";

constexpr std::string_view npy_reader = R"cuda(
std::string without_spaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

// The elements of IN/name.npy, which must have the type and shape of the buffer, in C order.
std::vector<uint8_t> read_npy(const std::string& path, const std::string& descr, const std::vector<long long>& shape,
                              size_t bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(2, "cannot read " + path);
  char start[12] = {};
  file.read(start, 10);
  const bool long_header = start[6] != 1;
  if (long_header) file.read(start + 10, 2);
  if (!file || std::memcmp(start, "\x93NUMPY", 6) != 0) fail(2, path + " is no .npy file");
  size_t length = 0;
  for (int i = long_header ? 4 : 2; i-- > 0;) length = length << 8 | uint8_t(start[8 + i]);
  if (length > 65536) fail(2, path + ": the header is too long");
  std::string header(length, ' ');
  file.read(&header[0], std::streamsize(length));
  header.erase(header.find_last_not_of(" \n") + 1);
  const std::string order = "'fortran_order': False";
  for (const std::string& needed : {"'descr': '" + descr + "'", order, "'shape': " + shape_text(shape)}) {
    const bool found = without_spaces(header).find(without_spaces(needed)) != std::string::npos;
    if (!found) fail(2, path + ": the array must have " + needed + ", but its header is " + header);
  }
  std::vector<uint8_t> data(bytes);
  file.read(reinterpret_cast<char*>(data.data()), std::streamsize(bytes));
  const bool whole = file && file.peek() == std::ifstream::traits_type::eof();
  if (!whole) fail(2, path + " does not hold " + std::to_string(bytes) + " bytes of data");
  return data;
}
)cuda";

constexpr std::string_view npy_writer = R"cuda(
// Written under another name and renamed: the file is whole or not there.
void write_npy(const std::string& path, const std::string& descr, const std::vector<long long>& shape,
               const std::vector<uint8_t>& data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary);
  file.write("\x93NUMPY\x01\x00", 8);
  file.put(char(header.size() & 255)).put(char(header.size() >> 8));
  file << header;
  file.write(reinterpret_cast<const char*>(data.data()), std::streamsize(data.size()));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(temporary, path, error);
  if (!file || error) fail(2, "cannot write " + path);
}
)cuda";

std::vector<BufferId> globals_of(const Kernel& kernel) {
  std::vector<BufferId> ids;
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
    if (kernel.buffers[i].space == Space::global) ids.push_back(static_cast<BufferId>(i));
  }
  return ids;
}

// Writes what the host parts of all kernels of a program share.
class CommonWriter {
 public:
  explicit CommonWriter(const HostNeeds& needs) : needs_(needs) {}

  std::string write() const {
    std::string text = "\nnamespace {\n" + std::string(needs_.batch ? batch_errors : errors);
    if (needs_.outputs) text += npy_texts;
    if (needs_.inputs) text += npy_reader;
    if (needs_.outputs) text += npy_writer;
    if (needs_.globals) text += buffer_type() + placing();
    return text + "\n}  // namespace\n";
  }

 private:
  std::string buffer_type() const {
    std::string text = R"cuda(
struct GlobalBuffer {
  std::string name;
  std::string descr;                // element type in .npy files
  std::vector<long long> shape;
  size_t file_bytes, device_bytes;  // of all elements; on the device with what the layout leaves free
  bool initialised;                 // IN/name.npy is read
)cuda";
    if (needs_.layouts)
      text += "  int (*slot)(int);                 // where a row-major element stands; null: the same place\n";
    if (needs_.packed)
      text += "  int bits;                         // of one element on the device; below 8, files hold one byte an element\n";
    return text + "  uint8_t* device = nullptr;\n};\n";
  }

  // Row-major buffers of whole bytes are the same in the file and on the device.
  std::string placing() const {
    if (!needs_.layouts && !needs_.packed) return "";
    std::string text;
    if (needs_.packed) {
      text += R"cuda(
void copy_bits(uint8_t* to, size_t to_bit, const uint8_t* from, size_t from_bit, int count) {
  for (int i = 0; i < count; ++i, ++to_bit, ++from_bit) {
    const int bit = from[from_bit / 8] >> (from_bit % 8) & 1;
    to[to_bit / 8] = uint8_t((to[to_bit / 8] & ~(1 << to_bit % 8)) | bit << to_bit % 8);
  }
}
)cuda";
    }
    if (needs_.inputs) text += placing_function("to_device", "the file's elements into the device image", true);
    return text + placing_function("from_device", "the elements of the device image in the order of the file", false);
  }

  std::string placing_function(std::string_view name, std::string_view what, bool to_device) const {
    const std::string slot = needs_.layouts ? "buffer.slot ? size_t(buffer.slot(int(x))) : x" : "x";
    std::string text = fmt::format(
        "\n// Puts {}.\nvoid {}(const GlobalBuffer& buffer, {}std::vector<uint8_t>& file, {}std::vector<uint8_t>& device) {{\n",
        what, name, to_device ? "const " : "", to_device ? "" : "const ");
    text += "  size_t count = 1;\n  for (const long long extent : buffer.shape) count *= size_t(extent);\n";
    text += "  const size_t size = buffer.file_bytes / count;\n  for (size_t x = 0; x < count; ++x) {\n";
    text += fmt::format("    const size_t slot = {};\n", slot);
    const std::string copy = to_device ? "std::memcpy(&device[slot * size], &file[x * size], size);"
                                       : "std::memcpy(&file[x * size], &device[slot * size], size);";
    if (!needs_.packed) return text + "    " + copy + "\n  }\n}\n";
    const std::string copy_bits =
        to_device ? "copy_bits(device.data(), slot * size_t(buffer.bits), file.data(), 8 * x, buffer.bits);"
                  : "copy_bits(file.data(), 8 * x, device.data(), slot * size_t(buffer.bits), buffer.bits);";
    return text + "    if (buffer.bits < 8) {\n      " + copy_bits + "\n    } else {\n      " + copy + "\n    }\n  }\n}\n";
  }

  const HostNeeds& needs_;
};

// Writes the function that reads, launches and writes for one kernel.
class RunWriter {
 public:
  RunWriter(const Kernel& kernel, const KernelText& function, const HostNeeds& needs, Backend backend)
      : kernel_(kernel), function_(function), needs_(needs), backend_(backend), globals_(globals_of(kernel)) {}

  std::string write() const {
    const bool reads = std::any_of(globals_.begin(), globals_.end(), [&](BufferId id) { return buffer(id).init.has_value(); });
    const bool writes = !globals_.empty() || !dumps().empty();
    return slot_functions() +
           fmt::format("\nstatic void run(const std::string&{}, const std::string&{}) {{\n", reads ? " in" : "",
                       writes ? " out" : "") +
           buffer_table() + fill_buffers(reads) + tensor_memory() + dump_allocation() + launch() + write_buffers() +
           write_dumps() + free_memory() + "}\n";
  }

 private:
  const Buffer& buffer(BufferId id) const { return kernel_.buffers[id]; }

  std::string slot_functions() const {
    std::string text;
    for (const BufferId id : globals_) text += slot_function(buffer(id), "static");
    return text;
  }

  std::string buffer_table() const {
    if (globals_.empty()) return "";
    std::string text = "  std::vector<GlobalBuffer> buffers = {\n";
    for (const BufferId id : globals_) {
      const Buffer& b = buffer(id);
      const std::int64_t file_bytes = element_count(b) * (bits(npy_storage(b.dtype)) / 8);
      text += fmt::format("      {{{}, {}, {{{}}}, {}, {}, {}", string_literal(b.name), string_literal(npy_descr(b.dtype)),
                          fmt::join(b.shape, ", "), file_bytes, byte_size(b), b.init ? "true" : "false");
      if (needs_.layouts) text += is_row_major(b) ? ", nullptr" : ", " + slot_function_name(b);
      if (needs_.packed) text += fmt::format(", {}", bits(b.dtype));
      text += "},\n";
    }
    return text + "  };\n";
  }

  std::string fill_buffers(bool reads) const {
    if (globals_.empty()) return "";
    const bool placed = needs_.layouts || needs_.packed;
    std::string text = fmt::format(R"cuda(  for (GlobalBuffer& buffer : buffers) {{
    std::vector<uint8_t> image(buffer.device_bytes, {:#x});  // never zero by accident: what is not initialised shows
)cuda",
                                   never_written);
    if (reads) {
      const std::string read = "read_npy(in + buffer.name + \".npy\", buffer.descr, buffer.shape, buffer.file_bytes)";
      text += fmt::format("    if (buffer.initialised) {};\n",
                          placed ? "to_device(buffer, " + read + ", image)" : "image = " + read);
    }
    return text + R"cuda(    check(cudaMalloc(&buffer.device, image.size()), "cudaMalloc");
    check(cudaMemcpy(buffer.device, image.data(), image.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
)cuda";
  }

  std::string write_buffers() const {
    if (globals_.empty()) return "";
    const bool placed = needs_.layouts || needs_.packed;
    std::string text = R"cuda(  for (const GlobalBuffer& buffer : buffers) {
    std::vector<uint8_t> image(buffer.device_bytes);
    check(cudaMemcpy(image.data(), buffer.device, image.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
)cuda";
    if (placed) text += "    std::vector<uint8_t> file(buffer.file_bytes);\n    from_device(buffer, file, image);\n";
    return text + fmt::format("    write_npy(out + buffer.name + \".npy\", buffer.descr, buffer.shape, {});\n  }}\n",
                              placed ? "file" : "image");
  }

  // An array of 32-bit words that the kernel writes out beside its buffers.
  struct Dump {
    std::string pointer, file;
    std::vector<std::uint64_t> shape;
  };
  std::vector<Dump> dumps() const {
    std::vector<Dump> all;
    const std::uint64_t ctas = cta_count(kernel_.launch);
    for (const BufferId id : function_.dumped) {
      all.push_back({"dump_" + identifier(buffer(id)),
                     buffer(id).name + ".registers.npy",
                     {ctas, 32 * kernel_.launch.warps, static_cast<std::uint64_t>(register_count(buffer(id)))}});
    }
    if (function_.dumps_tmem) all.push_back({"dump_tensor_memory_to", "tensor-memory.npy", {ctas, 128, 512}});
    return all;
  }
  static std::uint64_t bytes_of(const Dump& dump) { return 4 * dump.shape[0] * dump.shape[1] * dump.shape[2]; }

  std::string dump_allocation() const {
    std::string text;
    for (const Dump& dump : dumps()) {
      text += fmt::format(R"cuda(  uint32_t* {0} = nullptr;
  check(cudaMalloc(&{0}, {1}), "cudaMalloc");
  check(cudaMemset({0}, {2:#x}, {1}), "cudaMemset");
)cuda",
                          dump.pointer, bytes_of(dump), never_written);
    }
    return text;
  }

  std::string write_dumps() const {
    std::string text;
    for (const Dump& dump : dumps()) {
      text += fmt::format(R"cuda(  {{
    std::vector<uint8_t> words({1});
    check(cudaMemcpy(words.data(), {0}, words.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    write_npy(out + {2}, "<u4", {{{3}}}, words);
  }}
)cuda",
                          dump.pointer, bytes_of(dump), string_literal(dump.file), fmt::join(dump.shape, ", "));
    }
    return text;
  }

  std::string free_memory() const {
    std::string text;
    if (!globals_.empty()) {
      text += "  for (const GlobalBuffer& buffer : buffers) check(cudaFree(buffer.device), \"cudaFree\");\n";
    }
    for (const Dump& dump : dumps()) text += fmt::format("  check(cudaFree({}), \"cudaFree\");\n", dump.pointer);
    if (has_memories()) text += "  check(cudaFree(device_memories), \"cudaFree\");\n";
    return text;
  }

  std::string arguments() const {
    std::string text;
    for (const BufferId id : function_.parameters) {
      const auto position = std::find(globals_.begin(), globals_.end(), id) - globals_.begin();
      text += fmt::format(", buffers[{}].device", position);
    }
    for (const Dump& dump : dumps()) text += ", " + dump.pointer;
    return text;
  }

  std::string launch() const {
    const Launch& launch = kernel_.launch;
    const std::string name = kernel_identifier(kernel_.name);
    std::string text;
    if (function_.shared_bytes > 48 * 1024) {
      text += fmt::format(
          "  check(cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {}), \"shared memory above 48 "
          "KiB\");\n",
          name, function_.shared_bytes);
    }
    if (cluster_size(launch) > 8) {
      text += fmt::format(
          "  check(cudaFuncSetAttribute({}, cudaFuncAttributeNonPortableClusterSizeAllowed, 1), \"a cluster of more than "
          "8\");\n",
          name);
    }
    text += fmt::format(
        "  cudaLaunchConfig_t config = {{}};\n  config.gridDim = dim3({}, {}, {});\n  config.blockDim = dim3({});\n",
        launch.grid[0], launch.grid[1], launch.grid[2], 32 * launch.warps);
    if (function_.shared_bytes > 0) text += fmt::format("  config.dynamicSmemBytes = {};\n", function_.shared_bytes);
    if (cluster_size(launch) > 1) {
      text += fmt::format(R"cuda(  cudaLaunchAttribute cluster = {{}};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {{{}, {}, {}}};
  config.attrs = &cluster;
  config.numAttrs = 1;
)cuda",
                          launch.cluster[0], launch.cluster[1], launch.cluster[2]);
    }
    text += fmt::format("  check(cudaLaunchKernelEx(&config, {}{}), \"launch\");\n", name, arguments());
    return text + "  check(cudaDeviceSynchronize(), \"kernel\");\n";
  }

  bool has_memories() const { return backend_ != Backend::native && function_.uses_tmem; }

  // The emulated tensor memory of every CTA, all cells with the pattern of "never written".
  std::string tensor_memory() const {
    if (!has_memories()) return "";
    return fmt::format(R"cuda(  std::vector<emulated::TensorMemory> memories({});
  for (emulated::TensorMemory& memory : memories) {{
    std::memset(&memory, 0, sizeof(memory));
    for (auto& lane : memory.cell) std::fill(std::begin(lane), std::end(lane), emulated::never_written);
  }}
  emulated::TensorMemory* device_memories = nullptr;
  const size_t memories_bytes = memories.size() * sizeof(emulated::TensorMemory);
  check(cudaMalloc(&device_memories, memories_bytes), "cudaMalloc");
  check(cudaMemcpy(device_memories, memories.data(), memories_bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  check(cudaMemcpyToSymbol(emulated::tensor_memories, &device_memories, sizeof(device_memories)), "cudaMemcpyToSymbol");
)cuda",
                       cta_count(kernel_.launch));
  }

  const Kernel& kernel_;
  const KernelText& function_;
  const HostNeeds& needs_;
  Backend backend_;
  std::vector<BufferId> globals_;
};

}  // namespace

HostNeeds host_needs(const Kernel& kernel, const KernelText& function) {
  HostNeeds needs;
  for (const BufferId id : globals_of(kernel)) {
    const Buffer& buffer = kernel.buffers[id];
    needs.globals = needs.outputs = true;
    needs.inputs = needs.inputs || buffer.init;
    needs.layouts = needs.layouts || !is_row_major(buffer);
    needs.packed = needs.packed || bits(buffer.dtype) < 8;
  }
  needs.outputs = needs.outputs || !function.dumped.empty() || function.dumps_tmem;
  return needs;
}

std::string common_host_text(const HostNeeds& needs) { return CommonWriter(needs).write(); }

std::string run_text(const Kernel& kernel, const KernelText& function, const HostNeeds& needs, Backend backend) {
  return RunWriter(kernel, function, needs, backend).write();
}

namespace {

constexpr std::string_view need_device =
    "  int devices = 0;\n  check(cudaGetDeviceCount(&devices), \"cudaGetDeviceCount\");\n"
    "  if (devices == 0) fail(3, \"CUDA error: no device\");\n";

std::string folders(const HostNeeds& needs, std::string_view in, std::string_view out, std::string_view indent) {
  std::string text =
      fmt::format("{}const std::string in = std::string({}) + \"/\", out = std::string({}) + \"/\";\n", indent, in, out);
  if (!needs.outputs) return text;
  return text + fmt::format("{0}std::error_code error;\n{0}std::filesystem::create_directories(out, error);\n"
                            "{0}if (error) fail(2, \"cannot make the folder \" + out);\n",
                            indent);
}

}  // namespace

std::string main_text(const HostNeeds& needs) {
  return "\nint main(int argc, char** argv) {\n  if (argc != 3) fail(2, std::string(\"usage: \") + argv[0] + \" IN OUT\");\n" +
         folders(needs, "argv[1]", "argv[2]", "  ") + std::string(need_device) + "  run(in, out);\n}\n";
}

std::string batch_main_text(const HostNeeds& needs, std::size_t kernels) {
  std::string text = R"cuda(
int main(int argc, char** argv) {
  if (argc < 4 || argc % 3 != 1) fail(2, std::string("usage: ") + argv[0] + " N IN OUT [N IN OUT]...");
)cuda" + std::string(need_device) +
                     "  using Run = void (*)(const std::string&, const std::string&);\n  constexpr Run runs[] = {";
  for (std::size_t i = 0; i < kernels; ++i) {
    text += i == 0 ? "" : i % 10 == 0 ? ",\n                          " : ", ";
    text += fmt::format("k{}::run", i);
  }
  text += fmt::format(R"cuda(}};
  for (int i = 1; i < argc; i += 3) {{
    char* end = nullptr;
    const unsigned long number = std::strtoul(argv[i], &end, 10);
    if (end == argv[i] || *end != 0 || number >= {0}) fail(2, "there are kernels 0 to {1}");
)cuda",
                      kernels, kernels - 1);
  text += folders(needs, "argv[i + 1]", "argv[i + 2]", "    ");
  return text + R"cuda(    running = int(number);
    std::printf("run %d\n", running);
    std::fflush(stdout);
    runs[number](in, out);
    std::printf("done %d\n", running);
    std::fflush(stdout);
  }
}
)cuda";
}

}  // namespace tmemsim::emit
