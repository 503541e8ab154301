// Index arithmetic of buffers against the layouts themselves, evaluated element by element.
#include <fmt/format.h>

#include "emit/cuda/cuda.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;
using namespace tmemsim::emit;

namespace {

Buffer buffer(Space space, Dtype dtype, std::vector<std::int64_t> shape, const std::string& layout = "") {
  Buffer result;
  result.name = "B";
  result.space = space;
  result.dtype = dtype;
  result.shape = std::move(shape);
  if (!layout.empty()) result.layout = parse_layout(layout).value();
  return result;
}

Expr index_variable(std::size_t dimension) { return Expr::loop(fmt::format("i{}", dimension)); }

std::vector<Range> element(std::size_t dimensions) {
  std::vector<Range> box;
  for (std::size_t d = 0; d < dimensions; ++d) box.push_back({index_variable(d), {}});
  return box;
}

std::int64_t value(const Expr& expr, const std::vector<std::int64_t>& index) {
  const Expr folded = expr.replaced([&](const Expr& node) -> std::optional<Expr> {
    if (node.op() != ExprOp::loop) return std::nullopt;
    return Expr(index.at(static_cast<std::size_t>(node.loop_name()[1] - '0')));
  });
  return folded.as_constant().value();
}

// Calls `check` with every index and its row-major number.
template <class Check>
void for_every_element(const std::vector<std::int64_t>& shape, Check check) {
  std::vector<std::int64_t> index(shape.size());
  for (std::int64_t x = 0;; ++x) {
    check(index, x);
    std::size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

}  // namespace

TEST_CASE("slots follow the layout") {
  const auto check = [](const Buffer& b) {
    const Expr slot = element_slot(b, element(b.shape.size())), by_number = slot_of_index(b, Expr::loop("i0"));
    for_every_element(b.shape, [&](const std::vector<std::int64_t>& index, std::int64_t x) {
      const std::int64_t expected = at(evaluate(layout_of(b), x), Axis::m);
      REQUIRE(value(slot, index) == expected);
      REQUIRE(value(by_number, {x}) == expected);
    });
  };
  check(buffer(Space::global, Dtype::f16, {128, 8}));
  check(buffer(Space::global, Dtype::f16, {4, 1, 6}));
  check(buffer(Space::shared, Dtype::f32, {32, 8}, "S[(32,8):(1,33)]"));
  check(buffer(Space::shared, Dtype::f32, {32, 8}, "S[(8,4,2,4):(4,1,256,64)]"));
  check(buffer(Space::shared, Dtype::f32, {24}, "S[(2,3,4):(1,2,10)] + 7@m"));
  check(buffer(Space::shared, Dtype::f16, {8, 64}, "Swizzle(3,3,3) o S[(8,64):(64,1)]"));
  check(buffer(Space::shared, Dtype::f16, {16, 32}, "Swizzle(2,2,3) o S[(16,32):(32,1)]"));
  check(buffer(Space::shared, Dtype::f32, {6, 4}, "S[(4,6):(6,1)]"));  // cuts across the shape
  check(buffer(Space::shared, Dtype::f32, {6, 4}, "S[(3,8):(9,1)]"));
}

TEST_CASE("cells follow the layout and the element width") {
  const auto check = [](Buffer b) {
    b.column = 5;
    const CellOffset cell = cell_offset(b, element(b.shape.size()));
    for_every_element(b.shape, [&](const std::vector<std::int64_t>& index, std::int64_t x) {
      const Point point = evaluate(layout_of(b), x);
      REQUIRE(value(cell.lane, index) == at(point, Axis::TLane));
      REQUIRE(value(cell.column, index) == 5 + at(point, Axis::TCol) * bits(b.dtype) / 32);
    });
  };
  check(buffer(Space::tmem, Dtype::f32, {128, 8}, "S[(128,8):(1@TLane,1@TCol)]"));
  check(buffer(Space::tmem, Dtype::f16, {128, 8}, "S[(128,8):(1@TLane,1@TCol)]"));
  check(buffer(Space::tmem, Dtype::f16, {128, 8}, "S[(128,8):(1@TLane,2@TCol)]"));
  check(buffer(Space::tmem, Dtype::u8, {64, 8}, "S[(4,16,8):(32@TLane,1@TLane,1@TCol)]"));
  check(buffer(Space::tmem, Dtype::e3m2, {32, 16}, "S[(32,16):(1@TLane,1@TCol)]"));
  check(buffer(Space::tmem, Dtype::u64, {32, 4}, "S[(32,4):(1@TLane,1@TCol)]"));
}

TEST_CASE("byte offsets of elements and of plain bytes") {
  const Buffer packed = buffer(Space::global, Dtype::e2m1, {4, 8});
  CHECK(value(byte_offset(packed, Mem{0, element(2), {}}), {2, 6}) == (2 * 8 + 6) * 4 / 8);
  const Buffer wide = buffer(Space::global, Dtype::u64, {4, 8});
  CHECK(value(byte_offset(wide, Mem{0, element(2), {}}), {2, 6}) == (2 * 8 + 6) * 8);
  CHECK(byte_offset(wide, Mem{0, {}, Expr(20)}) == Expr(20));
  CHECK(byte_offset(wide, Mem{0, {}, {}}) == Expr(0));
}

TEST_CASE("constant factors are taken together") {
  const Buffer b = buffer(Space::global, Dtype::f32, {32, 8});
  const Expr tid = Expr::coordinate(ExprOp::tid);
  CHECK(byte_offset(b, Mem{0, {{tid, {}}, {Expr(4), {}}}, {}}) == tid * Expr(32) + Expr(16));
}
