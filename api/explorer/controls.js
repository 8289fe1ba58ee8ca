// What keys and clicks do. The state is the texts in the controls. It is kept in the address after "#", too, so that a
// view can be linked.

/** What the controls hold at first, by name. */
const START = JSON.parse(document.getElementById("start").textContent);
const control = Object.fromEntries(Object.keys(START).map((name) => [name, document.getElementById(name)]));
/** What the address always says; the rest is there as far as it counts. */
const ALWAYS = ["format", "number", "mode"];
const WIDTHS = [8, 16, 32, 64];

let shownFormat = null;
let shownCode = null;

// --- the address -----------------------------------------------------------------------------------------------------

/** Whether the operation has a second number. */
function takesTwo() {
  return control.operation.value in TABLES.operations;
}

/** Which controls count: a second number only with arithmetic, random bits only with stochastic rounding. */
function counting() {
  const named = ["operation", "beside"].filter((name) => control[name].value);
  const other = takesTwo() ? ["other"] : [];
  return [...ALWAYS, ...named, ...other, ...(control.mode.value === STOCHASTIC ? ["random", "width"] : [])];
}

function writeAddress() {
  const state = new URLSearchParams(counting().map((name) => [name, control[name].value]));
  try {
    history.replaceState(null, "", `#${state}`);
  } catch {
    // A page inside another document may have no address of its own.
  }
}

function readState(text) {
  const state = new URLSearchParams(text);
  for (const [name, at] of Object.entries(control)) {
    at.value = state.get(name) ?? START[name];
    // A choice that there is not.
    if (at.value === "" && at.tagName === "SELECT") at.value = START[name];
  }
  update();
}

// --- the question ----------------------------------------------------------------------------------------------------

/** The random bits as they are typed. Throws an Error that says what is wrong. */
function typedRandom() {
  const text = control.random.value.trim();
  const width = Number(control.width.value);
  if (!/^(\d{1,20}|0x[0-9a-f]{1,16})$/i.test(text)) {
    throw new Error(`the random bits '${shortened(text)}' are not an unsigned integer, such as 100 or 0x64`);
  }
  const value = BigInt(text);
  if (value >> BigInt(width)) throw new Error(`the random bits ${text} do not fit ${width} bits`);
  return { value, width };
}

function question() {
  return {
    number: control.number.value,
    operation: control.operation.value,
    other: control.other.value,
    mode: control.mode.value,
    random: control.mode.value === STOCHASTIC ? typedRandom() : null,
  };
}

/** Everything that is shown: {found, other, beside}. */
function answers(format) {
  const posed = question();
  const beside = FORMATS.get(control.beside.value) ?? null;
  return { posed, found: answer(format, posed), beside, other: beside && answer(beside, posed, format) };
}

// --- showing ---------------------------------------------------------------------------------------------------------

function update() {
  const format = FORMATS.get(control.format.value);
  document.getElementById("other-controls").hidden = !takesTwo();
  document.getElementById("random-controls").hidden = control.mode.value !== STOCHASTIC;
  // Before anything can go wrong: what is shown is of what was typed before.
  document.getElementById("result").hidden = true;
  shownCode = null;
  if (format !== shownFormat) {
    makeBits(format);
    makeAll(format);
    shownFormat = format;
  }
  let shown = null;
  let wrong = "";
  try {
    shown = answers(format);
  } catch (error) {
    wrong = error.constructor === Error ? error.message : `a defect of this page: ${error.message}`;
    if (error.constructor !== Error) reportError(error);
  }
  say(wrong);
  if (shown) showResult(format, shown);
  else clearResult();
  updateAll(shownCode);
  writeAddress();
}

/** Say what is wrong, and mark the controls from which it comes. */
function say(wrong) {
  document.getElementById("wrong").textContent = wrong;
  const format = FORMATS.get(control.format.value);
  for (const name of ["number", "other", "random"]) {
    if (wrong && isWrong(format, name)) control[name].setAttribute("aria-invalid", "true");
    else control[name].removeAttribute("aria-invalid");
  }
}

function isWrong(format, name) {
  if (!counting().includes(name)) return false;
  try {
    if (name === "random") typedRandom();
    else given(format, control[name].value);
    return false;
  } catch {
    return true;
  }
}

function showResult(format, { posed, found, beside, other }) {
  const { result } = found;
  shownCode = result.code;
  const value = resultText(format, result);
  document.getElementById("hex").textContent = codeText(format, result);
  document.getElementById("value").textContent = value && ` = ${value}`;
  document.getElementById("rule").textContent = result.rule;
  makeOperands(format, found, posed.operation);
  updateBits(format, result.code);
  makeLine(format, found, result);
  makeChances(format, found, posed.random);
  makePair(format, found, beside, other);
  makeFacts(format, found, result, posed.operation);
  makeModes(format, found, result.mode);
  for (const name of ["number", "other"]) updateSteps(format, name);
  document.getElementById("result").hidden = false;
}

/** Leave no result of what was typed before. */
function clearResult() {
  for (const name of ["operands", "hex", "value", "rule", "line", "drawn", "chances", "pair", "facts", "modes"]) show(name);
  for (const name of ["number", "other"]) updateSteps(shownFormat, name);
}

// --- what changes it -------------------------------------------------------------------------------------------------

/** Look at one number by itself. */
function setNumber(text) {
  control.number.value = text;
  control.operation.value = "";
  update();
}

function toggle(bit) {
  setNumber(hexText(FORMATS.get(control.format.value), (shownCode ?? 0n) ^ (1n << bit)));
}

/** The code one ulp up or down from a number that is typed; null where there is none. */
function steppedCode(format, name, direction) {
  try {
    return stepped(format, given(format, control[name].value), direction);
  } catch {
    return null; // it is not a number
  }
}

function updateSteps(format, name) {
  for (const [side, direction] of [["down", -1], ["up", 1]]) {
    const none = steppedCode(format, name, direction) === null;
    document.getElementById(`${name}-${side}`).setAttribute("aria-disabled", String(none));
  }
}

function step(name, direction) {
  const format = FORMATS.get(control.format.value);
  const code = steppedCode(format, name, direction);
  if (code === null) return;
  control[name].value = hexText(format, code);
  update();
}

/** Random bits of the width that is chosen. */
function draw() {
  const [value] = crypto.getRandomValues(new BigUint64Array(1));
  control.random.value = String(value >> BigInt(64 - Number(control.width.value)));
  update();
}

/** The longest fraction that is written into a control. */
const MOST_CARRIED = 4300;

/** Text that stands for exactly the value of a code in any format; null where it would be too long. */
function exactText(format, code) {
  const decimal = valueText(format, code).replace("signalling ", "");
  if (!decimal.includes("...")) return decimal;
  const { n, d } = reduced(valueOf(format, code));
  const fraction = `${n}/${d}`;
  return fraction.length <= MOST_CARRIED ? fraction : null;
}

/** Another format takes over the numbers, not their bits: bits that were typed become the value they stand for. */
function changeFormat() {
  for (const name of ["number", "other"]) {
    const text = control[name].value.trim();
    if (!/^0x[0-9a-f]+$/i.test(text) || BigInt(text) >> BigInt(shownFormat.bits)) continue;
    control[name].value = exactText(shownFormat, BigInt(text)) ?? text;
  }
  update();
}

/** In a document that is dark by itself, such as a notebook, be dark, too; in a light one, be light. */
function followDocument() {
  try {
    const frame = window.frameElement;
    if (!frame || frame.dataset.theme !== "follow") return;
    const [r, g, b] = frame.ownerDocument.defaultView
      .getComputedStyle(frame.parentElement)
      .color.match(/[\d.]+/g)
      .map(Number);
    document.documentElement.style.colorScheme = 2 * r + 5 * g + b > 8 * 128 ? "dark" : "light";
  } catch {
    // The document around this one is of another origin: the system decides.
  }
}

// --- the start -------------------------------------------------------------------------------------------------------

function options(select, choices) {
  select.append(...choices.map(([value, text]) => element("option", { value }, text)));
}

const names = [...FORMATS.keys()].map((name) => [name, name]);
options(control.format, names);
options(control.beside, [["", "no other format"], ...names]);
options(control.mode, [...TABLES.modes, STOCHASTIC].map((mode) => [mode, mode]));
options(control.operation, [
  ["", "none"],
  ...Object.entries(TABLES.operations).map(([op, [name, sign]]) => [op, name === "remainder" ? "rem: remainder" : `${sign} ${name}`]),
]);
const functionGroup = element("optgroup", { label: "functions of the number" });
options(functionGroup, FUNCTIONS.map((name) => [name, name]));
control.operation.append(functionGroup);
options(control.width, WIDTHS.map((width) => [String(width), `${width} bits`]));
control.format.addEventListener("change", changeFormat);
for (const name of ["mode", "operation", "beside", "width"]) control[name].addEventListener("change", update);
for (const name of ["number", "other", "random"]) control[name].addEventListener("input", update);
for (const name of ["number", "other"]) {
  document.getElementById(`${name}-down`).addEventListener("click", () => step(name, -1));
  document.getElementById(`${name}-up`).addEventListener("click", () => step(name, 1));
  control[name].addEventListener("keydown", (event) => {
    const direction = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!direction || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    step(name, direction);
  });
}
document.getElementById("draw").addEventListener("click", draw);
document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
// A link within the page: inside another document it would lead to an address of that one.
document.getElementById("hint").addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link) return;
  event.preventDefault();
  readState(link.getAttribute("href").slice(1));
});
addEventListener("hashchange", () => readState(location.hash.slice(1)));
roving(document.getElementById("bits"));
roving(document.getElementById("codes"), () => {
  return getComputedStyle(document.getElementById("codes")).gridTemplateColumns.split(" ").length;
});
followDocument();
readState(location.hash.slice(1));
