// The time line: a track for each warp, with what it did, what was under way, and when it waited. Long runs show a part of it
// around the present event (the wheel widens or narrows it), and below it the whole run as a slider.

const TRACK_LABEL = 38;
const TRACKS_AT_MOST = 24;
const UNIT = {comfortable: 4, start: 7, most: 26};   // pixels an event

class TracksView {
  constructor(viewer) {
    this.viewer = viewer;
    this.canvas = document.getElementById("tracks");
    this.overview = document.getElementById("overview");
    this.slider = document.getElementById("slider");
    this.still = document.createElement("canvas");
    this.painted = "";              // what `still` shows
    const {trace} = viewer;
    this.perTrack = Math.ceil(trace.warpCount / TRACKS_AT_MOST);      // warps on one track
    this.tracks = Math.ceil(trace.warpCount / this.perTrack);
    this.pitch = this.tracks <= 4 ? 14 : this.tracks <= 8 ? 11 : this.tracks <= 16 ? 7 : 5;
    this.height = this.tracks * this.pitch + 9;
    this.canvas.style.height = this.height + "px";
    this.slider.max = String(trace.events.length);
    this.slider.addEventListener("input", () => viewer.goTo(Number(this.slider.value)));
    this.spans = trace.events.filter((event) => event.of !== undefined && (event.kind === "complete" || event.kind === "wake"));
    this.unit = 0;
    this.first = 0;                 // event at the left end
    new ResizeObserver(() => { this.resized(); this.draw(); }).observe(this.canvas);
    this.listen();
  }
  get length() {
    return Math.max(1, this.viewer.trace.events.length);
  }
  get width() {
    return this.canvas.clientWidth - TRACK_LABEL;
  }
  resized() {
    if (this.width <= 0) return;
    const whole = this.width / this.length;
    if (!this.unit) this.unit = whole >= UNIT.comfortable ? whole : UNIT.start;
    this.unit = Math.max(this.unit, whole);
  }
  listen() {
    let dragging = false;
    const go = (event) => this.viewer.goTo(this.positionAt(event.offsetX));
    this.canvas.addEventListener("pointerdown", (event) => {
      dragging = true;
      this.held = this.first;       // the tape stands still while it is dragged on
      this.canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (dragging) return go(event);
      const other = this.viewer.trace.events[this.positionAt(event.offsetX) - 1];
      showTip(other ? "event " + other.seq + ": " + this.viewer.nameOfEvent(other.seq) + ", " + whoText(this.viewer.trace, other) : null, event.clientX, event.clientY - 56);
    });
    const release = () => { dragging = false; this.held = undefined; };
    this.canvas.addEventListener("pointerup", release);
    this.canvas.addEventListener("pointercancel", release);
    this.canvas.addEventListener("pointerleave", () => showTip(null));
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const factor = Math.exp(-Math.max(-120, Math.min(120, event.deltaY)) * 0.004), whole = this.width / this.length;
      this.unit = Math.max(whole, Math.min(Math.max(whole, UNIT.most), this.unit * factor));
      this.draw();
    }, {passive: false});
  }
  positionAt(x) {
    return Math.max(1, Math.min(this.length, Math.floor((x - TRACK_LABEL) / this.unit + this.first) + 1));
  }
  trackOf(event) {
    return Math.floor(warpNumber(this.viewer.trace, event) / this.perTrack);
  }
  y(track) {
    return 8 + track * this.pitch;
  }
  x(seq) {
    return TRACK_LABEL + (seq - this.first) * this.unit;
  }
  // The middle of an event's tick.
  middle(seq) {
    return this.x(seq) + Math.min(this.unit / 2, 7);
  }
  trackName(track) {
    const {trace} = this.viewer, warp = track * this.perTrack;
    const cta = Math.floor(warp / trace.warpsPerCta);
    return trace.header.ctas.length > 1 ? cta + " w" + (warp % trace.warpsPerCta) : "w" + warp;
  }

  // Moves the tape so that the present event is in its middle half.
  follow() {
    const shown = this.width / this.unit, present = this.viewer.position - 1, last = Math.max(0, this.length - shown);
    if (this.held !== undefined) this.first = this.held;
    else if (present < this.first + shown * 0.25 || present > this.first + shown * 0.75) this.first = present - shown / 2;
    this.first = Math.max(0, Math.min(last, this.first));
  }

  draw() {
    if (this.width <= 0) return;
    this.resized();
    this.follow();
    const {position, event} = this.viewer, ratio = window.devicePixelRatio || 1;
    this.slider.value = String(position);
    const now = [this.first, this.unit, this.width, ratio, palette.dark].join(" ");
    if (now !== this.painted) {
      this.paintStill(ratio);
      this.painted = now;
      this.drawOverview(ratio);
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.still, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = event ? this.middle(event.seq) : TRACK_LABEL;
    context.fillStyle = palette.names.accent;
    context.fillRect(x - 0.75, 0, 1.5, this.height);
    if (!event) return;
    context.beginPath();
    context.arc(x, this.y(this.trackOf(event)) + this.pitch / 2 - 1, Math.min(4, this.pitch / 2), 0, 7);
    context.fill();
  }

  // What does not change from step to step.
  paintStill(ratio) {
    for (const canvas of [this.still, this.canvas]) {
      canvas.width = Math.round(this.canvas.clientWidth * ratio);
      canvas.height = Math.round(this.height * ratio);
    }
    const context = this.still.getContext("2d"), {names} = palette;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "10px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (let track = 0; track < this.tracks; ++track) {
      const y = this.y(track);
      context.fillStyle = names.sunken;
      context.fillRect(TRACK_LABEL, y, this.width, this.pitch - 2);
      if (this.pitch < 11 && track % Math.ceil(11 / this.pitch)) continue;
      context.fillStyle = names.muted;
      context.fillText(this.trackName(track), TRACK_LABEL - 6, y + this.pitch / 2 - 0.5);
    }
    context.beginPath();
    context.rect(TRACK_LABEL, 0, this.width, this.height);
    context.clip();
    this.paintSpans(context);
    this.paintEvents(context);
    this.paintFindings(context);
  }
  // From issue to completion, and from wait to wake.
  paintSpans(context) {
    const end = this.first + this.width / this.unit;
    for (const event of this.spans) {
      if (event.of > end || event.seq < this.first) continue;
      const y = this.y(this.trackOf(event)), from = this.x(event.of), width = Math.max(1, this.x(event.seq + 1) - from);
      context.fillStyle = event.kind === "complete" ? palette.names.read : palette.names["warn-soft"];
      if (event.kind === "complete") context.fillRect(from, y + this.pitch - 4, width, 2);
      else context.fillRect(from, y, width, this.pitch - 2);
    }
  }
  paintEvents(context) {
    const {events} = this.viewer.trace, end = Math.min(events.length, Math.ceil(this.first + this.width / this.unit));
    const width = Math.max(1, Math.min(this.unit - (this.unit > 3 ? 1 : 0), 14)), height = this.pitch - (this.pitch > 8 ? 5 : 3);
    for (let seq = Math.floor(this.first); seq < end; ++seq) {
      context.fillStyle = this.colourOf(events[seq]);
      context.fillRect(this.x(seq), this.y(this.trackOf(events[seq])), width, height);
    }
  }
  colourOf(event) {
    const {names} = palette;
    if (event.kind === "complete") return names.read;
    if (event.kind === "block") return names.warn;
    if (event.kind === "wake" || event.kind === "exit" || event.kind === "control") return names.faint;
    return opOf(this.viewer.trace, event).startsWith("tcgen05") ? names.good : names["line-strong"];
  }
  paintFindings(context) {
    context.fillStyle = palette.names.bad;
    for (const finding of this.viewer.trace.findings) {
      if (finding.seq === undefined || finding.seq + 1 < this.first || this.x(finding.seq) > this.canvas.clientWidth) continue;
      const x = Math.min(this.canvas.clientWidth - 4, this.middle(finding.seq));
      context.beginPath();
      context.moveTo(x - 4, 0);
      context.lineTo(x + 4, 0);
      context.lineTo(x, 7);
      context.fill();
    }
  }
  // The whole run: findings, and the part that the tracks show.
  drawOverview(ratio) {
    const box = this.overview.getBoundingClientRect(), context = this.overview.getContext("2d");
    this.overview.width = Math.round(box.width * ratio);
    this.overview.height = Math.round(box.height * ratio);
    context.scale(ratio, ratio);
    const scale = box.width / this.length, shown = this.width / this.unit;
    if (shown > this.length - 0.5) return;
    context.fillStyle = palette.names["line-strong"];
    context.fillRect(this.first * scale, 0, Math.max(3, shown * scale), box.height);
    context.fillStyle = palette.names.bad;
    for (const finding of this.viewer.trace.findings)
      if (finding.seq !== undefined) context.fillRect(Math.min(box.width - 2, finding.seq * scale), 0, 2, box.height);
  }
}
