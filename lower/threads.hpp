// The threads that execute a primitive, and who of them owns what a register layout places on thread axes.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/axis.hpp"
#include "ir/kernel/kernel.hpp"
#include "ir/result.hpp"

namespace tmemsim::lower {

inline constexpr std::int64_t warp_threads = 32;
inline constexpr std::int64_t group_threads = 128;

// The threads of a CTA that execute a statement: a range of warps, of each a range of lanes.
struct Threads {
  std::int64_t first_warp = 0, last_warp = 0;  // both included
  std::int64_t first_lane = 0, last_lane = 31;
  bool elect = false;                          // one lane of each warp; the run says which
  std::int64_t cta_warps = 1;

  std::int64_t warps() const { return last_warp - first_warp + 1; }
  std::int64_t lanes() const { return last_lane - first_lane + 1; }
  std::int64_t count() const { return elect ? warps() : warps() * lanes(); }
  bool whole_warps() const { return !elect && lanes() == warp_threads; }
  std::int64_t first() const { return first_warp * warp_threads + first_lane; }
};
Threads threads_of(const Where& where, const Launch& launch);
std::string describe(const Threads& threads);  // "warps 4..7", "warp 0, lanes 0..15"

// The expression with the coordinates that all threads agree on as constants.
Expr specialised(const Expr& expr, const Threads& threads);

using AxisSet = std::bitset<axis_count>;

// A digit of an element's index that a register layout puts on a thread axis.
struct AxisDigit {
  std::int64_t extent = 1, stride = 1;  // in units of the axis; extent >= 2, stride > 0
  Axis axis = Axis::laneid;
  std::size_t key = 0;                  // of the caller
  bool replica = false;
};

struct OwnerDigit {
  std::int64_t extent = 1, stride = 1;  // in threads
  std::size_t key = 0;
  bool replica = false;
};

// Part of the thread's index in its CTA, (tid / unit) % (end / unit): 1 and 32 the lane, 32 and the size of the CTA the warp.
// The digits that it holds stand by falling stride, each stride larger than everything below it. A free field says nothing
// about the element: all its values hold the same ones.
struct Field {
  std::int64_t unit = 1, end = 32;  // in threads
  std::int64_t offset = 0;
  std::vector<OwnerDigit> digits;
  bool free = false;
};

// Which thread owns which elements.
class Owners {
 public:
  // Reason: axes that contradict each other, digits that overlap, an owner that does not execute the statement.
  // `named` are the axes that the layout speaks about, with or without digits. With `all_replicas` every replica has to have
  // its threads, otherwise the first one.
  static Result<Owners> of(const Threads& threads, const std::vector<AxisDigit>& digits, const Point& offset, AxisSet named, bool all_replicas);

  const Threads& threads() const { return threads_; }
  const std::vector<Field>& fields() const { return fields_; }

  // The value of one digit for a thread that owns something.
  std::int64_t value(const Field& field, std::size_t digit, std::int64_t tid) const;
  // The same as an expression of the executing thread; of the digits top..bottom as one number when each continues the next.
  Expr value(const Field& field, std::size_t top, std::size_t bottom) const;
  bool owns(std::int64_t tid) const;

  // True for the threads that own something; with `once`, of the threads that hold the same elements only for the first.
  // Nothing: true for all of them.
  std::optional<Expr> guard(bool once) const;
  std::string describe_owner() const;  // which thread stores what several hold: "warp 0 of warps 0..3"; "" when nothing is held twice

 private:
  struct Condition;
  std::vector<Condition> conditions(bool once) const;
  Threads threads_;
  std::vector<Field> fields_;
};

}  // namespace tmemsim::lower
