// ldmatrix, stmatrix, mma.sync. PTX ISA 9.7.14.5. Which lane holds what comes from the rows of the atoms.
#include "ir/atom/warp_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "sim/exec/families.hpp"
#include "sim/exec/tensor_math.hpp"

namespace tmemsim::sim {
namespace {

constexpr std::uint32_t warp_lanes = 32;
constexpr int row_bytes = 16, half_bytes = 2;

template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit&& visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

// The lanes that give the addresses of `num` matrices.
constexpr std::uint32_t addressing(int num) { return num == 4 ? ~0u : (1u << (8 * num)) - 1; }

// The rows of shared memory that the addressing lanes point at. An access is the pointing lane's, whoever holds the data.
struct MatrixAccess {
  ByteSpan span;
  std::uint32_t bad = 0;  // lanes whose row is wrong, has raced, or that are not there
};
MatrixAccess access_rows(Warp& warp, const Mem& memory, int num, Warp::Touch touch) {
  MatrixAccess access;
  const std::uint32_t wanted = addressing(num), present = wanted & warp.lanes;
  access.bad = wanted;
  if (present == 0) return access;
  Warp pointing(warp.machine, warp.state, warp.step, present, warp.number);
  pointing.event = warp.event;
  const MemPlan& mem = warp.plan(memory);
  access.span = pointing.locate(mem, row_bytes);
  const std::uint32_t raced = pointing.touch(access.span, row_bytes, touch, pointing.record(mem.buffer));
  access.bad = raced | (wanted & ~access.span.lanes);
  if (touch == Warp::Touch::write) pointing.spoil_if_left_out(mem, access.span);
  return access;
}

bool has(std::uint32_t lanes, std::uint32_t lane) { return (lanes >> lane & 1u) != 0; }

}  // namespace

Ran execute(const LdMatrix& op, Warp& warp) {
  const RowsPlan& dst = warp.plan(op.dst);
  const atom::MatrixRows& rows = atom::matrix_rows(true, op.num, op.trans);
  const MatrixAccess access = access_rows(warp, op.src, op.num, Warp::Touch::read);
  for (std::size_t reg = 0; reg < dst.rows.size(); ++reg) {
    std::array<std::uint32_t, warp_lanes> words{};
    std::uint32_t undefined = 0, bad = 0;
    for_each_lane(warp.lanes, [&](std::uint32_t lane) {
      for (std::size_t half = 0; half < 2; ++half) {
        const atom::MatrixRows::Half& from = rows.at(lane, reg, half);
        if (has(access.bad, from.lane)) bad |= 1u << lane;
        if (!has(access.span.lanes, from.lane)) continue;
        const std::int64_t byte = access.span.first[from.lane] + from.byte;
        std::uint16_t value = 0;
        std::memcpy(&value, access.span.memory->data() + byte, half_bytes);
        words[lane] |= std::uint32_t{value} << (16 * half);
        for (int i = 0; i < half_bytes; ++i) {
          const std::uint8_t flag = access.span.memory->flags()[byte + i];
          if (!(flag & ByteMemory::defined)) undefined |= 1u << lane;
          if (flag & ByteMemory::bad) bad |= 1u << lane;
        }
      }
    });
    warp.write_row(dst.rows[reg], warp.lanes, undefined, bad);
    std::uint32_t* to = warp.state.registers.row(dst.rows[reg]);
    for_each_lane(warp.lanes, [&](std::uint32_t lane) { to[lane] = words[lane]; });
  }
  return Ran::finished();
}

Ran execute(const StMatrix& op, Warp& warp) {
  const RowsPlan& src = warp.plan(op.src);
  const atom::MatrixRows& rows = atom::matrix_rows(false, op.num, op.trans);
  const MatrixAccess access = access_rows(warp, op.dst, op.num, Warp::Touch::write);
  for (std::size_t reg = 0; reg < src.rows.size(); ++reg) {
    warp.read_row(src.rows[reg], warp.lanes);
    const RowState known = warp.state.registers.state(src.rows[reg]);
    const std::uint32_t* words = warp.state.registers.row(src.rows[reg]);
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
      for (std::size_t half = 0; half < 2; ++half) {
        const atom::MatrixRows::Half& to = rows.at(lane, reg, half);
        if (!has(access.span.lanes, to.lane)) continue;
        const std::int64_t byte = access.span.first[to.lane] + to.byte;
        const bool present = has(warp.lanes, lane);
        const auto value = static_cast<std::uint16_t>(words[lane] >> (16 * half));
        if (present) std::memcpy(access.span.memory->data() + byte, &value, half_bytes);
        const bool written = has(known.byte_written[2 * half] & known.byte_written[2 * half + 1], lane);
        const bool bad = !present || has(known.bad, lane) || has(access.bad, to.lane);
        const auto flag = static_cast<std::uint8_t>((written ? ByteMemory::defined : 0) | (bad ? ByteMemory::bad : 0));
        std::memset(access.span.memory->flags() + byte, flag, half_bytes);
      }
    }
  }
  return Ran::finished();
}

namespace {

// An operand of mma.sync as a matrix: element bits, row-major, and what is known of them.
struct Gathered {
  std::vector<std::uint32_t> element;
  std::vector<std::uint8_t> bad;
};

class MmaOfWarp {
 public:
  MmaOfWarp(const MmaSync& op, Warp& warp, const atom::WarpMma& mma) : op_(op), warp_(warp), mma_(mma) {}

  void run() {
    const Gathered a = gather(op_.a, mma_.a), b = gather(op_.b, mma_.b);
    Gathered c = gather(op_.c, mma_.c);
    report_undefined();
    const Product product{mma_.c.rows, mma_.c.columns, mma_.k(), mma_.input_type, mma_.input_type, mma_.result_type};
    multiply(product, a.element, b.element, true, c.element);
    spread_bad(a, b, c);
    scatter(c);
  }

 private:
  static std::size_t index(const atom::Fragment& fragment, std::size_t lane, std::size_t value) {
    const auto [row, column] = fragment.at(lane, value);
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(fragment.columns) + column;
  }

  Gathered gather(const Rows& operand, const atom::Fragment& fragment) {
    const RowsPlan& rows = warp_.plan(operand);
    const auto elements = static_cast<std::size_t>(fragment.rows * fragment.columns);
    Gathered gathered{std::vector<std::uint32_t>(elements, 0), std::vector<std::uint8_t>(elements, 0)};
    const std::uint32_t mask = fragment.bits == 32 ? ~0u : (1u << fragment.bits) - 1;
    for (std::size_t reg = 0; reg < rows.rows.size(); ++reg) {
      warp_.read_row(rows.rows[reg], warp_.lanes);
      const RowState& known = warp_.state.registers.state(rows.rows[reg]);
      const std::uint32_t* words = warp_.state.registers.row(rows.rows[reg]);
      const std::uint32_t undefined = warp_.lanes & ~known.written & ~known.bad;
      undefined_ |= undefined;
      const auto packed = static_cast<std::size_t>(32 / fragment.bits);
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
        const bool bad = has(known.bad | undefined | ~warp_.lanes, lane);
        for (std::size_t i = 0; i < packed; ++i) {
          const std::size_t at = index(fragment, lane, reg * packed + i);
          gathered.element[at] = words[lane] >> (static_cast<unsigned>(fragment.bits) * i) & mask;
          gathered.bad[at] = bad;
        }
      }
    }
    return gathered;
  }

  void report_undefined() {
    if (undefined_ != 0) warp_.use_value(warp_.lanes, undefined_, 0, "a fragment", Severity::error);
  }

  // An element is bad when its row of A, its row of B or what it is added to is.
  static void spread_bad(const Gathered& a, const Gathered& b, Gathered& c) {
    const std::size_t k = a.element.size() / 16, n = c.element.size() / 16;
    const auto any = [k](const Gathered& of, std::size_t row) {
      return std::any_of(of.bad.begin() + static_cast<std::ptrdiff_t>(row * k),
                         of.bad.begin() + static_cast<std::ptrdiff_t>((row + 1) * k), [](std::uint8_t x) { return x != 0; });
    };
    for (std::size_t row = 0; row < 16; ++row)
      for (std::size_t column = 0; column < n; ++column)
        c.bad[row * n + column] |= static_cast<std::uint8_t>(any(a, row) || any(b, column));
  }

  void scatter(const Gathered& d) {
    const RowsPlan& rows = warp_.plan(op_.d);
    const auto packed = static_cast<std::size_t>(32 / mma_.c.bits);
    for (std::size_t reg = 0; reg < rows.rows.size(); ++reg) {
      std::array<std::uint32_t, warp_lanes> words{};
      std::uint32_t bad = 0;
      for (std::uint32_t lane = 0; lane < warp_lanes; ++lane) {
        for (std::size_t i = 0; i < packed; ++i) {
          const std::size_t at = index(mma_.c, lane, reg * packed + i);
          words[lane] |= d.element[at] << (static_cast<unsigned>(mma_.c.bits) * i);
          if (d.bad[at]) bad |= 1u << lane;
        }
      }
      warp_.write_row(rows.rows[reg], warp_.lanes, 0, bad);
      std::uint32_t* to = warp_.state.registers.row(rows.rows[reg]);
      for_each_lane(warp_.lanes, [&](std::uint32_t lane) { to[lane] = words[lane]; });
    }
  }

  const MmaSync& op_;
  Warp& warp_;
  const atom::WarpMma& mma_;
  std::uint32_t undefined_ = 0;
};

}  // namespace

Ran execute(const MmaSync& op, Warp& warp) {
  MmaOfWarp(op, warp, **atom::warp_mma(op.shape, op.type, op.acc)).run();
  return Ran::finished();
}

}  // namespace tmemsim::sim
