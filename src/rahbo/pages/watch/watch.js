// The live page. Values of the run enter the document only as text, never as markup.
"use strict";

const MOST_VALUES = 5000;
const SVG = "http://www.w3.org/2000/svg";
const shown = { epoch: 0, known: 0, values: [], run: null, model: { version: 0 } };

function count(n, one, many) { return `${n.toLocaleString("en")} ${n === 1 ? one : many}`; }

// -- tables -----------------------------------------------------------------------------------

// No line ends between the name of a parameter and its value.
const together = (text) => text.replaceAll(" = ", "\u00a0=\u00a0");

// A cell is text, or [text] for a number, which is aligned to the right. On a narrow screen, a cell
// shows its heading; parameters have their names already.
function table(id, headings, rows) {
  const row = (cells, kind) => {
    const tr = document.createElement("tr");
    cells.forEach((cell, j) => {
      const td = document.createElement(kind), head = [headings[j]].flat()[0];
      td.className = Array.isArray(cell) ? "number" : "text";
      td.textContent = Array.isArray(cell) ? cell[0] : together(cell);
      if (head && head !== "parameters") td.dataset.head = head;
      tr.append(td);
    });
    return tr;
  };
  const head = headings.some((h) => h.length) ? [row(headings, "th")] : [];
  at(id).replaceChildren(...(rows.length ? [...head, ...rows.map((r) => row(r, "td"))] : []));
}

// A setting as a list: each name above its value.
function setting(id, params) {
  at(id).replaceChildren(...params.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

// -- charts -----------------------------------------------------------------------------------

function svg(name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

// The smallest and largest of some numbers without outliers, with a margin so that they differ. The
// others, such as ends of intervals, count only as far as the first ones reasonably go.
function ends(numbers, others = []) {
  const bulk = bulkOf(numbers);
  if (bulk === null) return null;
  const found = extent([bulk.low, bulk.high, ...others.filter((value) => value >= bulk.from && value <= bulk.to)]);
  const room = 0.05 * (found.high - found.low) || found.size * 0.1 || 1;
  return [found.low - room, found.high + room];
}

// Numbers in their frame, which outliers do not decide.
function framed(numbers) {
  const bulk = bulkOf(numbers);
  return frameOf(bulk === null || bulk.from === -Infinity ? numbers : [bulk.low, bulk.high]);
}

// Evaluations are counted, so there is nothing between them and nothing after the last one.
const counted = (first, last) => [first - 0.5, last + 0.5];

// The width of a text of ticks, about.
const widthOf = (texts) => 7 * texts.reduce((most, text) => Math.max(most, text.length), 0);

// Draw the axes of a chart, and return the scales to draw on them. The steps between the ticks of
// x are at least as large as given.
function axes(id, [x0, x1], range, xlabel, ylabel, least = 0, strip = 0) {
  const place = at(id), width = place.clientWidth, height = place.clientHeight;
  const texts = (found) => found.map((tick) => number(tick, digitsOf(found)));
  // Without numbers there are no ticks either.
  const [y0, y1] = range ?? [0, 1], ups = range ? ticks(y0, y1, 5) : [], left = Math.max(62, 12 + widthOf(texts(ups)));
  const right = width - 18, top = 22, floor = height - 38, bottom = floor - strip;
  // Beyond the edges, places stay near enough to be drawn.
  const clip = (px, low, high) => Math.min(high + 1000, Math.max(low - 1000, px));
  const x = (value) => clip(left + ((value - x0) / (x1 - x0)) * (right - left), left, right);
  const y = (value) => clip(bottom - ((value - y0) / (y1 - y0)) * (bottom - top), top, bottom);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  root.setAttribute("aria-label", `${ylabel} by ${xlabel}`);
  ups.forEach((tick, i) => {
    root.append(svg("path", { class: "grid", d: `M${left} ${y(tick)}H${right}` }));
    root.append(svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, texts(ups)[i]));
  });
  const rights = ticks(x0, x1, width < 500 ? 4 : 6, least);
  rights.forEach((tick, i) => {
    root.append(svg("path", { class: "grid", d: `M${x(tick)} ${floor}v4` }));
    root.append(svg("text", { x: x(tick), y: floor + 17, "text-anchor": "middle" }, texts(rights)[i]));
  });
  root.append(svg("text", { x: right, y: height - 5, "text-anchor": "end" }, xlabel));
  root.append(svg("text", { x: 0, y: 12 }, ylabel));
  place.replaceChildren(root);
  // Lines and bars end at the edges, and what lies outside is marked there.
  const clipped = svg("clipPath", { id: `${id}-clip` });
  clipped.append(svg("rect", { x: left - 4, y: top - 4, width: Math.max(0, right - left + 8), height: Math.max(0, bottom - top + 8) }));
  root.append(clipped);
  const isOutside = ([px, py]) => px < left - 1 || px > right + 1 || py < top - 1 || py > bottom + 1;
  const inside = ([px, py]) => [Math.min(right - 4, Math.max(left + 4, px)), Math.min(bottom - 4, Math.max(top + 4, py))];
  return { root, x, y, left, right, top, bottom, floor, isOutside, inside, clip: `url(#${id}-clip)` };
}

// Triangles at the edge that point to what lies outside.
function arrows(places, { isOutside, inside, top, bottom, right }) {
  return places.filter(isOutside).map(([px, py]) => {
    const [cx, cy] = inside([px, py]);
    if (py < top) return `M${cx - 4} ${cy + 3}h8l-4 -7z`;
    if (py > bottom) return `M${cx - 4} ${cy - 3}h8l-4 7z`;
    return px > right ? `M${cx - 3} ${cy - 4}v8l7 -4z` : `M${cx + 3} ${cy - 4}v8l-7 -4z`;
  }).join("");
}

// A legend beside the title of a chart: the class of each mark, how it looks and what it means.
const LOOKS = {
  marks: "M7 6h0", line: "M0 6h14", bars: "M0 6h14M7 1v10", unsure: "M4 6a3 3 0 1 0 6 0a3 3 0 1 0 -6 0", lost: "M4 3l6 6m0 -6l-6 6",
  chosen: "M2 6a5 5 0 1 0 10 0a5 5 0 1 0 -10 0", outside: "M3 9h8l-4 -7z", "chosen-bars": "M0 6h14M7 1v10",
};

function legend(id, entries) {
  const figure = at(id).parentElement, text = entries.map((entry) => entry.join()).join();
  let list = figure.querySelector(".legend");
  if (list === null) {
    list = document.createElement("ul");
    list.className = "legend";
    at(id).before(list);
  }
  if (list.dataset.shown === text) return;
  list.dataset.shown = text;
  list.replaceChildren(...entries.map(([look, label]) => {
    const item = document.createElement("li"), sample = svg("svg", { viewBox: "0 0 14 12", "aria-hidden": "true" });
    sample.append(svg("path", { class: look, d: LOOKS[look] }));
    item.append(sample, label);
    return item;
  }));
}

const outsideEntry = (places, isOutside) => {
  const n = places.filter(isOutside).length;
  return n ? [["outside", `${n} outside the range`]] : [];
};

// What a caption says of them, in numbers of the user.
function sayOutside(places, numbers, isOutside) {
  const found = extent(numbers.filter((_, i) => isOutside(places[i])));
  if (found === null) return "";
  const [low, high] = [found.low, found.high].map((value) => number(value, 5));
  return ` Outside the range: ${low === high ? low : `${low} to ${high}`}.`;
}

// A chart without marks says so.
function empty(id) {
  const place = at(id), width = place.clientWidth, height = place.clientHeight;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Nothing to show yet" });
  root.append(svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "Nothing to show yet."));
  place.replaceChildren(root);
  legend(id, []);
  caption(id, "");
}

// All marks are one path, so that thousands of them are cheap to draw.
const dots = (points) => points.map(([px, py]) => `M${px.toFixed(1)} ${py.toFixed(1)}h0`).join("");

// Set what the caption of a chart says while no mark is described.
function caption(id, text) {
  const place = at(id).parentElement.querySelector(".reading");
  if (place.dataset.usual === text) return;
  place.dataset.usual = text;
  place.textContent = text;
}

// Describe the mark next to the pointer below the chart.
function readable(id, root, spots) {
  const ring = svg("circle", { class: "found", r: 6, visibility: "hidden" });
  root.append(ring);
  const caption = at(id).parentElement.querySelector(".reading");
  caption.dataset.usual ??= caption.textContent;
  const usual = () => {
    ring.setAttribute("visibility", "hidden");
    caption.textContent = caption.dataset.usual;
  };
  root.onpointermove = (event) => {
    const box = root.getBoundingClientRect();
    const px = event.clientX - box.left, py = event.clientY - box.top;
    let nearest = null, least = 30 ** 2;
    for (const spot of spots) {
      const distance = (spot.x - px) ** 2 + (spot.y - py) ** 2;
      if (distance < least) [nearest, least] = [spot, distance];
    }
    if (nearest === null) { usual(); return; }
    ring.setAttribute("cx", nearest.x);
    ring.setAttribute("cy", nearest.y);
    ring.setAttribute("visibility", "visible");
    caption.textContent = nearest.say();
  };
  root.onpointerleave = usual;
}

function drawValues() {
  const { values, known } = shown, first = known - values.length;
  if (!values.length) { empty("values"); return; }
  const told = values.map((v) => v[2]).filter((value) => value !== null), frame = framed(told), digits = digitsOf(told, 4);
  const lost = values.length > told.length;
  // Failures have a strip of their own, because they have no value.
  const drawn = axes("values", counted(first + 1, known), ends(told.map(frame.at)), "evaluation", frame.title("value"), 1, lost ? 24 : 0);
  const { root, x, y, left, right, bottom, floor, isOutside, inside } = drawn;
  const place = ([, , value], i) => [x(first + i + 1), value === null ? floor - 8 : y(frame.at(value))];
  const spots = values.map((row, i) => ({
    place: place(row, i), lost: row[2] === null,
    say: () => `Evaluation ${first + i + 1}, suggestion ${row[0]}, repeat ${row[1]}: ${row[2] === null ? "failed" : number(row[2], digits)}`,
  }));
  const of = (isLost) => spots.filter((spot) => spot.lost === isLost).map((spot) => spot.place);
  root.append(svg("path", { class: "marks", d: dots(of(false).filter((one) => !isOutside(one))) }));
  root.append(svg("path", { class: "outside", d: arrows(of(false), drawn) }));
  if (lost) {
    root.append(svg("path", { class: "grid", d: `M${left} ${bottom + 8}H${right}` }));
    root.append(svg("text", { class: "strip", x: left - 6, y: floor - 4, "text-anchor": "end" }, "failed"));
    root.append(svg("path", { class: "lost", d: of(true).map(([px, py]) => `M${px - 3} ${py - 3}l6 6m0 -6l-6 6`).join("") }));
  }
  legend("values", [["marks", "value"], ...(lost ? [["lost", "failed"]] : []), ...outsideEntry(of(false), isOutside)]);
  caption("values", "Each value in the order it arrived." + (lost ? " Crosses in the strip below are failures." : "") +
    sayOutside(of(false), told, isOutside));
  readable("values", root, spots.map((spot) => {
    const [px, py] = spot.lost ? spot.place : inside(spot.place);
    return { x: px, y: py, say: spot.say };
  }));
}

function drawBest() {
  const { best = [], n_evaluations: n = 1, recommendation: found } = shown.model;
  const all = best.map((b) => b[1]), frame = framed(all), digits = digitsOf(all, 4);
  if (!best.length) { empty("best"); return; }
  const drawn = axes("best", counted(1, n), ends(all.map(frame.at)), "evaluation", frame.title("risk value"), 1);
  const { root, x, y, clip, isOutside, inside } = drawn;
  const points = best.map(([i, value]) => [x(i), y(frame.at(value))]);
  root.append(svg("path", { class: "line", "clip-path": clip, d: points.map((p, k) => `${k ? "L" : "M"}${p}`).join("") }));
  root.append(svg("path", { class: "marks", d: dots(points.filter((one) => !isOutside(one))) }));
  // A poor start is not an outlier: the line comes from outside, and the caption says from where.
  const first = points.findIndex((one) => !isOutside(one)), later = points.slice(first);
  root.append(svg("path", { class: "outside", d: arrows(later, drawn) }));
  legend("best", [["line", "best pessimistic value"], ...outsideEntry(later, isOutside)]);
  caption("best", "The best pessimistic value of the points evaluated until then, computed from the data until then." +
    (first > 0 ? ` It began at ${number(all[0], 3)}, outside the range.` : "") + sayOutside(later, all.slice(first), isOutside) +
    (found && found.limits.length ? " Only points that were sure to keep their limits count." : ""));
  readable("best", root, best.map(([i, value], k) => ({
    x: inside(points[k])[0], y: inside(points[k])[1],
    say: () => `After ${count(i, "evaluation", "evaluations")}: ${number(value, digits)}`,
  })));
}

function drawNoise() {
  const { points = [], chosen = -1, recommendation: found, conditions = [] } = shown.model;
  if (!points.length) { empty("noise"); return; }
  const column = (j) => points.map((p) => p[j]), both = (j) => [...column(j + 1), ...column(j + 2)];
  const bulk = bulkOf(column(3)), wide = bulkOf(column(0));
  const across = bulk.from === -Infinity ? frameOf([...column(3), ...both(3)]) : framed(column(3));
  const up = wide.from === -Infinity ? frameOf([...column(0), ...both(0)]) : framed(column(0));
  const xs = ends(column(3).map(across.at), both(3).map(across.at)), least = across.at(0);
  const drawn = axes("noise", [Math.max(least, xs[0]), xs[1]], ends(column(0).map(up.at), both(0).map(up.at)),
    across.title("noise std"), up.title("mean"));
  const { root, x, y, left, right, top, bottom, clip, isOutside, inside } = drawn;
  // A bound that is not finite lies at the edge of the chart.
  const px = (value, edge) => (value === null ? edge : x(across.at(value)));
  const py = (value, edge) => (value === null ? edge : y(up.at(value)));
  const middle = (p) => [px(p[3], left), py(p[0], bottom)];
  const bars = (p) => `M${middle(p)[0]} ${py(p[1], bottom)}V${py(p[2], top)}M${px(p[4], left)} ${middle(p)[1]}H${px(p[5], right)}`;
  const path = (name, d) => root.append(svg("path", { class: name, d, ...(name.endsWith("bars") ? { "clip-path": clip } : {}) }));
  // A point that is not sure to keep its limits is a ring.
  const near = points.filter((p, i) => i !== chosen && !isOutside(middle(p)));
  const others = near.filter((p) => p[8] !== false), unsure = near.filter((p) => p[8] === false);
  path("unsure-bars", unsure.map(bars).join(""));
  path("unsure", unsure.map(middle).map(([cx, cy]) => `M${(cx - 3).toFixed(1)} ${cy.toFixed(1)}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`).join(""));
  path("bars", others.map(bars).join(""));
  path("marks", dots(others.map(middle)));
  // The recommended point has its own mark there.
  const rest = points.filter((_, i) => i !== chosen);
  path("outside", arrows(rest.map(middle), drawn));
  if (chosen in points) {
    const p = points[chosen], [cx, cy] = inside(middle(p));
    if (!isOutside(middle(p))) path("chosen-bars", bars(p));
    root.append(svg("circle", { class: "chosen", r: 7, cx, cy }));
    // At the edge, the place does not show the numbers, so they are written beside it.
    if (isOutside(middle(p))) {
      const isLeft = cx < (left + right) / 2, text = `mean ${justified(...p.slice(0, 3))(p[0])}, noise std ${justified(...p.slice(3, 6))(p[3])}`;
      root.append(svg("text", { x: cx + (isLeft ? 12 : -12), y: cy + 4, "text-anchor": isLeft ? "start" : "end" }, text));
    }
  }
  const level = found ? `${number(100 * found.level)} % ` : "";
  legend("noise", [["chosen", "recommended"], ...(others.length ? [["marks", "evaluated"]] : []),
    ...(unsure.length ? [["unsure", "not sure to keep its limits"]] : []), [near.length ? "bars" : "chosen-bars", `${level}interval`],
    ...outsideEntry(rest.map(middle), isOutside)]);
  caption("noise", points.length === 1 ? "There is one evaluated point."
    : `Each evaluated point. A ${shown.model.minimised ? "smaller" : "larger"} mean is better, and so is less noise.` +
      (conditions.length ? " Each point is judged under the conditions in which it was tried." : "") +
      sayOutside(rest.map(middle), rest.map((p) => p[0]), (place) => place[1] < top - 1 || place[1] > bottom + 1));
  readable("noise", root, points.map((p, i) => ({
    x: inside(middle(p))[0],
    y: inside(middle(p))[1],
    say: () => `${i === chosen ? "Recommended: " : ""}${p[7]}: mean ${justified(...p.slice(0, 3))(p[0])}, noise std ` +
      `${justified(...p.slice(3, 6))(p[3])}, ${count(p[6], "value", "values")}${p[8] === false ? ", not sure to keep its limits" : ""}`,
  })));
}

// -- contents ---------------------------------------------------------------------------------

// How far the run is, and how fast it goes. The budget is known only if the command was told.
function progress(run) {
  const made = count(run.n_evaluations, "evaluation", "evaluations");
  return run.budget ? `${run.n_evaluations.toLocaleString("en")} of ${count(run.budget, "evaluation", "evaluations")}` : made;
}

function pace(run) {
  if (!run.rate) return "";
  const [per, unit] = [[1, "second"], [60, "minute"], [3600, "hour"]].find(([each]) => run.rate * each >= 1) ?? [86400, "day"];
  const left = run.left ? `, about ${ago(run.left)} left` : "";
  return `; ${number(run.rate * per, 2)} a ${unit}${left}`;
}

function showRun(run, age) {
  const file = run.name.split(/[\\/]/).pop();
  // In the lab, people know a study by its name, not by its file.
  say("name", COMMAND === "rahbo watch" ? file : file.replace(/\.jsonl$/, ""));
  at("name").title = run.name;
  document.title = `${run.n_evaluations} evaluations – ${COMMAND}`;
  notice("problem", run.problem);
  const lost = run.n_failures ? ` (${run.n_failures.toLocaleString("en")} failed)` : "";
  say("state", `${progress(run)}${lost}${pace(run)}${age}.`);
  // The lab has tables of its own.
  if (at("open")) showTables(run);
}

function showTables(run) {
  at("no-open").hidden = run.n_open > 0;
  table("open", [["suggestion"], ["values"], ["failed"], ["missing"], "parameters"], run.open.map(
    (o) => [[o.id], [o.told], [o.failed], [o.missing], o.params]));
  const more = run.n_open - run.open.length;
  say("evaluated", more > 0 ? `Being evaluated, and ${more} more` : "Being evaluated");
  const digits = digitsOf(run.newest.map((v) => v.value), 4);
  const blocked = run.newest.some((v) => v.block) ? [0] : [];
  const ofOutcome = run.outcomes.map((_, j) => digitsOf(run.newest.map((v) => v.outcomes[j]), 4));
  table("newest", [["value"], ...run.outcomes.map((name) => [name]), ["suggestion"], ...blocked.map(() => "block"), "parameters"],
    run.newest.map((v) => [
      [v.value === null ? "failed" : number(v.value, digits)], ...v.outcomes.map((told, j) => [number(told, ofOutcome[j])]),
      [`${v.trial}, repeat ${v.repeat}`], ...blocked.map(() => v.block), v.params]));
  at("no-newest").hidden = run.newest.length > 0;
  at("no-failures").hidden = run.failures.length > 0;
  table("failures", [["suggestion"], "reason", "parameters"], run.failures.map(
    (v) => [[`${v.trial}, repeat ${v.repeat}`], v.reason, v.params]));
  at("no-settings").hidden = run.settings.length > 0;
  table("settings", ["", ""], run.settings);
}

// An estimate and its interval as cells, in the digits that the interval justifies.
function estimate(value, lower, upper, ...more) {
  const text = justified(value, lower, upper);
  return [[text(value)], [value === null ? "–" : `${text(lower)} to ${text(upper)}`], ...more.map((one) => [text(one)])];
}

function showLimits(found, level) {
  table("limits", ["outcome", ...["kept", "quantile", `${level} interval`, "pessimistic"].map((head) => [head]), "limit"],
    found.limits.map(([name, limit, quantile, lower, upper, pessimistic, chance, kept]) => [
      name, [`${kept ? "yes" : "not sure"} (${number(100 * chance, 3)} %)`], ...estimate(quantile, lower, upper, pessimistic), limit]));
}

function showBlocks(blocks, level) {
  const more = blocks.n > blocks.effects.length ? ` The ${blocks.effects.length} largest effects are shown.` : "";
  say("between", blocks.said + more);
  table("blocks", ["block", ["effect"], [`${level} interval`]], blocks.effects.map(
    ([name, ...numbers]) => [name, ...estimate(...numbers)]));
}

function showModel(model) {
  const found = model.recommendation;
  at("others").hidden = !(found && found.runner_ups.length);
  at("limited").hidden = !(found && found.limits.length);
  at("blocked").hidden = !(found && found.blocks);
  if (!found) {
    if (model.problem) say("sure", model.problem);
    setting("params", []);
    table("known", [], []);
    say("measured", "");
    return;
  }
  const level = `${number(100 * found.level)} %`;
  say("sure", found.certainty);
  setting("params", found.params);
  const digits = justified(...found.known.at(-1).slice(1)), means = justified(...found.known[0].slice(1));
  table("known", ["", ["value"], [`${level} interval`]], found.known.map(([label, ...numbers]) => [label, ...estimate(...numbers)])
    .concat([["pessimistic value", [digits(found.pessimistic)], [""]]]));
  showLimits(found, level);
  if (found.blocks) showBlocks(found.blocks, level);
  const spread = found.sample_std === null ? "" : `, standard deviation ${number(found.sample_std, 2)}`;
  const less = found.blocks ? ", less the effects of their blocks" : "";
  const given = model.conditions.length ? `The recommendation is for the conditions told so far (${model.conditions.join(", ")}). ` : "";
  const tried = found.trials ? ` (${found.trials})` : "";
  say("measured", `${given}Values at this point${tried}${less}: ${found.n_evaluations}, mean ${means(found.sample_mean)}${spread}.`);
  const heads = [found.decided, "risk value", "expected gain", `${level} bound of gain`];
  const settings = ["the recommended setting", ...found.runner_ups.map((r) => r.params)];
  table("runner-ups", [...heads.map((head) => [head]), "setting"], found.compared.map(
    (row, i) => [...row.map((text) => [text]), settings[i]]));
}

function sayLearned() {
  const { run, model } = shown, behind = shown.known - (model.n_evaluations ?? 0);
  const parts = [];
  if (!model.n_evaluations) say("sure", shown.known ? "The model is being fitted." : "There are no values yet.");
  if (model.n_evaluations) parts.push(`The model knows ${count(model.n_evaluations, "evaluation", "evaluations")}.`);
  if (run && run.fitting && behind > 0) parts.push(`It is now learning from ${behind.toLocaleString("en")} more.`);
  say("learned", parts.join(" "));
}

// -- requests ---------------------------------------------------------------------------------

function take(run) {
  if (run.epoch !== shown.epoch) {
    Object.assign(shown, { epoch: run.epoch, known: 0, values: [], model: { version: 0 } });
    showModel(shown.model);
    drawBest();
    drawNoise();
  }
  if (run.first !== shown.known) shown.values = [];
  shown.values = shown.values.concat(run.values).slice(-MOST_VALUES);
  const news = run.first + run.values.length !== shown.known || shown.run === null;
  shown.known = run.first + run.values.length;
  shown.run = run;
  // Charts without a single evaluation would be empty areas.
  document.querySelector(".charts").hidden = !shown.known;
  if (news) drawValues();
}

function ago(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 120) return `${s} s`;
  return s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}

async function look() {
  const [run, now] = await get(`run.json?epoch=${shown.epoch}&known=${shown.known}`);
  take(run);
  showRun(run, run.written === null ? "" : `; last written ${ago(now / 1000 - run.written)} ago`);
  if (run.model !== shown.model.version) {
    const [model] = await get("model.json");
    if (model.epoch === shown.epoch) {
      shown.model = model;
      showModel(model);
      drawBest();
      drawNoise();
    }
  }
  sayLearned();
}

let drawing = 0;
new ResizeObserver(() => {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => { drawBest(); drawNoise(); drawValues(); });
}).observe(document.querySelector(".charts"));
say("state", "Waiting for the run.");
keepLooking(look, (problem) => notice("problem", `The page cannot be updated: ${problem}`));
