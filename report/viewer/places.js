// Registers of a warp, shared memory, global memory: words in a grid. And barriers, in a table.

const PLACE_TABS = [
  {id: "reg", name: "Registers"},
  {id: "shared", name: "Shared memory"},
  {id: "global", name: "Global memory"},
  {id: "barriers", name: "Barriers"},
];

const LINE_WORDS = 32;  // 128 bytes of memory a line

class PlacesView {
  constructor(viewer) {
    this.viewer = viewer;
    this.tab = "reg";
    this.choice = {reg: "follow", shared: "0", global: ""};
    this.painter = new WordPainter(viewer);
    this.elements = new Map();
    this.grid = new Grid(document.getElementById("words"), this);
    this.choiceBox = document.getElementById("place-choice");
    this.choiceBox.addEventListener("change", () => {
      this.choice[this.tab] = this.choiceBox.value;
      this.viewer.refresh();
    });
    const firstGlobal = viewer.trace.header.buffers.find((buffer) => buffer.space === "global");
    if (firstGlobal) this.choice.global = String(firstGlobal.id);
    this.makeTabs();
    this.show("reg");
  }

  makeTabs() {
    const box = document.getElementById("place-tabs");
    for (const {id, name} of PLACE_TABS) {
      const button = element("button", {type: "button", role: "tab", text: name});
      button.dataset.tab = id;
      button.addEventListener("click", () => { this.show(id); this.viewer.refresh(); });
      box.append(button);
    }
  }
  show(tab) {
    this.tab = tab;
    for (const button of document.getElementById("place-tabs").children) button.setAttribute("aria-selected", String(button.dataset.tab === tab));
    document.getElementById("words-box").hidden = tab === "barriers";
    document.getElementById("barriers").hidden = tab !== "barriers";
    const options = this.choices();
    this.choiceBox.parentElement.hidden = options.length < 2;
    document.getElementById("place-choice-name").textContent = {reg: "warp", shared: "CTA", global: "buffer", barriers: ""}[tab];
    this.choiceBox.replaceChildren(...options.map(([value, text]) => element("option", {value, text})));
    this.choiceBox.value = this.choice[tab] || "";
  }
  choices() {
    const {header, warpsPerCta} = this.viewer.trace;
    switch (this.tab) {
      case "reg": {
        const warps = [["follow", "of the event"]];
        for (const {cta = 0} of header.ctas)
          for (let warp = 0; warp < warpsPerCta; ++warp)
            warps.push([cta + " " + warp, header.ctas.length > 1 ? "CTA " + cta + " warp " + warp : String(warp)]);
        return warps;
      }
      case "shared": return header.ctas.map(({cta = 0}) => [String(cta), String(cta)]);
      case "global": return header.buffers.filter((buffer) => buffer.space === "global").map((buffer) => [String(buffer.id), buffer.name]);
      default: return [];
    }
  }

  // ---- what is shown ----
  get warp() {
    const chosen = this.choice.reg;
    if (chosen !== "follow") {
      const [cta, warp] = chosen.split(" ").map(Number);
      return {cta, warp};
    }
    const event = this.viewer.event;
    return event ? {cta: event.cta, warp: event.warp} : {cta: 0, warp: 0};
  }
  get key() {
    switch (this.tab) {
      case "reg": return spaceKey.reg(this.warp.cta, this.warp.warp);
      case "shared": return spaceKey.shared(Number(this.choice.shared));
      default: return spaceKey.global(Number(this.choice.global));
    }
  }
  // Buffers of the shown space with their first word (registers: first row) and their length in words (rows).
  buffers() {
    const {header} = this.viewer.trace;
    switch (this.tab) {
      case "reg":
        return header.buffers.filter((b) => b.space === "local").map((buffer) => ({buffer, first: (buffer.first_row || 0) * 32, count: (buffer.rows || 1) * 32}));
      case "shared":
        return header.buffers.filter((b) => b.space === "shared").map((buffer) => ({buffer, first: (buffer.offset || 0) >>> 2, count: ((buffer.bytes || 4) + 3) >>> 2}));
      default:
        return header.buffers.filter((b) => b.space === "global" && String(b.id) === this.choice.global)
            .map((buffer) => ({buffer, first: 0, count: ((buffer.bytes || 4) + 3) >>> 2}));
    }
  }
  elementsOf(buffer) {
    const id = this.tab === "reg" ? buffer.id + " " + this.warp.warp : String(buffer.id);
    let map = this.elements.get(id);
    if (!map) this.elements.set(id, map = this.tab === "reg" ? registerElements(buffer, this.warp.warp) : memoryElements(buffer));
    return map;
  }
  inhabitants(word) {
    return this.buffers().filter(({first, count}) => word >= first && word < first + count)
        .map(({buffer, first}) => ({buffer, elements: this.elementsOf(buffer).at(word - first)}));
  }
  // Number of the buffer of each word, looked up in ranges.
  bufferLookup() {
    const ranges = this.buffers();
    let last = null;
    return (word) => {
      if (!last || word < last.first || word >= last.first + last.count)
        last = ranges.find(({first, count}) => word >= first && word < first + count) || last;
      return last && word >= last.first && word < last.first + last.count ? last.buffer.id : -1;
    };
  }
  get wordCount() {
    const {header} = this.viewer.trace;
    switch (this.tab) {
      case "reg": return (header.register_rows || 0) * 32;
      case "shared": return ((header.shared_bytes || 0) + 3) >>> 2;
      default: return this.buffers().reduce((sum, {count}) => sum + count, 0);
    }
  }
  get shape() {
    const words = this.wordCount;
    if (this.tab === "reg") return {rows: words ? 32 : 0, columns: words / 32};
    return {rows: Math.ceil(words / LINE_WORDS), columns: words ? LINE_WORDS : 0};
  }
  wordAt(row, column) {
    return this.tab === "reg" ? column * 32 + row : row * LINE_WORDS + column;
  }
  cellOf(word) {
    return this.tab === "reg" ? {row: word % 32, column: word >>> 5} : {row: Math.floor(word / LINE_WORDS), column: word % LINE_WORDS};
  }

  // ---- the grid asks ----
  get rowWord() { return this.tab === "reg" ? "thread" : "byte"; }
  get majorRows() { return this.tab === "reg" ? 0 : 8; }
  get rowSteps() { return [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]; }
  get columnSteps() { return [1, 2, 4, 8, 16, 32, 64]; }
  rowName(row) { return this.tab === "reg" ? String(row) : String(row * LINE_WORDS * 4); }
  columnName(column) { return this.tab === "reg" ? String(column) : "+" + column * 4; }
  bands() {
    if (this.tab !== "reg") return NOTHING;
    return this.buffers().map(({buffer}) => ({first: buffer.first_row || 0, last: (buffer.first_row || 0) + (buffer.rows || 1) - 1, name: buffer.name, colour: palette.category(buffer.id).css}));
  }
  paint(pixels, window) {
    const words = this.wordCount, registers = this.tab === "reg";
    const word = (k) => {
      const row = window.row + ((k / window.columns) | 0), column = window.column + (k % window.columns);
      const index = registers ? column * 32 + row : row * LINE_WORDS + column;
      return index < words ? index : -1;
    };
    const lookup = this.bufferLookup();
    this.painter.paint(pixels, word, this.key, lookup, registers ? null : (index) => lookup(index) < 0);
  }
  words(row, column, most) {
    const word = this.wordAt(row, column);
    return word < this.wordCount ? this.viewer.cellWords(this.key, word, this.inhabitants(word), most) : ["", ""];
  }
  chosen(row, column) {
    const word = this.wordAt(row, column);
    if (word < this.wordCount) this.viewer.select({key: this.key, word});
  }
  tip(row, column) {
    const word = this.wordAt(row, column);
    if (word >= this.wordCount) return null;
    const place = this.tab === "reg" ? "thread " + row + ", row " + column : "bytes " + word * 4 + "\u2013" + (word * 4 + 3);
    return [place, ...this.viewer.wordLines(this.key, word, this.inhabitants(word))].join("\n");
  }
  moved() {
    this.viewer.showLegends();
  }

  draw(marks) {
    if (this.tab === "barriers") return this.drawBarriers();
    const {rows, columns} = this.shape;
    this.grid.setShape(rows, columns);
    this.grid.marks = marks;
    this.grid.draw();
  }
  drawBarriers() {
    const box = document.getElementById("barriers"), {state, event} = this.viewer;
    const entries = [...state.barriers.values()];
    if (!entries.length) return box.replaceChildren(element("p", {class: "empty", text: "No barrier has been used yet."}));
    const table = element("table", {class: "barriers"});
    table.append(tableRow("th", ["Barrier", "State", "Last change"]));
    for (const {barrier, seq} of entries) {
      const row = tableRow("td", [barrierName(this.viewer.trace, barrier), barrierText(barrier), ""]);
      row.lastChild.append(this.viewer.eventLink(seq));
      if (event && seq === event.seq) row.className = "changed";
      table.append(row);
    }
    box.replaceChildren(table);
  }

  // Shows a word: the tab and the choice that have it.
  reveal(key, word) {
    const [space, first, second] = key.split(" ");
    if (space === "tmem") return;
    if (space === "reg") {
      const {cta, warp} = this.warp;
      if (cta !== Number(first) || warp !== Number(second)) this.choice.reg = first + " " + second;
    } else {
      this.choice[space] = first;
    }
    if (this.key !== key || this.tab !== space || this.choiceBox.value !== this.choice[space]) this.show(space);
    const {rows, columns} = this.shape;
    this.grid.setShape(rows, columns);
    const cell = this.cellOf(word);
    this.grid.reveal(cell.row, cell.column);
  }
}

function barrierName(trace, barrier) {
  const many = trace.header.ctas.length > 1;
  return (barrier.name || barrier.kind + " " + (barrier.id || 0)) + (many && barrier.kind !== "cluster" ? " (CTA " + (barrier.cta || 0) + ")" : "");
}

function barrierText(barrier) {
  const {kind, uses = 0, arrived = 0, pending = 0, tx = 0} = barrier;
  if (kind === "mbarrier") {
    if (barrier.valid === false) return "not initialised";
    return "phase " + (barrier.phase || 0) + ", " + pending + " of " + (barrier.expected || 0) + " arrivals missing" + (tx ? ", " + tx + " bytes missing" : "");
  }
  const expected = barrier.expected ? " of " + barrier.expected : "";
  return arrived + expected + " threads have arrived; completed " + uses + (uses === 1 ? " time" : " times");
}

function tableRow(tag, cells) {
  const row = element("tr");
  for (const cell of cells) row.append(element(tag, {text: cell}));
  return row;
}
