#include <algorithm>
#include <filesystem>

#include "ir/scenario/scenario.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

std::string seed(const std::string& name) { return std::string(source_dir) + "/scenarios/seeds/" + name; }

// A scenario around a program: a tile in every space, and registers R.
std::string around(const std::string& program, const std::string& more = {}) {
  return "tmemsim: 1\nscenario: around\nlaunch: {warps: 8, cluster: 2}\n" + more +
         "buffers:\n"
         "  A: {space: global, dtype: f32, shape: [128, 8], init: {iota: {start: 1}}}\n"
         "  S: {space: shared, dtype: f32, shape: [128, 8]}\n"
         "  slot: {space: shared, dtype: u32, shape: [2]}\n"
         "  acc: {space: tmem, dtype: f32, shape: [128, 8], base: slot, layout: \"S[(128,8):(1@TLane,1@TCol)]\"}\n"
         "  T: {space: local, dtype: f32, shape: [128, 8], layout: \"S[(128,8):(1@tid_in_wg,1)]\"}\n"
         "  R: {space: local, dtype: u32, shape: [8]}\n"
         "program:\n" +
         program;
}

Scenario one(const std::string& text, const LoadOptions& options = {}) {
  auto scenarios = load_scenario_text(text, "x.yaml", ".", options);
  REQUIRE(scenarios.size() == 1);
  return std::move(scenarios[0]);
}

Stmt statement(const std::string& text) { return one(around("  - " + text + "\n")).kernel.body.at(0); }

template <class Op>
Op machine(const std::string& text) {
  return std::get<Op>(std::get<MachineOps::Any>(statement(text).node));
}
template <class Op>
Op tile(const std::string& text) {
  return std::get<Op>(std::get<TileOps::Any>(statement(text).node));
}

std::string refusal(const std::string& text, const LoadOptions& options = {}) {
  try {
    load_scenario_text(text, "x.yaml", ".", options);
  } catch (const InputError& error) { return error.what(); }
  return "(it was loaded)";
}

constexpr BufferId A = 0, S = 1, slot = 2, acc = 3, T = 4, R = 5;

}  // namespace

TEST_CASE("The seed of the round trip is read as it is written") {
  const auto scenarios = load_scenarios(seed("tmem_roundtrip_f16.yaml"));
  REQUIRE(scenarios.size() == 1);
  const Kernel& kernel = scenarios[0].kernel;
  CHECK(scenarios[0].instance == "tmem_roundtrip_f16");
  CHECK(kernel.name == "tmem_roundtrip_f16");
  CHECK(kernel.target == Target::sm_100a);
  CHECK(kernel.launch.warps == 4);
  REQUIRE(kernel.buffers.size() == 6);
  CHECK(kernel.buffers[0].dtype == Dtype::f16);
  CHECK(kernel.buffers[0].shape == std::vector<std::int64_t>{128, 8});
  CHECK(std::get<InitIota>(*kernel.buffers[0].init) == InitIota{std::int64_t{1}, std::int64_t{1}});
  CHECK(kernel.buffers[3].slot == BufferId{2});
  CHECK(to_string(*kernel.buffers[4].layout) == "S[(128,8):(1@tid_in_wg,1)]");
  REQUIRE(kernel.body.size() == 11);
  CHECK(std::get<TcgenAlloc>(std::get<MachineOps::Any>(kernel.body[0].node)).cols == Expr(32));
  CHECK(std::holds_alternative<TcgenWaitSt>(std::get<MachineOps::Any>(kernel.body[4].node)));
  CHECK(kernel.body[3].label == "store");
  CHECK(kernel.body[3].path == "program[3]");
  CHECK(kernel.body[3].where.warpgroup == 0u);
  const std::string text = read_file(seed("tmem_roundtrip_f16.yaml"));
  const auto lines_before = std::count(
      text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("{at: warp 0,      do: tcgen05.alloc")), '\n');
  CHECK(kernel.body[0].at.line == lines_before + 1);
  CHECK(kernel.body[0].at.col == 5);
  REQUIRE(scenarios[0].expect.equal.size() == 1);
  CHECK(scenarios[0].expect.equal[0].actual.buffer == 1);
  CHECK(std::get<Region>(scenarios[0].expect.equal[0].expected).buffer == 0);
}

TEST_CASE("Every scenario of the repository loads") {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(source_dir) + "/scenarios")) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path().string());
    CHECK_NOTHROW(load_scenarios(entry.path().string()));
    ++count;
  }
  CHECK(count >= 3);
}

TEST_CASE("A new scenario loads") {
  const auto scenarios = load_scenario_text(new_scenario("my-first_1"), "x.yaml", ".");
  REQUIRE(scenarios.size() == 2);
  CHECK(scenarios[0].instance == "my-first_1[n=8]");
  CHECK(scenarios[1].kernel.buffers[0].shape == std::vector<std::int64_t>{128, 16});
  CHECK_THROWS_AS(new_scenario("a b"), InputError);
  CHECK_THROWS_AS(new_scenario(""), InputError);
}

TEST_CASE("Operations: operands") {
  const auto alloc = machine<TcgenAlloc>("{at: warp 0, do: tcgen05.alloc, slot: \"slot[1]\", cols: 2*16 + 32}");
  CHECK(alloc.slot.buffer == slot);
  CHECK(alloc.slot.box == std::vector<Range>{{Expr(1), std::nullopt}});
  CHECK(alloc.cols == Expr(64));
  CHECK(alloc.cta_group == 1);
  CHECK(machine<TcgenDealloc>("{at: warp 0, do: tcgen05.dealloc, addr: \"word(slot, 0)\", cols: 32}").addr ==
        Expr::word(slot, Expr(0)));

  const auto load = machine<TcgenLd>(
      "{at: warp 0, do: tcgen05.ld, shape: 16x32bx2, num: 8, pack: true, half: 16, dst: \"R.r[0:8]\", src: {base: \"word(slot, "
      "0)\", lane: 16, col: 4}}");
  CHECK(load.shape == Shape::s16x32bx2);
  CHECK(load.num == 8);
  CHECK(load.pack);
  CHECK(load.half == 16);
  CHECK(load.dst == Rows{R, {0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK_FALSE(load.src.cell);
  CHECK(load.src.base == Expr::word(slot, Expr(0)));
  CHECK(load.src.lane == Expr(16));
  CHECK(load.src.col == Expr(4));
  const auto store =
      machine<TcgenSt>("{at: warp 0, do: tcgen05.st, shape: 32x32b, num: 2, dst: \"acc[0:32, 4:6]\", src: \"R.r[0,2]\"}");
  REQUIRE(store.dst.cell);
  CHECK(store.dst.cell->box.size() == 2);
  CHECK(store.src.rows == std::vector<std::uint16_t>{0, 2});

  const auto ld =
      machine<Load>("{do: ld, dst: \"R.r[0:4]\", src: {buffer: S, byte: 16*tid}, bytes: 16, sem: acquire, scope: gpu}");
  CHECK(ld.src.buffer == S);
  CHECK(ld.src.byte == Expr(16) * Expr::coordinate(ExprOp::tid));
  CHECK(ld.bytes == 16);
  CHECK(ld.sem == Sem::acquire);
  CHECK(ld.scope == MemScope::gpu);
  CHECK(std::get<Rows>(machine<Move>("{do: mov, dst: \"R.r[1]\", a: \"R.r[0]\"}").a) == Rows{R, {0}});
  CHECK(std::get<Expr>(machine<Move>("{do: mov, dst: \"R.r[1]\", a: 0x10}").a) == Expr(16));
  CHECK(machine<WarpSync>("{do: bar.warp.sync, mask: 0b11}").mask == Expr(3));
  CHECK_FALSE(machine<WarpSync>("{do: bar.warp.sync}").mask);
}

TEST_CASE("Operations: names") {
  CHECK_NOTHROW(machine<TcgenWaitSt>("{do: tcgen05.wait.st}"));
  CHECK_NOTHROW(machine<TcgenWaitSt>("{do: \"tcgen05.wait::st\"}"));
  CHECK_NOTHROW(machine<TcgenFenceAfter>("{do: tcgen05.fence.after_thread_sync}"));
  CHECK(machine<BarrierSync>("{do: barrier}").id == Expr(0));
  CHECK(machine<BarrierSync>("{do: barrier.sync, id: 3, count: 64}").count == Expr(64));
  CHECK(machine<SetPredicate>("{do: setp.lt, dst: \"R.r[0]\", a: lane, b: 4}").cmp == Compare::lt);
  const auto compare = machine<SetPredicate>("{do: setp.ge.f32, dst: \"R.r[0]\", a: \"R.r[1]\", b: 4}");
  CHECK(compare.cmp == Compare::ge);
  CHECK(compare.type == AluType::f32);
  CHECK(machine<SetPredicate>("{do: setp, cmp: ne, type: u32, dst: \"R.r[0]\", a: 1, b: 4}").cmp == Compare::ne);
  CHECK_THAT(refusal(around("  - {do: setp, dst: \"R.r[0]\", a: 1, b: 4}\n")),
             contains("setp needs the key 'cmp' (eq|ne|lt|le|gt|ge)"));
}

// Every operation of the lists is found by its name, so that a new one needs no change in the reader.
TEST_CASE("Operations: every row has a name that the reader knows") {
  const auto known = [](std::string_view name) {
    const std::string message = refusal(around("  - {do: \"" + std::string(name) + "\", no_such_key: 1}\n"));
    INFO(message);
    CHECK_THAT(message, contains(std::string(name) + " has no key 'no_such_key'"));
  };
  MachineOps::for_each([&]<class Op>() { known(Op::row.name); });
  TileOps::for_each([&]<class Op>() { known(Op::row.name); });
}

TEST_CASE("Tile primitives") {
  const auto copy = tile<Copy>("{at: warpgroup 0, do: copy, dst: T, src: \"A[0:128, 0:8]\", variant: reg}");
  CHECK(copy.dst == Region{T, {}});
  CHECK(copy.src.box.size() == 2);
  CHECK(copy.variant == "reg");
  CHECK(tile<CopyAsync>("{at: warpgroup 0, do: copy_async, dst: acc, src: T}").dst.buffer == acc);
  CHECK(std::get<double>(tile<Fill>("{at: warpgroup 0, do: fill, dst: T, src: 1.5}").src) == 1.5);
  CHECK(std::get<std::int64_t>(tile<Fill>("{at: warpgroup 0, do: fill, dst: T, src: -2}").src) == -2);
}

TEST_CASE("Selection of threads, means, delay") {
  CHECK(statement("{at: cta, do: barrier}").where == Where{});
  CHECK(statement("{do: barrier}").where == Where{});
  const Where where = statement("{at: cta 1 warps 2..3 lanes 0..7, do: barrier}").where;
  CHECK(where.cta == 1u);
  CHECK(where.warps == Where::Span{2, 3});
  CHECK(where.lanes == Where::Span{0, 7});
  CHECK(statement("{at: warp 1 elect, do: barrier}").where.elect);
  const Stmt moved = statement("{at: warpgroup 0, do: mov, dst: \"R.r[0]\", a: 1, means: {dst: T, src: A}}");
  REQUIRE(moved.means);
  CHECK(moved.means->dst == Region{T, {}});
  CHECK(moved.means->src == Region{A, {}});
  CHECK(std::get<Delay>(statement("{delay: 7}").node).steps == 7);
}

TEST_CASE("Loops, guards, polling") {
  const auto loop = std::get<For>(statement("{for: i, in: [1, 2*4, 3], body: [{do: mov, dst: \"R.r[0]\", a: i + tid}]}").node);
  CHECK(loop.variable == "i");
  CHECK(loop.begin == Expr(1));
  CHECK(loop.end == Expr(8));
  CHECK(loop.step == Expr(3));
  CHECK(std::get<Expr>(std::get<Move>(std::get<MachineOps::Any>(loop.body.at(0).node)).a) ==
        Expr::loop("i") + Expr::coordinate(ExprOp::tid));
  CHECK(loop.body[0].path == "program[0].body[0]");
  const auto plain = std::get<For>(statement("{for: i, in: 4, body: []}").node);
  CHECK(plain.begin == Expr(0));
  CHECK(plain.end == Expr(4));
  CHECK(plain.step == Expr(1));
  const auto guard =
      std::get<If>(statement("{if: warp < 2, then: [{do: barrier, id: 1, count: 64}], else: [{delay: 1}, {delay: 2}]}").node);
  CHECK(guard.then.size() == 1);
  CHECK(guard.otherwise.size() == 2);
  const auto polling = std::get<While>(statement("{while: \"word(slot, 0) == 0\", body: [{delay: 1}]}").node);
  CHECK(polling.condition.uses(ExprOp::word));
}

TEST_CASE("Buffers") {
  const std::string text =
      "tmemsim: 1\nscenario: buffers\nbuffers:\n"
      "  a: {space: shared, dtype: u8, shape: [16], offset: 2048, init: {data: [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,0xff]}}\n"
      "  b: {space: tmem, dtype: f32, shape: [128, 4], base: 64, col: 8, layout: \"S[(128,4):(1@TLane,1@TCol)]\"}\n"
      "  c: {space: tmem, dtype: f32, shape: [128, 4], base: late, layout: \"S[(128,4):(1@TLane,1@TCol)]\"}\n"
      "  late: {space: shared, dtype: u32, shape: [1]}\n"
      "  bars: {space: shared, dtype: mbarrier, shape: [4]}\n"
      "  d: {space: global, dtype: bf16, shape: [2, 2], init: {data: [[1, 2.5], [-3, inf]]}, out: d.npy}\n"
      "  e: {space: global, dtype: f32, shape: [4], init: {random: {seed: 7, low: -1, high: 1}}}\n"
      "  f: {space: global, dtype: u32, shape: [4], init: {random: {seed: 7, bits: true}}}\n"
      "program: []\n";
  const auto buffers = one(text).kernel.buffers;
  CHECK(buffers[0].offset == 2048);
  CHECK(std::get<InitData>(*buffers[0].init).values.back() == Number(std::int64_t{255}));
  CHECK(buffers[1].base == 64);
  CHECK(buffers[1].column == 8);
  CHECK_FALSE(buffers[1].slot);
  CHECK(buffers[2].slot == BufferId{3});
  CHECK(buffers[4].dtype == Dtype::mbarrier);
  CHECK(std::get<InitData>(*buffers[5].init).values.size() == 4);
  CHECK(buffers[5].out == "d.npy");
  CHECK(std::get<InitRandom>(*buffers[6].init) == InitRandom{7, -1, 1, false});
  CHECK(std::get<InitRandom>(*buffers[7].init).bits);
}

TEST_CASE("Launch and the top of the file") {
  const Scenario scenario =
      one("tmemsim: 1\nscenario: top\ntarget: sm_90\nptx: 8.6\nprofile: lenient\ndoc: some words\n"
          "launch: {warps: 2, cluster: [2, 2], grid: [4, 2, 3], ctas_per_sm: 2, held_columns: 64}\nprogram: []\n");
  CHECK(scenario.kernel.target == Target::sm_90);
  CHECK(scenario.kernel.ptx == PtxVersion{8, 6});
  CHECK(scenario.profile == "lenient");
  CHECK(scenario.kernel.doc == "some words");
  CHECK(scenario.kernel.launch == Launch{2, {2, 2, 1}, {4, 2, 3}, 2, 64});
  const Scenario plain = one("tmemsim: 1\nscenario: top\nlaunch: {cluster: 2}\nprogram: []\n");
  CHECK(plain.kernel.launch.grid == std::array<std::uint32_t, 3>{2, 1, 1});
  CHECK_FALSE(plain.profile);
}

TEST_CASE("CRLF, a byte order mark, comments and a final document end are fine") {
  CHECK(one("\xEF\xBB\xBFtmemsim: 1\r\nscenario: crlf\r\n# words\r\nprogram: []\r\n").kernel.name == "crlf");
  CHECK(one("---\ntmemsim: 1\nscenario: ends\nprogram: []\n...\n").kernel.name == "ends");
  CHECK_THAT(refusal("tmemsim: 1\r\nscenario: crlf\r\nprogram: [{do: bogus}]\r\n"),
             contains("x.yaml:3:16: error: there is no operation 'bogus'"));
}

TEST_CASE("Parameters: sweeps, types, names") {
  const std::string text =
      "tmemsim: 1\nscenario: sweep\nparams: {n: [8, 16], dtype: [f16, f32], k: 3, pack: [false, true]}\nbuffers:\n"
      "  A: {space: global, dtype: dtype, shape: [128, n], init: {fill: k}}\n"
      "  T: {space: local, dtype: dtype, shape: [128, n], layout: \"S[(128,n):(1@tid_in_wg,1)]\"}\n"
      "  R: {space: local, dtype: u32, shape: [n]}\n"
      "  slot: {space: shared, dtype: u32, shape: [1]}\n"
      "program:\n"
      "  - {at: warpgroup 0, do: copy, dst: \"T[0:128, 0:n]\", src: \"A[0:128, 0:n]\"}\n"
      "  - {at: warp 0, do: tcgen05.ld, shape: 32x32b, num: n, pack: pack, dst: \"R.r[0:n]\", src: {base: \"word(slot, 0)\", "
      "col: 2*n+k}}\n";
  const auto scenarios = load_scenario_text(text, "x.yaml", ".");
  REQUIRE(scenarios.size() == 8);
  CHECK(scenarios[0].instance == "sweep[n=8,dtype=f16,pack=false]");
  CHECK(scenarios[1].instance == "sweep[n=8,dtype=f16,pack=true]");
  CHECK(scenarios[7].instance == "sweep[n=16,dtype=f32,pack=true]");
  const Kernel& last = scenarios[7].kernel;
  CHECK(last.name == "sweep");
  CHECK(last.buffers[0].dtype == Dtype::f32);
  CHECK(last.buffers[0].shape == std::vector<std::int64_t>{128, 16});
  CHECK(to_string(*last.buffers[1].layout) == "S[(128,16):(1@tid_in_wg,1)]");
  const auto& load = std::get<TcgenLd>(std::get<MachineOps::Any>(last.body[1].node));
  CHECK(load.num == 16);
  CHECK(load.pack);
  CHECK(load.dst.rows.size() == 16);
  CHECK(load.src.col == Expr(35));

  const auto instances = [&](const LoadOptions& options) {
    std::vector<std::string> names;
    for (const Scenario& scenario : load_scenario_text(text, "x.yaml", ".", options)) names.push_back(scenario.instance);
    return names;
  };
  CHECK(instances({{}, {"n=16", "dtype=f32", "pack=true"}}) == std::vector<std::string>{"sweep[n=16,dtype=f32,pack=true]"});
  CHECK(instances({{}, {"n=0x10,dtype=f32"}}).size() == 2);
  CHECK(instances({{}, {"n=8", "n=16", "dtype=f32"}}).size() == 4);
  CHECK(instances({{"n=32", "dtype=f32", "pack=false"}, {}}) == std::vector<std::string>{"sweep[n=32,dtype=f32,pack=false]"});
  CHECK(instances({{"k=4"}, {"n=8", "pack=true"}}).size() == 2);
  CHECK_THAT(refusal(text, {{"m=3"}, {}}), contains("--define m=3: the scenario has no parameter 'm'"));
  CHECK_THAT(refusal(text, {{"dtyp=f32"}, {}}), contains("did you mean 'dtype'?"));
  CHECK_THAT(refusal(text, {{"n"}, {}}), contains("NAME=VALUE is missing"));
  CHECK_THAT(refusal(text, {{"n=f16"}, {}}), contains("parameter n takes a number"));
  CHECK_THAT(refusal(text, {{"dtype=3"}, {}}), contains("parameter dtype takes a keyword"));
  CHECK_THAT(refusal(text, {{}, {"n=17"}}), contains("--only: parameter n never has that value"));
  CHECK_THAT(refusal(text, {{}, {"m=17"}}), contains("--only m=17: the scenario has no parameter 'm'"));
  // A parameter is a value, not text.
  CHECK_THAT(refusal(text, {{"n=8 + 8"}, {}}), contains("--define"));
  CHECK_THAT(refusal(text, {{"dtype=f61"}, {}}), contains("there is no 'f61'"));
}

TEST_CASE("Parameters: one without a list makes no sweep") {
  const Scenario scenario = one("tmemsim: 1\nscenario: plain\nparams: {w: 3}\nlaunch: {warps: w}\nprogram: []\n");
  CHECK(scenario.instance == "plain");
  CHECK(scenario.kernel.launch.warps == 3);
}

TEST_CASE("Expectations") {
  const Scenario scenario = one(
      around("  - {at: warpgroup 0, do: copy, dst: T, src: A, label: first}\n  - {for: i, in: 2, body: [{do: barrier}]}\n") +
      "expect:\n"
      "  status: findings\n"
      "  findings: [{verdict: lane-window, at: first, other: \"program[1].body[0]\", severity: warning, count: 3}]\n"
      "  lenient: {findings: []}\n"
      "  equal: [{actual: \"A[0:2, 0]\", expected: {data: [1, 9]}, abs: 0.5}, {actual: S, expected: {fill: 0}, ulp: 2}, "
      "{actual: \"A[0, 0:8]\", expected: \"S[3, 0:8]\"}]\n"
      "  cells: [{cta: 1, tmem: [5, 6], bits: 0x3c00}]\n"
      "  regs: [{buffer: R, thread: 255, reg: 7, bits: 0xffffffff}]\n");
  const Expect& expect = scenario.expect;
  CHECK(expect.status == "findings");
  REQUIRE(expect.findings.size() == 1);
  CHECK(expect.findings[0].verdict == Verdict::lane_window);
  CHECK(expect.findings[0].at == "first");
  CHECK(expect.findings[0].other == "program[1].body[0]");
  CHECK(expect.findings[0].severity == Severity::warning);
  CHECK(expect.findings[0].count == 3u);
  REQUIRE(expect.lenient);
  CHECK(expect.lenient->empty());
  REQUIRE(expect.equal.size() == 3);
  CHECK(std::get<InitData>(expect.equal[0].expected).values.size() == 2);
  CHECK(expect.equal[0].abs == 0.5);
  CHECK(expect.equal[1].ulp == 2u);
  REQUIRE(expect.cells.size() == 1);
  CHECK(expect.cells[0].cta == 1);
  CHECK(expect.cells[0].lane == 5);
  CHECK(expect.cells[0].column == 6);
  CHECK(expect.cells[0].bits == 0x3c00);
  REQUIRE(expect.registers.size() == 1);
  CHECK(expect.registers[0].thread == 255);
  CHECK(expect.registers[0].bits == 0xffffffffu);
  CHECK_FALSE(one(around("  - {delay: 1}\n")).expect.lenient);
}

TEST_CASE("Text form of a kernel") {
  const Scenario yaml = one(around("  - {at: warpgroup 0, do: copy, dst: T, src: A}\n"));
  const auto again = load_scenario_text(print(yaml.kernel), "x.kernel", ".");
  REQUIRE(again.size() == 1);
  CHECK(again[0].kernel == yaml.kernel);
  CHECK(again[0].instance == "around");
  CHECK_THROWS_AS(load_scenario_text(print(yaml.kernel), "x.kernel", ".", {{"n=1"}, {}}), InputError);
}
