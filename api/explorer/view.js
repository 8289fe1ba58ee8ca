// What the page draws: elements, bits, the number line.

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

// --- the number line -------------------------------------------------------------------------------------------------

/** The ends of the line: a value of the format on either side, or where it has none, what would be next. */
function lineEnds(format, found) {
  const { below, above, ulp, given: x } = found;
  const end = (code, value, note) => ({ code, value, note });
  const top = magnitudeValue(format, format.maxMagnitude);
  const next = plus(top, ulp);
  const low = below !== null ? end(below, valueOf(format, below), "") : null;
  // From a negative number up to zero there is -0, where the format has it.
  const nearest = above === 0n && x.exact.n < 0n ? codeOf(format, 1, 0n) : above;
  const high = above !== null ? end(nearest, valueOf(format, nearest), "") : null;
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
  if (x.kind === "function") {
    show("line", element("p", {}, `The exact result is ${placeText(format, x)}.`));
    return;
  }
  if (x.exact === null) {
    const words = { inf: "There is nothing on either side of infinity.", special: "No number is rounded here." };
    show("line", element("p", {}, words[x.kind] ?? "There is nothing on either side of NaN."));
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
  const typed = x.code === null && found.operands.length === 0;
  const number = shortened(typed ? x.text : decimalText(x.exact));
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
