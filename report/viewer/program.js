// The program with the statement at which each warp stands.

class ProgramView {
  constructor(viewer) {
    this.viewer = viewer;
    this.box = document.getElementById("program");
    this.foot = document.getElementById("source-line");
    this.rows = new Map();        // statement -> row
    this.marked = [];
    this.now = null;
    this.cta = "follow";
    this.build();
    this.chooseCta();
  }
  build() {
    const {trace} = this.viewer;
    const run = new Set(trace.events.map((event) => event.stmt));
    const faulty = new Set(trace.findings.map((finding) => finding.at && finding.at.stmt));
    for (const statement of trace.header.statements) {
      const row = element("div", {class: "stmt " + kindOfStatement(statement), style: "--depth: " + (statement.depth || 0)});
      row.append(element("span", {class: "line-number", text: statement.line || ""}), this.words(statement), element("span", {class: "marks"}));
      if (!run.has(statement.id) && statement.kind === "op") row.classList.add("never");
      if (faulty.has(statement.id)) row.classList.add("faulty");
      row.title = statement.kind === "tile" ? "A tile operation; the lines below it are what it became" : "Go to its next execution";
      row.addEventListener("click", () => this.viewer.goToStatement(statement.id));
      row.addEventListener("mouseenter", () => this.showSource(statement));
      row.addEventListener("mouseleave", () => this.showSource(this.current()));
      this.rows.set(statement.id, row);
      this.box.append(row);
    }
  }
  words(statement) {
    const words = element("span", {class: "words"});
    const branch = statement.branch === "else" ? "else: " : "";
    if (statement.label) words.append(element("span", {class: "label", text: statement.label + ": "}));
    if (statement.where) words.append(element("span", {class: "where", text: "@" + statement.where + " "}));
    if (branch) words.append(element("span", {class: "where", text: branch}));
    const text = statement.text || statement.op || statement.kind, space = text.indexOf(" ");
    words.append(element("span", {class: "op", text: space < 0 ? text : text.slice(0, space)}), space < 0 ? "" : text.slice(space));
    return words;
  }
  chooseCta() {
    const {ctas} = this.viewer.trace.header, choice = document.getElementById("program-cta");
    choice.parentElement.hidden = ctas.length < 2;
    choice.append(element("option", {value: "follow", text: "of the event"}), ...ctas.map(({cta = 0}) => element("option", {value: String(cta), text: String(cta)})));
    choice.addEventListener("change", () => { this.cta = choice.value; this.viewer.refresh(); });
  }
  current() {
    const event = this.viewer.event;
    return event ? this.viewer.trace.statements.get(event.stmt) : null;
  }

  draw() {
    const {event, trace, state} = this.viewer;
    for (const row of this.marked) row.lastChild.replaceChildren();
    this.marked = [];
    if (this.now) this.now.classList.remove("now");
    this.now = event ? this.rows.get(event.stmt) || null : null;
    if (this.now) this.now.classList.add("now");
    const cta = this.cta === "follow" ? (event ? event.cta : 0) : Number(this.cta);
    for (const {statement, first, last, waiting} of warpRuns(trace, state, cta)) {
      const row = this.rows.get(statement);
      if (!row) continue;
      const acting = event && event.cta === cta && event.warp >= first && event.warp <= last;
      row.lastChild.append(element("span", {
        class: "mark" + (waiting ? " waiting" : "") + (acting ? " acting" : ""),
        text: (first === last ? "w" + first : "w" + first + "\u2013" + last) + (waiting ? " waits" : ""),
      }));
      this.marked.push(row);
    }
    this.showSource(this.current());
    if (this.now) keepInView(this.box, this.now);
  }
  showSource(statement) {
    this.foot.textContent = statement ? sourceText(this.viewer.trace, statement) : "";
  }
}

function kindOfStatement({kind}) {
  return kind === "tile" ? "tile" : kind === "op" ? "machine" : "control";
}

// Neighbouring warps of a CTA that stand at the same statement.
function warpRuns(trace, state, cta) {
  const runs = [];
  for (let warp = 0; warp < trace.warpsPerCta; ++warp) {
    const last = state.warps[cta * trace.warpsPerCta + warp];
    if (!last || last.kind === "exit") continue;
    const waiting = last.kind === "block", before = runs[runs.length - 1];
    if (before && before.statement === last.stmt && before.waiting === waiting && before.last === warp - 1) before.last = warp;
    else runs.push({statement: last.stmt, first: warp, last: warp, waiting});
  }
  return runs;
}

function sourceText(trace, statement) {
  const file = trace.header.files[statement.file || 0];
  if (!file || !statement.line) return "";
  file.lines ||= (file.text || "").split("\n");
  return file.name + ":" + statement.line + "\n" + (file.lines[statement.line - 1] || "").trim();
}

function keepInView(box, row) {
  const top = row.offsetTop - box.offsetTop, margin = 40;
  if (top < box.scrollTop + margin) box.scrollTop = top - margin;
  else if (top + row.offsetHeight > box.scrollTop + box.clientHeight - margin) box.scrollTop = top + row.offsetHeight - box.clientHeight + margin;
}
