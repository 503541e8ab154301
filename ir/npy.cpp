#include "ir/npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/atomic_file.hpp"

namespace tmemsim {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_header = 65536;
constexpr std::size_t most_dimensions = 32;

struct Descr {
  std::string_view text;  // without the byte order
  Dtype dtype;
};
constexpr std::array<Descr, 10> descrs{{{"f2", Dtype::f16},
                                        {"f4", Dtype::f32},
                                        {"f8", Dtype::f64},
                                        {"u1", Dtype::u8},
                                        {"i1", Dtype::s8},
                                        {"u2", Dtype::u16},
                                        {"i2", Dtype::s16},
                                        {"u4", Dtype::u32},
                                        {"i4", Dtype::s32},
                                        {"u8", Dtype::u64}}};

Reason reason(std::string text) { return {std::move(text), {}, {}, {}}; }

struct Header {
  Dtype dtype = Dtype::u8;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// The header is the text of a Python dict with the keys descr, fortran_order and shape.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  Result<Header> parse() {
    if (!take('{')) return malformed();
    bool seen_descr = false, seen_order = false, seen_shape = false;
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':')) return malformed();
      if (*key == "descr" && !seen_descr) {
        seen_descr = true;
        if (auto wrong = descr()) return *wrong;
      } else if (*key == "fortran_order" && !seen_order) {
        seen_order = true;
        if (!boolean()) return malformed();
      } else if (*key == "shape" && !seen_shape) {
        seen_shape = true;
        if (auto wrong = shape()) return *wrong;
      } else {
        return malformed();
      }
      if (!take(',') && !next_is('}')) return malformed();
    }
    skip_space();
    if (!rest_.empty() || !seen_descr || !seen_order || !seen_shape) return malformed();
    return header_;
  }

 private:
  static Reason malformed() { return reason("the .npy header is malformed"); }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r"), rest_.size())); }
  bool next_is(char c) {
    skip_space();
    return !rest_.empty() && rest_[0] == c;
  }
  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string_view> quoted() {
    const char quote = next_is('\'') ? '\'' : '"';
    if (!take(quote)) return std::nullopt;
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool boolean() {
    header_.fortran_order = take_word("True");
    return header_.fortran_order || take_word("False");
  }

  std::optional<Reason> descr() {
    if (next_is('[')) return reason("the array has named fields; save one field as an array of its own");
    const auto text = quoted();
    if (!text || text->empty()) return malformed();
    const char order = (*text)[0];
    const bool has_order = std::string_view("<>|=").find(order) != std::string_view::npos;
    const std::string_view type = text->substr(has_order ? 1 : 0);
    for (const Descr& known : descrs) {
      if (known.text != type) continue;
      header_.dtype = known.dtype;
      header_.big_endian = order == '>';
      return std::nullopt;
    }
    return reason(fmt::format("the array's type '{}' is not supported; save it with .astype() as one of {}", printable(*text),
                              supported_types()));
  }

  static std::string supported_types() {
    std::vector<std::string_view> names;
    for (const Descr& known : descrs) names.push_back(known.text);
    return fmt::format("{}", fmt::join(names, " "));
  }

  static std::string printable(std::string_view text) {
    std::string shown(text.substr(0, 40));
    for (char& c : shown) {
      if (c < 0x20 || c >= 0x7f) c = '?';
    }
    return shown;
  }

  std::optional<Reason> shape() {
    if (!take('(')) return malformed();
    while (!take(')')) {
      std::int64_t extent = 0;
      skip_space();
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) return malformed();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      take_word("L");  // Python 2 wrote its long integers so
      header_.shape.push_back(extent);
      if (header_.shape.size() > most_dimensions) {
        return reason(fmt::format("the array has more than {} dimensions", most_dimensions));
      }
      if (!take(',') && !next_is(')')) return malformed();
    }
    return std::nullopt;
  }

  std::string_view rest_;
  Header header_;
};

std::uint64_t element_bytes(Dtype dtype) { return static_cast<std::uint64_t>(bits(dtype)) / 8; }

// Bytes of the data, or nothing when they are more than largest_npy_data.
std::optional<std::uint64_t> data_bytes(const Header& header) {
  if (std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end()) return 0;
  std::uint64_t bytes = element_bytes(header.dtype);
  for (const std::int64_t extent : header.shape) {
    if (static_cast<std::uint64_t>(extent) > largest_npy_data / bytes) return std::nullopt;
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

struct Prefix {
  std::size_t header_begin, header_size;
};

// What stands before the header's text: magic, version, length.
Result<Prefix> parse_prefix(std::string_view bytes) {
  if (bytes.substr(0, magic.size()) != magic) return reason("this is no .npy file (its first bytes are not \\x93NUMPY)");
  if (bytes.size() < 12) return reason("the .npy file is truncated inside its header");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) {
    return reason(fmt::format(".npy format version {} is not supported; versions 1 to 3 are", version));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t size = little_endian(bytes.substr(8, length_bytes));
  if (size > longest_header) {
    return reason(fmt::format("the .npy header claims {} bytes; at most {} are accepted", size, longest_header));
  }
  return Prefix{8 + length_bytes, size};
}

// `file_size` is the size of the whole file, of which `bytes` holds at least the header.
Result<Header> parse_header(std::string_view bytes, std::uint64_t file_size) {
  const auto prefix = parse_prefix(bytes);
  if (!prefix) return prefix.reason();
  if (bytes.size() - prefix->header_begin < prefix->header_size) {
    return reason("the .npy file is truncated inside its header");
  }
  auto header = HeaderParser(bytes.substr(prefix->header_begin, prefix->header_size)).parse();
  if (!header) return header;
  const auto wanted = data_bytes(*header);
  const std::string what = fmt::format("{} of shape ({})", name(header->dtype), fmt::join(header->shape, ", "));
  if (!wanted) return reason(fmt::format("the array is too large: {} takes more than 1 GiB", what));
  const std::uint64_t found = file_size - prefix->header_begin - prefix->header_size;
  if (found < *wanted) {
    return reason(fmt::format("the .npy file is truncated: {} takes {} bytes, {} are there", what, *wanted, found));
  }
  if (found > *wanted) {
    return reason(
        fmt::format("the .npy file is longer than its shape says: {} takes {} bytes, {} are there", what, *wanted, found));
  }
  return header;
}

void swap_bytes(std::vector<std::byte>& data, std::size_t element) {
  for (std::size_t at = 0; at + element <= data.size(); at += element) {
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(at + element));
  }
}

// Copies elements so that the last index runs fastest; in `data` the first one does.
std::vector<std::byte> to_c_order(const std::vector<std::byte>& data, const std::vector<std::int64_t>& shape,
                                  std::size_t element) {
  std::vector<std::size_t> stride(shape.size()), index(shape.size(), 0);
  std::size_t step = element;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= static_cast<std::size_t>(shape[d]);
  }
  std::vector<std::byte> ordered(data.size());
  std::size_t from = 0;
  for (std::size_t to = 0; to < ordered.size(); to += element) {
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(from), element, ordered.begin() + static_cast<std::ptrdiff_t>(to));
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < static_cast<std::size_t>(shape[d])) break;
      from -= stride[d] * index[d];
      index[d] = 0;
    }
  }
  return ordered;
}

NpyArray in_memory_order(Header header, std::vector<std::byte> data) {
  const std::size_t element = element_bytes(header.dtype);
  if (header.big_endian && element > 1) swap_bytes(data, element);
  if (header.fortran_order && header.shape.size() > 1) data = to_c_order(data, header.shape, element);
  return {header.dtype, std::move(header.shape), std::move(data)};
}

}  // namespace

Dtype npy_storage(Dtype dtype) {
  switch (dtype) {
    case Dtype::tf32:
      return Dtype::f32;
    case Dtype::bf16:
      return Dtype::u16;
    case Dtype::e4m3:
    case Dtype::e5m2:
    case Dtype::e3m2:
    case Dtype::e2m3:
    case Dtype::e2m1:
      return Dtype::u8;
    case Dtype::mbarrier:
      return Dtype::u64;
    default:
      return dtype;
  }
}

Result<NpyArray> parse_npy(std::string_view bytes) {
  auto header = parse_header(bytes, bytes.size());
  if (!header) return header.reason();
  const std::string_view tail = bytes.substr(bytes.size() - *data_bytes(*header));
  std::vector<std::byte> data(tail.size());
  std::transform(tail.begin(), tail.end(), data.begin(), [](char c) { return static_cast<std::byte>(c); });
  return in_memory_order(std::move(*header), std::move(data));
}

Result<NpyArray> read_npy(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return reason(fmt::format("{} does not exist", path.string()));
  if (!std::filesystem::is_regular_file(status)) return reason(fmt::format("{} is no file", path.string()));
  std::ifstream file(path, std::ios::binary);
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (!file || error) return reason(fmt::format("{} cannot be read", path.string()));

  std::string start(std::min<std::uint64_t>(size, longest_header + 12), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  auto header = parse_header(start, size);
  if (!header) return reason(fmt::format("{}: {}", path.string(), header.reason().text));

  const std::uint64_t wanted = *data_bytes(*header);
  std::vector<std::byte> data(wanted);
  file.clear();
  file.seekg(static_cast<std::streamoff>(size - wanted));
  file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(wanted));
  if (static_cast<std::uint64_t>(file.gcount()) != wanted)
    return reason(fmt::format("{} changed while it was read", path.string()));
  return in_memory_order(std::move(*header), std::move(data));
}

std::string npy_bytes(Dtype dtype, std::span<const std::int64_t> shape, std::span<const std::byte> data) {
  const auto descr = std::find_if(descrs.begin(), descrs.end(), [&](const Descr& known) { return known.dtype == dtype; });
  if (descr == descrs.end()) throw std::logic_error(fmt::format(".npy has no type for {}; see npy_storage", name(dtype)));
  if (data_bytes({dtype, false, false, {shape.begin(), shape.end()}}) != data.size()) {
    throw std::logic_error("the data does not have the size of its shape");
  }
  const char order = element_bytes(dtype) == 1 ? '|' : '<';
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order, descr->text,
                                   fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // NumPy aligns the data to 64 bytes with spaces, and ends the header with a newline.
  header.append(63 - (magic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(magic);
  bytes += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
  return bytes;
}

void write_npy(const std::filesystem::path& path, const NpyArray& array) {
  write_file_atomically(path, npy_bytes(array.dtype, array.shape, array.data));
}

}  // namespace tmemsim
