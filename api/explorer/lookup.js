// The page of `halfulp formats --explore`.
//
// Numbers are exact: {n, d} is the rational n / d, with BigInts and d > 0. Nothing here rounds to a format. A code is
// decoded, numbers are compared, and what a rounding gives is looked up in TABLES, which Python's halfulp made. (A
// typed decimal is read by Number, as MLIR reads its literals: as the nearest f64.)

"use strict";

const TABLES = JSON.parse(document.getElementById("tables").textContent);
const FORMATS = new Map(TABLES.formats.map((row) => [row.name, prepared(row)]));
const STOCHASTIC = "stochastic";
/** Columns of the tables: the modes, and three ways of stochastic rounding. */
const COLUMNS = TABLES.modes.length + 3;
const FLAG_NAMES = [
  [1, "inexact"],
  [2, "underflow"],
  [4, "overflow"],
  [8, "divide by zero"],
  [16, "invalid"],
];
const MOST_CHARACTERS = 100000;
/** The largest size of a number, in bits: beyond all formats, and still quick to compute with. */
const MOST_SIZE = 100000;
/** Integers of more bits are not spelled. */
const MOST_BITS = 14000;

/** A row of the tables, its codes and magnitudes as BigInts. */
function prepared(row) {
  const format = { ...row, outcomes: row.outcomes.map(([result, flags, rule]) => [result, flags, TABLES.rules[rule]]) };
  for (const key of ["quietBit", "nanCode", "minNormalMagnitude", "maxMagnitude", "infinityMagnitude"]) {
    format[key] = row[key] === null ? null : BigInt(row[key]);
  }
  format.regions = row.regions.map((region) => ({ ...region, last: BigInt(region.last) }));
  return format;
}

// --- exact numbers ---------------------------------------------------------------------------------------------------

function absolute(n) {
  return n < 0n ? -n : n;
}

function bitLength(n) {
  return n === 0n ? 0 : absolute(n).toString(2).length;
}

/** significand * 2**exponent */
function scaled(significand, exponent) {
  return exponent >= 0 ? { n: significand << BigInt(exponent), d: 1n } : { n: significand, d: 1n << BigInt(-exponent) };
}

/** Negative, zero or positive as a is less than, equal to or greater than b. */
function compare(a, b) {
  const difference = a.n * b.d - b.n * a.d;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function minus(a, b) {
  return { n: a.n * b.d - b.n * a.d, d: a.d * b.d };
}

function plus(a, b) {
  return minus(a, { n: -b.n, d: b.d });
}

function over(a, b) {
  return b.n < 0n ? { n: -a.n * b.d, d: a.d * -b.n } : { n: a.n * b.d, d: a.d * b.n };
}

function half(a) {
  return { n: a.n, d: a.d * 2n };
}

function magnitudeOf(a) {
  return { n: absolute(a.n), d: a.d };
}

/** In lowest terms. Powers of two, nearly all there is, are taken out first. */
function reduced(a) {
  if (a.n === 0n) return { n: 0n, d: 1n };
  const shared = BigInt(Math.min(trailingZeros(a.n), trailingZeros(a.d)));
  let [n, d] = [a.n >> shared, a.d >> shared];
  let [x, y] = [absolute(n), d];
  if (bitLength(d) - 1 === trailingZeros(d)) return { n, d };
  while (y) [x, y] = [y, x % y];
  return { n: n / x, d: d / x };
}

function trailingZeros(n) {
  return bitLength(n & -n) - 1;
}

// --- codes -----------------------------------------------------------------------------------------------------------

/** A code taken apart: (-1)**sign * significand * 2**exponent if it is finite; of a NaN, its fraction field. */
function unpack(format, code) {
  const mantissa = BigInt(format.mantissaBits);
  const sign = format.signed ? Number(code >> BigInt(format.bits - 1)) : 0;
  const fraction = code & ((1n << mantissa) - 1n);
  const exponentMask = (1n << BigInt(format.exponentBits)) - 1n;
  let magnitude = code & ((1n << BigInt(format.exponentBits + format.mantissaBits)) - 1n);
  let integerBit = magnitude >= format.minNormalMagnitude ? 1n : 0n;
  if (format.integerBit) {
    const field = (code >> (mantissa + 1n)) & exponentMask;
    integerBit = (code >> mantissa) & 1n;
    if (field && !integerBit) return { kind: "signalling nan", sign: 0, significand: 0n, invalid: true };
    magnitude = (field << mantissa) | fraction;
  }
  if (magnitude > format.maxMagnitude || code === format.nanCode) {
    if (magnitude === format.infinityMagnitude) return { kind: "inf", sign };
    if (!format.nanHasPayload) return { kind: "nan", sign: 0, significand: 0n };
    return { kind: format.quietBit & ~code ? "signalling nan" : "nan", sign, significand: fraction };
  }
  const field = Number(magnitude >> mantissa);
  const exponent = (field || Number(format.zero)) - format.bias - format.mantissaBits;
  return { kind: "finite", sign, significand: (integerBit << mantissa) | fraction, exponent };
}

/** The exact value of a code; null for NaNs and infinities. */
function valueOf(format, code) {
  const x = unpack(format, code);
  return x.kind === "finite" ? scaled(x.sign ? -x.significand : x.significand, x.exponent) : null;
}

/** The code of a magnitude, which is a code without its sign and, where there is one, its integer bit. */
function codeOf(format, sign, magnitude) {
  let code = magnitude;
  if (format.integerBit) {
    const mantissa = BigInt(format.mantissaBits);
    const field = magnitude >> mantissa;
    const fraction = magnitude & ((1n << mantissa) - 1n);
    code = (field << (mantissa + 1n)) | (field ? 1n << mantissa : 0n) | fraction;
  }
  const negative = sign && format.signed && (magnitude || format.negativeZero);
  return negative ? code | (1n << BigInt(format.bits - 1)) : code;
}

function magnitudeValue(format, magnitude) {
  return valueOf(format, codeOf(format, 0, magnitude));
}

/** The largest magnitude whose value is not above x >= 0, by bisection; null below the smallest. */
function magnitudeBelow(format, x) {
  if (compare(magnitudeValue(format, 0n), x) > 0) return null;
  let [first, last] = [0n, format.maxMagnitude];
  while (first < last) {
    const middle = (first + last + 1n) / 2n;
    if (compare(magnitudeValue(format, middle), x) <= 0) first = middle;
    else last = middle - 1n;
  }
  return first;
}

// --- numbers as text: the same as halfulp.explain writes --------------------------------------------------------------

/** A rational number in decimals: exact where that many digits suffice, else cut after half as many, with "...". */
function decimalText(number, most = 60) {
  if (number.n === 0n) return "0";
  const x = magnitudeOf(number);
  // The exponent of the first digit: an estimate, then corrected.
  let first = Math.floor((bitLength(x.n) - bitLength(x.d)) * Math.log10(2)) - 1;
  while (compare(powerOfTen(first + 1), x) <= 0) first += 1;
  const whole = over(x, powerOfTen(first - most + 1));
  const exact = whole.n % whole.d === 0n;
  const precision = exact ? most : most >> 1;
  const kept = exact ? whole : over(x, powerOfTen(first - precision + 1));
  const digits = String(kept.n / kept.d).replace(/0+$/, "");
  // Of a number that is cut, no zeros stand in place of digits, and few before them.
  const plain = (exact ? -8 : -5) < first && first < Math.min(21, precision);
  const more = exact ? "" : "...";
  let text;
  if (!plain) {
    text = digits[0] + (digits.length > 1 ? `.${digits.slice(1)}` : "");
    return `${number.n < 0n ? "-" : ""}${text}${more}e${first < 0 ? "-" : "+"}${Math.abs(first)}`;
  }
  if (first < 0) text = `0.${"0".repeat(-first - 1)}${digits}`;
  else if (digits.length <= first + 1) text = digits.padEnd(first + 1, "0");
  else text = `${digits.slice(0, first + 1)}.${digits.slice(first + 1)}`;
  return `${number.n < 0n ? "-" : ""}${text}${more}`;
}

function powerOfTen(exponent) {
  return exponent >= 0 ? { n: 10n ** BigInt(exponent), d: 1n } : { n: 1n, d: 10n ** BigInt(-exponent) };
}

/** 5/16; an odd integer times a power of two where that is shorter, decimals where both are endless. */
function fractionText(number) {
  const { n, d } = reduced(number);
  const bits = Math.max(bitLength(n), bitLength(d));
  const power = bits > 64 ? powerText({ n, d }) : null;
  if (power !== null) return power;
  if (bits >= MOST_BITS) return decimalText(number);
  return d === 1n ? String(n) : `${n}/${d}`;
}

/** An odd integer times a power of two, 5 * 2^-4; null for zero, odd integers and what is no such number. */
function powerText(number, times = " * ") {
  const { n, d } = reduced(number);
  if (n === 0n || d !== 1n << BigInt(trailingZeros(d))) return null;
  const power = trailingZeros(n) - trailingZeros(d);
  const odd = power > 0 ? n >> BigInt(power) : n;
  return power && bitLength(odd) < MOST_BITS ? `${odd}${times}2^${power}` : null;
}

/** An exact number in few characters, for a table: 0.3125, 7·2^13. */
function shortText(number) {
  const plain = decimalText(number);
  if (plain.length <= 7 && !plain.includes("e")) return plain;
  return (powerText(number, "·") ?? plain).replace(/^(-?)1·/, "$1");
}

/** A number in decimals, as a fraction and as an odd integer times a power of two, as far as these differ. */
function numberText(number) {
  const spellings = [decimalText(number), fractionText(number), powerText(number)];
  return [...new Set(spellings.filter((spelling) => spelling !== null))].join(" = ");
}

function hexText(format, code) {
  return `0x${code.toString(16).toUpperCase().padStart(Math.ceil(format.bits / 4), "0")}`;
}

/** What a code stands for: an exact decimal number, inf, nan; `write` puts a number other than zero into text. */
function valueText(format, code, write = (number) => decimalText(number, 80)) {
  const x = unpack(format, code);
  const hasSign = format.signed && (!x.kind.endsWith("nan") || format.nanHasPayload);
  const negative = hasSign && code >> BigInt(format.bits - 1) ? "-" : "";
  if (x.kind !== "finite") return negative + x.kind;
  return x.significand === 0n ? `${negative}0` : write(valueOf(format, code));
}

/** A finite value as sign, binary significand and power of two: 1.010 * 2^-2. */
function binaryText(format, code) {
  const x = unpack(format, code);
  if (x.significand === 0n) return "0";
  const digits = x.significand.toString(2).padStart(format.mantissaBits + 1, "0");
  const point = format.mantissaBits ? `${digits[0]}.${digits.slice(1)}` : digits;
  return `${x.sign ? "-" : ""}${point} * 2^${x.exponent + format.mantissaBits}`;
}

/** An exact number as a hexadecimal float of C, 0x1.8p-3; null where the denominator is not a power of two. */
function hexFloatText(number, negative = number.n < 0n) {
  const sign = negative ? "-" : "";
  if (number.n === 0n) return `${sign}0x0p+0`;
  const { n, d } = reduced(number);
  const size = absolute(n) >> BigInt(trailingZeros(n));
  if (d !== 1n << BigInt(trailingZeros(d)) || bitLength(size) > MOST_BITS) return null;
  const rest = size.toString(2).slice(1);
  const digits = rest.replace(/.{1,4}/g, (four) => parseInt(four.padEnd(4, "0"), 2).toString(16));
  const exponent = bitLength(n) - bitLength(d);
  return `${sign}0x1${digits && "."}${digits}p${exponent < 0 ? "" : "+"}${exponent}`;
}

function flagsText(flags) {
  const raised = FLAG_NAMES.filter(([bit]) => flags & bit).map(([, name]) => name);
  return raised.join(", ") || "none";
}

function signedText(number) {
  return (number.n > 0n ? "+" : "") + decimalText(number, 12);
}

// --- what is rounded -------------------------------------------------------------------------------------------------

/**
 * Text as halfulp.explain reads it: {text, reading, kind, sign, exact, code, fixed}. `exact` is null unless the kind
 * is "finite"; `code` and `fixed`, the result, are set for bits, which are not rounded. Throws an Error that says what is wrong.
 */
function given(format, typed) {
  const text = typed.trim();
  if (text.length > MOST_CHARACTERS) {
    throw new Error(`a number of ${text.length} characters is too long; at most ${MOST_CHARACTERS} are read`);
  }
  const fraction = /^([+-]?\d+)\s*\/\s*(\d+)$/.exec(text);
  if (fraction) {
    const exact = { n: BigInt(fraction[1].replace("+", "")), d: BigInt(fraction[2]) };
    if (exact.d === 0n) throw new Error(`'${text}' divides by zero`);
    return { text, reading: "", kind: "finite", sign: Number(fraction[1][0] === "-"), exact: reduced(exact), code: null };
  }
  if (/^0x(?=.*[0-9a-f])[0-9a-f_]+$/i.test(text)) {
    const code = BigInt(text.replaceAll("_", ""));
    if (code >> BigInt(format.bits)) {
      throw new Error(`the bit pattern ${text} does not fit the ${format.bits} bits of ${format.name}`);
    }
    const { kind, sign } = unpack(format, code);
    const exact = valueOf(format, code);
    const fixed = outcome(format, code, 0, TABLES.ruleOfBits);
    return { text, reading: format.readingOfBits, kind, sign, exact, code, fixed };
  }
  const hexadecimal = /^([+-]?)0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p([+-]?\d+)$/i.exec(text);
  if (hexadecimal) {
    const exact = hexadecimalFloat(text, hexadecimal);
    return { text, reading: "", kind: "finite", sign: Number(hexadecimal[1] === "-"), exact, code: null };
  }
  const special = /^([+-]?)(nan|inf|infinity)$/i.exec(text);
  if (special) {
    const kind = special[2].slice(0, 3).toLowerCase();
    return { text, reading: "", kind, sign: Number(special[1] === "-"), exact: null, code: null };
  }
  const decimal = /^([+-]?)(\d+\.?\d*|\.\d+)(?:e([+-]?\d+))?$/i.exec(text);
  if (!decimal) {
    const shown = text.length <= 60 ? `'${text}'` : `'${text.slice(0, 57)}'...`;
    throw new Error(`${shown} is not a number: write a decimal, a fraction such as "1/3", 0x1.8p-3, inf or nan`);
  }
  const exact = decimalNumber(text, decimal);
  return { text, reading: "", kind: "finite", sign: Number(decimal[1] === "-"), exact, code: null };
}

/** The exact value of a hexadecimal float, taken apart. */
function hexadecimalFloat(text, [, sign, digits, exponent]) {
  const [whole, part = ""] = digits.split(".");
  const significand = BigInt(`0x${whole}${part}`);
  if (significand === 0n) return { n: 0n, d: 1n };
  const power = Number(exponent) - 4 * part.length;
  if (Math.abs(power) > 2 * MOST_SIZE) throw tooLarge(text);
  return limited(text, scaled(sign === "-" ? -significand : significand, power));
}

/** The exact value of a decimal, taken apart. */
function decimalNumber(text, [, sign, digits, exponent]) {
  const [whole, part = ""] = digits.split(".");
  const integer = BigInt(whole + part);
  if (integer === 0n) return { n: 0n, d: 1n };
  const power = Number(exponent ?? 0) - part.length;
  if (Math.abs(power) > MOST_SIZE) throw tooLarge(text);
  const size = over({ n: integer, d: 1n }, powerOfTen(-power));
  return limited(text, { n: sign === "-" ? -size.n : size.n, d: size.d });
}

function limited(text, number) {
  if (Math.abs(bitLength(number.n) - bitLength(number.d)) > MOST_SIZE) throw tooLarge(text);
  return reduced(number);
}

function tooLarge(text) {
  return new Error(`the exponent of ${text} is too large`);
}

// --- looking a rounding up -------------------------------------------------------------------------------------------

/**
 * Where a number lies: {lower, way, outcomes}. `lower` is the magnitude of the value before it, and `way` its distance
 * from there in steps, null where no rounding decides. `outcomes` is the row of the table: a number for each column, the
 * modes and after them the three ways of stochastic rounding.
 */
function situation(format, x) {
  const { special } = format;
  const fixed = (outcomes) => ({ lower: null, way: null, outcomes });
  if (x.kind !== "finite") return fixed(special[x.kind === "inf" ? "inf" : "nan"][x.sign]);
  if (x.exact.n === 0n) return fixed(special.zero[x.sign]);
  const size = magnitudeOf(x.exact);
  const lower = magnitudeBelow(format, size);
  if (lower === null) return fixed(special.below[x.sign]);
  const value = magnitudeValue(format, lower);
  if (compare(value, size) === 0) return { lower, way: null, outcomes: special.exact[x.sign] };
  const step = scaled(1n, unpack(format, codeOf(format, 0, lower)).exponent);
  const way = over(minus(size, value), step);
  const region = format.regions.find(({ last }) => lower <= last);
  let position = 0;
  for (const cut of region.cuts) position += 1 + compare(way, { n: BigInt(cut), d: 4n });
  return { lower, way, outcomes: region.outcomes[Number(lower & 1n)][position][x.sign] };
}

/** A row of a format's outcomes for a number of this sign after this magnitude: {code (null: poison), value, ...}. */
function outcomeOf(format, row, sign, lower) {
  const [result, flags, rule] = format.outcomes[row];
  let code = null;
  if (result === "lower") code = codeOf(format, sign, lower);
  else if (result === "upper") code = codeOf(format, sign, lower + 1n);
  else if (result !== "poison") code = BigInt(result);
  return outcome(format, code, flags, rule);
}

function outcome(format, code, flags, rule) {
  return { code, value: code === null ? null : valueOf(format, code), flags, rule };
}

/**
 * What each column of the table gives. `fixed` numbers have one result, which is not rounded: bits, and what NaN,
 * infinities and zeros give.
 */
function columns(format, x) {
  if (x.fixed) return { way: null, all: Array(COLUMNS).fill(x.fixed) };
  if (x.results) return { way: null, all: x.results };
  const { lower, way, outcomes } = x.outcomes ? { lower: x.lower, way: null, outcomes: x.outcomes } : situation(format, x);
  return { way, all: outcomes.map((row) => outcomeOf(format, row, x.sign, lower)) };
}

/** What each mode gives: {mode, code (null: poison), value, flags, rule}. */
function rounded(format, x) {
  const { all } = columns(format, x);
  return TABLES.modes.map((mode, index) => ({ mode, ...all[index] }));
}

/**
 * Stochastic rounding: {discarded, width, away, toward, result}. `discarded` is the fraction that decides, null where
 * nothing is random. The number goes away from zero if value / 2**width is less than it.
 */
function stochastic(format, x, { value, width }) {
  const { way, all } = columns(format, x);
  const [unbounded, away, toward] = all.slice(TABLES.modes.length);
  if (way === null || way.n >= way.d) return { discarded: null, width, result: toward };
  const drawn = { n: value, d: 1n << BigInt(width) };
  // With one bit more of precision, which decides about the underflow of what is just below the normal values.
  const finer = minus(plus(way, way), { n: 1n, d: 1n });
  const result = compare(drawn, way) >= 0 ? toward : compare(drawn, finer) < 0 ? unbounded : away;
  return { discarded: reduced(way), width, away, toward, result };
}

/** The codes of the nearest finite values strictly below and above a number; null beyond the ends of the format. */
function neighbours(format, exact) {
  const lower = magnitudeBelow(format, magnitudeOf(exact));
  if (lower === null || (exact.n < 0n && !format.signed)) return { below: null, above: codeOf(format, 0, 0n) };
  const isValue = compare(magnitudeValue(format, lower), magnitudeOf(exact)) === 0;
  // Values are counted from zero, or from the smallest one where there is none.
  const negative = exact.n < 0n;
  const [first, last] = isValue ? [lower - 1n, lower + 1n] : [lower, lower + 1n];
  const [below, above] = negative ? [-last, -first] : [first, last];
  const lowest = format.signed ? -format.maxMagnitude : 0n;
  const code = (rank) => codeOf(format, Number(rank < 0n), absolute(rank));
  return {
    below: below < lowest ? null : code(below),
    above: above > format.maxMagnitude ? null : code(above),
    isValue,
  };
}

/** The number that is one step up (1) or down (-1): its code, or null where there is none. */
function stepped(format, x, direction) {
  if (x.kind.endsWith("nan")) return null;
  const outward = (direction < 0) === Boolean(x.sign);
  if (x.kind === "inf") return outward ? null : codeOf(format, x.sign, format.maxMagnitude);
  const { below, above } = neighbours(format, x.exact);
  const code = direction < 0 ? below : above;
  // From the smallest negative value up there is -0, where the format has it.
  if (code !== null) return code === 0n && x.exact.n < 0n ? codeOf(format, 1, 0n) : code;
  const end = codeOf(format, Number(direction < 0), format.infinityMagnitude ?? 0n);
  return format.infinityMagnitude !== null && outward ? end : null;
}

/** Everything the page shows of a number that is typed: the same as `halfulp.explain` gives. */
function explanation(format, typed) {
  return explained(format, given(format, typed));
}

function explained(format, x) {
  const found = { given: x, below: null, above: null, midpoint: null, ulp: null, isValue: false };
  if (x.exact !== null) {
    Object.assign(found, neighbours(format, x.exact));
    const [low, high] = [found.below, found.above].map((code) => code !== null && valueOf(format, code));
    if (low && high) {
      if (!found.isValue) found.ulp = minus(high, low);
      else found.ulp = x.exact.n >= 0n ? minus(high, x.exact) : minus(x.exact, low);
    } else if (!low && !format.signed) {
      found.ulp = scaled(1n, unpack(format, 0n).exponent);
    } else {
      found.ulp = scaled(1n, unpack(format, codeOf(format, 0, format.maxMagnitude)).exponent);
    }
    if (!found.isValue && (low || (high && format.signed))) {
      found.midpoint = low ? plus(low, half(found.ulp)) : minus(high, half(found.ulp));
    }
  }
  found.results = rounded(format, x).map((result) => withError(found, result));
  return found;
}

/** A result with its error, in ulp and relative, null where these do not exist. */
function withError(found, result) {
  const { exact } = found.given;
  if (result.value === null || exact === null) return { ...result, error: null, relative: null };
  const error = minus(result.value, exact);
  return { ...result, error: over(error, found.ulp), relative: exact.n ? over(error, magnitudeOf(exact)) : null };
}
