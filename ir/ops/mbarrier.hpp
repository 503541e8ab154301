// mbarrier objects: phases, arrivals, transaction bytes, waits by parity. PTX ISA 9.7.13.15.
#pragma once

#include "ir/op.hpp"

namespace tmemsim {

// `bar` is an element of a shared buffer of type mbarrier; with `rank` it is that of another CTA of the cluster.
struct MbarrierInit {
  Mem bar;
  Expr count;                             // arrivals a phase: 1 .. 2^20-1
  bool operator==(const MbarrierInit&) const = default;
  static constexpr Row row{"mbarrier.init", Who::thread, Async::none, Choice::none, Needs::sm_80, "9.7.13.15.9",
                           "Makes a barrier object: phase 0, `count` arrivals pending.", false};
  static constexpr auto fields = std::tuple{Field{"bar", &MbarrierInit::bar, Use::write}, Field{"count", &MbarrierInit::count, Use::value}};
};

struct MbarrierInval {
  Mem bar;
  bool operator==(const MbarrierInval&) const = default;
  static constexpr Row row{"mbarrier.inval", Who::thread, Async::none, Choice::none, Needs::sm_80, "9.7.13.15.10",
                           "Ends the barrier object; its bytes are ordinary memory again.", false};
  static constexpr auto fields = std::tuple{Field{"bar", &MbarrierInval::bar, Use::write}};
};

struct MbarrierArrive {
  Mem bar;
  Expr count{1};
  Sem sem = Sem::release;                 // release or relaxed
  MemScope scope = MemScope::cta;         // cta or cluster
  std::optional<Expr> rank;
  bool operator==(const MbarrierArrive&) const = default;
  static constexpr Row row{"mbarrier.arrive", Who::thread, Async::none, Choice::none, Needs::sm_80, "9.7.13.15.13",
                           "Takes `count` off the pending arrivals of the current phase.", false};
  static constexpr auto fields = std::tuple{Field{"bar", &MbarrierArrive::bar, Use::update}, Field{"count", &MbarrierArrive::count, Use::value, true},
                                            Field{"sem", &MbarrierArrive::sem, Use::modifier, true},
                                            Field{"scope", &MbarrierArrive::scope, Use::modifier, true}, Field{"rank", &MbarrierArrive::rank, Use::value}};
};

struct MbarrierArriveExpectTx {
  Mem bar;
  Expr bytes;
  Sem sem = Sem::release;
  MemScope scope = MemScope::cta;
  std::optional<Expr> rank;
  bool operator==(const MbarrierArriveExpectTx&) const = default;
  static constexpr Row row{"mbarrier.arrive.expect_tx", Who::thread, Async::none, Choice::none, Needs::sm_90, "9.7.13.15.13",
                           "Expects `bytes` more in the current phase, then arrives once.", false};
  static constexpr auto fields = std::tuple{Field{"bar", &MbarrierArriveExpectTx::bar, Use::update}, Field{"bytes", &MbarrierArriveExpectTx::bytes, Use::value},
                                            Field{"sem", &MbarrierArriveExpectTx::sem, Use::modifier, true},
                                            Field{"scope", &MbarrierArriveExpectTx::scope, Use::modifier, true},
                                            Field{"rank", &MbarrierArriveExpectTx::rank, Use::value}};
};

struct MbarrierExpectTx {
  Mem bar;
  Expr bytes;
  Sem sem = Sem::relaxed;
  MemScope scope = MemScope::cta;
  std::optional<Expr> rank;
  bool operator==(const MbarrierExpectTx&) const = default;
  static constexpr Row row{"mbarrier.expect_tx", Who::thread, Async::none, Choice::none, Needs::sm_90, "9.7.13.15.11",
                           "Expects `bytes` more in the current phase; no arrival.", false};
  static constexpr auto fields = std::tuple{Field{"bar", &MbarrierExpectTx::bar, Use::update}, Field{"bytes", &MbarrierExpectTx::bytes, Use::value},
                                            Field{"sem", &MbarrierExpectTx::sem, Use::modifier, true},
                                            Field{"scope", &MbarrierExpectTx::scope, Use::modifier, true},
                                            Field{"rank", &MbarrierExpectTx::rank, Use::value}};
};

// Without `poll` the thread waits until the phase of the parity is complete; with it the answer (1 or 0) is stored once.
struct MbarrierTestWait {
  Mem bar;
  Expr parity;                            // 0 or 1
  std::optional<Rows> poll;
  Sem sem = Sem::acquire;                 // acquire or relaxed
  MemScope scope = MemScope::cta;
  bool operator==(const MbarrierTestWait&) const = default;
  static constexpr Row row{"mbarrier.test_wait", Who::thread, Async::none, Choice::poll, Needs::sm_80, "9.7.13.15.16",
                           "Asks whether the phase of the given parity is complete."};
  static constexpr auto fields = std::tuple{Field{"bar", &MbarrierTestWait::bar, Use::read}, Field{"parity", &MbarrierTestWait::parity, Use::value},
                                            Field{"poll", &MbarrierTestWait::poll, Use::write}, Field{"sem", &MbarrierTestWait::sem, Use::modifier, true},
                                            Field{"scope", &MbarrierTestWait::scope, Use::modifier, true}};
};

struct MbarrierTryWait {
  Mem bar;
  Expr parity;
  std::optional<Rows> poll;
  Sem sem = Sem::acquire;
  MemScope scope = MemScope::cta;
  bool operator==(const MbarrierTryWait&) const = default;
  static constexpr Row row{"mbarrier.try_wait", Who::thread, Async::none, Choice::poll, Needs::sm_90, "9.7.13.15.16",
                           "Waits until the phase of the given parity is complete."};
  static constexpr auto fields = std::tuple{Field{"bar", &MbarrierTryWait::bar, Use::read}, Field{"parity", &MbarrierTryWait::parity, Use::value},
                                            Field{"poll", &MbarrierTryWait::poll, Use::write}, Field{"sem", &MbarrierTryWait::sem, Use::modifier, true},
                                            Field{"scope", &MbarrierTryWait::scope, Use::modifier, true}};
};

}  // namespace tmemsim
