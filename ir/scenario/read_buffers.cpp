#include "ir/scenario/read_buffers.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "ir/checked.hpp"
#include "ir/scenario/init_values.hpp"
#include "ir/scenario/safe_path.hpp"

namespace tmemsim::scenario {
namespace {

constexpr std::size_t most_buffers = 1024;
constexpr std::size_t most_dimensions = 16;
constexpr std::int64_t most_offset = std::int64_t{1} << 20;

// Keys of a buffer by space, behind "space dtype shape".
std::vector<std::string_view> keys_of(Space space) {
  std::vector<std::string_view> keys{"space", "dtype", "shape", "layout"};
  const auto add = [&](std::initializer_list<std::string_view> more) { keys.insert(keys.end(), more); };
  switch (space) {
    case Space::global:
      add({"init", "out"});
      break;
    case Space::shared:
      add({"init", "offset"});
      break;
    case Space::tmem:
      add({"base", "col"});
      break;
    case Space::local:
      break;
  }
  return keys;
}

class BufferReader {
 public:
  BufferReader(Reader& reader, const std::string& folder, NpyChecks& checked)
      : reader_(reader), document_(reader.document()), folder_(folder), checked_(checked) {}

  Buffer read(const Mapping::Entry& entry) {
    const Node& key = *entry.key;
    Buffer buffer;
    buffer.name = name_of(key);
    buffer.at = document_.at(key);
    const Mapping mapping(document_, *entry.value, fmt::format("buffer {}", buffer.name));
    buffer.space =
        static_cast<Space>(keyword_of(mapping, "space", {Keywords<Space>::names.begin(), Keywords<Space>::names.end()}));
    check_keys(mapping, buffer.space);
    std::vector<std::string_view> dtypes;
    for (const DtypeFacts& dtype : dtype_table) dtypes.push_back(dtype.name);
    buffer.dtype = static_cast<Dtype>(keyword_of(mapping, "dtype", dtypes));
    if (buffer.dtype == Dtype::mbarrier && buffer.space != Space::shared)
      document_.fail(mapping.need("dtype"), fmt::format("buffer {}: mbarrier objects live in shared memory", buffer.name),
                     "space: shared");
    buffer.shape = shape_of(mapping, buffer);
    if (const Node* layout = mapping.find("layout")) buffer.layout = layout_of(*layout, mapping.what());
    if (const Node* offset = mapping.find("offset"))
      buffer.offset = reader_.integer(*offset, "'offset' of " + mapping.what(), 0, most_offset);
    // A plan past the last column is the verdict alloc-capacity, not bad input.
    if (const Node* col = mapping.find("col")) buffer.column = reader_.integer(*col, "'col' of " + mapping.what(), 0, 65535);
    if (const Node* out = mapping.find("out")) buffer.out = read_npy_path(reader_, *out, "'out' of " + mapping.what(), folder_);
    if (const Node* init = mapping.find("init")) read_init(*init, mapping.what(), buffer);
    return buffer;
  }

  // The slot of a tmem buffer may be declared behind it, so this comes when all names are known.
  void read_base(const Mapping::Entry& entry, Buffer& buffer) {
    if (buffer.space != Space::tmem) return;
    const Mapping mapping(document_, *entry.value, fmt::format("buffer {}", buffer.name));
    const Node& base = mapping.need("base", "the shared u32 word that holds the address: base: slot; or a column: base: 0");
    const std::string what = "'base' of " + mapping.what();
    const std::string& text = text_of(document_, base, what);
    const bool is_slot = is_plain_name(text) && !reader_.integers().contains(text);
    if (!text.empty() && !is_slot && is_plain_name(text.substr(0, text.find_first_of("[("))) && text.find_first_of("[(") != std::string::npos)
      document_.fail(base, fmt::format("{} is the name of a shared buffer or a column, not {}", what, text),
                     "declare one shared u32 buffer of shape [1] for the address of each allocation: base: slot");
    if (!is_slot) {
      buffer.base = reader_.integer(base, what, 0, 511);
      return;
    }
    buffer.slot = reader_.buffer(base, what);
    const Buffer& slot = (*reader_.names().buffers)[*buffer.slot];
    if (slot.space != Space::shared || slot.dtype != Dtype::u32)
      document_.fail(base, fmt::format("{} must be a shared buffer of u32, but {} is {} {}", what, text, keyword(slot.space),
                                       name(slot.dtype)));
  }

 private:
  std::string name_of(const Node& key) {
    if (!is_plain_name(key.text))
      document_.fail(key, fmt::format("{} is no name of a buffer", describe(key)),
                     "letters, digits and _, not starting with a digit");
    if (is_reserved_name(key.text))
      document_.fail(key, fmt::format("'{}' means something else in expressions, so no buffer can have that name", key.text));
    if (reader_.is_parameter(key.text))
      document_.fail(key, fmt::format("'{}' already names a parameter", key.text), "choose another name");
    return key.text;
  }

  std::size_t keyword_of(const Mapping& mapping, std::string_view key, const std::vector<std::string_view>& known) {
    return reader_.keyword(mapping.need(key), fmt::format("'{}' of {}", key, mapping.what()), known);
  }

  void check_keys(const Mapping& mapping, Space space) {
    const std::vector<std::string_view> mine = keys_of(space);
    for (const Mapping::Entry& entry : mapping.entries()) {
      const std::string_view key = entry.key->text;
      if (std::find(mine.begin(), mine.end(), key) != mine.end()) continue;
      std::vector<std::string_view> others;
      for (Space other : {Space::global, Space::shared, Space::local, Space::tmem}) {
        const auto keys = keys_of(other);
        if (std::find(keys.begin(), keys.end(), key) != keys.end()) others.push_back(keyword(other));
      }
      if (!others.empty())
        document_.fail(*entry.key,
                       fmt::format("{} is in {} memory, which has no key '{}'", mapping.what(), keyword(space), key),
                       fmt::format("it belongs to {} buffers", listing(others)));
    }
    mapping.only(mine);
  }

  std::vector<std::int64_t> shape_of(const Mapping& mapping, const Buffer& buffer) {
    const Node& node = mapping.need("shape");
    const std::string what = "'shape' of " + mapping.what();
    const std::vector<Node>& items = list_of(document_, node, what);
    if (items.empty() || items.size() > most_dimensions)
      document_.fail(node, fmt::format("{} has {} dimensions; it needs 1..{}", what, items.size(), most_dimensions));
    std::vector<std::int64_t> shape;
    std::int64_t count = 1;
    for (const Node& item : items) {
      shape.push_back(reader_.integer(item, what, 1, INT64_MAX));
      count = saturating_mul(count, shape.back());
    }
    if (count > most_elements || saturating_mul(count, bits(buffer.dtype)) / 8 > most_bytes)
      document_.fail(node, fmt::format("{} has too many elements for a simulation", mapping.what()),
                     fmt::format("at most {} elements", most_elements));
    return shape;
  }

  TileLayout layout_of(const Node& node, const std::string& buffer) {
    const std::string& text = text_of(document_, node, "'layout' of " + buffer);
    auto layout = parse_layout(text, reader_.integers());
    if (!layout)
      document_.fail_inside(node, layout.reason().text_offset.value_or(0), layout.reason().text,
                            "for example S[(128,8):(1@TLane,1@TCol)]");
    return std::move(layout).value();
  }

  void read_init(const Node& node, const std::string& what, Buffer& buffer) {
    constexpr std::string_view kinds[] = {"fill", "iota", "random", "data", "npy"};
    const Mapping mapping(document_, node, "'init' of " + what);
    mapping.only({std::begin(kinds), std::end(kinds)});
    if (mapping.entries().size() != 1)
      document_.fail(node, fmt::format("{} takes one of fill, iota, random, data and npy", mapping.what()));
    if (buffer.dtype == Dtype::mbarrier)
      document_.fail(node, fmt::format("{}: an mbarrier has no initial value", what), "mbarrier.init sets it up");
    const std::string_view kind = mapping.entries()[0].key->text;
    const Node& value = *mapping.entries()[0].value;
    if (kind == "fill")
      buffer.init = InitFill{reader_.number(value, "'fill'")};
    else if (kind == "iota")
      buffer.init = read_iota(value);
    else if (kind == "random")
      buffer.init = read_random(value);
    else if (kind == "data")
      buffer.init = read_data(reader_, value, buffer.shape, buffer.dtype);
    else
      buffer.init = InitNpy{read_npy_path(reader_, value, "'npy'", folder_)};
    if (const auto problem = checked_problem(buffer)) document_.fail(value, *problem);
  }

  std::optional<std::string> checked_problem(const Buffer& buffer) {
    const auto* npy = std::get_if<InitNpy>(&*buffer.init);
    if (!npy) return problem_with_init(buffer, folder_);
    const std::string key =
        fmt::format("{} {} [{}] {}", buffer.name, name(buffer.dtype), fmt::join(buffer.shape, ","), npy->path);
    const auto [found, is_new] = checked_.try_emplace(key);
    if (is_new) found->second = problem_with_init(buffer, folder_);
    return found->second;
  }

  InitIota read_iota(const Node& node) {
    const Mapping mapping(document_, node, "'iota'");
    mapping.only({"start", "step"});
    InitIota iota{std::int64_t{0}, std::int64_t{1}};
    if (const Node* start = mapping.find("start")) iota.start = reader_.number(*start, "'start'");
    if (const Node* step = mapping.find("step")) iota.step = reader_.number(*step, "'step'");
    return iota;
  }

  InitRandom read_random(const Node& node) {
    const Mapping mapping(document_, node, "'random'");
    mapping.only({"seed", "low", "high", "bits"});
    InitRandom random;
    if (const Node* seed = mapping.find("seed"))
      random.seed = static_cast<std::uint64_t>(reader_.integer(*seed, "'seed'", 0, INT64_MAX));
    if (const Node* low = mapping.find("low")) random.low = reader_.real(*low, "'low'");
    if (const Node* high = mapping.find("high")) random.high = reader_.real(*high, "'high'");
    if (const Node* raw = mapping.find("bits")) random.bits = reader_.boolean(*raw, "'bits'");
    if (random.bits && (mapping.has("low") || mapping.has("high")))
      document_.fail(node, "'random' takes either low and high, or bits: true");
    return random;
  }

  Reader& reader_;
  const Document& document_;
  const std::string& folder_;
  NpyChecks& checked_;
};

class DataReader {
 public:
  DataReader(const Reader& reader, const std::vector<std::int64_t>& shape, Dtype dtype)
      : reader_(reader), shape_(shape), dtype_(dtype) {}

  InitData read(const Node& node) {
    const auto& items = list_of(reader_.document(), node, "'data'");
    const bool flat = std::none_of(items.begin(), items.end(), [](const Node& item) { return item.kind == Node::Kind::list; });
    if (flat)
      read_flat(node);
    else
      read_nested(node, 0);
    return std::move(data_);
  }

 private:
  void read_flat(const Node& node) {
    std::int64_t count = 1;
    for (std::int64_t extent : shape_) count *= extent;
    if (static_cast<std::int64_t>(node.items.size()) != count)
      reader_.document().fail(node, fmt::format("'data' has {} values, but the shape [{}] has {} elements", node.items.size(),
                                                fmt::join(shape_, ", "), count));
    for (const Node& item : node.items) element(item);
  }
  void read_nested(const Node& node, std::size_t dimension) {
    if (dimension == shape_.size()) return element(node);
    const auto& items = list_of(reader_.document(), node, fmt::format("dimension {} of 'data'", dimension));
    if (static_cast<std::int64_t>(items.size()) != shape_[dimension])
      reader_.document().fail(node, fmt::format("'data' has {} entries here, but dimension {} of the shape is {}", items.size(),
                                                dimension, shape_[dimension]));
    for (const Node& item : items) read_nested(item, dimension + 1);
  }
  void element(const Node& node) { data_.values.push_back(read_element(reader_, node, "a value of 'data'", dtype_)); }

  const Reader& reader_;
  const std::vector<std::int64_t>& shape_;
  Dtype dtype_;
  InitData data_;
};

}  // namespace

void read_buffers(Reader& reader, const Node* node, const std::string& folder, std::vector<Buffer>& buffers,
                  NpyChecks& checked) {
  if (!node) return;
  const Mapping mapping(reader.document(), *node, "buffers");
  if (mapping.entries().size() > most_buffers) reader.document().fail(*node, fmt::format("more than {} buffers", most_buffers));
  BufferReader one(reader, folder, checked);
  for (const Mapping::Entry& entry : mapping.entries()) buffers.push_back(one.read(entry));
  for (std::size_t i = 0; i < buffers.size(); ++i) one.read_base(mapping.entries()[i], buffers[i]);
}

InitData read_data(const Reader& reader, const Node& node, const std::vector<std::int64_t>& shape, Dtype dtype) {
  return DataReader(reader, shape, dtype).read(node);
}

Number read_element(const Reader& reader, const Node& node, std::string_view what, Dtype dtype) {
  const Number value = reader.number(node, what);
  if (const auto problem = problem_with_number(dtype, value))
    reader.document().fail(node, fmt::format("{}: {}", what, *problem));
  return value;
}

std::string read_npy_path(const Reader& reader, const Node& node, std::string_view what, const std::string& folder) {
  const std::string& text = text_of(reader.document(), node, what);
  if (const auto path = npy_inside(folder, text); !path)
    reader.document().fail(node, fmt::format("{}: {}", what, path.reason().text));
  return text;
}

}  // namespace tmemsim::scenario
