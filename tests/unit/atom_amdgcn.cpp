// The LLVM text of rocdl matrix atoms, assembled where a clang with the amdgcn target is installed.
#include <cstdlib>
#include <map>
#include <string>

#include "ir/atom/registry.hpp"
#include "lower/atom/amdgcn.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;

namespace {

// The first clang that assembles an empty module for a chip; "" when there is none.
class Assembler {
 public:
  bool knows(const std::string& chip) {
    const auto found = known_.find(chip);
    if (found != known_.end()) return found->second;
    bool works = false;
    for (const char* clang : {"clang-19", "clang"}) {
      if (works) break;
      if (assembles(clang, chip, "define void @f() { ret void }\n")) {
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
  CHECK_THAT(text_of("mma.sync.m16n8k16.f16"), tests::contains("no matrix instruction of the rocdl target"));
  CHECK_THAT(text_of("gfx1250.wmma<16x16x32,(f16,f16)->f32>"), tests::contains("not described"));
}

TEST_CASE("The LLVM text of matrix atoms is assembled by clang") {
  Assembler assembler;
  int assembled = 0;
  std::map<std::string, int> skipped;  // by chip
  for (const atom::PayloadRef& payload : atom::all_atoms()) {
    const auto made = lower::amdgcn_module(*payload);
    if (!made) continue;
    std::string chip;
    for (const std::string& one : made->chips) {
      if (chip.empty() && assembler.knows(one)) chip = one;
    }
    if (chip.empty()) {
      ++skipped[made->chips[0]];
      continue;
    }
    INFO(payload->name << " for " << chip << "\n" << made->text);
    CHECK(assembler.assembles(chip, made->text));
    ++assembled;
  }
  INFO(assembled << " atoms are assembled");
  for (const auto& [chip, count] : skipped)
    WARN("skipped: " << count << " atoms for " << chip << ", which no clang here knows");
}
