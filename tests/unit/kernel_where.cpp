#include "ir/buffer.hpp"
#include "ir/kernel/operand_text.hpp"
#include "ir/program.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;

namespace {

Where where(std::string_view text) { return parse_where(text, Names{}); }

std::string scope(std::string_view text) { return std::string(name(scope_of(where(text), Launch{}))); }

Buffer buffer(Space space, Dtype dtype, std::vector<std::int64_t> shape, std::string_view layout = "") {
  Buffer made;
  made.space = space;
  made.dtype = dtype;
  made.shape = std::move(shape);
  if (!layout.empty()) made.layout = parse_layout(layout).value();
  return made;
}

}  // namespace

TEST_CASE("lanes that a statement includes") {
  CHECK(lanes_of(where("cta"), 3, 7) == 0xffffffffu);
  CHECK(lanes_of(where("cta 1"), 0, 0) == 0);
  CHECK(lanes_of(where("warpgroup 1"), 0, 3) == 0);
  CHECK(lanes_of(where("warpgroup 1"), 0, 4) == 0xffffffffu);
  CHECK(lanes_of(where("warps 2..3 lanes 4..7"), 0, 3) == 0xf0u);
  CHECK(lanes_of(where("lane 31"), 0, 0) == 0x80000000u);
}

TEST_CASE("scopes that a statement names") {
  CHECK(scope("cta") == "cta");
  CHECK(scope("warp 2") == "warp");
  CHECK(scope("warpgroup 1") == "warpgroup");
  CHECK(scope("warps 4..7") == "warpgroup");
  CHECK(scope("warps 4..5") == "warpgroup");
  CHECK(scope("warps 2..5") == "cta");
  CHECK(scope("warps 0..7") == "cta");
  CHECK(scope("warp 0 lanes 0..15") == "thread");
  CHECK(scope("warp 0 lanes 0..31") == "warp");
  CHECK(scope("warp 0 elect") == "thread");
}

TEST_CASE("a warpgroup stays one where narrowing leaves it whole") {
  CHECK(narrowed(where("warps 0..7"), where("warpgroup 1")) == where("warpgroup 1"));
  CHECK(narrowed(where("warpgroup 1"), where("cta")) == where("warpgroup 1"));
  CHECK(narrowed(where("warpgroup 1"), where("warp 5 elect")) == where("warp 5 elect"));
  CHECK(narrowed(where("cta 1"), where("warp 0")) == where("cta 1 warp 0"));
}

TEST_CASE("sizes of buffers") {
  CHECK(element_count(buffer(Space::global, Dtype::f16, {128, 8})) == 1024);
  CHECK(byte_size(buffer(Space::global, Dtype::f16, {128, 8})) == 2048);
  CHECK(byte_size(buffer(Space::shared, Dtype::e2m1, {3})) == 2);  // 12 bits
  CHECK(byte_size(buffer(Space::shared, Dtype::f32, {2, 4}, "S[(2,4):(10,1)]")) == 4 * 14);
  CHECK(byte_size(buffer(Space::shared, Dtype::f16, {4, 64}, "Swizzle(3,3,3) o S[(4,64):(64,1)]")) == 512);
  CHECK(byte_size(buffer(Space::shared, Dtype::mbarrier, {2})) == 16);
  CHECK(register_count(buffer(Space::local, Dtype::f16, {3})) == 2);
  CHECK(register_count(buffer(Space::local, Dtype::f64, {3})) == 6);
  CHECK(register_count(buffer(Space::local, Dtype::f16, {128, 8}, "S[(128,8):(1@tid_in_wg,1)]")) == 4);
  CHECK(tmem_columns(buffer(Space::tmem, Dtype::f16, {128, 8}, "S[(128,8):(1@TLane,1@TCol)]")) == 4);
  CHECK(tmem_columns(buffer(Space::tmem, Dtype::f16, {128, 8}, "S[(128,8):(1@TLane,2@TCol)]")) == 8);  // 15 halves
  CHECK(tmem_columns(buffer(Space::tmem, Dtype::f32, {128, 8}, "S[(128,8):(1@TLane,1@TCol)] + 4@TCol")) == 12);
}

TEST_CASE("every element of a swizzled buffer lies inside it") {
  for (const std::string_view notation : {"Swizzle(0,2,2) o S[5:1]", "Swizzle(1,2,3) o S[(3,7):(7,1)]", "Swizzle(3,3,3) o S[(9,64):(64,1)]"}) {
    const TileLayout inner = parse_layout(notation).value();
    TileLayout outer = inner;
    outer.swizzle->inner = false;
    for (const TileLayout& layout : {inner, outer}) {
      Buffer swizzled = buffer(Space::shared, Dtype::u8, {size(layout)});
      swizzled.layout = layout;
      std::int64_t last = 0;
      for (std::int64_t x = 0; x < size(layout); ++x) last = std::max(last, at(evaluate(layout, x), Axis::m));
      INFO(to_string(layout));
      CHECK(byte_size(swizzled) > last);
    }
  }
}

TEST_CASE("sizes saturate instead of overflowing") {
  const std::int64_t big = std::int64_t{1} << 40;
  CHECK(element_count(buffer(Space::global, Dtype::f64, {big, big})) == std::numeric_limits<std::int64_t>::max());
  CHECK(register_count(buffer(Space::local, Dtype::f64, {big})) == std::numeric_limits<int>::max());
  CHECK(element_count(buffer(Space::global, Dtype::f64, {-4, 2})) == 0);
  CHECK(cta_count(Launch{4, {1, 1, 1}, {1u << 20, 1u << 20, 1}, 1, 0}) == 0xffffffffu);
}

TEST_CASE("registers of a thread are bounded") {
  Kernel kernel;
  kernel.buffers.push_back(buffer(Space::local, Dtype::f32, {4000}));
  kernel.buffers.push_back(buffer(Space::local, Dtype::f32, {96}));
  const Program program = decode(std::make_shared<const Kernel>(kernel));
  CHECK(program.first_row == std::vector<std::uint16_t>{0, 4000});
  CHECK(program.rows_per_warp == 4096);
  kernel.buffers[1].shape = {97};
  CHECK_THROWS_AS(decode(std::make_shared<const Kernel>(kernel)), InputError);
}
