#include "ir/target.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <vector>

#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;

namespace {

std::vector<Target> all_targets() {
  std::vector<Target> targets;
  for (std::size_t i = 0; i < target_count; ++i) targets.push_back(static_cast<Target>(i));
  return targets;
}

std::vector<Needs> all_needs() {
  std::vector<Needs> needs;
  for (std::size_t i = 0; i < needs_count; ++i) needs.push_back(static_cast<Needs>(i));
  return needs;
}

// One instruction that asks for the feature. K = 96 stands in a descriptor, which the assembler does not look into.
const std::map<Needs, std::string> instruction{
    {Needs::nothing, "mov.b32 r1, 0;"},
    {Needs::sm_80, "add.f32 f0, f0, f0;"},
    {Needs::mbarrier, "mbarrier.init.shared.b64 [bar], 1; mbarrier.test_wait.parity.shared.b64 p1, [bar], 0;"},
    {Needs::mbarrier_count, "mbarrier.arrive.shared.b64 d0, [bar], 2;"},
    {Needs::mbarrier_try_wait, "mbarrier.try_wait.parity.shared.b64 p1, [bar], 0;"},
    {Needs::mbarrier_tx, "mbarrier.arrive.expect_tx.shared.b64 d0, [bar], 16;"},
    {Needs::mbarrier_relaxed, "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p1, [bar], 0;"},
    {Needs::cluster, "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"},
    {Needs::cluster_relaxed, "barrier.cluster.arrive.relaxed.aligned;"},
    {Needs::bulk_copy, "cp.async.bulk.global.shared::cta.bulk_group [d0], [bytes], 16;"},
    {Needs::bulk_copy_to_cta, "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [bytes], [d0], 16, [bar];"},
    {Needs::proxy_fence, "fence.proxy.async; fence.mbarrier_init.release.cluster;"},
    {Needs::elect, "elect.sync _|p1, 0xffffffff;"},
    {Needs::tcgen05, "tcgen05.ld.sync.aligned.32x32b.x1.b32 {r1}, [r0]; tcgen05.wait::ld.sync.aligned;"},
    {Needs::tcgen05_decompression, "tcgen05.cp.cta_group::1.128x256b.b8x16.b6x16_p32 [r0], d0;"},
    {Needs::tcgen05_ld_red, "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {r1, r2}, r3, [r0];"},
    {Needs::tcgen05_shift, "tcgen05.shift.cta_group::1.down [r0];"},
    {Needs::tcgen05_i8, "tcgen05.mma.cta_group::1.kind::i8 [r0], d0, d0, r1, p0;"},
    {Needs::tcgen05_scale_input_d, "tcgen05.mma.cta_group::1.kind::f16 [r0], d0, d0, r1, p0, 3;"},
    {Needs::tcgen05_scale_vec,
     "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [r0], d0, d0, r1, [r2], [r3], p0;"},
    {Needs::tcgen05_block, "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32 [r0], d0, d0, r1, [r2], [r3], p0;"},
    {Needs::tcgen05_sp_mxf4,
     "tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [r0], d0, d0, [r1], r1, [r2], [r3], p0;"},
};

class Assembler {
 public:
  bool accepts(const std::string& body, Target target, PtxVersion ptx) const {
    const auto source = folder_.write("probe.ptx", program(body, target, ptx));
    const std::string ptxas = (std::filesystem::path(tests::nvcc).parent_path() / "ptxas").string();
    const std::string command =
        "'" + ptxas + "' -arch=" + std::string(name(target)) + " '" + source.string() + "' -o /dev/null > /dev/null 2>&1";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  static std::string program(const std::string& body, Target target, PtxVersion ptx) {
    return ".version " + to_string(ptx) + "\n.target " + std::string(name(target)) +
           "\n.address_size 64\n.visible .entry k() {\n.reg .b32 r<4>; .reg .b64 d0; .reg .pred p<2>; .reg .f32 f0;\n"
           ".shared .align 16 .b8 bytes[64]; .shared .align 8 .b64 bar;\n"
           "mov.b32 r0, 0; mov.b32 r1, 0; mov.b32 r2, 0; mov.b32 r3, 0; mov.b64 d0, 0; setp.eq.u32 p0, r0, r0;\n" +
           body + "\nret; }\n";
  }
  tests::TemporaryFolder folder_;
};

PtxVersion before(PtxVersion ptx) {
  static const std::vector<PtxVersion> known{{6, 5}, {7, 0}, {7, 1}, {7, 8}, {8, 0}, {8, 1},
                                             {8, 5}, {8, 6}, {8, 7}, {8, 8}, {9, 0}};
  PtxVersion last = known.front();
  for (PtxVersion version : known) {
    if (version < ptx) last = version;
  }
  return last;
}

}  // namespace

TEST_CASE("Targets are found by their names and no other") {
  for (Target target : all_targets()) CHECK(target_named(name(target)) == target);
  for (const char* wrong : {"", "sm_101a", "sm_100b", "SM_100A", "sm_70", "100a"}) CHECK_FALSE(target_named(wrong));
}

TEST_CASE("PTX versions are read") {
  CHECK(ptx_named("8.6") == PtxVersion{8, 6});
  CHECK(ptx_named("9.0") == PtxVersion{9, 0});
  CHECK(to_string(PtxVersion{8, 6}) == "8.6");
  for (const char* wrong : {"", "8", "8.", ".6", "8.6.1", "8.66", "88.6x", "-8.6", "888.6"}) CHECK_FALSE(ptx_named(wrong));
  CHECK(PtxVersion{8, 8} < PtxVersion{9, 0});
}

TEST_CASE("A refusal names who has the feature") {
  CHECK_FALSE(why_not(Needs::tcgen05, Target::sm_100a, {8, 6}));
  CHECK(why_not(Needs::tcgen05, Target::sm_100a, {8, 5}) == "sm_100a needs PTX 8.6 or later; the version is 8.5");
  CHECK(why_not(Needs::tcgen05, Target::sm_120a, {9, 0}) ==
        "tcgen05 needs sm_100a, sm_100f, sm_103a, sm_103f, sm_110a or sm_110f; the target is sm_120a");
  CHECK(why_not(Needs::tcgen05_block, Target::sm_100a, {8, 6}) ==
        "tcgen05.mma with .block16 or .block32, or .block_scale alone, needs PTX 8.8 or later; the version is 8.6");
  CHECK(why_not(Needs::tcgen05_k96, Target::sm_100a, {9, 0}) == "tcgen05.mma with K = 96 needs sm_103a; the target is sm_100a");
  CHECK_FALSE(why_not(Needs::tcgen05_k96, Target::sm_103a, {9, 0}));
  CHECK(why_not(Needs::nothing, Target::sm_110a, {8, 8}) == "sm_110a needs PTX 9.0 or later; the version is 8.8");
}

TEST_CASE("Tensor memory is where tcgen05 is") {
  for (Target target : all_targets()) CHECK(has_tmem(target) == !why_not(Needs::tcgen05, target, {9, 0}));
}

TEST_CASE("The assembler agrees about every target and feature") {
  if (*tests::nvcc == '\0') return;
  const Assembler assembler;
  for (Target target : all_targets()) {
    if (!assembler.accepts("", target, {9, 0})) continue;  // an older toolkit
    INFO(name(target));
    CHECK(assembler.accepts("", target, first_ptx(target)));
    CHECK_FALSE(assembler.accepts("", target, before(first_ptx(target))));
    for (const auto& [needs, body] : instruction) {
      INFO(body);
      CHECK(assembler.accepts(body, target, {9, 0}) == !why_not(needs, target, {9, 0}));
    }
  }
}

TEST_CASE("The assembler agrees about the first PTX version of a feature") {
  if (*tests::nvcc == '\0') return;
  const Assembler assembler;
  for (Needs needs : all_needs()) {
    const auto found = instruction.find(needs);
    if (found == instruction.end()) continue;
    for (Target target : {Target::sm_80, Target::sm_90, Target::sm_100a, Target::sm_103a}) {
      if (why_not(needs, target, {9, 0}) || !assembler.accepts("", target, {9, 0})) continue;
      INFO(name(target) << ": " << found->second);
      for (PtxVersion ptx : {PtxVersion{7, 0}, {7, 1}, {7, 8}, {8, 0}, {8, 5}, {8, 6}, {8, 7}, {8, 8}}) {
        INFO(to_string(ptx));
        CHECK(assembler.accepts(found->second, target, ptx) == !why_not(needs, target, ptx));
      }
      break;
    }
  }
}
