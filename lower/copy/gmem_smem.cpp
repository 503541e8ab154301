// copy / gmem_smem: shared or global memory <-> shared or global memory, through scratch registers. Every thread takes an equal
// share of the widest accesses; what does not divide is moved element by element, by as many threads as it takes.
#include "lower/copy/share.hpp"
#include "lower/variants.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tmemsim::lower {

Outcome plan_copy_gmem_smem(const Request& request) {
  const CopyRegions regions = regions_of(request);
  const auto dst = operand_of(request.kernel, regions.dst, request.threads);
  if (!dst) return Declined{"regions", dst.reason().text, {}};
  const auto src = operand_of(request.kernel, regions.src, request.threads);
  if (!src) return Declined{"regions", src.reason().text, {}};
  if (dst->shape() != src->shape()) {
    return Declined{"regions", fmt::format("the regions differ: {} is ({}), {} is ({})", dst->buffer->name, fmt::join(dst->shape(), ", "),
                                           src->buffer->name, fmt::join(src->shape(), ", ")), "regions of equal extents"};
  }
  return share_elements(request, *dst, &*src, 0);
}

}  // namespace tmemsim::lower
