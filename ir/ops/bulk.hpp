// cp.async.bulk: copies between global and shared memory by the asynchronous proxy. PTX ISA 9.7.9.25.
#pragma once

#include "ir/op.hpp"

namespace tmemsim {

// Global to shared: completes `bytes of the region` on `bar`; with `mask` into each CTA of the cluster whose rank bit is set.
// Shared to global: no bar; completion through commit_group and wait_group. Regions are contiguous, 16-byte aligned and sized.
struct BulkCopy {
  Region dst, src;
  std::optional<Mem> bar;
  std::optional<Expr> mask;
  bool operator==(const BulkCopy&) const = default;
  static constexpr Row row{"cp.async.bulk", Who::thread, Async::bulk, Choice::none, Needs::sm_90, "9.7.9.25.4",
                           "Copies a contiguous block asynchronously; its bytes count on the barrier or in the bulk group."};
  static constexpr auto fields = std::tuple{Field{"dst", &BulkCopy::dst, Use::write}, Field{"src", &BulkCopy::src, Use::read},
                                            Field{"bar", &BulkCopy::bar, Use::update}, Field{"mask", &BulkCopy::mask, Use::value}};
};

struct BulkCommitGroup {
  bool operator==(const BulkCommitGroup&) const = default;
  static constexpr Row row{"cp.async.bulk.commit_group", Who::thread, Async::none, Choice::none, Needs::sm_90, "9.7.9.25.3",
                           "Closes the thread's bulk group: its copies since the last one.", false};
  static constexpr auto fields = std::tuple{};
};

struct BulkWaitGroup {
  Expr n;                                 // groups that may still be pending
  bool read = false;                      // wait only until the sources have been read
  bool operator==(const BulkWaitGroup&) const = default;
  static constexpr Row row{"cp.async.bulk.wait_group", Who::thread, Async::none, Choice::none, Needs::sm_90, "9.7.9.25.3",
                           "Waits until at most n of the thread's latest bulk groups are pending.", false};
  static constexpr auto fields = std::tuple{Field{"n", &BulkWaitGroup::n, Use::value}, Field{"read", &BulkWaitGroup::read, Use::modifier, true}};
};

}  // namespace tmemsim
