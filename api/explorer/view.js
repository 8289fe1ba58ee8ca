// What is shown, and what keys and clicks do. The state is three texts (format, number, mode), kept in the controls and
// in the address after "#", so that a view can be linked.

const control = {
  format: document.getElementById("format"),
  number: document.getElementById("number"),
  mode: document.getElementById("mode"),
};
const START = { format: "f8E4M3FN", number: "0.3", mode: TABLES.modes[0] };
/** Formats of up to so many bits have a table of all codes. */
const MOST_BITS_OF_TABLE = 8;
/** Characters of a value beside the number line. */
const MOST_LABEL = 22;

/** An element with attributes and children; handlers are attributes whose names begin with "on". */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function drawing(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function show(id, ...children) {
  document.getElementById(id).replaceChildren(...children);
}

function shortened(text) {
  if (text.length <= MOST_LABEL) return text;
  const [mantissa, exponent = ""] = text.split("e");
  return `${mantissa.slice(0, MOST_LABEL - exponent.length - 2)}…${exponent && `e${exponent}`}`;
}

/** A long code without its middle: neighbours differ in their last digits. */
function shortCode(text) {
  return text.length <= MOST_LABEL ? text : `${text.slice(0, MOST_LABEL / 2)}…${text.slice(-MOST_LABEL / 2 + 1)}`;
}

/** One of several elements is in the tab order; arrow keys, Home and End move among them. */
function roving(container, columns = () => 1) {
  const items = () => [...container.querySelectorAll("button")];
  const moveTo = (target) => {
    for (const item of items()) item.tabIndex = item === target ? 0 : -1;
  };
  container.addEventListener("focusin", (event) => moveTo(event.target));
  container.addEventListener("keydown", (event) => {
    const all = items();
    const at = all.indexOf(event.target);
    const targets = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      ArrowUp: at - columns(),
      ArrowDown: at + columns(),
      Home: 0,
      End: all.length - 1,
    };
    const target = all[targets[event.key]];
    if (at < 0 || target === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    target.focus();
  });
}

// --- bits ------------------------------------------------------------------------------------------------------------

/** The buttons of a format's bits, from the top. */
function makeBits(format) {
  let place = format.bits;
  const fields = format.fields.map(([name, width]) => {
    const id = `field-${name.replace(" ", "-")}`;
    const buttons = Array.from({ length: width }, (_, index) => {
      place -= 1;
      const label = width === 1 ? `${name}, bit ${place}` : `${name} ${width - 1 - index}, bit ${place}`;
      const bit = BigInt(place);
      return element("button", { type: "button", "aria-label": label, tabindex: -1, onclick: () => toggle(bit) });
    });
    const caption = element("span", { class: "caption", id }, `${name}${width > 1 ? ` ${width}` : ""}`);
    const boxes = element("span", { class: "boxes" }, ...buttons);
    return element("div", { class: `field ${id}`, role: "group", "aria-labelledby": id }, boxes, caption);
  });
  show("bits", ...fields);
  document.querySelector("#bits button").tabIndex = 0;
}

function updateBits(format, code) {
  const digits = code === null ? "?".repeat(format.bits) : code.toString(2).padStart(format.bits, "0");
  document.querySelectorAll("#bits button").forEach((button, index) => {
    button.textContent = digits[index];
    button.setAttribute("aria-pressed", String(digits[index] === "1"));
  });
}

let shownCode = null;

function toggle(bit) {
  setNumber(hexText(FORMATS.get(control.format.value), (shownCode ?? 0n) ^ (1n << bit)));
}

// --- the number line -------------------------------------------------------------------------------------------------

/** The ends of the line: a value of the format on either side, or where it has none, what would be next. */
function lineEnds(format, found) {
  const { below, above, ulp, given: x } = found;
  const end = (code, value, note) => ({ code, value, note });
  const top = magnitudeValue(format, format.maxMagnitude);
  const next = plus(top, ulp);
  const low = below !== null ? end(below, valueOf(format, below), "") : null;
  const high = above !== null ? end(above, valueOf(format, above), "") : null;
  if (low && high) return [low, high];
  const absent = `no value of ${format.name}`;
  if (low) return [low, end(null, next, absent)];
  if (format.signed) return [end(null, { n: -next.n, d: next.d }, absent), high];
  return [end(null, x.exact.n < 0n ? x.exact : { n: 0n, d: 1n }, absent), high];
}

/** Where x lies from `low` to `high`, as a number for the drawing only. */
function share(x, low, high) {
  const part = over(minus(x, low), minus(high, low));
  return Number((part.n * 1000000n) / part.d) / 1000000;
}

function lineLabel(format, end, side, result) {
  const chosen = end.code !== null && end.code === result.code;
  const value = end.code === null ? `(${shortened(decimalText(end.value))})` : shortened(valueText(format, end.code));
  const overflows = end.code === null && result.code !== null && result.flags & 4 && result.value === null;
  const note = chosen ? "the result" : overflows ? `overflow: ${valueText(format, result.code)}` : end.note;
  const lines = [element("strong", {}, value), element("span", { class: "note" }, note || "\u00a0")];
  if (end.code === null) return element("div", { class: side }, element("span", {}, side), ...lines);
  const code = hexText(format, end.code);
  const where = element("span", {}, `${side} `, element("code", {}, shortCode(code)));
  const go = () => setNumber(code);
  const label = `Go to the value ${side}, ${code}`;
  const classes = `${side}${chosen ? " chosen" : ""}`;
  return element("button", { type: "button", class: classes, onclick: go, title: label }, where, ...lines);
}

function makeLine(format, found, result) {
  const x = found.given;
  if (x.exact === null) {
    show("line", element("p", {}, `There is nothing on either side of ${x.kind === "inf" ? "infinity" : "NaN"}.`));
    return;
  }
  const [low, high] = lineEnds(format, found);
  const exactShare = compare(high.value, low.value) ? share(x.exact, low.value, high.value) : 0;
  const at = Math.min(Math.max(exactShare, 0), 1);
  const across = (part) => 20 + 960 * part;
  const isResult = (end) => end.code !== null && end.code === result.code;
  const marks = [];
  for (const [end, part] of [[low, 0], [high, 1]]) {
    const shape = { cx: across(part), cy: 34, r: isResult(end) ? 11 : 7 };
    marks.push(drawing("circle", { ...shape, class: isResult(end) ? "chosen" : end.code === null ? "none" : "value" }));
  }
  if (found.midpoint) marks.push(drawing("path", { d: `M ${across(0.5)} 22 V 46`, class: "middle" }));
  if (found.isValue) marks.push(drawing("circle", { cx: across(at), cy: 34, r: 11, class: "chosen" }));
  const point = across(at);
  marks.push(drawing("path", { d: `M ${point} 24 l -9 -20 h 18 z`, class: "given" }));
  const picture = drawing(
    "svg",
    { viewBox: "0 0 1000 56", "aria-hidden": "true" },
    drawing("path", { d: "M 0 34 H 1000", class: "axis" }),
    ...marks,
  );
  const past = exactShare > 1 ? " →" : exactShare < 0 ? "← " : "";
  const number = shortened(x.code === null ? x.text : decimalText(x.exact));
  const label = element("span", { class: "given" }, past === "← " ? past : "", number, past === " →" ? past : "");
  // The room beside the label is shared as the line is, so that it neither leaves the line nor needs to be measured.
  const rooms = [at, 1 - at].map((part) => {
    const room = element("span");
    room.style.flexGrow = part;
    return room;
  });
  const side = found.midpoint && compare(x.exact, found.midpoint);
  const middle = [];
  if (found.midpoint) {
    const words = { [-1]: "the number is below it", 0: "the number is on it", 1: "the number is above it" };
    middle.push(element("span", {}, "midpoint"), element("strong", {}, shortened(decimalText(found.midpoint))));
    middle.push(element("span", { class: "note" }, words[side]));
  } else if (found.isValue) {
    middle.push(element("span", { class: "note" }, "the number is a value"));
  }
  const labels = element(
    "div",
    { class: "labels" },
    lineLabel(format, low, "below", result),
    element("div", { class: "middle" }, ...middle),
    lineLabel(format, high, "above", result),
  );
  show("line", element("div", { class: "pin" }, rooms[0], label, rooms[1]), picture, labels);
}

// --- the rest --------------------------------------------------------------------------------------------------------

function codeText(format, result) {
  return result.code === null ? "poison" : hexText(format, result.code);
}

function makeFacts(format, found, result) {
  const { given: x } = found;
  const rows = [["given", x.text + (x.reading && ` (${x.reading})`)]];
  if (x.exact !== null) rows.push(["exactly", numberText(x.exact)]);
  if (result.value !== null) {
    const value = result.value.n === 0n ? valueText(format, result.code) : numberText(result.value);
    rows.push(["value", value], ["in binary", binaryText(format, result.code)]);
  }
  if (found.midpoint) rows.push(["midpoint", numberText(found.midpoint)]);
  rows.push(["error", result.error === null ? "not a finite number" : `${errorText(result)} ulp`]);
  if (found.ulp) rows.push(["an ulp here", numberText(found.ulp)]);
  rows.push(["flags", flagsText(result.flags)]);
  show("facts", ...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

function errorText(result) {
  return result.error.n === 0n ? "0" : signedText(result.error);
}

function makeModes(format, found, chosen) {
  document.getElementById("modes-section").hidden = found.given.code !== null; // bits are not rounded
  const rows = found.results.map((result) => {
    const current = result.mode === chosen;
    const name = [element("span", { class: "marker", "aria-hidden": "true" }, current ? "▸" : ""), result.mode];
    const value = result.code === null ? "" : valueText(format, result.code);
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

// --- state -----------------------------------------------------------------------------------------------------------

let shownFormat = null;

function update() {
  const format = FORMATS.get(control.format.value);
  if (format !== shownFormat) {
    makeBits(format);
    makeAll(format);
    shownFormat = format;
  }
  let found;
  let wrong = "";
  try {
    found = explanation(format, control.number.value);
  } catch (error) {
    if (error.constructor !== Error) throw error; // a defect, not something that was typed
    wrong = error.message;
  }
  document.getElementById("wrong").textContent = wrong;
  document.getElementById("result").hidden = Boolean(wrong);
  if (wrong) control.number.setAttribute("aria-invalid", "true");
  else control.number.removeAttribute("aria-invalid");
  shownCode = null;
  if (!wrong) {
    const result = found.results[TABLES.modes.indexOf(control.mode.value)];
    shownCode = result.code;
    const value = result.code === null ? "" : valueText(format, result.code);
    document.getElementById("hex").textContent = codeText(format, result);
    document.getElementById("value").textContent = value && ` = ${value}`;
    document.getElementById("rule").textContent = result.rule;
    updateBits(format, result.code);
    makeLine(format, found, result);
    makeFacts(format, found, result);
    makeModes(format, found, result.mode);
  }
  updateAll(shownCode);
  const state = new URLSearchParams({ format: format.name, number: control.number.value, mode: control.mode.value });
  history.replaceState(null, "", `#${state}`);
}

function setNumber(text) {
  control.number.value = text;
  update();
}

/** Text that stands for exactly the value of a code in any format; null where it would be too long. */
function exactText(format, code) {
  const decimal = valueText(format, code).replace("signalling ", "");
  // A decimal is read as an f64, which may not hold the value; a fraction is exact.
  if (!decimal.includes("...") && given(format, decimal).reading === "") return decimal;
  const { n, d } = reduced(valueOf(format, code));
  const fraction = `${n}/${d}`;
  return fraction.length <= MOST_CHARACTERS ? fraction : null;
}

/** Another format takes over the number, not its bits: bits that were clicked become the value they stand for. */
function changeFormat() {
  const isBits = /^\s*0x/i.test(control.number.value);
  const text = isBits && shownCode !== null ? exactText(shownFormat, shownCode) : null;
  if (text !== null) control.number.value = text;
  update();
}

function readAddress() {
  const state = new URLSearchParams(location.hash.slice(1));
  const format = state.get("format");
  const mode = state.get("mode");
  control.format.value = FORMATS.has(format) ? format : START.format;
  control.mode.value = TABLES.modes.includes(mode) ? mode : START.mode;
  control.number.value = state.get("number") ?? START.number;
  update();
}

control.format.append(...[...FORMATS.keys()].map((name) => element("option", { value: name }, name)));
control.mode.append(...TABLES.modes.map((mode) => element("option", { value: mode }, mode)));
control.format.addEventListener("change", changeFormat);
control.mode.addEventListener("change", update);
control.number.addEventListener("input", update);
document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", readAddress);
roving(document.getElementById("bits"));
roving(document.getElementById("codes"), () => {
  return getComputedStyle(document.getElementById("codes")).gridTemplateColumns.split(" ").length;
});
readAddress();
