// Requests of the lab pages. A change carries the token of the server that made the page.
"use strict";

const Lab = (() => {
const root = document.documentElement.dataset.root;
let token = document.querySelector("meta[name=rahbo-token]").content;

// The reason in an answer that is not the expected one.
async function problemOf(response) {
  const text = await response.text();
  try {
    return JSON.parse(text).error;
  } catch {
    return text.replace(/^\d+ /, "").trim() || `The server answered ${response.status}.`;
  }
}

async function checked(response) {
  if (response.ok) return response.json();
  throw Object.assign(new Error(await problemOf(response)), { status: response.status });
}

async function get(address) {
  return checked(await fetch(address, { credentials: "same-origin", cache: "no-store" }));
}

// A server that was started again has another token.
async function renewed() {
  try {
    const before = token;
    token = (await get(`${root}token.json`)).token;
    return token !== before;
  } catch {
    return false;
  }
}

async function post(address, record) {
  for (let again = true; ; again = false) {
    const response = await fetch(address, {
      method: "POST", credentials: "same-origin", body: JSON.stringify(record),
      headers: { "Content-Type": "application/json", "X-Rahbo-Token": token },
    });
    if (response.status === 403 && again && await renewed()) continue;
    return checked(response);
  }
}

const isGone = (error) => error instanceof TypeError;

// An element with attributes; texts are never read as markup.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// A field of a form: its label above its input.
function field(id, label, input) {
  input.id = id;
  return make("div", { class: "field" }, make("label", { for: id }, label), input);
}

const numberIn = (text) => Number(text.trim().replace("−", "-").replace(",", "."));

// A comma before three digits may be meant as a separator of thousands. What to ask then, or nothing.
const askAboutCommas = (texts, button) => {
  const found = texts.filter((text) => /^\s*[+−-]?[1-9]\d{0,2},\d{3}\s*$/.test(text));
  return found.length ? `The comma is a decimal comma: ${found.map((text) => `${text.trim()} is ${numberIn(text)}`).join(", ")}. ` +
    `If that is right, press ${button} again.` : "";
};

return { get, post, renewed, isGone, make, field, numberIn, askAboutCommas };
})();
