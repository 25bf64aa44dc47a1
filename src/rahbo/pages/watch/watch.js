// The live page. Values of the run enter the document only as text, never as markup.
"use strict";

const PAUSE = 1000, PAUSE_UNSEEN = 10000, MOST_VALUES = 5000;
const COMMAND = document.documentElement.dataset.command ?? "rahbo watch";
const SVG = "http://www.w3.org/2000/svg";
const shown = { epoch: 0, known: 0, values: [], run: null, model: { version: 0 } };

const at = (id) => document.getElementById(id);
const say = (id, text) => { if (at(id).textContent !== text) at(id).textContent = text; };

function count(n, one, many) { return `${n.toLocaleString("en")} ${n === 1 ? one : many}`; }

// -- tables -----------------------------------------------------------------------------------

// A cell is text, or [text] for a number, which is aligned to the right.
function table(id, headings, rows) {
  const row = (cells, kind) => {
    const tr = document.createElement("tr");
    for (const cell of cells) {
      const td = document.createElement(kind);
      td.className = Array.isArray(cell) ? "number" : "text";
      td.textContent = Array.isArray(cell) ? cell[0] : cell;
      tr.append(td);
    }
    return tr;
  };
  const head = headings.some((h) => h.length) ? [row(headings, "th")] : [];
  at(id).replaceChildren(...(rows.length ? [...head, ...rows.map((r) => row(r, "td"))] : []));
}

// -- charts -----------------------------------------------------------------------------------

function svg(name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

// The smallest and largest of some numbers, with a margin so that they always differ.
function ends(numbers) {
  const found = extent(numbers);
  if (found === null) return [0, 1];
  const room = 0.05 * (found.high - found.low) || found.size * 0.1 || 1;
  return [found.low - room, found.high + room];
}

// The width of a text of ticks, about.
const widthOf = (texts) => 7 * texts.reduce((most, text) => Math.max(most, text.length), 0);

// Draw the axes of a chart, and return the scales to draw on them. The steps between the ticks of
// x are at least as large as given.
function axes(id, [x0, x1], [y0, y1], xlabel, ylabel, least = 0) {
  const place = at(id), width = place.clientWidth, height = place.clientHeight;
  const texts = (found) => found.map((tick) => number(tick, digitsOf(found)));
  const ups = ticks(y0, y1, 5), left = Math.max(62, 12 + widthOf(texts(ups)));
  const right = width - 10, top = 22, bottom = height - 38;
  const x = (value) => left + ((value - x0) / (x1 - x0)) * (right - left);
  const y = (value) => bottom - ((value - y0) / (y1 - y0)) * (bottom - top);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  root.setAttribute("aria-label", `${ylabel} by ${xlabel}`);
  ups.forEach((tick, i) => {
    root.append(svg("path", { class: "grid", d: `M${left} ${y(tick)}H${right}` }));
    root.append(svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, texts(ups)[i]));
  });
  const rights = ticks(x0, x1, width < 500 ? 4 : 6, least);
  rights.forEach((tick, i) => {
    root.append(svg("path", { class: "grid", d: `M${x(tick)} ${bottom}v4` }));
    root.append(svg("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, texts(rights)[i]));
  });
  root.append(svg("text", { x: right, y: height - 5, "text-anchor": "end" }, xlabel));
  root.append(svg("text", { x: 0, y: 12 }, ylabel));
  place.replaceChildren(root);
  return { root, x, y, left, right, top, bottom };
}

// A chart without marks says so.
function empty(id) {
  const place = at(id), width = place.clientWidth, height = place.clientHeight;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Nothing to show yet" });
  root.append(svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "Nothing to show yet."));
  place.replaceChildren(root);
}

// All marks are one path, so that thousands of them are cheap to draw.
const dots = (points) => points.map(([px, py]) => `M${px.toFixed(1)} ${py.toFixed(1)}h0`).join("");

// Set what a chart's caption says while no mark is described.
function caption(id, text) {
  if (at(id).dataset.usual === text) return;
  at(id).dataset.usual = text;
  at(id).textContent = text;
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
  const told = values.map((v) => v[2]), frame = frameOf(told), digits = digitsOf(told, 6);
  const xs = [first + 1, Math.max(known, first + 2)];
  const { root, x, y, bottom } = axes("values", xs, ends(told.map(frame.at)), "evaluation", frame.title("value"), 1);
  const spots = values.map(([trial, repeat, value], i) => ({
    x: x(first + i + 1),
    y: value === null ? bottom - 5 : y(frame.at(value)),
    lost: value === null,
    say: () => `Evaluation ${first + i + 1}, suggestion ${trial}, repeat ${repeat}: ${value === null ? "failed" : number(value, digits)}`,
  }));
  const points = (lost) => spots.filter((s) => s.lost === lost).map((s) => [s.x, s.y]);
  root.append(svg("path", { class: "marks", d: dots(points(false)) }));
  const crosses = points(true).map(([px, py]) => `M${px - 3} ${py - 3}l6 6m0 -6l-6 6`).join("");
  root.append(svg("path", { class: "lost", d: crosses }));
  readable("values", root, spots);
}

function drawBest() {
  const { best = [], n_evaluations: n = 1 } = shown.model;
  const all = best.map((b) => b[1]), frame = frameOf(all), digits = digitsOf(all, 5);
  if (!best.length) { empty("best"); return; }
  const { root, x, y } = axes("best", [1, Math.max(n, 2)], ends(all.map(frame.at)), "evaluation", frame.title("risk value"), 1);
  const points = best.map(([i, value]) => [x(i), y(frame.at(value))]);
  root.append(svg("path", { class: "line", d: points.map((p, k) => `${k ? "L" : "M"}${p}`).join("") }));
  root.append(svg("path", { class: "marks", d: dots(points) }));
  readable("best", root, best.map(([i, value], k) => ({
    x: points[k][0], y: points[k][1], say: () => `After ${count(i, "evaluation", "evaluations")}: ${number(value, digits)}`,
  })));
}

function drawNoise() {
  const { points = [], chosen = -1 } = shown.model;
  if (!points.length) { empty("noise"); return; }
  const stds = points.flatMap((p) => p.slice(3, 6)), means = points.flatMap((p) => p.slice(0, 3));
  const across = frameOf(stds), up = frameOf(means), digits = digitsOf(means, 5);
  const xs = ends(stds.map(across.at)), least = across.at(0);
  const { root, x, y, left, right, top, bottom } = axes("noise", [Math.max(least, xs[0]), xs[1]], ends(means.map(up.at)),
    across.title("noise std"), up.title("mean"));
  // A bound that is not finite lies at the edge of the chart.
  const px = (value, edge) => (value === null ? edge : x(across.at(value)));
  const py = (value, edge) => (value === null ? edge : y(up.at(value)));
  const middle = (p) => [px(p[3], left), py(p[0], bottom)];
  const bars = (p) => `M${middle(p)[0]} ${py(p[1], bottom)}V${py(p[2], top)}M${px(p[4], left)} ${middle(p)[1]}H${px(p[5], right)}`;
  // A point that is not sure to keep its limits is a ring.
  const others = points.filter((p, i) => i !== chosen && p[8] !== false);
  const unsure = points.filter((p, i) => i !== chosen && p[8] === false);
  root.append(svg("path", { class: "unsure-bars", d: unsure.map(bars).join("") }));
  root.append(svg("path", { class: "unsure", d: unsure.map(middle).map(
    ([cx, cy]) => `M${(cx - 3).toFixed(1)} ${cy.toFixed(1)}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0`).join("") }));
  root.append(svg("path", { class: "bars", d: others.map(bars).join("") }));
  root.append(svg("path", { class: "marks", d: dots(others.map(middle)) }));
  if (chosen in points) {
    const p = points[chosen], [cx, cy] = middle(p);
    root.append(svg("path", { class: "chosen-bars", d: bars(p) }));
    root.append(svg("circle", { class: "chosen", r: 7, cx, cy }));
  }
  readable("noise", root, points.map((p, i) => ({
    x: middle(p)[0],
    y: middle(p)[1],
    say: () => `${i === chosen ? "Recommended: " : ""}${p[7]}: mean ${number(p[0], digits)}, noise std ${number(p[3], 5)}, ${count(p[6], "value", "values")}${p[8] === false ? ", not sure to keep its limits" : ""}`,
  })));
}

// -- contents ---------------------------------------------------------------------------------

function showRun(run, age) {
  say("name", run.name.split(/[\\/]/).pop());
  at("name").title = run.name;
  document.title = `${run.n_evaluations} evaluations – ${COMMAND}`;
  say("problem", run.problem);
  at("problem").hidden = !run.problem;
  const lost = run.n_failures ? ` (${run.n_failures.toLocaleString("en")} failed)` : "";
  say("state", `${count(run.n_evaluations, "evaluation", "evaluations")}${lost}${age}.`);
  at("no-open").hidden = run.n_open > 0;
  table("open", [["suggestion"], ["values"], ["failed"], ["missing"], "parameters"], run.open.map(
    (o) => [[o.id], [o.told], [o.failed], [o.missing], o.params]));
  const more = run.n_open - run.open.length;
  say("evaluated", more > 0 ? `Being evaluated, and ${more} more` : "Being evaluated");
  const digits = digitsOf(run.newest.map((v) => v.value), 6);
  const blocked = run.newest.some((v) => v.block) ? [0] : [];
  const ofOutcome = run.outcomes.map((_, j) => digitsOf(run.newest.map((v) => v.outcomes[j]), 6));
  table("newest", [["value"], ...run.outcomes.map((name) => [name]), ["suggestion"], ...blocked.map(() => "block"), "parameters"],
    run.newest.map((v) => [
      [v.value === null ? "failed" : number(v.value, digits)], ...v.outcomes.map((told, j) => [number(told, ofOutcome[j])]),
      [`${v.trial}, repeat ${v.repeat}`], ...blocked.map(() => v.block), v.params]));
  at("no-failures").hidden = run.failures.length > 0;
  table("failures", [["suggestion"], "reason", "parameters"], run.failures.map(
    (v) => [[`${v.trial}, repeat ${v.repeat}`], v.reason, v.params]));
  table("settings", ["", ""], run.settings);
}

// The digits of a number with an interval.
const enough = (numbers) => Math.max(4, digitsOf(numbers, 3));

function showLimits(found, level) {
  const limited = found.limits.length > 0;
  table("limits", ["outcome", "limit", ...["quantile", `${level} interval from`, "to", "pessimistic", "probability that it is kept"]
    .map((head) => [head]), "kept"], found.limits.map(([name, limit, ...known]) => [
    name, limit, ...known.slice(0, 4).map((value) => [number(value, enough(known.slice(0, 4)))]), [number(known[4], 3)],
    known[5] ? "yes" : "not sure"]));
  caption("intervals", `Each evaluated point with its ${level} intervals. The recommended point is the large one.` +
    (limited ? " Grey rings are points that are not sure to keep their limits." : ""));
  caption("best-caption", "The best pessimistic value of the points evaluated until then, computed from the data until then." +
    (limited ? " Only points that were sure to keep their limits count." : ""));
}

function showBlocks(blocks, level) {
  const more = blocks.n > blocks.effects.length ? ` The ${blocks.effects.length} largest effects are shown.` : "";
  say("between", blocks.said + more);
  table("blocks", ["block", ["effect"], [`${level} interval from`], ["to"]], blocks.effects.map(
    ([name, ...numbers]) => [name, ...numbers.map((value) => [number(value, enough(numbers))])]));
}

function showModel(model) {
  const found = model.recommendation;
  at("others").hidden = !(found && found.runner_ups.length);
  at("limited").hidden = !(found && found.limits.length);
  at("blocked").hidden = !(found && found.blocks);
  if (!found) {
    if (model.problem) say("sure", model.problem);
    table("params", [], []);
    table("known", [], []);
    say("measured", "");
    return;
  }
  const level = `${number(100 * found.level)} %`;
  say("sure", found.certainty);
  table("params", ["parameter", "value"], found.params);
  table("known", ["", [""], [`${level} interval from`], ["to"]], found.known.map(
    ([label, ...numbers]) => [label, ...numbers.map((value) => [number(value, enough(numbers))])])
    .concat([["pessimistic value", [number(found.pessimistic, enough(found.known.at(-1).slice(1)))], [""], [""]]]));
  showLimits(found, level);
  if (found.blocks) showBlocks(found.blocks, level);
  const spread = found.sample_std === null ? "" : `, standard deviation ${number(found.sample_std, 4)}`;
  const less = found.blocks ? ", less the effects of their blocks" : "";
  say("measured", `Values at this point${less}: ${found.n_evaluations}, mean ${number(found.sample_mean, enough(found.known[0].slice(1)))}${spread}.`);
  const digits = digitsOf(found.runner_ups.flatMap((r) => [r.risk, r.score]), 5);
  const heads = ["risk value", "pessimistic value", "expected gain", `${level} bound of gain`];
  table("runner-ups", ["parameters", ...heads.map((head) => [head])], found.runner_ups.map(
    (r) => [r.params, [number(r.risk, digits)], [number(r.score, digits)], [number(r.expected, 2)], [number(r.bound, 2)]]));
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

async function ask(address) {
  const response = await fetch(address, { credentials: "same-origin" });
  if (!response.ok) throw new Error(`${response.status}`);
  return [await response.json(), Date.parse(response.headers.get("Date"))];
}

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
  if (news) drawValues();
}

function ago(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 120) return `${s} s`;
  return s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}

async function look() {
  const [run, now] = await ask(`run.json?epoch=${shown.epoch}&known=${shown.known}`);
  take(run);
  showRun(run, run.written === null ? "" : `; last written ${ago(now / 1000 - run.written)} ago`);
  if (run.model !== shown.model.version) {
    const [model] = await ask("model.json");
    if (model.epoch === shown.epoch) {
      shown.model = model;
      showModel(model);
      drawBest();
      drawNoise();
    }
  }
  sayLearned();
}

async function lookAgain() {
  try {
    await look();
  } catch (error) {
    say("problem", error instanceof TypeError
      ? `${COMMAND} no longer answers. This page continues when it does.`
      : `The page cannot be updated: ${error.message}`);
    at("problem").hidden = false;
  }
  setTimeout(lookAgain, document.hidden ? PAUSE_UNSEEN : PAUSE);
}

let drawing = 0;
new ResizeObserver(() => {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => { drawBest(); drawNoise(); drawValues(); });
}).observe(document.querySelector(".charts"));
lookAgain();
