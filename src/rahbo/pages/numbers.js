// Numbers as text and on axes, for all pages. No loop here or in the pages runs over floats.
"use strict";

const MOST_DIGITS = 17;

function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  return String(Number(value.toPrecision(digits)));
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
