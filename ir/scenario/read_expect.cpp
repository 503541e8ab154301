#include "ir/scenario/read_expect.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "ir/scenario/init_values.hpp"
#include "ir/scenario/read_buffers.hpp"
#include "ir/tcgen05.hpp"

namespace tmemsim::scenario {
namespace {

constexpr std::string_view statuses[] = {"clean", "findings", "mismatch", "unsupported"};

void collect_places(const Body& body, std::set<std::string, std::less<>>& places) {
  for (const Stmt& stmt : body) {
    places.insert(stmt.path);
    if (!stmt.label.empty()) places.insert(stmt.label);
    if (const auto* loop = std::get_if<For>(&stmt.node)) collect_places(loop->body, places);
    if (const auto* polling = std::get_if<While>(&stmt.node)) collect_places(polling->body, places);
    if (const auto* guard = std::get_if<If>(&stmt.node)) {
      collect_places(guard->then, places);
      collect_places(guard->otherwise, places);
    }
  }
}

using Extents = std::vector<std::int64_t>;

Extents without_units(Extents extents) {
  std::erase(extents, 1);
  return extents;
}

class ExpectReader {
 public:
  ExpectReader(const Reader& reader, const Kernel& kernel) : reader_(reader), document_(reader.document()), kernel_(kernel) {
    collect_places(kernel.body, places_);
  }

  Expect read(const Node& node) {
    const Mapping mapping(document_, node, "expect");
    mapping.only({"status", "findings", "lenient", "equal", "cells", "regs"});
    Expect expect;
    if (const Node* status = mapping.find("status"))
      expect.status = std::string(statuses[reader_.keyword(*status, "'status'", {std::begin(statuses), std::end(statuses)})]);
    if (const Node* list = mapping.find("findings")) expect.findings = findings(*list);
    if (const Node* lenient = mapping.find("lenient")) {
      const Mapping inner(document_, *lenient, "'lenient'");
      inner.only({"findings"});
      expect.lenient = findings(inner.need("findings"));
    }
    if (const Node* list = mapping.find("equal"))
      for (const Node& item : list_of(document_, *list, "'equal'")) expect.equal.push_back(equal(item));
    if (const Node* list = mapping.find("cells"))
      for (const Node& item : list_of(document_, *list, "'cells'")) expect.cells.push_back(cell(item));
    if (const Node* list = mapping.find("regs"))
      for (const Node& item : list_of(document_, *list, "'regs'")) expect.registers.push_back(reg(item));
    return expect;
  }

 private:
  std::vector<ExpectedFinding> findings(const Node& node) {
    std::vector<ExpectedFinding> found;
    for (const Node& item : list_of(document_, node, "'findings'")) found.push_back(finding(item));
    return found;
  }

  ExpectedFinding finding(const Node& node) {
    const Mapping mapping(document_, node, "an expected finding");
    mapping.only({"verdict", "at", "other", "severity", "count"});
    ExpectedFinding finding;
    finding.where = document_.at(node);
    std::vector<std::string_view> verdicts;
    for (const VerdictFacts& facts : verdict_table()) verdicts.push_back(facts.id);
    finding.verdict = verdict_table()[reader_.keyword(mapping.need("verdict"), "'verdict'", verdicts)].verdict;
    if (const Node* at = mapping.find("at")) finding.at = place(*at, "'at'");
    if (const Node* other = mapping.find("other")) finding.other = place(*other, "'other'");
    if (const Node* severity = mapping.find("severity"))
      finding.severity = reader_.keyword(*severity, "'severity'", {name(Severity::error), name(Severity::warning)}) == 0
                             ? Severity::error
                             : Severity::warning;
    if (const Node* count = mapping.find("count"))
      finding.count = static_cast<std::uint64_t>(reader_.integer(*count, "'count'", 1, INT64_MAX));
    return finding;
  }

  std::string place(const Node& node, std::string_view what) {
    const std::string& text = text_of(document_, node, what);
    if (places_.contains(text)) return text;
    std::vector<std::string_view> known;
    for (const std::string& place : places_)
      if (known.size() < 256) known.push_back(place);
    std::string hint = suggestion(text, known, "labels and statements");
    document_.fail(node, fmt::format("{} names no statement: {} is neither a label nor a path", what, describe(node)),
                   hint.empty() ? "a label, or a path like \"program[4].body[1]\"" : hint);
  }

  ExpectedEqual equal(const Node& node) {
    const Mapping mapping(document_, node, "an entry of 'equal'");
    mapping.only({"actual", "expected", "abs", "ulp"});
    ExpectedEqual equal;
    equal.where = document_.at(node);
    const auto [actual, extents] = constant_region(mapping.need("actual"), "'actual'");
    equal.actual = actual;
    const Node& expected = mapping.need("expected");
    if (expected.kind == Node::Kind::map)
      read_values(expected, extents, equal);
    else
      equal.expected = region_like(expected, extents);
    if (const Node* abs = mapping.find("abs")) {
      equal.abs = reader_.real(*abs, "'abs'");
      if (*equal.abs < 0) document_.fail(*abs, "'abs' is a distance and cannot be negative");
    }
    if (const Node* ulp = mapping.find("ulp"))
      equal.ulp = static_cast<std::uint64_t>(reader_.integer(*ulp, "'ulp'", 0, INT64_MAX));
    return equal;
  }

  struct ConstantRegion {
    Region region;
    Extents extents;  // single indices are dropped
  };

  // At the end of a run there are no threads and no loops any more: bounds must be constants, and inside the shape.
  ConstantRegion constant_region(const Node& node, std::string_view what) {
    ConstantRegion found{reader_.region(node, what), {}};
    const Buffer& buffer = kernel_.buffers[found.region.buffer];
    if (found.region.box.empty())
      found.extents = buffer.shape;
    else if (found.region.box.size() != buffer.shape.size())
      document_.fail(node, fmt::format("{} has {} dimensions, but buffer {} has {}", what, found.region.box.size(), buffer.name,
                                       buffer.shape.size()));
    for (std::size_t i = 0; i < found.region.box.size(); ++i) {
      const Range& range = found.region.box[i];
      const auto lo = range.lo.as_constant();
      const auto hi = range.hi ? range.hi->as_constant() : lo;
      if (!lo || !hi) document_.fail(node, fmt::format("the bounds of {} must be constants", what));
      const std::int64_t end = range.hi ? *hi : std::int64_t{*lo} + 1;
      if (*lo < 0 || *lo >= end || end > buffer.shape[i])
        document_.fail(node, fmt::format("{}: [{}, {}) is no part of dimension {} of buffer {}, which is [0, {})", what, *lo,
                                         end, i, buffer.name, buffer.shape[i]));
      if (range.hi) found.extents.push_back(end - *lo);
    }
    return found;
  }

  Region region_like(const Node& node, const Extents& extents) {
    ConstantRegion found = constant_region(node, "'expected'");
    if (without_units(found.extents) != without_units(extents))
      document_.fail(node, fmt::format("'expected' has the shape [{}], but 'actual' has [{}]", fmt::join(found.extents, ", "),
                                       fmt::join(extents, ", ")));
    return std::move(found.region);
  }

  void read_values(const Node& node, const Extents& extents, ExpectedEqual& equal) {
    const Mapping mapping(document_, node, "'expected'");
    mapping.only({"fill", "npy", "data"});
    if (mapping.entries().size() != 1) document_.fail(node, "'expected' takes a region, or one of fill, npy and data");
    const Buffer& buffer = kernel_.buffers[equal.actual.buffer];
    if (const Node* fill = mapping.find("fill")) {
      equal.expected = InitFill{read_element(reader_, *fill, "'fill'", buffer.dtype)};
    } else if (const Node* data = mapping.find("data")) {
      equal.expected = read_data(reader_, *data, extents, buffer.dtype);
    } else {
      const Node& path = mapping.need("npy");
      const InitNpy npy{read_npy_path(reader_, path, "'npy'", kernel_.folder)};
      Buffer wanted = buffer;
      wanted.shape = extents;
      wanted.init = npy;
      if (const auto problem = problem_with_init(wanted, kernel_.folder)) document_.fail(path, *problem);
      equal.expected = npy;
    }
  }

  std::uint32_t cta(const Mapping& mapping) {
    const Node* node = mapping.find("cta");
    return node ? static_cast<std::uint32_t>(reader_.integer(*node, "'cta'", 0, std::int64_t{cta_count(kernel_.launch)} - 1))
                : 0;
  }
  std::uint32_t bits(const Mapping& mapping) {
    return static_cast<std::uint32_t>(reader_.integer(mapping.need("bits"), "'bits'", 0, 0xFFFFFFFF));
  }

  ExpectedCell cell(const Node& node) {
    const Mapping mapping(document_, node, "an entry of 'cells'");
    mapping.only({"cta", "tmem", "bits"});
    const Node& place = mapping.need("tmem", "tmem: [lane, column]");
    if (list_of(document_, place, "'tmem'").size() != 2) document_.fail(place, "'tmem' takes [lane, column]");
    ExpectedCell cell;
    cell.where = document_.at(node);
    cell.cta = cta(mapping);
    cell.lane = static_cast<std::uint32_t>(reader_.integer(place.items[0], "the lane of 'tmem'", 0, tcgen05::lanes - 1));
    cell.column = static_cast<std::uint32_t>(reader_.integer(place.items[1], "the column of 'tmem'", 0, tcgen05::columns - 1));
    cell.bits = bits(mapping);
    return cell;
  }

  ExpectedRegister reg(const Node& node) {
    const Mapping mapping(document_, node, "an entry of 'regs'");
    mapping.only({"cta", "buffer", "thread", "reg", "bits"});
    ExpectedRegister reg;
    reg.where = document_.at(node);
    reg.cta = cta(mapping);
    const Node& name = mapping.need("buffer");
    reg.buffer = reader_.buffer(name, "'buffer' of an entry of 'regs'");
    const Buffer& buffer = kernel_.buffers[reg.buffer];
    if (buffer.space != Space::local)
      document_.fail(name,
                     fmt::format("{} is a {} buffer; registers are local buffers", describe(name), keyword(buffer.space)));
    reg.thread = static_cast<std::uint32_t>(
        reader_.integer(mapping.need("thread"), "'thread'", 0, std::int64_t{kernel_.launch.warps} * 32 - 1));
    reg.reg =
        static_cast<std::uint16_t>(reader_.integer(mapping.need("reg"), "'reg'", 0, std::int64_t{register_count(buffer)} - 1));
    reg.bits = bits(mapping);
    return reg;
  }

  const Reader& reader_;
  const Document& document_;
  const Kernel& kernel_;
  std::set<std::string, std::less<>> places_;
};

}  // namespace

Expect read_expect(const Reader& reader, const Node& node, const Kernel& kernel) {
  return ExpectReader(reader, kernel).read(node);
}

}  // namespace tmemsim::scenario
