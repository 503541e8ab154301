#include <fmt/format.h>

#include "emit/cuda/ops.hpp"

namespace tmemsim::emit {
namespace {

// The barrier of the CTA, or with `rank` that of another CTA of the cluster.
std::string barrier(const Mem& bar, const std::optional<Expr>& rank, Cuda& cuda) {
  const Place place = cuda.place(bar, rank);
  if (place.window == Window::global) cuda.unsupported("a barrier object stands in shared memory");
  return place.text;
}

// What a form asks of the GPU beyond the row of its operation.
void use_form(const MbarrierForm& form, std::string_view operation, Cuda& cuda) {
  if (form.count) cuda.use(Needs::mbarrier_count, operation);
  if (!form.has_default_order()) cuda.use(form.sem == Sem::relaxed ? Needs::mbarrier_relaxed : Needs::mbarrier_tx, operation);
}

void check_order(Sem sem, MemScope scope, Sem usual, std::string_view operation, Cuda& cuda) {
  if (sem != usual && sem != Sem::relaxed) {
    cuda.unsupported(fmt::format("{}.{} does not exist: .{} or .relaxed", operation, keyword(sem), keyword(usual)));
  }
  if (scope != MemScope::cta && scope != MemScope::cluster) {
    cuda.unsupported(fmt::format("{} has the scopes .cta and .cluster, not .{}", operation, keyword(scope)));
  }
}

template <class Op>
std::string signal(const Op& op, MbarrierVerb verb, Sem usual, bool count, Cuda& cuda) {
  check_order(op.sem, op.scope, usual, op.row.name, cuda);
  const MbarrierForm form{verb, op.sem, op.scope, op.rank.has_value(), count};
  use_form(form, op.row.name, cuda);
  return cuda.functions().need_mbarrier(form);
}

template <class Op>
void print_wait(const Op& op, MbarrierVerb verb, Cuda& cuda) {
  check_order(op.sem, op.scope, Sem::acquire, op.row.name, cuda);
  const MbarrierForm form{verb, op.sem, op.scope};
  use_form(form, op.row.name, cuda);
  const std::string asked = fmt::format("{}({}, {})", cuda.functions().need_mbarrier(form),
                                        barrier(op.bar, std::nullopt, cuda), cuda.expr(op.parity));
  if (op.poll) {
    cuda.line(fmt::format("{} = {};", cuda.reg(op.poll->buffer, op.poll->rows.at(0)), asked));
    return;
  }
  cuda.line(fmt::format("while (!{}) {{}}", asked));
  cuda.lanes_may_differ();  // each lane asks for itself
}

}  // namespace

void print(const MbarrierInit& op, Cuda& cuda) {
  cuda.line(cuda.call_line("mbarrier_init", barrier(op.bar, std::nullopt, cuda) + ", " + cuda.expr(op.count)));
}

void print(const MbarrierInval& op, Cuda& cuda) {
  cuda.line(cuda.call_line("mbarrier_inval", barrier(op.bar, std::nullopt, cuda)));
}

void print(const MbarrierArrive& op, Cuda& cuda) {
  const bool once = op.count.as_constant() == 1;
  const std::string function = signal(op, MbarrierVerb::arrive, Sem::release, !once, cuda);
  const std::string bar = barrier(op.bar, op.rank, cuda);
  cuda.line(once ? fmt::format("{}({});", function, bar) : fmt::format("{}({}, {});", function, bar, cuda.expr(op.count)));
}

void print(const MbarrierArriveExpectTx& op, Cuda& cuda) {
  const std::string function = signal(op, MbarrierVerb::arrive_expect_tx, Sem::release, false, cuda);
  cuda.line(fmt::format("{}({}, {});", function, barrier(op.bar, op.rank, cuda), cuda.expr(op.bytes)));
}

void print(const MbarrierExpectTx& op, Cuda& cuda) {
  const std::string function = signal(op, MbarrierVerb::expect_tx, Sem::relaxed, false, cuda);
  cuda.line(fmt::format("{}({}, {});", function, barrier(op.bar, op.rank, cuda), cuda.expr(op.bytes)));
}

void print(const MbarrierTestWait& op, Cuda& cuda) { print_wait(op, MbarrierVerb::test_wait, cuda); }
void print(const MbarrierTryWait& op, Cuda& cuda) { print_wait(op, MbarrierVerb::try_wait, cuda); }

void print(const TcgenCommit& op, Cuda& cuda) {
  if (op.mask && op.rank) cuda.unsupported("a commit names CTAs by a mask or one by its rank, not both");
  const std::string bar = barrier(op.bar, op.rank, cuda);
  if (!op.mask) {
    cuda.line(cuda.call_line(cta_group_function("tcgen05_commit", op.cta_group, cuda), bar));
    return;
  }
  cuda.reaches_peers();
  cuda.line(cuda.call_line(cta_group_function("tcgen05_commit_multicast", op.cta_group, cuda),
                           fmt::format("{}, uint16_t({})", bar, cuda.expr(*op.mask))));
}

}  // namespace tmemsim::emit
