#include "lower/pieces.hpp"

#include <algorithm>

#include "ir/layout/tile_algebra.hpp"

namespace tmemsim::lower {
namespace {

constexpr std::size_t most_pieces = 256;

// A region with all bounds written down.
Region spelled_out(const Kernel& kernel, Region region) {
  if (region.box.empty()) {
    for (const std::int64_t extent : kernel.buffers[region.buffer].shape) region.box.push_back({Expr(0), Expr(extent)});
  }
  for (Range& range : region.box) {
    if (!range.hi) range.hi = range.lo + Expr(1);
  }
  return region;
}

struct Dimension {
  std::size_t position = 0;      // in the buffer
  Affine begin;
  std::int64_t extent = 1;
};

// Dimensions of more than one element; nothing when bounds are no constants apart.
std::optional<std::vector<Dimension>> dimensions_of(const Region& region) {
  std::vector<Dimension> result;
  for (std::size_t d = 0; d < region.box.size(); ++d) {
    const Affine begin = affine(region.box[d].lo);
    const Affine extent = difference(affine(*region.box[d].hi), begin);
    if (!extent.is_constant()) return std::nullopt;
    if (extent.constant != 1) result.push_back({d, begin, extent.constant});
  }
  return result;
}

// Multiples of the inner sizes of a dimension's iters that lie inside the range, of the outermost iters that have any: offsets
// from its begin.
std::vector<std::int64_t> cuts_of(const GroupedLayout& grouped, const Dimension& dimension) {
  const std::size_t first = grouped.separators[dimension.position], last = grouped.separators[dimension.position + 1];
  std::int64_t size = 1;
  for (std::size_t k = first; k < last; ++k) size *= grouped.layout.shard[k].extent;
  for (std::size_t k = first; k + 1 < last; ++k) {
    size /= grouped.layout.shard[k].extent;
    if (std::any_of(dimension.begin.terms.begin(), dimension.begin.terms.end(), [&](const Term& term) { return term.coefficient % size != 0; })) continue;
    std::vector<std::int64_t> cuts;
    const std::int64_t start = (dimension.begin.constant % size + size) % size;
    for (std::int64_t cut = size - start; cut < dimension.extent && cuts.size() < most_pieces; cut += size) cuts.push_back(cut);
    if (!cuts.empty()) return cuts;
  }
  return {};
}

Region part_of(Region region, std::size_t dimension, std::int64_t from, std::int64_t to) {
  Range& range = region.box[dimension];
  const Affine begin = affine(range.lo);
  Affine lo = begin, hi = begin;
  lo.constant += from;
  hi.constant += to;
  range = {to_expr(lo), to_expr(hi)};
  return region;
}

class Cutter {
 public:
  explicit Cutter(const Request& request) : request_(request) {}

  bool cut(const Region& dst, const Region& src) {
    if (++steps_ > 4 * most_pieces) return false;
    if (fits(dst, src)) {
      pieces_.push_back({dst, src});
      return pieces_.size() <= most_pieces;
    }
    const auto to = dimensions_of(dst), from = dimensions_of(src);
    if (!to || !from || to->size() != from->size()) return false;
    for (std::size_t d = 0; d < to->size(); ++d) {
      std::vector<std::int64_t> cuts = cuts_between(dst, (*to)[d], src, (*from)[d]);
      if (cuts.empty()) continue;
      cuts.push_back((*to)[d].extent);
      std::int64_t start = 0;
      for (const std::int64_t end : cuts) {
        if (!cut(part_of(dst, (*to)[d].position, start, end), part_of(src, (*from)[d].position, start, end))) return false;
        start = end;
      }
      return true;
    }
    return false;
  }

  std::vector<RegionPair> take() { return std::move(pieces_); }

 private:
  bool fits(const Region& dst, const Region& src) const {
    const auto a = operand_of(request_.kernel, dst, request_.threads), b = operand_of(request_.kernel, src, request_.threads);
    return a && b && a->shape() == b->shape() && digits_in_step(*a, *b);
  }

  std::vector<std::int64_t> cuts_between(const Region& dst, const Dimension& to, const Region& src, const Dimension& from) const {
    std::vector<std::int64_t> cuts;
    const auto add = [&](const Region& region, const Dimension& dimension) {
      const Buffer& buffer = request_.kernel.buffers[region.buffer];
      const auto grouped = group(canonical(layout_of(buffer)), buffer.shape);
      if (!grouped) return;
      const std::vector<std::int64_t> more = cuts_of(*grouped, dimension);
      cuts.insert(cuts.end(), more.begin(), more.end());
    };
    add(dst, to);
    add(src, from);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    return cuts;
  }

  const Request& request_;
  std::vector<RegionPair> pieces_;
  std::size_t steps_ = 0;
};

}  // namespace

std::optional<std::vector<RegionPair>> pieces_of(const Request& request, const Region& dst, const Region& src) {
  Cutter cutter(request);
  if (!cutter.cut(spelled_out(request.kernel, dst), spelled_out(request.kernel, src))) return std::nullopt;
  return cutter.take();
}

Outcome plan_by_pieces(const Request& request, const Region& dst, const Region& src,
                       const std::function<Outcome(const Region& dst, const Region& src)>& plan) {
  Outcome whole = plan(dst, src);
  const auto* declined = std::get_if<Declined>(&whole);
  if (declined == nullptr || declined->predicate != "regions") return whole;
  const auto pieces = pieces_of(request, dst, src);
  if (!pieces || pieces->size() < 2) return whole;
  Plan joined;
  for (const RegionPair& piece : *pieces) {
    Outcome part = plan(piece.dst, piece.src);
    if (std::holds_alternative<Declined>(part)) return part;
    Plan& done = std::get<Plan>(part);
    std::move(done.body.begin(), done.body.end(), std::back_inserter(joined.body));
    std::move(done.proof.begin(), done.proof.end(), std::back_inserter(joined.proof));
    joined.needs_scratch = joined.needs_scratch || done.needs_scratch;
  }
  return joined;
}

}  // namespace tmemsim::lower
