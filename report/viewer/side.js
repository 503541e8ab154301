// The event, the history of the selected place, and the findings.

const SIDE_TABS = [{id: "event", name: "Event"}, {id: "place", name: "History"}, {id: "findings", name: "Findings"}];
const HISTORY_SHOWN = 300;

class SideView {
  constructor(viewer) {
    this.viewer = viewer;
    this.tab = "event";
    this.box = document.getElementById("side");
    this.history = null;            // {place, entries}
    for (const {id, name} of SIDE_TABS) {
      const button = element("button", {type: "button", role: "tab", text: name});
      button.dataset.tab = id;
      button.addEventListener("click", () => this.show(id));
      document.getElementById("side-tabs").append(button);
      if (id !== "findings") continue;
      const count = viewer.trace.findings.length;
      button.append(element("span", {class: "count" + (count ? " bad" : ""), text: String(count)}));
    }
    this.mark();
  }
  mark() {
    for (const button of document.getElementById("side-tabs").children) button.setAttribute("aria-selected", String(button.dataset.tab === this.tab));
  }
  show(tab) {
    this.tab = tab;
    this.mark();
    this.box.scrollTop = 0;
    this.draw();
  }
  draw() {
    switch (this.tab) {
      case "event": return this.drawEvent();
      case "place": return this.drawPlace();
      default: return this.drawFindings();
    }
  }

  // ---- the event ----
  drawEvent() {
    const {event, trace} = this.viewer;
    if (!event) return this.box.replaceChildren(element("p", {class: "empty", text: "Nothing has happened yet. Press \u2192 or Space."}));
    const statement = trace.statements.get(event.stmt);
    const block = element("div", {class: "block"},
        element("h3", {text: opOf(trace, event) + " " + verbOf(event)}),
        statement ? element("p", {class: "mono", text: statement.text || ""}) : null,
        facts(this.eventFacts(event, statement)));
    const parts = [block];
    for (const [title, extents] of [["reads", event.reads], ["writes", event.writes]])
      if (extents.length) parts.push(this.extents(title, extents));
    if (event.sees && event.sees.length) parts.push(this.edges(event));
    if (event.barriers && event.barriers.length)
      parts.push(element("div", {class: "block"}, element("h4", {text: "Barriers after it"}),
          facts(event.barriers.map((barrier) => [barrierName(trace, barrier), barrierText(barrier)]))));
    this.box.replaceChildren(...parts, ...event.findings.map((finding) => this.finding(finding)));
  }
  eventFacts(event, statement) {
    const {trace} = this.viewer, rows = [];
    rows.push(["By", whoText(trace, event) + (event.lanes === undefined ? "" : ", " + lanesText(event.lanes))]);
    if (event.loop && Object.keys(event.loop).length) rows.push(["Loops", loopText(event.loop)]);
    if (statement && statement.label) rows.push(["Label", statement.label]);
    if (event.text) rows.push(["Outcome", event.text]);
    if (event.of !== undefined) rows.push([event.kind === "complete" ? "Issued at" : "Waited since", this.viewer.eventLink(event.of)]);
    for (const allocation of event.allocations || NOTHING)
      rows.push([allocation.live ? "Allocates" : "Frees", rangeText("column", allocation.base || 0, (allocation.base || 0) + allocation.columns - 1)]);
    const flights = event.in_flight_after || NOTHING;
    if (flights.length) {
      const list = element("span");
      flights.slice(0, 6).forEach((seq) => list.append(this.viewer.eventLink(seq), " "));
      if (flights.length > 6 || event.in_flight_more) list.append("and " + (flights.length - 6 + (event.in_flight_more || 0)) + " more");
      rows.push(["In flight", list]);
    }
    rows.push(["Step", String(event.step || 0)]);
    return rows;
  }
  extents(verb, extents) {
    const block = element("div", {class: "block"}, element("h4", {text: verb === "reads" ? "Reads" : "Writes"}));
    const rows = element("div", {class: "rows"});
    for (const extent of extents) {
      rows.append(element("button", {class: "row", type: "button", style: "grid-template-columns: minmax(0, 1fr)", text: extentText(this.viewer.trace, extent),
        click: () => this.viewer.selectExtent(extent)}));
    }
    block.append(rows);
    return block;
  }
  edges(event) {
    const block = element("div", {class: "block"}, element("h4", {text: "Sees"})), rows = element("div", {class: "rows"});
    for (const {event: seq, by} of event.sees) rows.append(this.row(seq, [element("span", {class: "muted", text: (by || "") + " of "}), this.viewer.nameOfEvent(seq)]));
    block.append(rows);
    return block;
  }
  // A line that goes to an event.
  row(seq, what) {
    const {trace, event} = this.viewer, other = trace.events[seq];
    const present = event && event.seq === seq, future = !event || seq > event.seq;
    return element("button", {class: "row" + (present ? " present" : future ? " future" : ""), type: "button", click: () => this.viewer.jump(seq + 1)},
        element("span", {class: "when", text: String(seq)}), element("span", {}, ...what),
        element("span", {class: "who", text: other ? whoText(trace, other) : ""}));
  }

  // ---- the place ----
  entries(place) {
    if (!this.history || this.history.place.key !== place.key || this.history.place.word !== place.word)
      this.history = {place, entries: historyOf(this.viewer.trace, place)};
    return this.history.entries;
  }
  drawPlace() {
    const {place, trace} = this.viewer;
    if (!place) return this.box.replaceChildren(element("p", {class: "empty", text: "Click a cell, a register or a word of memory."}));
    const entries = this.entries(place), present = this.viewer.position - 1;
    const head = element("div", {class: "block"}, element("h3", {id: "place-title", text: placeTitle(trace, place)}), facts(this.viewer.placeFacts(place)));
    const list = element("div", {class: "rows", id: "place-history"});
    const next = entries.findIndex(({event}) => event.seq > present), at = next < 0 ? entries.length : next;
    const first = Math.max(0, Math.min(at - HISTORY_SHOWN / 2, entries.length - HISTORY_SHOWN)), shown = entries.slice(first, first + HISTORY_SHOWN);
    if (first > 0) list.append(element("p", {class: "small", text: first + " earlier ones"}));
    for (const {event, verbs} of shown) {
      const verb = verbs.join(", ");
      list.append(this.row(event.seq, [element("span", {class: "verb " + (/writ|alloc|free/.test(verb) ? "writes" : "reads"), text: verb}), " " + opOf(trace, event)]));
    }
    if (first + shown.length < entries.length) list.append(element("p", {class: "small", text: entries.length - first - shown.length + " later ones"}));
    if (!entries.length) list.append(element("p", {class: "small", text: "Nobody touches it in this run."}));
    this.box.replaceChildren(head, element("div", {class: "block"}, element("h4", {text: "History (p, n: previous, next)"}), list));
  }

  // ---- findings ----
  drawFindings() {
    const {trace} = this.viewer;
    if (!trace.findings.length) return this.box.replaceChildren(element("p", {class: "empty", text: "No finding: every rule was kept."}));
    this.box.replaceChildren(...trace.findings.map((finding) => this.finding(finding)));
    const chosen = this.box.querySelector(".chosen");
    if (chosen) keepInView(this.box, chosen);
  }
  finding(finding) {
    const {viewer} = this, warning = finding.severity && finding.severity !== "error";
    const count = finding.count > 1 ? " (" + finding.count + " times)" : "";
    const actions = element("div", {class: "actions"});
    for (const [name, ref] of [["at", finding.at], ["other", finding.other]]) {
      if (!ref || (ref.event === undefined && name === "other")) continue;
      const seq = ref.event !== undefined ? ref.event : finding.event;
      if (seq === undefined) continue;
      actions.append(element("button", {class: "link", type: "button", click: () => viewer.goToFinding(finding, seq),
        text: name + ": " + (ref.op || "") + (ref.label ? " (" + ref.label + ")" : "") + ", warp " + (ref.warp || 0) + ", event " + seq}));
    }
    const section = finding.section ? " [PTX ISA " + finding.section + "]" : "";
    const place = finding.where && finding.where.buffer ? finding.where.buffer + (finding.where.index && finding.where.index.length ? "[" + finding.where.index.join(",") + "]" : "") : "";
    const option = finding.profile_switch ? finding.profile_switch.name + ": " + finding.profile_switch.value : "";
    return element("div", {class: "block finding" + (warning ? " warning" : "") + (viewer.finding === finding ? " chosen" : ""), "data-finding": finding.number},
        element("h3", {}, element("span", {class: "name", text: finding.verdict}), count),
        element("p", {text: finding.message || ""}),
        facts([["Where", placeOfFinding(finding)], ["Element", place], ["Rule", (finding.rule || "") + section], ["Fix", finding.fix || ""], ["Decided by", option]]
            .filter(([, text]) => text)),
        actions);
  }
}

function placeOfFinding({where}) {
  if (!where) return "";
  const parts = [];
  if (where.space) parts.push({tmem: "tensor memory", shared: "shared memory", global: "global memory", reg: "registers", register: "registers"}[where.space] || where.space);
  if (where.sm) parts.push("SM " + where.sm);
  if (where.lanes) parts.push(rangeText("lane", ...where.lanes));
  if (where.columns) parts.push(rangeText("column", ...where.columns));
  if (where.bytes) parts.push(rangeText("byte", ...where.bytes));
  if (where.register !== undefined) parts.push("row " + where.register);
  return parts.join(", ");
}

function facts(rows) {
  const list = element("dl", {class: "facts"});
  for (const [name, value] of rows) {
    list.append(element("dt", {text: name}), value instanceof Node ? element("dd", {}, value) : element("dd", {text: value}));
  }
  return list;
}
