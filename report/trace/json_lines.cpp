#include "report/trace/json_lines.hpp"

#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ir/kernel/operand_text.hpp"
#include "ir/tcgen05.hpp"
#include "report/place_json.hpp"
#include "report/trace/initial.hpp"
#include "sim/placement.hpp"

namespace tmemsim::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }
std::string json_text(std::string_view text) { return dumped(Json(std::string(text))); }

// ---- the header ----

Json map_of(const TileLayout& layout) {
  Json terms = Json::array(), offset = Json::array(), replica = Json::array();
  std::int64_t weight = size(layout);
  for (const Iter& iter : layout.shard) {
    weight /= iter.extent;
    terms.push_back({{"axis", name(iter.axis)}, {"weight", weight}, {"extent", iter.extent}, {"stride", iter.stride}});
  }
  for (const AxisOffset& one : layout.offset) offset.push_back({{"axis", name(one.axis)}, {"value", one.value}});
  for (const Iter& iter : layout.replica)
    replica.push_back({{"axis", name(iter.axis)}, {"extent", iter.extent}, {"stride", iter.stride}});
  Json map{{"terms", std::move(terms)}};
  if (!offset.empty()) map["offset"] = std::move(offset);
  if (!replica.empty()) map["replica"] = std::move(replica);
  if (layout.swizzle) {
    const Swizzle& swizzle = *layout.swizzle;
    map["swizzle"] = {{"per_element", swizzle.per_element},
                      {"swizzle_len", swizzle.swizzle_len},
                      {"atom_len", swizzle.atom_len},
                      {"inner", swizzle.inner}};
  }
  return map;
}

Json buffer_record(const Program& program, std::size_t id) {
  const Kernel& kernel = *program.kernel;
  const Buffer& buffer = kernel.buffers[id];
  const TileLayout layout = layout_of(buffer);
  Json json{{"id", id},
            {"name", buffer.name},
            {"space", keyword(buffer.space)},
            {"dtype", name(buffer.dtype)},
            {"bits", bits(buffer.dtype)},
            {"shape", buffer.shape}};
  if (buffer.layout) json["layout"] = to_string(*buffer.layout);
  json["map"] = map_of(layout);
  switch (buffer.space) {
    case Space::global:
      json["bytes"] = byte_size(buffer);
      break;
    case Space::shared:
      json["offset"] = buffer.offset.value_or(0);
      json["bytes"] = byte_size(buffer);
      break;
    case Space::local:
      json["first_row"] = program.first_row[id];
      json["rows"] = register_count(buffer);
      break;
    case Space::tmem:
      if (buffer.slot) json["slot"] = kernel.buffers[*buffer.slot].name;
      if (buffer.base) json["base"] = *buffer.base;
      json["column"] = buffer.column;
      json["columns"] = tmem_columns(buffer);
      break;
  }
  return json;
}

std::string_view kind_of(const Stmt& stmt) {
  if (std::holds_alternative<MachineOps::Any>(stmt.node)) return "op";
  if (std::holds_alternative<For>(stmt.node)) return "for";
  if (std::holds_alternative<While>(stmt.node)) return "while";
  if (std::holds_alternative<If>(stmt.node)) return "if";
  if (std::holds_alternative<Delay>(stmt.node)) return "delay";
  return "tile";
}

std::string_view async_of(const Stmt& stmt) {
  constexpr std::array<std::string_view, 7> names{"", "ld", "st", "mma", "cp", "shift", "bulk"};
  const auto* op = std::get_if<MachineOps::Any>(&stmt.node);
  if (!op) return "";
  return std::visit(
      [&](const auto& one) -> std::string_view {
        using Op = std::remove_cvref_t<decltype(one)>;
        if constexpr (std::is_same_v<Op, TcgenCommit>) return "commit";
        return names[static_cast<std::size_t>(Op::row.async)];
      },
      *op);
}

Json statement_record(const Kernel& kernel, const Statements& statements, std::size_t id) {
  const Statements::Entry& entry = statements.all()[id];
  const Stmt& stmt = *entry.stmt;
  Json json{{"id", id},
            {"parent", entry.parent ? Json(*entry.parent) : Json(nullptr)},
            {"depth", entry.depth},
            {"kind", kind_of(stmt)}};
  if (entry.parent && std::holds_alternative<If>(statements.all()[*entry.parent].stmt->node))
    json["branch"] = entry.otherwise ? "else" : "then";
  json["op"] = op_name(stmt);
  json["text"] = statement_text(kernel, stmt);
  if (!(stmt.where == Where{})) json["where"] = to_text(stmt.where);
  if (!stmt.label.empty()) json["label"] = stmt.label;
  if (!stmt.path.empty()) json["path"] = stmt.path;
  if (stmt.at.line > 0) {
    json["file"] = stmt.at.file;
    json["line"] = stmt.at.line;
    json["col"] = stmt.at.col;
  }
  if (const std::string_view async = async_of(stmt); !async.empty()) json["async"] = async;
  return json;
}

Json header_record(const Program& program, const Statements& statements, const TraceHeader& header) {
  const Kernel& kernel = *program.kernel;
  const Launch& launch = kernel.launch;
  Json files = Json::array(), ctas = Json::array(), buffers = Json::array(), list = Json::array();
  for (const SourceFile& file : kernel.files) files.push_back({{"name", file.name}, {"text", file.text}});
  const std::vector<sim::CtaPlace> places = sim::place_ctas(launch);
  for (std::size_t i = 0; i < places.size(); ++i)
    ctas.push_back({{"cta", i}, {"cluster", places[i].cluster}, {"rank", places[i].rank}, {"sm", places[i].sm}});
  for (std::size_t i = 0; i < kernel.buffers.size(); ++i) buffers.push_back(buffer_record(program, i));
  for (std::size_t i = 0; i < statements.all().size(); ++i) list.push_back(statement_record(kernel, statements, i));
  Json json{{"record", "header"}, {"tmemsim_trace", trace_version}, {"scenario", kernel.name}, {"instance", header.instance}};
  if (!kernel.doc.empty()) json["doc"] = kernel.doc;
  json.update(Json::object({{"files", std::move(files)},
                            {"target", name(kernel.target)},
                            {"profile", header.profile},
                            {"policy", header.policy},
                            {"scheduler", header.scheduler},
                            {"seed", header.seed},
                            {"max_steps", header.max_steps},
                            {"values", header.values},
                            {"launch",
                             {{"warps", launch.warps},
                              {"cluster", launch.cluster},
                              {"grid", launch.grid},
                              {"ctas_per_sm", launch.ctas_per_sm},
                              {"held_columns", launch.held_columns}}},
                            {"ctas", std::move(ctas)},
                            {"sms", sim::sm_count(launch)},
                            {"tmem", {{"lanes", tcgen05::lanes}, {"columns", tcgen05::columns}}},
                            {"register_rows", program.rows_per_warp},
                            {"shared_bytes", sim::shared_window(kernel)},
                            {"buffers", std::move(buffers)},
                            {"statements", std::move(list)}}));
  return json;
}

std::string initial_hex(const Kernel& kernel, const Buffer& buffer) {
  std::string hex;
  for (std::uint8_t byte : initial_bytes(kernel, buffer)) fmt::format_to(std::back_inserter(hex), "{:02x}", byte);
  return hex;
}

// ---- events ----

std::string_view name_of(sim::Event::Kind kind) {
  constexpr std::array<std::string_view, 6> names{"execute", "complete", "block", "wake", "control", "exit"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(sim::Seen::By by) {
  constexpr std::array<std::string_view, 3> names{"completion", "arrive", "dealloc"};
  return names[static_cast<std::size_t>(by)];
}

void add_extent(std::string& line, const sim::Extent& extent) {
  using Space = sim::Extent::Space;
  auto out = std::back_inserter(line);
  switch (extent.space) {
    case Space::tmem:
      fmt::format_to(out, R"({{"space":"tmem","sm":{},"lanes":[{},{}],"columns":[{},{}])", extent.place, extent.lane_first,
                     extent.lane_last, extent.first, extent.last);
      if (extent.low_half) line += R"(,"half":"low")";
      break;
    case Space::registers:
      fmt::format_to(out, R"({{"space":"reg","cta":{},"warp":{},"lanes":[{},{}],"rows":[{},{}])", extent.place, extent.warp,
                     extent.lane_first, extent.lane_last, extent.first, extent.last);
      break;
    case Space::shared:
    case Space::global:
      if (extent.space == Space::shared)
        fmt::format_to(out, R"({{"space":"shared","cta":{},"bytes":[{},{}])", extent.place, extent.first, extent.last);
      else
        fmt::format_to(out, R"({{"space":"global","buffer":{},"bytes":[{},{}])", extent.place, extent.first, extent.last);
      if (extent.by_thread)
        fmt::format_to(out, R"(,"lanes":[{},{}],"stride":{})", extent.lane_first, extent.lane_last, extent.stride);
      break;
  }
  if (!extent.values.empty()) {
    line += R"(,"values":")";
    const bool words = extent.space == Space::tmem || extent.space == Space::registers;
    const int digits = words ? 8 : 2;
    for (std::uint32_t value : extent.values) fmt::format_to(out, "{:0{}x}", value, digits);
    line += '"';
  }
  line += '}';
}

void add_extents(std::string& line, std::string_view key, const std::vector<sim::Extent>& extents) {
  if (extents.empty()) return;
  fmt::format_to(std::back_inserter(line), R"(,"{}":[)", key);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (i > 0) line += ',';
    add_extent(line, extents[i]);
  }
  line += ']';
}

void add_numbers(std::string& line, std::string_view key, const std::vector<std::uint64_t>& numbers) {
  constexpr std::size_t most = 64;
  if (numbers.empty()) return;
  fmt::format_to(
      std::back_inserter(line), R"(,"{}":[{}])", key,
      fmt::join(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(std::min(numbers.size(), most)), ","));
}

void add_barrier(std::string& line, const Kernel& kernel, const sim::BarrierState& barrier) {
  using Kind = sim::BarrierState::Kind;
  auto out = std::back_inserter(line);
  const std::string name = json_text(barrier_name(kernel, barrier.kind, barrier.id));
  switch (barrier.kind) {
    case Kind::mbarrier:
      fmt::format_to(
          out, R"({{"kind":"mbarrier","cta":{},"id":{},"name":{},"valid":{},"phase":{},"expected":{},"pending":{},"tx":{}}})",
          barrier.owner, barrier.id, name, barrier.valid, barrier.phase, barrier.expected, barrier.pending, barrier.tx);
      break;
    case Kind::named:
      fmt::format_to(out, R"({{"kind":"named","cta":{},"id":{},"name":{},"uses":{},"expected":{},"arrived":{}}})",
                     barrier.owner, barrier.id, name, barrier.phase, barrier.expected, barrier.expected - barrier.pending);
      break;
    case Kind::cluster:
      fmt::format_to(out, R"({{"kind":"cluster","cluster":{},"id":0,"name":{},"uses":{},"expected":{},"arrived":{}}})",
                     barrier.owner, name, barrier.phase, barrier.expected, barrier.expected - barrier.pending);
      break;
  }
}

template <class List, class Add>
void add_list(std::string& line, std::string_view key, const List& list, Add&& add) {
  if (list.empty()) return;
  fmt::format_to(std::back_inserter(line), R"(,"{}":[)", key);
  bool first = true;
  for (const auto& one : list) {
    if (!first) line += ',';
    first = false;
    add(one);
  }
  line += ']';
}

void add_loop(std::string& line, const std::map<std::string, std::int64_t>& loop) {
  if (loop.empty()) return;
  line += R"(,"loop":{)";
  bool first = true;
  for (const auto& [variable, value] : loop) {
    fmt::format_to(std::back_inserter(line), "{}{}:{}", first ? "" : ",", json_text(variable), value);
    first = false;
  }
  line += '}';
}

// ---- findings ----

Json side_record(const Statements& statements, const Ref& ref, const PlacedFinding::Side& side) {
  Json loop = Json::object();
  for (const auto& [variable, value] : ref.loop) loop[variable] = value;
  Json json = Json::object();
  if (side.stmt) json["stmt"] = statements.id(side.stmt);
  json.update(Json::object({{"cta", ref.cta}, {"warp", ref.warp}, {"lanes", ref.lanes}}));
  if (!loop.empty()) json["loop"] = std::move(loop);
  json["op"] = ref.op;
  if (!ref.label.empty()) json["label"] = ref.label;
  if (!ref.path.empty()) json["path"] = ref.path;
  if (ref.at.line > 0) json["line"] = ref.at.line;
  if (side.event) json["event"] = *side.event;
  return json;
}

}  // namespace

JsonLines::JsonLines(const Program& program, const TraceHeader& header, Write write)
    : program_(program), statements_(*program.kernel), values_(header.values), write_(std::move(write)) {
  write_(dumped(header_record(program_, statements_, header)) + "\n");
  if (!values_) return;
  const Kernel& kernel = *program_.kernel;
  for (std::size_t id = 0; id < kernel.buffers.size(); ++id) {
    const Buffer& buffer = kernel.buffers[id];
    if (buffer.space != Space::global && buffer.space != Space::shared) continue;
    const std::string hex = initial_hex(kernel, buffer);
    if (hex.empty()) continue;
    const std::int64_t first = buffer.space == Space::shared ? buffer.offset.value_or(0) : 0;
    const std::string where =
        buffer.space == Space::shared ? R"("space":"shared")" : fmt::format(R"("space":"global","buffer":{})", id);
    write_(fmt::format("{{\"record\":\"memory\",{},\"bytes\":[{},{}],\"values\":\"{}\"}}\n", where, first,
                       first + byte_size(buffer) - 1, hex));
  }
}

void JsonLines::event(const sim::Event& event) {
  using Kind = sim::Event::Kind;
  line_.clear();
  auto out = std::back_inserter(line_);
  const Ref& ref = event.ref;
  fmt::format_to(out, R"({{"record":"event","seq":{},"step":{},"kind":"{}","cta":{},"warp":{},"lanes":{})", event.seq,
                 event.step, name_of(event.kind), ref.cta, ref.warp, ref.lanes);
  if (event.stmt) fmt::format_to(out, R"(,"stmt":{})", statements_.id(event.stmt));
  add_loop(line_, ref.loop);
  if (!event.async.empty()) fmt::format_to(out, R"(,"async":"{}")", event.async);
  if (event.of) fmt::format_to(out, R"(,"of":{})", *event.of);
  if (event.kind == Kind::wake) fmt::format_to(out, R"(,"finished":{})", event.finished);
  add_extents(line_, "reads", event.reads);
  add_extents(line_, "writes", event.writes);
  add_numbers(line_, "in_flight_before", event.in_flight_before);
  add_numbers(line_, "in_flight_after", event.in_flight_after);
  add_list(line_, "sees", event.sees,
           [&](const sim::Seen& seen) { fmt::format_to(out, R"({{"event":{},"by":"{}"}})", seen.event, name_of(seen.by)); });
  add_list(line_, "barriers", event.barriers,
           [&](const sim::BarrierState& barrier) { add_barrier(line_, *program_.kernel, barrier); });
  add_list(line_, "allocations", event.allocations, [&](const sim::AllocationChange& change) {
    fmt::format_to(out, R"({{"sm":{},"cta":{},"base":{},"columns":{},"live":{}}})", change.sm, change.cta, change.base,
                   change.columns, change.live);
  });
  if (!event.text.empty()) line_ += R"(,"text":)" + json_text(event.text);
  line_ += "}\n";
  write_(line_);
}

void JsonLines::finding(const PlacedFinding& placed) {
  const Finding& finding = *placed.finding;
  Json json{{"record", "finding"}, {"id", placed.id}};
  if (placed.event) json["event"] = *placed.event;
  json.update(Json::object({{"verdict", id(finding.verdict)},
                            {"severity", name(finding.severity)},
                            {"message", finding.message},
                            {"rule", finding.rule},
                            {"section", finding.section},
                            {"fix", finding.fix}}));
  if (finding.profile_switch)
    json["profile_switch"] = {{"name", finding.profile_switch->first}, {"value", finding.profile_switch->second}};
  json["count"] = finding.count;
  json["at"] = side_record(statements_, finding.at, placed.at);
  if (finding.other) json["other"] = side_record(statements_, *finding.other, placed.other);
  if (Json where = place_json(finding.where); !where.empty()) json["where"] = std::move(where);
  write_(dumped(json) + "\n");
}

void JsonLines::end(const TraceEnd& end) {
  Json json{{"record", "end"},         {"events", end.events},     {"steps", end.steps},
            {"ended", name(end.how)},  {"findings", end.findings}, {"schedules", end.all_schedules ? "all" : "this one"},
            {"left_out", end.left_out}};
  if (!end.reason.empty()) json["reason"] = end.reason;
  write_(dumped(json) + "\n");
}

}  // namespace tmemsim::report
