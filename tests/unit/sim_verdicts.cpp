// Each verdict of the first issue: a program that triggers it and the smallest correction, which runs clean; under every
// completion policy and several schedules.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

// A kernel with the usual buffers around `body`. `launch`: "warps=4", ...
std::string kernel(std::string_view body, std::string_view launch = "warps=4", std::string_view target = "sm_100a") {
  return fmt::format(R"(kernel k
target {}
launch {}
buffer A: global u32 [128, 8] init=iota(1, 1)
buffer B: global u32 [1024]
buffer slot: shared u32 [1] offset=0
buffer slot2: shared u32 [1] offset=16
buffer S: shared u32 [256] offset=1024
buffer R: local u32 [160]
program {{
{}
}}
)", target, launch, body);
}

// The life cycle around a body: 64 columns, base published by a barrier.
std::string with_tmem(std::string_view body, std::string_view columns = "64") {
  return kernel(fmt::format(R"(
  alloc: @warp 0 tcgen05.alloc slot=slot cols={0}
  @warp 0 tcgen05.relinquish_alloc_permit
  barrier.sync
  mov dst=R.r[0:160] a=tid
{1}
  end: barrier.sync
  dealloc: @warp 0 tcgen05.dealloc slot=slot cols={0}
)", columns, body));
}

const std::string own = "{base: word(slot, 0), lane: warp * 32}";

}  // namespace

TEST_CASE("alloc-size") {
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=48 @warp 0 tcgen05.dealloc slot=slot cols=48")) == "alloc-size a");
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=1024 @warp 0 tcgen05.dealloc slot=slot cols=1024")) == "alloc-size a");
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=0 @warp 0 tcgen05.dealloc slot=slot cols=0")) == "alloc-size a");
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=64 @warp 0 tcgen05.dealloc slot=slot cols=64")) == "");
}

TEST_CASE("alloc-capacity: a CTA asks for more than is left beside its own") {
  const std::string first = "f: @warp 0 tcgen05.alloc slot=slot cols=512 ";
  CHECK(findings_everywhere(kernel(first + "a: @warp 0 tcgen05.alloc slot=slot2 cols=32 @warp 0 tcgen05.dealloc slot=slot2 cols=32 "
                                           "@warp 0 tcgen05.dealloc slot=slot cols=512")) == "alloc-capacity a < f");
  CHECK(findings_everywhere(kernel(first + "@warp 0 tcgen05.dealloc slot=slot cols=512 a: @warp 0 tcgen05.alloc slot=slot2 cols=32 "
                                           "@warp 0 tcgen05.dealloc slot=slot2 cols=32")) == "");
}

TEST_CASE("alloc-capacity: a plan that does not fit") {
  const auto planned = [](int column) {
    return fmt::format(R"(kernel k
target sm_100a
launch warps=4
buffer slot: shared u32 [1] offset=0
buffer acc: tmem f32 [128, 64] layout="S[(128,64):(1@TLane,1@TCol)]" slot=slot column={}
program {{
  a: @warp 0 tcgen05.alloc slot=slot cols=512
  @warp 0 tcgen05.dealloc slot=slot cols=512
}}
)", column);
  };
  CHECK(findings_everywhere(planned(480)) == "alloc-capacity a");
  CHECK(findings_everywhere(planned(448)) == "");
}

TEST_CASE("alloc-order: sticky, dealloc does not reset it") {
  const auto two = [](int first, int second) {
    return kernel(fmt::format("f: @warp 0 tcgen05.alloc slot=slot cols={0} @warp 0 tcgen05.dealloc slot=slot cols={0} "
                              "a: @warp 0 tcgen05.alloc slot=slot2 cols={1} @warp 0 tcgen05.dealloc slot=slot2 cols={1}", first, second));
  };
  CHECK(findings_everywhere(two(128, 256)) == "alloc-order a < f");
  CHECK(findings_everywhere(two(256, 128)) == "");
  CHECK(findings_everywhere(two(128, 128)) == "");
  sim::Options lenient;
  lenient.profile = Profile::lenient();
  CHECK(findings_everywhere(two(128, 256), lenient) == "alloc-order a < f [warning]");
}

TEST_CASE("alloc-blocked: columns of others that nobody frees") {
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=512 @warp 0 tcgen05.dealloc slot=slot cols=512",
                                   "warps=1 held_columns=32")) == "alloc-blocked a");
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=256 @warp 0 tcgen05.dealloc slot=slot cols=256",
                                   "warps=1 held_columns=32")) == "");
  // Fragments: 32 held, then 64 taken at 64; 256 fit at 256, but not twice.
  CHECK(findings_everywhere(kernel("@warp 0 tcgen05.alloc slot=slot cols=256 a: @warp 0 tcgen05.alloc slot=slot2 cols=256 "
                                   "@warp 0 tcgen05.dealloc slot=slot2 cols=256 @warp 0 tcgen05.dealloc slot=slot cols=256",
                                   "warps=1 held_columns=32")) == "alloc-blocked a < program[0]");
}

TEST_CASE("an alloc waits for a neighbour on the SM and is granted") {
  const std::string cycle = "a: @warp 0 tcgen05.alloc slot=slot cols=512 @warp 0 tcgen05.relinquish_alloc_permit @warp 0 tcgen05.dealloc slot=slot cols=512";
  CHECK(findings_everywhere(kernel(cycle, "warps=1 grid=[2, 1, 1] ctas_per_sm=2")) == "");
  const sim::Outcome outcome = simulate(kernel(cycle, "warps=1 grid=[2, 1, 1] ctas_per_sm=2"));
  CHECK_FALSE(outcome.all_schedules);
  CHECK_FALSE(outcome.unordered.empty());
}

TEST_CASE("alloc-permit") {
  const std::string free = " barrier.sync @warp 0 tcgen05.dealloc slot=slot cols=32";
  CHECK(findings_everywhere(kernel("r: @warp 0 tcgen05.relinquish_alloc_permit a: @warp 0 tcgen05.alloc slot=slot cols=32" + free)) == "alloc-permit a < r");
  CHECK(findings_everywhere(kernel("r: @warp 1 tcgen05.relinquish_alloc_permit a: @warp 0 tcgen05.alloc slot=slot cols=32" + free)) == "alloc-permit a < r");
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=32 r: @warp 0 tcgen05.relinquish_alloc_permit" + free)) == "");
}

TEST_CASE("permit-held") {
  const std::string free = " @warp 0 tcgen05.dealloc slot=slot cols=64";
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=64" + free, "warps=1 grid=[2, 1, 1] ctas_per_sm=2")) == "permit-held a < a [warning]");
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=64" + free, "warps=1 grid=[2, 1, 1] ctas_per_sm=1")) == "");
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=64 @warp 0 tcgen05.relinquish_alloc_permit" + free,
                                   "warps=1 grid=[2, 1, 1] ctas_per_sm=2")) == "");
}

TEST_CASE("alloc-leak") {
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=32")) == "alloc-leak a");
  CHECK(findings_everywhere(kernel("a: @warp 0 tcgen05.alloc slot=slot cols=32 @warp 0 tcgen05.dealloc slot=slot cols=32")) == "");
}

TEST_CASE("dealloc-mismatch") {
  const std::string first = "a: @warp 0 tcgen05.alloc slot=slot cols=64 ";
  CHECK(findings_everywhere(kernel(first + "d: @warp 0 tcgen05.dealloc slot=slot cols=32")) == "dealloc-mismatch d < a");
  CHECK(findings_everywhere(kernel(first + "@warp 0 tcgen05.dealloc slot=slot cols=64 d: @warp 0 tcgen05.dealloc slot=slot cols=64")) ==
        "dealloc-mismatch d < program[1]");
  CHECK(findings_everywhere(kernel(first + "d: @warp 0 tcgen05.dealloc addr=word(slot, 0)+32 cols=32 @warp 0 tcgen05.dealloc slot=slot cols=64")) ==
        "dealloc-mismatch d");
  CHECK(findings_everywhere(kernel(first + "d: @warp 0 tcgen05.dealloc addr=word(slot, 0)+65536 cols=64 @warp 0 tcgen05.dealloc slot=slot cols=64")) ==
        "dealloc-mismatch d");
  CHECK(findings_everywhere(kernel(first + "d: @warp 0 tcgen05.dealloc addr=word(slot, 0) cols=64")) == "");
}

TEST_CASE("dealloc-live") {
  const std::string store = "st: @warp 1 tcgen05.st shape=32x32b num=8 dst=" + own + " src=R.r[0:8] ";
  CHECK(findings_everywhere(with_tmem(store)) == "dealloc-live dealloc < st");
  CHECK(findings_everywhere(with_tmem(store + "@warp 1 tcgen05.wait::st")) == "");
  CHECK(findings_everywhere(with_tmem(store + "@warp 2 tcgen05.wait::st")) == "dealloc-live dealloc < st");
  const std::string load = store + "@warp 1 tcgen05.wait::st ld: @warp 1 tcgen05.ld shape=32x32b num=8 dst=R.r[8:16] src=" + own + " ";
  CHECK(findings_everywhere(with_tmem(load)) == "dealloc-live dealloc < ld");
  CHECK(findings_everywhere(with_tmem(load + "use: @warp 1 add.s32 dst=R.r[0] a=R.r[8] b=1")) == "dealloc-live dealloc < ld");
  CHECK(findings_everywhere(with_tmem(load + "@warp 1 tcgen05.wait::ld")) == "");
  // The access is not joined with the warp that frees.
  CHECK(findings_everywhere(with_tmem("barrier.sync end2: barrier.sync id=1 count=64") ).find("dealloc-live") == std::string::npos);
  CHECK(findings_everywhere(kernel(R"(
    @warp 0 tcgen05.alloc slot=slot cols=32
    barrier.sync
    mov dst=R.r[0:8] a=tid
    st: @warp 1 tcgen05.st shape=32x32b num=8 dst={base: word(slot, 0), lane: 32} src=R.r[0:8]
    @warp 1 tcgen05.wait::st
    dealloc: @warp 0 tcgen05.dealloc slot=slot cols=32)")) == "dealloc-live dealloc < st");
}

TEST_CASE("unallocated-access") {
  CHECK(findings_everywhere(with_tmem("st: @warp 0 tcgen05.st shape=32x32b num=64 dst={base: word(slot, 0), col: 1} src=R.r[0:64] @warp 0 tcgen05.wait::st")) ==
        "unallocated-access st");
  CHECK(findings_everywhere(with_tmem("st: @warp 0 tcgen05.st shape=32x32b num=64 dst={base: word(slot, 0)} src=R.r[0:64] @warp 0 tcgen05.wait::st")) == "");
  CHECK(findings_everywhere(kernel(R"(
    mov dst=R.r[0:8] a=tid
    st: @warp 0 tcgen05.st shape=32x32b num=8 dst={base: 0} src=R.r[0:8]
    @warp 0 tcgen05.wait::st
    again: @warp 0 tcgen05.ld shape=32x32b num=8 dst=R.r[8:16] src={base: 0}
    @warp 0 tcgen05.wait::ld)")) == "unallocated-access st");
  CHECK(findings_everywhere(kernel(R"(
    mov dst=R.r[0:8] a=tid
    @warp 0 tcgen05.alloc slot=slot cols=32
    @warp 0 mov dst=R.r[9] a=word(slot, 0)
    d: @warp 0 tcgen05.dealloc slot=slot cols=32
    st: @warp 0 tcgen05.st shape=32x32b num=8 dst={base: word(slot, 0)} src=R.r[0:8]
    @warp 0 tcgen05.wait::st)")).find("unallocated-access st < d") != std::string::npos);
}

TEST_CASE("lane-window") {
  const std::string wait = " tcgen05.wait::st";
  const std::string wrong = "st: tcgen05.st shape=32x32b num=4 dst={base: word(slot, 0)} src=R.r[0:4]" + wait;
  CHECK(findings_everywhere(with_tmem(wrong)) == "lane-window st");
  CHECK(findings_everywhere(with_tmem("st: tcgen05.st shape=32x32b num=4 dst=" + own + " src=R.r[0:4]" + wait)) == "");
  sim::Options lenient;
  lenient.profile = Profile::lenient();
  CHECK(findings_everywhere(with_tmem(wrong), lenient) == "");
  const std::string other = "st: @warp 1 tcgen05.st shape=32x32b num=4 dst={base: word(slot, 0), lane: 64} src=R.r[0:4]" + wait;
  CHECK(findings_everywhere(with_tmem(other), lenient) == "lane-window st");
  // Warp 5 of an epilogue of warps 4..7 has the second quadrant.
  CHECK(findings_everywhere(with_tmem("st: tcgen05.st shape=16x64b num=4 dst={base: word(slot, 0), lane: warp * 32 + 16} src=R.r[0:4]" + wait)) == "");
}

TEST_CASE("read-before-wait") {
  const std::string start = "@warp 0 tcgen05.st shape=32x32b num=4 dst=" + own + " src=R.r[0:4] @warp 0 tcgen05.wait::st "
                            "ld: @warp 0 tcgen05.ld shape=32x32b num=4 dst=R.r[8:12] src=" + own + " ";
  const std::string use = "use: @warp 0 add.s32 dst=R.r[20] a=R.r[9] b=1 ", wait = "@warp 0 tcgen05.wait::ld ";
  CHECK(findings_everywhere(with_tmem(start + use + wait)) == "read-before-wait use < ld");
  CHECK(findings_everywhere(with_tmem(start + wait + use)) == "");
  CHECK(findings_everywhere(with_tmem(start + "@warp 0 tcgen05.wait::st " + use + wait)) == "read-before-wait use < ld");
  const std::string overwrite = "use: @warp 0 mov dst=R.r[9] a=1 ";
  CHECK(findings_everywhere(with_tmem(start + overwrite + wait)) == "read-before-wait use < ld");
  sim::Options lenient;
  lenient.profile = Profile::lenient();
  CHECK(findings_everywhere(with_tmem(start + use + wait), lenient) == "");
  CHECK(findings_everywhere(with_tmem(start + overwrite + wait), lenient) == "read-before-wait use < ld");
}

TEST_CASE("war-ld and raw-st and waw-async in one warp") {
  const std::string st = " tcgen05.st shape=32x32b num=4 dst=" + own + " src=R.r[0:4] ";
  const std::string ld = " tcgen05.ld shape=32x32b num=4 dst=R.r[8:12] src=" + own + " ";
  const std::string wait_st = " tcgen05.wait::st ", wait_ld = " tcgen05.wait::ld ";
  CHECK(findings_everywhere(with_tmem("s:" + st + "l:" + ld + wait_st + wait_ld)) == "raw-st l < s");
  CHECK(findings_everywhere(with_tmem("s:" + st + wait_ld + "l:" + ld + wait_st + wait_ld)) == "raw-st l < s");
  CHECK(findings_everywhere(with_tmem("s:" + st + wait_st + "l:" + ld + wait_ld)) == "");
  CHECK(findings_everywhere(with_tmem("s:" + st + wait_st + "l:" + ld + "s2:" + st + wait_ld + wait_st)) == "war-ld s2 < l");
  CHECK(findings_everywhere(with_tmem("s:" + st + wait_st + "l:" + ld + wait_ld + "s2:" + st + wait_st)) == "");
  CHECK(findings_everywhere(with_tmem("s:" + st + "s2:" + st + wait_st)) == "waw-async s2 < s");
  CHECK(findings_everywhere(with_tmem("s:" + st + wait_st + "s2:" + st + wait_st)) == "");
}

TEST_CASE("uninit-read") {
  const std::string ld = "ld: @warp 0 tcgen05.ld shape=32x32b num=8 dst=R.r[8:16] src=" + own + " @warp 0 tcgen05.wait::ld ";
  const std::string half = "@warp 0 tcgen05.st shape=32x32b num=4 dst=" + own + " src=R.r[0:4] @warp 0 tcgen05.wait::st ";
  CHECK(findings_everywhere(with_tmem(ld)) == "uninit-read ld");
  CHECK(findings_everywhere(with_tmem(half + ld)) == "uninit-read ld");
  CHECK(findings_everywhere(with_tmem("@warp 0 tcgen05.st shape=32x32b num=8 dst=" + own + " src=R.r[0:8] @warp 0 tcgen05.wait::st " + ld)) == "");
  // What was read is known bad: using and storing it is no second fault.
  CHECK(findings_everywhere(with_tmem(ld + "@warp 0 add.s32 dst=R.r[0] a=R.r[8] b=1 @warp 0 st dst=B[lane] src=R.r[0] bytes=4")) == "uninit-read ld");
  // Upper halves after unpack.
  const std::string unpack = "@warp 0 tcgen05.st shape=32x32b num=2 unpack=true dst=" + own + " src=R.r[0:2] @warp 0 tcgen05.wait::st ";
  const std::string plain = "ld: @warp 0 tcgen05.ld shape=32x32b num=4 dst=R.r[8:12] src=" + own + " @warp 0 tcgen05.wait::ld ";
  CHECK(findings_everywhere(with_tmem(unpack + plain)) == "uninit-read ld");
  CHECK(findings_everywhere(with_tmem(unpack + "ld: @warp 0 tcgen05.ld shape=32x32b num=2 pack=true dst=R.r[8:10] src=" + own + " @warp 0 tcgen05.wait::ld")) == "");
  sim::Options zero;
  zero.profile.set("unpack-high-half=zero");
  CHECK(findings_everywhere(with_tmem(unpack + plain), zero) == "");
  // Registers and shared bytes: copying is silent, using is not.
  CHECK(findings_everywhere(kernel("@warp 0 add.s32 dst=R.r[1] a=R.r[0] b=1")) == "uninit-read program[0]");
  CHECK(findings_everywhere(kernel("@warp 0 mov dst=R.r[1] a=R.r[0]")) == "");
  CHECK(findings_everywhere(kernel("@warp 0 st dst=B[lane] src=R.r[0] bytes=4")) == "uninit-read program[0]");
  CHECK(findings_everywhere(kernel("@warp 0 st dst=S[lane] src=R.r[0] bytes=4")) == "");
  CHECK(findings_everywhere(kernel("if word(S, 0) == 0 { }")) == "uninit-read program[0]");
}

TEST_CASE("uninit-read in lenient: an error only where the value is multiplied or gets to global memory") {
  sim::Options lenient;
  lenient.profile = Profile::lenient();
  const auto verdicts = [&](const std::string& text) { return findings_everywhere(text, lenient); };
  const std::string ld = "ld: @warp 0 tcgen05.ld shape=32x32b num=1 dst=R.r[8] src=" + own + " @warp 0 tcgen05.wait::ld ";
  const std::string to_memory = "@warp 0 st dst=B[lane] src=R.r[9] bytes=4 ", to_shared = "@warp 0 st dst=S[lane] src=R.r[9] bytes=4 @warp 0 ld dst=R.r[10] src=S[lane] bytes=4 ";
  CHECK(verdicts(with_tmem(ld)) == "uninit-read ld [warning]");
  CHECK(verdicts(with_tmem(ld + "@warp 0 mov dst=R.r[9] a=R.r[8] " + to_memory)) == "uninit-read ld");
  CHECK(verdicts(with_tmem(ld + "@warp 0 add.s32 dst=R.r[9] a=R.r[8] b=1 " + to_memory)) == "uninit-read ld");
  CHECK(verdicts(with_tmem(ld + "@warp 0 mov dst=R.r[9] a=R.r[8] " + to_shared)) == "uninit-read ld [warning]");
  CHECK(verdicts(with_tmem(ld + "@warp 0 mov dst=R.r[9] a=R.r[8] " + to_shared + "@warp 0 st dst=B[lane] src=R.r[10] bytes=4")) == "uninit-read ld");
  CHECK(verdicts(with_tmem(ld + "@warp 0 mov dst=R.r[9] a=7 " + to_memory)) == "uninit-read ld [warning]");  // another value
  // A second load of the same cells brings the value that has been told.
  const std::string second = "l2: @warp 0 tcgen05.ld shape=32x32b num=1 dst=R.r[9] src=" + own + " @warp 0 tcgen05.wait::ld ";
  CHECK(verdicts(with_tmem(ld + second)) == "uninit-read ld [warning]");
  CHECK(verdicts(with_tmem(ld + second + to_memory)) == "uninit-read ld");
  // Columns that are allocated anew have no past.
  const std::string get = "@warp 0 tcgen05.alloc slot=slot cols=64 ", give = "@warp 0 tcgen05.dealloc slot=slot cols=64 ";
  CHECK(verdicts(kernel(get + ld + give + get + second + to_memory + give)) == "uninit-read ld [warning]; uninit-read l2");
  CHECK(verdicts(kernel("use: @warp 0 add.s32 dst=R.r[1] a=R.r[0] b=1")) == "uninit-read use [warning]");
  CHECK(verdicts(kernel("use: @warp 0 add.s32 dst=R.r[1] a=R.r[0] b=1 @warp 0 st dst=B[lane] src=R.r[1] bytes=4")) == "uninit-read use");
  CHECK(verdicts(kernel("keep: @warp 0 st dst=B[lane] src=R.r[0] bytes=4")) == "uninit-read keep");
  CHECK(verdicts(kernel("if word(S, 0) == 0 { }")) == "uninit-read program[0] [warning]");
}

TEST_CASE("participation") {
  const std::string wait = "@warp 0 tcgen05.wait::st";
  CHECK(findings_everywhere(kernel("a: @warp 0 lane 0 tcgen05.alloc slot=slot cols=32 @warp 0 tcgen05.dealloc slot=slot cols=32")) == "participation a");
  CHECK(findings_everywhere(kernel("a: @warp 0 elect tcgen05.alloc slot=slot cols=32 @warp 0 tcgen05.dealloc slot=slot cols=32")) == "participation a");
  CHECK(findings_everywhere(with_tmem("if lane < 16 { st: @warp 0 tcgen05.st shape=32x32b num=1 dst=" + own + " src=R.r[0:1] " + wait + " }")).find("participation") == 0);
  CHECK(findings_everywhere(with_tmem("if warp < 1 { st: tcgen05.st shape=32x32b num=1 dst=" + own + " src=R.r[0:1] tcgen05.wait::st }")) == "");
  // Lanes that took different branches are together again behind the `if`.
  CHECK(findings_everywhere(with_tmem("if lane < 16 { mov dst=R.r[0] a=1 } st: tcgen05.st shape=32x32b num=1 dst=" + own + " src=R.r[0:1] tcgen05.wait::st")) == "");
  CHECK(findings_everywhere(with_tmem("for i in [0, lane % 3] { mov dst=R.r[0] a=1 } st: tcgen05.st shape=32x32b num=1 dst=" + own +
                                      " src=R.r[0:1] tcgen05.wait::st")) == "");
  CHECK(findings_everywhere(with_tmem("st: @warp 0 tcgen05.st shape=32x32b num=1 dst={base: word(slot, 0), col: lane / 16} src=R.r[0:1] " + wait)) ==
        "participation st");
  CHECK(findings_everywhere(kernel("b: @warp 0 lane 0 barrier.sync id=1 count=32")) == "participation b");
  CHECK(findings_everywhere(kernel("if lane == 0 { b: barrier.sync } ")) == "participation b");
  CHECK(findings_everywhere(kernel("b: @warp 0 barrier.sync id=1 count=32")) == "");
}

TEST_CASE("out-of-bounds and misaligned and taddr-bits") {
  const std::string wait = " @warp 0 tcgen05.wait::st";
  const std::string full = kernel("");
  const auto tmem = [&](std::string_view address, std::string_view shape = "32x32b", int num = 32) {
    return with_tmem(fmt::format("st: @warp 0 tcgen05.st shape={} num={} dst={} src=R.r[0:{}]{}", shape, num, address, num, wait), "512");
  };
  CHECK(findings_everywhere(tmem("{base: word(slot, 0), col: 500}")) == "out-of-bounds st");
  CHECK(findings_everywhere(tmem("{base: word(slot, 0), col: 480}")) == "");
  CHECK(findings_everywhere(tmem("{base: word(slot, 0), col: 512}")) == "taddr-bits st");
  CHECK(findings_everywhere(tmem("{base: word(slot, 0), lane: 128}")) == "taddr-bits st");
  CHECK(findings_everywhere(tmem("{base: word(slot, 0), lane: 8}", "16x64b", 16)) == "misaligned st");
  CHECK(findings_everywhere(tmem("{base: word(slot, 0), lane: 16}", "16x64b", 16)) == "");
  CHECK(findings_everywhere(kernel("mov dst=R.r[0] a=1 for i in [0, 300] { st: @warp 0 lane 0 st dst=S[i] src=R.r[0] bytes=4 }")) == "out-of-bounds st");
  CHECK(findings_everywhere(kernel("mov dst=R.r[0] a=1 for i in [0, 256] { st: @warp 0 lane 0 st dst=S[i] src=R.r[0] bytes=4 }")) == "");
  CHECK(findings_everywhere(kernel("mov dst=R.r[0:2] a=1 st: @warp 0 lane 0 st dst=S{byte: 4} src=R.r[0:2] bytes=8")) == "misaligned st");
  CHECK(findings_everywhere(kernel("mov dst=R.r[0:2] a=1 st: @warp 0 lane 0 st dst=S{byte: 8} src=R.r[0:2] bytes=8")) == "");
  CHECK(findings_everywhere(kernel("mov dst=R.r[0] a=1 st: @warp 0 lane 0 st dst=B{byte: lane * 4 - 4} src=R.r[0] bytes=4")) == "out-of-bounds st");
}

TEST_CASE("deadlock") {
  CHECK(findings_everywhere(kernel("@warps 0..2 barrier.sync id=1 count=128")) == "deadlock program[0]");
  CHECK(findings_everywhere(kernel("@warps 0..2 barrier.sync id=1 count=96")) == "");
  CHECK(findings_everywhere(kernel("a: @warps 0..1 barrier.sync b: @warps 2..3 barrier.sync id=1")) .find("deadlock") == 0);
  const sim::Outcome outcome = simulate(kernel("a: @warps 0..1 barrier.sync id=2 count=128 b: @warps 2..3 barrier.sync id=1 count=128"));
  REQUIRE(outcome.findings.size() == 1);
  CHECK_THAT(outcome.findings[0].message, contains("warp 0"));
  CHECK_THAT(outcome.findings[0].message, contains("warp 3"));
  // Exited threads are not waited for where no count is given.
  CHECK(findings_everywhere(kernel("@warps 0..2 barrier.sync")) == "");
  CHECK(findings_everywhere(kernel("@warps 0..2 barrier.arrive id=3 count=128 @warp 3 barrier.sync id=3 count=128")) == "");
}

TEST_CASE("step-limit") {
  sim::Options options;
  options.max_steps = 1000;
  CHECK(findings_everywhere(kernel("while 1 { }"), options) == "step-limit program[0]");
  CHECK(findings_everywhere(kernel("for i in [0, 10] { }"), options) == "");
}

TEST_CASE("target") {
  const std::string cycle = "a: @warp 0 tcgen05.alloc slot=slot cols=32 b: @warp 0 tcgen05.dealloc slot=slot cols=32";
  CHECK(findings_everywhere(kernel(cycle, "warps=4", "sm_120a")) == "target a; target b");
  CHECK(findings_everywhere(kernel(cycle, "warps=4", "sm_90a")) == "target a; target b");
  CHECK(findings_everywhere(kernel(cycle, "warps=4", "sm_103a")) == "");
}

TEST_CASE("order between warps: what a barrier hands over and what it does not") {
  const std::string st = "s: @warp 0 tcgen05.st shape=32x32b num=4 dst={base: word(slot, 0)} src=R.r[0:4] ";
  const std::string ld = "l: @warp 4 tcgen05.ld shape=32x32b num=4 dst=R.r[8:12] src={base: word(slot, 0)} @warp 4 tcgen05.wait::ld ";
  const auto run = [&](const std::string& body) {
    return findings_everywhere(kernel("@warp 0 tcgen05.alloc slot=slot cols=32 barrier.sync mov dst=R.r[0:8] a=tid " + body +
                                      " barrier.sync dealloc: @warp 0 tcgen05.dealloc slot=slot cols=32", "warps=8"));
  };
  const std::string wait = "@warp 0 tcgen05.wait::st ", join = "barrier.sync ";
  CHECK(run(st + wait + ld) == "raw-st l < s");
  CHECK(run(st + join + ld + wait) == "raw-st l < s");
  CHECK(run(st + wait + "tcgen05.fence::before_thread_sync " + join + "tcgen05.fence::after_thread_sync " + ld) == "");
  CHECK(run(st + wait + join + ld) == "missing-fence l < s");
  CHECK(run(st + wait + join + "tcgen05.fence::after_thread_sync " + ld) == "missing-fence l < s");
}

TEST_CASE("the base address has to be published") {
  const std::string st = "s: @warp 1 tcgen05.st shape=32x32b num=4 dst={base: word(slot, 0), lane: 32} src=R.r[0:4] @warp 1 tcgen05.wait::st ";
  const std::string end = "barrier.sync @warp 0 tcgen05.dealloc slot=slot cols=32";
  const std::string alloc = "mov dst=R.r[0:4] a=1 a: @warp 0 tcgen05.alloc slot=slot cols=32 ";
  CHECK(findings_everywhere(kernel(alloc + st + end)) == "addr-publish s < a");
  CHECK(findings_everywhere(kernel(alloc + "barrier.sync " + st + end)) == "");
}

TEST_CASE("races on shared and global bytes") {
  const std::string put = "mov dst=R.r[0] a=tid s: @warp 0 st dst=S[lane] src=R.r[0] bytes=4 ", get = "l: @warp 1 ld dst=R.r[1] src=S[lane] bytes=4 ";
  CHECK(findings_everywhere(kernel(put + get)) == "smem-race l < s");
  CHECK(findings_everywhere(kernel(put + "barrier.sync " + get)) == "");
  // Lanes of one warp need bar.warp.sync.
  const std::string turn = "l: @warp 0 ld dst=R.r[1] src=S[31 - lane] bytes=4";
  CHECK(findings_everywhere(kernel(put + turn)) == "smem-race l < s");
  CHECK(findings_everywhere(kernel(put + "bar.warp.sync " + turn)) == "");
  CHECK(findings_everywhere(kernel(put + "l: @warp 0 ld dst=R.r[1] src=S[lane] bytes=4")) == "");
  const std::string global = "mov dst=R.r[0] a=tid s: st dst=B[lane] src=R.r[0] bytes=4";
  CHECK(findings_everywhere(kernel(global)) == "global-race s < s");
  CHECK(findings_everywhere(kernel("mov dst=R.r[0] a=tid s: st dst=B[tid] src=R.r[0] bytes=4")) == "");
}
