// The stream of records (docs/trace-format.md, version 1) as one object.

const NOTHING = Object.freeze([]);

function readTrace(text) {
  const trace = {header: null, memory: [], events: [], findings: [], end: null};
  for (let from = 0; from < text.length;) {
    let to = text.indexOf("\n", from);
    if (to < 0) to = text.length;
    const line = text.slice(from, to).trim();
    from = to + 1;
    if (line) addRecord(trace, JSON.parse(line));
  }
  if (!trace.header) throw new Error("the trace has no header");
  if (trace.header.tmemsim_trace !== 1) throw new Error("the trace has version " + trace.header.tmemsim_trace + "; this page shows version 1");
  return completed(trace);
}

function addRecord(trace, record) {
  switch (record.record) {
    case "header": trace.header = record; break;
    case "memory": trace.memory.push(record); break;
    case "event": trace.events.push(record); break;
    case "finding": trace.findings.push(record); break;
    case "end": trace.end = record; break;
  }
}

// Keys that the stream leaves out when they are empty are filled in, and what the page asks often is looked up once.
function completed(trace) {
  const {header} = trace;
  header.buffers ||= [];
  header.statements ||= [];
  header.files ||= [];
  header.ctas ||= [{cta: 0, cluster: 0, rank: 0, sm: 0}];
  for (const buffer of header.buffers) buffer.shape ||= [];
  for (const event of trace.events) {
    event.reads ||= NOTHING;
    event.writes ||= NOTHING;
    event.cta ||= 0;
    event.warp ||= 0;
    event.findings = NOTHING;
  }
  trace.statements = new Map(header.statements.map((statement) => [statement.id, statement]));
  trace.warpsPerCta = header.launch.warps;
  trace.warpCount = header.ctas.length * trace.warpsPerCta;
  trace.findings.forEach((finding, number) => {
    finding.number = number;
    const at = finding.at && finding.at.event !== undefined ? finding.at.event : finding.event;
    finding.seq = at;
    const event = trace.events[at];
    if (event) event.findings = [...event.findings, finding];
  });
  return trace;
}

function warpNumber(trace, event) {
  return event.cta * trace.warpsPerCta + event.warp;
}

function opOf(trace, event) {
  const statement = trace.statements.get(event.stmt);
  return statement ? statement.op || statement.kind : event.kind;
}

function smOf(trace, cta) {
  const entry = trace.header.ctas[cta];
  return entry && entry.sm !== undefined ? entry.sm : 0;
}

function loopText(loop) {
  return loop ? Object.entries(loop).map(([name, value]) => name + " = " + value).join(", ") : "";
}

// What happened, in a word that follows the operation's name.
function verbOf(event) {
  switch (event.kind) {
    case "execute": return event.async ? "issued" : "";
    case "complete": return "completes";
    case "block": return "waits";
    case "wake": return "goes on";
    case "exit": return "exits";
    case "control": return "decides";
    default: return event.kind;
  }
}

function whoText(trace, event) {
  const cta = trace.header.ctas.length > 1 ? "CTA " + event.cta + " " : "";
  return cta + "warp " + event.warp;
}

// A place of storage, as ranges of it: "lanes 0-31, columns 4-7".
function extentText(trace, extent) {
  const lanes = extent.lanes ? rangeText(extent.space === "reg" ? "thread" : "lane", extent.lanes[0], extent.lanes[1]) : "";
  switch (extent.space) {
    case "tmem":
      return "TMEM" + (trace.header.sms > 1 ? " of SM " + (extent.sm || 0) : "") + ", " + lanes + ", " +
          rangeText("column", extent.columns[0], extent.columns[1]) + (extent.half ? ", " + extent.half + " halves" : "");
    case "reg":
      return "registers, " + lanes + ", " + rangeText("row", extent.rows[0], extent.rows[1]);
    case "shared":
      return "shared memory" + (trace.header.ctas.length > 1 ? " of CTA " + (extent.cta || 0) : "") + ", " + bytesText(extent);
    case "global": {
      const buffer = trace.header.buffers[extent.buffer];
      return (buffer ? buffer.name : "global memory") + ", " + bytesText(extent);
    }
    default:
      return extent.space;
  }
}

function bytesText(extent) {
  const [first, last] = extent.bytes;
  if (!extent.stride) return rangeText("byte", first, last);  // also: every thread the same ones
  const size = last - first + 1, end = last + (extent.lanes[1] - extent.lanes[0]) * extent.stride;
  if (extent.stride === size) return rangeText("byte", first, end);
  return size + " bytes a thread from " + first + ", every " + extent.stride;
}
