// Result<T>: a value, or the reason why there is none.
//
// Operations that are not closed (a slice that carries, a composition that is no layout) return a Result instead of
// guessing. A Reason is text for a person; where it concerns a layout it names the iter and the first logical coordinate
// that shows the problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tmemsim {

struct Reason {
  std::string text;
  std::optional<std::size_t> iter;         // position of the offending iter in the shard (or of the mode, outermost first)
  std::vector<std::int64_t> coordinate;    // first logical coordinate that shows it; empty when none applies
  std::optional<std::size_t> text_offset;  // for parse errors: byte offset of the caret into the notation

  bool operator==(const Reason&) const = default;
};

// A Result was used as a value although it holds a Reason: a mistake of the calling code, never of the input.
class NoValue : public std::logic_error {
 public:
  explicit NoValue(const std::string& reason) : std::logic_error("result without a value: " + reason) {}
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Reason reason) : held_(std::in_place_index<1>, std::move(reason)) {}

  explicit operator bool() const { return held_.index() == 0; }
  bool has_value() const { return held_.index() == 0; }

  const T& value() const& { need_value(); return std::get<0>(held_); }
  T& value() & { need_value(); return std::get<0>(held_); }
  T&& value() && { need_value(); return std::get<0>(std::move(held_)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Reason& reason() const { return std::get<1>(held_); }

  bool operator==(const Result&) const = default;

 private:
  void need_value() const { if (held_.index() != 0) throw NoValue(std::get<1>(held_).text); }
  std::variant<T, Reason> held_;
};

}  // namespace tmemsim
