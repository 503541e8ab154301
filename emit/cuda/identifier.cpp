#include "emit/cuda/identifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace tmemsim::emit {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string word(std::string_view prefix, std::string_view name) {
  std::string text(prefix);
  for (const char c : name) text += is_word_character(c) ? c : '_';
  return text;
}

struct CodePoint {
  std::uint32_t value;
  std::size_t bytes;
};

// The UTF-8 sequence at the start of `text`; nothing when there is none.
std::optional<CodePoint> first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return CodePoint{lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return std::nullopt;
  std::uint32_t value = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  static constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < smallest[bytes] || value > 0x10ffff || surrogate) return std::nullopt;
  return CodePoint{value, bytes};
}

// Controls, line separators, and what reorders or hides the text around it.
bool is_unsafe(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

std::string_view prefix(Space space) {
  switch (space) {
    case Space::global:
      return "g_";
    case Space::shared:
      return "s_";
    case Space::local:
      return "r_";
    case Space::tmem:
      return "t_";
  }
  return "b_";
}

}  // namespace

std::string identifier(const Buffer& buffer) { return word(prefix(buffer.space), buffer.name); }
std::string loop_identifier(std::string_view variable) { return word("loop_", variable); }
std::string kernel_identifier(std::string_view scenario) { return word("kernel_", scenario); }

bool is_plain_name(std::string_view name) { return !name.empty() && std::all_of(name.begin(), name.end(), is_word_character); }

std::string comment_text(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const auto point = first_code_point(text);
    const std::size_t bytes = point ? point->bytes : 1;
    const bool after_question_mark = !safe.empty() && safe.back() == '?';
    if (!point) {
      safe += '.';
    } else if (is_unsafe(point->value)) {
      safe += ' ';
    } else if (text[0] == '?' && after_question_mark) {
      safe += " ?";  // two in a row could start a trigraph
    } else {
      safe += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  while (!safe.empty() && safe.back() == ' ') safe.pop_back();
  if (!safe.empty() && safe.back() == '\\') safe += " .";  // a backslash at the end would take the next line into the comment
  return safe;
}

std::string string_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (c == '"' || c == '\\' || c == '?') {
      literal += '\\';
      literal += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      literal += fmt::format("\\{:03o}", byte);
    } else {
      literal += c;
    }
  }
  return literal + '"';
}

}  // namespace tmemsim::emit
