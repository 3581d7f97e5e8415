// Colours: the same as those of `supple render`. Components are linear light from 0 to 1, as vertex colours require.

/** Muted colours, easy to distinguish, for bodies in the scene's order; they repeat. */
export const BODIES = [0x4a7caa, 0xd67454, 0x689e7c, 0xdaaa52, 0x8e70a4, 0x4ca0a4, 0xc6768c, 0x967a62];
/** Vertices that are left out of contact with a collider. */
export const RELEASED = 0xcc14be;
export const NO_REGION = 0xffffffff;

// ColorBrewer's diverging map RdBu from blue (compressed) over near white to red (stretched).
const DIVERGING = [
  [33, 102, 172], [67, 147, 195], [146, 197, 222], [209, 229, 240], [243, 243, 243],
  [253, 219, 199], [244, 165, 130], [214, 96, 77], [178, 24, 43],
];
const GOLDEN_TURN = 0.6180339887498949;
const SHADES = [[0.55, 0.62], [0.45, 0.75], [0.55, 0.5]];

function decode(encoded) {
  return encoded <= 0.04045 ? encoded / 12.92 : ((encoded + 0.055) / 1.055) ** 2.4;
}

/** The diverging map at `t` from -1 to 1, as sRGB from 0 to 255. */
export function diverging(t) {
  const last = DIVERGING.length - 1;
  const place = (Math.min(Math.max(t, -1), 1) + 1) * 0.5 * last;
  const cell = Math.min(Math.floor(place), last - 1);
  const share = place - cell;
  return DIVERGING[cell].map((low, k) => low + share * (DIVERGING[cell + 1][k] - low));
}

const TABLE_STEPS = 256;
const divergingTable = new Float32Array(3 * (TABLE_STEPS + 1));
for (let i = 0; i <= TABLE_STEPS; i++) {
  diverging((2 * i) / TABLE_STEPS - 1).forEach((c, k) => (divergingTable[3 * i + k] = 0.9 * decode(c / 255)));
}

/** Writes the colour of a stretch into `colours` at vertex `v`. */
export function writeStretch(colours, v, stretch, limit) {
  const t = (stretch - 1) / (limit - 1);
  const at = 3 * Math.round(Math.min(Math.max(0.5 * (t + 1), 0), 1) * TABLE_STEPS);
  colours[3 * v] = divergingTable[at];
  colours[3 * v + 1] = divergingTable[at + 1];
  colours[3 * v + 2] = divergingTable[at + 2];
}

/** Writes the colour of a stress into `colours` at vertex `v`: the upper half of the map, from zero. */
export function writeStress(colours, v, stress, limit) {
  writeStretch(colours, v, 1 + stress / limit, 2);
}

/** The colour of a kind of cells. */
export function kindColour(kind) {
  return BODIES[kind % BODIES.length];
}

/** The colour of a region; hues turn by the golden angle, so that close numbers are easy to distinguish. */
export function regionColour(region) {
  if (region === NO_REGION) return [0.43, 0.43, 0.43];
  const hue = 6 * ((region * GOLDEN_TURN) % 1);
  const [saturation, lightness] = SHADES[region % 3];
  const chroma = saturation * (1 - Math.abs(2 * lightness - 1));
  return [0, 4, 2].map((shift) => {
    const distance = Math.abs(((hue + shift) % 6) - 3) - 1;
    return decode(lightness + chroma * (Math.min(Math.max(distance, 0), 1) - 0.5));
  });
}

/** The next round number. */
export function roundedUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** The stretch at the end of the scale: the maximum so far, rounded up to a round number. */
export function roundedLimit(deviation) {
  return 1 + roundedUp(Math.min(Math.max(deviation, 0.005), 10));
}
