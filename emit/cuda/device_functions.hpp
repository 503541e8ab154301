// The device functions that an emitted kernel calls: one small function for each instruction form, printed only when used.
//
// A kernel's body holds no inline assembly: it calls these. So the body reads as a program, and a second set of functions of
// the same names (tensor memory emulated in global memory) can stand in for the native ones.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op.hpp"

namespace tmemsim::emit {

// Where a load or store goes. shared_cluster: the shared memory of another CTA of the cluster.
enum class Window : std::uint8_t { shared, shared_cluster, global };

// The functions needed so far, in order of first use; a function stands after those that it calls.
class DeviceFunctions {
 public:
  // A function of the fixed list; the name is a mistake of the calling code when the list lacks it (std::logic_error).
  void need(std::string_view name);

  // Each returns the function's name.
  std::string need_load(Window window, Sem sem, MemScope scope, int bytes);
  std::string need_store(Window window, Sem sem, MemScope scope, int bytes);
  std::string need_compare(Compare compare, AluType type);
  // tcgen05.ld and .st; `contiguous`: the registers are given as a pointer to the first of them, else one by one.
  std::string need_tcgen05_ld(Shape shape, int num, bool pack, std::optional<std::int32_t> half, bool contiguous);
  std::string need_tcgen05_st(Shape shape, int num, bool unpack, std::optional<std::int32_t> half, bool contiguous);

  // The text of all of them.
  std::string text() const;

 private:
  void add(std::string key, std::string text);

  std::set<std::string, std::less<>> known_;
  std::vector<std::string> texts_;
};

}  // namespace tmemsim::emit
