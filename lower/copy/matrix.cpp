// copy / ldmatrix and copy / stmatrix: fragments of a warp <-> rows of shared memory, 16 bytes each.
//
// All extents are powers of two, so that every digit of the copy is a row of bits, each with the place of its 1 in registers,
// threads and memory. A register of the 32 lanes is one 8x8 matrix when the bits fit the instruction: without .trans the bits
// inside the register and the two lowest of the lane walk along a row, and the other three of the lane go from row to row; with
// .trans (16-bit elements) the three upper bits of the lane walk along a row. PTX ISA 9.7.14.5.15, 9.7.14.5.16.
#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/copy/address.hpp"
#include "lower/copy/partition.hpp"
#include "lower/pieces.hpp"
#include "lower/variants.hpp"

namespace tmemsim::lower {
namespace {

constexpr std::int64_t row_bits = 128, register_bits = 32, lane_bits = 5;
constexpr std::int64_t largest_byte = (std::int64_t{1} << 31) - 1;

bool is_power_of_two(std::int64_t x) { return x > 0 && std::has_single_bit(static_cast<std::uint64_t>(x)); }

// What a 1 in each bit of the lane and of the register number adds to the address, in bits of memory.
struct Matrices {
  bool trans = false;
  std::vector<std::int64_t> rows;    // of the three bits of the row
  std::vector<StepDigit> registers;  // extent 2; by rising register
};

class MatrixCopy {
 public:
  MatrixCopy(const Request& request, const Operand& local, const Operand& memory, bool is_load)
      : request_(request), local_(local), memory_(memory), is_load_(is_load) {}

  Outcome plan() {
    const auto partition = partition_of(local_, memory_, is_load_);
    if (!partition) return Declined{"regions", partition.reason().text, {}};
    partition_ = *partition;
    if (auto problem = split_into_bits()) return Declined{"matrices", *problem, {}};
    const auto owners = Owners::of(request_.threads, partition_.owners, partition_.owner_offset, local_.named, is_load_);
    if (!owners) return Declined{"ownership", owners.reason().text, {}};
    if (owners->guard(!is_load_))
      return Declined{
          "ownership", "every lane gives or takes its part of a matrix, but some hold nothing, or what others hold", {}};
    if (!is_load_) {
      if (const auto problem = memory_collides(partition_, memory_.bits)) return Declined{"matrices", *problem, {}};
    }
    if (auto problem = take_lanes(*owners)) return Declined{"ownership", *problem, {}};
    if (auto problem = fit()) {
      return Declined{"matrices", *problem,
                      "a row of 16 bytes held by four neighbouring lanes, or for ldmatrix.trans one 16-bit element in each of "
                      "lanes 0, 4, .. 28"};
    }
    if (auto problem = misaligned()) return Declined{"alignment", *problem, "rows that begin at multiples of 16 bytes"};
    return statements(*owners);
  }

 private:
  // Replaces the digits by digits of extent 2.
  std::optional<std::string> split_into_bits() {
    std::vector<AxisDigit> owners;
    std::vector<std::int64_t> strides;
    for (const AxisDigit& digit : partition_.owners) {
      if (!is_power_of_two(digit.extent)) return fmt::format("{} threads are no power of two", digit.extent);
      for (std::int64_t weight = 1; weight < digit.extent; weight *= 2) {
        owners.push_back({2, digit.stride * weight, digit.axis, strides.size(), digit.replica});
        strides.push_back(partition_.thread_strides[digit.key] * weight);
      }
    }
    partition_.owners = std::move(owners);
    partition_.thread_strides = std::move(strides);
    std::vector<StepDigit> steps;
    for (const StepDigit& digit : partition_.steps) {
      if (!is_power_of_two(digit.extent)) return fmt::format("{} elements in a row are no power of two", digit.extent);
      for (std::int64_t weight = 1; weight < digit.extent; weight *= 2)
        steps.push_back({2, digit.a * weight, digit.b * weight});
    }
    partition_.steps = std::move(steps);
    return std::nullopt;
  }

  // The memory strides of the five bits of the lane; what is left of thread_strides is that of warps.
  std::optional<std::string> take_lanes(const Owners& owners) {
    std::vector<bool> found(lane_bits, false);
    for (const Field& field : owners.fields()) {
      for (const OwnerDigit& digit : field.digits) {
        if (digit.stride >= warp_threads) continue;
        if (field.offset % warp_threads != 0) return fmt::format("the fragment begins at lane {}", field.offset % warp_threads);
        if (!is_power_of_two(digit.stride) || digit.replica)
          return std::string("lanes that hold the same elements take no part in a matrix");
        const auto bit = static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(digit.stride)));
        found[bit] = true;
        lane_[bit] = partition_.thread_strides[digit.key];
        partition_.thread_strides[digit.key] = 0;
      }
    }
    if (std::all_of(found.begin(), found.end(), [](bool is) { return is; })) return std::nullopt;
    return std::string("the layout does not place elements on all 32 lanes");
  }

  std::optional<std::string> fit() {
    std::vector<StepDigit> within;
    for (const StepDigit& step : partition_.steps) (step.a < register_bits ? within : matrices_.registers).push_back(step);
    const auto by_register = [](const StepDigit& x, const StepDigit& y) { return x.a < y.a; };
    std::sort(within.begin(), within.end(), by_register);
    std::sort(matrices_.registers.begin(), matrices_.registers.end(), by_register);
    std::int64_t filled = local_.bits;
    for (const StepDigit& step : within) {
      if (step.a != filled) return fmt::format("elements {} bits apart in a register leave bits of it unused", step.a);
      filled *= 2;
    }
    if (filled != register_bits) return fmt::format("a register holds {} bits of the region, not 32", filled);
    if (partition_.register_offset % register_bits != 0)
      return fmt::format("the region begins at bit {} of a register", partition_.register_offset % register_bits);
    const bool in_order = std::all_of(within.begin(), within.end(), [](const StepDigit& step) { return step.a == step.b; });
    if (in_order && lane_[0] == 32 && lane_[1] == 64) {
      matrices_.rows = {lane_[2], lane_[3], lane_[4]};
    } else if (local_.bits == 16 && lane_[2] == 16 && lane_[3] == 32 && lane_[4] == 64) {
      matrices_.trans = true;
      matrices_.rows = {within.at(0).b, lane_[0], lane_[1]};
    } else {
      return fmt::format("a lane's register is no piece of a row of 16 bytes: lanes 1, 2, 4, 8, 16 lie {} bits further in {}",
                         fmt::join(lane_, ", "), memory_.buffer->name);
    }
    std::set<std::int64_t> different;
    for (const StepDigit& digit : matrices_.registers) {
      if (!different.insert(digit.a).second)
        return fmt::format("two elements fall on register {} of the same thread", digit.a / register_bits);
    }
    return std::nullopt;
  }

  // Every row begins at a multiple of 16 bytes.
  std::optional<std::string> misaligned() const {
    const auto kept = bits_kept_together(memory_);
    if (!kept || (*kept != 0 && *kept < row_bits)) return std::string("the swizzle moves less than 16 bytes as one");
    const auto check = [](std::int64_t stride) { return stride % row_bits != 0; };
    std::vector<std::int64_t> strides{partition_.memory_offset, memory_.buffer->offset.value_or(0) * 8};
    strides.insert(strides.end(), matrices_.rows.begin(), matrices_.rows.end());
    strides.insert(strides.end(), partition_.thread_strides.begin(), partition_.thread_strides.end());
    for (const StepDigit& digit : matrices_.registers) strides.push_back(digit.b);
    for (const Moving& moving : memory_.moving) strides.push_back(moving.stride * memory_.bits);
    const auto wrong = std::find_if(strides.begin(), strides.end(), check);
    if (wrong == strides.end()) return std::nullopt;
    return fmt::format("rows lie {} bits apart, which is no multiple of 128", *wrong);
  }

  // The address of the row that the executing lane points at, without the constant part: bits 0..2 of the lane are the row, the
  // ones above it the matrix. Bits whose strides double are one number.
  Expr lane_bytes(const std::vector<std::int64_t>& strides) const {
    Expr terms(0);
    const Expr lane = Expr::coordinate(ExprOp::lane);
    for (std::size_t low = 0; low < strides.size();) {
      std::size_t high = low;
      while (high + 1 < strides.size() && strides[high + 1] == 2 * strides[high]) ++high;
      Expr number = low == 0 ? lane : Expr::binary(ExprOp::div, lane, Expr(std::int64_t{1} << low));
      if (high + 1 < lane_bits) number = Expr::binary(ExprOp::mod, number, Expr(std::int64_t{1} << (high - low + 1)));
      if (strides[low] != 0) terms = sum(terms, scaled(number, strides[low] / 8));
      low = high + 1;
    }
    return terms;
  }

  Outcome statements(const Owners& owners) {
    const std::size_t together = std::min<std::size_t>(2, matrices_.registers.size());
    const auto num = static_cast<std::uint8_t>(1u << together);
    std::vector<std::int64_t> strides = matrices_.rows;
    for (std::size_t i = 0; i < together; ++i) strides.push_back(matrices_.registers[i].b);
    const MovingTerms moving = moving_bytes(memory_);
    std::int64_t granule = moving.granule;
    for (const std::int64_t stride : strides) granule = std::gcd(granule, stride / 8);
    for (const std::int64_t stride : partition_.thread_strides) granule = std::gcd(granule, stride / 8);
    const Expr terms = sum(sum(lane_bytes(strides), thread_bytes(owners, partition_.thread_strides)), moving.bytes);
    const MemoryAddress address(memory_, terms, partition_.memory_offset / 8, granule);
    const std::vector<StepDigit> outer(matrices_.registers.begin() + static_cast<std::ptrdiff_t>(together),
                                       matrices_.registers.end());
    Plan plan;
    for (const Position& step : positions(outer)) {
      if (std::abs(partition_.memory_offset + step.b) / 8 > largest_byte)
        return Declined{"alignment", "the buffer is larger than 2 GiB", {}};
      Rows rows{local_.id, {}};
      for (std::size_t j = 0; j < num; ++j) {
        std::int64_t bit = partition_.register_offset + step.a;
        for (std::size_t i = 0; i < together; ++i) bit += (j >> i & 1u) != 0 ? matrices_.registers[i].a : 0;
        rows.rows.push_back(static_cast<std::uint16_t>(bit / register_bits));
      }
      Mem place{memory_.id, {}, address.at(step.b / 8)};
      Stmt made;
      if (is_load_)
        made.node = MachineOps::Any(LdMatrix{num, matrices_.trans, std::move(rows), std::move(place)});
      else
        made.node = MachineOps::Any(StMatrix{num, matrices_.trans, std::move(place), std::move(rows)});
      plan.body.push_back(std::move(made));
    }
    if (request_.explain) {
      plan.proof.push_back(fmt::format("{} matrices of 8 rows of 16 bytes{}, {} an instruction",
                                       (std::size_t{1} << matrices_.registers.size()), matrices_.trans ? ", transposed" : "",
                                       num));
    }
    return plan;
  }

  const Request& request_;
  const Operand& local_;
  const Operand& memory_;
  bool is_load_;
  Partition partition_;
  Matrices matrices_;
  std::vector<std::int64_t> lane_ = std::vector<std::int64_t>(lane_bits, 0);
};

Outcome plan_regions(const Request& request, const Region& dst, const Region& src, bool is_load) {
  const auto local = operand_of(request.kernel, is_load ? dst : src, request.threads);
  if (!local) return Declined{"regions", local.reason().text, {}};
  const auto memory = operand_of(request.kernel, is_load ? src : dst, request.threads);
  if (!memory) return Declined{"regions", memory.reason().text, {}};
  if (local->shape() != memory->shape()) {
    return Declined{"regions",
                    fmt::format("the regions differ: {} is ({}), {} is ({})", local->buffer->name,
                                fmt::join(local->shape(), ", "), memory->buffer->name, fmt::join(memory->shape(), ", ")),
                    "regions of equal extents"};
  }
  if (const auto problem = moving_problem(*local)) return Declined{"regions", problem->text, {}};
  if (local->swizzle)
    return Declined{"regions", "the register layout is swizzled; registers have no addresses",
                    "the same layout without swizzle"};
  return MatrixCopy(request, *local, *memory, is_load).plan();
}

Outcome plan(const Request& request, bool is_load) {
  const CopyRegions regions = regions_of(request);
  return plan_by_pieces(request, regions.dst, regions.src,
                        [&](const Region& dst, const Region& src) { return plan_regions(request, dst, src, is_load); });
}

}  // namespace

Outcome plan_copy_ldmatrix(const Request& request) { return plan(request, true); }
Outcome plan_copy_stmatrix(const Request& request) { return plan(request, false); }

}  // namespace tmemsim::lower
