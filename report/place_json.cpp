#include "report/place_json.hpp"

namespace tmemsim::report {

nlohmann::ordered_json place_json(const Place& place) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  const auto pair = [&](const char* key, const std::optional<std::pair<std::int64_t, std::int64_t>>& range) {
    if (range) json[key] = {range->first, range->second};
  };
  if (!place.space.empty()) json["space"] = place.space;
  if (place.sm) json["sm"] = *place.sm;
  if (place.cta) json["cta"] = *place.cta;
  pair("lanes", place.lanes);
  pair("columns", place.columns);
  pair("bytes", place.bytes);
  if (place.reg) json["register"] = *place.reg;
  if (!place.buffer.empty()) json["buffer"] = place.buffer;
  if (!place.index.empty()) json["index"] = place.index;
  return json;
}

}  // namespace tmemsim::report
