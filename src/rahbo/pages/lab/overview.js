// The overview: lists the studies of a folder and begins a new one.
"use strict";
(() => {
let rows = 0;
// What the user was asked to confirm, by pressing Begin again.
let doubted = "";

function remover(box) {
  return make("button", { type: "button", onclick: () => { box.remove(); countParameters(); } }, "Remove");
}

// The server says which parameter is wrong by its number.
function countParameters() {
  [...at("parameters").children].forEach((box, i) => { box.querySelector("legend").textContent = `Parameter ${i + 1}`; });
}

function select(options) {
  return make("select", {}, ...Object.entries(options).map(([value, text]) => make("option", { value }, text)));
}

const text = (attributes = {}) => make("input", { type: "text", maxlength: 100, ...attributes });
const digits = () => text({ inputmode: "decimal", maxlength: 60 });

function addParameter() {
  const n = ++rows, box = make("fieldset", { class: "row" }, make("legend", {}));
  const kind = select({ real: "a real number", whole: "a whole number", choice: "one of some choices" });
  const name = text(), low = digits(), high = digits(), log = make("input", { type: "checkbox" });
  const choices = text({ maxlength: 20000, placeholder: "argon, helium" });
  const range = [field(`p${n}-low`, "From", low), field(`p${n}-high`, "To", high),
    make("div", { class: "field check" }, Object.assign(log, { id: `p${n}-log` }), make("label", { for: `p${n}-log` }, "on a log scale"))];
  const listed = field(`p${n}-choices`, "Choices, separated by commas or semicolons", choices);
  const show = () => {
    for (const part of range) part.hidden = kind.value === "choice";
    listed.hidden = kind.value !== "choice";
  };
  kind.addEventListener("change", show);
  show();
  box.read = () => ({ name: name.value, kind: kind.value, low: low.value, high: high.value, log: log.checked, choices: choices.value });
  box.append(make("div", { class: "fields" }, field(`p${n}-name`, "Name", name), field(`p${n}-kind`, "It is", kind), ...range, listed, remover(box)));
  at("parameters").append(box);
  countParameters();
  return name;
}

function addLimit() {
  const n = ++rows, box = make("fieldset", { class: "row" }, make("legend", {}, "Limit"));
  const name = text(), side = select({ most: "at most", least: "at least" }), limit = digits(), sure = digits();
  sure.value = "0.95";
  box.read = () => ({ name: name.value, side: side.value, limit: limit.value, probability: sure.value });
  box.append(make("div", { class: "fields" }, field(`l${n}-name`, "Outcome", name), field(`l${n}-side`, "must be", side),
    field(`l${n}-limit`, "Limit", limit), field(`l${n}-sure`, "with probability", sure), remover(box)));
  at("limits").append(box);
  return name;
}

const read = (id) => [...at(id).children].map((box) => box.read());

function form() {
  const fixed = at("repeats").value === "fixed";
  return {
    name: at("study-name").value, outcome: at("outcome").value, unit: at("unit").value, direction: at("direction").value,
    risk: { kind: at("risk").value, number: at("risk-number").value },
    repeats: fixed ? at("repeats-number").value : "adaptive", setup: at("setup").value,
    parameters: read("parameters"), limits: read("limits"),
  };
}

function complain(message) {
  notice("refused", message);
  if (message) at("refused").scrollIntoView({ block: "nearest" });
}

const placeOf = (name) => `study/${encodeURIComponent(name)}/`;

async function create(event) {
  event.preventDefault();
  const numbers = [...at("form").querySelectorAll("input[inputmode=decimal]")].filter((input) => input.checkVisibility());
  const odd = askAboutCommas(numbers.map((input) => input.value), "Begin");
  if (odd && doubted !== odd) { doubted = odd; complain(odd); return; }
  at("create").disabled = true;
  complain("");
  try {
    location.href = placeOf((await post("create", form())).study);
  } catch (error) {
    complain(error.message);
  }
  at("create").disabled = false;
}

function list({ folder, studies }) {
  say("state", folder);
  at("studies").hidden = !studies.length;
  at("list").replaceChildren(...studies.map(({ name, evaluations }) => {
    const count = evaluations === 1 ? "1 evaluation" : typeof evaluations === "number" ? `${evaluations} evaluations` : evaluations;
    return make("li", {}, make("a", { href: placeOf(name) }, name), make("span", { class: "faint" }, ` ${count}`));
  }));
}

async function look() {
  list((await get("studies.json"))[0]);
  notice("problem", "");
}

function showRisk() {
  const chosen = at("risk").selectedOptions[0];
  at("risk-field").hidden = chosen.value === "neutral";
  at("risk-label").textContent = chosen.dataset.label ?? "";
  at("risk-number").value = chosen.dataset.number ?? "";
}

at("risk").addEventListener("change", showRisk);
at("repeats").addEventListener("change", () => {
  const fixed = at("repeats").value === "fixed";
  at("repeats-field").hidden = !fixed;
  at("setup-field").hidden = fixed;
});
at("add-parameter").addEventListener("click", () => addParameter().focus());
at("add-limit").addEventListener("click", () => addLimit().focus());
at("form").addEventListener("submit", create);
addParameter();
keepLooking(look, (problem) => notice("problem", problem), 3 * PAUSE);
})();
