// The one file of the emitter that knows the list of operations.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <variant>

#include "emit/cuda/ops.hpp"
#include "ir/op_list.hpp"

namespace tmemsim::emit {
namespace {

template <class Op>
concept Printed = requires(const Op& op, Cuda& cuda) {
  print(op, cuda);
};
template <class Op>
concept Refused = requires(const Op& op) {
  std::string_view(why_not(op));
};

template <class Op>
struct Printer {
  static_assert(
      Printed<Op> || Refused<Op>,
      "this machine operation lacks print(const Op&, Cuda&) in emit/cuda/ops.hpp, or why_not(const Op&) with a reason");
  static void run(const Op& op, Cuda& cuda) {
    cuda.use(Op::row.needs, Op::row.name);
    print_or_refuse(op, cuda);
  }

 private:
  static void print_or_refuse(const Op& op, Cuda& cuda) {
    if constexpr (Printed<Op>) {
      print(op, cuda);
    } else {
      cuda.unsupported(fmt::format("{} is not emitted: {}", Op::row.name, why_not(op)));
    }
  }
};

}  // namespace

void print_operation(const MachineOps::Any& op, Cuda& cuda) {
  std::visit([&]<class Op>(const Op& held) { Printer<Op>::run(held, cuda); }, op);
}

}  // namespace tmemsim::emit
