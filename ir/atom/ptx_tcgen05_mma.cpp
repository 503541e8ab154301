// tcgen05.mma: one thread issues it; "threads" are the CTAs whose memory holds the operands. PTX ISA
// 9.7.16.10.
//
// Names: tcgen05.mma[.ws][.sp].cta_group::G.kind::KIND[.scale_vec::NX].mMnNkK[.a_tmem]; with .sp K is twice that of the dense
// form.
#include <charconv>

#include "ir/atom/families.hpp"
#include "ir/atom/rows.hpp"

namespace tmemsim::atom {
namespace {

struct KindRow {
  std::string_view name, type, result;
  int k;                    // dense
  std::string_view scales;  // type of the scale factors; "" for none
  int kept_in_group;        // of A, when sparse
};
constexpr KindRow kind_rows[] = {{"f16", "f16", "f32", 16, "", 2},
                                 {"tf32", "tf32", "f32", 8, "", 1},
                                 {"f8f6f4", "e4m3", "f32", 32, "", 2},
                                 {"i8", "s8", "s32", 32, "", 2},
                                 {"mxf8f6f4", "e4m3", "f32", 32, "ue8m0", 2},
                                 {"mxf4", "e2m1", "f32", 64, "ue8m0", 4},
                                 {"mxf4nvf4", "e2m1", "f32", 64, "ue4m3", 4}};

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

struct MmaRow {
  const KindRow* kind = nullptr;
  bool ws = false, sparse = false, a_in_tmem = false;
  int ctas = 1, m = 0, n = 0;
  int runs = 0;  // scale factors along K of one instruction; 0: none

  int k() const { return kind->k * (sparse ? 2 : 1); }
  int stored() const { return kind->k; }  // columns of A
  bool scaled() const { return !kind->scales.empty(); }

  std::string name() const {
    return fmt::format("tcgen05.mma{}{}.cta_group::{}.kind::{}{}.m{}n{}k{}{}", ws ? ".ws" : "", sparse ? ".sp" : "", ctas,
                       kind->name, scaled() ? fmt::format(".scale_vec::{}X", runs) : "", m, n, k(), a_in_tmem ? ".a_tmem" : "");
  }

  // PTX ISA, table 39 and the tables before it.
  std::optional<std::string> illegal() const {
    if (ws) {
      if (scaled()) return "block-scaled kinds have no .ws";
      if (ctas != 1) return "tcgen05.mma.ws needs cta_group::1";
      if (m != 32 && m != 64 && m != 128) return "M is 32, 64 or 128 with .ws";
      if (n != 64 && n != 128 && (n != 256 || sparse))
        return sparse ? "N is 64 or 128 with .ws.sp" : "N is 64, 128 or 256 with .ws";
      if (a_in_tmem && m == 32) return "where A of M = 32 lies in tensor memory is not settled: no source shows it";
      return std::nullopt;
    }
    if (scaled()) {
      const bool four_bits = kind->name != "mxf8f6f4";
      const bool good_runs = kind->name == "mxf4nvf4" ? runs == 4 : runs == (four_bits ? 2 : 1);
      if (!good_runs)
        return fmt::format("{} has {} scale factors along K", kind->name, kind->name == "mxf4nvf4" ? 4 : four_bits ? 2 : 1);
      if (ctas == 1 && m != 128) return "M is 128 for block-scaled kinds with cta_group::1";
      if (sparse && ctas == 2 && m != 256) return "M is 256 for sparse block-scaled kinds with cta_group::2";
    }
    if (ctas == 1 && m != 64 && m != 128) return "M is 64 or 128 with cta_group::1";
    if (ctas == 2 && m != 128 && m != 256) return "M is 128 or 256 with cta_group::2";
    const bool i8 = kind->name == "i8";
    const int step = ctas == 2 ? (i8 ? 32 : 16) : i8 && n > 32 ? 16 : 8;
    if (n < step || n > 256 || n % step != 0) return fmt::format("N is a multiple of {} up to 256", step);
    if (scaled() && columns_of_scales() > 32 && columns_of_scales() % 32 != 0)
      return fmt::format("the scale factors of {} rows of B are no layout of shape:stride; a multiple of 32 rows is",
                         columns_of_scales());
    return std::nullopt;
  }

  // N is cut in this many parts that lie in lanes of their own (data-path layouts B, E: 2; G: 4).
  int column_parts() const {
    if (ws) return 128 / m;
    return ctas == 2 && m == 128 && !sparse ? 2 : 1;
  }
  bool scattered() const {
    return !ws && ((m == 64 && ctas == 1) || (m == 128 && ctas == 2 && sparse));
  }                                      // F, C: 16 rows a quadrant
  int rows() const { return m / ctas; }  // of A and D in one CTA
  int columns() const { return n / column_parts(); }
  int columns_of_scales() const { return n / column_parts(); }

  // (m, n) of the tile -> CTA, lane and column, by the data-path layouts of the ISA.
  static std::array<int, 3> place(const MmaRow& mma, int row, int column) {
    const int half = mma.n / 2, cta = row / mma.rows(), in_cta = row % mma.rows();
    if (mma.ctas == 2 && mma.m == 256) return {cta, in_cta, column};                          // A
    if (mma.ctas == 2 && mma.sparse) return {cta, 32 * (in_cta / 16) + in_cta % 16, column};  // C
    if (mma.ctas == 2) return {cta, in_cta + (column >= half ? 64 : 0), column % half};       // B
    if (mma.m == 128) return {0, row, column};                                                // D
    if (mma.m == 64 && mma.ws) return {0, row + (column >= half ? 64 : 0), column % half};    // E
    if (mma.m == 64) return {0, 32 * (row / 16) + row % 16, column};                          // F
    return {0, row + 32 * (column / (mma.n / 4)), column % (mma.n / 4)};                      // G
  }

  Digit cta_digit(std::int64_t stride) const { return {ctas, ctas == 1 ? 0 : stride}; }

  Operand operand(std::string which, std::string_view type, std::int64_t tile, std::int64_t tile_rows) const {
    Operand made;
    made.name = std::move(which);
    made.type = std::string(type);
    made.bits = *element_bits(type);
    made.rows = tile_rows;
    made.tile = tile;
    return made;
  }

  Operand descriptor(std::string which, std::int64_t tile_rows, std::int64_t depth) const {
    Operand made = operand(std::move(which), kind->type, tile_rows * depth, tile_rows);
    made.place = Place::shared_by_descriptor;
    made.layout = thread_value({cta_digit(tile_rows / ctas)}, {{tile_rows / ctas, 1}, {depth, tile_rows}});
    return made;
  }

  // The row digits of A and D in one CTA: values and, in cells of rows of `width`, where they stand.
  void add_rows(Digits& values, Digits& cells, std::int64_t width) const {
    if (scattered()) {
      values = {{16, 1}, {rows() / 16, 16}};
      cells = {{16, width}, {rows() / 16, 32 * width}};
    } else {
      values = {{rows(), 1}};
      cells = {{rows(), width}};
    }
  }

  Operand in_tensor_memory(Operand made, const Digits& values, const Digits& cells, std::int64_t width,
                           std::int64_t cta_stride) const {
    made.place = Place::tmem;
    made.layout = thread_value({cta_digit(cta_stride)}, values);
    made.cell = mode_of(cells);
    made.cells_in_row = width;
    return made;
  }

  // Rows of D that lie in other lanes for other columns need A in those lanes too.
  Operand a_of_tensor_memory() const {
    Digits values, cells;
    add_rows(values, cells, stored());
    values.push_back({stored(), m});
    cells.push_back({stored(), 1});
    Operand made = operand("A", kind->type, std::int64_t{m} * stored(), m);
    if (column_parts() > 1) {
      made.replication = column_parts();
      values.push_back({column_parts(), 0});
      cells.push_back({column_parts(), rows() * stored()});
    }
    return in_tensor_memory(std::move(made), values, cells, stored(), rows());
  }

  Operand accumulator() const {
    Digits values, cells;
    add_rows(values, cells, columns());
    values.push_back({columns(), m});
    cells.push_back({columns(), 1});
    if (column_parts() > 1) {
      values.push_back({column_parts(), m * columns()});
      cells.push_back({column_parts(), rows() * columns()});
    }
    return in_tensor_memory(operand("C", kind->result, std::int64_t{m} * n, m), values, cells, columns(), rows());
  }

  // Scale factors: one byte for each row and run of k. Row x stands in lane x % 32 of every quadrant, byte 4 * (x / 32) + run.
  // A pair holds those of its own rows of A, and of all rows of B; where N is cut in two, so are they.
  Operand scale_factors(std::string which, std::int64_t tile_rows, std::int64_t rows_here, std::int64_t parts,
                        std::int64_t cta_stride) const {
    const std::int64_t low = std::min<std::int64_t>(32, rows_here), high = rows_here / low, width = 4 * high;
    Digits values{{low, 1}}, cells{{low, width}};
    const auto add = [&](std::int64_t extent, std::int64_t value, std::int64_t cell) {
      if (extent == 1) return;
      values.push_back({extent, value});
      cells.push_back({extent, cell});
    };
    add(high, low, 4);
    add(runs, tile_rows, 1);
    add(4 / parts, 0, 32 * width);
    add(parts, rows_here, 64 * width);
    Operand made = operand(std::move(which), kind->scales, tile_rows * runs, tile_rows);
    made.replication = 4 / parts * (cta_stride == 0 ? ctas : 1);
    made = in_tensor_memory(std::move(made), values, cells, width, cta_stride);
    if (ctas == 2 && cta_stride == 0) made.layout = thread_value({{2, 0}}, values);
    return made;
  }

  // What one lane of D reads: A of its own lane when that is in tensor memory; scale factors.
  struct Operands {
    const Held &a, &b;
    const Held *scale_a, *scale_b;
  };
  std::uint64_t term(const Operands& from, const std::array<int, 3>& d, int row, int column, int s, int depth) const {
    const auto cta = index(d[0]);
    const int in_cta = row % rows(), b_rows = n / ctas;
    std::uint64_t product =
        a_in_tmem ? from.a.at(cta).at(index(d[1] * stored() + s)) : from.a.at(cta).at(index(in_cta + rows() * s));
    product *= from.b.at(index(column / b_rows)).at(index(column % b_rows + b_rows * depth));
    if (from.scale_a == nullptr) return product;
    const int run = depth * runs / k(), part = column / columns_of_scales(), quadrants = 4 / column_parts();
    // Every copy must hold the same: a factor whose copies differ is none.
    const auto factor = [&](const Held& held, int x, int of, int first_quadrant, int copies) {
      const auto copy = [&](int i) {
        const int width = 4 * std::max(1, of / 32);
        return held.at(cta).at(index((32 * (first_quadrant + i) + x % 32) * width + 4 * (x / 32) + run));
      };
      for (int i = 1; i < copies; ++i) {
        if (copy(i) != copy(0)) return std::uint64_t{0};
      }
      return copy(0);
    };
    product *= factor(*from.scale_a, in_cta, rows(), 0, 4);
    return product * factor(*from.scale_b, column % columns_of_scales(), columns_of_scales(), part * quadrants, quadrants);
  }

  Held multiplied(const Operands& from, const Held& c) const {
    Held d = c;
    for (int row = 0; row < m; ++row) {
      for (int column = 0; column < n; ++column) {
        const std::array<int, 3> at = place(*this, row, column);
        std::uint64_t& cell = d.at(index(at[0])).at(index(at[1] * columns() + at[2]));
        for (int s = 0; s < stored(); ++s) {
          // Metadata of the indexed inputs: the first elements of every group.
          const int group = kind->kept_in_group, depth = sparse ? s / group * group * 2 + s % group : s;
          cell += term(from, at, row, column, s, depth);
        }
      }
    }
    return d;
  }

  Executor executor() const {
    Executor made;
    made.source = "PTX ISA 9.7.16.10.5: data-path layouts A to G";
    if (scaled()) {
      made.source += "; 9.7.16.10.7: scale factors";
      made.multiply_scaled = [mma = *this](const Held& a, const Held& b, const Held& c, const Held& scale_a,
                                           const Held& scale_b) {
        return mma.multiplied({a, b, &scale_a, &scale_b}, c);
      };
    } else {
      made.multiply = [mma = *this](const Held& a, const Held& b, const Held& c) {
        return mma.multiplied({a, b, nullptr, nullptr}, c);
      };
    }
    return made;
  }

  std::vector<StateField> state() const {
    std::vector<StateField> fields{{"d_tmem", "i32", "", {}, false},
                                   {a_in_tmem ? "a_tmem" : "a_desc", a_in_tmem ? "i32" : "i64", "", {}, false},
                                   {"b_desc", "i64", "", {}, false}};
    if (sparse) fields.push_back({"meta_tmem", "i32", "", {}, false});
    fields.push_back({"idesc", "i32", "", {}, false});
    if (scaled()) {
      fields.push_back({"sfa_tmem", "i32", "", {}, false});
      fields.push_back({"sfb_tmem", "i32", "", {}, false});
    }
    fields.push_back({"accumulate", "i1", "", {}, false});
    return fields;
  }

  Result<Payload> payload() const {
    if (const auto why = illegal()) return refused(fmt::format("{}: {}", name(), *why));
    Payload made;
    made.name = name();
    made.target = "sm_100a";
    made.kind = Kind::mma;
    if (!ws && !sparse && !scaled() && kind->name != "f8f6f4") made.operation = "tcgen05.mma";
    made.instruction = fmt::format("tcgen05.mma{}{}.cta_group::{}.kind::{}{}", ws ? ".ws" : "", sparse ? ".sp" : "", ctas,
                                   kind->name, scaled() ? fmt::format(".block_scale.scale_vec::{}X", runs) : "");
    made.threads = mode_of({{ctas, 1}});
    made.mnk = {m, n, k()};
    made.sparsity = sparse ? 2 : 1;
    made.kept_in_group = sparse ? kind->kept_in_group : 1;
    made.result_type = std::string(kind->result);
    made.operands = {a_in_tmem ? a_of_tensor_memory() : descriptor("A", m, stored()), descriptor("B", n, k()), accumulator()};
    if (scaled()) {
      made.operands.push_back(scale_factors("SFA", m, rows(), 1, rows()));
      made.operands.push_back(scale_factors("SFB", n, columns_of_scales(), column_parts(), 0));
    }
    made.state = state();
    made.note = "issued by one thread; the thread mode counts the CTAs whose shared and tensor memory hold the operands";
    if (sparse) made.note += "; A holds K / 2 columns, the metadata in tensor memory say which";
    if (a_in_tmem && ws && m == 64) made.note += "; that A stands in both halves of the lanes is said by one public source alone";
    made.executor = executor();
    return made;
  }
};

int usual_runs(const KindRow& kind) {
  return kind.scales.empty() ? 0 : kind.name == "mxf4nvf4" ? 4 : kind.name == "mxf4" ? 2 : 1;
}

std::vector<Payload> listed_mmas() {
  std::vector<Payload> made;
  for (const KindRow& kind : kind_rows) {
    for (const auto& [ws, ctas, m] : {std::tuple{false, 1, 64},
                                      {false, 1, 128},
                                      {false, 2, 128},
                                      {false, 2, 256},
                                      {true, 1, 32},
                                      {true, 1, 64},
                                      {true, 1, 128}}) {
      for (const bool sparse : {false, true}) {
        for (const bool a_in_tmem : {false, true}) {
          for (const int n : {64, 128, 256}) {
            if ((sparse || a_in_tmem) && n != 64) continue;  // the others by name
            auto payload = MmaRow{&kind, ws, sparse, a_in_tmem, ctas, m, n, usual_runs(kind)}.payload();
            if (payload) made.push_back(*std::move(payload));
          }
        }
      }
    }
  }
  return made;
}

// Takes `text`, or a number, off the front of `rest`.
bool take(std::string_view& rest, std::string_view text) {
  if (rest.substr(0, text.size()) != text) return false;
  rest.remove_prefix(text.size());
  return true;
}
bool take(std::string_view& rest, int& number) {
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || number < 0) return false;
  rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
  return true;
}

std::optional<Result<Payload>> mma_named(std::string_view name) {
  std::string_view rest = name;
  if (!take(rest, "tcgen05.mma")) return std::nullopt;
  MmaRow row;
  row.ws = take(rest, ".ws");
  row.sparse = take(rest, ".sp");
  if (!take(rest, ".cta_group::") || !take(rest, row.ctas) || (row.ctas != 1 && row.ctas != 2) || !take(rest, ".kind::"))
    return std::nullopt;
  for (const KindRow& kind : kind_rows) {
    if (row.kind == nullptr && rest.substr(0, kind.name.size() + 1) == std::string(kind.name) + ".") row.kind = &kind;
  }
  if (row.kind == nullptr) return std::nullopt;
  take(rest, row.kind->name);
  if (take(rest, ".scale_vec::")) {
    if (!take(rest, row.runs) || !take(rest, "X")) return std::nullopt;
  }
  int k = 0;
  if (!take(rest, ".m") || !take(rest, row.m) || !take(rest, "n") || !take(rest, row.n) || !take(rest, "k") || !take(rest, k))
    return std::nullopt;
  row.a_in_tmem = take(rest, ".a_tmem");
  if (!rest.empty()) return std::nullopt;
  if (k == 96 && row.kind->k == 64)
    return Result<Payload>(
        refused(fmt::format("{}: the places of the scale factors of K = 96 are drawn, not stated, in the ISA", name)));
  if (k != row.k())
    return Result<Payload>(
        refused(fmt::format("{}: K is {} for kind::{}{}", name, row.k(), row.kind->name, row.sparse ? " with .sp" : "")));
  if (!row.scaled() && row.runs != 0)
    return Result<Payload>(refused(fmt::format("{}: kind::{} has no scale factors", name, row.kind->name)));
  return row.payload();
}

}  // namespace

std::vector<Family> ptx_tcgen05_mma_families() {
  return {{"tcgen05.mma",
           "D in tensor memory; every legal M and N by name, dense, sparse and block-scaled, A in shared or tensor memory",
           listed_mmas, mma_named}};
}

}  // namespace tmemsim::atom
