// Arithmetic of two operands, as arith.addf and its like compute it: the exact result of the values of two codes, rounded
// once by the tables of lookup.js. Results that follow from infinities and zeros are in the tables, too. The code of a NaN
// that keeps its payload is put together here.

const INVALID = 16;
const EXACTLY = {
  addf: plus,
  subf: minus,
  mulf: (a, b) => ({ n: a.n * b.n, d: a.d * b.d }),
  divf: over,
  remf: (a, b) => ({ n: (a.n * b.d) % (b.n * a.d), d: a.d * b.d }),
};
const DIVISIONS = ["divf", "remf"];

/** The code of a NaN, taken apart, in a format that has NaN: quiet, with its sign and payload as far as they fit. */
function nanCode(format, nan, source) {
  let code = format.nanCode;
  if (format.quietBit) code |= (nan.significand << BigInt(format.mantissaBits)) >> BigInt(source.mantissaBits);
  return nan.sign && format.signed && format.nanHasPayload ? code | (1n << BigInt(format.bits - 1)) : code;
}

/** What a NaN of a format becomes in another one. */
function convertedNan(format, code, source) {
  const nan = unpack(source, code);
  const flags = nan.kind === "nan" ? 0 : INVALID;
  const words = format.nanRules;
  if (format.nanCode === null) return outcome(format, null, flags | INVALID, words.converted);
  const bare = nan.invalid ? source.nanRules.bareInvalid : source.nanRules.bare;
  return outcome(format, nanCode(format, nan, source), flags, bare ? `${bare}: ${words.default}` : words.converted);
}

/** A number that was read for a format, for another one: bits become the value that they stand for. */
function transferred(format, x, source) {
  if (x.code === null || format === source) return x;
  const reading = source.readingOfBits;
  const fixed = x.kind.endsWith("nan") ? convertedNan(format, x.code, source) : undefined;
  return { ...x, reading, code: null, fixed };
}

/** The class of an operand, as the tables name it. */
function classOf(format, code) {
  const { kind, sign, significand } = unpack(format, code);
  const letter = kind === "inf" ? "i" : significand ? "f" : "z";
  return sign ? letter.toUpperCase() : letter;
}

/** What is rounded when two operands, {given, code, rule}, are combined: like what `given` returns. */
function combined(format, operation, x, y) {
  const sign = TABLES.operations[operation][1];
  const [a, b] = [x, y].map(({ code }) => (code === null ? "poison" : valueText(format, code)));
  const made = { text: `${a} ${sign} ${b}`, reading: "", kind: "finite", sign: 0, exact: null, code: null };
  const lost = [x, y].filter(({ code }) => code === null).map(({ rule }) => rule);
  if (lost.length) {
    return { ...made, kind: "nan", fixed: outcome(format, null, 0, `an operand is poison (${lost.join("; ")})`) };
  }
  const parts = [x, y].map(({ code }) => unpack(format, code));
  const nan = parts.find(({ kind }) => kind.endsWith("nan"));
  if (nan) {
    const signalling = parts.some(({ kind }) => kind === "signalling nan");
    const rule = nan.invalid ? format.nanRules.invalidOperand : format.nanRules.operand;
    return { ...made, kind: "nan", fixed: outcome(format, nanCode(format, nan, format), signalling ? INVALID : 0, rule) };
  }
  const entry = format.operations[operation][classOf(format, x.code) + classOf(format, y.code)];
  const [first, second] = [x, y].map(({ code }) => valueOf(format, code));
  // One row of results for all columns, or one for each.
  const outcomes = Array.isArray(entry) ? entry : Array(COLUMNS).fill(entry);
  const byZero = DIVISIONS.includes(operation) && second?.n === 0n;
  if (first === null || second === null || byZero) {
    // A finite dividend is what an infinite divisor leaves.
    if (entry === undefined) return { ...made, sign: Number(first.n < 0n), exact: first };
    return { ...made, kind: "special", outcomes };
  }
  const exact = reduced(EXACTLY[operation](first, second));
  return exact.n === 0n ? { ...made, exact, outcomes } : { ...made, sign: Number(exact.n < 0n), exact };
}

/** An operand as an operation gets it: rounded to the format, to nearest even, as MLIR reads literals. */
function operand(format, x) {
  const [result] = rounded(format, x);
  return { given: x, ...result };
}

/** What is asked, {number, operation (empty: none), other, mode}, in a format; `source`: the format whose bits are typed. */
function asked(format, { number, operation, other, mode }, source = format) {
  const read = (text) => transferred(format, given(source, text), source);
  if (!operation) return { given: read(number), operands: [] };
  if (isFunction(operation)) return askedFunction(format, { operation, mode }, operand(format, read(number)));
  const operands = [read(number), read(other)].map((x) => operand(format, x));
  return { given: combined(format, operation, ...operands), operands };
}

/** The result in a mode, and all that the page shows of it. `random`: {value, width}, for stochastic rounding. */
function answer(format, question, source = format) {
  const { given: x, operands } = asked(format, question, source);
  const found = { ...explained(format, x), operands, draw: null };
  let result = found.results[TABLES.modes.indexOf(question.mode)];
  if (question.mode === STOCHASTIC) {
    found.draw = stochastic(format, x, question.random);
    result = { mode: STOCHASTIC, ...withError(found, found.draw.result) };
  }
  return { ...found, result };
}
