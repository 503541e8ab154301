// Colours. Their names stand in viewer.css, once for each theme; canvases take them as packed pixels.

// Neighbours in the list lie far apart on the wheel.
const HUES = [212, 28, 280, 168, 340, 48, 238, 96, 4, 190, 312, 68];

const palette = {
  names: {},
  dark: false,

  refresh() {
    const style = getComputedStyle(document.documentElement);
    this.dark = style.getPropertyValue("color-scheme").trim() === "dark";
    this.names = {};
    for (const name of ["unallocated", "unallocated-dot", "fresh", "valid", "write", "read", "both", "initial", "text"])
      this.names[name] = style.getPropertyValue("--cell-" + name).trim();
    for (const name of ["panel", "sunken", "line", "line-strong", "ink", "muted", "faint", "accent", "accent-soft", "good", "bad", "bad-soft", "warn", "warn-soft",
      "mark-read", "mark-write", "mark-finding", "mark-selection"])
      this.names[name] = style.getPropertyValue("--" + name).trim();
    this.pixels = Object.fromEntries(Object.entries(this.names).map(([name, css]) => [name, pixelOfHex(css)]));
    this.numbered = [];
    this.ramp = null;
  },

  // Colours that belong together and are easy to tell apart: buffers, warps.
  category(number) {
    const known = this.numbered[number];
    if (known) return known;
    const hue = HUES[number % HUES.length], ring = Math.floor(number / HUES.length) % 3;
    const saturation = this.dark ? 0.3 : 0.42, lightness = (this.dark ? 46 : 73) / 100 - 0.07 * ring;
    const pixel = pixelOfHsl(hue, saturation, lightness);
    return (this.numbered[number] = {css: cssOfPixel(pixel), pixel});
  },

  // From -1 (blue) through 0 to 1 (red-brown).
  value(t) {
    this.ramp ||= Array.from({length: 201}, (_, k) => rampPixel((k - 100) / 100, this.dark));
    return this.ramp[Math.round(100 * Math.max(-1, Math.min(1, t))) + 100];
  },
  rampCss() {
    const stops = [-1, -0.5, 0, 0.5, 1].map((t) => cssOfPixel(rampPixel(t, this.dark)));
    return "linear-gradient(90deg, " + stops.join(", ") + ")";
  },
};

function packed(red, green, blue) {
  return ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;
}

function cssOfPixel(pixel) {
  return `rgb(${pixel & 255} ${(pixel >>> 8) & 255} ${(pixel >>> 16) & 255})`;
}

function pixelOfHex(css) {
  const digits = parseInt(css.slice(1), 16);
  return packed((digits >> 16) & 255, (digits >> 8) & 255, digits & 255);
}

function pixelOfHsl(hue, saturation, lightness) {
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return 255 * (lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return packed(part(0), part(8), part(4));
}

function rampPixel(t, dark) {
  const middle = dark ? [88, 90, 94] : [243, 241, 236];  // zero differs from never written
  const end = t < 0 ? (dark ? [82, 146, 222] : [58, 112, 178]) : (dark ? [232, 138, 76] : [190, 94, 48]);
  const share = Math.abs(t) ** 0.8;
  return packed(...middle.map((from, k) => from + (end[k] - from) * share));
}
