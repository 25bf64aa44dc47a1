"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const { points, inputs, trade, maps, history } = data;
const { compliance } = points;
const get = (id) => document.getElementById(id);
const FIRST_ROWS = 200;
const LEVEL = `${Number((100 * data.level).toPrecision(4))} %`;
const SLIDES = Number(get("slider").max);

// -- text ------------------------------------------------------------------------------------

// A point's mean or noise with its interval, in the digits that the interval justifies.
const endsOf = (name, i) => ["", "_lower", "_upper"].map((end) => points[name + end][i]);
const digitsAt = (name, i) => justified(...endsOf(name, i));

function withInterval(name, i) {
  const [value, lower, upper] = endsOf(name, i).map(digitsAt(name, i));
  return `${value} [${lower}, ${upper}]`;
}

function valueAt(input, place) { return input.choices.length ? input.choices[place] : number(place, MOST_DIGITS); }

// As the sentences of the package write it: 1,000.
const counted = (n) => n.toLocaleString("en");

function cut(text, most) { return text.length > most ? `${text.slice(0, most - 1)}…` : text; }

// Long choices often differ only at their ends.
function cutMiddle(text, most) {
  return text.length > most ? `${text.slice(0, most / 2 - 1)}…${text.slice(-most / 2)}` : text;
}

function params(i, some = () => true) {
  const text = (input, j) => `${input.name} = ${valueAt(input, points.places[i][j])}`;
  return inputs.map(text).filter((_, j) => some(inputs[j]));
}

// A setting in words, apart from the conditions that were given.
function setting(i) {
  const given = params(i, (input) => input.given);
  return params(i, (input) => !input.given).join(", ") + (given.length ? ` (tried at ${given.join(", ")})` : "");
}

// Plotly reads tags and entities in its texts as markup, so texts of the run are escaped.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function hover(i) {
  const shown = params(i).slice(0, 12).map((line) => plain(cut(line, 60)));
  return [
    ...shown, ...(inputs.length > 12 ? ["…"] : []),
    `mean ${withInterval("mean", i)}`,
    `noise std ${withInterval("noise", i)}`,
    `evaluated ${times(points.count[i])}`,
    ...(compliance ? compliance.outcomes.map((one, j) => plain(cut(`${one.name}: ${outcomeText[j](i)} on average`, 60))) : []),
    ...(compliance ? [plain(`limits kept: ${keptText(i)}`)] : []),
  ].join("<br>");
}

// -- limits of outcomes ------------------------------------------------------------------------

const isKept = (i) => !compliance || compliance.kept[i];
const keptText = (i) => `${isKept(i) ? "yes" : "not sure"} (${percent(compliance.chance[i])})`;
const outcomeText = compliance ? compliance.outcomes.map((one) => {
  const digits = digitsOf(one.mean, 3);
  return (i) => (one.mean[i] === null ? "–" : fixed(one.mean[i], digits));
}) : [];
const anyUnsure = Boolean(compliance && compliance.kept.includes(false));

// -- plots -----------------------------------------------------------------------------------

function colours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["paper", "panel", "ink", "faint", "line", "blue", "red", "green"].map(
    (name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

const times = (count) => (count === 1 ? "once" : `${count} times`);
const narrow = () => window.innerWidth < 600;
const PAPER = 680;

function layout(c, x, y, more = {}) {
  const axis = (settings) => ({
    automargin: true, exponentformat: "power", gridcolor: c.line, linecolor: c.line, zeroline: false, ...settings,
  });
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: c.ink, family: getComputedStyle(document.body).fontFamily, size: 13 },
    margin: { l: 50, r: 15, t: 30, b: 45 },
    xaxis: axis(x), yaxis: axis(y),
    ...(window.matchMedia("print").matches ? { autosize: false, width: PAPER } : { autosize: true }),
    hovermode: "closest", hoverlabel: { align: "left", bgcolor: c.panel, bordercolor: c.line, font: { color: c.ink } },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: narrow() ? 11 : 12 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: c.faint, activecolor: c.ink },
    // On a small screen, dragging must scroll the page.
    dragmode: narrow() ? false : "zoom",
    ...more,
  };
}

function config() {
  return {
    displaylogo: false, responsive: true, displayModeBar: narrow() ? false : "hover",
    // Listed explicitly, because the defaults may include buttons that upload a figure.
    modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]],
  };
}

function title(text) { return { text: plain(cut(text, narrow() ? 30 : 60)), standoff: 8 }; }

// An axis of quantities or of an input: where a number is drawn, and the settings for plotly. The
// other numbers, such as ends of intervals, widen it only as far as the first ones reasonably go.
const MOST_TICKS = 25;

function linear(name, numbers, others = [], fromZero = false) {
  const bulk = bulkOf(numbers) ?? { low: 0, high: 1, from: -Infinity, to: Infinity };
  const isCut = bulk.from > -Infinity;
  const frame = frameOf(isCut ? [bulk.low, bulk.high] : [...numbers, ...others]);
  const axis = { at: frame.at, isOutside: () => false, shown: frame.at, settings: { title: title(frame.title(name)) } };
  if (fromZero) axis.settings.rangemode = "tozero";
  if (!isCut) return axis;
  const near = others.filter((value) => value >= bulk.from && value <= bulk.to);
  const { low, high } = extent([bulk.low, bulk.high, ...near].map(frame.at)), room = 0.08 * (high - low);
  const range = [fromZero ? Math.min(low - room, frame.at(0)) : low - room, high + room];
  // Lines and bars that leave the plot go on for some way, because extremely large places cannot be drawn.
  const way = 10 * (range[1] - range[0]);
  const place = (value) => (Number.isFinite(value) ? Math.min(range[1] + way, Math.max(range[0] - way, frame.at(value))) : null);
  // At the edge, marks of numbers outside stay whole.
  const [first, last] = [range[0] + 0.4 * room, range[1] - 0.4 * room];
  const isOutside = (value) => Number.isFinite(value) && (value < bulk.low || value > bulk.high) && (frame.at(value) < range[0] || frame.at(value) > range[1]);
  return Object.assign(axis, {
    at: place, isOutside, shown: (value) => (isOutside(value) ? (value > bulk.high ? last : first) : frame.at(value)),
    settings: { ...axis.settings, range, rangemode: "normal" },
  });
}

// Marks at the edge for what lies outside.
function outside(c, x, y, xs, ys, text) {
  const found = ys.map((_, i) => i).filter((i) => x.isOutside(xs[i]) || y.isOutside(ys[i]));
  const symbol = (i) => {
    if (y.isOutside(ys[i])) return y.shown(ys[i]) < y.at(ys[i]) ? "triangle-up" : "triangle-down";
    return x.shown(xs[i]) < x.at(xs[i]) ? "triangle-right" : "triangle-left";
  };
  return found.length ? [{
    x: found.map((i) => x.shown(xs[i])), y: found.map((i) => y.shown(ys[i])), mode: "markers", name: "outside the range",
    cliponaxis: false, hoverinfo: "text", hovertext: found.map(text),
    marker: { symbol: found.map(symbol), color: c.ink, size: 11, line: { color: c.paper, width: 1.5 } },
  }] : [];
}

// What a caption says of them.
function sayOutside(name, axis, numbers) {
  const found = numbers.filter(axis.isOutside);
  if (!found.length) return "";
  const { low, high } = extent(found), [first, last] = [low, high].map((value) => number(value, 5));
  const which = found.length === 1 ? `1 ${name} is` : `${found.length} ${name}s are`;
  const marked = found.length === 1 ? "a triangle" : "triangles";
  return ` ${which} outside the range and marked by ${marked} at the edge: ${first === last ? first : `${first} to ${last}`}.`;
}

// An axis of something that is counted or a whole number.
function wholeAxis(name, low, high) {
  const marks = ticks(low, high, narrow() ? 5 : 10, 1);
  return { title: title(name), tickvals: marks.length ? marks : [low], range: [low - 0.5 - 0.02 * (high - low), high + 0.5 + 0.02 * (high - low)] };
}

// Whether an input is a whole number of which each has its own place.
const isStepped = (input) => input.whole && !input.log && input.grid.length > 0 && input.grid.at(-1) - input.grid[0] < MOST_TICKS;

// Whether an input takes all numbers of its range, or very many.
const isSmooth = (input) => !input.choices.length && !isStepped(input) && !(input.log && input.whole);

// The labels of a log scale: powers of ten if some numbers would be long.
function logTexts(marks) {
  const isLong = marks.some((tick) => tick < 1e-4 || tick > 1e4);
  const power = (tick) => Math.round(1e9 * Math.log10(tick)) / 1e9;
  return marks.map((tick) => (isLong && Number.isInteger(power(tick)) ? `10<sup>${power(tick)}</sup>` : number(tick)));
}

// An axis that shows all its numbers.
function spanned(name, numbers) {
  const frame = frameOf(numbers);
  return { at: frame.at, settings: { title: title(frame.title(name)) } };
}

function axisOfInput(input, j) {
  const all = () => [points, maps.listed].flatMap((some) => (some ? some.places.map((row) => row[j]) : []));
  const ends = input.grid.length ? input.grid : input.choices.length ? [] : all();
  const decades = input.log ? Math.log10(ends.at(-1)) - Math.log10(ends[0]) : 0;
  // Within a small factor, a log scale is nearly linear, and has no powers of ten to show.
  const named = input.given ? `${input.name} (given)` : input.name;
  if (!input.choices.length && decades < 0.3) {
    const found = extent(ends) ?? { low: 0, high: 1 };
    if (!input.whole || found.high - found.low >= 1e6) return spanned(named, ends);
    return { at: (place) => place, settings: wholeAxis(named, found.low, found.high) };
  }
  const axis = { at: (place) => place, settings: { title: title(named) } };
  if (!input.choices.length) {
    const all = logTicks(ends[0], ends.at(-1), narrow() ? 5 : 10);
    const marks = input.whole ? all.filter(Number.isInteger) : all;
    // Drawn as logarithms, so that a map has cells of equal size and smooth colours.
    return Object.assign(axis, { at: Math.log10, settings: { ...axis.settings, tickvals: marks.map(Math.log10), ticktext: logTexts(marks) } });
  }
  const n = input.choices.length, every = Math.ceil(n / MOST_TICKS);
  const places = input.choices.map((_, i) => i).filter((i) => i % every === 0);
  Object.assign(axis.settings, {
    tickvals: places, ticktext: places.map((i) => plain(cutMiddle(input.choices[i], 14))), range: [-0.5, n - 0.5],
  });
  return axis;
}

const star = (c, size = 17) => ({ symbol: "star", size, color: c.red, line: { color: c.paper, width: 1 } });

// -- mean against noise ------------------------------------------------------------------------

let weight = trade.own;

const references = [...trade.choices.map((choice) => choice.start), trade.own].filter((w) => w > 0);
// The logarithms of the ends of the slider, because the ends themselves may be extreme.
const lowest = Math.log(references.length ? Math.min(...references) : 1) - Math.LN10;
const highest = Math.log(references.length ? Math.max(...references) : 1) + Math.LN10;

function weightAt(slide) {
  if (slide <= 0) return 0;
  return Math.min(Number.MAX_VALUE, Math.exp(lowest + (highest - lowest) * (slide - 1) / (SLIDES - 1)));
}

function slideAt(w) {
  if (Math.log(w) < lowest) return w > 0 ? 1 : 0;
  return Math.min(SLIDES, Math.round(1 + (SLIDES - 1) * (Math.log(w) - lowest) / (highest - lowest)));
}

// The same as `Frontier.at`: the package computed from which coefficient on each point is reported.
function choiceAt(w) {
  return trade.choices.find((choice) => choice.end === null || w <= choice.end) ?? trade.choices.at(-1);
}

const edge = trade.choices.map((choice) => choice.point);
const ofEdge = (name) => ["_lower", "_upper"].flatMap((end) => edge.map((i) => points[name + end][i]));
const across = linear("noise standard deviation", points.noise, ofEdge("noise"), true);
const upwards = linear("mean", points.mean, ofEdge("mean"));

// The length of a bar between two numbers; none if one is missing.
function gap(axis, from, to) {
  const [a, b] = [axis.at(from), axis.at(to)];
  return a === null || b === null ? 0 : Math.max(0, b - a);
}

const bars = (i, name, axis, colour) => ({
  type: "data", symmetric: false, color: colour, thickness: 1.2, width: 4,
  array: i.map((j) => gap(axis, points[name][j], points[`${name}_upper`][j])),
  arrayminus: i.map((j) => gap(axis, points[`${name}_lower`][j], points[name][j])),
});

function at(indices) {
  return {
    x: indices.map((i) => across.shown(points.noise[i])), y: indices.map((i) => upwards.shown(points.mean[i])),
    hoverinfo: "text", hovertext: indices.map(hover),
  };
}

function drawFrontier() {
  const c = colours();
  const all = points.mean.map((_, i) => i);
  const now = choiceAt(weight).point;
  // A mark at the edge has no bars, which would be in the wrong place.
  const inside = edge.map((i) => (across.isOutside(points.noise[i]) || upwards.isOutside(points.mean[i]) ? -1 : i));
  const unsure = {
    ...at(all.filter((i) => !isKept(i))), mode: "markers", name: "not sure to keep its limits",
    marker: { symbol: "circle-open", color: c.faint, opacity: 1, size: 7, line: { width: 1.5 } },
  };
  return Plotly.react("frontier-plot", [
    { ...at(all.filter(isKept)), mode: "markers", name: "evaluated", marker: { color: c.faint, opacity: 0.8, size: 6 } },
    { ...at(edge), mode: "lines+markers", name: `chosen by some ${trade.symbol}`,
      line: { color: c.blue, width: 1.5, dash: "dot" }, marker: { color: c.blue, size: 8 },
      error_x: bars(inside, "noise", across, c.blue), error_y: bars(inside, "mean", upwards, c.blue) },
    { ...at([points.recommended]), mode: "markers", name: "recommended", cliponaxis: false,
      marker: { symbol: "circle-open", size: 20, color: c.green, line: { width: 2.5 } } },
    { ...at([now]), mode: "markers", name: `chosen by the slider`, marker: star(c), cliponaxis: false },
    ...(anyUnsure ? [unsure] : []), ...outside(c, across, upwards, points.noise, points.mean, hover),
  ], layout(c, across.settings, upwards.settings, { annotations: edgeLabel(c) }), config());
}

// If the recommended point lies outside the range, its place does not show its numbers.
function edgeLabel(c) {
  const i = points.recommended, [mean, noise] = [points.mean[i], points.noise[i]];
  const texts = [...(upwards.isOutside(mean) ? [`mean ${digitsAt("mean", i)(mean)}`] : []),
    ...(across.isOutside(noise) ? [`noise std ${digitsAt("noise", i)(noise)}`] : [])];
  // On the side where there is more room. The axis begins at zero.
  const isRight = across.shown(noise) > extent(points.noise.map(across.shown)).high / 2;
  return texts.length ? [{
    x: across.shown(noise), y: upwards.shown(mean), text: texts.join(", "), showarrow: false, font: { color: c.ink },
    xanchor: isRight ? "right" : "left", xshift: isRight ? -16 : 16,
  }] : [];
}

function showChoice() {
  const choice = choiceAt(weight), i = choice.point;
  const from = number(choice.start);
  const where = trade.choices.length === 1
    ? `Every ${trade.symbol} chooses this point.`
    : choice.end === null
      ? `Every ${trade.symbol} from ${from} upwards chooses this point.`
      : `Every ${trade.symbol} from ${from} to ${number(choice.end)} chooses this point.`;
  const isOwn = weight === trade.own && !inputs.some((input) => input.given);
  get("choice").textContent =
    `${trade.symbol} = ${number(weight)}${isOwn ? ", as in this report" : ""}: use ${setting(i)}. ` +
    `Mean ${withInterval("mean", i)}, noise standard deviation ${withInterval("noise", i)}, ` +
    `evaluated ${times(points.count[i])}. Brackets show ${LEVEL} intervals. ${where}`;
  get("choice").dataset.point = i;
  get("slider").setAttribute("aria-valuetext", `${trade.symbol} = ${number(weight)}`);
}

function choose(w, source) {
  weight = w;
  if (source !== "slider") get("slider").value = slideAt(w);
  if (source !== "weight") get("weight").value = number(w, 4);
  showChoice();
  const now = at([choiceAt(w).point]);
  return Plotly.restyle("frontier-plot", { x: [now.x], y: [now.y], hovertext: [now.hovertext] }, [3]);
}

function startFrontier() {
  if (weight === null) {
    weight = 1;
    get("own").hidden = true;
  }
  get("slider").value = slideAt(weight);
  get("weight").value = number(weight);
  get("slider").addEventListener("input", () => choose(weightAt(Number(get("slider").value)), "slider"));
  get("weight").addEventListener("input", () => {
    const typed = get("weight").valueAsNumber;
    if (typed >= 0 && Number.isFinite(typed)) choose(typed, "weight");
  });
  get("own").addEventListener("click", () => choose(trade.own, "own"));
  showChoice();
  const only = points.mean.length === 1;
  get("frontier-caption").textContent = (only ? `There is one point, with its ${LEVEL} intervals.`
    : `Grey: evaluated points. Blue: ${edge.length === 1 ? "the point" : "points"} that some value of the slider would report, ` +
      `with ${LEVEL} intervals. Circle: the recommended point. Star: the point that the slider chooses. ` +
      `A ${data.minimised ? "smaller" : "larger"} mean is better, and so is less noise.`) +
    (inputs.some((input) => input.given) ? " Each point is judged under the conditions in which it was tried. The recommendation is " +
      "for the conditions to expect, so it may be another point." : "") +
    (anyUnsure ? " Hollow: points that are not sure to keep their limits. The slider does not choose them." : "") +
    sayOutside("mean", upwards, points.mean) + sayOutside("noise standard deviation", across, points.noise);
}

// -- maps --------------------------------------------------------------------------------------

// The quantities of a map: their names, and their values at the recommended point. Outcomes with
// limits are numbered.
const QUANTITIES = { noise: "noise standard deviation", mean: "mean" };
const known = (compliance ? compliance.outcomes : []).map((one, j) => ({ one, j })).filter(({ one }) => one.quantile[0] !== null);
for (const { one, j } of known) QUANTITIES[j] = `${cut(one.name, 40)}, ${one.measured}`;
const outcomeOf = (quantity) => (quantity in points ? null : compliance.outcomes[Number(quantity)]);
const ownOf = (quantity) => (outcomeOf(quantity)?.quantile ?? points[quantity])[points.recommended];
const valuesOf = (record, quantity) => record[quantity] ?? record.outcomes[Number(quantity)];

function option(select, value, text) {
  const made = document.createElement("option");
  made.value = value;
  made.textContent = cut(text, 40);
  select.append(made);
}

const mapOf = (across, up) => maps.maps.find(
  (m) => (m.across === across && m.up === up) || (m.across === up && m.up === across));

function fillUp() {
  const across = Number(get("across").value), before = get("up").selectedOptions[0]?.value;
  get("up").replaceChildren();
  maps.inputs.filter((i) => i !== across && (maps.listed || mapOf(across, i))).forEach((i) => option(get("up"), i, inputs[i].name));
  option(get("up"), "", "no other input");
  if ([...get("up").options].some((o) => o.value === before)) get("up").value = before;
}

function startMaps() {
  if (!maps.inputs.length) {
    for (const part of document.querySelectorAll("#map-plot, #map-controls")) part.hidden = true;
    get("map-caption").textContent = "There is no map: every input has too many choices.";
    return;
  }
  for (const { j } of known) option(get("quantity"), j, QUANTITIES[j]);
  maps.inputs.forEach((i) => option(get("across"), i, inputs[i].name));
  fillUp();
  get("up-label").hidden = maps.inputs.length < 2;
  get("across").addEventListener("change", () => { fillUp(); drawMap(); });
  for (const id of ["quantity", "up"]) get(id).addEventListener("change", drawMap);
}

// What is drawn in this case.
function captionMap(quantity, up, cut) {
  const some = inputs.length > maps.inputs.length
    ? ` The map offers the ${maps.inputs.length} of ${inputs.length} inputs over which the noise varies most.` : "";
  const pairs = maps.inputs.length * (maps.inputs.length - 1) / 2;
  const fewer = !maps.listed && maps.maps.length < pairs ? " Two inputs with many choices each have no map together." : "";
  const others = inputs.length - (up === null ? 1 : 2);
  get("map-intro").textContent = maps.listed ? "The model's estimates for the candidates."
    : others > 0 ? `The model's estimates around the recommended point. ${others === 1 ? "The other input stays at its recommended value."
      : `The other ${others} inputs stay at their recommended values.`}` : "The model's estimates over the whole space.";
  const dots = points.mean.length === 1 ? "" : ` Dots: evaluated points${inputs.length > 2 ? ", whatever their other inputs" : ""}.`;
  const parts = maps.listed ? [`Each mark is a candidate${up === null ? "" : ", coloured by the " + QUANTITIES[quantity]}.`]
    : up !== null ? [`Colour: the ${QUANTITIES[quantity]}.${dots}`]
      : [`${inputs[Number(get("across").value)].choices.length || isStepped(inputs[Number(get("across").value)]) ? "Bars" : "Band"}: the ${LEVEL} interval.`];
  get("map-caption").textContent = [...parts, "Star: the recommended point.",
    outcomeOf(quantity) && up === null && !maps.listed ? "Dashed line: the limit." : "",
    cut ? "The colours stop at the ends of the scale. A few places lie beyond." : ""].filter(Boolean).join(" ") + some + fewer;
}

// The ends of the colours of a quantity. They span at least a typical interval, and for the noise a
// quarter of its size, so that differences that do not matter hardly show.
function colourEnds(quantity, values) {
  const ends = endsOfMost(quantity, values), own = ownOf(quantity);
  // The recommended point is on the scale, even if it is far better than all others.
  return ends && Number.isFinite(own) ? [Math.min(ends[0], own), Math.max(ends[1], own)] : ends;
}

function endsOfMost(quantity, values) {
  const widths = (lower, upper) => lower.map((low, i) => (low === null || upper[i] === null ? null : upper[i] - low));
  const ofOutcome = outcomeOf(quantity) ? maps.slices.flatMap(({ outcomes }) => widths(outcomes[Number(quantity)].lower, outcomes[Number(quantity)].upper)) : null;
  const typical = median(ofOutcome ?? widths(points[`${quantity}_lower`], points[`${quantity}_upper`]));
  if (quantity !== "noise") return colourRange(values, typical);
  return colourRange(values, Math.max(typical, (extent(values)?.high ?? 0) / 4), 0);
}

const heat = (c, values, axis, [low, high]) => ({
  color: values.map(axis.at), cmin: axis.at(low), cmax: axis.at(high), colorscale: "Cividis", showscale: true, size: 9,
  line: { color: c.ink, width: 0.8 }, colorbar: bar(c, axis),
});

const bar = (c, axis) => ({
  title: { text: axis.settings.title.text, side: "right" }, thickness: 12, outlinewidth: 0, tickfont: { color: c.ink },
});

function drawMap() {
  if (!maps.inputs.length) return null;
  const c = colours(), quantity = get("quantity").value, across = Number(get("across").value);
  const up = get("up").value === "" ? null : Number(get("up").value);
  const draw = maps.listed ? listed : up === null ? slice : surface;
  const [traces, axes, isCut = false] = draw(c, quantity, across, up);
  captionMap(quantity, up, isCut);
  return Plotly.react("map-plot", traces, layout(c, ...axes, { showlegend: true }), config());
}

// The axis of an input, with where the recommended and all evaluated points lie on it.
function inputAxis(j) {
  const axis = axisOfInput(inputs[j], j);
  return { ...axis, recommended: axis.at(points.places[points.recommended][j]), evaluated: points.places.map((row) => axis.at(row[j])) };
}

function listed(c, quantity, across, up) {
  const values = valuesOf(maps.listed, quantity), places = maps.listed.places, digits = digitsOf(values);
  const text = places.map((row, i) => [
    ...inputs.slice(0, 12).map((input, j) => plain(cut(`${input.name} = ${valueAt(input, row[j])}`, 60))),
    `${plain(QUANTITIES[quantity])} ${number(values[i], digits)}`].join("<br>"));
  const own = ownOf(quantity), x = inputAxis(across);
  const axis = spanned(QUANTITIES[quantity], [...values, own]);
  const shared = { mode: "markers", name: "candidates", hoverinfo: "text", hovertext: text, x: places.map((row) => x.at(row[across])) };
  const mine = { mode: "markers", name: "recommended", hoverinfo: "skip", marker: star(c), x: [x.recommended] };
  if (up === null) {
    return [[{ ...shared, y: values.map(axis.at), marker: { color: c.blue, size: 8 } }, { ...mine, y: [axis.at(own)] }],
      [x.settings, axis.settings]];
  }
  const y = inputAxis(up);
  return [[{ ...shared, y: places.map((row) => y.at(row[up])), marker: heat(c, values, axis, colourEnds(quantity, values)) },
    { ...mine, y: [y.recommended] }], [x.settings, y.settings]];
}

// The line goes through the recommended point, even if that lies between the places of its grid.
function withRecommended(across, quantity, columns) {
  const place = points.places[points.recommended][across], i = columns[0].findIndex((one) => one >= place);
  if (!isSmooth(inputs[across]) || i < 0 || columns[0][i] === place) return columns;
  const own = [place, ...endsOf(quantity, points.recommended)];
  return columns.map((column, j) => [...column.slice(0, i), own[j], ...column.slice(i)]);
}

function slice(c, quantity, across) {
  const along = maps.slices.find((s) => s.input === across), found = valuesOf(along, quantity);
  const outcome = outcomeOf(quantity), columns = [along.at, found.middle, found.lower, found.upper];
  const [places, middle, low, high] = outcome ? columns : withRecommended(across, quantity, columns);
  const own = ownOf(quantity), x = inputAxis(across);
  const numbers = [...middle, ...low, ...high];
  const axis = spanned(QUANTITIES[quantity], [...numbers, own, ...(outcome ? [outcome.bound] : [])]);
  const text = places.map((place, i) => {
    const [value, from, to] = [middle[i], low[i], high[i]].map(justified(middle[i], low[i], high[i]));
    return `${plain(cut(valueAt(inputs[across], place), 60))}<br>${value} [${from}, ${to}]`;
  });
  const error = {
    type: "data", symmetric: false, color: c.blue,
    array: middle.map((v, i) => gap(axis, v, high[i])), arrayminus: middle.map((v, i) => gap(axis, low[i], v)),
  };
  const band = { mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, x: places.map(x.at) };
  const line = {
    name: "estimate", x: places.map(x.at), y: middle.map(axis.at), hoverinfo: "text", hovertext: text,
    line: { color: c.blue }, marker: { color: c.blue, size: 9 },
  };
  const mine = { mode: "markers", name: "recommended", hoverinfo: "skip", x: [x.recommended], y: [axis.at(own)], marker: star(c) };
  const traces = inputs[across].choices.length || isStepped(inputs[across])
    ? [{ ...line, mode: "markers", error_y: error }, mine]
    : [{ ...band, y: low.map(axis.at) }, { ...band, y: high.map(axis.at), fill: "tonexty", fillcolor: `${c.blue}33`, name: `${LEVEL} interval`, showlegend: true },
      { ...line, mode: "lines" }, mine];
  if (outcome) {
    const ends = inputs[across].choices.length ? [-0.5, inputs[across].choices.length - 0.5] : [places[0], places.at(-1)].map(x.at);
    traces.push({ mode: "lines", name: "limit", x: ends, y: ends.map(() => axis.at(outcome.bound)), hoverinfo: "text",
      hovertext: `limit ${number(outcome.bound, 6)}`, line: { color: c.ink, dash: "dash", width: 1.5 } });
  }
  return [traces, [x.settings, axis.settings]];
}

function surface(c, quantity, across, up) {
  const found = mapOf(across, up), flat = valuesOf(found, quantity), width = found.x.length;
  const rows = found.y.map((_, j) => flat.slice(j * width, (j + 1) * width));
  const swapped = found.across !== across;
  const values = swapped ? found.x.map((_, i) => rows.map((row) => row[i])) : rows;
  const [rightwards, upwards] = swapped ? [found.y, found.x] : [found.x, found.y];
  const x = inputAxis(across), y = inputAxis(up), digits = digitsOf(flat, 3), axis = spanned(QUANTITIES[quantity], flat);
  const ends = colourEnds(quantity, flat), seen = extent(flat);
  const text = upwards.map((b, j) => rightwards.map((a, i) =>
    [[across, a], [up, b]].map(([k, place]) => plain(cut(`${inputs[k].name} = ${valueAt(inputs[k], place)}`, 60)))
      .concat(`${plain(QUANTITIES[quantity])} ${number(values[j][i], digits)}`).join("<br>")));
  const numeric = [across, up].every((i) => isSmooth(inputs[i]));
  // A map ends at the ends of its inputs. Cells would end half a cell later.
  const within = (axis, input, places) => ({ ...axis.settings, showgrid: false,
    ...(isSmooth(input) && places.length > 1 ? { range: [places[0], places.at(-1)].map(axis.at) } : {}) });
  return [[
    { type: "heatmap", x: rightwards.map(x.at), y: upwards.map(y.at), z: values.map((row) => row.map(axis.at)), text,
      hoverinfo: "text", colorscale: "Cividis", zsmooth: numeric ? "best" : false, colorbar: bar(c, axis),
      ...(ends ? { zmin: axis.at(ends[0]), zmax: axis.at(ends[1]) } : {}) },
    { mode: "markers", name: "evaluated", hoverinfo: "text", hovertext: points.mean.map((_, i) => hover(i)), x: x.evaluated, y: y.evaluated, cliponaxis: false,
      // White with a dark edge, to be seen on every colour of the map.
      marker: { size: 6, color: "#ffffff", opacity: points.mean.length > 300 ? 0.6 : 0.9, line: { color: "#000000", width: 1 } } },
    { mode: "markers", name: "recommended", hoverinfo: "text", hovertext: [hover(points.recommended)], x: [x.recommended], y: [y.recommended], cliponaxis: false,
      marker: { ...star(c, 19), color: "#d55e00", line: { color: "#ffffff", width: 1.5 } } },
  ], [within(x, inputs[across], rightwards), within(y, inputs[up], upwards)],
  Boolean(ends && seen && (seen.low < ends[0] || seen.high > ends[1]))];
}

// -- history -----------------------------------------------------------------------------------

const valueAxis = linear("value", history.value, history.best);
const isBeyond = ({ at, settings: { range } }, value) => Boolean(range) && (at(value) < range[0] || at(value) > range[1]);

function drawHistory() {
  const c = colours(), axis = valueAxis, times = { at: (i) => i, shown: (i) => i, isOutside: () => false };
  const best = history.best.map(axis.at);
  const failed = history.failed.length > 0;
  const traces = [
    { x: history.number, y: history.value.map((value) => (axis.isOutside(value) ? null : axis.at(value))), mode: "markers",
      name: "values", marker: { color: c.faint, opacity: 0.8, size: 5 } },
    ...(best.length ? [{ x: history.best_at, y: best, mode: "lines+markers", name: "best pessimistic value",
      line: { color: c.blue, shape: "hv", width: 2 }, marker: { color: c.blue, size: 5 } }] : []),
    ...outside(c, times, axis, history.number, history.value, (i) => `evaluation ${history.number[i]}: ${number(history.value[i], 6)}`),
  ];
  if (failed) {
    traces.push({ x: history.failed, y: history.failed.map(() => 0), yaxis: "y2", mode: "markers", name: "failed",
      hoverinfo: "x", marker: { symbol: "x", color: c.red, size: 8 } });
  }
  // Failures have a strip of their own, because they have no value.
  const strip = {
    yaxis2: { domain: [0, 0.1], range: [-1, 1], tickvals: [0], ticktext: ["failed"], automargin: true, showgrid: false,
      zeroline: false, fixedrange: true, linecolor: c.line },
  };
  const shape = layout(c, { ...wholeAxis("evaluation", 1, history.n), anchor: failed ? "y2" : "y" },
    { ...axis.settings, ...(failed ? { domain: [0.16, 1] } : {}) }, failed ? strip : {});
  return Plotly.react("history-plot", traces, shape, config());
}

function startHistory() {
  const some = history.n > history.number.length + history.failed.length
    ? ` Of ${history.n} evaluations, ${history.number.length + history.failed.length} are shown.` : "";
  get("history-caption").textContent =
    "Grey: every value, in the order of the run." + (history.best.length ? " Blue: the best pessimistic value of the points " +
      "evaluated until then, computed from the data until then." : "") +
    (compliance ? (history.best.length ? " Only points that were sure to keep their limits count."
      : " No point was sure to keep its limits, so there is no best value.") : "") +
    (history.best.some((value) => valueAxis.at(value) !== null && isBeyond(valueAxis, value)) ? " Where the blue line leaves the plot, it goes on outside the range." : "") +
    (history.failed.length ? " Crosses in the strip below: failed evaluations." : "") +
    sayOutside("value", valueAxis, history.value) + some;
}

// -- the table ---------------------------------------------------------------------------------

const interval = (name) => (i) => withInterval(name, i);

// Numbers of the kind of the mean have its digits.
const TEXT = {
  pessimistic: (i) => digitsAt("mean", i)(points.pessimistic[i]), sample_mean: (i) => digitsAt("mean", i)(points.sample_mean[i]),
  sample_std: (i) => (points.sample_std[i] === null ? "–" : fixed(points.sample_std[i], 2)),
};

// Results come before parameters, so that they can be read without scrolling.
const columns = [
  { name: "mean", key: (i) => points.mean[i], text: interval("mean"), number: true },
  { name: "noise std", key: (i) => points.noise[i], text: interval("noise"), number: true },
  ...["pessimistic", "count", "failures", "sample_mean", "sample_std"].map((name) => ({
    own: name, name: { pessimistic: "pessimistic value", count: "values", failures: "failed" }[name] || name.replace("_", " "),
    key: (i) => points[name][i], text: TEXT[name] ?? ((i) => number(points[name][i], 17)), number: true,
  })).filter((column) => column.own !== "failures" || points.failures.some((n) => n > 0)),
  ...inputs.map((input, j) => ({
    name: input.given ? `${input.name} (given)` : input.name, key: (i) => points.places[i][j],
    text: (i) => cut(valueAt(input, points.places[i][j]), 60), number: !input.choices.length,
  })),
];
if (compliance) {
  const ofOutcomes = compliance.outcomes.map((one, j) => ({
    name: one.name, key: (i) => one.mean[i], text: outcomeText[j], number: true,
  }));
  const kept = { name: "limits kept", key: (i) => compliance.chance[i], text: keptText, number: true };
  columns.unshift(kept, ...ofOutcomes);
}
const PESSIMISTIC = columns.findIndex((column) => column.own === "pessimistic");

// Until the reader sorts, points that are sure to keep their limits come first.
let order = { column: PESSIMISTIC, falling: !data.minimised, keptFirst: true };
let rows = FIRST_ROWS;

function sorted() {
  const { key } = columns[order.column], way = order.falling ? -1 : 1;
  // Missing values, such as the standard deviation of a single value, come last.
  return points.mean.map((_, i) => i).sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (order.keptFirst && isKept(a) !== isKept(b)) return isKept(a) ? -1 : 1;
    if (x === null || y === null) return (x === null) - (y === null);
    return way * (x - y) || a - b;
  });
}

function cell(tag, text, isNumber) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (isNumber) made.className = "number";
  return made;
}

function heading(column, j) {
  const head = cell("th", "", column.number);
  const button = document.createElement("button");
  const isSorted = order.column === j;
  button.type = "button";
  button.textContent = cut(column.name, 40) + (isSorted ? (order.falling ? "\u00a0↓" : "\u00a0↑") : "");
  button.addEventListener("click", () => {
    order = { column: j, falling: isSorted ? !order.falling : column.number };
    fillTable();
    get("points-table").querySelectorAll("th button")[j].focus();
  });
  head.scope = "col";
  head.setAttribute("aria-sort", isSorted ? (order.falling ? "descending" : "ascending") : "none");
  head.append(button);
  return head;
}

function fillTable() {
  const head = document.createElement("thead"), body = document.createElement("tbody");
  const first = document.createElement("tr");
  first.append(...columns.map(heading));
  head.append(first);
  for (const i of sorted().slice(0, rows)) {
    const row = document.createElement("tr");
    row.append(...columns.map((column) => cell("td", column.text(i), column.number)));
    if (!isKept(i)) row.className = "unsure";
    if (i === points.recommended) row.classList.add("chosen");
    body.append(row);
  }
  get("points-table").replaceChildren(head, body);
  captionTable();
}

function captionTable() {
  const n = points.mean.length, caption = get("points-caption");
  caption.textContent = `Brackets show ${LEVEL} intervals. The recommended point is bold. Click a heading to sort. ` +
    (compliance ? "For each outcome with a limit, the mean of its values is shown, and whether the limits are kept with the " +
      `probability of it. ${anyUnsure ? "Points that are not sure to keep them are grey. " : ""}` : "") +
    (data.blocked ? "Sample means and standard deviations include the effects of blocks. " : "") +
    (points.n > n ? `The table holds ${counted(n)} of ${counted(points.n)} points: the best ones and all that the slider can choose. ` : n === 1 ? "There is one point. " : `There are ${counted(n)} points. `);
  if (rows >= n) return;
  const more = document.createElement("button");
  more.type = "button";
  more.className = "screen-only";
  more.textContent = `Show all ${counted(n)}`;
  more.addEventListener("click", () => { rows = n; fillTable(); });
  caption.append(`The first ${rows} are shown. `, more);
}

// -- start -------------------------------------------------------------------------------------

const DRAWN = [drawFrontier, drawMap, drawHistory];

// One after the other, so that the page stays responsive in between.
async function drawFirst() {
  for (const draw of DRAWN) {
    await draw();
    await new Promise((resolve) => setTimeout(resolve));
  }
  document.documentElement.dataset.drawn = "yes";
}

// All at once, because printing does not wait.
function drawAgain() { for (const draw of DRAWN) draw(); }

startFrontier();
startMaps();
startHistory();
fillTable();
drawFirst();
for (const media of ["(prefers-color-scheme: dark)", "print", "(max-width: 599px)"]) {
  window.matchMedia(media).addEventListener("change", drawAgain);
}
})();
