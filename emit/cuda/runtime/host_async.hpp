// mbarrier objects and bulk copies on the CPU. A barrier object is the 64 bits of shared memory at its address, as on a GPU:
// whoever overwrites it destroys it. What the hardware leaves undefined stops the program. Copies are complete at once.
//
// This text is put into programs that are emitted for the host.
#pragma once

#include <chrono>

#include "emit/cuda/runtime/host_cuda.hpp"

namespace host_async {

// PTX ISA 9.7.13.15: phase, expected and pending arrivals (20 bits), transaction bytes (a sign and 20 bits).
struct Object {
  uint32_t pending, expected;
  int32_t tx;
  uint32_t parity;  // of the current phase
};

constexpr uint32_t most = (1u << 20) - 1;
constexpr uint64_t tag = 1;  // in the upper two bits of an object

inline uint64_t bits_of(const Object& object) {
  return tag << 62 | uint64_t(object.parity) << 61 | uint64_t(uint32_t(object.tx) & 0x1fffffu) << 40 |
         uint64_t(object.expected) << 20 | object.pending;
}

inline Object object_of(uint64_t bits) {
  if (bits >> 62 != tag) host::fault("there is no mbarrier object here");
  const int32_t tx = int32_t(uint32_t(bits >> 40) << 11) >> 11;
  return {uint32_t(bits) & most, uint32_t(bits >> 20) & most, tx, uint32_t(bits >> 61) & 1};
}

inline uint64_t* word(uint32_t bar) {
  if (bar % 8 != 0) host::fault("misaligned address");
  return reinterpret_cast<uint64_t*>(host::shared(bar, 8));
}

inline uint32_t in_cta(uint32_t address, uint32_t rank) { return (address & 0xffffffu) | rank << 24; }

inline void init(uint32_t bar, uint32_t count) {
  if (count == 0 || count > most) host::fault("a barrier object expects 1 to 2^20 - 1 arrivals");
  if (__atomic_load_n(word(bar), __ATOMIC_SEQ_CST) >> 62 == tag) host::fault("init of a barrier object that is valid");
  __atomic_store_n(word(bar), bits_of({count, count, 0, 0}), __ATOMIC_SEQ_CST);
}

inline void inval(uint32_t bar) {
  (void)object_of(__atomic_load_n(word(bar), __ATOMIC_SEQ_CST));
  __atomic_store_n(word(bar), 0, __ATOMIC_SEQ_CST);
}

// Changes the object; completes its phase when nothing is pending any more.
template <class Change>
void change(uint32_t bar, Change change_object) {
  uint64_t* const at = word(bar);
  uint64_t before = __atomic_load_n(at, __ATOMIC_SEQ_CST), after = 0;
  do {
    Object object = object_of(before);
    change_object(object);
    if (object.tx < -int32_t(most) || object.tx > int32_t(most)) host::fault("too many transaction bytes on a barrier object");
    if (object.pending == 0 && object.tx == 0) {
      object.pending = object.expected;
      object.parity ^= 1;
    }
    after = bits_of(object);
  } while (!__atomic_compare_exchange_n(at, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

inline void take_arrivals(Object& object, uint32_t count) {
  if (count > object.pending) host::fault("more arrivals than the phase of a barrier object has pending");
  object.pending -= count;
}

inline void arrive(uint32_t bar, uint32_t count) {
  change(bar, [=](Object& object) { take_arrivals(object, count); });
}
inline void expect_tx(uint32_t bar, uint32_t bytes) {
  change(bar, [=](Object& object) { object.tx += int32_t(bytes); });
}
inline void complete_tx(uint32_t bar, uint32_t bytes) {
  change(bar, [=](Object& object) { object.tx -= int32_t(bytes); });
}
inline void arrive_expect_tx(uint32_t bar, uint32_t bytes) {
  change(bar, [=](Object& object) {
    object.tx += int32_t(bytes);
    take_arrivals(object, 1);
  });
}

inline uint32_t is_complete(uint32_t bar, uint32_t parity) {
  const bool complete = object_of(__atomic_load_n(word(bar), __ATOMIC_SEQ_CST)).parity != parity;
  if (!complete) std::this_thread::sleep_for(std::chrono::microseconds(50));  // it is polled by many threads
  return complete;
}

inline void copy(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  const bool aligned = (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes) % 16 == 0;
  if (!aligned) host::fault("misaligned address");
  for (uint32_t i = 0; i < bytes; i += 4) host::store<uint32_t>(to + i, 4, host::load<uint32_t>(from + i, 4));
}

}  // namespace host_async
