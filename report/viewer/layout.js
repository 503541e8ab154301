// Which elements of a buffer live in which word: the buffer's map, turned around.

const ELEMENTS_AT_MOST = 1 << 20;

// Calls visit(element, point) for each image of each element; point has a coordinate for each axis that the map names.
function forEachImage(buffer, visit) {
  const count = buffer.shape.reduce((product, extent) => product * extent, 1);
  const map = buffer.map;
  if (!map || count > ELEMENTS_AT_MOST) return;
  const terms = map.terms || [], offsets = map.offset || [], replicas = map.replica || [];
  for (let element = 0; element < count; ++element) {
    const point = {};
    for (const {axis, value} of offsets) point[axis] = (point[axis] || 0) + value;
    for (const {axis, weight, extent, stride} of terms)
      point[axis] = (point[axis] || 0) + (Math.floor(element / weight) % extent) * stride;
    forEachReplica(replicas, 0, point, (image) => visit(element, swizzled(map.swizzle, image)));
  }
}

function forEachReplica(replicas, from, point, visit) {
  if (from === replicas.length) return visit(point);
  const {axis, extent, stride} = replicas[from];
  for (let copy = 0; copy < extent; ++copy)
    forEachReplica(replicas, from + 1, {...point, [axis]: (point[axis] || 0) + copy * stride}, visit);
}

function swizzled(swizzle, point) {
  if (!swizzle) return point;
  const keep = 2 ** swizzle.per_element, mask = (1 << swizzle.swizzle_len) - 1;
  const m = point.m || 0;
  let x = Math.floor(m / keep);
  if (swizzle.inner) x ^= (x >> swizzle.atom_len) & mask;
  else x ^= (x & mask) << swizzle.atom_len;
  return {...point, m: x * keep + (m % keep)};
}

function elementText(buffer, element) {
  const index = [];
  for (let d = buffer.shape.length - 1; d >= 0; --d) {
    index.unshift(element % buffer.shape[d]);
    element = Math.floor(element / buffer.shape[d]);
  }
  return buffer.name + "[" + index.join(",") + "]";
}

// Elements by word, each list in the order of the bits they stand at.
class ElementMap {
  constructor() {
    this.lists = new Map();
  }
  add(word, bit, element) {
    const list = this.lists.get(word);
    if (list) list.push({bit, element});
    else this.lists.set(word, [{bit, element}]);
  }
  at(word) {
    const list = this.lists.get(word);
    if (!list) return NOTHING;
    return list.sort((a, b) => a.bit - b.bit).map((entry) => entry.element);
  }
}

// Words of tensor memory from the buffer's first column on: column * 128 + lane.
function tmemElements(buffer) {
  const map = new ElementMap();
  forEachImage(buffer, (element, point) => {
    const bit = (point.TCol || 0) * buffer.bits;
    map.add(Math.floor(bit / 32) * 128 + (point.TLane || 0), bit % 32, element);
  });
  return map;
}

// Words of memory from the buffer's first byte on.
function memoryElements(buffer) {
  const map = new ElementMap();
  forEachImage(buffer, (element, point) => {
    const bit = (point.m || 0) * buffer.bits;
    map.add(Math.floor(bit / 32), bit % 32, element);
  });
  return map;
}

// Thread axes say whose register it is; an axis that is not named leaves every value of it.
function laneInWarp(point, warp) {
  if (point.wgid !== undefined && point.wgid !== warp >> 2) return -1;
  if (point.warpid !== undefined && point.warpid !== warp) return -1;
  if (point.wid_in_wg !== undefined && point.wid_in_wg !== warp % 4) return -1;
  if (point.tid_in_wg !== undefined) return point.tid_in_wg >> 5 === warp % 4 ? point.tid_in_wg % 32 : -1;
  if (point.tx !== undefined) return point.tx >> 5 === warp ? point.tx % 32 : -1;
  return point.laneid !== undefined ? point.laneid : 0;
}

const THREAD_AXES = ["laneid", "warpid", "wid_in_wg", "tid_in_wg", "wgid", "tx"];

// Words of a warp's registers from the buffer's first row on: row * 32 + lane.
function registerElements(buffer, warp) {
  const map = new ElementMap();
  const owned = [...(buffer.map ? buffer.map.terms || [] : []), ...(buffer.map ? buffer.map.offset || [] : [])]
      .some((part) => THREAD_AXES.includes(part.axis));
  forEachImage(buffer, (element, point) => {
    const bit = (point.m || 0) * buffer.bits, row = Math.floor(bit / 32);
    if (owned) {
      const lane = laneInWarp(point, warp);
      if (lane >= 0) map.add(row * 32 + lane, bit % 32, element);
    } else {
      for (let lane = 0; lane < 32; ++lane) map.add(row * 32 + lane, bit % 32, element);
    }
  });
  return map;
}
