// The page: one position in the run, and everything that shows it.

const KEYS = [
  ["\u2190 \u2192", "previous, next event"],
  ["Shift \u2190 \u2192", "previous, next event of the same warp"],
  ["Home End", "start, end"],
  ["Space", "play, stop"],
  ["f  F", "next, previous finding"],
  ["n  p", "next, previous event of the selected place"],
  ["Backspace", "back to where the last jump began"],
  ["1 2 3 4", "colour by state, buffer, writer, value"],
  ["+  \u2212", "zoom the map (or the grid that has the focus); wheel and double click work too, dragging moves it"],
  ["0  9", "columns in use; all columns"],
  ["Alt + arrows", "move the selection"],
  ["t", "light or dark"],
  ["?", "this list"],
];
const SPEEDS = [[2, "2 a second"], [6, "6 a second"], [20, "20 a second"], [60, "60 a second"], [0, "all in 20 s"]];

class Viewer {
  constructor(trace) {
    this.trace = trace;
    this.replay = new Replay(trace);
    this.state = this.replay.state;
    this.position = 0;
    this.place = null;
    this.finding = null;
    this.colourMode = "state";
    this.jumps = [];
    this.stepTimes = [];
    palette.refresh();
    this.describe();
    this.controls();
    this.program = new ProgramView(this);
    this.tmem = new TmemView(this);
    this.places = new PlacesView(this);
    this.side = new SideView(this);
    this.tracks = new TracksView(this);
    this.chooseSm();
    this.listen();
    this.zoomToUsed();
    this.open();
    this.replay.prepare();
  }
  get event() {
    return this.position > 0 ? this.trace.events[this.position - 1] : null;
  }

  // Where the address says ("#event=12"), at the first finding, or at the start.
  open() {
    const wanted = /event=(\d{1,9})/.exec(location.hash);
    if (wanted) return this.goTo(Number(wanted[1]) + 1);
    if (this.trace.findings.length) return this.nextFinding(1);
    this.goTo(0);
  }

  // ---- moving ----
  goTo(position) {
    const begin = performance.now();
    this.position = Math.max(0, Math.min(this.trace.events.length, position));
    this.state = this.replay.goTo(this.position);
    this.refresh();
    this.stepTimes.push(performance.now() - begin);
    if (this.stepTimes.length > 500) this.stepTimes.shift();
  }
  // As goTo, and Backspace leads back.
  jump(position) {
    this.jumps.push(this.position);
    if (this.jumps.length > 200) this.jumps.shift();
    this.goTo(position);
  }
  back() {
    if (this.jumps.length) this.goTo(this.jumps.pop());
  }
  goToWarp(direction) {
    const now = this.event;
    if (!now) return this.goTo(this.position + direction);
    for (let seq = now.seq + direction; seq >= 0 && seq < this.trace.events.length; seq += direction) {
      const other = this.trace.events[seq];
      if (other.cta === now.cta && other.warp === now.warp) return this.goTo(seq + 1);
    }
  }
  goToStatement(statement) {
    const {events} = this.trace, from = this.position;
    const inside = new Set([statement]);
    for (const other of this.trace.header.statements) if (inside.has(other.parent)) inside.add(other.id);
    for (let k = 0; k < events.length; ++k) {
      const event = events[(from + k) % events.length];
      if (inside.has(event.stmt)) return this.jump(event.seq + 1);
    }
  }
  goToFinding(finding, seq = finding.seq) {
    this.finding = finding;
    this.side.show("findings");
    const extent = extentOfFinding(finding);
    if (extent) this.revealExtent(extent);
    if (seq !== undefined) this.jump(seq + 1);
    else this.refresh();
  }
  nextFinding(direction) {
    const {findings} = this.trace;
    if (!findings.length) return;
    const now = findings.indexOf(this.finding);
    const next = now < 0 ? (direction > 0 ? 0 : findings.length - 1) : (now + direction + findings.length) % findings.length;
    this.goToFinding(findings[next]);
  }
  goInHistory(direction) {
    if (!this.place) return;
    const seqs = this.side.entries(this.place).map(({event}) => event.seq), now = this.position - 1;
    const next = direction > 0 ? seqs.find((seq) => seq > now) : seqs.reverse().find((seq) => seq < now);
    if (next !== undefined) this.goTo(next + 1);
  }

  // ---- selecting ----
  select(place) {
    this.place = place;
    if (this.side.tab !== "place") this.side.show("place");
    this.refresh();
  }
  selectExtent(extent) {
    const key = spaceOfExtent(extent);
    if (!key) return;
    let word = -1;
    forEachRun(extent, (first) => { if (word < 0) word = hasBytes(extent) ? first >>> 2 : first; });
    this.reveal(key, word);
    this.select({key, word});
  }
  revealExtent(extent) {
    const key = spaceOfExtent(extent);
    let word = -1;
    forEachRun(extent, (first) => { if (word < 0) word = hasBytes(extent) ? first >>> 2 : first; });
    if (key && word >= 0) this.reveal(key, word);
  }
  reveal(key, word) {
    if (!key.startsWith("tmem ")) return this.places.reveal(key, word);
    this.setSm(Number(key.slice(5)));
    this.tmem.grid.reveal(word % TMEM_LANES, Math.floor(word / TMEM_LANES));
  }
  moveSelection(rows, columns) {
    if (!this.place) return;
    const {key, word} = this.place, inTmem = key.startsWith("tmem ");
    const cell = inTmem ? {row: word % TMEM_LANES, column: Math.floor(word / TMEM_LANES)} : this.places.cellOf(word);
    const grid = inTmem ? this.tmem.grid : this.places.grid;
    const row = Math.max(0, Math.min(grid.rows - 1, cell.row + rows)), column = Math.max(0, Math.min(grid.columns - 1, cell.column + columns));
    const moved = inTmem ? column * TMEM_LANES + row : this.places.wordAt(row, column);
    this.reveal(key, moved);
    this.select({key, word: moved});
  }
  setSm(sm) {
    this.tmem.sm = sm;
    document.getElementById("tmem-sm").value = String(sm);
  }

  // ---- what words hold ----
  bufferById(id) {
    return this.trace.header.buffers[id];
  }
  numberInWord(bufferId, word) {
    const buffer = bufferId < 0 ? null : this.bufferById(bufferId);
    if (!buffer) return word;
    const bits = buffer.bits || 32, number = numberOf(buffer.dtype, bits >= 32 ? word : word & (2 ** bits - 1));
    return number === undefined ? word : number;
  }
  numbersText(inhabitants, word) {
    const buffer = inhabitants.length ? inhabitants[0].buffer : null;
    return buffer ? wordAsNumbers(buffer.dtype, buffer.bits || 32, word) : "";
  }
  elementsText(inhabitants) {
    return inhabitants.map(({buffer, cta, elements}) => elements.slice(0, 4).map((index) => elementText(buffer, index)).join(", ") + (elements.length > 4 ? ", \u2026" : "") +
        (cta && this.trace.header.ctas.length > 1 ? " of CTA " + cta : "")).filter((text) => text).join("; ");
  }
  // Two lines for a large cell.
  cellWords(key, index, inhabitants, most) {
    const {value, written} = this.state.word(key, index);
    const names = inhabitants.flatMap(({buffer, elements}) => elements.map((number) => elementText(buffer, number)));
    let name = names[0] || "";
    if (names.length > 1 && name.length < most) name += "+";
    if (name.length > most) name = "";
    if (!written) return [name ? "\u2013" : "", name];
    const numbers = this.numbersText(inhabitants, value);
    return [this.colourMode === "value" && numbers && numbers.length <= most ? numbers : wordText(value), name];
  }
  stateName(key, index) {
    const {writer, written, reading, writing} = this.state.word(key, index);
    if (key.startsWith("tmem ") && this.state.columnsOf(Number(key.slice(5)))[Math.floor(index / TMEM_LANES)] < 0) return "unallocated";
    return wordState(written, writer, reading, writing);
  }
  wordLines(key, index, inhabitants) {
    const {value, writer, written} = this.state.word(key, index), lines = [];
    const elements = this.elementsText(inhabitants), numbers = this.numbersText(inhabitants, value);
    if (elements) lines.push(elements);
    if (written) lines.push("0x" + wordText(value) + (numbers ? " = " + numbers : ""));
    lines.push(STATE_NAMES[this.stateName(key, index)] + (writer >= 0 ? "; written by " + whoText(this.trace, this.trace.events[writer]) + ", event " + writer : ""));
    return lines;
  }
  inhabitantsOf({key, word}) {
    if (key.startsWith("tmem ")) return key === this.tmem.key ? this.tmem.inhabitants(word) : NOTHING;
    return key === this.places.key ? this.places.inhabitants(word) : NOTHING;
  }
  placeFacts(place) {
    const {key, word} = place, {value, writer, written, reading, writing} = this.state.word(key, word);
    const inhabitants = this.inhabitantsOf(place), rows = [];
    const elements = this.elementsText(inhabitants);
    if (elements) rows.push(["Holds", elements]);
    rows.push(["State", STATE_NAMES[this.stateName(key, word)]]);
    if (written) {
      const numbers = this.numbersText(inhabitants, value);
      rows.push(["Value", element("span", {class: "mono", text: "0x" + wordText(value) + (numbers ? " = " + numbers : "") + (written === 15 ? "" : " (in part)")})]);
    }
    if (writer >= 0) {
      const by = element("span", {id: "place-writer"}, whoText(this.trace, this.trace.events[writer]) + ", ", this.eventLink(writer));
      rows.push(["Written by", by]);
    }
    if (reading || writing) rows.push(["Under way", (writing ? writing + " to write" : "") + (reading && writing ? ", " : "") + (reading ? reading + " to read" : "")]);
    return rows;
  }
  nameOfEvent(seq) {
    const event = this.trace.events[seq];
    return event ? opOf(this.trace, event) + (verbOf(event) ? " " + verbOf(event) : "") : "event " + seq;
  }
  eventLink(seq) {
    return element("button", {class: "plain-link", type: "button", text: this.nameOfEvent(seq) + " (" + seq + ")", click: () => this.jump(seq + 1)});
  }

  // ---- showing ----
  refresh() {
    if (!this.tracks) return;
    const {event} = this;
    if (event && this.trace.header.sms > 1 && this.followSm) this.setSm(smOf(this.trace, event.cta));
    this.tmem.draw(this.marksFor(this.tmem.key, tmemRectangles));
    const wordRectangles = (extent) => this.places.tab === "reg" ? registerRectangles(extent) : byteRectangles(extent);
    this.places.draw(this.places.tab === "barriers" ? [] : this.marksFor(this.places.key, wordRectangles));
    this.program.draw();
    this.side.draw();
    this.tracks.draw();
    this.showNow();
    this.showLegends();
  }
  marksFor(key, rectangles) {
    const marks = [], {event} = this;
    const add = (extents, kind) => {
      for (const extent of extents)
        if (spaceOfExtent(extent) === key && marks.length < 400) marks.push(...rectangles(extent).map((box) => ({...box, kind})));
    };
    if (event) {
      add(event.reads, "read");
      add(event.writes, "write");
    }
    const found = this.finding ? extentOfFinding(this.finding) : null;
    if (found) add([found], "finding");
    if (this.place && this.place.key === key) {
      const {word} = this.place;
      const cell = key.startsWith("tmem ") ? {row: word % TMEM_LANES, column: Math.floor(word / TMEM_LANES)} : this.places.cellOf(word);
      marks.push({...cell, rows: 1, columns: 1, kind: "selection"});
    }
    return marks;
  }
  showNow() {
    const {event, trace} = this, box = document.getElementById("now");
    const count = element("span", {class: "count", text: this.position + " / " + trace.events.length});
    if (!event) return box.replaceChildren(count, element("span", {class: "text", text: "start"}));
    const statement = trace.statements.get(event.stmt);
    box.replaceChildren(...[count, element("span", {class: "muted", text: whoText(trace, event)}), element("span", {class: "op", text: opOf(trace, event)}),
        verbOf(event) ? element("span", {text: verbOf(event)}) : null,
        element("span", {class: "text", text: [loopText(event.loop), event.text || "", statement ? statement.text : ""].filter((text) => text).join("  \u00b7  ")})].filter((part) => part));
  }
  showLegends() {
    if (!this.places || !this.tracks) return;
    const tmem = document.getElementById("tmem-legend"), words = document.getElementById("words-legend");
    fillLegend(tmem, this.legend(this.tmem.painter.range, ["unallocated", "fresh", "valid", "write", "read", "both"], "tmem"));
    const entries = this.places.tab === "barriers" ? [] : this.legend(this.places.painter.range, this.places.tab === "reg" ? ["fresh", "valid", "write"] : ["fresh", "initial", "valid", "write", "read"], this.places.tab);
    fillLegend(words, entries);
    words.hidden = !entries.length;
  }
  legend(range, states, space) {
    const {names} = palette;
    const marks = space === "tmem" ? [["frame", names["mark-read"], "read by this event"], ["frame", names["mark-write"], "written by this event"]] : [];
    switch (this.colourMode) {
      case "state": return [...states.map((name) => ["", names[name], STATE_NAMES[name]]), ...marks];
      case "buffer": {
        const buffers = this.trace.header.buffers.filter((buffer) => buffer.space === {tmem: "tmem", reg: "local", shared: "shared", global: "global"}[space]);
        return [...buffers.slice(0, 24).map((buffer) => ["", palette.category(buffer.id).css, buffer.name + " " + (buffer.dtype || "")]), ["", names.fresh, "paler: never written"], ...marks];
      }
      case "warp": {
        const warps = Math.min(this.trace.warpCount, 16);
        return [...Array.from({length: warps}, (_, warp) => ["", palette.category(warp).css, whoText(this.trace, {cta: Math.floor(warp / this.trace.warpsPerCta), warp: warp % this.trace.warpsPerCta})]),
          ["", names.fresh, STATE_NAMES.fresh], ...marks];
      }
      default: return [...(range ? [["ramp", palette.rampCss(), "\u2212" + numberText(range) + " \u2026 0 \u2026 " + numberText(range)]] : []), ["", names.fresh, STATE_NAMES.fresh], ...marks];
    }
  }

  // ---- the frame ----
  describe() {
    const {header, findings, end} = this.trace;
    const name = header.scenario + (header.instance && header.instance !== header.scenario ? " " + header.instance : "");
    document.title = name + " \u00b7 tmemsim";
    document.getElementById("title").textContent = name;
    document.getElementById("doc").textContent = header.doc || "";
    document.getElementById("doc").title = header.doc || "";
    const verdict = document.getElementById("verdict"), errors = findings.filter(({severity}) => !severity || severity === "error").length;
    verdict.textContent = findings.length ? findings.length + (findings.length === 1 ? " finding" : " findings") : "clean";
    verdict.classList.add(errors ? "bad" : findings.length ? "warn" : "good");
    const short = end && end.ended && end.ended !== "complete" ? {stopped: "stopped", "step-limit": "step limit", error: "error", "left-out": "cut off"}[end.ended] || end.ended : "";
    const cut = end && end.left_out ? end.left_out + " events left out" : short;
    if (!end) verdict.textContent += ", cut off";
    else if (cut && cut !== "stopped") verdict.textContent += ", " + cut;
    if (!end || end.left_out) verdict.classList.add("warn");
    verdict.title = (end && end.reason) || verdict.title;
  }
  chooseSm() {
    const sms = this.trace.header.sms || 1, choice = document.getElementById("tmem-sm");
    this.followSm = sms > 1;
    choice.parentElement.hidden = sms < 2;
    for (let sm = 0; sm < sms; ++sm) choice.append(element("option", {value: String(sm), text: String(sm)}));
    choice.addEventListener("change", () => {
      this.followSm = false;
      this.setSm(Number(choice.value));
      this.refresh();
    });
  }
  controls() {
    const at = (id, action) => document.getElementById(id).addEventListener("click", action);
    at("first", () => this.goTo(0));
    at("previous", () => this.goTo(this.position - 1));
    at("next", () => this.goTo(this.position + 1));
    at("last", () => this.goTo(this.trace.events.length));
    at("play", () => this.togglePlay());
    at("theme", () => this.toggleTheme());
    at("help", () => document.getElementById("keys").showModal());
    at("verdict", () => { if (this.trace.findings.length) this.nextFinding(1); else this.side.show("findings"); });
    at("zoom-in", () => this.tmem.grid.zoom(1.6));
    at("zoom-out", () => this.tmem.grid.zoom(1 / 1.6));
    at("zoom-used", () => this.zoomToUsed());
    at("zoom-all", () => this.zoomToAll());
    const modes = document.getElementById("colour-mode");
    COLOUR_MODES.forEach(({id, name, title}, number) => {
      const button = element("button", {type: "button", role: "radio", title: title + " (" + (number + 1) + ")", text: name, click: () => this.setColourMode(id)});
      button.dataset.mode = id;
      modes.append(button);
    });
    this.markColourMode();
    const speed = document.getElementById("speed");
    speed.append(...SPEEDS.map(([value, text]) => element("option", {value, text})));
    speed.value = this.trace.events.length > 400 ? "0" : "6";
    const list = document.getElementById("keys-list");
    for (const [keys, what] of KEYS) {
      const box = element("span");
      keys.split("  ").forEach((key) => box.append(element("kbd", {text: key}), " "));
      list.append(box, element("span", {text: what}));
    }
  }
  markColourMode() {
    for (const button of document.getElementById("colour-mode").children) button.setAttribute("aria-checked", String(button.dataset.mode === this.colourMode));
  }
  setColourMode(mode) {
    this.colourMode = mode;
    this.markColourMode();
    this.refresh();
  }
  zoomToUsed() {
    const window = this.tmem.usedWindow();
    this.tmem.grid.fit(window);
    this.refresh();
  }
  zoomToAll() {
    this.tmem.grid.fit(null);
    this.refresh();
  }
  toggleTheme() {
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    palette.refresh();
    this.refresh();
  }
  togglePlay() {
    if (this.playing) return this.stop();
    if (this.position >= this.trace.events.length) this.goTo(0);
    const begin = performance.now(), from = this.position;
    document.getElementById("play").classList.add("playing");
    const speed = Number(document.getElementById("speed").value) || Math.max(2, this.trace.events.length / 20);
    const frame = (now) => {
      if (!this.playing) return;
      const position = Math.min(this.trace.events.length, from + 1 + Math.floor(((now - begin) / 1000) * speed));
      if (position > this.position) this.goTo(position);
      if (position >= this.trace.events.length) return this.stop();
      this.playing = requestAnimationFrame(frame);
    };
    this.playing = requestAnimationFrame(frame);
  }
  stop() {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    document.getElementById("play").classList.remove("playing");
  }

  listen() {
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || document.getElementById("keys").open) return;
      if (event.target.tagName === "SELECT") return;
      const pressed = (event.altKey ? "Alt " : "") + (event.shiftKey && event.key.startsWith("Arrow") ? "Shift " : "") + event.key;
      const grid = document.activeElement === this.places.grid.canvas ? this.places.grid : this.tmem.grid;
      const actions = {
        "ArrowRight": () => this.goTo(this.position + 1),
        "ArrowLeft": () => this.goTo(this.position - 1),
        "Shift ArrowRight": () => this.goToWarp(1),
        "Shift ArrowLeft": () => this.goToWarp(-1),
        "Home": () => this.goTo(0),
        "End": () => this.goTo(this.trace.events.length),
        " ": () => this.togglePlay(),
        "f": () => this.nextFinding(1),
        "F": () => this.nextFinding(-1),
        "n": () => this.goInHistory(1),
        "p": () => this.goInHistory(-1),
        "Backspace": () => this.back(),
        "+": () => grid.zoom(1.6),
        "=": () => grid.zoom(1.6),
        "-": () => grid.zoom(1 / 1.6),
        "0": () => this.zoomToUsed(),
        "9": () => this.zoomToAll(),
        "t": () => this.toggleTheme(),
        "?": () => document.getElementById("keys").showModal(),
        "Alt ArrowUp": () => this.moveSelection(-1, 0),
        "Alt ArrowDown": () => this.moveSelection(1, 0),
        "Alt ArrowLeft": () => this.moveSelection(0, -1),
        "Alt ArrowRight": () => this.moveSelection(0, 1),
      };
      COLOUR_MODES.forEach(({id}, number) => { actions[String(number + 1)] = () => this.setColourMode(id); });
      const action = actions[pressed];
      if (!action || (pressed === " " && event.target.tagName === "BUTTON" && event.target.id !== "play")) return;
      event.preventDefault();
      if (this.playing && pressed !== " ") this.stop();
      action();
    });
  }
}

function fillLegend(box, entries) {
  const now = JSON.stringify(entries);
  if (box.dataset.entries === now) return;
  box.dataset.entries = now;
  box.replaceChildren(...entries.map(([kind, colour, text]) => {
    const swatch = element("i", {class: kind});
    if (kind === "frame") swatch.style.borderColor = colour;
    else swatch.style.background = colour;
    return element("span", {}, swatch, text);
  }));
}

// Extents as boxes of cells.
function tmemRectangles({lanes, columns}) {
  return [{row: lanes[0], rows: lanes[1] - lanes[0] + 1, column: columns[0], columns: columns[1] - columns[0] + 1}];
}
function registerRectangles({lanes, rows}) {
  return [{row: lanes[0], rows: lanes[1] - lanes[0] + 1, column: rows[0], columns: rows[1] - rows[0] + 1}];
}
function byteRectangles(extent) {
  const boxes = [];
  forEachRun(extent, (firstByte, count) => {
    const first = firstByte >>> 2, last = (firstByte + count - 1) >>> 2;
    const top = Math.floor(first / LINE_WORDS), bottom = Math.floor(last / LINE_WORDS);
    if (top === bottom) return boxes.push({row: top, rows: 1, column: first % LINE_WORDS, columns: last - first + 1});
    const from = first % LINE_WORDS ? top + 1 : top, to = (last + 1) % LINE_WORDS ? bottom - 1 : bottom;
    if (from !== top) boxes.push({row: top, rows: 1, column: first % LINE_WORDS, columns: LINE_WORDS - (first % LINE_WORDS)});
    if (to >= from) boxes.push({row: from, rows: to - from + 1, column: 0, columns: LINE_WORDS});
    if (to !== bottom) boxes.push({row: bottom, rows: 1, column: 0, columns: (last % LINE_WORDS) + 1});
  });
  return boxes;
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

function start() {
  const wanted = /theme=(light|dark)/.exec(location.hash);
  setTheme(wanted ? wanted[1] : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  window.tmemsim = new Viewer(readTrace(document.getElementById("trace-data").textContent));
}

start();
