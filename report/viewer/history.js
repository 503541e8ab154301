// What happened to one place.

// A place that can be selected: a word of a space.
function placeTitle(trace, place) {
  const {key, word} = place, [space, first, second] = key.split(" ");
  const ctas = trace.header.ctas.length > 1;
  switch (space) {
    case "tmem": {
      const sm = trace.header.sms > 1 ? "SM " + first + ", " : "";
      return "Cell " + sm + "lane " + (word % TMEM_LANES) + ", column " + Math.floor(word / TMEM_LANES);
    }
    case "reg":
      return "Register " + (ctas ? "CTA " + first + ", " : "") + "warp " + second + ", thread " + (word % 32) + ", row " + (word >>> 5);
    case "shared":
      return "Shared memory " + (ctas ? "CTA " + first + ", " : "") + "bytes " + word * 4 + "\u2013" + (word * 4 + 3);
    default: {
      const buffer = trace.header.buffers[Number(first)];
      return (buffer ? buffer.name : "Global memory") + " bytes " + word * 4 + "\u2013" + (word * 4 + 3);
    }
  }
}

// All events that read, write or allocate the word, in order: {event, verbs}.
function historyOf(trace, place) {
  const entries = [];
  for (const event of trace.events) {
    const verbs = verbsAt(event, place);
    if (verbs.length) entries.push({event, verbs});
  }
  return entries;
}

function verbsAt(event, {key, word}) {
  const verbs = [];
  const asynchronous = event.kind === "execute" && event.async, done = event.kind === "complete";
  if (event.reads.some((extent) => touchesWord(extent, key, word)))
    verbs.push(asynchronous ? "starts to read" : done ? "has read" : "reads");
  if (event.writes.some((extent) => touchesWord(extent, key, word)))
    verbs.push(asynchronous ? "starts to write" : done ? "has written" : "writes");
  if (event.allocations && key.startsWith("tmem ")) {
    const column = Math.floor(word / TMEM_LANES);
    for (const {sm = 0, base = 0, columns, live} of event.allocations)
      if (spaceKey.tmem(sm) === key && column >= base && column < base + columns) verbs.push(live ? "allocates" : "frees");
  }
  return verbs;
}

// The places that a finding names, as an extent; nothing when it names none that can be drawn.
function extentOfFinding(finding) {
  const where = finding.where;
  if (!where) return null;
  const cta = where.cta !== undefined ? where.cta : finding.at ? finding.at.cta || 0 : 0;
  switch (where.space) {
    case "tmem":
      return where.columns ? {space: "tmem", sm: where.sm || 0, lanes: where.lanes || [0, TMEM_LANES - 1], columns: where.columns} : null;
    case "reg": case "register":
      if (where.register === undefined || !finding.at) return null;
      return {space: "reg", cta, warp: finding.at.warp || 0, lanes: where.lanes || [0, 31], rows: [where.register, where.register]};
    case "shared":
      return where.bytes ? {space: "shared", cta, bytes: where.bytes} : null;
    default:
      return null;
  }
}
