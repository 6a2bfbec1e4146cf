// Partial page updates: links and forms of our own are fetched, and the page that comes is morphed into the one that is there.
// Whatever goes wrong falls back to what the browser does by itself.
import { morph } from "./morph.js";

// The only policy there is: markup is what this server sent, scripts are its own files.
const rules = {
  createHTML: (text) => text,
  createScriptURL: (address) => { if (!address.startsWith("/assets/")) throw new TypeError(address); return address; },
};
const policy = globalThis.trustedTypes?.createPolicy("spexus", rules) ?? rules;
export const scriptAddress = (address) => policy.createScriptURL(address);
export const parse = (text) => new DOMParser().parseFromString(policy.createHTML(text), "text/html");
let running = null;

/** Shows a page that was fetched, in place of the one that is there. */
function show(next, gently = false) {
  document.title = next.title;
  for (const name of [...document.body.attributes].map((a) => a.name)) if (!next.body.hasAttribute(name)) document.body.removeAttribute(name);
  for (const { name, value } of next.body.attributes) document.body.setAttribute(name, value);
  for (const name of ["lang", "data-theme"]) {
    const value = next.documentElement.getAttribute(name);
    value === null ? document.documentElement.removeAttribute(name) : document.documentElement.setAttribute(name, value);
  }
  const focused = document.activeElement?.closest?.("[data-ref]")?.dataset.ref;
  morph(document.body, next.body, gently);
  if (document.activeElement === document.body && focused) document.querySelector(`[data-ref="${CSS.escape(focused)}"] a`)?.focus();
  document.dispatchEvent(new CustomEvent("page"));
}

async function ask(url, options = {}) {
  running?.abort();
  const control = new AbortController();
  running = control;
  const slow = setTimeout(() => document.documentElement.classList.add("wait"), 400);
  try {
    const response = await fetch(url, { ...options, signal: control.signal, headers: { Accept: "text/html" } });
    if (!(response.headers.get("content-type") ?? "").startsWith("text/html")) return null;
    return { url: response.url, page: parse(await response.text()), good: response.ok };
  } finally {
    clearTimeout(slow);
    document.documentElement.classList.remove("wait");
    if (running === control) running = null;
  }
}

/** Goes to a page, as a link would. */
export async function go(url, { replace = false, keepScroll = false } = {}) {
  try {
    const found = await ask(url);
    if (!found) return location.assign(url);
    const target = new URL(url, location.href);
    const shown = found.url + (found.url.includes("#") ? "" : target.hash);
    history[replace ? "replaceState" : "pushState"]({ ours: true }, "", shown);
    show(found.page);
    if (!keepScroll) arrive(target.hash);
  } catch (error) {
    if (error.name !== "AbortError") location.assign(url);
  }
}

function arrive(hash) {
  const target = hash && document.getElementById(decodeURIComponent(hash.slice(1)));
  if (target) target.scrollIntoView(); else scrollTo(0, 0);
  (document.querySelector("[autofocus]") ?? document.getElementById("main"))?.focus({ preventScroll: true });
}

/** Asks for the page that is shown again and takes over what is new. */
export async function refresh() {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (response.ok && !response.redirected) show(parse(await response.text()), true);
  return response.ok;
}

/** Sends a form and shows what comes of it. */
async function send(form, submitter) {
  const data = new URLSearchParams(new FormData(form, submitter));
  const action = new URL(submitter?.getAttribute("formaction") || form.getAttribute("action") || location.href, location.href);
  if ((submitter?.getAttribute("formmethod") || form.method).toLowerCase() === "get") {
    for (const [name, value] of [...data]) if (value === "") data.delete(name);
    action.search = data.toString();
    return go(action.href);
  }
  try {
    const found = await ask(action.href, { method: "POST", body: data });
    if (!found) return location.reload();
    // A field that has the focus is left alone, and what was sent is no longer being typed.
    if (found.good && form.contains(document.activeElement)) document.activeElement.blur();
    if (found.good) document.dispatchEvent(new CustomEvent("taken", { detail: form }));
    for (const field of form.elements) { if ("defaultValue" in field && found.good) field.defaultValue = field.value; }
    history[found.url === location.href ? "replaceState" : "pushState"]({ ours: true }, "", found.good ? found.url : location.href);
    show(found.page);
    const wrong = found.good ? null : document.querySelector("main [role=alert], main [aria-invalid]");
    if (wrong) {
      if (!wrong.matches("input, textarea, select")) wrong.tabIndex = -1;
      wrong.focus();
      wrong.scrollIntoView({ block: "center" });
    }
  } catch (error) {
    if (error.name === "AbortError") return;
    // Nothing was lost: what was typed is still in the form.
    document.dispatchEvent(new CustomEvent("lost"));
  }
}

const ours = (url) => url.origin === location.origin && !url.pathname.startsWith("/api/") && !url.pathname.startsWith("/docs") && !url.pathname.startsWith("/openapi");

addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  if (!ours(url) || (url.pathname === location.pathname && url.search === location.search && url.hash)) return;
  event.preventDefault();
  document.getElementById("rail")?.hidePopover?.();
  // What only opens something on the page leaves the reader where they are.
  go(url.href, link.hasAttribute("data-stay") ? { replace: true, keepScroll: true } : {});
});

addEventListener("submit", (event) => {
  const form = event.target;
  const action = new URL(event.submitter?.getAttribute("formaction") || form.getAttribute("action") || location.href, location.href);
  if (event.defaultPrevented || form.enctype === "multipart/form-data" || form.hasAttribute("data-plain") || !ours(action)) return;
  event.preventDefault();
  // A second press while the first is under way is no second one.
  if (form.dataset.sending) return;
  form.dataset.sending = "1";
  send(form, event.submitter).finally(() => delete form.dataset.sending);
});

addEventListener("popstate", () => go(location.href, { replace: true, keepScroll: true }));
