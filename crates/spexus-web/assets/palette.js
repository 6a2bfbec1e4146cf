// The palette and the sheet of keys, over any page. Pages and items come from the server; what can be done on this page is what
// has a key here.
import { go, parse } from "./navigate.js";

const PAUSE_MS = 80;
let dialog = null, timer = null, asked = 0;

const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

/** A dialog beside the page, so that a page that changes below does not take it away. */
function show(name, ...children) {
  dialog?.close();
  dialog = make("dialog", { class: "dlg pal", "aria-label": name }, ...children);
  const opened = dialog;
  const back = document.activeElement;
  opened.addEventListener("close", () => { opened.remove(); if (dialog === opened) dialog = null; back?.isConnected && back.focus(); });
  opened.addEventListener("click", (event) => { if (event.target === opened) opened.close(); });
  document.documentElement.append(opened);
  opened.showModal();
}

async function part(address, id) {
  const response = await fetch(address, { headers: { Accept: "text/html" } });
  if (!response.ok || response.redirected) { location.assign(response.url); return null; }
  const found = parse(await response.text()).getElementById(id);
  return found && document.importNode(found, true);
}

/** What can be done on the page that is shown: everything with a key, for the current row first. */
function here(words) {
  const row = document.querySelector("main .cur[data-ref]");
  const found = new Map();
  for (const element of document.querySelectorAll("[data-key]")) {
    const inRow = element.closest("main [data-ref]");
    if (inRow && inRow !== row) continue;
    const name = (element.getAttribute("title") || element.getAttribute("aria-label") || element.textContent).replace(/\s+/g, " ").trim();
    if (!name || found.has(element.dataset.key)) continue;
    if (words.every((word) => name.toLowerCase().includes(word))) found.set(element.dataset.key, { element, name });
  }
  if (!found.size) return null;
  const list = make("ul");
  for (const [key, { element, name }] of found) {
    const link = make("a", { href: "#" }, make("span", {}, name), make("span", { class: "end" }, make("kbd", {}, key)));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      event.stopPropagation();
      dialog?.close();
      if (element.matches("input:not([type=checkbox]), textarea, select")) element.focus(); else element.click();
    });
    list.append(make("li", {}, link));
  }
  const { here: heading = "" } = document.querySelector(".find")?.dataset ?? {};
  return make("section", {}, make("h2", {}, row ? `${heading}: ${row.dataset.ref}` : heading), list);
}

function choose(step) {
  const all = [...dialog.querySelectorAll("li a")];
  const at = all.findIndex((link) => link.hasAttribute("aria-current"));
  const next = all[(at + step + all.length) % all.length];
  all[at]?.removeAttribute("aria-current");
  next?.setAttribute("aria-current", "true");
  next?.scrollIntoView({ block: "nearest" });
}

async function fill(input, results) {
  const mine = ++asked;
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const url = new URL("/palette", location.origin);
  url.searchParams.set("query", input.value);
  if (document.body.dataset.project) url.searchParams.set("project", document.body.dataset.project);
  const found = await part(url, "palette").catch(() => null);
  if (mine !== asked || !input.isConnected) return;
  const own = here(words);
  results.replaceChildren(...(own && words.length ? [own] : []), ...(found?.childNodes ?? []), ...(own && !words.length ? [own] : []));
  if (results.querySelector("li")) results.querySelector(".none")?.remove();
  results.querySelector("li a")?.setAttribute("aria-current", "true");
}

function openPalette(link) {
  const name = link?.querySelector("span")?.textContent ?? "";
  const input = make("input", { type: "search", autocomplete: "off", "aria-label": name, placeholder: name });
  const form = make("form", { class: "pal-in", role: "search" }, input);
  const results = make("div", { class: "results" });
  form.addEventListener("submit", (event) => { event.preventDefault(); event.stopPropagation(); dialog?.querySelector("li a[aria-current]")?.click(); });
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => fill(input, results), PAUSE_MS); });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(step);
  });
  show(name, form, results);
  input.focus();
  fill(input, results);
}

async function openKeys() {
  const sheet = await part("/keys", "keys").catch(() => null);
  if (!sheet) return go("/keys");
  sheet.tabIndex = -1;
  show("", sheet);
  sheet.focus();
}

addEventListener("click", (event) => {
  if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const link = event.target.closest?.("a.find, a[href='/keys']");
  if (link && !dialog?.contains(link)) {
    event.preventDefault();
    return link.matches(".find") ? openPalette(link) : openKeys();
  }
  // A link that was chosen takes the dialog with it.
  const chosen = event.target.closest?.("dialog a[href]");
  if (chosen && dialog?.contains(chosen) && chosen.getAttribute("href") !== "#") {
    event.preventDefault();
    dialog.close();
    if (chosen.getAttribute("href") === "/keys") openKeys(); else go(chosen.href);
  }
}, true);

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
    const link = document.querySelector("a.find");
    if (!link) return;
    event.preventDefault();
    if (dialog) dialog.close(); else openPalette(link);
  }
});
