#include "sim/reference/reference.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "ir/dtype.hpp"
#include "sim/reference/naive.hpp"
#include "tests/unit/hand_made.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

using Values = std::vector<std::uint64_t>;

InitIota counting(std::int64_t start) { return {Number(start), Number(std::int64_t{1})}; }

const reference::Tensor& global(const reference::Outcome& outcome, BufferId id) { return outcome.global.at(id); }

std::vector<int> known(const reference::Tensor& tensor) { return {tensor.known.begin(), tensor.known.end()}; }

// A (global) -> S (shared) -> B (global), 4 elements.
Kernel two_copies() {
  return kernel_of({with_init(buffer("A", Space::global, Dtype::u32, {4}), counting(10)), buffer("S", Space::shared, Dtype::u32, {4}),
                    buffer("B", Space::global, Dtype::u32, {4})},
                   {copy(whole(1), whole(0)), copy(whole(2), whole(1))}, 1);
}

}  // namespace

TEST_CASE("Numbers become bits by definition, rounded once") {
  const auto encoded = [](Dtype dtype, double value) { return reference::naive_encode(dtype, Number(value)); };
  CHECK(encoded(Dtype::f16, 1.0) == 0x3c00);
  CHECK(encoded(Dtype::f16, 0.1) == 0x2e66);
  CHECK(encoded(Dtype::f16, 65520.0) == 0x7c00);
  CHECK(encoded(Dtype::f16, 1 + std::ldexp(1, -11) + std::ldexp(1, -40)) == 0x3c01);  // rounding to f32 first would give 0x3c00
  CHECK(encoded(Dtype::f16, 1 + std::ldexp(1, -11)) == 0x3c00);                        // the tie itself goes to even
  CHECK(encoded(Dtype::bf16, 1.0 / 3) == 0x3eab);
  CHECK(encoded(Dtype::f32, 1.0) == 0x3f800000);
  CHECK(encoded(Dtype::f64, -2.0) == 0xc000000000000000);
  CHECK(encoded(Dtype::tf32, 1 + std::ldexp(1, -11)) == 0x3f800000);
  CHECK(encoded(Dtype::tf32, 1 + std::ldexp(3, -11)) == 0x3f804000);
  CHECK(encoded(Dtype::e4m3, 448.0) == 0x7e);
  CHECK(encoded(Dtype::e4m3, 1e6) == 0x7e);
  CHECK(encoded(Dtype::e4m3, std::numeric_limits<double>::quiet_NaN()) == 0x7f);
  CHECK(encoded(Dtype::e5m2, -57344.0) == 0xfb);
  CHECK(encoded(Dtype::e2m1, 2.5) == 4);    // between 2 and 3: the even pattern
  CHECK(encoded(Dtype::e2m1, -100.0) == 0xf);
  CHECK(reference::naive_encode(Dtype::s8, Number(std::int64_t{-1})) == 0xff);
  CHECK(reference::naive_encode(Dtype::u64, Number(std::int64_t{5})) == 5);
  CHECK(reference::naive_encode(Dtype::f16, Number(std::int64_t{3})) == 0x4200);
}

TEST_CASE("Two implementations of the conversions agree") {
  std::mt19937_64 random(1);
  for (const DtypeFacts& facts : dtype_table) {
    if (facts.kind != DtypeKind::floating) continue;
    for (int i = 0; i < 2000; ++i) {
      const double value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 48) - 80);
      INFO(facts.name << " " << value);
      REQUIRE(reference::naive_encode(facts.dtype, Number(value)) == encode(facts.dtype, value));
    }
  }
}

TEST_CASE("Layouts are evaluated by definition") {
  const TileLayout fragment = parse_layout("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)]").value();
  for (std::int64_t x = 0; x < 128; ++x) {
    const std::int64_t a = x / 16, b = x / 8 % 2, c = x / 2 % 4, d = x % 2;
    const Point point = reference::naive_apply(fragment, x);
    REQUIRE(at(point, Axis::laneid) == 4 * a + c);
    REQUIRE(at(point, Axis::warpid) == b);
    REQUIRE(at(point, Axis::m) == d);
  }
  // 128-byte swizzle on rows of 64 halves: 16-byte chunk c of row r stands at c ^ (r % 8).
  const TileLayout swizzled = parse_layout("Swizzle(3,3,3) o S[(8,64):(64,1)]").value();
  for (std::int64_t x = 0; x < 512; ++x) {
    const std::int64_t row = x / 64, chunk = x % 64 / 8;
    REQUIRE(at(reference::naive_apply(swizzled, x), Axis::m) == 64 * row + 8 * (chunk ^ row) + x % 8);
  }
}

TEST_CASE("Copies move whole tensors in the order of issue") {
  const Kernel kernel = two_copies();
  const std::vector<Issued> log{issued(kernel.body[0]), issued(kernel.body[1])};
  const auto outcome = reference::run(kernel, log);
  CHECK(global(outcome, 2).bits == Values{10, 11, 12, 13});
  CHECK(known(global(outcome, 2)) == std::vector<int>{1, 1, 1, 1});
  CHECK(outcome.elements_copied == 8);
  CHECK(outcome.per_cta.at(0).at(1).bits == Values{10, 11, 12, 13});
}

TEST_CASE("What was copied before it had a value is unknown") {
  const Kernel kernel = two_copies();
  const std::vector<Issued> reversed{issued(kernel.body[1]), issued(kernel.body[0])};
  CHECK(known(global(reference::run(kernel, reversed), 2)) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("A primitive that not all threads issued leaves its destination unknown") {
  Kernel kernel = two_copies();
  kernel.launch.warps = 4;
  std::vector<Issued> log = issued_by(0, 3, {&kernel.body[0], &kernel.body[1]});
  CHECK(known(global(reference::run(kernel, log), 2)) == std::vector<int>{1, 1, 1, 1});
  log.back().lanes = 0xffff;
  CHECK(known(global(reference::run(kernel, log), 2)) == std::vector<int>{0, 0, 0, 0});
  log.back().lanes = 0xffff0000;  // lanes that have parted issue it in two steps
  log.push_back(log.back());
  log.back().lanes = 0xffff;
  CHECK(known(global(reference::run(kernel, log), 2)) == std::vector<int>{1, 1, 1, 1});
}

TEST_CASE("Every warp's own order is kept") {
  // Warp 1 fills its part and then takes part in the copy; warp 0 issued its part of the copy long before.
  Kernel kernel = kernel_of({buffer("S", Space::shared, Dtype::u32, {4}), buffer("B", Space::global, Dtype::u32, {4})},
                            {lowered(Fill{whole(0), Number(std::int64_t{7}), {}}, warps(1, 1)), copy(whole(1), whole(0), warps(0, 1)),
                             lowered(Fill{whole(1), Number(std::int64_t{8}), {}}, warps(0, 0))},
                            2);
  std::vector<Issued> log{issued(kernel.body[1], 0), issued(kernel.body[0], 1), issued(kernel.body[1], 1)};
  CHECK(global(reference::run(kernel, log), 1).bits == Values{7, 7, 7, 7});
  CHECK(known(global(reference::run(kernel, log), 1)) == std::vector<int>{1, 1, 1, 1});
  log.insert(log.begin() + 1, issued(kernel.body[2], 0));  // and what warp 0 did after its part comes after the copy
  CHECK(global(reference::run(kernel, log), 1).bits == Values{8, 8, 8, 8});
}

TEST_CASE("Loops without a variable repeat an instance") {
  Kernel kernel = two_copies();
  kernel.launch.warps = 2;
  kernel.body.push_back(lowered(Fill{whole(0), Number(std::int64_t{1}), {}}));
  // Both warps: copy, copy, fill the source, copy, copy. Warp 0 runs through before warp 1 starts.
  std::vector<Issued> log;
  for (std::uint32_t warp = 0; warp < 2; ++warp)
    for (int i : {0, 1, 2, 0, 1}) log.push_back(issued(kernel.body[static_cast<std::size_t>(i)], warp));
  CHECK(global(reference::run(kernel, log), 2).bits == Values{1, 1, 1, 1});
  CHECK(reference::run(kernel, log).elements_copied == 20);
}

TEST_CASE("Regions select boxes; loop values and thread coordinates count") {
  // B[3 - i, :] = A[i, :], and then B[warp, 0] = 9 by each of two warps.
  Kernel kernel = kernel_of({with_init(buffer("A", Space::global, Dtype::u16, {4, 2}), counting(0)), buffer("B", Space::global, Dtype::u16, {4, 2})},
                            {}, 2);
  const Expr i = Expr::loop("i");
  const Region to{1, {one(Expr::binary(ExprOp::sub, Expr(3), i)), from_to(0, 2)}}, from{0, {one(i), from_to(0, 2)}};
  kernel.body = {copy(to, from, warps(0, 0)), lowered(Fill{Region{1, {one(Expr::coordinate(ExprOp::warp)), one(0)}}, Number(std::int64_t{9}), {}})};
  std::vector<Issued> log;
  for (std::int64_t value = 0; value < 4; ++value) log.push_back(issued(kernel.body[0], 0, {{"i", value}}));
  CHECK(global(reference::run(kernel, log), 1).bits == Values{6, 7, 4, 5, 2, 3, 0, 1});
  for (std::uint32_t warp = 0; warp < 2; ++warp) log.push_back(issued(kernel.body[1], warp));
  CHECK(global(reference::run(kernel, log), 1).bits == Values{9, 7, 9, 5, 2, 3, 0, 1});
}

TEST_CASE("A bound read from memory, or outside its buffer, leaves the destination unknown") {
  Kernel kernel = two_copies();
  const auto after = [&](Expr bound) {
    kernel.body[1] = copy(Region{2, {one(bound)}}, Region{1, {one(0)}});
    const std::vector<Issued> log{issued(kernel.body[0]), issued(kernel.body[1])};
    return known(global(reference::run(kernel, log), 2));
  };
  CHECK(after(Expr(2)) == std::vector<int>{0, 0, 1, 0});
  kernel.buffers[2].init = InitFill{Number(std::int64_t{0})};
  CHECK(after(Expr(2)) == std::vector<int>{1, 1, 1, 1});
  CHECK(after(Expr::word(1, 0)) == std::vector<int>{0, 0, 0, 0});
  CHECK(after(Expr(4)) == std::vector<int>{0, 0, 0, 0});
  CHECK(after(Expr::binary(ExprOp::div, Expr(1), Expr(0))) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("Fragments of different warpgroups are different registers") {
  // Each warpgroup carries its half through the same named fragment; the second one loads before the first one stores.
  Kernel kernel = kernel_of({with_init(buffer("A", Space::global, Dtype::u32, {256}), counting(0)), buffer("B", Space::global, Dtype::u32, {256}),
                             buffer("R", Space::local, Dtype::u32, {128}, "S[(128):(1@tid_in_wg)]")},
                            {}, 8);
  const auto half = [](BufferId id, std::int64_t first) { return Region{id, {from_to(first, first + 128)}}; };
  kernel.body = {copy(whole(2), half(0, 0), warps(0, 3)), copy(whole(2), half(0, 128), warps(4, 7)),
                 copy(half(1, 0), whole(2), warps(0, 3)), copy(half(1, 128), whole(2), warps(4, 7))};
  std::vector<Issued> log;
  for (const auto& [stmt, first] : std::vector<std::pair<int, std::uint32_t>>{{0, 0}, {1, 4}, {2, 0}, {3, 4}})
    for (const Issued& entry : issued_by(first, first + 3, {&kernel.body[static_cast<std::size_t>(stmt)]})) log.push_back(entry);
  const auto outcome = reference::run(kernel, log);
  CHECK(global(outcome, 1).bits == global(outcome, 0).bits);
  CHECK(global(outcome, 1).known == global(outcome, 0).known);
}

TEST_CASE("Registers of a buffer without layout are each thread's own") {
  Kernel kernel = kernel_of({with_init(buffer("A", Space::global, Dtype::u32, {32, 2}), counting(0)), buffer("B", Space::global, Dtype::u32, {32, 2}),
                             buffer("R", Space::local, Dtype::u32, {2})},
                            {}, 1);
  const Region row_a{0, {one(Expr::coordinate(ExprOp::tid)), from_to(0, 2)}}, row_b{1, {one(Expr::coordinate(ExprOp::tid)), from_to(0, 2)}};
  kernel.body = {copy(whole(2), row_a), copy(row_b, whole(2))};
  const std::vector<Issued> log{issued(kernel.body[0]), issued(kernel.body[1])};
  const auto outcome = reference::run(kernel, log);
  CHECK(global(outcome, 1).bits == global(outcome, 0).bits);
  CHECK(global(outcome, 1).known == global(outcome, 0).known);
}

TEST_CASE("Threads that store different values to one element leave it unknown") {
  Kernel kernel = kernel_of({with_init(buffer("A", Space::global, Dtype::u32, {32}), counting(0)), buffer("B", Space::global, Dtype::u32, {2}),
                             buffer("R", Space::local, Dtype::u32, {1})},
                            {}, 1);
  kernel.body = {copy(whole(2), Region{0, {one(Expr::coordinate(ExprOp::tid))}}), copy(Region{1, {one(0)}}, whole(2)),
                 lowered(Fill{Region{1, {one(1)}}, Number(std::int64_t{5}), {}})};
  const std::vector<Issued> log{issued(kernel.body[0]), issued(kernel.body[1]), issued(kernel.body[2])};
  CHECK(known(global(reference::run(kernel, log), 1)) == std::vector<int>{0, 1});
}

TEST_CASE("A store without `means` makes unknown what it may touch, and only that") {
  Kernel kernel = two_copies();
  Store store;
  store.dst = Mem{1, {one(2)}, std::nullopt};
  store.src = Rows{};
  kernel.body.insert(kernel.body.begin() + 1, machine(store));
  const std::vector<Issued> log{issued(kernel.body[0]), issued(kernel.body[1]), issued(kernel.body[2])};
  CHECK(known(global(reference::run(kernel, log), 2)) == std::vector<int>{1, 1, 0, 1});
  store.bytes = 8;
  kernel.body[1] = machine(store);
  CHECK(known(global(reference::run(kernel, log), 2)) == std::vector<int>{1, 1, 0, 0});
  store.dst.byte = Expr::reg(0, 0);
  kernel.body[1] = machine(store);
  CHECK(known(global(reference::run(kernel, log), 2)) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("Shared buffers that overlap are one storage") {
  Kernel kernel = two_copies();
  kernel.buffers.push_back(buffer("T", Space::shared, Dtype::u32, {4}));
  kernel.buffers[1].offset = 0;
  kernel.body.insert(kernel.body.begin() + 1, lowered(Fill{whole(3), Number(std::int64_t{0}), {}}));
  const std::vector<Issued> log{issued(kernel.body[0]), issued(kernel.body[1]), issued(kernel.body[2])};
  kernel.buffers[3].offset = 1024;
  CHECK(known(global(reference::run(kernel, log), 2)) == std::vector<int>{1, 1, 1, 1});
  kernel.buffers[3].offset = 12;
  CHECK(known(global(reference::run(kernel, log), 2)) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("An instruction with `means` is the copy it means; its twin without leaves cells unknown") {
  Kernel kernel = kernel_of({with_init(buffer("A", Space::global, Dtype::u32, {128, 4}), counting(0)), buffer("B", Space::global, Dtype::u32, {128, 4}),
                             buffer("slot", Space::shared, Dtype::u32, {1}), buffer("T", Space::tmem, Dtype::u32, {128, 4}, "S[(128,4):(1@TLane,1@TCol)]"),
                             buffer("U", Space::tmem, Dtype::u32, {128, 4}, "S[(128,4):(1@TLane,1@TCol)]"),
                             buffer("R", Space::local, Dtype::u32, {128, 4}, "S[(128,4):(1@tid_in_wg,1)]")},
                            {});
  kernel.buffers[3].slot = kernel.buffers[4].slot = 2;
  kernel.buffers[4].column = 4;
  TcgenSt st;
  st.num = 4;
  st.dst.cell = Region{3, {one(0), one(0)}};
  st.src = Rows{5, {0, 1, 2, 3}};
  Stmt meant = machine(st);
  meant.means = Means{whole(3), whole(5)};
  TcgenAlloc alloc;
  alloc.slot = Mem{2, {}, std::nullopt};
  kernel.body = {machine(alloc), copy(whole(5), whole(0)), lowered(CopyAsync{whole(4), whole(5), {}}), meant,
                 lowered(CopyAsync{whole(5), whole(3), {}}), copy(whole(1), whole(5))};
  const auto run_with = [&](Region last) {
    kernel.body[4] = lowered(CopyAsync{whole(5), last, {}});
    const Stmt* body = kernel.body.data();
    return reference::run(kernel, issued_by(0, 3, {body + 1, body + 2, body + 3, body + 4, body + 5}));
  };
  const auto all_known = [](const reference::Tensor& tensor) { return std::count(tensor.known.begin(), tensor.known.end(), 1) == std::ptrdiff_t(tensor.known.size()); };
  const auto none_known = [](const reference::Tensor& tensor) { return std::count(tensor.known.begin(), tensor.known.end(), 1) == 0; };

  CHECK(global(run_with(whole(3)), 1).bits == global(run_with(whole(3)), 0).bits);
  CHECK(all_known(global(run_with(whole(3)), 1)));
  kernel.body[3].means.reset();
  CHECK(none_known(global(run_with(whole(3)), 1)));
  CHECK(all_known(global(run_with(whole(4)), 1)));  // columns 4 to 7 were not touched
  st.num = 8;
  kernel.body[3].node = MachineOps::Any(st);
  CHECK(none_known(global(run_with(whole(4)), 1)));
}
