// Replays events into states: what each word holds, who wrote it, what is under way.
//
// Storage is kept in pages of 4096 words. A keyframe is a list of references to pages; a page that a keyframe refers to is
// copied before it changes. So a keyframe costs what has changed since the last one, and going back costs a short replay.

const PAGE_WORDS = 4096;
const TMEM_LANES = 128, TMEM_COLUMNS = 512;
const NO_WRITER = -1;
const NO_COLUMNS = new Int32Array(TMEM_COLUMNS).fill(-1);

class Page {
  constructor() {
    this.value = new Uint32Array(PAGE_WORDS);
    this.writer = new Int32Array(PAGE_WORDS).fill(NO_WRITER);  // seq of the event
    this.written = new Uint8Array(PAGE_WORDS);                 // one bit a byte of the word
    this.reading = new Uint16Array(PAGE_WORDS);                // asynchronous operations under way
    this.writing = new Uint16Array(PAGE_WORDS);
    this.kept = false;                                         // a keyframe refers to it
  }
  copy() {
    const page = Object.create(Page.prototype);
    page.value = this.value.slice();
    page.writer = this.writer.slice();
    page.written = this.written.slice();
    page.reading = this.reading.slice();
    page.writing = this.writing.slice();
    page.kept = false;
    return page;
  }
}

const EMPTY_PAGE = new Page();

const spaceKey = {
  tmem: (sm) => "tmem " + sm,
  reg: (cta, warp) => "reg " + cta + " " + warp,
  shared: (cta) => "shared " + cta,
  global: (buffer) => "global " + buffer,
};

function spaceOfExtent(extent) {
  switch (extent.space) {
    case "tmem": return spaceKey.tmem(extent.sm || 0);
    case "reg": return spaceKey.reg(extent.cta || 0, extent.warp || 0);
    case "shared": return spaceKey.shared(extent.cta || 0);
    case "global": return spaceKey.global(extent.buffer || 0);
    default: return null;
  }
}

// Calls visit(first, count, at) for the runs of words (bytes of shared and global memory) that an extent covers; `at` counts
// the words (bytes) before the run, which is where the run's values stand in extent.values.
function forEachRun(extent, visit) {
  if (extent.space === "tmem") {
    const [lane, lastLane] = extent.lanes, count = lastLane - lane + 1;
    let at = 0;
    for (let column = extent.columns[0]; column <= extent.columns[1]; ++column, at += count)
      visit(column * TMEM_LANES + lane, count, at);
  } else if (extent.space === "reg") {
    const [lane, lastLane] = extent.lanes, count = lastLane - lane + 1;
    let at = 0;
    for (let row = extent.rows[0]; row <= extent.rows[1]; ++row, at += count) visit(row * 32 + lane, count, at);
  } else if (extent.bytes) {
    const [first, last] = extent.bytes, count = last - first + 1;
    const threads = extent.stride !== undefined && extent.lanes ? extent.lanes[1] - extent.lanes[0] + 1 : 1;
    if (threads > 1 && extent.stride === count) return visit(first, count * threads, 0);
    for (let thread = 0; thread < threads; ++thread) visit(first + thread * (extent.stride || 0), count, thread * count);
  }
}

const hasBytes = (extent) => extent.space === "shared" || extent.space === "global";

function wordsOf(extent) {
  let words = 0;
  forEachRun(extent, (first, count) => { words += hasBytes(extent) ? count / 4 : count; });
  return words;
}

function touchesWord(extent, key, word) {
  if (spaceOfExtent(extent) !== key) return false;
  switch (extent.space) {
    case "tmem": {
      const lane = word % TMEM_LANES, column = Math.floor(word / TMEM_LANES);
      return lane >= extent.lanes[0] && lane <= extent.lanes[1] && column >= extent.columns[0] && column <= extent.columns[1];
    }
    case "reg": {
      const lane = word % 32, row = word >>> 5;
      return lane >= extent.lanes[0] && lane <= extent.lanes[1] && row >= extent.rows[0] && row <= extent.rows[1];
    }
    default: {
      let hit = false;
      forEachRun(extent, (first, count) => { hit ||= first <= word * 4 + 3 && first + count > word * 4; });
      return hit;
    }
  }
}

// One moment of a run.
class State {
  constructor(trace) {
    this.trace = trace;
    this.position = 0;              // events applied
    this.spaces = new Map();        // key -> pages
    this.columns = new Map();       // SM -> Int32Array: seq of the event that allocated the column, or -1
    this.barriers = new Map();      // key -> {state, seq}
    this.warps = new Array(trace.warpCount).fill(null);  // {stmt, seq, kind} of the last event
    for (const memory of trace.memory) this.applyInitial(memory);
  }

  page(key, number) {
    const pages = this.spaces.get(key);
    return (pages && pages[number]) || EMPTY_PAGE;
  }
  pageToWrite(key, number) {
    let pages = this.spaces.get(key);
    if (!pages) this.spaces.set(key, pages = []);
    let page = pages[number];
    if (!page) page = pages[number] = new Page();
    else if (page.kept) page = pages[number] = page.copy();
    return page;
  }
  word(key, index) {
    const page = this.page(key, Math.floor(index / PAGE_WORDS)), at = index % PAGE_WORDS;
    return {value: page.value[at], writer: page.writer[at], written: page.written[at], reading: page.reading[at], writing: page.writing[at]};
  }
  columnsOf(sm) {
    return this.columns.get(sm) || NO_COLUMNS;
  }

  applyInitial(memory) {
    const extent = {bytes: memory.bytes, space: memory.space, buffer: memory.buffer};
    if (memory.space === "global") return this.writeBytes(spaceKey.global(memory.buffer || 0), extent, memory.values, NO_WRITER);
    for (const {cta} of this.trace.header.ctas) this.writeBytes(spaceKey.shared(cta || 0), extent, memory.values, NO_WRITER);
  }

  // The state after one more event.
  apply(event) {
    if (event.kind !== "complete") this.warps[warpNumber(this.trace, event)] = event;  // who completes stands further on
    if (event.kind === "execute" && event.async) this.count(event, 1);
    else if (event.kind === "complete") this.complete(event);
    else for (const extent of event.writes) this.write(extent, event.seq);
    if (event.allocations) for (const allocation of event.allocations) this.allocate(allocation, event.seq);
    if (event.barriers) for (const barrier of event.barriers) this.barriers.set(barrierKey(barrier), {barrier, seq: event.seq});
    this.position = event.seq + 1;
  }

  complete(event) {
    const issue = this.trace.events[event.of];
    if (issue) this.count(issue, -1);
    for (const extent of event.writes) this.write(extent, event.seq);
  }

  // Marks what an asynchronous operation reads and writes as under way, or no longer. Registers, and the words of memory that
  // threads read for it (its address), are read at its issue.
  count(issue, by) {
    for (const extent of issue.reads) {
      const atOnce = extent.space === "reg" || (hasBytes(extent) && extent.stride !== undefined);
      if (!atOnce) this.countWords(extent, "reading", by);
    }
    for (const extent of issue.writes) this.countWords(extent, "writing", by);
  }
  countWords(extent, counter, by) {
    const key = spaceOfExtent(extent);
    if (!key) return;
    forEachRun(extent, (first, count) => {
      const end = hasBytes(extent) ? (first + count + 3) >>> 2 : first + count;
      for (let word = hasBytes(extent) ? first >>> 2 : first; word < end;) {
        const counts = this.pageToWrite(key, Math.floor(word / PAGE_WORDS))[counter];
        const base = word - (word % PAGE_WORDS), stop = Math.min(end, base + PAGE_WORDS);
        for (; word < stop; ++word) counts[word - base] += by;
      }
    });
  }

  write(extent, seq) {
    const key = spaceOfExtent(extent);
    if (!key) return;
    if (hasBytes(extent)) this.writeBytes(key, extent, extent.values, seq);
    else this.writeWords(key, extent, seq);
  }
  writeWords(key, extent, seq) {
    const mask = extent.half === "low" ? 3 : extent.half === "high" ? 12 : 15, values = extent.values;
    forEachRun(extent, (first, count, at) => {
      for (let word = first, end = first + count; word < end;) {
        const page = this.pageToWrite(key, Math.floor(word / PAGE_WORDS));
        const base = word - (word % PAGE_WORDS), stop = Math.min(end, base + PAGE_WORDS);
        page.writer.fill(seq, word - base, stop - base);
        for (; word < stop; ++word) {
          page.written[word - base] |= mask;
          if (values) page.value[word - base] = hexWord(values, 8 * (at + word - first));
        }
      }
    });
  }
  writeBytes(key, extent, values, seq) {
    forEachRun(extent, (first, count, at) => {
      for (let byte = first; byte < first + count; ++byte) {
        const word = byte >>> 2, page = this.pageToWrite(key, Math.floor(word / PAGE_WORDS)), slot = word % PAGE_WORDS;
        const shift = (byte & 3) * 8;
        page.writer[slot] = seq;
        page.written[slot] |= 1 << (byte & 3);
        if (values) page.value[slot] = (page.value[slot] & ~(0xff << shift)) | (hexByte(values, 2 * (at + byte - first)) << shift);
      }
    });
  }

  // Fresh columns hold nothing that anybody wrote.
  allocate({sm = 0, base = 0, columns, live}, seq) {
    this.columns.set(sm, this.columnsOf(sm).slice().fill(live ? seq : -1, base, base + columns));
    if (!live) return;
    for (let word = base * TMEM_LANES, end = (base + columns) * TMEM_LANES; word < end;) {
      const page = this.pageToWrite(spaceKey.tmem(sm), Math.floor(word / PAGE_WORDS));
      const first = word % PAGE_WORDS, stop = Math.min(PAGE_WORDS, first + end - word);
      page.writer.fill(NO_WRITER, first, stop);
      page.written.fill(0, first, stop);
      page.value.fill(0, first, stop);
      word += stop - first;
    }
  }

  // A picture of this state that later changes leave alone. Maps of columns and barriers are replaced, never changed.
  keep() {
    const spaces = new Map();
    for (const [key, pages] of this.spaces) {
      for (const page of pages) if (page) page.kept = true;
      spaces.set(key, pages.slice());
    }
    return {position: this.position, spaces, columns: new Map(this.columns), barriers: new Map(this.barriers), warps: this.warps.slice()};
  }
  restore(kept) {
    this.position = kept.position;
    this.spaces = new Map([...kept.spaces].map(([key, pages]) => [key, pages.slice()]));
    this.columns = new Map(kept.columns);
    this.barriers = new Map(kept.barriers);
    this.warps = kept.warps.slice();
  }
}

function barrierKey(barrier) {
  const owner = barrier.kind === "cluster" ? barrier.cluster : barrier.cta;
  return barrier.kind + " " + (owner || 0) + " " + (barrier.id || 0);
}

// Goes to any moment of a run in a bounded time.
class Replay {
  constructor(trace) {
    this.trace = trace;
    this.state = new State(trace);
    this.keyframes = [this.state.keep()];     // by position, ascending
    this.cost = trace.events.map(costOf);
    this.budget = 60000;                      // words between keyframes
    this.since = 0;
    this.reached = 0;                         // keyframes are complete up to here
  }
  get length() {
    return this.trace.events.length;
  }

  goTo(position) {
    position = Math.max(0, Math.min(this.length, position));
    const keyframe = this.keyframeBefore(position);
    if (position < this.state.position || keyframe.position > this.state.position) {
      this.state.restore(keyframe);
      this.since = 0;
    }
    while (this.state.position < position) this.step();
    return this.state;
  }

  step() {
    const {position} = this.state;
    this.state.apply(this.trace.events[position]);
    this.since += this.cost[position];
    if (position + 1 <= this.reached) return;
    this.reached = position + 1;
    if (this.since >= this.budget) this.addKeyframe();
  }

  addKeyframe() {
    this.keyframes.push(this.state.keep());
    this.since = 0;
    if (this.keyframes.length <= KEYFRAMES_AT_MOST) return;
    this.keyframes = this.keyframes.filter((_, number) => number % 2 === 0);
    this.budget *= 2;
  }

  keyframeBefore(position) {
    let low = 0, high = this.keyframes.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.keyframes[middle].position <= position) low = middle;
      else high = middle - 1;
    }
    return this.keyframes[low];
  }

  // Walks ahead with a replay of its own while nobody waits for an answer, so that later jumps are short.
  prepare() {
    const ahead = new Replay(this.trace);
    const work = () => {
      const until = performance.now() + 10;
      while (ahead.state.position < ahead.length && performance.now() < until) ahead.step();
      this.adopt(ahead);
      if (ahead.state.position < ahead.length) setTimeout(work, 4);
    };
    setTimeout(work, 50);
  }
  adopt(ahead) {
    if (ahead.reached < this.reached) return;
    this.keyframes = ahead.keyframes.slice();
    this.reached = ahead.reached;
    this.budget = ahead.budget;
  }
}

const KEYFRAMES_AT_MOST = 160;

function costOf(event) {
  let words = 40;
  for (const extent of event.reads) if (event.async || event.kind === "complete") words += wordsOf(extent);
  for (const extent of event.writes) words += 2 * wordsOf(extent);
  return words;
}
