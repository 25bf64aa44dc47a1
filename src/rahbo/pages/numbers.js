// Numbers as text and on axes, for all pages. No loop here or in the pages runs over floats.
"use strict";

const MOST_DIGITS = 17;

function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  return String(Number(value.toPrecision(digits)));
}

// A number in so many digits, with the zeros at its end.
function fixed(value, digits) {
  const text = value.toPrecision(digits);
  return text.includes("e") ? String(Number(text)) : text;
}

// A probability in percent, see percent in numerics/rounding.py.
function percent(share) {
  if (share < 0.001) return "< 0.1 %";
  return share > 0.999 ? "> 99.9 %" : `${number(100 * share, 3)} %`;
}

// The smallest and largest finite number and the larger size of the two; null if there is none.
function extent(numbers) {
  let low = Infinity, high = -Infinity;
  for (const value of numbers) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? null : { low, high, size: Math.max(Math.abs(low), Math.abs(high)) };
}

// How many digits show the differences between some numbers, see digits_of in rounding.py.
function digitsOf(numbers, few = 4) {
  const found = extent(numbers);
  if (found === null) return few;
  const part = (found.high / 2 - found.low / 2) / (found.size / 2);
  if (!(part > 0)) return few;
  return Math.min(MOST_DIGITS, few + Math.max(0, Math.floor(-Math.log10(part))));
}

// Numbers that differ by less than a millionth of their size, or are extremely large or small, are
// drawn as differences from a base, and in a unit. Axes have neither the precision nor the room.
function frameOf(numbers) {
  const found = extent(numbers) ?? { low: 0, high: 1, size: 1 };
  const span = found.high - found.low;
  const isNarrow = span > 0 && span < 1e-6 * found.size;
  const middle = found.low / 2 + found.high / 2;
  const base = isNarrow ? Number(middle.toPrecision(Math.min(MOST_DIGITS, Math.ceil(-Math.log10(span / found.size)) + 1))) : 0;
  const size = isNarrow ? span : found.size;
  const isExtreme = size > 0 && (size < 1e-100 || size > 1e100);
  const unit = isExtreme ? 10 ** Math.min(300, Math.max(-300, Math.floor(Math.log10(size)))) : 1;
  const from = base === 0 ? "" : ` ${base < 0 ? "+" : "−"} ${number(Math.abs(base), MOST_DIGITS)}`;
  return {
    // A missing number stays missing.
    at: (value) => (Number.isFinite(value) ? (value - base) / unit : null),
    title: (text) => text + from + (unit === 1 ? "" : `, in units of ${number(unit)}`),
  };
}

// Round numbers in an interval, about n of them and never more than twice as many.
function ticks(low, high, n, least = 0) {
  const rough = high / n - low / n;
  if (!(rough > 0 && rough < Infinity)) return [];
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, unit * ([1, 2, 5].find((factor) => factor * unit >= rough * 0.999) ?? 10));
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  const many = step > 0 ? Math.min(last - first + 1, 2 * n) : 0;
  return Array.from({ length: Math.max(0, many) || 0 }, (_, i) => (first + i) * step);
}

// How to write an estimate, the ends of its interval and other numbers of its kind, in the digits
// that the interval justifies, see Justified in numerics/rounding.py. Bounds may be missing.
function justified(value, lower, upper) {
  const [low, high] = [lower ?? -Infinity, upper ?? Infinity];
  const size = Math.max(Math.abs(low), Math.abs(high));
  let half = high / 2 - low / 2;
  if (!(Number.isFinite(half) && half > 0)) return (one) => number(one, 5);
  const nearer = Math.min(high - value, value - low);
  half = Number.isFinite(nearer) ? Math.max(nearer, 0.1 * half) : half;
  const place = Math.max(Math.floor(Math.log10(half) + Math.log10(2)) - 1, Math.floor(Math.log10(size)) - 14);
  const isPlain = size >= 1e-4 && size < 1e7;
  return (one) => {
    if (!Number.isFinite(one)) return "–";
    if (isPlain) {
      const text = place > 0 ? String(Math.round(one / 10 ** place) * 10 ** place) : one.toFixed(-place);
      return Number(text) === 0 ? text.replace("-", "") : text;
    }
    const digits = one === 0 ? -1 : Math.floor(Math.log10(Math.abs(one))) - place;
    return digits < 0 ? "0" : one.toExponential(Math.min(digits, 16));
  };
}

// Numbers farther from the quartiles than FAR times the distance between them lie outside a plot,
// if they are few, and if the others would have less than a third of it.
const FAR = 5, FEW_FAR = 0.1;

// The range of most numbers, as in extent, with the limits beyond which a number lies outside.
function bulkOf(numbers) {
  const all = extent(numbers);
  if (all === null) return null;
  const whole = { ...all, from: -Infinity, to: Infinity };
  const sorted = Float64Array.from(numbers.filter(Number.isFinite)).sort(), n = sorted.length;
  const quartile = (part) => {
    const place = part * (n - 1), i = Math.floor(place), j = Math.min(i + 1, n - 1);
    return sorted[i] + (place - i) * (sorted[j] - sorted[i]);
  };
  const [first, third] = [quartile(0.25), quartile(0.75)], spread = third - first;
  if (n < 5 || !(spread > 0 && FAR * spread < Infinity)) return whole;
  const [from, to] = [first - FAR * spread, third + FAR * spread];
  const near = sorted.filter((value) => value >= from && value <= to), found = extent(near);
  if (n - near.length > Math.max(2, FEW_FAR * n) || all.high / 3 - all.low / 3 < found.high - found.low) return whole;
  return n === near.length ? whole : { ...found, from, to };
}

// The ends of a colour scale. They are at least so far apart, because colours that differ say that
// numbers differ, and not below the floor.
function colourRange(numbers, least, floor = -Infinity) {
  const found = bulkOf(numbers);
  if (found === null) return null;
  const more = Math.max(0, least - (found.high - found.low)) / 2 || 0;
  const low = Math.max(floor, found.low - more);
  return [low, Math.max(found.high + more, low + Math.min(least, Number.MAX_VALUE) || 0)];
}

// The middle one of some numbers; zero if there is none.
function median(numbers) {
  const sorted = Float64Array.from(numbers.filter(Number.isFinite)).sort();
  return sorted.length ? sorted[Math.floor(sorted.length / 2)] : 0;
}

// Round numbers on a log scale, at most about n: powers of ten, and a few between them if it spans
// few. Every one can have its full label.
function logTicks(low, high, n) {
  const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const step = Math.max(1, Math.ceil((to - from) / n));
  const powers = Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
  const inside = (factors) => powers.flatMap((power) => factors.map((factor) => Number(`${factor}e${power}`)))
    .filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
  if (Math.log10(high / low) >= 2) return inside([1]);
  const found = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5], [1, 2, 5], [1, 3]].map(inside).find((some) => some.length <= n);
  return found && found.length > 1 ? found : ticks(low, high, n);
}
