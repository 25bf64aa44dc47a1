// The page of a study: what to try next, and what was measured. The rest is the live page's script.
// What is typed is kept in the tab until the server has it, through reloads and lost connections.
"use strict";
(() => {
const SOURCES = { user: "your own setting", confirm: "measured again, before it is used" };
// What is shown, and the repeat that the form is about: {id, repeat, kind}.
let state = null, seen = "", subject = null, wanted = null, busy = false, instead = null, noted = null;
// What the user was asked to confirm, by recording it again.
let doubted = "";
// Which open settings come first, by their source, and where the page was before a note was begun.
let first = "", cameFrom = 0;

// -- drafts -------------------------------------------------------------------------------------

const draftOf = (name) => `rahbo-lab ${location.pathname} ${subject.id} ${subject.repeat} ${name}`;

function keepsDraft(input, name) {
  const key = draftOf(name);
  try { input.value = sessionStorage.getItem(key) ?? ""; } catch { /* The browser keeps nothing. */ }
  input.addEventListener("input", () => {
    try { sessionStorage.setItem(key, input.value); } catch { /* The browser keeps nothing. */ }
    doubt("");
    complain("");
  });
  input.dropDraft = () => { try { sessionStorage.removeItem(key); } catch { /* There is none. */ } };
  return input;
}

// -- messages -----------------------------------------------------------------------------------

// A message stays for a while, and then until something else is to be done.
const STAYS = 5000;
let complained = 0;

function complain(message) {
  complained = Date.now();
  notice("lab-problem", message);
  if (!message) return;
  // What was recorded before is no longer the news, and on a phone the message may be out of sight.
  said("");
  at("lab-problem").scrollIntoView({ block: "nearest" });
}

const said = (message) => say("lab-said", message);

function doubt(message) {
  doubted = message;
  if (message) said("");
  notice("lab-sure", message);
}

// -- numbers ------------------------------------------------------------------------------------

// What is odd about a value, or nothing. The server checks that it is a number.
function oddity(text) {
  const value = numberIn(text);
  if (!Number.isFinite(value) || !state.range) return "";
  const [low, high] = state.range, room = 3 * (high - low);
  if (room > 0 && (value < low - room || value > high + room)) {
    return `${value} is far from all values so far (${number(low, 6)} to ${number(high, 6)}). If it is right, press Record again.`;
  }
  return "";
}

function flip(input) {
  const text = input.value.trim();
  input.value = /^[-−]/.test(text) ? text.slice(1) : `-${text.replace(/^\+/, "")}`;
  input.dispatchEvent(new Event("input"));
  input.focus();
}

// -- the form of one value ------------------------------------------------------------------------

const withUnit = (name, unit) => (unit ? `${name} (${unit})` : name);
const trialOf = (id) => state.open.find((t) => t.id === id) ?? state.told.find((t) => t.id === id);

// The repeat that the form asks for: one that the user chose, else the next one that is missing.
function choose() {
  if (wanted && wanted.kind !== "open") {
    const trial = trialOf(wanted.id), made = trial?.made.find((m) => m.repeat === wanted.repeat);
    if (trial && (wanted.kind === "correct" ? made && made.value === null : trial.free === wanted.repeat)) return wanted;
    wanted = null;
  }
  const trial = state.open.find((t) => wanted && t.id === wanted.id) ?? state.open.find((t) => t.source === first) ?? state.open[0];
  return trial ? { id: trial.id, repeat: trial.missing[0], kind: "open" } : null;
}

const same = (a, b) => a && b && a.id === b.id && a.repeat === b.repeat && a.kind === b.kind;

function measured(id, label, name) {
  const input = keepsDraft(make("input", { type: "text", inputmode: "decimal", autocapitalize: "off", enterkeyhint: "done" }), name);
  const sign = make("button", { type: "button", "aria-label": `Change the sign of ${label}`, onclick: () => flip(input) }, "±");
  const box = field(id, label, input);
  box.classList.add("measured");
  box.append(make("div", { class: "with-sign" }, input, sign));
  return box;
}

// A repeat that was asked for states its block. Any other one needs it from the user, if the study
// has a set of blocks. Else a value may have a block with any name.
const needsBlock = () => state.blocks.length > 0 && !(subject.repeat in trialOf(subject.id).blocks);
const takesBlock = () => state.blocks.length === 0 && (namesBlocks || state.told_blocks.length > 0);
let namesBlocks = false, lastBlock = "";

function blockField() {
  const names = (some) => some.map((name) => make("option", { value: name }, name));
  if (needsBlock()) {
    const options = [make("option", { value: "" }, "choose"), ...names(state.blocks)];
    return field("lab-block", "Block", keepsDraft(make("select", {}, ...options), "block"));
  }
  const input = keepsDraft(make("input", { type: "text", maxlength: 100, list: "lab-blocks", placeholder: "such as the day" }), "block");
  // Values that are recorded one after the other are mostly in the same block.
  if (!input.value) input.value = lastBlock;
  const box = field("lab-block", "Block (optional)", input);
  box.append(make("datalist", { id: "lab-blocks" }, ...names(state.told_blocks)));
  return box;
}

function fillForm() {
  const fields = [measured("lab-value", withUnit(state.outcome, state.unit), "")];
  state.outcomes.forEach(({ name, limit }, j) => fields.push(measured(`lab-outcome-${j}`, `${name}: ${limit}`, name)));
  if (needsBlock() || takesBlock()) fields.push(blockField());
  at("lab-name-block").hidden = state.blocks.length > 0 || takesBlock();
  const note = field("lab-note", "Note (optional)", keepsDraft(make("input", { type: "text", maxlength: 2000 }), "note"));
  note.classList.add("wide-field");
  at("lab-fields").replaceChildren(...fields, note);
  at("lab-reason").value = "";
  failing(false);
  doubt("");
}

// What to say if another page has recorded the repeat for which a value was typed here.
function lostTo({ id, repeat, kind }) {
  const typed = at("lab-value")?.value.trim(), made = trialOf(id)?.made.find((m) => m.repeat === repeat);
  if (!typed || !made || (kind === "correct" && made.value === null)) return "";
  dropDrafts();
  return `Value ${repeat + 1} of suggestion ${id} is already recorded as ${made.value === null ? "failed" : number(made.value, 8)}, ` +
    `by another page. The ${typed} that you typed here was not recorded.`;
}

function showCard(refocus) {
  const next = choose(), before = subject, changed = !same(next, subject);
  // What is typed while a value is being recorded is meant for the next value of the same setting.
  const typed = at("lab-value")?.value, early = busy && next?.id === before?.id && typed !== recording ? typed : "";
  const lost = changed && before && !busy ? lostTo(before) : "";
  subject = next;
  at("lab-card").hidden = subject === null;
  if (lost) complain(lost);
  if (subject === null) return;
  const trial = trialOf(subject.id), told = trial.made.filter((m) => m.value !== null).map((m) => number(m.value, 8));
  setting("lab-params", trial.params);
  at("lab-which").textContent = `Suggestion ${trial.id}` + (trial.source in SOURCES ? `, ${SOURCES[trial.source]}` : "");
  const block = trial.blocks[subject.repeat];
  const nth = { open: `Value ${subject.repeat + 1} of ${Math.max(trial.asked, subject.repeat + 1)}`,
    extra: `Value ${subject.repeat + 1}, one more than was asked for`, correct: `Value ${subject.repeat + 1}, which was recorded as failed` }[subject.kind];
  at("lab-progress").textContent = `${nth}${block ? `, in block ${block}` : ""}.` + (told.length ? ` Recorded: ${told.join(", ")}.` : "");
  at("lab-back").hidden = subject.kind === "open";
  for (const id of ["lab-other", "lab-skip"]) at(id).hidden = subject.kind !== "open";
  at("lab-failed").hidden = subject.kind === "correct";
  at("lab-skip").textContent = trial.n_made ? "Skip the rest" : "Skip";
  if (!changed) return;
  if (Date.now() - complained > STAYS) complain("");
  fillForm();
  if (early) {
    at("lab-value").value = early;
    at("lab-value").dispatchEvent(new Event("input"));
  }
  if (refocus) at("lab-value").focus();
}

function failing(is) {
  at("lab-failure").hidden = !is;
  at("lab-form").hidden = is;
  if (is) at("lab-reason").focus();
}

// Another page may have changed what is open. Buttons are off while a request is under way.
async function change(action, record, done) {
  if (busy) return;
  busy = true;
  let focus = false;
  at("lab").setAttribute("aria-busy", "true");
  complain("");
  try {
    const answer = await post(action, record);
    said("");
    focus = true;
    done?.(answer);
  } catch (error) {
    failed(error, complain);
    if (error.status === 409) { dropDrafts(); said(""); }
  }
  await look(focus).catch((error) => failed(error, complain));
  busy = false;
  at("lab").removeAttribute("aria-busy");
}

const inputs = () => [...at("lab-fields").querySelectorAll("input, select")];

// What differs from what was sent was typed since then, and stays.
function dropDrafts(sent = new Map(inputs().map((input) => [input, input.value]))) {
  for (const input of inputs()) {
    input.dropDraft();
    if (input.value === sent.get(input)) input.value = "";
  }
}

let recording = "";

function record(event) {
  event.preventDefault();
  if (busy) {
    // A value that was typed meanwhile waits its turn. The same one again is a second press.
    if (at("lab-value").value !== recording) setTimeout(() => at("lab-form").requestSubmit(), 50);
    return;
  }
  const value = at("lab-value").value, others = state.outcomes.map(({ name }, j) => [name, at(`lab-outcome-${j}`)]);
  if (!value.trim()) { doubt("Type the measured value first. If there is none, press “It failed”."); at("lab-value").focus(); return; }
  const block = at("lab-block")?.value ?? "";
  if (needsBlock() && !block) { doubt("Choose the block in which you measured it."); at("lab-block").focus(); return; }
  // An outcome that was forgotten cannot be added later.
  const missing = others.filter(([, input]) => !input.value.trim());
  const odd = [askAboutCommas([value, ...others.map(([, input]) => input.value)], "Record"), oddity(value),
    missing.length ? `You typed no ${missing.map(([name]) => name).join(" and no ")}. If it was not measured, press Record again.` : "",
  ].filter(Boolean).join(" ");
  if (odd && doubted !== odd) { doubt(odd); if (missing.length) missing[0][1].focus(); return; }
  const outcomes = Object.fromEntries(others.map(([name, input]) => [name, input.value]));
  const { id, repeat, kind } = subject, sent = new Map(inputs().map((input) => [input, input.value]));
  recording = value;
  change("tell", { suggestion: id, repeat, value, outcomes, note: at("lab-note").value, corrects: kind === "correct", block }, (answer) => {
    dropDrafts(sent);
    lastBlock = block;
    said(`Recorded ${answer.value} as value ${repeat + 1} of suggestion ${id}.`);
    if (kind !== "open") wanted = null;
  });
}

function recordFailure(event) {
  event.preventDefault();
  const { id, repeat, kind } = subject;
  change("fail", { suggestion: id, repeat, reason: at("lab-reason").value, note: at("lab-note").value }, () => {
    dropDrafts();
    said(`Recorded that value ${repeat + 1} of suggestion ${id} failed.`);
    if (kind !== "open") wanted = null;
  });
}

// -- settings of one's own ------------------------------------------------------------------------

function inputOf(one, value) {
  if (one.kind === "choice") {
    const select = make("select", {}, ...one.choices.map((choice, i) => make("option", { value: i }, choice)));
    const i = one.choices.indexOf(value);
    if (i >= 0) select.value = String(i);
    return select;
  }
  const input = make("input", { type: "text", inputmode: "decimal" });
  input.value = value ?? "";
  return input;
}

function openOwn(replaced) {
  instead = replaced;
  const trial = subject && trialOf(subject.id), known = new Map(trial ? trial.params : []);
  const fields = state.inputs.map((one, j) => field(`lab-own-${j}`,
    one.kind === "choice" ? one.name : `${one.name} (${number(one.low, 12)} to ${number(one.high, 12)})`, inputOf(one, known.get(one.name))));
  const repeats = make("input", { type: "text", inputmode: "numeric" });
  repeats.value = replaced !== null && trial ? Math.max(1, trial.missing.length) : 1;
  at("lab-own-title").textContent = replaced === null ? "A setting of your own" : `What you set instead of suggestion ${replaced}`;
  at("lab-own-fields").replaceChildren(...fields, field("lab-own-repeats", "How often to measure it", repeats));
  at("lab-own-form").hidden = false;
  at("lab-own-0").focus();
}

function useOwn(event) {
  event.preventDefault();
  const odd = askAboutCommas([...at("lab-own-fields").querySelectorAll("input")].map((input) => input.value), "Use this setting");
  if (odd && at("lab-problem").textContent !== odd) { complain(odd); return; }
  const params = Object.create(null);
  state.inputs.forEach((one, j) => {
    const written = at(`lab-own-${j}`).value;
    params[one.name] = one.kind === "choice" ? Number(written) : written;
  });
  change("own", { known: state.known, params, repeats: at("lab-own-repeats").value, instead }, ({ suggestion }) => {
    at("lab-own-form").hidden = true;
    wanted = { id: suggestion, kind: "open" };
    said("");
  });
}

// -- what was recorded ------------------------------------------------------------------------------

const button = (text, label, onclick) => make("button", { type: "button", "aria-label": label, onclick }, text);

function turnTo(next) {
  [wanted, first] = [next, ""];
  showCard(true);
  at("lab").scrollIntoView({ block: "start" });
  at("lab-value").focus();
}

function openNote(about, label) {
  noted = about;
  if (at("lab-note-form").hidden) cameFrom = scrollY;
  at("lab-note-label").textContent = label;
  at("lab-note-text").value = "";
  at("lab-note-form").hidden = false;
  at("lab-note-text").focus();
}

// The row of the note may be far above its form.
function closeNote() {
  at("lab-note-form").hidden = true;
  scrollTo({ top: cameFrom });
}

function rowOf(trial, one, isFirst) {
  const named = `value ${one.repeat + 1} of suggestion ${trial.id}`, lost = one.value === null;
  const notes = [...(isFirst ? trial.notes : []), ...one.notes].join("; ");
  const shown = lost ? make("span", { class: "failed" }, `failed${one.reason ? `: ${one.reason}` : ""}`) : number(one.value, 8);
  const buttons = [button("Note", `Write a note on ${named}`, () => openNote({ suggestion: trial.id, repeat: one.repeat }, `Note on ${named}`))];
  if (lost) buttons.push(button("It has a value", `Record a value for ${named}`, () => turnTo({ id: trial.id, repeat: one.repeat, kind: "correct" })));
  if (isFirst && !trial.missing.length) buttons.push(button("One more value", `One more value of suggestion ${trial.id}`, () => turnTo({ id: trial.id, repeat: trial.free, kind: "extra" })));
  const cell = (head, kind, ...parts) => make("td", { class: kind, "data-head": head }, ...parts);
  return make("tr", {}, cell("suggestion", "number", ...(isFirst ? [String(trial.id)] : [])),
    cell(!lost && state.outcome, lost ? "text failed" : "number", shown),
    ...one.outcomes.map((value, j) => cell(state.outcomes[j].name, "number", number(value, 8))),
    ...(hasBlocks() ? [cell("block", "block", ...(one.block ? [one.block] : []))] : []),
    make("td", {}, make("span", { class: "buttons" }, ...buttons)), make("td", { class: "text" }, ...(notes ? [notes] : [])),
    make("td", { class: "text" }, ...(isFirst ? settingOf(trial) : [])));
}

const hasBlocks = () => state.blocks.length > 0 || state.told_blocks.length > 0;

// A setting in one line. A long one opens on demand, and stays open while the table is made again.
const IN_LINE = 4, opened = new Set();

function settingOf(trial) {
  const text = (some) => together(some.map(([name, value]) => `${name} = ${value}`).join(", "));
  if (trial.params.length <= IN_LINE) return [text(trial.params)];
  const more = make("details", { open: opened.has(trial.id), ontoggle: () => (more.open ? opened.add(trial.id) : opened.delete(trial.id)) },
    make("summary", {}, `${text(trial.params.slice(0, 2))} and ${trial.params.length - 2} more`), text(trial.params.slice(2)));
  return [more];
}

function showTold() {
  const heads = ["suggestion", withUnit(state.outcome, state.unit), ...state.outcomes.map((o) => o.name), ...(hasBlocks() ? ["block"] : []),
    "", "notes", "setting"];
  const rows = state.told.flatMap((trial) => [...trial.made].reverse().map((one, i) => rowOf(trial, one, i === 0)));
  const numeric = (j) => j < 2 + state.outcomes.length;
  const head = make("tr", {}, ...heads.map((text, j) => make("th", { class: numeric(j) ? "number" : "text", scope: "col" }, text)));
  at("lab-none").hidden = rows.length > 0;
  at("lab-stays").hidden = !rows.length;
  at("lab-told").replaceChildren(...(rows.length ? [head, ...rows] : []));
  at("lab-told-title").textContent = state.n_told > state.told.length ? `Recorded, the newest ${state.told.length} of ${state.n_told} settings` : "Recorded";
}

// -- the report -------------------------------------------------------------------------------------

async function showReport() {
  if (!state?.n_values) { at("lab-report-said").textContent = "There are no values yet."; return; }
  at("lab-report-said").textContent = "The report is being made.";
  const frame = at("lab-frame"), after = state.n_values;
  frame.hidden = false;
  frame.onload = () => {
    at("lab-report-said").textContent = `After ${after} values.`;
    const page = frame.contentDocument?.documentElement;
    if (!page) return;
    // As high as its page, so that there is one scroll bar.
    const fit = () => { frame.style.height = `${page.querySelector("body").scrollHeight + 40}px`; };
    fit();
    new ResizeObserver(fit).observe(page.querySelector("body"));
  };
  frame.src = `report.html?after=${after}`;
}

// -- showing and looking ------------------------------------------------------------------------------

function show(refocus) {
  const { open } = state, better = state.minimised ? "Smaller" : "Larger";
  at("lab-closed").hidden = !state.closed;
  at("lab-actions").hidden = Boolean(state.closed);
  if (state.closed) { at("lab-card").hidden = at("lab-asking").hidden = at("lab-others").hidden = true; return; }
  const measured = state.outcome === "value" ? (state.unit ? ` (${state.unit})` : "") : ` of ${withUnit(state.outcome, state.unit)}`;
  at("lab-goal").textContent = `${better} values${measured} are better. A setting is judged by ${state.goal}.`;
  at("lab-asking").hidden = !state.asking;
  if (state.problem) complain(state.problem);
  for (const id of ["lab-next", "lab-confirm", "lab-own"]) at(id).disabled = state.asking;
  at("lab-next").textContent = open.length ? "Suggest one more setting" : "Suggest a setting";
  at("lab-confirm").hidden = !state.n_values;
  showCard(refocus);
  const others = open.filter((t) => !subject || subject.kind !== "open" || t.id !== subject.id);
  at("lab-others").hidden = !others.length;
  at("lab-others").replaceChildren("Also open:", ...others.map((t) => button(
    together(`${t.id}: ${t.params.slice(0, 3).map(([name, value]) => `${name} = ${value}`).join(", ")}`), `Turn to suggestion ${t.id}`,
    () => turnTo({ id: t.id, kind: "open" }))));
  showTold();
}

// A value that was just recorded wants the next one: the field has the focus again.
let wantsFocus = false;

async function look(focus = false) {
  wantsFocus = wantsFocus || focus;
  const [found] = await get("lab.json"), text = JSON.stringify(found);
  if (text === seen) return;
  seen = text;
  state = found.closed ? { ...(state ?? {}), closed: true } : found;
  const free = document.activeElement === null || document.activeElement === document.body || !document.activeElement.checkVisibility();
  show(wantsFocus && (free || at("lab-card").contains(document.activeElement)));
  if (!state.asking) wantsFocus = false;
}

at("lab-form").addEventListener("submit", record);
at("lab-failure").addEventListener("submit", recordFailure);
at("lab-own-form").addEventListener("submit", useOwn);
at("lab-note-form").addEventListener("submit", (event) => {
  event.preventDefault();
  change("note", { ...noted, note: at("lab-note-text").value }, () => { closeNote(); said("The note is kept."); });
});
const clicks = {
  "lab-failed": () => failing(true),
  "lab-not-failed": () => failing(false),
  "lab-skip": () => change("skip", { suggestion: subject.id }, () => said(`Skipped suggestion ${subject.id}.`)),
  "lab-name-block": () => { namesBlocks = true; fillForm(); at("lab-block").focus(); },
  "lab-other": () => openOwn(subject.id),
  "lab-own": () => openOwn(null),
  "lab-own-back": () => { at("lab-own-form").hidden = true; },
  "lab-note-back": closeNote,
  "lab-back": () => { wanted = null; showCard(true); },
  "lab-next": () => change("ask", { known: state.known }),
  "lab-confirm": () => { [wanted, first] = [null, "confirm"]; change("confirm", { known: state.known }); },
  "lab-reopen": () => change("open", {}),
  "lab-close": () => change("close", {}, () => said("The study is closed.")),
  "lab-renew": showReport,
};
for (const [id, act] of Object.entries(clicks)) at(id).addEventListener("click", act);
at("lab-report").addEventListener("toggle", () => { if (at("lab-report").open && at("lab-frame").hidden) showReport(); });
keepLooking(async () => { if (!busy) await look(); }, complain);
})();
