// Speed of the layout library. Wanted, in an optimised build: evaluation of a canonical layout below 20 ns an element, the
// canonical form of an 8-iter layout below 2 us, equality of two 128x512 layouts below 10 us.
#include <benchmark/benchmark.h>

#include <string>

#include "ir/layout/digit_map.hpp"
#include "ir/layout/factories.hpp"
#include "ir/layout/nested.hpp"
#include "ir/layout/tile_algebra.hpp"

namespace {

using namespace tmemsim;

TileLayout layout_of(const std::string& notation) { return *parse_layout(notation); }

const std::string fragment = "tcgen05_atom_layout(16x256b, (128, 256), f32)";
const std::string accumulator = "S[(4,16,512):(32@TLane,1@TLane,1@TCol)]";
const std::string shared_tile = "mma_shared_layout(f16, 3, (128, 512))";
const std::string odd_extents = "S[(7,5,12,9):(540@TCol,1@TLane,45,5)]";

// Element by element over the whole layout; one iteration is one element.
void evaluate_elements(benchmark::State& state, const std::string& notation) {
  const TileLayout layout = canonical(layout_of(notation));
  const std::int64_t count = size(layout);
  std::int64_t x = 0;
  for (auto step : state) {
    Point point = evaluate(layout, x);
    benchmark::DoNotOptimize(point);
    x = x + 1 == count ? 0 : x + 1;
  }
}
BENCHMARK_CAPTURE(evaluate_elements, fragment_of_tcgen05_ld, fragment);
BENCHMARK_CAPTURE(evaluate_elements, accumulator_of_mma, accumulator);
BENCHMARK_CAPTURE(evaluate_elements, swizzled_shared_tile, shared_tile);
BENCHMARK_CAPTURE(evaluate_elements, odd_extents, odd_extents);

void canonical_form_of_8_iters(benchmark::State& state) {
  const TileLayout layout = layout_of("S[(4,2,8,4,2,1,8,2):(1@wid_in_wg,16,4@laneid,4,2,7,1@laneid,1)]");
  for (auto step : state) benchmark::DoNotOptimize(canonical(layout));
}
BENCHMARK(canonical_form_of_8_iters);

// The same 128x512 map written in two ways, and the two datapaths of one tile, which differ.
void equality_of_128x512(benchmark::State& state, const std::string& a, const std::string& b) {
  const TileLayout left = layout_of(a), right = layout_of(b);
  for (auto step : state) benchmark::DoNotOptimize(same_map(left, right));
}
BENCHMARK_CAPTURE(equality_of_128x512, same, "S[(128,512):(1@TLane,1@TCol)]",
                  "S[(4,2,16,8,64):(32@TLane,16@TLane,1@TLane,64@TCol,1@TCol)]");
BENCHMARK_CAPTURE(equality_of_128x512, different, "S[(128,512):(1@TLane,1@TCol)]",
                  "S[(2,4,16,512):(16@TLane,32@TLane,1@TLane,1@TCol)]");
BENCHMARK_CAPTURE(equality_of_128x512, swizzled, "mma_shared_layout(f16, 3, (128, 512))",
                  "Swizzle(3,3,3) o S[(16,8,8,64):(512,64,8192,1)]");

void parse_notation(benchmark::State& state) {
  for (auto step : state)
    benchmark::DoNotOptimize(parse_layout("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid] + 5@warpid"));
}
BENCHMARK(parse_notation);

void slice_a_fragment(benchmark::State& state) {
  const TileLayout layout = layout_of(fragment);
  const std::int64_t shape[] = {128, 256}, begin[] = {32, 64}, extent[] = {64, 32};
  for (auto step : state) benchmark::DoNotOptimize(slice(layout, shape, begin, extent));
}
BENCHMARK(slice_a_fragment);

void compose_nested(benchmark::State& state) {
  const NestedLayout a = *parse_nested("(14,6,9):(19,69,1)"), b = *parse_nested("(2,3,6):(7,14,1)");
  for (auto step : state) benchmark::DoNotOptimize(logical_divide(a, b));
}
BENCHMARK(compose_nested);

}  // namespace

BENCHMARK_MAIN();
