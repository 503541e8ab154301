// The LLVM text of rocdl matrix atoms, assembled where a clang with the amdgcn target is installed.
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <string>

#include "ir/atom/registry.hpp"
#include "lower/atom/amdgcn.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;

namespace {

// What a clang has to know: the chip; for copies also pointers without types and the buffer intrinsics of LLVM 17.
const char* const matrix_probe = "define void @f() { ret void }\n";
const char* const copy_probe =
    "declare i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8), i32, i32, i32)\n"
    "define i32 @f(ptr addrspace(8) %from) { %d = call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %from, i32 0, "
    "i32 0, i32 0) ret i32 %d }\n";

// The first clang that assembles the probe for a chip.
class Assembler {
 public:
  explicit Assembler(const char* probe) : probe_(probe) {}
  bool knows(const std::string& chip) {
    const auto found = known_.find(chip);
    if (found != known_.end()) return found->second;
    bool works = false;
    for (const char* clang : {"clang-19", "clang"}) {
      if (works) break;
      if (assembles(clang, chip, probe_)) {
        works = true;
        clang_[chip] = clang;
      }
    }
    return known_[chip] = works;
  }
  bool assembles(const std::string& chip, const std::string& text) { return assembles(clang_.at(chip), chip, text); }

 private:
  bool assembles(const std::string& clang, const std::string& chip, const std::string& text) {
    folder_.write("atom.ll", text);
    const std::string at = folder_.path().string();
    const std::string command = clang + " --target=amdgcn-amd-amdhsa -nogpulib -mcpu=" + chip +
                                " -Werror -Wno-override-module -c '" + at + "/atom.ll' -o '" + at + "/atom.o' > '" + at +
                                "/said' 2>&1";
    return std::system(command.c_str()) == 0;
  }
  const char* probe_;
  tests::TemporaryFolder folder_;
  std::map<std::string, bool> known_;
  std::map<std::string, std::string> clang_;
};

std::string text_of(const std::string& name) {
  const auto made = lower::amdgcn_module(**atom::atom_named(name));
  return made ? made->text : made.reason().text;
}

}  // namespace

TEST_CASE("A matrix atom as LLVM text: one call of its intrinsic") {
  CHECK(text_of("cdna3.mfma<16x16x16,(f16,f16)->f32>") ==
        "declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>, <4 x half>, <4 x float>, i32, i32, i32)\n\n"
        "define <4 x float> @atom(<4 x half> %a, <4 x half> %b, <4 x float> %c) {\n"
        "  %d = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %a, <4 x half> %b, <4 x float> %c, i32 0, i32 0, "
        "i32 0)\n"
        "  ret <4 x float> %d\n}\n");
  CHECK_THAT(text_of("gfx11.wmma<16x16x16,(i8,i8)->i32,signA=true>"),
             tests::contains("i1 true, <4 x i32> %a, i1 false, <4 x i32> %b"));
  CHECK_THAT(text_of("cdna4.mfma_scale<16x16x128,(f8E5M2,f4E2M1FN)->f32,opselB=2>"),
             tests::contains("i32 1, i32 4, i32 0, i32 %scale_a, i32 2, i32 %scale_b"));
  CHECK_THAT(text_of("mma.sync.m16n8k16.f16"), tests::contains("no instruction of the rocdl target"));
  CHECK_THAT(text_of("gfx1250.wmma<16x16x32,(f16,f16)->f32>"),
             tests::contains("@llvm.amdgcn.wmma.f32.16x16x32.f16.v8f32.v16f16(i1 false, <16 x half> %a, i1 false, <16 x half> "
                             "%b, i16 0, <8 x float> %c, i1 false, i1 false)"));
  CHECK_THAT(text_of("gfx1250.wmma<16x16x64,(f8E4M3FN,f8E5M2)->f32>"),
             tests::contains("@llvm.amdgcn.wmma.f32.16x16x64.fp8.bf8.v8f32.v8i32(<8 x i32> %a, <8 x i32> %b, i16 0, <8 x "
                             "float> %c, i1 false, i1 false)"));
  CHECK_THAT(text_of("gfx1250.wmma_scale<16x16x128,(f4E2M1FN,f8E4M3FN)->f32,blockSize=16>"),
             tests::contains("@llvm.amdgcn.wmma.scale16.f32.16x16x128.f8f6f4.v8f32.v8i32.v16i32(i32 4, <8 x i32> %a, i32 0, "
                             "<16 x i32> %b, i16 0, <8 x float> %c, i32 0, i32 0, "
                             "i64 %scale_a, i32 0, i32 0, i64 %scale_b, i1 false, i1 false)"));
  CHECK_THAT(text_of("cdna3.mfma<16x16x4,(f16,f16)->f32>"),
             tests::contains("@llvm.amdgcn.mfma.f32.16x16x4f16(<4 x half> %a, <4 x half> %b, <16 x float> %c, "));
}

TEST_CASE("Copies of the rocdl target as LLVM text") {
  CHECK_THAT(text_of("universal_copy<128>"), tests::contains("load <4 x i32>, ptr addrspace(1) %from"));
  CHECK_THAT(text_of("cdna3.buffer_copy<96>"), tests::contains("call <3 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v3i32(ptr "
                                                               "addrspace(8) %resource, i32 %offset, i32 %soffset, i32 0)"));
  CHECK_THAT(text_of("cdna3.buffer_copy_lds<32>"),
             tests::contains("@llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %resource, ptr addrspace(3) %to, i32 4, "
                             "i32 %offset, i32 %soffset, i32 0, i32 0)"));
  CHECK_THAT(text_of("cdna4.lds_read_trans<trans=6b,96>"),
             tests::contains("call <3 x i32> @llvm.amdgcn.ds.read.tr6.b96.v3i32(ptr addrspace(3) %from)"));
  CHECK_THAT(text_of("universal_atomic<add,f32>"), tests::contains("atomicrmw fadd ptr addrspace(1) %to, float %value"));
  CHECK_THAT(text_of("universal_atomic<inc,i32>"), tests::contains("atomicrmw uinc_wrap"));
  CHECK_THAT(text_of("cdna3.buffer_atomic<add,f32>"),
             tests::contains("@llvm.amdgcn.raw.ptr.buffer.atomic.fadd.f32(float %value, ptr addrspace(8) %resource"));
  CHECK_THAT(text_of("universal_fma<f64>"), tests::contains("call double @llvm.fma.f64(double %a, double %b, double %c)"));
  CHECK_THAT(text_of("gfx1250.tdm<rank=2>"), tests::contains("contract and state only"));
}

TEST_CASE("The LLVM text of atoms is assembled by clang") {
  Assembler matrices(matrix_probe), copies(copy_probe);
  int assembled = 0;
  std::map<std::string, int> skipped;  // by chip
  for (const atom::PayloadRef& payload : atom::all_atoms()) {
    const auto made = lower::amdgcn_module(*payload);
    if (!made) continue;
    Assembler& assembler = payload->kind == atom::Kind::copy ? copies : matrices;
    std::string chip;
    for (const std::string& one : made->chips) {
      if (chip.empty() && assembler.knows(one)) chip = one;
    }
    if (chip.empty()) {
      ++skipped[fmt::format("{} of {}", payload->kind == atom::Kind::copy ? "copies" : "matrix instructions", made->chips[0])];
      continue;
    }
    INFO(payload->name << " for " << chip << "\n" << made->text);
    CHECK(assembler.assembles(chip, made->text));
    ++assembled;
  }
  INFO(assembled << " atoms are assembled");
  for (const auto& [chip, count] : skipped) WARN("skipped: " << count << " " << chip << ", which no clang here knows");
}
