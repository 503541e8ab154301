#include "tests/property/kernel_random.hpp"

#include <limits>

#include "ir/op_list.hpp"

namespace tmemsim::tests {
namespace {

std::string random_text(Random& random) {
  static constexpr std::string_view letters = "abcXYZ 0129_\"\\#{}@:=,.\n\t\x01";
  std::string text;
  for (std::uint32_t i = random.below(12); i > 0; --i) {
    const std::uint32_t at = random.below(letters.size() + 1);
    text += at == letters.size() ? std::string("\xc3\xa9") : std::string(1, letters[at]);
  }
  return text;
}

std::string random_name(Random& random, std::string_view start) {
  static constexpr std::string_view letters = "abcdeXYZ_0189";
  std::string text(start);
  for (std::uint32_t i = 1 + random.below(5); i > 0; --i) text += letters[random.below(letters.size())];
  return text;
}

Where::Span random_span(Random& random, std::uint32_t count) {
  const std::uint32_t first = random.below(count);
  return {first, first + random.below(count - first)};
}

Number random_number(Random& random) {
  switch (random.below(6)) {
    case 0: return static_cast<std::int64_t>(random.bits());
    case 1: return std::numeric_limits<std::int64_t>::min();
    case 2: return 0.1 * random.below(100) - 5;
    case 3: return static_cast<double>(random.below(9));
    case 4: return -std::numeric_limits<double>::infinity();
    default: return static_cast<std::int64_t>(random.below(1000)) - 500;
  }
}

// Makes the parts of one kernel. Loop variables are those of the loops around the place.
class Maker {
 public:
  Maker(Random& random, const Kernel& kernel) : random_(random), kernel_(kernel) {}

  Expr expr(int levels) {
    if (levels == 0 || random_.chance(3)) return leaf();
    if (random_.chance(8)) return Expr::word(buffer(random_.chance(2) ? Space::shared : Space::global), expr(levels - 1));
    const auto op = static_cast<ExprOp>(static_cast<int>(ExprOp::add) + static_cast<int>(random_.below(16)));
    return Expr::binary(op, expr(levels - 1), expr(levels - 1));
  }

  Region region(Space space) { return {buffer(space), box()}; }

  // One overload a field type.
  void make(Expr& value) { value = expr(3); }
  void make(Region& value) { value = region(static_cast<Space>(random_.below(4))); }
  void make(Rows& value) {
    value.buffer = buffer(Space::local);
    const auto count = static_cast<std::uint32_t>(register_count(kernel_.buffers[value.buffer]));
    value.rows.clear();
    if (random_.chance(2)) {
      const Where::Span span = random_span(random_, count);
      for (std::uint32_t row = span.first; row <= span.last; ++row) value.rows.push_back(static_cast<std::uint16_t>(row));
    } else {
      for (std::uint32_t i = random_.below(6); i < 6; ++i) value.rows.push_back(static_cast<std::uint16_t>(random_.below(count)));
    }
  }
  void make(Mem& value) {
    value = {};
    value.buffer = buffer(random_.chance(2) ? Space::shared : Space::global);
    if (random_.chance(3)) {
      value.byte = expr(2);
    } else {
      value.box = box();
    }
  }
  void make(TmemAddr& value) {
    value = {};
    if (random_.chance(2)) {
      value.cell = region(Space::tmem);
    } else {
      value = {std::nullopt, expr(2), random_.chance(2) ? expr(1) : Expr(0), random_.chance(2) ? expr(1) : Expr(0)};
    }
  }
  void make(Value& value) {
    if (random_.chance(2)) {
      value = expr(2);
    } else {
      Rows rows;
      make(rows);
      value = rows;
    }
  }
  void make(Number& value) { value = random_number(random_); }
  void make(bool& value) { value = random_.chance(2); }
  void make(std::uint8_t& value) { value = static_cast<std::uint8_t>(random_.below(256)); }
  void make(std::int32_t& value) { value = static_cast<std::int32_t>(random_.bits()); }
  void make(std::string& value) { value = random_name(random_, "v"); }
  template <class Enum, std::size_t count = Keywords<Enum>::names.size()> void make(Enum& value) {
    value = static_cast<Enum>(random_.below(count));
  }
  void make(Transpose& value) { value = {random_.chance(2), random_.chance(2)}; }
  template <class T> void make(std::vector<T>& values) {
    values.clear();
    for (std::uint32_t i = random_.below(5); i > 0; --i) make(values.emplace_back());
  }
  template <class T> void make(std::optional<T>& value) {
    value.reset();
    if (!random_.chance(2)) make(value.emplace());
  }

  template <class Ops> typename Ops::Any operation() {
    typename Ops::Any made;
    std::uint32_t wanted = random_.below(std::variant_size_v<typename Ops::Any>);
    Ops::for_each([&]<class Op>() {
      if (wanted-- != 0) return;
      Op op;
      for_each_field(op, [&](const auto&, auto& member) { make(member); });
      made = op;
    });
    return made;
  }

  Body body(Level level, int levels) {
    Body body(random_.below(levels == 4 ? 8 : 4));
    for (Stmt& stmt : body) fill(stmt, level, levels);
    return body;
  }

 private:
  Expr leaf() {
    switch (random_.below(6)) {
      case 0: return Expr(static_cast<std::int64_t>(random_.bits()));
      case 1: return Expr::coordinate(static_cast<ExprOp>(1 + random_.below(6)));
      case 2: {
        const BufferId id = buffer(Space::local);
        const auto count = static_cast<std::uint32_t>(register_count(kernel_.buffers[id]));
        return Expr::reg(id, static_cast<std::uint16_t>(random_.below(count)));
      }
      case 3:
        if (!loops_.empty()) return Expr::loop(loops_[random_.below(loops_.size())]);
        [[fallthrough]];
      default: return Expr(static_cast<std::int64_t>(random_.below(40)) - 8);
    }
  }

  BufferId buffer(Space space) {
    std::vector<BufferId> ids;
    for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
      if (kernel_.buffers[i].space == space) ids.push_back(static_cast<BufferId>(i));
    }
    return ids[random_.below(ids.size())];
  }

  std::vector<Range> box() {
    std::vector<Range> box(random_.below(4));
    for (Range& range : box) {
      range.lo = expr(2);
      if (random_.chance(2)) range.hi = expr(2);
    }
    return box;
  }

  void fill(Stmt& stmt, Level level, int levels) {
    if (random_.chance(3)) stmt.label = random_name(random_, "l") + std::to_string(labels_++);
    stmt.where = random_where(random_);
    switch (random_.below(levels > 0 ? 9 : 3)) {
      case 0: stmt.node = Delay{random_.below(100)}; return;
      case 3: stmt.node = While{expr(3), body(level, levels - 1)}; return;
      case 4: stmt.node = If{expr(3), body(level, levels - 1), random_.chance(2) ? Body{} : body(level, levels - 1)}; return;
      case 5: fill_loop(stmt, level, levels); return;
      case 6: stmt.node = Lowered{operation<TileOps>(), random_name(random_, "variant"), body(Level::machine, levels - 1)}; return;
      case 7:
        if (level == Level::tile) {
          stmt.node = operation<TileOps>();
          return;
        }
        break;
      default: break;
    }
    stmt.node = operation<MachineOps>();
    if (random_.chance(4)) stmt.means = Means{region(Space::tmem), region(Space::local)};
  }

  void fill_loop(Stmt& stmt, Level level, int levels) {
    For loop;
    loop.variable = random_name(random_, "i") + std::to_string(loops_.size());
    loop.begin = expr(1);
    loop.end = expr(2);
    if (random_.chance(2)) loop.step = expr(1);
    loops_.push_back(loop.variable);
    loop.body = body(level, levels - 1);
    loops_.pop_back();
    stmt.node = std::move(loop);
  }

  Random& random_;
  const Kernel& kernel_;
  std::vector<std::string> loops_;
  int labels_ = 0;
};

TileLayout random_layout(Random& random) {
  TileLayout layout;
  for (std::uint32_t i = 1 + random.below(3); i > 0; --i) {
    layout.shard.push_back({1 + random.below(8), random.below(20), static_cast<Axis>(random.below(axis_count))});
  }
  if (random.chance(3)) layout.replica.push_back({2, 4, Axis::warpid});
  if (random.chance(3)) layout.offset.push_back({Axis::laneid, 5});
  if (random.chance(3)) layout.swizzle = Swizzle{3, 2, 3, random.chance(2)};
  return layout;
}

Init random_init(Random& random) {
  switch (random.below(5)) {
    case 0: return InitFill{random_number(random)};
    case 1: return InitIota{random_number(random), random_number(random)};
    case 2: return random.chance(2) ? InitRandom{random.bits(), 0, 1, true} : InitRandom{random.bits(), -0.5, 0.1 * random.below(50), false};
    case 3: {
      InitData data;
      for (std::uint32_t i = random.below(9); i > 0; --i) data.values.push_back(random_number(random));
      return data;
    }
    default: return InitNpy{random_text(random) + ".npy"};
  }
}

Buffer random_buffer(Random& random, Space space, std::size_t index) {
  Buffer buffer;
  buffer.name = random_name(random, "B") + "_" + std::to_string(index);
  buffer.space = space;
  buffer.dtype = static_cast<Dtype>(random.below(dtype_count));
  for (std::uint32_t i = 1 + random.below(3); i > 0; --i) buffer.shape.push_back(1 + random.below(9));
  if (space == Space::tmem || (space != Space::local && random.chance(3))) buffer.layout = random_layout(random);
  if ((space == Space::global || space == Space::shared) && random.chance(2)) buffer.init = random_init(random);
  if (space == Space::global && random.chance(3)) buffer.out = random_text(random) + ".npy";
  if (space == Space::shared && random.chance(2)) buffer.offset = 16 * random.below(1000);
  if (space == Space::tmem) {
    buffer.column = random.below(40);
    if (random.chance(2)) {
      buffer.base = random.below(512);
    } else {
      buffer.slot = BufferId{1};  // the second buffer is shared
    }
  }
  return buffer;
}

}  // namespace

Expr random_expr(Random& random, const Kernel& kernel, int levels) { return Maker(random, kernel).expr(levels); }

Where random_where(Random& random) {
  Where where;
  if (random.chance(4)) where.cta = random.below(4);
  if (random.chance(3)) {
    where.warps = random_span(random, 8);
  } else if (random.chance(3)) {
    where.warpgroup = random.below(2);
  }
  if (random.chance(4)) {
    where.lanes = random_span(random, 32);
  } else if (random.chance(6)) {
    where.elect = true;
  }
  return where;
}

Kernel random_kernel(Random& random, Level level) {
  Kernel kernel;
  kernel.name = random_name(random, "k") + (random.chance(2) ? "-x" : "");
  kernel.doc = random_text(random);
  kernel.target = static_cast<Target>(random.below(target_count));
  kernel.ptx = {static_cast<std::uint8_t>(random.below(10)), static_cast<std::uint8_t>(random.below(10))};
  kernel.launch = {1 + random.below(32), {1 + random.below(4), 1 + random.below(2), 1}, {1 + random.below(9), 2, 1 + random.below(3)},
                   1 + random.below(3), 32 * random.below(15)};
  for (const Space space : {Space::global, Space::shared, Space::local, Space::tmem}) {
    kernel.buffers.push_back(random_buffer(random, space, kernel.buffers.size()));
  }
  for (std::uint32_t i = random.below(5); i > 0; --i) {
    kernel.buffers.push_back(random_buffer(random, static_cast<Space>(random.below(4)), kernel.buffers.size()));
  }
  kernel.body = Maker(random, kernel).body(level, 4);
  number_statements(kernel);
  return kernel;
}

}  // namespace tmemsim::tests
