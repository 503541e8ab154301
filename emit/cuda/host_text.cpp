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

constexpr std::string_view npy_texts = R"cuda(
// "(32,8)", "(32,)": a shape as NumPy prints it, without spaces.
std::string shape_text(const std::vector<long long>& shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}
)cuda";

constexpr std::string_view npy_reader = R"cuda(
// The elements of IN/name.npy, which must have the type and shape of the buffer, in C order.
std::vector<uint8_t> read_npy(const std::string& path, const std::string& descr, const std::vector<long long>& shape, size_t bytes) {
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
  header.erase(std::remove(header.begin(), header.end(), ' '), header.end());
  for (const std::string& needed : {"'descr':'" + descr + "'", std::string("'fortran_order':False"), "'shape':" + shape_text(shape)}) {
    if (header.find(needed) == std::string::npos) fail(2, path + ": the array must have " + needed + ", but its header is " + header);
  }
  std::vector<uint8_t> data(bytes);
  file.read(reinterpret_cast<char*>(data.data()), std::streamsize(bytes));
  if (!file || file.peek() != std::ifstream::traits_type::eof()) fail(2, path + " does not hold " + std::to_string(bytes) + " bytes of data");
  return data;
}
)cuda";

constexpr std::string_view npy_writer = R"cuda(
// Written under another name and renamed: the file is whole or not there.
void write_npy(const std::string& path, const std::string& descr, const std::vector<long long>& shape, const std::vector<uint8_t>& data) {
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

class HostWriter {
 public:
  HostWriter(const Kernel& kernel, const KernelText& function) : kernel_(kernel), function_(function) {
    for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
      if (kernel.buffers[i].space == Space::global) globals_.push_back(static_cast<BufferId>(i));
    }
  }

  std::string write() {
    std::string text = slot_functions();
    const bool dumps = !function_.dumped.empty();
    text += "\nnamespace {\n" + std::string(errors);
    if (!globals_.empty() || dumps) text += npy_texts;
    if (any_input()) text += npy_reader;
    if (!globals_.empty() || dumps) text += npy_writer;
    text += buffer_type() + placing() + "\n}  // namespace\n" + main_function();
    return text;
  }

 private:
  const Buffer& buffer(BufferId id) const { return kernel_.buffers[id]; }

  template <class Test>
  bool any(Test test) const {
    return std::any_of(globals_.begin(), globals_.end(), [&](BufferId id) { return test(buffer(id)); });
  }
  bool any_input() const {
    return any([](const Buffer& b) { return b.init.has_value(); });
  }
  bool any_layout() const {
    return any([](const Buffer& b) { return !is_row_major(b); });
  }
  bool any_packed() const {
    return any([](const Buffer& b) { return bits(b.dtype) < 8; });
  }

  std::string slot_functions() const {
    std::string text;
    for (const BufferId id : globals_) text += slot_function(buffer(id), "static");
    return text;
  }

  std::string buffer_type() const {
    if (globals_.empty()) return "";
    std::string text = R"cuda(
struct GlobalBuffer {
  std::string name;
  std::string descr;                // element type in .npy files
  std::vector<long long> shape;
  size_t file_bytes, device_bytes;  // of all elements; on the device with what the layout leaves free
  bool initialised;                 // IN/name.npy is read
)cuda";
    if (any_layout()) text += "  int (*slot)(int);                 // where a row-major element stands; null: the same place\n";
    if (any_packed())
      text += "  int bits;                         // of one element on the device; below 8, files hold one byte an element\n";
    return text + "  uint8_t* device = nullptr;\n};\n";
  }

  // Row-major buffers of whole bytes are the same in the file and on the device.
  std::string placing() const {
    if (!any_layout() && !any_packed()) return "";
    std::string text;
    if (any_packed()) {
      text += R"cuda(
void copy_bits(uint8_t* to, size_t to_bit, const uint8_t* from, size_t from_bit, int count) {
  for (int i = 0; i < count; ++i, ++to_bit, ++from_bit) {
    const int bit = from[from_bit / 8] >> (from_bit % 8) & 1;
    to[to_bit / 8] = uint8_t((to[to_bit / 8] & ~(1 << to_bit % 8)) | bit << to_bit % 8);
  }
}
)cuda";
    }
    return text + placing_function("to_device", "the file's elements into the device image", true) +
           placing_function("from_device", "the elements of the device image in the order of the file", false);
  }

  std::string placing_function(std::string_view name, std::string_view what, bool to_device) const {
    const std::string slot = any_layout() ? "buffer.slot ? size_t(buffer.slot(int(x))) : x" : "x";
    std::string text = fmt::format(
        "\n// Puts {}.\nvoid {}(const GlobalBuffer& buffer, {}std::vector<uint8_t>& file, {}std::vector<uint8_t>& device) {{\n",
        what, name, to_device ? "const " : "", to_device ? "" : "const ");
    text += "  size_t count = 1;\n  for (const long long extent : buffer.shape) count *= size_t(extent);\n";
    text += "  const size_t size = buffer.file_bytes / count;\n  for (size_t x = 0; x < count; ++x) {\n";
    text += fmt::format("    const size_t slot = {};\n", slot);
    const std::string copy = to_device ? "std::memcpy(&device[slot * size], &file[x * size], size);"
                                       : "std::memcpy(&file[x * size], &device[slot * size], size);";
    if (!any_packed()) return text + "    " + copy + "\n  }\n}\n";
    const std::string copy_bits =
        to_device ? "copy_bits(device.data(), slot * size_t(buffer.bits), file.data(), 8 * x, buffer.bits);"
                  : "copy_bits(file.data(), 8 * x, device.data(), slot * size_t(buffer.bits), buffer.bits);";
    return text + "    if (buffer.bits < 8) {\n      " + copy_bits + "\n    } else {\n      " + copy + "\n    }\n  }\n}\n";
  }

  std::string buffer_table() const {
    if (globals_.empty()) return "";
    std::string text = "  std::vector<GlobalBuffer> buffers = {\n";
    for (const BufferId id : globals_) {
      const Buffer& b = buffer(id);
      const std::int64_t file_bytes = element_count(b) * (bits(npy_storage(b.dtype)) / 8);
      text += fmt::format("      {{{}, {}, {{{}}}, {}, {}, {}", string_literal(b.name), string_literal(npy_descr(b.dtype)),
                          fmt::join(b.shape, ", "), file_bytes, byte_size(b), b.init ? "true" : "false");
      if (any_layout()) text += is_row_major(b) ? ", nullptr" : ", " + slot_function_name(b);
      if (any_packed()) text += fmt::format(", {}", bits(b.dtype));
      text += "},\n";
    }
    return text + "  };\n";
  }

  std::string fill_buffers() const {
    if (globals_.empty()) return "";
    const bool placed = any_layout() || any_packed();
    std::string text = fmt::format(R"cuda(  for (GlobalBuffer& buffer : buffers) {{
    std::vector<uint8_t> image(buffer.device_bytes, {:#x});  // never zero by accident: what is not initialised shows
)cuda",
                                   never_written);
    if (any_input()) {
      text +=
          "    if (buffer.initialised) {\n"
          "      const std::vector<uint8_t> file = read_npy(in + buffer.name + \".npy\", buffer.descr, buffer.shape, "
          "buffer.file_bytes);\n";
      text += placed ? "      to_device(buffer, file, image);\n    }\n" : "      image = file;\n    }\n";
    }
    return text + R"cuda(    check(cudaMalloc(&buffer.device, image.size()), "cudaMalloc");
    check(cudaMemcpy(buffer.device, image.data(), image.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
)cuda";
  }

  std::string write_buffers() const {
    if (globals_.empty()) return "";
    const bool placed = any_layout() || any_packed();
    std::string text = R"cuda(  for (const GlobalBuffer& buffer : buffers) {
    std::vector<uint8_t> image(buffer.device_bytes);
    check(cudaMemcpy(image.data(), buffer.device, image.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
)cuda";
    if (placed) text += "    std::vector<uint8_t> file(buffer.file_bytes);\n    from_device(buffer, file, image);\n";
    return text + fmt::format("    write_npy(out + buffer.name + \".npy\", buffer.descr, buffer.shape, {});\n  }}\n",
                              placed ? "file" : "image");
  }

  std::string dump_allocation() const {
    std::string text;
    for (const BufferId id : function_.dumped) {
      text += fmt::format("  uint32_t* dump_{0} = nullptr;\n  check(cudaMalloc(&dump_{0}, {1}), \"cudaMalloc\");\n",
                          identifier(buffer(id)), dump_bytes(id));
    }
    return text;
  }

  std::string write_dumps() const {
    std::string text;
    for (const BufferId id : function_.dumped) {
      text += fmt::format(R"cuda(  {{
    std::vector<uint8_t> registers({1});
    check(cudaMemcpy(registers.data(), dump_{0}, registers.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    write_npy(out + {2}, "<u4", {{{3}, {4}, {5}}}, registers);
  }}
)cuda",
                          identifier(buffer(id)), dump_bytes(id), string_literal(buffer(id).name + ".registers.npy"),
                          cta_count(kernel_.launch), 32 * kernel_.launch.warps, register_count(buffer(id)));
    }
    return text;
  }

  std::uint64_t dump_bytes(BufferId id) const {
    return std::uint64_t{4} * cta_count(kernel_.launch) * 32 * kernel_.launch.warps *
           static_cast<std::uint64_t>(register_count(buffer(id)));
  }

  std::string arguments() const {
    std::vector<std::string> pointers;
    for (const BufferId id : function_.parameters) {
      const auto position = std::find(globals_.begin(), globals_.end(), id) - globals_.begin();
      pointers.push_back(fmt::format("&buffers[{}].device", position));
    }
    for (const BufferId id : function_.dumped) pointers.push_back("&dump_" + identifier(buffer(id)));
    return pointers.empty() ? "" : fmt::format("  void* arguments[] = {{{}}};\n", fmt::join(pointers, ", "));
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
    const std::string pointers = arguments();
    text += pointers;
    text += fmt::format("  check(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>({}), {}), \"launch\");\n", name,
                        pointers.empty() ? "nullptr" : "arguments");
    return text + "  check(cudaDeviceSynchronize(), \"kernel\");\n";
  }

  std::string main_function() const {
    const bool outputs = !globals_.empty() || !function_.dumped.empty();
    std::string text =
        "\nint main(int argc, char** argv) {\n  if (argc != 3) fail(2, std::string(\"usage: \") + argv[0] + \" IN OUT\");\n";
    if (any_input()) text += "  const std::string in = std::string(argv[1]) + \"/\";\n";
    if (outputs) {
      text +=
          "  const std::string out = std::string(argv[2]) + \"/\";\n  std::error_code error;\n"
          "  std::filesystem::create_directories(out, error);\n  if (error) fail(2, \"cannot make the folder \" + out);\n";
    }
    text +=
        "  int devices = 0;\n  check(cudaGetDeviceCount(&devices), \"cudaGetDeviceCount\");\n"
        "  if (devices == 0) fail(3, \"CUDA error: no device\");\n";
    return text + buffer_table() + fill_buffers() + dump_allocation() + launch() + write_buffers() + write_dumps() + "}\n";
  }

  const Kernel& kernel_;
  const KernelText& function_;
  std::vector<BufferId> globals_;
};

}  // namespace

std::string host_text(const Kernel& kernel, const KernelText& function) { return HostWriter(kernel, function).write(); }

}  // namespace tmemsim::emit
