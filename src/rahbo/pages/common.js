// What the pages that are served share: elements, requests, and looking again and again.
"use strict";

// Milliseconds between two looks, and how many times as many while nobody sees the page.
const PAUSE = 1000, UNSEEN = 10;
const { command: COMMAND, root: ROOT } = document.documentElement.dataset;

const at = (id) => document.getElementById(id);
const say = (id, text) => { if (at(id).textContent !== text) at(id).textContent = text; };

// Say something in a place that is hidden while it is empty.
function notice(id, text) {
  say(id, text);
  at(id).hidden = !text;
}

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

// -- what people type --------------------------------------------------------------------------

const numberIn = (text) => Number(text.trim().replace("−", "-").replace(",", "."));

// A comma before three digits may be meant as a separator of thousands. What to ask then, or nothing.
function askAboutCommas(texts, button) {
  const found = texts.filter((text) => /^\s*[+−-]?[1-9]\d{0,2},\d{3}\s*$/.test(text));
  return found.length ? `The comma is a decimal comma: ${found.map((text) => `${text.trim()} is ${numberIn(text)}`).join(", ")}. ` +
    `If that is right, press ${button} again.` : "";
}

// -- requests ---------------------------------------------------------------------------------

// The record in an answer, and when it was sent.
async function get(address, options = {}) {
  let response, text;
  try {
    response = await fetch(address, { credentials: "same-origin", ...options });
    text = await response.text();
  } catch {
    throw Object.assign(new Error(`${COMMAND} does not answer. Start it again, then try once more.`), { isGone: true });
  }
  if (response.ok) return [JSON.parse(text), Date.parse(response.headers.get("Date"))];
  let reason = text.replace(/^\d+ /, "").trim() || `The server answered ${response.status}.`;
  try { reason = JSON.parse(text).error; } catch { /* It is not JSON. */ }
  throw Object.assign(new Error(reason), { status: response.status });
}

// A change carries the token of the server. One that was started again has another token.
let token = "";

async function post(address, record) {
  for (let again = true; ; again = false) {
    if (!token) [{ token }] = await get(`${ROOT}token.json`);
    const headers = { "Content-Type": "application/json", "X-Rahbo-Token": token };
    try {
      return (await get(address, { method: "POST", body: JSON.stringify(record), headers }))[0];
    } catch (error) {
      if (error.status !== 403 || !again) throw error;
      token = "";
    }
  }
}

// Say what went wrong: that the server is gone is said at the top, everything else by the page.
function failed(error, complain) {
  if (!error.isGone) { complain(error.message); return; }
  at("gone").hidden = false;
  token = "";
}

// Look at the server for as long as the page is open.
async function keepLooking(look, complain, pause = PAUSE) {
  try {
    await look();
    at("gone").hidden = true;
  } catch (error) {
    failed(error, complain);
  }
  setTimeout(keepLooking, document.hidden ? UNSEEN * pause : pause, look, complain, pause);
}
