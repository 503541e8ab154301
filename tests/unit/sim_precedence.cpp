// One fault, one finding: of several rules that one instruction breaks the first decides, what follows from a
// reported fault is silent, and neither depends on the schedule.
#include "tests/catch.hpp"
#include "tests/unit/sim_run.hpp"

using namespace tmemsim;
using namespace tmemsim::tests;

namespace {

std::string kernel(std::string_view body, std::string_view launch = "warps=2") {
  return fmt::format(R"(kernel k
target sm_100a
launch {}
buffer A: global u32 [64] init=iota(1, 1)
buffer B: global u32 [64]
buffer C: global u32 [64]
buffer slot: shared u32 [1] offset=0
buffer slot2: shared u32 [1] offset=16
buffer S: shared u32 [64] offset=1024
buffer R: local u32 [8]
program {{
{}
}}
)", launch, body);
}

const std::string set = "mov dst=R.r[0] a=tid ";
const std::string alloc = "a: @warp 0 tcgen05.alloc slot=slot cols=64 ", give_back = " @warp 0 tcgen05.dealloc slot=slot cols=64";

}  // namespace

TEST_CASE("one alloc that breaks several rules: permit before size before order") {
  const std::string relinquish = "r: @warp 0 tcgen05.relinquish_alloc_permit ";
  const std::string second_give_back = " @warp 0 tcgen05.dealloc slot=slot2 cols=128";
  CHECK(findings_everywhere(kernel(relinquish + "a: @warp 0 tcgen05.alloc slot=slot cols=33" + give_back)) == "alloc-permit a < r");
  CHECK(findings_everywhere(kernel(alloc + give_back + " " + relinquish + "b: @warp 0 tcgen05.alloc slot=slot2 cols=128" + second_give_back)) == "alloc-permit b < r");
  CHECK(findings_everywhere(kernel(alloc + give_back + " b: @warp 0 tcgen05.alloc slot=slot2 cols=128" + second_give_back)) == "alloc-order b < a");
  CHECK(findings_everywhere(kernel(alloc + give_back + " b: @warp 0 tcgen05.alloc slot=slot2 cols=96" + second_give_back)) == "alloc-size b");
}

TEST_CASE("one access that breaks several rules: participation before the address") {
  const auto store = [](std::string_view who, std::string_view place) {
    return kernel(alloc + set + fmt::format("st: @{} tcgen05.st shape=32x32b num=1 dst={{base: word(slot, 0), {}}} src=R.r[0] ", who, place) +
                  "@warp 0 tcgen05.wait::st" + give_back);
  };
  CHECK(findings_everywhere(store("warp 0 lanes 0..7", "col: 600")) == "participation st");
  CHECK(findings_everywhere(store("warp 0", "col: 600, lane: 32")) == "taddr-bits st");
  CHECK(findings_everywhere(store("warp 0", "col: 100, lane: 32")) == "lane-window st");
  CHECK(findings_everywhere(store("warp 0", "col: 3")) == "");
}

TEST_CASE("a dealloc that misses its allocation is one fault, and no leak beside it") {
  CHECK(findings_everywhere(kernel(alloc + "d: @warp 0 tcgen05.dealloc addr=word(slot, 0)+32 cols=32")) == "dealloc-mismatch d");
  CHECK(findings_everywhere(kernel(alloc + "d: @warp 0 tcgen05.dealloc addr=word(slot, 0)+65536 cols=64")) == "dealloc-mismatch d");
  CHECK(findings_everywhere(kernel(alloc + "b: @warp 0 tcgen05.alloc slot=slot2 cols=64 d: @warp 0 tcgen05.dealloc slot=slot cols=128")) == "dealloc-mismatch d < a");
  // An allocation that it does not touch still leaks.
  CHECK(findings_everywhere(kernel(alloc + "b: @warp 0 tcgen05.alloc slot=slot2 cols=64 d: @warp 0 tcgen05.dealloc addr=word(slot, 0)+32 cols=32")) ==
        "alloc-leak b; dealloc-mismatch d");
}

TEST_CASE("a value read too early is not told again where it is used") {
  const auto shared = [](std::string_view writer, std::string_view reader, std::string_view between) {
    return kernel(fmt::format("{}st: @{} st dst=S{{byte: lane * 4}} src=R.r[0] bytes=4 {} ld: @{} ld dst=R.r[1] src=S{{byte: lane * 4}} bytes=4 "
                              "@{} mov dst=R.r[2] a=R.r[1] use: @{} st dst=B{{byte: lane * 4}} src=R.r[2] bytes=4",
                              set, writer, between, reader, reader, reader));
  };
  CHECK(findings_everywhere(shared("warp 0", "warp 1", "")) == "smem-race ld < st");
  CHECK(findings_everywhere(shared("warp 1", "warp 0", "")) == "smem-race ld < st");
  CHECK(findings_everywhere(shared("warp 0", "warp 1", "barrier.sync")) == "");
  const auto global = [](std::string_view between) {
    return kernel(fmt::format("{}st: @warp 1 st dst=C{{byte: lane * 4}} src=R.r[0] bytes=4 {} ld: @warp 0 ld dst=R.r[1] src=C{{byte: lane * 4}} bytes=4 "
                              "use: @warp 0 st dst=B{{byte: lane * 4}} src=R.r[1] bytes=4", set, between));
  };
  CHECK(findings_everywhere(global("")) == "global-race ld < st");
  CHECK(findings_everywhere(global("barrier.sync")) == "");
  // The address of an alloc, read by a warp that nothing orders after it.
  const std::string by_register = alloc + set + "ld: @warp 1 ld dst=R.r[1] src=slot bytes=4 st: @warp 1 tcgen05.st shape=32x32b num=1 "
                                                "dst={base: R.r[1], lane: 32} src=R.r[0] @warp 1 tcgen05.wait::st barrier.sync" + give_back;
  CHECK(findings_everywhere(kernel(by_register)) == "addr-publish ld < a");
  // Nobody writes it at all: then the use is the fault.
  CHECK(findings_everywhere(kernel("ld: @warp 0 ld dst=R.r[1] src=S{byte: lane * 4} bytes=4 use: @warp 0 st dst=B{byte: lane * 4} src=R.r[1] bytes=4")) ==
        "uninit-read use");
  // A register that never had a value is a fault of its own beside a race.
  CHECK(findings_everywhere(kernel(set + "st: @warp 0 st dst=S{byte: lane * 4} src=R.r[0] bytes=4 ld: @warp 1 ld dst=R.r[1] src=S{byte: lane * 4} bytes=4 "
                                         "use: @warp 1 st dst=B{byte: lane * 4} src=R.r[5] bytes=4")) == "smem-race ld < st; uninit-read use");
}

TEST_CASE("columns freed under two accesses of a warp: the last one is named, whoever comes first") {
  CHECK(findings_everywhere(kernel(alloc + "barrier.sync " + set + "st: @warp 1 tcgen05.st shape=32x32b num=1 dst={base: 0, lane: 32} src=R.r[0] "
                                   "@warp 1 tcgen05.wait::st ld: @warp 1 tcgen05.ld shape=32x32b num=1 dst=R.r[1] src={base: 0, lane: 32} "
                                   "@warp 1 tcgen05.wait::ld d:" + give_back)) == "dealloc-live d < ld");
}

TEST_CASE("a store of some bytes of a register needs those bytes only") {
  const std::string load = "@warp 0 ld dst=R.r[0] src=A{byte: lane * 4} bytes=2 reg_byte=";
  const auto store = [](int byte) { return fmt::format(" use: @warp 0 st dst=B{{byte: lane * 4}} src=R.r[0] bytes=2 reg_byte={}", byte); };
  CHECK(findings_everywhere(kernel(load + "0" + store(0))) == "");
  CHECK(findings_everywhere(kernel(load + "2" + store(2))) == "");
  CHECK(findings_everywhere(kernel(load + "2" + store(0))) == "uninit-read use");
  CHECK(findings_everywhere(kernel(load + "0 use: @warp 0 st dst=B{byte: lane * 4} src=R.r[0] bytes=4")) == "uninit-read use");
}

TEST_CASE("a base address that nothing orders after its alloc: no leak and no second finding, whoever comes first") {
  CHECK(findings_everywhere(kernel("a: @warp 1 tcgen05.alloc slot=slot cols=64 d: @warp 0 tcgen05.dealloc slot=slot cols=64")) == "addr-publish d < a");
  CHECK(findings_everywhere(kernel("a: @warp 1 tcgen05.alloc slot=slot cols=64 barrier.sync d: @warp 0 tcgen05.dealloc slot=slot cols=64")) == "");
}

TEST_CASE("columns that a CTA leaves behind: the leak is told, not the neighbour that waits for them") {
  const std::string cycle = "a: @warp 0 tcgen05.alloc slot=slot cols=512 @warp 0 tcgen05.relinquish_alloc_permit ";
  const std::string pair_on_an_sm = "warps=1 grid=[2, 1, 1] ctas_per_sm=2";
  CHECK(findings_everywhere(kernel(cycle, pair_on_an_sm)) == "alloc-leak a");
  CHECK(findings_everywhere(kernel(cycle + "@warp 0 tcgen05.dealloc slot=slot cols=512", pair_on_an_sm)) == "");
}

TEST_CASE("a deadlock in one CTA beside a wrong set of threads in another: both") {
  CHECK(findings_everywhere(kernel("p: @cta 0 warp 0 lanes 0..7 tcgen05.wait::ld w: @cta 1 warp 0 barrier.sync id=1 count=64", "warps=2 grid=[2, 1, 1]")) ==
        "participation p; deadlock w");
}

TEST_CASE("layout-mismatch: an ld or st that moves something else than it means") {
  const auto program = [](std::string_view registers, std::string_view means) {
    return fmt::format(R"(kernel k
target sm_100a
launch warps=1
buffer slot: shared u32 [1] offset=0
buffer acc: tmem u32 [32, 2] layout="S[(32,2):(1@TLane,1@TCol)]" slot=slot
buffer frag: local u32 [32, 2] layout="S[(32,2):(1@laneid,1)]"
program {{
  tcgen05.alloc slot=slot cols=32
  mov dst=frag.r[0:2] a=lane
  st: tcgen05.st shape=32x32b num=2 dst=acc src={} {}
  tcgen05.wait::st
  ld: tcgen05.ld shape=32x32b num=2 dst={} src=acc {}
  tcgen05.wait::ld
  tcgen05.dealloc slot=slot cols=32
}}
)", registers, means.find("acc <-") == std::string_view::npos ? "" : means, registers, means.find("frag <-") == std::string_view::npos ? "" : means);
  };
  CHECK(findings_everywhere(program("frag.r[0, 1]", "means(acc <- frag)")) == "");
  CHECK(findings_everywhere(program("frag.r[1, 0]", "means(acc <- frag)")) == "layout-mismatch st");
  CHECK(findings_everywhere(program("frag.r[0, 1]", "means(frag <- acc)")) == "");
  CHECK(findings_everywhere(program("frag.r[1, 0]", "means(frag <- acc)")) == "layout-mismatch ld");
  CHECK(findings_everywhere(program("frag.r[1, 0]", "")) == "");
}

TEST_CASE("a bulk copy over the slot of an address: two views of the same bytes") {
  const auto program = [](int slot) {
    return fmt::format(R"(kernel k
target sm_100a
launch warps=1
buffer src: global u32 [256] init=iota(0, 1)
buffer tile: shared u32 [256] offset=0
buffer slot: shared u32 [1] offset={}
buffer bar: shared mbarrier [1] offset=4096
program {{
  @lane 0 mbarrier.init bar=bar[0] count=1
  @lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=1024
  fill: @lane 0 cp.async.bulk dst=tile src=src bar=bar[0]
  bar.warp.sync
  a: tcgen05.alloc slot=slot cols=32
  mbarrier.try_wait bar=bar[0] parity=0
  tcgen05.dealloc slot=slot cols=32
}}
)", slot);
  };
  CHECK(findings_everywhere(program(0)) == "alias-race a < fill");
  CHECK(findings_everywhere(program(2048)) == "");
}

TEST_CASE("threads of one instruction that write the same bytes") {
  const auto store = [](std::string_view value, std::string_view place) {
    return kernel(fmt::format("@warp 0 mov dst=R.r[0] a={} st: @warp 0 st dst={} src=R.r[0] bytes=4", value, place));
  };
  CHECK(findings_everywhere(store("lane", "S[0]")) == "smem-race st < st");
  CHECK(findings_everywhere(store("lane", "B[lane / 2]")) == "global-race st < st");
  CHECK(findings_everywhere(store("lane", "S[lane]")) == "");
  CHECK(findings_everywhere(store("7", "S[0]")) == "");  // the same value from all: a note
  CHECK(findings(simulate(store("7", "S[0]")), true) == "smem-race st < st [note]");
}

TEST_CASE("an access to a fixed column that nothing orders after the alloc: the alloc is named, whoever comes first") {
  const std::string store = "st: @warp 1 tcgen05.st shape=32x32b num=1 dst={base: 0, lane: 32} src=R.r[0] @warp 1 tcgen05.wait::st ";
  const std::string load = "barrier.sync @warp 1 tcgen05.ld shape=32x32b num=1 dst=R.r[1] src={base: 0, lane: 32} @warp 1 tcgen05.wait::ld barrier.sync";
  CHECK(findings_everywhere(kernel(set + alloc + store + load + give_back)) == "unallocated-access st < a");
  CHECK(findings_everywhere(kernel(set + alloc + "barrier.sync " + store + load + give_back)) == "");
  CHECK(findings_everywhere(kernel(set + store)) == "unallocated-access st");
  CHECK(findings_everywhere(kernel(set + store + "barrier.sync " + alloc + give_back)) == "unallocated-access st");
}

TEST_CASE("a value that was read too early keeps its origin through memory") {
  const auto through = [](std::string_view first, std::string_view second) {
    return kernel(set + "st: @warp 0 st dst=S[lane] src=R.r[0] bytes=4 " + std::string(first) + " ld: @warp 1 ld dst=R.r[1] src=S[lane] bytes=4 " +
                  std::string(second) + " use: @warp 1 st dst=B[lane] src=R.r[2] bytes=4");
  };
  const std::string shared = "@warp 1 st dst=S[32 + lane] src=R.r[1] bytes=4 @warp 1 ld dst=R.r[2] src=S[32 + lane] bytes=4";
  CHECK(findings_everywhere(through("", shared)) == "smem-race ld < st");
  CHECK(findings_everywhere(through("barrier.sync", shared)) == "");
  const std::string tmem = "b: @warp 1 tcgen05.alloc slot=slot cols=32 @warp 1 tcgen05.st shape=32x32b num=1 dst={base: word(slot, 0), lane: 32} src=R.r[1] "
                           "@warp 1 tcgen05.wait::st @warp 1 tcgen05.ld shape=32x32b num=1 dst=R.r[2] src={base: word(slot, 0), lane: 32} @warp 1 tcgen05.wait::ld "
                           "@warp 1 tcgen05.dealloc slot=slot cols=32";
  CHECK(findings_everywhere(through("", tmem)) == "smem-race ld < st");
  CHECK(findings_everywhere(through("barrier.sync", tmem)) == "");
}

TEST_CASE("a flag hands over what its store was made after") {
  const auto program = [](std::string_view store, std::string_view load) {
    return kernel(fmt::format("zero: @warp 0 lane 0 mov dst=R.r[3] a=0 @warp 0 lane 0 st dst=S[40] src=R.r[3] bytes=4 barrier.sync {}"
                              "put: @warp 0 lane 0 st dst=S[0] src=R.r[0] bytes=4 @warp 0 lane 0 mov dst=R.r[1] a=1 "
                              "raise: @warp 0 lane 0 st dst=S[40] src=R.r[1] bytes=4 sem={} "
                              "@warp 1 lane 0 mov dst=R.r[2] a=0 @warp 1 lane 0 while R.r[2] == 0 {{ poll: ld dst=R.r[2] src=S[40] bytes=4 sem={} }} "
                              "get: @warp 1 lane 0 ld dst=R.r[4] src=S[0] bytes=4", set, store, load));
  };
  CHECK(findings_everywhere(program("release", "acquire")) == "");
  CHECK(findings_everywhere(program("relaxed", "acquire")) == "smem-race get < put");
  CHECK(findings_everywhere(program("release", "relaxed")) == "smem-race get < put");
}

TEST_CASE("a bulk copy that nobody waits for before the CTA ends; one over a barrier object") {
  const auto program = [](std::string_view body) {
    return fmt::format(R"(kernel k
target sm_100a
launch warps=1
buffer A: global u32 [64] init=iota(1, 1)
buffer B: global u32 [64]
buffer T: shared u32 [64] offset=0
buffer over: shared u32 [64] offset=1024
buffer bar: shared mbarrier [2] offset=1024
buffer R: local u32 [4]
program {{
  i: @lane 0 mbarrier.init bar=bar[0] count=1
  mov dst=R.r[0:2] a=lane
  st dst=T[lane] src=R.r[0] bytes=4
  st dst=T[32 + lane] src=R.r[0] bytes=4
  fence.proxy.async
  bar.warp.sync
  {}
}}
)", body);
  };
  const std::string out = "c: @lane 0 cp.async.bulk dst=B src=T @lane 0 cp.async.bulk.commit_group ";
  CHECK(findings_everywhere(program(out)) == "dealloc-live c");
  CHECK(findings_everywhere(program(out + "@lane 0 cp.async.bulk.wait_group n=0 read=true")) == "");
  const std::string in = "@lane 0 mbarrier.arrive.expect_tx bar=bar[0] bytes=256 c: @lane 0 cp.async.bulk dst=over src=A bar=bar[0] ";
  CHECK(findings_everywhere(program(in + "mbarrier.try_wait bar=bar[0] parity=0")) == "mbar-uninit c < i");
}

TEST_CASE("two instructions that race in a loop are told one way") {
  const std::string loop = "for i in [0, 3] { p: @warp 0 st dst=S[lane] src=R.r[0] bytes=4 q: @warp 1 st dst=S[lane] src=R.r[0] bytes=4 }";
  CHECK(findings_everywhere(kernel(set + loop)) == "smem-race q < p");
  CHECK(findings_everywhere(kernel(set + "for i in [0, 3] { p: @warp 0 st dst=S[lane] src=R.r[0] bytes=4 barrier.sync q: @warp 1 st dst=S[lane] src=R.r[0] bytes=4 barrier.sync }")) == "");
}
