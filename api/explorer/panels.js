// The panels under the number line: facts, chances, two formats, modes, codes.

/** A value of a format, "poison" where there is none. */
function codeText(format, result) {
  return result.code === null ? "poison" : hexText(format, result.code);
}

function resultText(format, result, write) {
  return result.code === null ? "" : valueText(format, result.code, write);
}

function errorText(result) {
  return result.error.n === 0n ? "0" : signedText(result.error);
}

/** A value as a hexadecimal float; nothing for NaN and infinities. */
function hexFloatOf(format, result) {
  return result.value === null ? "" : hexFloatText(result.value, valueText(format, result.code).startsWith("-"));
}

// --- the operands ----------------------------------------------------------------------------------------------------

function operandText(format, { given: x, code, value }) {
  const known = code === null ? "poison" : `${hexText(format, code)} = ${shortened(valueText(format, code))}`;
  const rounded = value !== null && x.exact !== null && compare(value, x.exact) !== 0;
  return `${shortened(x.text)} ${rounded ? "is rounded to" : "is"} ${known}`;
}

function makeOperands(format, found, operation) {
  if (!found.operands.length) {
    show("operands");
    return;
  }
  if (isFunction(operation)) {
    show("operands", element("b", {}, operation), element("span", {}, operandText(format, found.operands[0])));
    return;
  }
  const [, sign] = TABLES.operations[operation];
  const [x, y] = found.operands.map((operand) => element("span", {}, operandText(format, operand)));
  const { exact } = found.given;
  const exactly = exact === null ? "" : element("span", {}, `exactly ${shortened(decimalText(exact))}`);
  show("operands", x, element("b", {}, sign), y, ...(exactly ? [element("b", {}, "="), exactly] : []));
}

// --- facts and modes -------------------------------------------------------------------------------------------------

function makeFacts(format, found, result, operation) {
  const { given: x } = found;
  const rows = [["given", x.text + (x.reading && ` (${x.reading})`)]];
  found.operands.forEach(({ given: { text, reading } }, index) => {
    if (reading) rows.push([["first number", "second number"][index], `${text} (${reading})`]);
  });
  if (x.exact !== null) {
    const exactly = [numberText(x.exact), hexFloatText(x.exact, x.exact.n === 0n ? Boolean(x.sign) : undefined)];
    rows.push(["exactly", exactly.filter(Boolean).join(" = ")]);
  }
  if (result.value !== null) {
    const value = result.value.n === 0n ? valueText(format, result.code) : numberText(result.value);
    rows.push(["value", value], ["hexadecimal", hexFloatOf(format, result)]);
    rows.push(["in binary", binaryText(format, result.code)]);
  }
  if (found.midpoint) rows.push(["midpoint", numberText(found.midpoint)]);
  if (isFunction(operation)) rows.push(["function", `from a table that halfulp made of ${operation} in ${format.name}`]);
  if (x.kind === "function") rows.push(["exact result", placeText(format, x)]);
  else rows.push(["error", result.error === null ? "not a finite number" : `${errorText(result)} ulp`]);
  if (result.relative !== null) rows.push(["relative error", decimalText(result.relative, 12)]);
  if (found.ulp) rows.push(["an ulp here", numberText(found.ulp)]);
  rows.push(["flags", flagsText(result.flags)]);
  show("facts", ...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

function makeModes(format, found, chosen) {
  document.getElementById("modes-section").hidden = found.given.code !== null; // bits are not rounded
  const rows = found.results.map((result) => {
    const current = result.mode === chosen;
    const name = [element("span", { class: "marker", "aria-hidden": "true" }, current ? "▸" : ""), result.mode];
    const value = resultText(format, result);
    return element(
      "tr",
      { "aria-current": current && "true" },
      element("th", { scope: "row" }, ...name),
      element("td", {}, element("code", {}, codeText(format, result))),
      element("td", { title: value }, shortened(value)),
      element("td", {}, result.error === null ? "" : errorText(result)),
      element("td", {}, flagsText(result.flags)),
      element("td", {}, result.rule),
    );
  });
  show("modes", ...rows);
}

// --- stochastic rounding ---------------------------------------------------------------------------------------------

/** How many of the random bits of a width are less than a fraction. */
function countBelow({ n, d }, width) {
  return ((n << BigInt(width)) + d - 1n) / d;
}

function chanceText(share) {
  const { n, d } = reduced(share);
  const percent = decimalText({ n: n * 100n, d }, 8);
  return bitLength(d) > 40 ? `${percent} %` : `${fractionText(share)} = ${percent} %`;
}

function makeChances(format, found, random) {
  const { draw } = found;
  document.getElementById("stochastic-section").hidden = draw === null;
  if (draw === null) {
    show("drawn");
    show("chances");
    return;
  }
  const all = 1n << BigInt(random.width);
  const drawn = shortened(decimalText({ n: random.value, d: all }));
  document.getElementById("chance-heading").textContent = `with ${random.width} random bits`;
  if (draw.discarded === null) {
    show("drawn", "Every draw gives the same result: nothing is left to chance.");
    const row = chanceRow(format, "always", draw.result, true, "1 = 100 %", `all ${all}`);
    show("chances", row);
    return;
  }
  const { discarded } = draw;
  const less = compare({ n: random.value, d: all }, discarded) < 0;
  const fraction = shortened(decimalText(discarded));
  const [order, way] = less ? ["less than", "away from"] : ["not less than", "toward"];
  show("drawn", `${random.value} of ${all} is ${drawn}: ${order} the discarded fraction ${fraction}, so ${way} zero.`);
  const below = countBelow(discarded, random.width);
  const rest = minus({ n: 1n, d: 1n }, discarded);
  const counted = (count) => `${count} of ${all}`;
  show(
    "chances",
    chanceRow(format, "away from zero", draw.away, less, chanceText(discarded), counted(below)),
    chanceRow(format, "toward zero", draw.toward, !less, chanceText(rest), counted(all - below)),
  );
}

function chanceRow(format, name, result, current, chance, counted) {
  const marker = element("span", { class: "marker", "aria-hidden": "true" }, current ? "▸" : "");
  return element(
    "tr",
    { "aria-current": current && "true" },
    element("th", { scope: "row" }, marker, name),
    element("td", {}, element("code", {}, codeText(format, result))),
    element("td", {}, shortened(resultText(format, result))),
    element("td", {}, chance),
    element("td", {}, counted),
  );
}

// --- two formats -----------------------------------------------------------------------------------------------------

/** A code in groups of its fields: 0 0101 010. */
function fieldsText(format, result) {
  if (result.code === null) return "";
  const digits = result.code.toString(2).padStart(format.bits, "0");
  let place = 0;
  return format.fields.map(([, width]) => digits.slice(place, (place += width))).join(" ");
}

/** What is compared: name, and the text for a format and an answer. */
const PAIR_ROWS = [
  ["code", (format, { result }) => codeText(format, result)],
  ["bits", (format, { result }) => fieldsText(format, result)],
  ["value", (format, { result }) => resultText(format, result)],
  ["hexadecimal", (format, { result }) => hexFloatOf(format, result)],
  ["what is rounded", (format, { given: x }) => (x.exact === null ? "" : shortened(decimalText(x.exact)))],
  ["error in ulp", (format, { result }) => (result.error === null ? "" : errorText(result))],
  ["relative error", (format, { result }) => (result.relative === null ? "" : decimalText(result.relative, 12))],
  ["flags", (format, { result }) => flagsText(result.flags)],
  ["rule", (format, { result }) => result.rule],
  ["an ulp here", (format, { ulp }) => (ulp ? shortText(ulp) : "")],
  ["largest value", (format) => shortText(magnitudeValue(format, format.maxMagnitude))],
  ["smallest positive value", (format) => shortText(magnitudeValue(format, format.zero ? 1n : 0n))],
];

function makePair(format, found, other, otherFound) {
  document.getElementById("beside-section").hidden = other === null;
  if (other === null) {
    show("pair");
    return;
  }
  document.getElementById("this-name").textContent = format.name;
  document.getElementById("beside-name").textContent = other.name;
  const rows = PAIR_ROWS.map(([name, text]) => [name, text(format, found), text(other, otherFound)]);
  const different = rows.filter(([, a, b]) => a !== b);
  const names = different.map(([name]) => name).join(", ");
  document.getElementById("differences").textContent = names ? `Different (≠): ${names}.` : "Nothing differs.";
  const mark = () => [element("span", { "aria-hidden": "true" }, " ≠"), element("span", { class: "unseen" }, " differs")];
  const line = ([name, a, b]) =>
    element(
      "tr",
      { class: a === b ? false : "different" },
      element("th", { scope: "row" }, name, ...(a === b ? [] : mark())),
      element("td", {}, a || "–"),
      element("td", {}, b || "–"),
    );
  show("pair", ...rows.map(line));
}

// --- all codes -------------------------------------------------------------------------------------------------------

/** The buttons of all codes of a small format. */
function makeAll(format) {
  const section = document.getElementById("all");
  section.hidden = format.bits > MOST_BITS_OF_TABLE;
  if (section.hidden) {
    show("codes");
    return;
  }
  document.getElementById("all-heading").textContent = `All ${1 << format.bits} codes of ${format.name}`;
  const cells = Array.from({ length: 1 << format.bits }, (_, index) => {
    const code = BigInt(index);
    const hex = hexText(format, code);
    const value = valueText(format, code);
    const short = valueText(format, code, shortText).replace("signalling nan", "snan");
    const texts = [element("code", {}, hex), element("span", {}, short)];
    const label = `${hex}: ${value}`;
    const go = () => setNumber(hex);
    const kind = unpack(format, code).kind;
    const attributes = { type: "button", tabindex: -1, "aria-label": label, title: label, onclick: go };
    return element("button", { ...attributes, class: kind === "finite" ? false : "special" }, ...texts);
  });
  show("codes", ...cells);
}

function updateAll(code) {
  const cells = document.querySelectorAll("#codes button");
  const focused = document.activeElement;
  cells.forEach((cell, index) => {
    const current = code !== null && BigInt(index) === code;
    if (current) cell.setAttribute("aria-current", "true");
    else cell.removeAttribute("aria-current");
    cell.tabIndex = current ? 0 : -1;
  });
  if (focused.parentElement?.id === "codes") {
    for (const cell of cells) cell.tabIndex = cell === focused ? 0 : -1;
  } else if (code === null && cells.length) {
    cells[0].tabIndex = 0;
  }
}
