// Words, bytes and numbers.

const HEX_DIGIT = new Uint8Array(128);
for (let digit = 0; digit < 16; ++digit) {
  HEX_DIGIT["0123456789abcdef".charCodeAt(digit)] = digit;
  HEX_DIGIT["0123456789ABCDEF".charCodeAt(digit)] = digit;
}

// Two digits of `hex` from position `at` on.
function hexByte(hex, at) {
  return (HEX_DIGIT[hex.charCodeAt(at)] << 4) | HEX_DIGIT[hex.charCodeAt(at + 1)];
}

// Eight digits, most significant first.
function hexWord(hex, at) {
  return ((hexByte(hex, at) << 24) | (hexByte(hex, at + 2) << 16) | (hexByte(hex, at + 4) << 8) | hexByte(hex, at + 6)) >>> 0;
}

function wordText(word) {
  return word.toString(16).padStart(8, "0");
}

const scratch = new DataView(new ArrayBuffer(8));

function asF32(word) {
  scratch.setUint32(0, word);
  return scratch.getFloat32(0);
}

function asF16(half) {
  const sign = half & 0x8000 ? -1 : 1, exponent = (half >> 10) & 31, fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// 8-bit floating point without infinities (e4m3) or with them (e5m2).
function asF8(byte, fractionBits, hasInfinity) {
  const exponentBits = 7 - fractionBits, bias = 2 ** (exponentBits - 1) - 1;
  const sign = byte & 0x80 ? -1 : 1;
  const exponent = (byte & 0x7f) >> fractionBits, fraction = byte & (2 ** fractionBits - 1);
  const top = 2 ** exponentBits - 1;
  if (exponent === top && hasInfinity) return fraction ? NaN : sign * Infinity;
  if ((byte & 0x7f) === 0x7f && !hasInfinity) return NaN;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - fractionBits);
  return sign * (1 + fraction / 2 ** fractionBits) * 2 ** (exponent - bias);
}

// The number that `bits` (an integer below 2^32) stands for, or nothing for types that are not shown as numbers.
function numberOf(dtype, bits) {
  switch (dtype) {
    case "f32": case "tf32": return asF32(bits);
    case "f16": return asF16(bits);
    case "bf16": return asF32((bits << 16) >>> 0);
    case "f8e4m3": case "e4m3": return asF8(bits, 3, false);
    case "f8e5m2": case "e5m2": return asF8(bits, 2, true);
    case "u32": case "b32": case "u16": case "b16": case "u8": case "b8": return bits;
    case "i32": case "s32": return bits | 0;
    case "i16": case "s16": return (bits << 16) >> 16;
    case "i8": case "s8": return (bits << 24) >> 24;
    default: return undefined;
  }
}

function numberText(number) {
  if (number === undefined) return "";
  if (Number.isInteger(number) && Math.abs(number) < 1e9) return String(number);
  return String(Number(number.toPrecision(6)));
}

// What a word holds, as elements of the type: "1.5" or "1.5, 2".
function wordAsNumbers(dtype, bits, word) {
  if (bits === 0 || bits > 32) return "";
  const parts = [];
  for (let shift = 0; shift < 32; shift += bits) {
    const part = bits === 32 ? word : (word >>> shift) & (2 ** bits - 1);
    const number = numberOf(dtype, part);
    if (number === undefined) return "";
    parts.push(numberText(number));
  }
  return parts.join(", ");
}

function rangeText(name, first, last) {
  return first === last ? name + " " + first : name + "s " + first + "\u2013" + last;
}

// A mask of 32 lanes in words.
function lanesText(mask) {
  mask >>>= 0;
  if (mask === 0xffffffff) return "all lanes";
  const runs = [];
  for (let lane = 0; lane < 32; ++lane) {
    if (!((mask >>> lane) & 1)) continue;
    const first = lane;
    while (lane < 31 && (mask >>> (lane + 1)) & 1) ++lane;
    runs.push(first === lane ? String(first) : first + "\u2013" + lane);
  }
  return runs.length === 0 ? "no lane" : (runs.length === 1 && !runs[0].includes("\u2013") ? "lane " : "lanes ") + runs.join(", ");
}
