#include "ir/scenario/ops_text.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "ir/op_list.hpp"
#include "ir/scenario/field_kinds.hpp"
#include "ir/scenario/mapping.hpp"
#include "ir/scenario/words.hpp"
#include "ir/target.hpp"

namespace tmemsim {
namespace {

using namespace scenario;

struct KeyLine {
  std::string key;      // with '?' when it may be left out
  std::string written;  // how a value is written
  std::string_view use;
};

struct OpLine {
  std::string name;
  std::string_view level;  // "tile primitive", "machine instruction"
  std::string_view who, async, section, rule;
  std::string targets;
  std::vector<KeyLine> keys;
};

constexpr std::string_view word(Who who) {
  switch (who) {
    case Who::thread:
      return "each thread";
    case Who::warp_aligned:
      return "a whole warp (.sync.aligned)";
    case Who::warp:
      return "warps";
    case Who::cta:
      return "a CTA";
    case Who::cluster:
      return "a cluster";
  }
  return {};
}

constexpr std::string_view word(Async async) {
  switch (async) {
    case Async::none:
      return "no";
    case Async::ld:
      return "until tcgen05.wait::ld";
    case Async::st:
      return "until tcgen05.wait::st";
    case Async::mma:
      return "mma agent, until an observed commit";
    case Async::cp:
      return "cp agent, until an observed commit";
    case Async::shift:
      return "shift agent, until an observed commit";
    case Async::bulk:
      return "bulk copy, until its barrier or group";
  }
  return {};
}

constexpr std::string_view word(Use use) {
  switch (use) {
    case Use::read:
      return "read";
    case Use::write:
      return "written";
    case Use::update:
      return "read and written";
    case Use::address:
      return "address";
    case Use::value:
      return "value";
    case Use::modifier:
      return "modifier";
  }
  return {};
}

std::string targets_with(Needs needs) {
  std::vector<std::string_view> have;
  for (std::size_t i = 0; i < target_count; ++i)
    if (const auto target = static_cast<Target>(i); !why_not(needs, target, PtxVersion{})) have.push_back(name(target));
  return have.size() == target_count ? "all" : listing(have);
}

template <class Op>
std::vector<KeyLine> key_lines() {
  return std::apply(
      [](const auto&... field) {
        return std::vector<KeyLine>{{fmt::format("{}{}", field.key, may_be_left_out(field) ? "?" : ""),
                                     written_as<FieldType<decltype(field)>>(), word(field.use)}...};
      },
      Op::fields);
}

std::vector<OpLine> op_lines() {
  std::vector<OpLine> lines;
  TileOps::for_each([&]<class Op>() {
    lines.push_back({std::string(Op::row.name), "tile primitive", "the threads that 'at' names", "as lowered", "tool",
                     Op::row.rule, "as lowered", key_lines<Op>()});
  });
  MachineOps::for_each([&]<class Op>() {
    constexpr const Row& row = Op::row;
    lines.push_back({std::string(row.name), "machine instruction", word(row.who), word(row.async), row.section, row.rule,
                     targets_with(row.needs), key_lines<Op>()});
  });
  return lines;
}

std::string spelled(const OpLine& line) {
  std::string text = line.name;
  for (const Alias& alias : operation_aliases)
    if (alias.means == line.name) text += fmt::format(", {}", alias.name);
  return text;
}

std::string text_of_op(const OpLine& line) {
  std::string text = fmt::format("{}\n    {}\n", spelled(line), line.rule);
  std::size_t key_width = 0, written_width = 0;
  for (const KeyLine& key : line.keys) {
    key_width = std::max(key_width, key.key.size());
    written_width = std::max(written_width, key.written.size());
  }
  for (const KeyLine& key : line.keys)
    text += fmt::format("      {:{}}  {:{}}  {}\n", key.key, key_width, key.written, written_width, key.use);
  return text + fmt::format("    {}; run by {}; asynchronous: {}; targets: {}; section: {}\n\n", line.level, line.who,
                            line.async, line.targets, line.section);
}

// A | would end the cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string keys_cell(const OpLine& line) {
  std::string text;
  for (const KeyLine& key : line.keys) text += fmt::format("{}`{}`: {}", text.empty() ? "" : "; ", key.key, cell(key.written));
  return text.empty() ? "none" : text;
}

}  // namespace

std::string ops_text() {
  std::string text =
      "Keys with ? may be left out. Every statement also takes at and label; machine instructions take means: {dst, src}.\n"
      "A dot may stand for ::, and keywords may stand behind the name: setp.lt.f32.\n\n";
  for (const OpLine& line : op_lines()) text += text_of_op(line);
  text.pop_back();
  return text;
}

std::string ops_markdown() {
  std::string text =
      "| operation | keys (`?`: may be left out) | run by | asynchronous | targets | section | what it does "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const OpLine& line : op_lines())
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", spelled(line), keys_cell(line), line.who, line.async,
                        line.targets, line.section, cell(line.rule));
  return text;
}

}  // namespace tmemsim
