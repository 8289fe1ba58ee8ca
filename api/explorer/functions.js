// The elementary functions of one argument: looked up, not computed. TABLES.functions has two bytes for each function and
// code: the magnitude before the exact result and its position there, or the number of a special row.

const SPECIAL = 0x80;
const NEGATIVE = 0x40;
const POSITION = 0x3f;
const FUNCTIONS = TABLES.functions.functions;
const ENTRIES = new Map();

function isFunction(operation) {
  return FUNCTIONS.includes(operation);
}

/** The two bytes of a function of a code. */
function entryOf(format, name, code) {
  if (!ENTRIES.has(format.name)) ENTRIES.set(format.name, atob(TABLES.functions.formats[format.name].entries));
  const place = 2 * ((FUNCTIONS.indexOf(name) << format.bits) + Number(code));
  return [0, 1].map((index) => ENTRIES.get(format.name).charCodeAt(place + index));
}

/** What is rounded when a function is applied to an operand, {given, code, rule}: like what `given` returns. */
function applied(format, name, { code, rule }) {
  const text = `${name}(${code === null ? "poison" : valueText(format, code)})`;
  const made = { text, reading: "", kind: "function", sign: 0, exact: null, code: null };
  if (code === null) return { ...made, kind: "nan", fixed: outcome(format, null, 0, `an operand is poison (${rule})`) };
  const [first, second] = entryOf(format, name, code);
  if (second & SPECIAL) {
    const results = TABLES.functions.formats[format.name].special[first].map(([result, flags, said]) => {
      const words = TABLES.functions.rules[said].replace("{call}", text);
      return outcome(format, result === null ? null : BigInt(result), flags, words);
    });
    return { ...made, kind: "special", results: TABLES.modes.map((_, index) => results[index] ?? results[0]) };
  }
  const sign = Number((second & NEGATIVE) !== 0);
  const lower = BigInt(first);
  const position = second & POSITION;
  if (position === 0) return { ...made, kind: "finite", sign, exact: valueOf(format, codeOf(format, sign, lower)) };
  const region = format.regions.find(({ last }) => lower <= last);
  const outcomes = region.outcomes[Number(lower & 1n)][position - 1][sign];
  const middle = 2 * region.cuts.indexOf(2) + 2;
  return { ...made, sign, lower, outcomes, side: Math.sign(position - middle) };
}

/** The question of a function; throws an Error that says what the page does not have. */
function askedFunction(format, { operation, mode }, x) {
  if (!TABLES.functions.formats[format.name]) {
    const other = `hu.explain_op("${operation}", …, type="${format.name}")`;
    throw new Error(`the page has no table of ${operation} in ${format.name}, of more than 8 bits: ${other} explains it`);
  }
  if (mode === STOCHASTIC) throw new Error("functions round in the five other modes: the page has no table of chances");
  return { given: applied(format, operation, x), operands: [x] };
}

/** The values on both sides of the exact result of a function, as codes (null beyond the largest), and the midpoint. */
function around(format, { lower, sign }) {
  const step = scaled(1n, unpack(format, codeOf(format, 0, lower)).exponent);
  const size = plus(magnitudeValue(format, lower), half(step));
  const near = codeOf(format, sign, lower);
  const far = lower < format.maxMagnitude ? codeOf(format, sign, lower + 1n) : null;
  const [below, above] = sign ? [far, near] : [near, far];
  return { below, above, midpoint: sign ? { n: -size.n, d: size.d } : size };
}

/** Where the exact result of a function lies, in words. */
function placeText(format, x) {
  const { below, above, midpoint } = around(format, x);
  const text = (code) => `${valueText(format, code)} (${hexText(format, code)})`;
  const side = ["below", "at", "above"][(x.sign ? -x.side : x.side) + 1];
  const middle = `${side} ${decimalText(midpoint)}`;
  if (above === null) return `above the largest value, ${text(below)}; ${middle}`;
  if (below === null) return `below the least value, ${text(above)}; ${middle}`;
  return `between ${text(below)} and ${text(above)}, ${side} the midpoint ${decimalText(midpoint)}`;
}
