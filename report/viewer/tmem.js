// The map of tensor memory: 128 lanes down, 512 columns across, of one SM.

const COLOUR_MODES = [
  {id: "state", name: "state", title: "Unallocated, never written, valid, under way"},
  {id: "buffer", name: "buffer", title: "The buffer that stands there"},
  {id: "warp", name: "writer", title: "The warp that wrote it last"},
  {id: "value", name: "value", title: "The number that it holds"},
];

const STATE_NAMES = {
  unallocated: "unallocated",
  fresh: "never written",
  initial: "initial contents",
  valid: "valid",
  write: "write in flight",
  read: "read in flight",
  both: "read and write in flight",
};

// Of a word that somebody may use.
function wordState(written, writer, reading, writing) {
  if (reading && writing) return "both";
  if (writing) return "write";
  if (reading) return "read";
  if (!written) return "fresh";
  return writer === NO_WRITER ? "initial" : "valid";
}

// The paler colour of a buffer's words that nobody has written.
function pale(pixel) {
  const back = palette.pixels.panel, mix = (shift) => 0.42 * ((pixel >>> shift) & 255) + 0.58 * ((back >>> shift) & 255);
  return packed(mix(0), mix(8), mix(16));
}

// Colours words by the chosen mode; `numbers` remembers the range of the last picture for the legend.
class WordPainter {
  constructor(viewer) {
    this.viewer = viewer;
    this.range = 0;
  }
  // describe(word) -> {number of the buffer or -1, dtype}; words(k) -> index of the k-th pixel, or -1 for none; blank(word) -> bool.
  paint(pixels, words, key, bufferOf, blank) {
    const mode = this.viewer.colourMode, {state, trace} = this.viewer;
    const values = mode === "value" ? new Float64Array(pixels.length).fill(NaN) : null;
    const {unallocated, fresh, valid, sunken} = palette.pixels;
    const stateColours = palette.pixels;
    let pageNumber = -1, page = EMPTY_PAGE, largest = 0;
    for (let k = 0; k < pixels.length; ++k) {
      const word = words(k);
      if (word < 0) { pixels[k] = sunken; continue; }
      if (blank && blank(word)) { pixels[k] = unallocated; continue; }
      const number = (word / PAGE_WORDS) | 0, slot = word % PAGE_WORDS;
      if (number !== pageNumber) page = state.page(key, pageNumber = number);
      const written = page.written[slot];
      if (mode === "state") {
        pixels[k] = stateColours[wordState(written, page.writer[slot], page.reading[slot], page.writing[slot])];
      } else if (mode === "buffer") {
        const buffer = bufferOf(word);
        const colour = buffer < 0 ? valid : palette.category(buffer).pixel;
        pixels[k] = written ? colour : buffer < 0 ? fresh : pale(colour);
      } else if (mode === "warp") {
        const writer = page.writer[slot];
        pixels[k] = !written ? fresh : writer === NO_WRITER ? stateColours.initial : palette.category(warpNumber(trace, trace.events[writer])).pixel;
      } else {
        pixels[k] = fresh;
        if (!written) continue;
        const value = this.viewer.numberInWord(bufferOf(word), page.value[slot]);
        values[k] = value;
        if (Number.isFinite(value) && Math.abs(value) > largest) largest = Math.abs(value);
      }
    }
    this.range = largest;
    if (!values) return;
    for (let k = 0; k < pixels.length; ++k) {
      if (!Number.isNaN(values[k])) pixels[k] = palette.value(largest ? values[k] / largest : 0);
    }
  }
}

class TmemView {
  constructor(viewer) {
    this.viewer = viewer;
    this.sm = 0;
    this.rowWord = "lane";
    this.majorRows = 32;
    this.rowSteps = [1, 2, 4, 8, 16, 32];
    this.columnSteps = [1, 2, 4, 8, 16, 32, 64];
    this.painter = new WordPainter(viewer);
    this.elements = new Map();            // buffer -> ElementMap
    this.placed = [];                     // buffers that stand in this SM now
    this.owners = new Int16Array(TMEM_LANES * TMEM_COLUMNS).fill(-1);  // cell -> number in `placed`
    this.ownersOf = "";                   // what `owners` was made from
    this.grid = new Grid(document.getElementById("tmem"), this);
    this.grid.setShape(TMEM_LANES, TMEM_COLUMNS);
    this.strip = new TmemStrip(this);
  }
  get key() {
    return spaceKey.tmem(this.sm);
  }
  elementsOf(buffer) {
    let map = this.elements.get(buffer.id);
    if (!map) this.elements.set(buffer.id, map = tmemElements(buffer));
    return map;
  }

  // Where the buffers stand now: their base is a word in shared memory, or a number.
  place() {
    const {trace, state} = this.viewer, columns = state.columnsOf(this.sm);
    const placed = [];
    for (const {cta} of trace.header.ctas.filter((entry) => (entry.sm || 0) === this.sm)) {
      for (const buffer of trace.header.buffers) {
        if (buffer.space !== "tmem") continue;
        const base = this.baseOf(buffer, cta || 0);
        if (base === null) continue;
        const first = base + (buffer.column || 0), count = buffer.columns || 1;
        if (first + count > TMEM_COLUMNS || columns[first] < 0) continue;
        placed.push({buffer, cta: cta || 0, first, last: first + count - 1});
      }
    }
    const now = placed.map(({buffer, cta, first}) => [buffer.id, cta, first]).join(";");
    if (now === this.ownersOf) return;
    this.ownersOf = now;
    this.placed = placed;
    this.owners.fill(-1);
    placed.forEach((entry, number) => {
      for (const word of this.elementsOf(entry.buffer).lists.keys()) {
        const cell = word + entry.first * TMEM_LANES;
        if (cell < this.owners.length && this.owners[cell] < 0) this.owners[cell] = number;
      }
    });
  }
  baseOf(buffer, cta) {
    if (buffer.slot === undefined) return buffer.base || 0;
    const slot = this.viewer.trace.header.buffers.find((other) => other.name === buffer.slot);
    if (!slot) return null;
    const word = this.viewer.state.word(spaceKey.shared(cta), (slot.offset || 0) >>> 2);
    return word.written === 15 && word.value < TMEM_COLUMNS ? word.value : null;
  }
  // What stands in a cell: buffers with the elements.
  inhabitants(cell) {
    return this.placed.map(({buffer, cta, first}) => ({buffer, cta, elements: this.elementsOf(buffer).at(cell - first * TMEM_LANES)}))
        .filter(({elements}) => elements.length);
  }
  bufferOf(cell) {
    const owner = this.owners[cell];
    return owner < 0 ? -1 : this.placed[owner].buffer.id;
  }

  // ---- the grid asks ----
  paint(pixels, window) {
    const allocated = this.viewer.state.columnsOf(this.sm);
    const word = (k) => (window.column + (k % window.columns)) * TMEM_LANES + window.row + ((k / window.columns) | 0);
    this.painter.paint(pixels, word, this.key, (cell) => this.bufferOf(cell), (cell) => allocated[(cell / TMEM_LANES) | 0] < 0);
  }
  words(row, column, most) {
    const cell = column * TMEM_LANES + row;
    if (this.viewer.state.columnsOf(this.sm)[column] < 0) return ["", ""];
    return this.viewer.cellWords(this.key, cell, this.inhabitants(cell), most);
  }
  rowName(row) { return String(row); }
  columnName(column) { return String(column); }
  bands() {
    if (this.placed.length)
      return this.placed.map(({buffer, cta, first, last}) => ({first, last, name: this.viewer.trace.header.ctas.length > 1 ? buffer.name + " (CTA " + cta + ")" : buffer.name, colour: palette.category(buffer.id).css}));
    return allocatedRuns(this.viewer.state.columnsOf(this.sm)).map(({first, last}) => ({first, last, name: "allocated", colour: palette.names.fresh}));
  }
  chosen(row, column) {
    this.viewer.select({key: this.key, word: column * TMEM_LANES + row});
  }
  moved() {
    this.strip.draw();
    this.viewer.showLegends();
  }
  tip(row, column) {
    const cell = column * TMEM_LANES + row;
    const lines = ["lane " + row + ", column " + column];
    if (this.viewer.state.columnsOf(this.sm)[column] < 0) return lines.concat("unallocated").join("\n");
    return lines.concat(this.viewer.wordLines(this.key, cell, this.inhabitants(cell))).join("\n");
  }

  // The columns that are ever allocated.
  usedWindow() {
    let first = TMEM_COLUMNS, last = -1;
    for (const event of this.viewer.trace.events) {
      for (const {sm = 0, base = 0, columns, live} of event.allocations || NOTHING) {
        if (!live || sm !== this.sm) continue;
        first = Math.min(first, base);
        last = Math.max(last, base + columns - 1);
      }
    }
    return last < 0 ? null : {row: 0, rows: TMEM_LANES, column: first, columns: last - first + 1};
  }
  draw(marks) {
    this.place();
    this.grid.marks = marks;
    this.grid.draw();
    this.strip.draw();
  }
}

function allocatedRuns(columns) {
  const runs = [];
  for (let column = 0; column < TMEM_COLUMNS; ++column) {
    if (columns[column] < 0) continue;
    const first = column;
    while (column + 1 < TMEM_COLUMNS && columns[column + 1] === columns[first]) ++column;
    runs.push({first, last: column});
  }
  return runs;
}

// All 512 columns in one line, with a frame around what the map shows.
class TmemStrip {
  constructor(view) {
    this.view = view;
    this.canvas = document.getElementById("tmem-strip");
    let dragging = false;
    this.canvas.addEventListener("pointerdown", (event) => {
      dragging = true;
      this.canvas.setPointerCapture(event.pointerId);
      this.centre(event.offsetX);
    });
    this.canvas.addEventListener("pointermove", (event) => { if (dragging) this.centre(event.offsetX); });
    this.canvas.addEventListener("pointerup", () => { dragging = false; });
  }
  centre(x) {
    const {grid} = this.view, box = this.canvas.getBoundingClientRect();
    grid.origin.column = (x / box.width) * TMEM_COLUMNS - grid.inner.width / grid.cell.width / 2;
    grid.moved();
  }
  draw() {
    const box = this.canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!box.width) return;
    const width = Math.round(box.width * ratio), height = Math.round(box.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const context = this.canvas.getContext("2d"), scale = width / TMEM_COLUMNS;
    context.fillStyle = palette.names.sunken;
    context.fillRect(0, 0, width, height);
    context.fillStyle = palette.names.fresh;
    for (const {first, last} of allocatedRuns(this.view.viewer.state.columnsOf(this.view.sm)))
      context.fillRect(first * scale, 3 * ratio, (last - first + 1) * scale - 0.5, height - 7 * ratio);
    for (const {buffer, first, last} of this.view.placed) {
      context.fillStyle = palette.category(buffer.id).css;
      context.fillRect(first * scale, 3 * ratio, (last - first + 1) * scale - 0.5, height - 7 * ratio);
    }
    const shown = this.view.grid.visible();
    context.strokeStyle = palette.names.muted;
    context.lineWidth = ratio;
    context.strokeRect(shown.column * scale + 0.5, 0.5 * ratio, Math.max(2, shown.columns * scale - 1), height - 2 * ratio);
  }
}
