// copy / gmem_smem: shared or global memory <-> shared or global memory, through scratch registers. Every thread takes an equal
// share of the widest accesses; what does not divide is moved element by element, by as many threads as it takes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lower/copy/share.hpp"
#include "lower/pieces.hpp"
#include "lower/variants.hpp"

namespace tmemsim::lower {
namespace {

Outcome plan_regions(const Request& request, const Region& to, const Region& from) {
  const auto dst = operand_of(request.kernel, to, request.threads);
  if (!dst) return Declined{"regions", dst.reason().text, {}};
  const auto src = operand_of(request.kernel, from, request.threads);
  if (!src) return Declined{"regions", src.reason().text, {}};
  if (dst->shape() != src->shape()) {
    return Declined{"regions", fmt::format("the regions differ: {} is ({}), {} is ({})", dst->buffer->name, fmt::join(dst->shape(), ", "),
                                           src->buffer->name, fmt::join(src->shape(), ", ")), "regions of equal extents"};
  }
  return share_elements(request, *dst, &*src, 0);
}

}  // namespace

Outcome plan_copy_gmem_smem(const Request& request) {
  const CopyRegions regions = regions_of(request);
  return plan_by_pieces(request, regions.dst, regions.src, [&](const Region& dst, const Region& src) { return plan_regions(request, dst, src); });
}

}  // namespace tmemsim::lower
