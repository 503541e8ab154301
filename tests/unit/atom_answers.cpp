// What tmemsim atom prints, against the tables of the instruction set; and the case runner's own twins.
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "ir/diagnostic.hpp"
#include "report/atom_answers.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

using namespace tmemsim;

namespace {

using Row = std::vector<int>;

std::vector<Row> rows_of(const std::string& csv, const std::string& header) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  CHECK(line == header);
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    Row row;
    for (std::string field; std::getline(fields, field, ',');) row.push_back(std::stoi(field));
    rows.push_back(row);
  }
  return rows;
}

struct Form {
  const char* shape;
  int registers, most;
  std::pair<int, int> (*cell)(int t, int r);  // without pack
};
const Form forms[] = {{"32x32b", 1, 128,
                       [](int t, int r) {
                         return std::pair{t, r};
                       }},
                      {"16x64b", 1, 128,
                       [](int t, int r) {
                         return std::pair{(t >> 2) + 8 * (t & 1), 2 * r + ((t >> 1) & 1)};
                       }},
                      {"16x128b", 2, 64,
                       [](int t, int r) {
                         return std::pair{(t >> 2) + 8 * (r & 1), 4 * (r >> 1) + (t & 3)};
                       }},
                      {"16x256b", 4, 32,
                       [](int t, int r) {
                         return std::pair{(t >> 2) + 8 * ((r >> 1) & 1), 8 * (r >> 2) + 2 * (t & 3) + (r & 1)};
                       }},
                      {"16x32bx2", 1, 128, [](int t, int r) {
                         return std::pair{t & 15, r};
                       }}};

void check_form(const Form& form, int num, bool packed, const std::string& name) {
  INFO(name);
  const auto rows = rows_of(report::atom_csv(name, {}), "thread,reg,lane,column,bit_lo,bits,col_bit");
  const int halves = packed ? 2 : 1;
  REQUIRE(rows.size() == static_cast<std::size_t>(32 * form.registers * num * halves));
  std::size_t at = 0;
  bool same = true;
  for (int t = 0; t < 32; ++t) {
    for (int r = 0; r < form.registers * num; ++r) {
      for (int half = 0; half < halves; ++half) {
        auto [lane, column] = form.cell(t, r);
        if (packed) column = 2 * column + half;
        if (std::string(form.shape) == "16x32bx2") column += (t >> 4) * num * halves;
        same = same && rows[at++] == Row{t, r, lane, column, 16 * half, 32 / halves, 0};
      }
    }
  }
  CHECK(same);
}

struct Said {
  int status;
  std::string text;
};
Said conformance(const std::string& cases, const std::string& file) {
  const tests::TemporaryFolder folder;
  folder.write(file, cases);
  const std::string output = (folder / "output").string();
  const int status = std::system(("cd '" + folder.path().string() + "' && '" + tests::binary_dir + "/tests/conformance' " +
                                  file + " > '" + output + "' 2>&1")
                                     .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, tests::read_file(output)};
}

std::string mma_case(const std::string& name, const std::string& a, const std::string& more = "") {
  return "atoms:\n- {name: \"" + name + "\", kind: mma, shapeMNK: [16, 16, 16], thr: \"64:1\", A: \"" + a +
         "\", B: \"((16,4),4):((1,64),16)\", C: \"((16,4),(4,1)):((16,4),(1,16))\"" + more + "}\n";
}

}  // namespace

TEST_CASE("atom show prints the registers of every legal tcgen05.ld and st") {
  int count = 0;
  for (const Form& form : forms) {
    for (int num = 1; num <= form.most; num *= 2) {
      const std::string tail = std::string(form.shape) + ".x" + std::to_string(num);
      check_form(form, num, false, "tcgen05.ld." + tail);
      check_form(form, num, true, "tcgen05.ld." + tail + ".pack::16b");
      check_form(form, num, false, "tcgen05.st." + tail);
      check_form(form, num, true, "tcgen05.st." + tail + ".unpack::16b");
      count += 4;
    }
    CHECK_THROWS_AS(report::atom_csv("tcgen05.ld." + std::string(form.shape) + ".x" + std::to_string(2 * form.most), {}),
                    InputError);
  }
  CHECK(count == 148);
}

TEST_CASE("atom show prints who holds the operands of mma.sync") {
  const auto a = rows_of(report::atom_csv("mma.sync.m16n8k16.f16", "A"), "thread,value,row,col");
  REQUIRE(a.size() == 256);
  std::size_t at = 0;
  for (int t = 0; t < 32; ++t) {
    for (int i = 0; i < 8; ++i) {
      const int row = i < 2 || (i >= 4 && i < 6) ? t / 4 : t / 4 + 8, col = t % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      CHECK(a[at++] == Row{t, i, row, col});
    }
  }
  CHECK(report::atom_csv("mma.sync.m16n8k16.f16", "C") == report::atom_csv("mma.sync.m16n8k16.f16", "D"));
  CHECK_THROWS_AS(report::atom_csv("mma.sync.m16n8k16.f16", "E"), InputError);
  CHECK_THROWS_AS(report::atom_csv("gfx1250.tdm<rank=2>", {}), InputError);
}

TEST_CASE("atom list, show and verify answer in text and pictures") {
  CHECK_THAT(report::atom_list("mfma"), tests::contains("(corrected: A, B, C)"));
  CHECK_THAT(report::atom_text("cdna3.mfma<4x4x4,(f16,f16)->f32>"), tests::contains("16 independent products"));
  CHECK_THROWS_AS(report::atom_list("none"), InputError);
  CHECK_THAT(report::atom_text("cdna3.buffer_copy_lds<32>"), tests::contains("imm_offset"));
  CHECK_THAT(report::atom_text("mma.sync.m16n8k8.tf32"),
             tests::contains("a S[(2,8,2,4):(1,4@laneid,2,1@laneid)], b S[(8,2,4):(4@laneid,1,1@laneid)]"));
  const report::Grid grid = report::atom_picture("mma.sync.m16n8k16.f16", "C");
  CHECK(grid.rows() == 16);
  CHECK(grid.at(9, 3).label == "T5.3");
  CHECK(report::atom_picture("tcgen05.ld.16x64b.x1", {}).at(8, 1).label == "T3.0");
  const auto verdicts = report::atom_verify({"ldmatrix.m8n8.x1.b16", "gfx1250.wmma<16x16x32,(f16,f16)->f16>"});
  CHECK(verdicts.all_right);
  CHECK_THAT(verdicts.text, tests::contains("2 of 2 right, 1 with ground truth"));
}

TEST_CASE("Atom cases: a right one passes; a wrong layout, check or name fails") {
  const std::string right = "((16,4),4):((1,64),16)", name = "cdna3.mfma<16x16x16,(f16,f16)->f32>";
  CHECK(conformance(mma_case(name, right), "fly_atoms.yaml").status == 0);
  CHECK(conformance(mma_case(name, "((16,4),4):((1,16),64)"), "fly_atoms.yaml").status == 1);
  CHECK(conformance(mma_case(name, right, ", checks: {A: {product: false}}"), "fly_atoms.yaml").status == 1);
  CHECK(conformance(mma_case(name, right, ", checks: {A: {product: true, replication: 1}}"), "fly_atoms.yaml").status == 0);
  CHECK(conformance(mma_case(name, right, ", types: {A: bf16}"), "fly_atoms.yaml").status == 1);
  CHECK(conformance(mma_case(name, right, ", state: [{name: soffset, type: i32, default: 0}]"), "fly_atoms.yaml").status == 1);
  // Refused: right only where the case says that the public definition is wrong.
  const std::string blocks = "cdna3.mfma<16x16x5,(f16,f16)->f32>";
  CHECK(conformance(mma_case(blocks, right), "fly_atoms.yaml").status == 1);
  CHECK(conformance(mma_case(blocks, right, ", violations: [\"4 blocks\"]"), "fly_atoms.yaml").status == 0);
  CHECK(conformance(mma_case("nothing<16x16x4>", right, ", violations: [\"4 blocks\"]"), "fly_atoms.yaml").status == 1);
}
