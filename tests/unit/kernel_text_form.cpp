#include "ir/kernel/kernel.hpp"
#include "tests/catch.hpp"

using namespace tmemsim;

namespace {

const std::string round_trip = R"(kernel tmem_roundtrip_f16
doc "Registers to tensor memory and back, bit exact."
target sm_100a
ptx 9.0
launch warps=4 cluster=[1, 1, 1] grid=[1, 1, 1]
buffer A:      global f16 [128, 8] init=iota(1, 1)
buffer B:      global f16 [128, 8] init=fill(0) out="b.npy"
buffer slot:   shared u32 [1] offset=0
buffer acc:    tmem f16 [128, 8] layout="S[(128,8):(1@TLane,1@TCol)]" slot=slot
buffer A_frag: local f16 [128, 8] layout="S[(128,8):(1@tid_in_wg,1)]"
program {
  @warp 0  tcgen05.alloc slot=slot cols=32  # program[0]
  @cta  barrier.sync  # program[1]
  store: @warpgroup 0  copy_async dst=acc src=A_frag by tcgen05_ldst {  # program[2]
    @warpgroup 0  tcgen05.st shape=32x32b num=4 dst=acc[0:128, 0:8] src=A_frag.r[0:4]
  }
  @warpgroup 0  tcgen05.wait::st  # program[3]
  @cta  for i in [0, 8, 2] {  # program[4]
    if tid < i {  # program[4].body[0]
      @warp 1 lane 3  mov dst=A_frag.r[0] a=i + 1  # program[4].body[0].then[0]
    } else {
      delay 5  # program[4].body[0].else[0]
    }
  }
  @cta  while word(slot, 0) == 0 {  # program[5]
  }
  @warpgroup 0  tcgen05.ld shape=16x32bx2 num=8 pack=true half=16 dst=A_frag.r[0, 2] src={base: word(slot, 0)} means(A_frag <- acc)  # program[6]
}
)";

std::string error_of(const std::string& text) {
  try {
    (void)parse_kernel(text, "k.kernel");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// The round trip with one part replaced.
std::string with(std::string_view old_part, std::string_view new_part) {
  std::string text = round_trip;
  const std::size_t at = text.find(old_part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old_part.size(), new_part);
}

}  // namespace

TEST_CASE("the text form reads like the program") {
  const Kernel kernel = parse_kernel(round_trip, "k.kernel");
  CHECK(print(kernel) == round_trip);

  CHECK(kernel.name == "tmem_roundtrip_f16");
  CHECK(kernel.buffers.size() == 5);
  CHECK(kernel.buffers[3].slot == BufferId{2});
  REQUIRE(kernel.body.size() == 7);
  CHECK(kernel.body[2].label == "store");
  const auto& lowered = std::get<Lowered>(kernel.body[2].node);
  CHECK(lowered.variant == "tcgen05_ldst");
  CHECK(lowered.origin == TileOps::Any(CopyAsync{{3, {}}, {4, {}}, {}}));
  CHECK(lowered.body[0].path == "program[2]");
  const auto& store = std::get<TcgenSt>(std::get<MachineOps::Any>(lowered.body[0].node));
  CHECK(store.num == 4);
  CHECK(store.src == Rows{4, {0, 1, 2, 3}});
  CHECK(kernel.body[6].means == Means{{4, {}}, {3, {}}});
  CHECK(kernel.body[4].at.line == 18);
  CHECK(kernel.body[4].at.col == 3);
  CHECK(print(kernel, kernel.body[2]) == "store: @warpgroup 0  copy_async dst=acc src=A_frag by tcgen05_ldst");
}

TEST_CASE("what may be left out may be left out, and blanks do not matter") {
  const Kernel kernel = parse_kernel("kernel k program{delay 1 delay\n2}", "k.kernel");
  CHECK(kernel.launch == Launch{});
  CHECK(kernel.body.size() == 2);
}

TEST_CASE("errors in the text form are located") {
  CHECK(error_of(with("tcgen05.wait::st", "tcgen05.wiat::st")) ==
        "k.kernel:17:17: error: there is no operation 'tcgen05.wiat::st'\n"
        "    @warpgroup 0  tcgen05.wiat::st  # program[3]\n"
        "                  ^\n"
        "  hint: did you mean tcgen05.wait::st?\n");
  CHECK_THAT(error_of(with("num=4", "nun=4")), tests::contains("k.kernel:15:43: error: tcgen05.st has no 'nun'"));
  CHECK_THAT(error_of(with("num=4", "nun=4")), tests::contains("did you mean num?"));
  CHECK_THAT(error_of(with("num=4 ", "")), tests::contains("error: tcgen05.st lacks num"));
  CHECK_THAT(error_of(with("num=4", "num=4 num=4")), tests::contains("'num' stands here twice"));
  CHECK_THAT(error_of(with("num=4", "num=256")), tests::contains("num must be 0 to 255, not 256"));
  CHECK_THAT(error_of(with("shape=32x32b", "shape=32x32")), tests::contains("'32x32' is not shape\n"));
  CHECK_THAT(error_of(with("shape=32x32b", "shape=32x32")), tests::contains("one of 32x32b, 16x64b"));
  CHECK_THAT(error_of(with("dst=acc[0:128, 0:8]", "dst=A")), tests::contains("'A' is a global buffer; a region of a tmem buffer is wanted here"));
  CHECK_THAT(error_of(with("A_frag.r[0:4]", "A_frag.r[0:5]")), tests::contains("A_frag has 4 registers a thread"));
  CHECK_THAT(error_of(with("pack=true", "pack=yes")), tests::contains("pack is true or false"));
  CHECK_THAT(error_of(with("1@TCol)]", "1@TRow)]")), tests::contains("k.kernel:9:"));
  CHECK_THAT(error_of(with("slot=slot\n", "slot=slott\n")), tests::contains("there is no buffer 'slott'"));
  CHECK_THAT(error_of(with("target sm_100a", "target sm_10a")), tests::contains("k.kernel:3:8: error: there is no target 'sm_10a'"));
  CHECK_THAT(error_of(with("global f16", "global f61")), tests::contains("there is no element type 'f61'"));
  CHECK_THAT(error_of(with("global f16", "glob f16")), tests::contains("one of global, shared, local, tmem"));
  CHECK_THAT(error_of(with("iota(1, 1)", "iato(1, 1)")), tests::contains("there are no initial values 'iato'"));
  CHECK_THAT(error_of(with("tid < i", "tid < j")), tests::contains("there is no name 'j'"));
  CHECK_THAT(error_of(with("a=i + 1", "a=A + 1")), tests::contains("'A' is a global buffer, not a number"));
  CHECK_THAT(error_of(with("doc \"", "doc \"\\q")), tests::contains("there is no such escape"));
}

TEST_CASE("damaged files of the text form are refused") {
  CHECK_THAT(error_of(""), tests::contains("a kernel begins with 'kernel'"));
  CHECK_THAT(error_of("kernel"), tests::contains("the name of the kernel is missing"));
  CHECK_THAT(error_of(round_trip.substr(0, round_trip.size() - 2)), tests::contains("the file ends inside a body"));
  CHECK_THAT(error_of(round_trip + "x"), tests::contains("nothing may follow here"));
  CHECK_THAT(error_of(with("bit exact", "bit \xff")), tests::contains("k.kernel:2:47: error: the file is not UTF-8"));
  CHECK_THAT(error_of(with("bit exact", "bit \xed\xa0\x80")), tests::contains("not UTF-8"));
  CHECK(error_of(with("bit exact", "bit \xc3\xa9\xe2\x82\xac")) == "no error");
  CHECK_THAT(error_of("kernel k doc \"never ends"), tests::contains("this text has no end"));
  CHECK_THAT(error_of(std::string((std::size_t{1} << 24) + 1, ' ')), tests::contains("at most 16777216 bytes"));
  std::string deep = "kernel k program {";
  for (int i = 0; i < 70; ++i) deep += "while 1 {";
  CHECK_THAT(error_of(deep), tests::contains("bodies stand more than 64 deep"));
  std::string wide = "kernel k buffer A: global f32 [1";
  for (int i = 0; i < 70; ++i) wide += ",1";
  CHECK_THAT(error_of(wide + "] program {}"), tests::contains("at most 16 dimensions"));
}
