#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/kernel/kernel.hpp"
#include "ir/kernel/operand_parser.hpp"
#include "ir/kernel/text_form.hpp"

namespace tmemsim {
namespace {

using text_form::in_operation_name;
using text_form::in_word;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t most_u32 = std::numeric_limits<std::uint32_t>::max();

// Offset of the first byte that is not UTF-8 (RFC 3629), if there is one.
std::optional<std::size_t> not_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
    const unsigned first = byte(i);
    const std::size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4 : 0;
    if (length == 0) return i;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xc0u) != 0x80u) return i;
    }
    const bool overlong = (first == 0xe0 && byte(i + 1) < 0xa0) || (first == 0xf0 && byte(i + 1) < 0x90);
    const bool surrogate = first == 0xed && byte(i + 1) >= 0xa0;
    const bool beyond = first == 0xf4 && byte(i + 1) >= 0x90;
    if (overlong || surrogate || beyond) return i;
    i += length;
  }
  return std::nullopt;
}

class Lines {
 public:
  explicit Lines(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }
  SourceLoc at(std::size_t offset) const {
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
    return {0, static_cast<std::uint32_t>(next - starts_.begin()), static_cast<std::uint32_t>(offset - *(next - 1) + 1)};
  }

 private:
  std::vector<std::size_t> starts_{0};
};

class KernelParser {
 public:
  KernelParser(Kernel& kernel, std::string_view text, const Lines& lines) : kernel_(kernel), lines_(lines), in_(text, names_) {
    names_.buffers = &kernel_.buffers;
  }

  void run() {
    header();
    buffers();
    in_.expect("{", "after program");
    kernel_.body = body(1);
    in_.expect_end();
  }

 private:
  // ---- Header ----

  std::string word(std::string_view what) {
    if (in_.next_char() == '"') return in_.quoted(what);
    const std::size_t begin = in_.at();
    const std::string_view text = in_.run_of(in_word);
    if (text.empty()) in_.fail(begin, fmt::format("{} is missing here", what));
    return std::string(text);
  }

  void header() {
    if (!in_.accept_word("kernel")) in_.fail(in_.at(), "a kernel begins with 'kernel' and its name");
    kernel_.name = word("the name of the kernel");
    if (in_.accept_word("doc")) kernel_.doc = in_.quoted("the text of doc");
    if (in_.accept_word("target")) target();
    if (in_.accept_word("ptx")) {
      kernel_.ptx.major = static_cast<std::uint8_t>(digits("the PTX version"));
      in_.expect(".", "in the PTX version");
      kernel_.ptx.minor = static_cast<std::uint8_t>(digits("the PTX version"));
    }
    if (in_.accept_word("launch")) launch();
  }

  int digits(std::string_view what) {
    const std::size_t begin = in_.at();
    const std::string_view text = in_.run_of([](char c) { return c >= '0' && c <= '9'; });
    if (text.empty() || text.size() > 2) in_.fail(begin, fmt::format("{} is missing here", what), "9.0");
    return std::stoi(std::string(text));
  }

  void target() {
    const std::size_t begin = in_.at();
    const std::string_view text = in_.name("the target");
    const auto found = target_named(text);
    if (!found) in_.fail(begin, fmt::format("there is no target '{}'", text), "sm_100a");
    kernel_.target = *found;
  }

  std::array<std::uint32_t, 3> three(std::string_view what) {
    std::array<std::uint32_t, 3> values{};
    in_.expect("[", "here");
    for (std::size_t i = 0; i < 3; ++i) {
      if (i > 0) in_.expect(",", "between the dimensions");
      values[i] = static_cast<std::uint32_t>(in_.integer(what, 0, most_u32));
    }
    in_.expect("]", "after three dimensions");
    return values;
  }

  // Reads key=value pairs; `read` says whether it knows the key, and reads its value.
  template <class Read> void keys(std::string_view of, const std::vector<std::string_view>& known, Read read) {
    std::vector<std::string_view> seen;
    while (next_is_key()) {
      const std::size_t begin = in_.at();
      const std::string_view key = in_.name("a key");
      in_.expect("=", "after the key");
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        const std::string near = closest(key, known);
        in_.fail(begin, fmt::format("{} has no '{}'", of, key),
                 near.empty() ? fmt::format("it has {}", fmt::join(known, ", ")) : fmt::format("did you mean {}?", near));
      }
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) in_.fail(begin, fmt::format("'{}' stands here twice", key));
      seen.push_back(key);
      read(key);
    }
  }

  bool next_is_key() {
    const std::string_view key = in_.peek_word();
    if (key.empty()) return false;
    const std::string_view after = in_.text().substr(in_.at() + key.size(), 2);
    return !after.empty() && after[0] == '=' && after != "==";
  }

  void launch() {
    Launch& launch = kernel_.launch;
    keys("launch", {"warps", "cluster", "grid", "ctas_per_sm", "held_columns"}, [&](std::string_view key) {
      const auto count = [&] { return static_cast<std::uint32_t>(in_.integer(key, 0, most_u32)); };
      if (key == "warps") launch.warps = count();
      if (key == "cluster") launch.cluster = three(key);
      if (key == "grid") launch.grid = three(key);
      if (key == "ctas_per_sm") launch.ctas_per_sm = count();
      if (key == "held_columns") launch.held_columns = count();
    });
  }

  // ---- Buffers ----

  struct SlotName {
    std::size_t buffer, at;
    std::string name;
  };

  void buffers() {
    std::vector<SlotName> slots;
    while (!in_.accept_word("program")) {
      const std::size_t begin = in_.at();
      if (!in_.accept_word("buffer")) in_.fail(begin, "'buffer' or 'program' is missing here");
      if (kernel_.buffers.size() == text_form::most_buffers) in_.fail(begin, fmt::format("a kernel has at most {} buffers", text_form::most_buffers));
      kernel_.buffers.push_back(buffer(begin, slots));
    }
    for (const SlotName& slot : slots) {
      const auto id = buffer_named(kernel_, slot.name);
      if (!id) in_.fail(slot.at, fmt::format("there is no buffer '{}'", slot.name));
      kernel_.buffers[slot.buffer].slot = *id;
    }
  }

  Buffer buffer(std::size_t begin, std::vector<SlotName>& slots) {
    Buffer buffer;
    buffer.at = lines_.at(begin);
    buffer.name = in_.name("the name of the buffer");
    in_.expect(":", "after the name of the buffer");
    buffer.space = enumerator<Space>("a space");
    const std::size_t dtype_at = in_.at();
    const std::string_view dtype_name = in_.name("the element type");
    const auto dtype = dtype_named(dtype_name);
    if (!dtype) in_.fail(dtype_at, fmt::format("there is no element type '{}'", dtype_name), "f32, f16, bf16, u8, u32, ...");
    buffer.dtype = *dtype;
    buffer.shape = shape();
    keys("a buffer", {"layout", "slot", "base", "column", "offset", "init", "out"}, [&](std::string_view key) {
      if (key == "layout") buffer.layout = layout();
      if (key == "slot") {
        const std::size_t slot_at = in_.at();
        slots.push_back({kernel_.buffers.size(), slot_at, std::string(in_.name("the name of a buffer"))});
      }
      if (key == "base") buffer.base = in_.integer(key, -most, most);
      if (key == "column") buffer.column = in_.integer(key, -most, most);
      if (key == "offset") buffer.offset = in_.integer(key, -most, most);
      if (key == "init") buffer.init = init();
      if (key == "out") buffer.out = in_.quoted("the name of a file");
    });
    return buffer;
  }

  std::vector<std::int64_t> shape() {
    const std::size_t begin = in_.at();
    std::vector<std::int64_t> shape;
    in_.expect("[", "before the shape");
    if (in_.accept("]")) return shape;
    do {
      if (shape.size() == text_form::most_dimensions) in_.fail(begin, fmt::format("a shape has at most {} dimensions", text_form::most_dimensions));
      shape.push_back(in_.integer("an extent", -most, most));
    } while (in_.accept(","));
    in_.expect("]", "after the shape");
    return shape;
  }

  TileLayout layout() {
    const std::size_t begin = in_.at();
    const std::string notation = in_.quoted("a layout");
    auto parsed = parse_layout(notation);
    if (!parsed) in_.fail(begin + 1 + parsed.reason().text_offset.value_or(0), parsed.reason().text);
    return *std::move(parsed);
  }

  Init init() {
    const std::size_t begin = in_.at();
    const std::string_view kind = in_.name("how the buffer is initialised");
    in_.expect("(", "after the kind of initial values");
    Init init = init_named(kind, begin);
    in_.expect(")", "after the initial values");
    return init;
  }

  Init init_named(std::string_view kind, std::size_t begin) {
    const auto real = [&] {
      const Number value = in_.number();
      return std::visit([](auto number) { return static_cast<double>(number); }, value);
    };
    if (kind == "fill") return InitFill{in_.number()};
    if (kind == "iota") {
      InitIota iota{in_.number(), {}};
      in_.expect(",", "after the first value");
      iota.step = in_.number();
      return iota;
    }
    if (kind == "random_bits") return InitRandom{in_.seed(), 0, 1, true};
    if (kind == "random") {
      InitRandom random;
      random.seed = in_.seed();
      in_.expect(",", "after the seed");
      random.low = real();
      in_.expect(",", "after the lower bound");
      random.high = real();
      return random;
    }
    if (kind == "data") {
      InitData data;
      if (in_.next_is(")")) return data;
      do data.values.push_back(in_.number());
      while (in_.accept(","));
      return data;
    }
    if (kind == "npy") return InitNpy{in_.quoted("the name of a file")};
    in_.fail(begin, fmt::format("there are no initial values '{}'", kind), "fill, iota, random, random_bits, data, npy");
  }

  // ---- Statements ----

  // Up to and with the closing brace.
  Body body(int level) {
    if (level > text_form::deepest_body) in_.fail(in_.at(), fmt::format("bodies stand more than {} deep in one another", text_form::deepest_body));
    Body body;
    while (!in_.accept("}")) {
      if (in_.at_end()) in_.fail(in_.at(), "'}' is missing here: the file ends inside a body");
      if (++statements_ > text_form::most_statements) in_.fail(in_.at(), fmt::format("a kernel has at most {} statements", text_form::most_statements));
      body.push_back(statement(level));
    }
    return body;
  }

  Stmt statement(int level) {
    Stmt stmt;
    stmt.at = lines_.at(in_.at());
    stmt.label = label();
    if (in_.accept("@")) stmt.where = in_.where();
    node(stmt, level);
    return stmt;
  }

  std::string label() {
    const std::size_t begin = in_.at();
    if (in_.next_char() == '"') {
      std::string text = in_.quoted("a label");
      in_.expect(":", "after the label");
      return text;
    }
    const std::string_view text = in_.run_of(in_word);
    const std::string_view after = in_.text().substr(begin + text.size(), 2);
    if (!text.empty() && !after.empty() && after[0] == ':' && after != "::") {
      in_.skip(1);
      return std::string(text);
    }
    in_.go_back(begin);
    return {};
  }

  Body block(int level) {
    in_.expect("{", "before the body");
    return body(level + 1);
  }

  void node(Stmt& stmt, int level) {
    const std::size_t begin = in_.at();
    const std::string_view head = in_.run_of(in_operation_name);
    if (head == "for") {
      stmt.node = counted(level);
    } else if (head == "while") {
      Expr condition = in_.expr();
      stmt.node = While{condition, block(level)};
    } else if (head == "if") {
      stmt.node = branch(level);
    } else if (head == "delay") {
      stmt.node = Delay{static_cast<std::uint32_t>(in_.integer("the number of steps", 0, most_u32))};
    } else {
      operation(stmt, head, begin, level);
    }
  }

  For counted(int level) {
    For loop;
    loop.variable = in_.name("the loop variable");
    if (!in_.accept_word("in")) in_.fail(in_.at(), "'in' is missing after the loop variable");
    in_.expect("[", "before the range");
    loop.begin = in_.expr();
    in_.expect(",", "after the first value");
    loop.end = in_.expr();
    if (in_.accept(",")) loop.step = in_.expr();
    in_.expect("]", "after the range");
    names_.loops.push_back(loop.variable);
    loop.body = block(level);
    names_.loops.pop_back();
    return loop;
  }

  If branch(int level) {
    If branch;
    branch.condition = in_.expr();
    branch.then = block(level);
    if (in_.accept_word("else")) branch.otherwise = block(level);
    return branch;
  }

  void operation(Stmt& stmt, std::string_view name, std::size_t begin, int level) {
    if (auto machine = operation_of<MachineOps>(name, begin)) {
      stmt.node = *std::move(machine);
      means(stmt);
      return;
    }
    auto tile = operation_of<TileOps>(name, begin);
    if (!tile) no_operation(name, begin);
    if (!in_.accept_word("by")) {
      stmt.node = *std::move(tile);
      return;
    }
    std::string variant = word("the name of the variant");
    stmt.node = Lowered{*std::move(tile), std::move(variant), block(level)};
  }

  void means(Stmt& stmt) {
    if (!in_.accept_word("means")) return;
    in_.expect("(", "after means");
    Means means;
    means.dst = in_.region();
    in_.expect("<-", "between the regions");
    means.src = in_.region();
    in_.expect(")", "after the regions");
    stmt.means = std::move(means);
  }

  [[noreturn]] void no_operation(std::string_view name, std::size_t begin) {
    if (name.empty()) in_.fail(begin, "a statement is missing here");
    std::vector<std::string_view> known{"for", "while", "if", "delay"};
    for (const Row& row : MachineOps::rows) known.push_back(row.name);
    for (const TileRow& row : TileOps::rows) known.push_back(row.name);
    const std::string near = closest(name, known);
    in_.fail(begin, fmt::format("there is no operation '{}'", name), near.empty() ? "" : fmt::format("did you mean {}?", near));
  }

  // ---- Operations ----

  template <class Ops> std::optional<typename Ops::Any> operation_of(std::string_view name, std::size_t begin) {
    std::optional<typename Ops::Any> found;
    Ops::for_each([&]<class Op>() {
      if (Op::row.name == name) found = fields<Op>(begin);
    });
    return found;
  }

  template <class Op> Op fields(std::size_t begin) {
    Op op;
    std::vector<std::string_view> known, missing;
    for_each_field(op, [&](const auto& field, auto& member) {
      known.push_back(field.key);
      if (!field.may_default && !is_optional<std::remove_cvref_t<decltype(member)>>::value) missing.push_back(field.key);
    });
    keys(Op::row.name, known, [&](std::string_view key) {
      std::erase(missing, key);
      for_each_field(op, [&](const auto& field, auto& member) {
        if (field.key == key) read(member, key);
      });
    });
    if (!missing.empty()) in_.fail(begin, fmt::format("{} lacks {}", Op::row.name, fmt::join(missing, ", ")));
    return op;
  }

  void read(Expr& value, std::string_view) { value = in_.expr(); }
  void read(Region& value, std::string_view) { value = in_.region(); }
  void read(Rows& value, std::string_view) { value = in_.rows(); }
  void read(Mem& value, std::string_view) { value = in_.mem(); }
  void read(TmemAddr& value, std::string_view) { value = in_.tmem_addr(); }
  void read(Value& value, std::string_view) { value = in_.value(); }
  void read(Number& value, std::string_view) { value = in_.number(); }
  void read(std::string& value, std::string_view key) { value = word(key); }
  void read(bool& value, std::string_view key) {
    value = in_.accept_word("true");
    if (!value && !in_.accept_word("false")) in_.fail(in_.at(), fmt::format("{} is true or false", key));
  }
  void read(std::uint8_t& value, std::string_view key) { value = static_cast<std::uint8_t>(in_.constant(key, 0, 255)); }
  void read(std::int32_t& value, std::string_view key) {
    value = static_cast<std::int32_t>(in_.constant(key, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
  }
  template <class Enum, std::size_t = Keywords<Enum>::names.size()> void read(Enum& value, std::string_view key) { value = enumerator<Enum>(key); }
  template <class T> void read(std::optional<T>& value, std::string_view key) { read(value.emplace(), key); }
  // [x, y, ...], and the brackets alone for none.
  template <class Item> void list(std::string_view key, Item&& item) {
    const std::size_t begin = in_.at();
    in_.expect("[", fmt::format("before the list of {}", key));
    if (in_.accept("]")) return;
    std::size_t count = 0;
    do {
      if (++count > text_form::most_list_items) in_.fail(begin, fmt::format("{} has at most {} items", key, text_form::most_list_items));
      item();
    } while (in_.accept(","));
    in_.expect("]", fmt::format("after the list of {}", key));
  }
  template <class T> void read(std::vector<T>& values, std::string_view key) {
    values.clear();
    list(key, [&] { read(values.emplace_back(), key); });
  }
  void read(Transpose& value, std::string_view key) {
    value = {};
    list(key, [&] {
      const std::size_t begin = in_.at();
      const std::string_view word = in_.name("an operand");
      if (word == "a") value.a = true;
      else if (word == "b") value.b = true;
      else in_.fail(begin, fmt::format("there is no operand '{}' to transpose", word), "a or b");
    });
  }

  template <class Enum> Enum enumerator(std::string_view what) {
    const std::size_t begin = in_.at();
    const std::string_view text = in_.run_of(in_operation_name);
    const auto& known = Keywords<Enum>::names;
    const auto found = std::find(known.begin(), known.end(), text);
    if (found == known.end()) {
      in_.fail(begin, text.empty() ? fmt::format("{} is missing here", what) : fmt::format("'{}' is not {}", text, what),
               fmt::format("one of {}", fmt::join(known, ", ")));
    }
    return static_cast<Enum>(found - known.begin());
  }

  Kernel& kernel_;
  const Lines& lines_;
  Names names_;
  OperandParser in_;
  std::size_t statements_ = 0;
};

}  // namespace

Kernel parse_kernel(std::string_view text, std::string file_name) {
  Kernel kernel;
  kernel.files.push_back({std::move(file_name), std::string(text)});
  if (text.size() > text_form::longest_text) {
    input_error(kernel.files, {0, 1, 1}, fmt::format("the text of a kernel has at most {} bytes, and this has {}", text_form::longest_text, text.size()));
  }
  const std::string_view kept = kernel.files[0].text;
  const Lines lines(kept);
  if (const auto bad = not_utf8(kept)) input_error(kernel.files, lines.at(*bad), "the file is not UTF-8 text");
  try {
    KernelParser(kernel, kept, lines).run();
  } catch (const TextError& error) {
    input_error(kernel.files, lines.at(error.offset), error.message, error.hint);
  }
  number_statements(kernel);
  return kernel;
}

}  // namespace tmemsim
