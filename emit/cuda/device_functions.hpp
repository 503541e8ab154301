// The device functions that an emitted kernel calls: one small function for each instruction form, printed only when used.
//
// A kernel's body holds no inline assembly: it calls these. So the body reads as a program, and a second set of functions of
// the same names (tensor memory emulated in global memory) can stand in for the native ones.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emit/emit.hpp"
#include "ir/op.hpp"
#include "ir/ops/warp_matrix.hpp"

namespace tmemsim::emit {

// Where a load or store goes. shared_cluster: the shared memory of another CTA of the cluster.
enum class Window : std::uint8_t { shared, shared_cluster, global };

// One form of tcgen05.ld or .st.
struct TmemForm {
  bool load;
  Shape shape;
  int num;
  bool packed;                       // .pack::16b or .unpack::16b
  std::optional<std::int32_t> half;  // immHalfSplitoff

  std::string name() const;  // of the function
  int registers() const;
};

// One form of an mbarrier operation that is made, not listed.
enum class MbarrierVerb : std::uint8_t { arrive, arrive_expect_tx, expect_tx, test_wait, try_wait };
struct MbarrierForm {
  MbarrierVerb verb;
  Sem sem;
  MemScope scope;
  bool peer = false;   // the barrier of a CTA of the cluster
  bool count = false;  // arrive: not one arrival but a count

  bool is_wait() const;
  bool has_default_order() const;  // neither .sem nor .scope is written
  std::string name() const;        // of the function
};

// One form of mma.sync with the registers of its operands; d has as many as c.
struct MmaForm {
  MmaShape shape;
  MmaInput input;
  MmaResult result;
  int k, a, b, c;
};

// The functions needed so far, in order of first use; a function stands after those that it calls.
class DeviceFunctions {
 public:
  explicit DeviceFunctions(Backend backend = Backend::native) : backend_(backend) {}
  Backend backend() const { return backend_; }

  // A function of the fixed list; the name is a mistake of the calling code when the list lacks it (std::logic_error).
  void need(std::string_view name);

  // Each returns the function's name.
  std::string need_load(Window window, Sem sem, MemScope scope, int bytes);
  std::string need_store(Window window, Sem sem, MemScope scope, int bytes);
  std::string need_compare(Compare compare, AluType type);
  // tcgen05.ld and .st; `contiguous`: the registers are given as a pointer to the first of them, else one by one.
  std::string need_tcgen05(const TmemForm& form, bool contiguous);
  std::string need_mbarrier(const MbarrierForm& form);

  // ldmatrix (load) and stmatrix: (shared address, registers one by one). device_functions_warp_matrix.cpp.
  std::string need_matrix_move(bool load, int num, bool trans);
  std::string need_mma_sync(const MmaForm& form);  // (d, a, b, c), registers one by one

  // The text of all of them.
  std::string text() const;

 private:
  void add(std::string key, std::string text);

  Backend backend_;
  std::set<std::string, std::less<>> known_;
  std::vector<std::string> texts_;
};

// A function that is listed by name.
struct Fixed {
  std::string_view name, text;
};

// ---- Barrier objects, clusters, bulk copies: device_functions_async.cpp. ----

std::string_view async_function(Backend backend, std::string_view name);  // "" when it is none of these
std::string mbarrier_function(const MbarrierForm& form);
std::string host_mbarrier_function(const MbarrierForm& form);

// ---- The emulated functions, device_functions_emulated.cpp. ----

// A fixed function that the backend replaces. `stores_word`: it calls st_shared_b32.
struct Replacement {
  std::string_view name, text;
  bool stores_word = false;
};
// Null when the native function serves.
const Replacement* replacement(Backend backend, std::string_view name);

std::string emulated_tmem_function(const TmemForm& form, bool contiguous);
std::string host_load(std::string_view name, Window window, int bytes);
std::string host_store(std::string_view name, Window window, int bytes);
std::string host_compare(std::string_view name, Compare compare, AluType type);

// "const uint32_t& r0, ..., const uint32_t& r7" and the like: `item` for each of 0 .. count-1, eight a line.
std::string join_lines(int count, std::string_view indent, const std::function<std::string(int)>& item);
std::string join(int count, std::string_view separator, const std::function<std::string(int)>& item);
std::string function_head(const TmemForm& form, bool contiguous);  // up to the opening brace

// The texts of runtime/host_cuda.hpp, host_async.hpp and emulated_tmem.hpp as they are put into programs.
extern const char* const host_cuda_text;
extern const char* const host_async_text;
extern const char* const emulated_tmem_text;

}  // namespace tmemsim::emit
